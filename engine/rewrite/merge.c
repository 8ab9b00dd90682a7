/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "engine/rewrite/private.h"

enum { SMALL_CONSTANT = 64 }; /* bytes of a constant that is compared by value */

static void add(text *key, const void *bytes, size_t n)
{
    text_add_bytes(key, bytes, n);
}

#define ADD(key, x) add(key, &(x), sizeof(x))

bool merge_attr(text *key, const attr *a)
{
    ADD(key, a->kind);
    switch (a->kind) {
    case ATTR_NONE:
        break;
    case ATTR_BOOL:
        ADD(key, a->truth);
        break;
    case ATTR_INT:
        ADD(key, a->integer);
        break;
    case ATTR_FLOAT:
        ADD(key, a->real);
        break;
    case ATTR_TEXT:
        text_add(key, a->text);
        text_add_char(key, '\0');
        break;
    case ATTR_DTYPE:
        ADD(key, a->dtype);
        break;
    case ATTR_INTS:
        ADD(key, a->n);
        add(key, a->ints, (size_t)a->n * sizeof *a->ints);
        for (int i = 0; a->dynamic != NULL && i < a->n; i++)
            if (!merge_attr(key, &a->dynamic[i]))
                return false;
        break;
    case ATTR_INDEX:
        ADD(key, a->n);
        for (int i = 0; i < a->n; i++) {
            const index_item *x = &a->index[i];
            const int64_t parts[] = {x->kind,      x->start,    x->stop,     x->step,
                                     x->has_start, x->has_stop, x->has_step, x->operand};

            ADD(key, parts);
        }
        break;
    case ATTR_DYNAMIC:
        ADD(key, a->node);
        ADD(key, a->output);
        break;
    case ATTR_LIST:
    case ATTR_GRAPH:
        return false;
    }
    return true;
}

/* A small constant is known by its bytes, any other value by where it is made. */
static void add_value(text *key, value v)
{
    const tensor *t = v.node == NULL ? NULL : value_constant(v);

    if (t != NULL && tensor_nbytes(t) <= SMALL_CONSTANT && tensor_is_contiguous(t)) {
        text_add_char(key, 'c');
        ADD(key, t->dtype);
        ADD(key, t->weak);
        ADD(key, t->shape.rank);
        add(key, t->shape.length, (size_t)t->shape.rank * sizeof *t->shape.length);
        add(key, tensor_bytes(t), (size_t)tensor_nbytes(t));
        return;
    }
    text_add_char(key, 'v');
    ADD(key, v.node);
    ADD(key, v.index);
}

bool merge_key(const op_def *op, const value *inputs, int count, const attr *attrs, text *key)
{
    if ((op->traits & (OP_IMPURE | OP_CONTROL)) != 0)
        return false;
    ADD(key, op);
    ADD(key, count);
    for (int i = 0; i < count; i++)
        add_value(key, inputs[i]);
    for (int i = 0; i < op->attr_count; i++)
        if (!merge_attr(key, &attrs[i]))
            return false;
    return true;
}

/* ---- Whole graphs -------------------------------------------------------------------------- */

enum { KEY_CONSTANT_BYTES = 1024 }; /* of one constant */

static void add_type(text *key, const type *t)
{
    ADD(key, t->dtype);
    ADD(key, t->weak);
    ADD(key, t->shape.rank);
    add(key, t->shape.length, (size_t)t->shape.rank * sizeof *t->shape.length);
}

static bool add_leaf(text *key, const node *n)
{
    const tensor *t = n->constant;

    add_type(key, &n->types[0]);
    if (n->op == &op_input)
        return true;
    if (!tensor_is_contiguous(t) || tensor_nbytes(t) > KEY_CONSTANT_BYTES)
        return false;
    add(key, tensor_bytes(t), (size_t)tensor_nbytes(t));
    return true;
}

static bool add_attr(text *key, const attr *a)
{
    return a->kind != ATTR_DYNAMIC && a->dynamic == NULL && merge_attr(key, a);
}

static void add_place(text *key, value v)
{
    const int id = v.node == NULL ? -1 : v.node->id;

    ADD(key, id);
    ADD(key, v.index);
}

/* Whether the row lasts as long as the process, and two runs of it are the same. */
static bool lasts(const op_def *op)
{
    return (op->traits & (OP_IMPURE | OP_CONTROL)) == 0 &&
           op_find(op->name, strlen(op->name)) == op;
}

static bool add_node(text *key, const node *n)
{
    const bool leaf = n->op == &op_input || n->op == &op_constant;

    if (n->declared != NULL || !(leaf || lasts(n->op)))
        return false;
    ADD(key, n->op);
    text_add(key, n->name != NULL ? n->name : "");
    text_add_char(key, '\0');
    if (leaf)
        return add_leaf(key, n);
    ADD(key, n->input_count);
    for (int i = 0; i < n->input_count; i++)
        add_place(key, n->inputs[i]);
    for (int i = 0; i < n->op->attr_count; i++)
        if (!add_attr(key, &n->attrs[i]))
            return false;
    return true;
}

bool rewrite_graph_key(const graph *g, text *key)
{
    if (g->outer != NULL || g->gives_seeds)
        return false;
    ADD(key, g->count);
    for (int i = 0; i < g->count; i++)
        if (!add_node(key, g->nodes[i]))
            return false;
    for (int i = 0; i < g->output_count; i++)
        add_place(key, g->outputs[i]);
    return true;
}

/* SPDX-License-Identifier: Apache-2.0 */
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

/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "engine/graph/private.h"

struct graph_map {
    const graph *from;
    graph *to;
    value **values; /* [node id][output] */
};

graph_map *graph_map_new(const graph *from, graph *to)
{
    graph_map *m = arena_alloc(to->arena, sizeof *m);

    m->from = from;
    m->to = to;
    m->values = arena_array(to->arena, (size_t)from->count + 1, sizeof *m->values);
    return m;
}

void graph_map_set(graph_map *m, value from, value to)
{
    value **row = &m->values[from.node->id];

    if (*row == NULL)
        *row = arena_array(m->to->arena, (size_t)from.node->output_count + 1, sizeof **row);
    (*row)[from.index] = to;
}

value graph_map_get(const graph_map *m, value from)
{
    const value *row = from.node == NULL ? NULL : m->values[from.node->id];

    return row == NULL ? (value){0} : row[from.index];
}

/* The number that a constant scalar is: a float's as a double, else an integer. */
static attr constant_number(const tensor *t)
{
    const bool real = dtype_is_float(t->dtype);
    char element[LANES * 16] = {0};
    const void *in[] = {element};
    union {
        int64_t integers[LANES];
        double reals[LANES];
    } result;

    memcpy(element, tensor_bytes(t), dtype_size(t->dtype));
    kernel_cast(t->dtype, real ? DT_F64 : DT_I64)(LANES, &result, in);
    return real ? (attr){.kind = ATTR_FLOAT, .real = result.reals[0]}
                : (attr){.kind = ATTR_INT, .integer = result.integers[0]};
}

/* A computed scalar as an attribute of the copy. */
static attr map_dynamic(const graph_map *m, const attr *from)
{
    const value v = graph_map_get(m, (value){from->node, from->output});
    const tensor *t = v.node == NULL ? NULL : value_constant(v);

    if (t != NULL)
        return constant_number(t);
    return (attr){.kind = ATTR_DYNAMIC, .node = v.node, .output = v.index, .dtype = from->dtype};
}

static attr map_ints(const graph_map *m, const attr *from)
{
    const size_t n = (size_t)from->n;
    attr *dynamic = arena_array(m->to->arena, n + 1, sizeof *dynamic), result = *from;
    int64_t *ints = arena_array(m->to->arena, n + 1, sizeof *ints);
    bool any = false;

    for (int i = 0; i < from->n; i++) {
        ints[i] = from->ints[i];
        if (from->dynamic[i].kind != ATTR_DYNAMIC)
            continue;
        dynamic[i] = map_dynamic(m, &from->dynamic[i]);
        if (dynamic[i].kind == ATTR_INT)
            ints[i] = dynamic[i].integer;
        any = any || dynamic[i].kind == ATTR_DYNAMIC;
    }
    result.ints = ints;
    result.dynamic = any ? dynamic : NULL;
    return result;
}

const attr *graph_map_attrs(const graph_map *m, const node *n)
{
    attr *attrs = arena_array(m->to->arena, (size_t)n->op->attr_count + 1, sizeof *attrs);

    for (int i = 0; i < n->op->attr_count; i++) {
        attrs[i] = n->attrs[i];
        if (attrs[i].kind == ATTR_DYNAMIC)
            attrs[i] = map_dynamic(m, &attrs[i]);
        else if (attrs[i].kind == ATTR_INTS && attrs[i].dynamic != NULL)
            attrs[i] = map_ints(m, &attrs[i]);
    }
    return attrs;
}

static bool copy_leaf(graph_map *m, const node *n, error *err)
{
    const value from = {(node *)n, 0};
    value to = n->op == &op_constant ? graph_constant(m->to, n->constant, err)
                                     : graph_input(m->to, n->name, &n->types[0], err);

    if (to.node == NULL)
        return false;
    if (n->name != NULL)
        graph_name(to, n->name);
    graph_copy_declared(to.node, n);
    graph_map_set(m, from, to);
    return true;
}

bool graph_map_copy(graph_map *m, const node *n, error *err)
{
    arena *a = m->to->arena;
    value *inputs = arena_array(a, (size_t)n->input_count + 1, sizeof *inputs);
    value outputs[OP_OUTPUTS];
    const attr *given;
    node *copy;

    if (n->op == &op_input || n->op == &op_constant)
        return copy_leaf(m, n, err);
    for (int i = 0; i < n->input_count; i++)
        inputs[i] = graph_map_get(m, n->inputs[i]);
    given = graph_map_attrs(m, n);
    if ((n->op->traits & OP_CONTROL) != 0)
        given = subgraph_rebuild(m->to, n, inputs, given, err);
    if (given == NULL)
        return false;
    copy = graph_apply(m->to, n->op, inputs, graph_own_inputs(n), given, outputs, err);
    if (copy == NULL)
        return false;
    if (n->name != NULL)
        copy->name = arena_copy(a, n->name, strlen(n->name));
    graph_copy_declared(copy, n);
    for (int i = 0; i < copy->output_count; i++)
        graph_map_set(m, (value){(node *)n, i}, outputs[i]);
    return true;
}

bool graph_map_all(graph_map *m, error *err)
{
    for (int i = 0; i < m->from->count; i++)
        if (m->values[i] == NULL && !graph_map_copy(m, m->from->nodes[i], err))
            return false;
    return true;
}

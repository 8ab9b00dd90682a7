/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs inside graphs: the branches of control flow, and definitions by others. */
#include <string.h>

#include "engine/graph/private.h"

static graph_expander *expand;

void graph_set_expander(graph_expander *expander)
{
    expand = expander;
}

/* ---- Control flow ------------------------------------------------------------------ */

const value *subgraph_inputs(graph *g, const op_def *op, const value *inputs, int *count,
                             const attr *attrs, error *err)
{
    int total = *count, n = *count;
    value *all;

    for (int i = 0; i < op->attr_count; i++)
        if (attrs[i].kind == ATTR_GRAPH)
            total += attrs[i].graph->input_count;
    all = arena_array(g->arena, (size_t)total + 1, sizeof *all);
    memcpy(all, inputs, (size_t)n * sizeof *all);
    for (int i = 0; i < op->attr_count; i++) {
        const graph *sub = attrs[i].kind == ATTR_GRAPH ? attrs[i].graph : NULL;

        for (int k = 0; sub != NULL && k < sub->input_count; k++) {
            all[n] = sub->captured[k].node != NULL ? graph_capture(g, sub->captured[k], err)
                                                   : (value){0};
            if (all[n++].node == NULL) {
                error_set(err, ERR_ARGUMENT, "%s: its function takes no parameters, so '%s' is not "
                          "known there", op->name, value_type(sub->inputs[k]) ?
                          sub->inputs[k].node->name : "");
                return NULL;
            }
        }
    }
    *count = n;
    return all;
}

/* The type that a value of either of two types has. */
static bool join_types(const op_def *op, const type *a, const type *b, type *result, error *err)
{
    const bool one_weak = a->weak != b->weak;
    char x[SHAPE_TEXT_MAX], y[SHAPE_TEXT_MAX];

    *result = *a;
    result->weak = a->weak && b->weak;
    if (one_weak)
        result->dtype = a->weak ? dtype_join_weak(b->dtype, dtype_info_of(a->dtype)->class)
                                : dtype_join_weak(a->dtype, dtype_info_of(b->dtype)->class);
    else
        result->dtype = dtype_promote(a->dtype, b->dtype);
    if (a->shape.rank != b->shape.rank)
        return error_set(err, ERR_SHAPE, "%s: one function gives shape %s, the other %s; they "
                         "must have as many axes", op->name, shape_print(&a->shape, x),
                         shape_print(&b->shape, y));
    for (int i = 0; i < a->shape.rank; i++)
        if (a->shape.length[i] != b->shape.length[i])
            result->shape.length[i] = LENGTH_UNKNOWN;
    return true;
}

const type *subgraph_types(graph *g, const op_def *op, const value *inputs, const attr *attrs,
                           int *output_count, error *err)
{
    const graph *a = attrs[0].graph, *b = attrs[1].graph;
    type *types;

    (void)inputs;
    if (a->output_count != b->output_count) {
        error_set(err, ERR_ARGUMENT, "%s: one function gives %d results, the other %d", op->name,
                  a->output_count, b->output_count);
        return NULL;
    }
    *output_count = a->output_count;
    types = arena_array(g->arena, (size_t)a->output_count + 1, sizeof *types);
    for (int i = 0; i < a->output_count; i++)
        if (!join_types(op, value_type(a->outputs[i]), value_type(b->outputs[i]), &types[i], err))
            return NULL;
    return types;
}

/* A sub-graph with the same nodes and inputs of other types. */
static graph *rebuild(graph *g, const graph *sub, const value *inputs, error *err)
{
    graph *copy = graph_new(g->arena, g);
    graph_map *map = graph_map_new(sub, copy);

    for (int i = 0; i < sub->input_count; i++) {
        value v = graph_capture(copy, inputs[i], err);

        if (v.node == NULL)
            return NULL;
        graph_map_set(map, sub->inputs[i], v);
    }
    if (!graph_map_all(map, err))
        return NULL;
    for (int i = 0; i < sub->output_count; i++)
        graph_add_output(copy, graph_map_get(map, sub->outputs[i]));
    return copy;
}

const attr *subgraph_rebuild(graph *g, const node *from, const value *inputs, error *err)
{
    attr *attrs = arena_array(g->arena, (size_t)from->op->attr_count + 1, sizeof *attrs);
    int at = 0;

    for (int i = 0; i < from->op->param_count; i++)
        at += from->op->params[i].kind == PARAM_TENSOR;
    for (int i = 0; i < from->op->attr_count; i++) {
        attrs[i] = from->attrs[i];
        if (attrs[i].kind != ATTR_GRAPH)
            continue;
        attrs[i].graph = rebuild(g, from->attrs[i].graph, inputs + at, err);
        if (attrs[i].graph == NULL)
            return NULL;
        at += from->attrs[i].graph->input_count;
    }
    return attrs;
}

/* ---- Definitions ------------------------------------------------------------------------ */

graph *definition_new(graph *g, const op_def *op, const value *inputs, int count,
                      const attr *attrs, error *err)
{
    graph *definition = graph_new(g->arena, g);
    value *own = arena_array(g->arena, (size_t)count + 1, sizeof *own);

    for (int i = 0; i < count; i++) {
        own[i] = inputs[i].node == NULL ? (value){0} : graph_capture(definition, inputs[i], err);
        if (inputs[i].node != NULL && own[i].node == NULL)
            return NULL;
    }
    if (op->body != NULL)
        return define_build(definition, op, own, err) ? definition : NULL;
    if (expand == NULL) {
        error_set(err, ERR_INTERNAL, "%s is defined in the language, which is not there", op->name);
        return NULL;
    }
    return expand(definition, op, own, count, attrs, err) ? definition : NULL;
}

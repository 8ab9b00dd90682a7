/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/graph/define.h"

#include <string.h>

#include "engine/graph/declaration.h"
#include "engine/graph/private.h"

/* ---- Rows ------------------------------------------------------------------------------- */

static bool is_impure(const graph *g)
{
    for (int i = 0; i < g->count; i++)
        if ((g->nodes[i]->op->traits & OP_IMPURE) != 0)
            return true;
    for (int i = 0; i < g->inner_count; i++) /* which hold no graphs but sub-graphs */
        if (is_impure(g->inner[i]))
            return true;
    return false;
}

const op_def *define_op(arena *a, const char *name, const graph *body, const int *order)
{
    op_def *op = arena_alloc(a, sizeof *op);
    const int n = body->input_count;

    *op = (op_def){.name = arena_copy(a, name, strlen(name)),
                   .signature = "",
                   .family = "Stored graphs",
                   .outputs = body->output_count,
                   .body = body,
                   .draws = draws_in(body),
                   .traits = is_impure(body) ? OP_IMPURE : 0,
                   .param_count = n,
                   .input_count = n};
    op->params = arena_array(a, (size_t)n + 1, sizeof *op->params);
    for (int i = 0; i < n; i++)
        op->params[i] = (op_param){
            .name = body->inputs[order[i]].node->name, .kind = PARAM_TENSOR, .position = order[i]};
    return op;
}

/* ---- Definitions -------------------------------------------------------------------------- */

static bool take_input(graph *definition, const node *input, table *lengths, value *v, error *err)
{
    return input->declared == NULL ||
           declaration_take(definition, input->declared, input->name, lengths, v, err);
}

bool define_build(graph *definition, const op_def *op, const value *inputs, error *err)
{
    const graph *body = op->body;
    graph_map *map = graph_map_new(body, definition);
    table lengths;

    table_init(&lengths, definition->arena);
    if (op->is_seeded)
        graph_seed(definition, op->first_seed);
    for (int i = 0; i < body->input_count; i++) {
        value v = inputs[i];

        if (!take_input(definition, body->inputs[i].node, &lengths, &v, err))
            return false;
        graph_map_set(map, body->inputs[i], v);
    }
    if (!graph_map_all(map, err))
        return false;
    for (int i = 0; i < body->output_count; i++)
        graph_add_output(definition, graph_map_get(map, body->outputs[i]));
    return true;
}

/* ---- In place ------------------------------------------------------------------------------- */

static bool copy_inline(graph_map *map, const graph *from, graph *to, error *err);

/* The definition of a node in its place. */
static bool copy_definition(graph_map *map, node *n, graph *to, error *err)
{
    graph_map *inner = graph_map_new(n->definition, to);

    for (int k = 0; k < n->definition->input_count; k++)
        graph_map_set(inner, n->definition->inputs[k],
                      graph_map_get(map, n->definition->captured[k]));
    if (!copy_inline(inner, n->definition, to, err))
        return false;
    for (int k = 0; k < n->output_count; k++)
        graph_map_set(map, (value){n, k}, graph_map_get(inner, n->definition->outputs[k]));
    return true;
}

/* A node with functions, in which definitions are in place. */
static bool copy_control(graph_map *map, node *n, graph *to, error *err)
{
    value *inputs = arena_array(to->arena, (size_t)n->input_count + 1, sizeof *inputs);
    attr *attrs = arena_array(to->arena, (size_t)n->op->attr_count + 1, sizeof *attrs);
    value outputs[OP_OUTPUTS];

    for (int i = 0; i < n->input_count; i++)
        inputs[i] = graph_map_get(map, n->inputs[i]);
    memcpy(attrs, graph_map_attrs(map, n), (size_t)n->op->attr_count * sizeof *attrs);
    for (int i = 0; i < n->op->attr_count; i++) {
        const graph *f = n->attrs[i].graph;
        graph_map *inner;

        if (n->attrs[i].kind != ATTR_GRAPH)
            continue;
        attrs[i].graph = graph_begin_function(to, n, inputs, i, &inner, err);
        if (attrs[i].graph == NULL || !copy_inline(inner, f, attrs[i].graph, err))
            return false;
        for (int k = 0; k < f->output_count; k++)
            graph_add_output(attrs[i].graph, graph_map_get(inner, f->outputs[k]));
    }
    if (graph_apply(to, n->op, inputs, graph_own_inputs(n), attrs, outputs, err) == NULL)
        return false;
    for (int k = 0; k < n->output_count; k++)
        graph_map_set(map, (value){n, k}, outputs[k]);
    return true;
}

/* Copies the nodes of `from` that are not mapped yet, definitions in place. Recursion is
 * as deep as stored graphs call each other and functions nest, which is bounded where they
 * are read. */
static bool copy_inline(graph_map *map, const graph *from, graph *to, error *err)
{
    for (int i = 0; i < from->count; i++) {
        node *n = from->nodes[i];

        if (graph_map_get(map, (value){n, 0}).node != NULL)
            continue;
        if (!(n->op->body != NULL              ? copy_definition(map, n, to, err)
              : n->op->control != CONTROL_NONE ? copy_control(map, n, to, err)
                                               : graph_map_copy(map, n, err)))
            return false;
    }
    return true;
}

graph *define_inline(const graph *g, arena *a, error *err)
{
    graph *to = graph_new(a, NULL);
    graph_map *map = graph_map_new(g, to);

    to->node_limit = g->node_limit;
    if (!copy_inline(map, g, to, err)) {
        graph_release(to);
        return NULL;
    }
    for (int i = 0; i < g->output_count; i++)
        graph_add_output(to, graph_map_get(map, g->outputs[i]));
    return to;
}

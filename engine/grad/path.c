/* SPDX-License-Identifier: Apache-2.0 */
/* Which nodes lie between what is differentiated and what it is differentiated for. */
#include <string.h>

#include "engine/grad/private.h"

place *path_place(path *p, const node *n)
{
    const size_t before = p->room;

    if ((size_t)n->id >= p->room) {
        place *larger;

        p->room = 2 * (size_t)n->id + 16;
        larger = arena_array(p->graph->arena, p->room, sizeof *larger);
        if (before > 0)
            memcpy(larger, p->places, before * sizeof *larger);
        p->places = larger;
    }
    return &p->places[n->id];
}

value path_value(path *p, value v)
{
    const value *stands = path_place(p, v.node)->stands;

    return stands != NULL ? stands[v.index] : v;
}

/* ---- What ys need --------------------------------------------------------------------- */

/* Marks what a y is computed from. Of what an operation knows only the shape, nothing
 * depends. */
static void mark_needed(path *p, const gradient_query *q)
{
    int last = -1;

    for (int i = 0; i < q->y_count; i++) {
        path_place(p, q->ys[i].node)->needed = true;
        last = q->ys[i].node->id > last ? q->ys[i].node->id : last;
    }
    for (int i = last; i >= 0; i--) {
        const node *n = p->graph->nodes[i];

        if (!path_place(p, n)->needed || (n->op->traits & OP_SHAPE_ONLY) != 0)
            continue;
        for (int k = 0; k < n->input_count; k++)
            if (n->inputs[k].node != NULL)
                path_place(p, n->inputs[k].node)->needed = true;
        for (int k = 0; k < n->op->attr_count; k++)
            if (n->attrs[k].kind == ATTR_DYNAMIC)
                path_place(p, n->attrs[k].node)->needed = true;
    }
}

/* ---- What wrt reach -------------------------------------------------------------------- */

static bool is_reached(path *p, value v)
{
    return v.node != NULL && grad_takes(value_type(v)->dtype) &&
           path_place(p, path_value(p, v).node)->reached;
}

bool path_attr_reached(path *p, const node *n, int i)
{
    const attr *a = &n->attrs[i];

    return a->kind == ATTR_DYNAMIC && is_reached(p, (value){a->node, a->output});
}

/* Sets *reached if an attribute is computed from a wrt. ERR_NOT_IMPLEMENTED if the row has no
 * gradient for it. */
static bool reach_attrs(path *p, const node *n, bool *reached, error *err)
{
    for (int i = 0; i < n->op->attr_count; i++) {
        if (!path_attr_reached(p, n, i))
            continue;
        *reached = true;
        if (i >= OP_INPUTS || n->op->attr_grad[i] == NULL)
            return error_set(err, ERR_NOT_IMPLEMENTED,
                             "%s has no gradient for its computed '%s'; stop_gradient says that it "
                             "is none",
                             n->op->name, op_attr_param(n->op, i)->name);
    }
    return true;
}

/* Puts a node on the path if it leads from a wrt to numbers that have gradients. */
static bool visit(path *p, const node *n, error *err)
{
    bool reached = false, results = false;

    if (!reach_attrs(p, n, &reached, err))
        return false;
    for (int i = 0; i < n->input_count; i++)
        reached = reached || is_reached(p, n->inputs[i]);
    for (int i = 0; i < n->output_count; i++)
        results = results || grad_takes(n->types[i].dtype);
    if (!reached || !results || n->op->no_grad)
        return true;
    path_place(p, n)->reached = true;
    p->nodes =
        arena_grow(p->graph->arena, p->nodes, (size_t)p->count, &p->node_room, sizeof *p->nodes);
    p->nodes[p->count++] = n;
    return true;
}

/* ---- Definitions --------------------------------------------------------------------------- */

/* A definition that is being put in the place of a node; `outer` is the one it is in. */
typedef struct frame {
    const node *node;
    int next; /* of the definition's nodes */
    graph_map *map;
    struct frame *outer;
} frame;

static frame *open_frame(path *p, const node *n, frame *outer)
{
    const graph *d = n->definition;
    frame *f = arena_alloc(p->graph->arena, sizeof *f);

    *f = (frame){.node = n, .map = graph_map_new(d, p->graph), .outer = outer};
    for (int i = 0; i < d->input_count; i++)
        graph_map_set(f->map, d->inputs[i],
                      outer != NULL ? graph_map_get(outer->map, d->captured[i]) : d->captured[i]);
    return f;
}

/* The outputs of a definition that is in place, in the place of its node's. */
static void close_frame(path *p, const frame *f)
{
    const node *n = f->node;
    value *stands = arena_array(p->graph->arena, (size_t)n->output_count + 1, sizeof *stands);

    for (int i = 0; i < n->output_count; i++)
        stands[i] = path_value(p, graph_map_get(f->map, n->definition->outputs[i]));
    if (f->outer == NULL)
        path_place(p, n)->stands = stands;
    for (int i = 0; f->outer != NULL && i < n->output_count; i++)
        graph_map_set(f->outer->map, (value){(node *)n, i}, stands[i]);
}

/* Copies the definition of n, and those in it, to the graph and visits its nodes. */
static bool visit_definition(path *p, const node *n, error *err)
{
    frame *f = open_frame(p, n, NULL);

    while (f != NULL) {
        const graph *d = f->node->definition;
        node *inner;

        if (f->next == d->count) {
            close_frame(p, f);
            f = f->outer;
            continue;
        }
        inner = d->nodes[f->next++];
        if (graph_map_get(f->map, (value){inner, 0}).node != NULL)
            continue;
        if (inner->definition != NULL) {
            f = open_frame(p, inner, f);
            continue;
        }
        if (!graph_map_copy(f->map, inner, err) ||
            !visit(p, graph_map_get(f->map, (value){inner, 0}).node, err))
            return false;
    }
    return true;
}

/* Whether the definition of a node has to be looked into. */
static bool leads_on(path *p, const node *n)
{
    for (int i = 0; i < n->input_count; i++)
        if (is_reached(p, n->inputs[i]))
            return true;
    return false;
}

bool path_find(path *p, graph *g, const gradient_query *query, error *err)
{
    const int count = g->count;

    *p = (path){.graph = g};
    mark_needed(p, query);
    for (int i = 0; i < query->wrt_count; i++)
        path_place(p, query->wrt[i].node)->reached = true;
    for (int i = 0; i < count; i++) {
        const node *n = g->nodes[i];

        if (!path_place(p, n)->needed || n->op == &op_input || n->op == &op_constant)
            continue;
        if (n->definition == NULL ? !visit(p, n, err)
                                  : leads_on(p, n) && !visit_definition(p, n, err))
            return false;
    }
    return true;
}

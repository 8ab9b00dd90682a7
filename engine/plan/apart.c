/* SPDX-License-Identifier: Apache-2.0 */
/* A graph in which large values that several operations use are computed anew for each of them,
 * where that takes no more than another pass over what is there: then none of them needs to be
 * kept until the last one comes. exp(x) / sum(exp(x)) is such a graph. */
#include "engine/plan/private.h"

enum { STEPS_MOST = 4000000 }; /* of the search, so that it takes no time to speak of */

typedef struct apart {
    const graph *g;
    graph_map *map; /* of a value that is computed anew: its last copy */
    bool *wanted;   /* by node id: by the operation that is copied now */
} apart;

/* Whether a node's value is large, and computed element by element or only looked at. */
static bool is_cheap(const node *n)
{
    const type *t = &n->types[0];

    return (node_is_elementwise(n) || (n->op->view != NULL && n->input_count == 1)) &&
           shape_is_known(&t->shape) &&
           shape_size(&t->shape) >= plan_large_bytes() / (int64_t)dtype_size(t->dtype);
}

static void want_inputs(apart *a, const node *n)
{
    for (int i = 0; i < n->input_count; i++)
        if (n->inputs[i].node != NULL && is_cheap(n->inputs[i].node))
            a->wanted[n->inputs[i].node->id] = true;
}

/* Copies what is wanted, and all that it is cheaply computed from, below node id `end`. */
static bool copy_wanted(apart *a, int end, error *err)
{
    for (int i = end - 1; i >= 0; i--)
        if (a->wanted[i])
            want_inputs(a, a->g->nodes[i]);
    for (int i = 0; i < end; i++) {
        if (a->wanted[i] && !graph_map_copy(a->map, a->g->nodes[i], err))
            return false;
        a->wanted[i] = false;
    }
    return true;
}

static bool copy_all(apart *a, graph *to, error *err)
{
    for (int i = 0; i < a->g->count; i++) {
        const node *n = a->g->nodes[i];

        if (is_cheap(n))
            continue;
        want_inputs(a, n);
        if (!copy_wanted(a, i, err) || !graph_map_copy(a->map, n, err))
            return false;
    }
    for (int i = 0; i < a->g->output_count; i++) {
        const value v = a->g->outputs[i];

        a->wanted[v.node->id] = is_cheap(v.node);
        if (!copy_wanted(a, a->g->count, err))
            return false;
        graph_add_output(to, graph_map_get(a->map, v));
    }
    return true;
}

graph *plan_apart(const graph *g, arena *memory)
{
    graph *to;
    apart a = {.g = g};
    error ignored = {0};

    if ((int64_t)g->count * (g->count + g->output_count) > STEPS_MOST)
        return NULL;
    to = graph_new(memory, NULL);
    to->node_limit = GRAPH_TOTAL * GRAPH_NODES_MAX;
    a.map = graph_map_new(g, to);
    a.wanted = arena_array(memory, (size_t)g->count + 1, sizeof *a.wanted);
    if (copy_all(&a, to, &ignored))
        return to;
    graph_release(to);
    return NULL;
}

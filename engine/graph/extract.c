/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of graphs, with some values in the place of others. */
#include "engine/graph/private.h"

typedef enum state { NODE_NEW, NODE_ENTERED, NODE_DONE } state;

/* A walk in depth over what is needed, with its own stack. */
typedef struct walk {
    const graph *graph;
    const replacement *list;
    int count;
    int *first, *link; /* of the list: 1 + the first one of a node, and the next one */
    state *states;     /* by node id */
    int *stack, *next; /* nodes entered; which of a node's needs comes next */
    int depth;
    int *order, ordered;
} walk;

/* What replaces a value itself, or NULL. */
static const value *replaced(const walk *w, value v)
{
    for (int i = w->first[v.node->id]; i > 0; i = w->link[i - 1])
        if (w->list[i - 1].from.index == v.index)
            return &w->list[i - 1].to;
    return NULL;
}

/* What stands for a value in the end. */
static bool resolve(const walk *w, value *v, error *err)
{
    int steps = 0;

    for (const value *to = replaced(w, *v); to != NULL && !value_equal(*to, *v);
         to = replaced(w, *v)) {
        *v = *to;
        if (steps++ > w->count)
            return error_set(err, ERR_CYCLE, "the replacements lead back to themselves");
    }
    return true;
}

/* The k-th value that a node needs: its inputs, then the computed parts of its attributes;
 * false if there is none. */
static bool need(const node *n, int k, value *result)
{
    if (k < n->input_count) {
        *result = n->inputs[k];
        return true;
    }
    k -= n->input_count;
    for (int i = 0; i < n->op->attr_count; i++) {
        const attr *a = &n->attrs[i], *parts = a->kind == ATTR_DYNAMIC ? a : a->dynamic;
        const int count = a->kind == ATTR_DYNAMIC                      ? 1
                          : a->kind == ATTR_INTS && a->dynamic != NULL ? a->n
                                                                       : 0;

        if (k < count) {
            *result = parts[k].kind == ATTR_DYNAMIC ? (value){parts[k].node, parts[k].output}
                                                    : (value){0};
            return true;
        }
        k -= count;
    }
    return false;
}

static bool enter(walk *w, value v, error *err)
{
    const char *name;

    if (!resolve(w, &v, err))
        return false;
    if (w->states[v.node->id] == NODE_DONE)
        return true;
    name = v.node->name != NULL ? v.node->name : v.node->op->name;
    if (w->states[v.node->id] == NODE_ENTERED)
        return error_set(err, ERR_CYCLE, "with these replacements '%s' would need itself", name);
    w->states[v.node->id] = NODE_ENTERED;
    w->next[w->depth] = 0;
    w->stack[w->depth++] = v.node->id;
    return true;
}

static bool step(walk *w, error *err)
{
    const int at = w->stack[w->depth - 1];
    value v;

    if (need(w->graph->nodes[at], w->next[w->depth - 1]++, &v))
        return v.node == NULL || enter(w, v, err);
    w->states[at] = NODE_DONE;
    w->order[w->ordered++] = at;
    w->depth--;
    return true;
}

static bool walk_outputs(walk *w, error *err)
{
    for (int i = 0; i < w->graph->output_count; i++) {
        if (!enter(w, w->graph->outputs[i], err))
            return false;
        while (w->depth > 0)
            if (!step(w, err))
                return false;
    }
    return true;
}

/* Maps the needs of a node that are replaced to what stands for them, copied already. */
static bool map_needs(const walk *w, graph_map *map, const node *n, error *err)
{
    value v, stands;

    for (int k = 0; need(n, k, &v); k++) {
        stands = v;
        if (v.node != NULL && !resolve(w, &stands, err))
            return false;
        if (v.node != NULL && !value_equal(v, stands))
            graph_map_set(map, v, graph_map_get(map, stands));
    }
    return true;
}

static bool copy(const walk *w, graph_map *map, bool *needed, error *err)
{
    const graph *g = w->graph;

    for (int i = 0; i < g->input_count; i++) {
        needed[i] = w->states[g->inputs[i].node->id] == NODE_DONE;
        if (needed[i] && !graph_map_copy(map, g->inputs[i].node, err))
            return false;
    }
    for (int i = 0; i < w->ordered; i++) {
        const node *n = g->nodes[w->order[i]];

        if (n->op != &op_input && !(map_needs(w, map, n, err) && graph_map_copy(map, n, err)))
            return false;
    }
    return true;
}

bool graph_extract(const graph *g, const replacement *list, int count, graph *to, bool *needed,
                   error *err)
{
    const size_t n = (size_t)g->count + 1;
    arena *a = to->arena;
    graph_map *map = graph_map_new(g, to);
    walk w = {.graph = g, .list = list, .count = count};

    w.first = arena_array(a, n, sizeof *w.first);
    w.link = arena_array(a, (size_t)count + 1, sizeof *w.link);
    for (int i = 0; i < count; i++) {
        w.link[i] = w.first[list[i].from.node->id];
        w.first[list[i].from.node->id] = i + 1;
    }
    w.states = arena_array(a, n, sizeof *w.states);
    w.stack = arena_array(a, n, sizeof *w.stack);
    w.next = arena_array(a, n, sizeof *w.next);
    w.order = arena_array(a, n, sizeof *w.order);
    to->node_limit = g->node_limit;
    if (!walk_outputs(&w, err) || !copy(&w, map, needed, err))
        return false;
    for (int i = 0; i < g->output_count; i++) {
        value v = g->outputs[i];

        if (!resolve(&w, &v, err))
            return false;
        graph_add_output(to, graph_map_get(map, v));
    }
    return true;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Named lengths beyond the inputs: the graph is built once more, with a number of its own
 * for each name; where the number comes out, so would what the name stands for. */
#include <string.h>

#include "engine/graph/declaration.h"

enum { STAND_IN = 1009, STAND_IN_STEP = 418, NAMES_MAX = 64 };

typedef struct names {
    const char *list[NAMES_MAX];
    int count;
} names;

static int64_t stand_in(int i)
{
    return STAND_IN + (int64_t)STAND_IN_STEP * i + 7 * (int64_t)i * i;
}

/* The place of a name, which is added if it is new; -1 if there is no room. */
static int place_of(names *n, const char *name)
{
    for (int i = 0; i < n->count; i++)
        if (strcmp(n->list[i], name) == 0)
            return i;
    if (n->count == NAMES_MAX)
        return -1;
    n->list[n->count] = name;
    return n->count++;
}

static const char *name_of(const names *n, int64_t length)
{
    for (int i = 0; i < n->count; i++)
        if (stand_in(i) == length)
            return n->list[i];
    return NULL;
}

/* The input in the copy, with a number for each named length. */
static bool copy_input(graph_map *map, graph *to, const value from, names *n, error *err)
{
    const declaration *d = from.node->declared;
    type t = *value_type(from);
    value v;

    for (int i = 0; d != NULL && i < t.shape.rank; i++) {
        const int place = d->symbols[i] != NULL ? place_of(n, d->symbols[i]) : -1;

        if (place >= 0)
            t.shape.length[i] = stand_in(place);
    }
    v = graph_input(to, from.node->name, &t, err);
    if (v.node != NULL)
        graph_map_set(map, from, v);
    return v.node != NULL;
}

/* Notes what came out for a node. */
static void note(const graph *g, node *n, const type *found, const names *known)
{
    const shape *s = &n->types[0].shape;
    declaration *d = NULL;

    for (int i = 0; i < s->rank && s->rank == found->shape.rank; i++) {
        const char *name =
            s->length[i] == LENGTH_UNKNOWN ? name_of(known, found->shape.length[i]) : NULL;

        if (name == NULL)
            continue;
        if (d == NULL)
            d = arena_alloc(g->arena, sizeof *d);
        d->symbols[i] = name;
    }
    n->declared = d;
}

void declaration_spread(graph *g)
{
    arena *a = arena_new();
    graph *copy = graph_new(a, NULL);
    graph_map *map = graph_map_new(g, copy);
    names known = {.count = 0};
    error ignored = {0};
    bool ok = true;

    copy->node_limit = g->node_limit;
    for (int i = 0; ok && i < g->input_count; i++)
        ok = copy_input(map, copy, g->inputs[i], &known, &ignored);
    ok = ok && known.count > 0 && graph_map_all(map, &ignored);
    for (int i = 0; ok && i < g->count; i++)
        if (g->nodes[i]->op != &op_input && g->nodes[i]->op != &op_constant)
            note(g, g->nodes[i], value_type(graph_map_get(map, (value){g->nodes[i], 0})), &known);
    graph_release(copy);
    arena_free(a);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Seeds for random draws that name none. A graph may have seeds to give; an operation that
 * stands for a graph takes as many as that graph has such draws, and keeps the first in its
 * row, so that its definition draws the same wherever it is built again. */
#include "engine/graph/private.h"

void graph_seed(graph *g, int64_t seed)
{
    g->gives_seeds = true;
    g->next_seed = seed;
}

/* The input that is the seed of an operation that draws; -1 if it draws nothing. */
static int seed_place(const op_def *op)
{
    const op_param *p =
        (op->traits & OP_IMPURE) != 0 && op->body == NULL ? op_param_find(op, "seed", 4) : NULL;

    return p != NULL && p->kind == PARAM_TENSOR ? p->position : -1;
}

/* Of one node: of those in sub-graphs, too, which are nested no deeper than graphs may be. */
static int64_t draws_of(const node *n)
{
    const int place = seed_place(n->op);
    int64_t count = n->op->draws;

    if (place >= 0)
        count += place >= n->input_count || n->inputs[place].node == NULL;
    for (int i = 0; i < n->op->attr_count; i++)
        if (n->attrs[i].kind == ATTR_GRAPH)
            count += draws_in(n->attrs[i].graph);
    return count;
}

int64_t draws_in(const graph *g)
{
    int64_t count = 0;

    for (int i = 0; i < g->count; i++)
        count += draws_of(g->nodes[i]);
    return count;
}

/* The innermost graph around g, or g, that has seeds to give; NULL if none has. */
static graph *giver_of(graph *g)
{
    while (g != NULL && !g->gives_seeds)
        g = g->outer;
    return g;
}

static int64_t take_seeds(graph *giver, int64_t count)
{
    const int64_t first = giver->next_seed;

    giver->next_seed = (int64_t)((uint64_t)first + (uint64_t)count);
    return first;
}

/* The inputs with a seed in its place. */
static const value *with_seed(graph *g, graph *giver, int place, const value *inputs, int *count,
                              error *err)
{
    const int room = place < *count ? *count : place + 1;
    value *all = arena_array(g->arena, (size_t)room + 1, sizeof *all);
    const int64_t seed = take_seeds(giver, 1);

    for (int i = 0; i < *count; i++)
        all[i] = inputs[i];
    *count = room;
    all[place] = graph_scalar(g, DT_I64, &seed, true, err);
    return all[place].node == NULL ? NULL : all;
}

const value *draws_seed(graph *g, const op_def **op, const value *inputs, int *count, error *err)
{
    const int place = seed_place(*op);
    graph *giver = place >= 0 || (*op)->draws > 0 ? giver_of(g) : NULL;
    op_def *seeded;

    if (giver == NULL || (*op)->is_seeded)
        return inputs;
    if (place >= 0)
        return place < *count && inputs[place].node != NULL
                   ? inputs
                   : with_seed(g, giver, place, inputs, count, err);
    seeded = arena_alloc(g->arena, sizeof *seeded);
    *seeded = **op;
    seeded->is_seeded = true;
    seeded->first_seed = take_seeds(giver, (*op)->draws);
    *op = seeded;
    return inputs;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* How a graph would be run, for those who look at it. */
#include <string.h>

#include "engine/engine.h"
#include "engine/exec/pool.h"
#include "engine/known.h"
#include "engine/plan/plan.h"

/* What lengths are taken for where they are not known: many numbers divide it, and a tensor of
 * seven such axes can still be counted. */
enum { STAND_IN = 240 };

/* A graph to be told of; with the one that was planned in its place, or NULL. */
typedef struct pair {
    const graph *shown, *planned;
    const plan *plan;
} pair;

typedef struct outline {
    arena *arena;
    view_plan *result;
    pair *pairs;
    size_t count, room;
} outline;

static void add_pair(outline *o, const graph *shown, const graph *planned, const plan *p)
{
    o->pairs = arena_grow(o->arena, o->pairs, o->count, &o->room, sizeof *o->pairs);
    o->pairs[o->count++] = (pair){shown, planned, p};
}

/* ---- Lengths that are not known ---------------------------------------------------------- */

static bool copy_known(graph_map *map, const node *n, graph *to, error *err)
{
    type t = n->types[0];
    value v;

    if (n->op != &op_input)
        return graph_map_copy(map, n, err);
    for (int i = 0; i < t.shape.rank; i++)
        if (t.shape.length[i] == LENGTH_UNKNOWN)
            t.shape.length[i] = STAND_IN;
    v = graph_input(to, n->name, &t, err);
    if (v.node != NULL)
        graph_map_set(map, (value){(node *)n, 0}, v);
    return v.node != NULL;
}

/* A copy, node for node, in which every length has a number; NULL if they do not fit. */
static graph *with_stand_ins(const graph *g, arena *a)
{
    graph *to = graph_new(a, NULL);
    graph_map *map = graph_map_new(g, to);
    error ignored = {0};
    bool ok = true;

    to->node_limit = g->node_limit;
    for (int i = 0; ok && i < g->count; i++)
        ok = copy_known(map, g->nodes[i], to, &ignored);
    for (int i = 0; ok && i < g->output_count; i++)
        graph_add_output(to, graph_map_get(map, g->outputs[i]));
    if (ok && known_graph(to))
        return to;
    graph_release(to);
    return NULL;
}

/* Whether two graphs have the same nodes in the same places. */
static bool same_nodes(const graph *a, const graph *b)
{
    bool same = a->count == b->count;

    for (int i = 0; same && i < a->count; i++)
        same = a->nodes[i]->op == b->nodes[i]->op;
    return same;
}

/* ---- Noting --------------------------------------------------------------------------------- */

/* Puts a node in the pass of a number, counted from the graph's first. */
static void put_in_pass(outline *o, view_runs *r, int pass, const node *n, size_t *room)
{
    view_pass *p = &r->passes[pass];

    p->nodes = arena_grow(o->arena, p->nodes, (size_t)p->count, room, sizeof *p->nodes);
    p->nodes[p->count++] = n;
    r->runs[n->id].fused = r->first_pass + pass;
}

/* Numbers the passes of a graph. */
static view_runs *note_passes(outline *o, const graph *g)
{
    const size_t n = (size_t)g->count + 1;
    const int *fusion = plan_fusion(g, o->arena);
    view_runs *r = arena_alloc(o->arena, sizeof *r);
    int *numbers = arena_array(o->arena, n, sizeof *numbers);
    size_t *rooms = arena_array(o->arena, n, sizeof *rooms);

    r->graph = g;
    r->runs = arena_array(o->arena, n, sizeof *r->runs);
    r->passes = arena_array(o->arena, n, sizeof *r->passes);
    r->first_pass = o->result->pass_count + 1;
    for (int i = 0; i < g->count; i++) {
        if (fusion[i] < 0)
            continue;
        if (numbers[fusion[i]] == 0)
            numbers[fusion[i]] = ++r->pass_count;
        put_in_pass(o, r, numbers[fusion[i]] - 1, g->nodes[i], &rooms[fusion[i]]);
    }
    o->result->pass_count += r->pass_count;
    table_put_bytes(&o->result->graphs, (const char *)&g, sizeof g, r);
    return r;
}

/* Notes what is written in place, but for copies that a step makes of its inputs. Returns, by
 * node id, the steps of those with functions. */
static const step **note_steps(outline *o, const pair *p, view_run *runs)
{
    const step **with_functions =
        arena_array(o->arena, (size_t)p->shown->count + 1, sizeof *with_functions);

    for (int i = 0; p->plan != NULL && i < p->plan->step_count; i++) {
        const step *s = &p->plan->steps[i];
        const value over = s->over;

        if (s->function[0] != NULL)
            with_functions[s->node->id] = s;
        if (over.node != NULL && p->plan->slots[s->tiles->outputs[0].slot].value.node == s->node)
            runs[s->node->id].over = (value){p->shown->nodes[over.node->id], over.index};
    }
    return with_functions;
}

/* The functions of a node; s is the step that runs it, or NULL. */
static void add_functions(outline *o, const pair *p, const node *n, const step *s)
{
    int count = 0;

    for (int k = 0; k < n->op->attr_count; k++) {
        const graph *shown = n->attrs[k].graph, *planned;

        if (n->attrs[k].kind != ATTR_GRAPH)
            continue;
        planned = s == NULL ? NULL : p->planned->nodes[n->id]->attrs[k].graph;
        if (s != NULL && same_nodes(shown, planned))
            add_pair(o, shown, planned, s->function[count]);
        else
            add_pair(o, shown, NULL, NULL);
        count++;
    }
}

/* ---- The whole ----------------------------------------------------------------------------------
 */

static void begin(outline *o, const graph *g, graph **copy)
{
    graph *stands = known_graph(g) ? NULL : with_stand_ins(g, o->arena);
    const graph *planned = known_graph(g) ? g : stands;
    const plan *p = NULL;
    error ignored = {0};

    *copy = stands;
    if (planned != NULL && same_nodes(g, planned))
        p = plan_new(planned, pool_threads(), o->arena, &ignored);
    if (p == NULL)
        o->result->assumed = "Some lengths are known only when it runs. They are taken for equal "
                             "where they meet; what is written in place is not known.";
    else if (stands != NULL)
        o->result->assumed = "Lengths that are not known are taken for equal where they meet.";
    add_pair(o, g, planned, p);
}

const view_plan *engine_outline(const graph *g, arena *a)
{
    outline o = {.arena = a, .result = arena_alloc(a, sizeof *o.result)};
    graph *copy;

    table_init(&o.result->graphs, a);
    begin(&o, g, &copy);
    for (size_t i = 0; i < o.count; i++) {
        const pair p = o.pairs[i];

        const step **steps = note_steps(&o, &p, note_passes(&o, p.shown)->runs);

        for (int k = 0; k < p.shown->count; k++)
            add_functions(&o, &p, p.shown->nodes[k], steps[k]);
    }
    if (copy != NULL)
        graph_release(copy);
    return o.result;
}

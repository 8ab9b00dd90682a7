/* SPDX-License-Identifier: Apache-2.0 */
#include "server/wire/graph_dataflow.h"

#include <string.h>

bool dataflow_is(const item *x, const char *name)
{
    return x->kind == ITEM_OPERATION && x->op != NULL && (x->op->traits & OP_DATAFLOW) != 0 &&
           strcmp(x->op->name, name) == 0;
}

bool dataflow_fault(const reading *r, int at, error *err, const char *reason)
{
    error_set(err, ERR_ARGUMENT, "%s", reason);
    return reading_fault_at(&r->items[at], r->items[at].object, err);
}

/* ---- The lists -------------------------------------------------------------------------- */

int dataflow_frame(reading *r, int outer)
{
    frame *f = reading_new_frame(r, NULL, outer);

    f->outputs = arena_array(r->arena, OP_OUTPUTS, sizeof *f->outputs);
    return f->number;
}

int dataflow_item(reading *r, const char *op, const char *name, int frame, int arguments)
{
    const int at = reading_add_item(r, NULL, name, false, frame);
    item *x = &r->items[at];

    x->op = op_find(op, strlen(op));
    x->argument_count = arguments;
    x->arguments = arena_array(r->arena, (size_t)arguments + 1, sizeof *x->arguments);
    return at;
}

void dataflow_move(reading *r, int at, int frame)
{
    const item *x = &r->items[at];

    r->items[at].frame = frame;
    for (int i = 0; i < x->frame_count; i++)
        r->frames[x->first_frame + i]->outer = frame;
}

void dataflow_reset_edges(reading *r, int at)
{
    item *x = &r->items[at];

    x->first_edge = x->last_edge = 0;
    for (int i = 0; i < x->argument_count; i++)
        if (x->arguments[i].place.item >= 0)
            reading_add_edge(r, at, x->arguments[i].place.item, x->arguments[i].place.output);
}

void dataflow_alias(reading *r, int at, argument of)
{
    item *x = &r->items[at];

    x->kind = ITEM_ALIAS;
    x->arguments = arena_alloc(r->arena, sizeof *x->arguments);
    x->arguments[0] = of;
    x->argument_count = 1;
    dataflow_reset_edges(r, at);
}

bool dataflow_same(const reading *r, const argument *a, const argument *b)
{
    const place x = reading_target(r, a->place), y = reading_target(r, b->place);

    if (a->constant != NULL || b->constant != NULL)
        return a->constant == b->constant;
    return x.item == y.item &&
           (x.item >= 0 ? x.output == y.output : value_equal(x.outside, y.outside));
}

/* ---- Searching ---------------------------------------------------------------------------- */

search search_new(reading *r, void *context, search_meets *meets)
{
    const size_t n = DATAFLOW_GROWTH * ((size_t)r->item_count + 1);

    return (search){.reading = r,
                    .context = context,
                    .meets = meets,
                    .bits = arena_array(r->arena, n, 1),
                    .state = arena_array(r->arena, n, 1),
                    .found = arena_array(r->arena, n, sizeof(int)),
                    .stack = arena_array(r->arena, n, sizeof(int)),
                    .next = arena_array(r->arena, n, sizeof(int))};
}

void search_reset(search *s)
{
    while (s->count > 0) {
        const int at = s->found[--s->count];

        s->bits[at] = s->state[at] = 0;
    }
}

static void enter(search *s, int *depth, int at)
{
    s->state[at] = ITEM_ENTERED;
    s->next[*depth] = s->reading->items[at].first_edge;
    s->stack[(*depth)++] = at;
}

/* Takes one step at the top of the stack. A cycle is left to the one who sorts. */
static void step(search *s, int *depth)
{
    const int at = s->stack[*depth - 1], e = s->next[*depth - 1];
    const edge *to = e > 0 ? &s->reading->edges[e - 1] : NULL;
    bool stop = false;

    if (to == NULL) {
        s->state[at] = ITEM_DONE;
        s->found[s->count++] = at;
        if (--*depth > 0)
            s->bits[s->stack[*depth - 1]] |= s->bits[at];
        return;
    }
    s->next[*depth - 1] = to->next;
    s->bits[at] |= (unsigned char)s->meets(s->context, at, to->to, to->output, &stop);
    if (!stop && s->state[to->to] == ITEM_NEW)
        enter(s, depth, to->to);
    else if (!stop)
        s->bits[at] |= s->bits[to->to];
}

unsigned search_from(search *s, const place *from)
{
    bool stop = false;
    unsigned bits = from->item < 0 ? 0 : s->meets(s->context, -1, from->item, from->output, &stop);
    int depth = 0;

    if (from->item < 0 || stop)
        return bits;
    if (s->state[from->item] == ITEM_NEW)
        enter(s, &depth, from->item);
    while (depth > 0)
        step(s, &depth);
    return bits | s->bits[from->item];
}

bool search_add_outer_edges(const search *s, const place *result, int owner, const bool *inside,
                            error *err)
{
    reading *r = s->reading;

    if (result->item >= 0 && !inside[result->item])
        reading_add_edge(r, owner, result->item, result->output);
    for (int i = 0; i < s->count; i++) {
        if (!inside[s->found[i]])
            continue;
        for (int e = r->items[s->found[i]].first_edge; e > 0; e = r->edges[e - 1].next) {
            const edge to = r->edges[e - 1];

            if (!inside[to.to] && to.to != owner)
                reading_add_edge(r, owner, to.to, to.output);
        }
    }
    return r->edge_count <= DATAFLOW_EDGES ||
           error_set_limit(err, ERR_GRAPH_SIZE, DATAFLOW_EDGES, r->edge_count,
                           "the branches and loops of the graph are too entangled");
}

/* ---- The whole ------------------------------------------------------------------------------- */

/* Checks what it takes; and a loop_cond is nothing but a name. */
static bool check(reading *r, int at, error *err)
{
    const item *x = &r->items[at];

    if (!reading_check_count(x, err) || reading_attrs(r, x, err) == NULL)
        return reading_fault_at(x, x->object, err);
    for (int i = 0; i < x->argument_count; i++)
        if (x->arguments[i].missing)
            return wire_fault(x->arguments[i].written, err, ERR_ARGUMENT,
                              "%s: argument %d cannot be left out", x->op->name, i);
    if (dataflow_is(x, "merge") && x->argument_count != 2)
        return wire_fault(x->object, err, ERR_ARGUMENT, "merge takes 2 arguments, got %d",
                          x->argument_count);
    if (dataflow_is(x, "loop_cond"))
        dataflow_alias(r, at, x->arguments[0]);
    return true;
}

/* A reason for each kind of node that nothing could be made of. */
static bool check_left(const reading *r, error *err)
{
    static const struct {
        const char *name, *reason;
    } reasons[] = {
        {"leave", "leave takes output 0 of the switch of a loop variable"},
        {"next_iteration", "next_iteration gives to a merge whose other argument is an enter"},
    };

    for (int i = 0; i < r->item_count; i++)
        for (size_t k = 0; k < sizeof reasons / sizeof *reasons; k++)
            if (dataflow_is(&r->items[i], reasons[k].name))
                return dataflow_fault(r, i, err, reasons[k].reason);
    return true;
}

bool reading_dataflow(reading *r, error *err)
{
    bool any = false;

    for (int i = 0; i < r->item_count; i++) {
        const item *x = &r->items[i];

        if (x->op == NULL || (x->op->traits & OP_DATAFLOW) == 0)
            continue;
        any = true;
        if (!check(r, i, err))
            return false;
    }
    if (any && r->item_count > r->json->graph->node_limit)
        return error_set_limit(err, ERR_GRAPH_SIZE, r->json->graph->node_limit, r->item_count,
                               "a graph has at most %d nodes", r->json->graph->node_limit);
    return !any || (dataflow_loops(r, err) && dataflow_branches(r, err) && check_left(r, err));
}

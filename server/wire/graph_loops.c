/* SPDX-License-Identifier: Apache-2.0 */
/* Loops of dataflow nodes as while_loop. */
#include <string.h>

#include "server/wire/graph_dataflow.h"

/* What an item depends on. */
enum {
    MEETS_MERGE = 1,     /* a variable of the loop, as its condition sees it */
    MEETS_SIDE_TRUE = 2, /* as its body sees it */
    MEETS_SIDE_FALSE = 4,
    MEETS_LOOP = 8 /* another loop, which is not made yet */
};

/* A loop variable: the items that it is made of. */
typedef struct variable {
    int enter, merge, side, next; /* side: its switch */
    int loop;
} variable;

typedef struct loop {
    const char *name;
    int frame; /* that it is in */
    int count;
    int variables[OP_OUTPUTS];
    argument condition;
    bool made, waits;
} loop;

typedef struct loops {
    reading *reading;
    variable *variables;
    int variable_count, loop_count;
    loop *list;
    int *of_item; /* the variable that a merge or switch belongs to, by item; -1 */
    search condition, body;
    bool *inside; /* by item: whether a function of the current loop has it */
    int current;  /* the loop that is searched */
    int pending;  /* the last that a search met and that is not made yet */
} loops;

/* ---- Finding them ----------------------------------------------------------------------- */

static const item *argument_item(const reading *r, const item *x, int i)
{
    return x->arguments[i].place.item >= 0 ? &r->items[x->arguments[i].place.item] : NULL;
}

/* Whether the merge is one of a loop: which of its arguments comes from next_iteration. */
static int next_argument(const reading *r, const item *x)
{
    for (int i = 0; i < 2; i++) {
        const item *from = argument_item(r, x, i);

        if (from != NULL && dataflow_is(from, "next_iteration"))
            return i;
    }
    return -1;
}

static const char *frame_name(const item *enter)
{
    const wire_value *name = wire_member(wire_member(enter->object, "attrs"), "frame_name");

    return name != NULL && wire_type_of(name) == WIRE_STRING ? wire_string(name, NULL) : "loop";
}

/* The loop of a name in a frame; a new one if there is none yet. */
static int find_loop(loops *l, const char *name, int frame)
{
    int i = 0;

    while (i < l->loop_count && (l->list[i].frame != frame || strcmp(l->list[i].name, name) != 0))
        i++;
    if (i == l->loop_count)
        l->list[l->loop_count++] = (loop){.name = name, .frame = frame};
    return i;
}

static bool add_variable(loops *l, int at, int next, error *err)
{
    reading *r = l->reading;
    const item *x = &r->items[at], *enter = argument_item(r, x, 1 - next);
    variable v = {.merge = at, .side = -1, .next = x->arguments[next].place.item};
    loop *to;

    if (enter == NULL || !dataflow_is(enter, "enter"))
        return dataflow_fault(r, at, err,
                              "a merge with a next_iteration has an enter as its other argument");
    v.enter = x->arguments[1 - next].place.item;
    v.loop = find_loop(l, frame_name(enter), x->frame);
    to = &l->list[v.loop];
    if (r->items[v.next].frame != x->frame || enter->frame != x->frame)
        return dataflow_fault(r, at, err, "the nodes of a loop variable must be in one graph");
    if (to->count == OP_OUTPUTS)
        return dataflow_fault(r, at, err, "a loop has at most 64 variables");
    to->variables[to->count++] = l->variable_count;
    l->of_item[at] = l->variable_count;
    l->variables[l->variable_count++] = v;
    return true;
}

static bool add_variables(loops *l, error *err)
{
    const reading *r = l->reading;

    for (int i = 0; i < r->item_count; i++) {
        const int next = dataflow_is(&r->items[i], "merge") ? next_argument(r, &r->items[i]) : -1;

        if (next >= 0 && !add_variable(l, i, next, err))
            return false;
    }
    return true;
}

static bool add_side(loops *l, int at, error *err)
{
    reading *r = l->reading;
    const item *x = &r->items[at];
    const place data = x->arguments[0].place;
    variable *v =
        data.item >= 0 && l->of_item[data.item] >= 0 ? &l->variables[l->of_item[data.item]] : NULL;
    loop *to = v != NULL ? &l->list[v->loop] : NULL;

    if (v == NULL || v->merge != data.item)
        return true; /* of a choice */
    if (v->side >= 0)
        return dataflow_fault(r, at, err, "the loop variable has a switch already");
    v->side = at;
    l->of_item[at] = l->of_item[data.item];
    if (to->condition.written == NULL)
        to->condition = x->arguments[1];
    return dataflow_same(r, &to->condition, &x->arguments[1]) ||
           dataflow_fault(r, at, err, "all switches of a loop take the same predicate");
}

static bool add_sides(loops *l, error *err)
{
    const reading *r = l->reading;

    for (int i = 0; i < r->item_count; i++)
        if (dataflow_is(&r->items[i], "switch") && !add_side(l, i, err))
            return false;
    for (int i = 0; i < l->variable_count; i++)
        if (l->variables[i].side < 0)
            return dataflow_fault(r, l->variables[i].merge, err,
                                  "the loop variable needs a switch that takes this merge");
    return true;
}

/* ---- What is in them --------------------------------------------------------------------------
 */

/* For a search: the variables of the loop end it, and so do those of other loops. One that
 * was left is inside of this one, any other around it. */
static unsigned meets(const void *context, int from, int at, int output, bool *stop)
{
    const loops *l = context;
    const int v = l->of_item[at];
    const loop *of = v >= 0 ? &l->list[l->variables[v].loop] : NULL;

    (void)from;
    if (of == NULL || of->made)
        return 0;
    *stop = true;
    if (of != &l->list[l->current] && (at == l->variables[v].merge || output != 0))
        return 0;
    if (of != &l->list[l->current]) {
        ((loops *)context)->pending = l->variables[v].loop;
        return MEETS_LOOP;
    }
    return at == l->variables[v].merge ? MEETS_MERGE
           : output == 1               ? MEETS_SIDE_TRUE
                                       : MEETS_SIDE_FALSE;
}

/* Moves what a search passed, and what depends on a variable, into a function; flags it. */
static void move(const search *s, int from, int to, bool *inside)
{
    reading *r = s->reading;

    for (int i = 0; i < s->count; i++) {
        const item *x = &r->items[s->found[i]];

        if (s->bits[s->found[i]] == 0 || x->frame != from)
            continue;
        dataflow_move(r, s->found[i], to);
        inside[s->found[i]] = true;
    }
}

static void make_parameter(reading *r, int at, int frame)
{
    item *x = &r->items[at];

    x->kind = ITEM_PARAMETER;
    x->frame = frame;
    x->first_edge = x->last_edge = 0;
    reading_add_param(r, frame, at);
}

/* ---- Making them -------------------------------------------------------------------------------
 */

/* Whoever leaves gives the result of the variable whose switch it takes. */
static void make_leaves(loops *l, const loop *of, int owner)
{
    reading *r = l->reading;

    for (int i = 0; i < r->item_count; i++) {
        const item *x = &r->items[i];
        const place p = dataflow_is(x, "leave") ? x->arguments[0].place : (place){.item = -1};

        for (int k = 0; p.item >= 0 && p.output == 0 && k < of->count; k++)
            if (l->variables[of->variables[k]].side == p.item) {
                dataflow_alias(r, i,
                               (argument){.written = x->arguments[0].written,
                                          .place = {.item = owner, .output = k}});
                break;
            }
    }
}

/* Searches what the condition and the body of a loop need; gives the bits of both. */
static unsigned search_parts(loops *l, const loop *of, unsigned *body)
{
    const reading *r = l->reading;

    search_reset(&l->condition);
    search_reset(&l->body);
    *body = 0;
    for (int k = 0; k < of->count; k++)
        *body |= search_from(&l->body,
                             &r->items[l->variables[of->variables[k]].next].arguments[0].place);
    return search_from(&l->condition, &of->condition.place);
}

static bool check_parts(const loops *l, const loop *of, unsigned condition, unsigned body,
                        error *err)
{
    const variable *first = &l->variables[of->variables[0]];

    if ((condition & (MEETS_SIDE_TRUE | MEETS_SIDE_FALSE)) != 0)
        return dataflow_fault(
            l->reading, first->side, err,
            "the predicate of a loop is computed from its merges, not behind its switches");
    if ((body & MEETS_MERGE) != 0)
        return dataflow_fault(
            l->reading, first->merge, err,
            "the body of a loop takes its variables from output 1 of their switches, not "
            "from the merges");
    return (body & MEETS_SIDE_FALSE) == 0 ||
           dataflow_fault(l->reading, first->side, err,
                          "output 0 of a loop's switch is for leave; the body takes output 1");
}

/* The function of the condition: the merges are its parameters. */
static int make_condition(loops *l, const loop *of)
{
    reading *r = l->reading;
    const int f = dataflow_frame(r, of->frame);
    const int result = reading_add_item(r, NULL, of->name, false, f);

    move(&l->condition, of->frame, f, l->inside);
    for (int k = 0; k < of->count; k++)
        make_parameter(r, l->variables[of->variables[k]].merge, f);
    dataflow_alias(r, result, of->condition);
    r->frames[f]->outputs[r->frames[f]->output_count++] = (place){.item = result};
    return f;
}

/* The function of the body: the switches are its parameters, what goes to the next
 * iteration its results. */
static void make_body(loops *l, const loop *of)
{
    reading *r = l->reading;
    const int f = dataflow_frame(r, of->frame);
    frame *body = r->frames[f];

    move(&l->body, of->frame, f, l->inside);
    for (int k = 0; k < of->count; k++)
        make_parameter(r, l->variables[of->variables[k]].side, f);
    for (int k = 0; k < of->count; k++) {
        const int next = l->variables[of->variables[k]].next;

        r->items[next].frame = f;
        dataflow_alias(r, next, r->items[next].arguments[0]);
        body->outputs[body->output_count++] = (place){.item = next};
    }
}

static bool make(loops *l, loop *of, error *err)
{
    reading *r = l->reading;
    const int owner = dataflow_item(r, "while_loop", of->name, of->frame, of->count);
    int first;

    memset(l->inside, 0, (size_t)r->item_count);
    for (int k = 0; k < of->count; k++)
        r->items[owner].arguments[k] = r->items[l->variables[of->variables[k]].enter].arguments[0];
    make_leaves(l, of, owner);
    first = make_condition(l, of);
    make_body(l, of);
    r->items[owner].first_frame = first;
    for (int k = 0; k < of->count; k++)
        l->inside[l->variables[of->variables[k]].merge] =
            l->inside[l->variables[of->variables[k]].side] = true;
    r->items[owner].frame_count = 2;
    dataflow_reset_edges(r, owner);
    of->made = true;
    for (int k = 0; k < of->count; k++)
        if (!search_add_outer_edges(
                &l->body, &r->items[l->variables[of->variables[k]].next].arguments[0].place, owner,
                l->inside, err))
            return false;
    return search_add_outer_edges(&l->condition, &of->condition.place, owner, l->inside, err);
}

/* Makes a loop, those inside of it before. stack has room for all. */
static bool make_nested(loops *l, int outermost, int *stack, error *err)
{
    int depth = 0;

    stack[depth++] = outermost;
    while (depth > 0) {
        loop *of = &l->list[l->current = stack[depth - 1]];
        unsigned body;
        const unsigned condition = search_parts(l, of, &body);

        if (((condition | body) & MEETS_LOOP) != 0) {
            of->waits = true;
            if (l->list[l->pending].waits)
                return dataflow_fault(
                    l->reading, l->variables[of->variables[0]].merge, err,
                    "the loops are not inside each other: one uses what the other has "
                    "not left");
            stack[depth++] = l->pending;
            continue;
        }
        if (!check_parts(l, of, condition, body, err) || !make(l, of, err))
            return false;
        depth--;
    }
    return true;
}

bool dataflow_loops(reading *r, error *err)
{
    const size_t n = (size_t)r->item_count + 1;
    loops l = {.reading = r};
    int *stack = arena_array(r->arena, n, sizeof *stack);

    l.variables = arena_array(r->arena, n, sizeof *l.variables);
    l.list = arena_array(r->arena, n, sizeof *l.list);
    l.of_item = arena_array(r->arena, DATAFLOW_GROWTH * n, sizeof *l.of_item);
    memset(l.of_item, -1, DATAFLOW_GROWTH * n * sizeof *l.of_item);
    l.inside = arena_array(r->arena, DATAFLOW_GROWTH * n, sizeof *l.inside);
    l.condition = search_new(r, &l, meets);
    l.body = search_new(r, &l, meets);
    if (!add_variables(&l, err) || !add_sides(&l, err))
        return false;
    for (int i = 0; i < r->item_count; i++) /* a constant of a loop, or its beginning */
        if (dataflow_is(&r->items[i], "enter"))
            dataflow_alias(r, i, r->items[i].arguments[0]);
    for (int i = 0; i < l.loop_count; i++)
        if (!l.list[i].made && !make_nested(&l, i, stack, err))
            return false;
    return true;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Choices of dataflow nodes as cond: merges of the same predicate that do not need each
 * other become the results of one. */
#include "server/wire/graph_dataflow.h"

#include <string.h>

/* What an item depends on: sides of the switches of one predicate. */
enum { MEETS_FALSE = 1, MEETS_TRUE = 2, MEETS_BOTH = 3 };

/* A cond that was made. */
typedef struct choice {
    int pred;  /* a switch that has its predicate */
    int frame; /* that it is in */
    int level; /* 1 + that of the highest choice of the same predicate that it needs */
    int item;
    int before;      /* the choice of the same predicate that was made before, -1 */
    int branches[2]; /* its functions, if false and if true */
} choice;

/* The predicates whose switches an argument needs, and from which sides; the choices. */
typedef struct met {
    unsigned char *sides; /* by predicate */
    int *preds, count;
    bool *needs; /* by choice */
    int *choices, choice_count;
} met;

typedef struct branches {
    reading *reading;
    choice *choices;
    int count;
    int *pred_of;   /* by item that is a switch: the first switch of the same predicate */
    int *last_made; /* by predicate: its last choice, -1 */
    int *owner_of;  /* by item that is a cond: its choice, -1 */
    int *branch_of; /* by frame: the predicate whose branch it is, -1 */
    search any, paths[2];
    met met[2], *noting;
    bool *inside[2];
    int pred, level; /* of the merge that is looked at */
} branches;

/* ---- Predicates --------------------------------------------------------------------------- */

/* Says of every switch which one stands for its predicate. */
static void find_preds(branches *b)
{
    const reading *r = b->reading;
    int *first = arena_array(r->arena, (size_t)r->item_count + 1, sizeof *first), alone = -1;

    memset(first, -1, ((size_t)r->item_count + 1) * sizeof *first);
    for (int i = 0; i < r->item_count; i++) {
        const item *x = &r->items[i];
        int *head = NULL;

        if (!dataflow_is(x, "switch"))
            continue;
        head = x->arguments[1].place.item >= 0 ? &first[x->arguments[1].place.item] : &alone;
        b->pred_of[i] =
            *head >= 0 && dataflow_same(r, &r->items[*head].arguments[1], &x->arguments[1]) ? *head
                                                                                            : i;
        if (*head < 0)
            *head = i;
    }
}

static void note_choice(met *m, int choice)
{
    if (choice < 0 || m->needs[choice])
        return;
    m->needs[choice] = true;
    m->choices[m->choice_count++] = choice;
}

/* For a search: notes the switches, but for those that a choice has made one of, and goes
 * on. */
static unsigned note(const void *context, int from, int at, int output, bool *stop)
{
    const branches *b = context;
    const int pred = b->pred_of[at], made = from < 0 ? -1 : b->owner_of[from];
    met *m = b->noting;

    (void)stop;
    note_choice(m, b->owner_of[at]);
    if (pred < 0 || output < 0 || output > 1 || (made >= 0 && b->choices[made].pred == pred))
        return 0;
    if (m->sides[pred] == 0)
        m->preds[m->count++] = pred;
    m->sides[pred] |= (unsigned char)(output == 0 ? MEETS_FALSE : MEETS_TRUE);
    return 0;
}

static void note_argument(branches *b, const argument *a, met *m)
{
    while (m->count > 0)
        m->sides[m->preds[--m->count]] = 0;
    while (m->choice_count > 0)
        m->needs[m->choices[--m->choice_count]] = false;
    b->noting = m;
    search_reset(&b->any);
    search_from(&b->any, &a->place);
}

/* The predicate whose sides meet in a merge; -1 if there is none. */
static int pred_of_merge(branches *b, const item *x)
{
    note_argument(b, &x->arguments[0], &b->met[0]);
    note_argument(b, &x->arguments[1], &b->met[1]);
    for (int i = 0; i < b->met[0].count; i++) {
        const int pred = b->met[0].preds[i];
        const unsigned a = b->met[0].sides[pred], c = b->met[1].sides[pred];

        if (a != MEETS_BOTH && c != MEETS_BOTH && (a | c) == MEETS_BOTH)
            return pred;
    }
    return -1;
}

/* ---- One merge --------------------------------------------------------------------------------
 */

/* For a search: the switches of the predicate end it, and so do its choices. */
static unsigned meets(const void *context, int from, int at, int output, bool *stop)
{
    const branches *b = context;
    const int made = b->owner_of[at];

    (void)from;
    *stop = (made >= 0 && b->choices[made].pred == b->pred) || b->pred_of[at] == b->pred;
    if (b->pred_of[at] != b->pred)
        return 0;
    return output == 0 ? MEETS_FALSE : MEETS_TRUE;
}

static bool search_paths(branches *b, int at, unsigned sides[2], error *err)
{
    const reading *r = b->reading;

    for (int i = 0; i < 2; i++) {
        search_reset(&b->paths[i]);
        sides[i] = search_from(&b->paths[i], &r->items[at].arguments[i].place);
        for (int k = 0; k < b->paths[i].count; k++)
            if (b->paths[i].bits[b->paths[i].found[k]] == MEETS_BOTH)
                return dataflow_fault(
                    r, b->paths[i].found[k], err,
                    "the node needs both sides of a switch, of which only one is there");
    }
    return true;
}

/* A cond for merges of the predicate, in their frame and level; a new one if need be. */
static int find_choice(branches *b, int frame, const char *name)
{
    reading *r = b->reading;
    int i = b->last_made[b->pred];
    choice *c;

    while (i >= 0 && (b->choices[i].frame != frame || b->choices[i].level != b->level + 1 ||
                      r->frames[b->choices[i].branches[0]]->output_count == OP_OUTPUTS))
        i = b->choices[i].before;
    if (i >= 0)
        return i;
    c = &b->choices[b->count];
    *c = (choice){
        .pred = b->pred, .frame = frame, .level = b->level + 1, .before = b->last_made[b->pred]};
    c->item = dataflow_item(r, "cond", name, frame, 1);
    r->items[c->item].arguments[0] = r->items[b->pred].arguments[1];
    dataflow_reset_edges(r, c->item);
    c->branches[1] = dataflow_frame(r, frame); /* true_fn comes first */
    c->branches[0] = dataflow_frame(r, frame);
    r->items[c->item].first_frame = c->branches[1];
    r->items[c->item].frame_count = 2;
    b->branch_of[c->branches[0]] = b->branch_of[c->branches[1]] = b->pred;
    b->owner_of[c->item] = b->last_made[b->pred] = b->count;
    return b->count++;
}

/* Whether an item is built in a frame, besides others. */
static bool is_in(const item *x, int frame)
{
    for (const also *a = x->also; a != NULL; a = a->next)
        if (a->frame == frame)
            return true;
    return x->frame == frame;
}

/* Moves what leads to one side of a merge into that branch; what another branch has, too,
 * is built in both. */
static void move(branches *b, const search *path, int from, int to, bool *inside)
{
    reading *r = b->reading;

    for (int i = 0; i < path->count; i++) {
        item *x = &r->items[path->found[i]];
        also *more;

        if (path->bits[path->found[i]] == 0 ||
            (x->frame != from &&
             (r->frames[x->frame]->outer != from || b->branch_of[x->frame] < 0)))
            continue;
        inside[path->found[i]] = true;
        if (x->frame == from)
            dataflow_move(r, path->found[i], to);
        if (is_in(x, to))
            continue;
        more = arena_alloc(r->arena, sizeof *more);
        *more = (also){to, x->also};
        x->also = more;
    }
}

/* Makes a merge a result of a choice; sides[i] is the side that its argument i is on. */
static bool make(branches *b, int at, const unsigned sides[2], error *err)
{
    reading *r = b->reading;
    const int from = r->items[at].frame;
    const choice *c = &b->choices[find_choice(b, from, r->items[at].name)];
    const argument pred = r->items[b->pred].arguments[1], first = r->items[at].arguments[0];
    const int k = r->frames[c->branches[0]]->output_count;
    argument *arguments = arena_array(r->arena, 2, sizeof *arguments);

    for (int i = 0; i < 2; i++) {
        const int branch = c->branches[sides[i] == MEETS_TRUE];

        memset(b->inside[i], 0, (size_t)r->item_count);
        move(b, &b->paths[i], from, branch, b->inside[i]);
        r->frames[branch]->outputs[k] = r->items[at].arguments[i].place;
        r->frames[branch]->output_count = k + 1;
        if (!search_add_outer_edges(&b->paths[i], &r->items[at].arguments[i].place, c->item,
                                    b->inside[i], err))
            return reading_fault_at(&r->items[at], r->items[at].object, err);
    }
    arguments[0] = (argument){.written = first.written, .place = {.item = c->item, .output = k}};
    arguments[1] = pred;
    r->items[at].kind = ITEM_CHOSEN;
    r->items[at].flag = sides[1] == MEETS_TRUE;
    r->items[at].arguments = arguments;
    dataflow_reset_edges(r, at);
    return true;
}

/* The highest choice of the merge's predicate that it needs. */
static int level_of_merge(const branches *b)
{
    int level = 0;

    for (int i = 0; i < 2; i++)
        for (int k = 0; k < b->met[i].choice_count; k++) {
            const choice *c = &b->choices[b->met[i].choices[k]];

            level = c->pred == b->pred && c->level > level ? c->level : level;
        }
    return level;
}

static bool make_merge(branches *b, int at, error *err)
{
    unsigned sides[2];

    b->pred = pred_of_merge(b, &b->reading->items[at]);
    if (b->pred < 0)
        return dataflow_fault(
            b->reading, at, err,
            "a merge takes one argument from each side of a switch, or an enter and a "
            "next_iteration");
    b->level = level_of_merge(b);
    return search_paths(b, at, sides, err) && make(b, at, sides, err);
}

/* ---- Switches ---------------------------------------------------------------------------------
 */

/* Whether what stands in a frame is in a branch of the predicate. */
static bool is_in_branch(const branches *b, int frame, int pred)
{
    for (; frame >= 0; frame = b->reading->frames[frame]->outer)
        if (b->branch_of[frame] == pred)
            return true;
    return false;
}

/* Whether a frame is another one or inside of it. */
static bool is_within(const reading *r, int frame, int outer)
{
    while (frame >= 0 && frame != outer)
        frame = r->frames[frame]->outer;
    return frame >= 0;
}

/* Whether an item is built in a frame, or around it. */
static bool is_around(const reading *r, const item *x, int frame)
{
    bool around = is_within(r, frame, x->frame);

    for (const also *a = x->also; a != NULL; a = a->next)
        around = around || is_within(r, frame, a->frame);
    return around;
}

/* Whether what stands in a frame cannot have a value: it may not be there. */
static bool is_out_of_reach(const branches *b, int frame, place p)
{
    const int from = reading_target(b->reading, p).item;
    const item *x = from >= 0 ? &b->reading->items[from] : NULL;

    return x != NULL && (x->kind == ITEM_STRANDED || !is_around(b->reading, x, frame) ||
                         (b->pred_of[from] >= 0 && !is_in_branch(b, frame, b->pred_of[from])));
}

/* An item that takes one side of a switch, or what is inside of a branch or loop, without
 * being there itself, has no value; nor have those that need it. It is an error to ask for
 * one, but not to write it. */
static bool strand(const branches *b, error *err)
{
    reading *r = b->reading;
    const int *order = reading_sort(r, err);

    for (int i = 0; order != NULL && i < r->item_count; i++) {
        item *x = &r->items[order[i]];

        for (int k = 0; x->kind == ITEM_OPERATION && x->also == NULL && k < x->argument_count; k++)
            if (is_out_of_reach(b, x->frame, x->arguments[k].place))
                x->kind = ITEM_STRANDED;
    }
    return order != NULL;
}

static bool check_outputs(const branches *b, int at, error *err)
{
    const reading *r = b->reading;
    const frame *f = r->frames[at];

    for (int i = 0; i < f->output_count; i++)
        if (is_out_of_reach(b, at, f->outputs[i]))
            return dataflow_fault(
                r, f->outputs[i].item, err,
                "the node is on one side of a switch or inside a loop; outside of it "
                "there is what a merge or leave gives");
    return true;
}

/* In the branches both sides of a switch are its data. */
static bool end_switches(const branches *b, error *err)
{
    reading *r = b->reading;

    if (!strand(b, err))
        return false;
    for (int i = 0; i < r->frame_count; i++)
        if (!check_outputs(b, i, err))
            return false;
    for (int i = 0; i < r->item_count; i++) {
        if (b->pred_of[i] < 0)
            continue;
        r->items[i].kind = ITEM_ALIAS;
        r->items[i].arguments[1] = r->items[i].arguments[0];
        dataflow_reset_edges(r, i);
    }
    return true;
}

/* ---- All of them -------------------------------------------------------------------------------
 */

static int *nowhere(arena *a, size_t n)
{
    int *list = arena_array(a, n, sizeof *list);

    memset(list, -1, n * sizeof *list);
    return list;
}

static void init(branches *b, reading *r)
{
    const size_t n = DATAFLOW_GROWTH * ((size_t)r->item_count + 1);

    *b = (branches){.reading = r};
    b->choices = arena_array(r->arena, n, sizeof *b->choices);
    b->pred_of = nowhere(r->arena, n);
    b->last_made = nowhere(r->arena, n);
    b->owner_of = nowhere(r->arena, n);
    b->branch_of = nowhere(r->arena, n + (size_t)r->frame_count);
    b->any = search_new(r, b, note);
    for (int i = 0; i < 2; i++) {
        b->paths[i] = search_new(r, b, meets);
        b->inside[i] = arena_array(r->arena, n, sizeof(bool));
        b->met[i].sides = arena_array(r->arena, n, 1);
        b->met[i].preds = arena_array(r->arena, n, sizeof(int));
        b->met[i].needs = arena_array(r->arena, n, sizeof(bool));
        b->met[i].choices = arena_array(r->arena, n, sizeof(int));
    }
}

bool dataflow_branches(reading *r, error *err)
{
    const int count = r->item_count, *order = reading_sort(r, err);
    branches b;

    if (order == NULL)
        return false;
    init(&b, r);
    find_preds(&b);
    for (int i = 0; i < count; i++)
        if (dataflow_is(&r->items[order[i]], "merge") && !make_merge(&b, order[i], err))
            return false;
    return end_switches(&b, err);
}

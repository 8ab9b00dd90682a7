/* SPDX-License-Identifier: Apache-2.0 */
/* Named lengths beyond the inputs: the graph is built once more, with a number of its own
 * for each name; where the number comes out, so would what the name stands for.
 *
 * A node that cannot be built so has a named length where it takes only certain ones. Which,
 * is found by trying: the other names are forgotten, and this one is every length that the
 * node's inputs have otherwise, 1, and some that they have not. Only if none of those will do
 * is one of the others what the name must be. */
#include <inttypes.h>
#include <string.h>

#include "engine/graph/declaration.h"

enum { STAND_IN = 1009, STAND_IN_STEP = 418, NAMES_MAX = 64, ROUNDS = 4, TRIAL_NODES = 4000 };

/* A name, and what it must be: one length, or that or 1. */
typedef struct name {
    const char *name;
    int64_t stand_in;
    const node *bound; /* by which node; NULL: by none yet */
    int64_t length;
    bool or_one;
} name;

typedef struct spreading {
    graph *from, *to;
    graph_map *map;
    name names[NAMES_MAX];
    int count;
} spreading;

/* ---- Stand-ins ----------------------------------------------------------------------- */

static bool type_has(const type *t, int64_t length)
{
    for (int i = 0; i < t->shape.rank; i++)
        if (t->shape.length[i] == length)
            return true;
    return false;
}

/* Whether the graph has a known length that could be taken for a name's. */
static bool is_used(const graph *g, int64_t length)
{
    for (int i = 0; i < g->count; i++)
        for (int k = 0; k < g->nodes[i]->output_count; k++)
            if (type_has(&g->nodes[i]->types[k], length))
                return true;
    return false;
}

static int64_t new_stand_in(const spreading *s)
{
    const int64_t i = s->count;
    int64_t n = s->count > 0 ? s->names[i - 1].stand_in + STAND_IN_STEP + 14 * i : STAND_IN;

    while (is_used(s->from, n))
        n += 2;
    return n;
}

/* The name, which is added if it is new; NULL if there is no room. */
static name *find_name(spreading *s, const char *word)
{
    for (int i = 0; i < s->count; i++)
        if (strcmp(s->names[i].name, word) == 0)
            return &s->names[i];
    if (s->count == NAMES_MAX)
        return NULL;
    s->names[s->count] = (name){.name = word, .stand_in = new_stand_in(s)};
    return &s->names[s->count++];
}

static const char *name_of(const spreading *s, int64_t length)
{
    for (int i = 0; i < s->count; i++)
        if (s->names[i].stand_in == length)
            return s->names[i].name;
    return NULL;
}

/* ---- Nodes one by one ------------------------------------------------------------------- */

/* The input in the copy, with a number for each named length. */
static bool copy_input(spreading *s, const value from, error *err)
{
    const declaration *d = from.node->declared;
    type t = *value_type(from);
    value v;

    for (int i = 0; d != NULL && i < t.shape.rank; i++) {
        const name *n = d->symbols[i] != NULL ? find_name(s, d->symbols[i]) : NULL;

        if (n != NULL)
            t.shape.length[i] = n->stand_in;
    }
    v = graph_input(s->to, from.node->name, &t, err);
    if (v.node != NULL)
        graph_map_set(s->map, from, v);
    return v.node != NULL;
}

/* Builds n with each name's number replaced: that of names[only] by `length`, those of the
 * others by what instead[] says, if it is given, else by an unknown length. */
static bool build_with(spreading *s, const node *n, int only, int64_t length,
                       const int64_t *instead)
{
    value *before = arena_array(s->to->arena, (size_t)n->input_count + 1, sizeof *before);
    error ignored = {0};
    bool ok = true;

    for (int i = 0; i < n->input_count; i++) {
        type t;

        before[i] = graph_map_get(s->map, n->inputs[i]);
        if (before[i].node == NULL || before[i].node->op == &op_constant)
            continue;
        t = *value_type(before[i]);
        for (int k = 0; k < t.shape.rank; k++)
            for (int m = 0; m < s->count; m++)
                if (value_type(before[i])->shape.length[k] == s->names[m].stand_in)
                    t.shape.length[k] = m == only         ? length
                                        : instead != NULL ? instead[m]
                                                          : LENGTH_UNKNOWN;
        graph_map_set(s->map, n->inputs[i], graph_input(s->to, "x", &t, &ignored));
    }
    ok = !error_is_set(&ignored) && graph_map_copy(s->map, n, &ignored);
    for (int i = 0; i < n->input_count; i++)
        if (before[i].node != NULL)
            graph_map_set(s->map, n->inputs[i], before[i]);
    return ok;
}

static bool try(spreading *s, const node *n, int which, int64_t length)
{
    return build_with(s, n, which, length, NULL);
}

/* Whether n can be built with lengths that have nothing to do with a. */
static bool takes_others(spreading *s, const node *n, int which, int64_t a)
{
    const int64_t others[] = {0, 2, 3, 5, 7, 11, 64, a - 1, a + 1, 2 * a, 3 * a, 7 * a, a * a};

    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (others[i] >= 0 && others[i] != a && others[i] != 1 && try(s, n, which, others[i]))
            return true;
    return false;
}

/* ---- What a name must be ------------------------------------------------------------------ */

static bool refuse(const name *a, int64_t length, const node *where, error *err)
{
    return error_set(err, ERR_SHAPE,
                     "the length '%.60s' would have to be %" PRId64 " in %s and %" PRId64 " in %s",
                     a->name, a->length, a->bound->op->name, length, where->op->name);
}

/* Adds that the name is of this length, or 1, to what is known of it. */
static bool bind(name *a, int64_t length, bool or_one, const node *where, error *err)
{
    const bool same = a->bound != NULL && a->length == length;

    if (a->bound == NULL || (same && a->or_one)) {
        *a = (name){a->name, a->stand_in, where, length, or_one};
        return true;
    }
    if (same || (or_one && !a->or_one && a->length == 1))
        return true;
    if (a->or_one && (or_one || length == 1)) { /* 1 is all that both take */
        *a = (name){a->name, a->stand_in, where, 1, false};
        return true;
    }
    return refuse(a, length, where, err);
}

/* Whether trying took more than it may: the time is to be proportional to the graph. */
static bool is_spent(const spreading *s)
{
    return s->to->total / ROUNDS > s->from->total + TRIAL_NODES;
}

/* Finds what a name that n takes must be because of the lengths that it meets. */
static bool bind_in(spreading *s, const node *n, int which, error *err)
{
    if (is_spent(s) || try(s, n, which, s->names[which].stand_in))
        return true;
    for (int i = 0; i < n->input_count; i++) {
        const value v = graph_map_get(s->map, n->inputs[i]);

        for (int k = 0; v.node != NULL && k < value_type(v)->shape.rank; k++) {
            const int64_t a = value_type(v)->shape.length[k];

            if (a <= 1 || a > INT32_MAX || name_of(s, a) != NULL || !try(s, n, which, a))
                continue;
            if (takes_others(s, n, which, a))
                return true;
            return bind(&s->names[which], a, try(s, n, which, 1), n, err);
        }
    }
    return true;
}

static bool is_taken(const spreading *s, const node *n, int which)
{
    for (int i = 0; i < n->input_count; i++) {
        const value v = graph_map_get(s->map, n->inputs[i]);

        if (v.node != NULL && type_has(value_type(v), s->names[which].stand_in))
            return true;
    }
    return false;
}

/* Builds n with what its names must be, or with as little as is known of the original. */
static bool copy_bound(spreading *s, const node *n, error *err)
{
    int64_t lengths[NAMES_MAX];

    for (int i = 0; i < s->count; i++)
        lengths[i] = s->names[i].bound != NULL ? s->names[i].length : s->names[i].stand_in;
    if (build_with(s, n, -1, 0, lengths))
        return true;
    for (int k = 0; k < n->output_count; k++) {
        const value v = graph_input(s->to, "x", &n->types[k], err);

        if (v.node == NULL)
            return false;
        graph_map_set(s->map, (value){(node *)n, k}, v);
    }
    return true;
}

/* Views take whatever divides: what they cannot take is no single length. */
static bool copy_node(spreading *s, const node *n, error *err)
{
    error ignored = {0};

    if (graph_map_copy(s->map, n, &ignored))
        return true;
    for (int i = 0; n->op->view == NULL && i < s->count; i++)
        if (is_taken(s, n, i) && !bind_in(s, n, i, err))
            return false;
    return copy_bound(s, n, err);
}

/* ---- Notes --------------------------------------------------------------------------------- */

/* Notes which of a type's lengths have names. */
static bool note_type(const spreading *s, const type *known, const type *found, declaration *d)
{
    bool any = false;

    for (int i = 0; i < known->shape.rank && known->shape.rank == found->shape.rank; i++) {
        if (known->shape.length[i] == LENGTH_UNKNOWN)
            d->symbols[i] = name_of(s, found->shape.length[i]);
        any = any || d->symbols[i] != NULL;
    }
    return any;
}

/* Notes what came out for a node. */
static void note(const spreading *s, node *n, const value *found)
{
    declaration *d = NULL;

    for (int k = 0; k < n->output_count; k++) {
        declaration of = {.has_dtype = false};

        if (found[k].node == NULL || !note_type(s, &n->types[k], value_type(found[k]), &of))
            continue;
        if (d == NULL)
            d = arena_array(n->graph->arena, (size_t)n->output_count, sizeof *d);
        d[k] = of;
    }
    n->declared = d;
}

/* The next node that is an input, or is none. */
static node *next_node(const graph *g, int *at, bool input)
{
    while (*at < g->count && (g->nodes[*at]->op == &op_input) != input)
        (*at)++;
    return *at < g->count ? g->nodes[(*at)++] : NULL;
}

/* A graph inside of a node, and the same in the copy. Of both, inputs and other nodes come in
 * one order each. */
typedef struct twin {
    const graph *from, *to;
} twin;

typedef struct twins {
    arena *arena;
    twin *list;
    size_t count, room;
} twins;

static void add_twin(twins *t, const graph *from, const graph *to)
{
    if (from == NULL || to == NULL || from->count != to->count)
        return;
    t->list = arena_grow(t->arena, t->list, t->count, &t->room, sizeof *t->list);
    t->list[t->count++] = (twin){from, to};
}

static void add_inner(twins *t, const node *from, const node *to)
{
    if (from->op != to->op && from->op->body != to->op->body)
        return;
    if (from->op->body != NULL)
        add_twin(t, from->definition, to->definition);
    for (int i = 0; i < from->op->attr_count; i++)
        if (from->attrs[i].kind == ATTR_GRAPH)
            add_twin(t, from->attrs[i].graph, to->attrs[i].graph);
}

static void note_twin(const spreading *s, twins *t, twin x)
{
    for (int pass = 0; pass < 2; pass++) {
        int from_at = 0, to_at = 0;
        node *from, *to;

        while ((from = next_node(x.from, &from_at, pass == 0)) != NULL &&
               (to = next_node(x.to, &to_at, pass == 0)) != NULL) {
            value outputs[OP_OUTPUTS];

            if (from->output_count != to->output_count)
                return;
            for (int k = 0; k < to->output_count; k++)
                outputs[k] = (value){to, k};
            if (from->op != &op_constant)
                note(s, from, outputs);
            add_inner(t, from, to);
        }
    }
}

static void note_all(const spreading *s)
{
    twins inside = {.arena = s->to->arena};

    for (int i = 0; i < s->from->count; i++) {
        node *n = s->from->nodes[i];
        value outputs[OP_OUTPUTS];

        if (n->op == &op_input || n->op == &op_constant)
            continue;
        for (int k = 0; k < n->output_count; k++)
            outputs[k] = graph_map_get(s->map, (value){n, k});
        note(s, n, outputs);
        if (outputs[0].node != NULL && outputs[0].node->op != &op_input)
            add_inner(&inside, n, outputs[0].node);
    }
    for (size_t i = 0; i < inside.count; i++)
        note_twin(s, &inside, inside.list[i]);
}

bool declaration_spread(graph *g, error *err)
{
    spreading s = {.from = g};
    error ignored = {0};
    arena *a = arena_new();
    bool ok = true;

    s.to = graph_new(a, NULL);
    s.map = graph_map_new(g, s.to);
    s.to->node_limit = INT32_MAX / (GRAPH_TOTAL + 1);
    for (int i = 0; ok && i < g->input_count; i++)
        ok = copy_input(&s, g->inputs[i], &ignored);
    for (int i = 0; ok && s.count > 0 && i < g->count; i++)
        if (graph_map_get(s.map, (value){g->nodes[i], 0}).node == NULL)
            ok = copy_node(&s, g->nodes[i], err);
    if (ok && s.count > 0)
        note_all(&s);
    graph_release(s.to);
    arena_free(a);
    return !error_is_set(err);
}

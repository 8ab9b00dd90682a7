/* SPDX-License-Identifier: Apache-2.0 */
/* Groups that share what they read become one, whose pass has several results: a + b, a * b and
 * a.max() read a and b once, and (a * b).sum() needs no pass of its own.
 *
 * The step of a group comes where its root is, so a group joins an earlier one only if all that
 * it reads from elsewhere is there by then. What it gives must not depend on whom it joined:
 * reductions are cut along merged axes, so both must walk through the same ones. */
#include "engine/plan/private.h"

enum {
    SHORT_RUN = 32 /* kept or folded axes below it may change places, and results with them */
};

typedef struct piece {
    int nodes, reads, folds; /* reads: inputs from elsewhere */
    bool stores;             /* some value element by element */
    bool views;              /* something is read that may lie anyhow */
    uint64_t folded;         /* axes, if it folds */
    uint64_t breaks;         /* between axis i and the next one, an input stops being repeated */
} piece;

typedef struct sharing {
    const graph *g;
    groups *groups;
    piece *pieces; /* by root */
    int *place;    /* by node id: where its value is made; -1: it is there from the start */
    int *reader;   /* by node id: the last group that reads its value; -1: none */
    bool *fetched; /* by node id: it is an output of the graph */
} sharing;

/* ---- What groups are ----------------------------------------------------------------------- */

static bool is_inside(const sharing *s, const node *n, int root)
{
    return node_is_elementwise(n) && s->groups->root[n->id] == root;
}

static bool is_leaf(const node *n)
{
    return n->op == &op_input || n->op == &op_constant;
}

/* Between which axes of the space an input is repeated along one but not along the other. */
static uint64_t breaks_of(const shape *space, const shape *in)
{
    const int missing = space->rank - in->rank;
    uint64_t breaks = 0;
    int before = -1;

    for (int i = 0; i < space->rank; i++) {
        const bool repeated = i < missing || in->length[i - missing] == 1;

        if (space->length[i] == 1)
            continue;
        if (before >= 0 && (before % 2 == 1) != repeated)
            breaks |= (uint64_t)1 << before / 2;
        before = 2 * i + repeated;
    }
    return breaks;
}

static void note_read(piece *p, const shape *space, value in)
{
    const shape *own = &value_type(in)->shape;

    p->reads++;
    p->breaks |= breaks_of(space, own);
    p->views = p->views || in.node->op->view != NULL || !shape_is_known(own) ||
               (in.node->op == &op_constant && shape_size(own) != 1);
}

static void note_fold(piece *p, const node *n)
{
    bool folded[RANK_MAX];
    error err = {0};

    p->folds++;
    p->views = p->views || !node_folded_axes(n, folded, &err);
    for (int i = 0; !p->views && i < node_space(n)->rank; i++)
        p->folded |= folded[i] ? (uint64_t)1 << i : 0;
}

static piece piece_of(const sharing *s, int root)
{
    const shape *space = node_space(s->g->nodes[root]);
    piece p = {.views = !shape_is_known(space)};

    for (int i = s->groups->first[root]; i >= 0; i = s->groups->next[i]) {
        const node *n = s->g->nodes[i];

        p.nodes++;
        if (n->op->reduce != NULL)
            note_fold(&p, n);
        else
            p.stores = p.stores || s->groups->stored[i];
        for (int k = 0; k < n->input_count; k++)
            if (!is_inside(s, n->inputs[k].node, root))
                note_read(&p, space, n->inputs[k]);
    }
    return p;
}

/* ---- Whether two may be one ---------------------------------------------------------------- */

/* Whether folding that way, rows or columns come in the order of what is stored: merged axes
 * are kept ones and then folded ones, or folded ones and then a kept one. */
static bool stores_in_order(const shape *space, uint64_t folded, uint64_t breaks)
{
    int64_t last = 1;
    int before = -1, changes = 0, kept = 0;

    for (int i = 0; i < space->rank; i++) {
        const bool folds = folded >> i & 1;
        const bool first = before < 0, changed = !first && (folded >> before & 1) != folds;

        if (space->length[i] == 1)
            continue;
        if (first || changed || breaks >> before & 1) {
            kept += !folds;
            last = 1;
        }
        changes += changed;
        last *= space->length[i];
        before = i;
    }
    if (before < 0 || changes > 1)
        return false;
    if (folded >> before & 1)
        return kept == 0 || last >= SHORT_RUN;
    return changes == 1 && kept == 1 && last >= SHORT_RUN;
}

/* The places between axes of which both are folded or both kept. */
static uint64_t mergeable(uint64_t folded)
{
    return ~(folded ^ folded >> 1);
}

static bool is_there(const sharing *s, int from, int into)
{
    for (int i = s->groups->first[from]; i >= 0; i = s->groups->next[i]) {
        const node *n = s->g->nodes[i];

        for (int k = 0; k < n->input_count; k++) {
            const node *in = n->inputs[k].node;

            if (!is_inside(s, in, from) && !is_inside(s, in, into) && s->place[in->id] >= into)
                return false;
        }
    }
    return true;
}

static bool may_join(const sharing *s, int from, int into)
{
    const piece *a = &s->pieces[into], *b = &s->pieces[from];
    const shape *space = node_space(s->g->nodes[from]);
    const uint64_t folded = a->folded | b->folded;

    if (a->views || b->views || (b->folds == 0 && !s->fetched[from]) ||
        a->nodes + b->nodes > GROUP_NODES || a->reads + b->reads > TILE_LEAVES ||
        a->folds + b->folds > TILE_FOLDS || !shape_equal(space, node_space(s->g->nodes[into])) ||
        (a->folds > 0 && b->folds > 0 && a->folded != b->folded) ||
        ((a->breaks ^ b->breaks) & mergeable(folded)) != 0)
        return false;
    if (a->folds + b->folds > 0 && (a->stores || b->stores) &&
        !stores_in_order(space, folded, a->breaks | b->breaks))
        return false;
    return is_there(s, from, into);
}

/* ---- Joining ------------------------------------------------------------------------------- */

/* Puts the members of one group among those of another, in order of ids. */
static void join(sharing *s, int from, int into)
{
    groups *r = s->groups;
    int *at = &r->first[into], rest = r->first[from];

    while (rest >= 0) {
        const int member = rest;

        while (*at >= 0 && *at < member)
            at = &r->next[*at];
        rest = r->next[member];
        r->next[member] = *at;
        *at = member;
        r->root[member] = into;
        s->place[member] = into;
    }
    s->pieces[into] = piece_of(s, into);
}

/* The group that makes a value, or that reads it, if it can be joined; else -1. */
static int company(const sharing *s, int root, const node *in)
{
    const int made = node_is_elementwise(in) ? s->groups->root[in->id] : root;
    const int read = s->reader[in->id];

    if (made != root && may_join(s, root, made))
        return made;
    return read >= 0 && may_join(s, root, read) ? read : -1;
}

/* Lets the group of a root join one of those before that it shares something with. */
static void find_company(sharing *s, int root)
{
    for (int i = s->groups->first[root]; i >= 0; i = s->groups->next[i]) {
        const node *n = s->g->nodes[i];

        for (int k = 0; k < n->input_count; k++) {
            const int into = company(s, root, n->inputs[k].node);

            if (into >= 0) {
                join(s, root, into);
                return;
            }
        }
    }
}

/* Notes what the group reads, but for numbers: sharing those gains nothing. */
static void note_reader(sharing *s, int root)
{
    for (int i = s->groups->first[root]; i >= 0; i = s->groups->next[i]) {
        const node *n = s->g->nodes[i];

        for (int k = 0; k < n->input_count; k++)
            if (value_type(n->inputs[k])->shape.rank > 0)
                s->reader[n->inputs[k].node->id] = root;
    }
}

void groups_share(const graph *g, groups *r, arena *a)
{
    const size_t n = (size_t)g->count + 1;
    sharing s = {g,
                 r,
                 arena_array(a, n, sizeof *s.pieces),
                 arena_array(a, n, sizeof *s.place),
                 arena_array(a, n, sizeof *s.reader),
                 arena_array(a, n, sizeof *s.fetched)};

    for (int i = 0; i < g->output_count; i++)
        s.fetched[g->outputs[i].node->id] = true;
    for (int i = 0; i < g->count; i++) {
        const node *m = g->nodes[i];

        s.reader[i] = -1;
        s.place[i] = is_leaf(m) ? -1 : i;
    }
    for (int i = 0; i < g->count; i++) {
        if (!r->needed[i] || !node_is_computed(g->nodes[i]) || r->root[i] != i)
            continue;
        s.pieces[i] = piece_of(&s, i);
        find_company(&s, i);
        note_reader(&s, r->root[i]);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Which operations share one pass. A node joins the group of its users if they are all
 * in one group and run over the same shape; otherwise it begins a group of its own. */
#include "engine/plan/private.h"

bool node_is_elementwise(const node *n)
{
    return n->op->pattern != NULL;
}

bool node_is_computed(const node *n)
{
    return node_is_elementwise(n) || n->op->reduce != NULL;
}

const shape *node_space(const node *n)
{
    return n->op->reduce != NULL ? &value_type(n->inputs[0])->shape : &n->types[0].shape;
}

enum { NO_USER = -1, MUST_STORE = -2 };

/* The group that would take a value on behalf of user, or MUST_STORE. */
static int group_for(const groups *r, const node *user)
{
    if (node_is_elementwise(user))
        return r->root[user->id];
    return user->op->reduce != NULL ? user->id : MUST_STORE;
}

/* Marks, for the inputs of n, the group that uses them. */
static void note_users(const groups *r, const node *n, int *wanted)
{
    const int group = group_for(r, n);

    for (int i = 0; i < n->input_count; i++) {
        if (n->inputs[i].node == NULL)
            continue;
        int *w = &wanted[n->inputs[i].node->id];

        *w = *w == NO_USER || *w == group ? group : MUST_STORE;
    }
}

static void note_attr_users(const node *n, bool *needed)
{
    for (int i = 0; i < n->op->attr_count; i++)
        if (n->attrs[i].kind == ATTR_DYNAMIC)
            needed[n->attrs[i].node->id] = true;
}

groups groups_of(const graph *g, arena *a)
{
    const size_t n = (size_t)g->count + 1;
    groups r = {arena_array(a, n, sizeof(int)), arena_array(a, n, sizeof(int)),
                arena_array(a, n, sizeof(int)), arena_array(a, n, sizeof(bool)),
                arena_array(a, n, sizeof(bool))};
    int *wanted = arena_array(a, n, sizeof *wanted), *sizes = arena_array(a, n, sizeof *sizes);

    for (int i = 0; i < g->count; i++) {
        wanted[i] = NO_USER;
        r.first[i] = r.next[i] = -1;
    }
    for (int i = 0; i < g->output_count; i++) {
        r.needed[g->outputs[i].node->id] = true;
        r.stored[g->outputs[i].node->id] = true;
    }
    for (int i = g->count - 1; i >= 0; i--) {
        node *m = g->nodes[i];
        int group = r.stored[i] ? MUST_STORE : wanted[i];

        if (!r.needed[i])
            continue;
        for (int k = 0; k < m->input_count; k++)
            if (m->inputs[k].node != NULL)
                r.needed[m->inputs[k].node->id] = true;
        note_attr_users(m, r.needed);
        if (!node_is_elementwise(m) || group < 0 || sizes[group] >= GROUP_NODES ||
            !shape_equal(&m->types[0].shape, node_space(g->nodes[group])))
            group = i;
        r.root[i] = group;
        r.stored[i] = group == i;
        r.next[i] = r.first[group];
        r.first[group] = i;
        sizes[group]++;
        note_users(&r, m, wanted);
    }
    groups_share(g, &r, a);
    return r;
}

int *plan_fusion(const graph *g, arena *a)
{
    const groups r = groups_of(g, a);
    int *fusion = arena_array(a, (size_t)g->count + 1, sizeof *fusion);

    for (int i = 0; i < g->count; i++) {
        const node *n = g->nodes[i];
        const bool computes = r.needed[i] && node_is_computed(n);

        fusion[i] = computes && r.next[r.first[r.root[i]]] >= 0 ? r.root[i] : -1;
    }
    return fusion;
}

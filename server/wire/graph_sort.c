/* SPDX-License-Identifier: Apache-2.0 */
/* An order of nodes in which each comes after those it needs. */
#include <string.h>

#include "server/wire/graph_private.h"

/* A walk in depth, with its own stack. */
typedef struct walk {
    reading *r;
    int *stack, *next; /* items entered; which of an item's edges comes next, 0 for none */
    int depth;
    int *order, count;
} walk;

/* Lists the cycle that leads back to item at: "a -> b -> a". Nodes in place count as
 * the named node that they stand in. */
static bool fail_cycle(const walk *w, int at, error *err)
{
    const char *last = "";
    int from = 0;
    text path;

    text_init(&path);
    while (w->stack[from] != at)
        from++;
    for (int i = from; i < w->depth; i++) {
        const char *name = w->r->items[w->stack[i]].name;

        if (strcmp(name, last) != 0)
            text_addf(&path, "%s -> ", name);
        last = name;
    }
    text_add(&path, w->r->items[at].name);
    error_set(err, ERR_CYCLE, "the graph has a cycle: %s", path.bytes);
    text_clear(&path);
    return reading_fault_at(&w->r->items[at], w->r->items[at].object, err);
}

static void enter(walk *w, int at)
{
    w->r->items[at].state = ITEM_ENTERED;
    w->next[w->depth] = w->r->items[at].first_edge;
    w->stack[w->depth++] = at;
}

/* Takes one step at the top of the stack. */
static bool step(walk *w, error *err)
{
    const int at = w->stack[w->depth - 1];
    item *x = &w->r->items[at];
    const int edge = w->next[w->depth - 1];
    int to;

    if (edge == 0) {
        x->state = ITEM_DONE;
        w->order[w->count++] = at;
        w->depth--;
        return true;
    }
    w->next[w->depth - 1] = w->r->edges[edge - 1].next;
    to = w->r->edges[edge - 1].to;
    if (w->r->items[to].state == ITEM_ENTERED)
        return fail_cycle(w, to, err);
    if (w->r->items[to].state == ITEM_NEW)
        enter(w, to);
    return true;
}

const int *reading_sort(reading *r, error *err)
{
    const size_t n = (size_t)r->item_count + 1;
    walk w = {.r = r};

    for (int i = 0; i < r->item_count; i++)
        r->items[i].state = ITEM_NEW;
    w.stack = arena_array(r->arena, n, sizeof *w.stack);
    w.next = arena_array(r->arena, n, sizeof *w.next);
    w.order = arena_array(r->arena, n, sizeof *w.order);
    for (int i = 0; i < r->item_count; i++) {
        if (r->items[i].state == ITEM_NEW)
            enter(&w, i);
        while (w.depth > 0)
            if (!step(&w, err))
                return NULL;
    }
    return w.order;
}

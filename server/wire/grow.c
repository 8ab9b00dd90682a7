/* SPDX-License-Identifier: Apache-2.0 */
#include "server/wire/grow.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096 };

void grow_init(grow *g, budget *b)
{
    *g = (grow){.budget = b};
}

void grow_clear(grow *g)
{
    if (g->mapped)
        munmap(g->bytes, g->room);
    else
        free(g->bytes);
    budget_release(g->budget, (int64_t)g->paid);
    grow_init(g, g->budget);
}

/* ---- Growing ----------------------------------------------------------------- */

static bool no_room(size_t size, error *err)
{
    return error_set(err, ERR_MEMORY_BUSY, "the machine has no room for %zu bytes now", size);
}

/* Pays for bytes up to need, rounded up to whole steps. */
static bool pay(grow *g, size_t need, size_t step, error *err)
{
    const size_t total = (need + step - 1) / step * step;

    if (total <= g->paid)
        return true;
    if (!budget_charge(g->budget, (int64_t)(total - g->paid), err))
        return false;
    g->paid = total;
    return true;
}

/* Moves to a heap block of room bytes. */
static bool grow_heap(grow *g, size_t room, error *err)
{
    char *bytes = realloc(g->bytes, room);

    if (bytes == NULL)
        return no_room(room, err);
    g->bytes = bytes;
    g->room = room;
    return true;
}

/* Moves to a mapping of room bytes, from the heap or from a smaller one. */
static bool grow_map(grow *g, size_t room, error *err)
{
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void *bytes = g->mapped ? mremap(g->bytes, g->room, room, MREMAP_MAYMOVE)
                            : mmap(NULL, room, PROT_READ | PROT_WRITE, flags, -1, 0);

    if (bytes == MAP_FAILED)
        return no_room(room, err);
    if (!g->mapped) {
        if (g->size > 0)
            memcpy(bytes, g->bytes, g->size);
        free(g->bytes);
    }
    g->bytes = bytes;
    g->room = room;
    g->mapped = true;
    return true;
}

bool grow_reserve(grow *g, size_t n, error *err)
{
    size_t need, room = g->room > 0 ? g->room : 256;
    bool ok;

    if (__builtin_add_overflow(g->size, n, &need) || need > SIZE_MAX / 8)
        return no_room(n, err);
    if (need <= g->limit)
        return true;
    while (room < need + BUFFER_ALIGN)
        room *= 2;
    if (room > GROW_SMALL && room < 4 * GROW_STEP)
        room = 4 * GROW_STEP;
    if (!pay(g, need, room <= GROW_SMALL ? 256 : GROW_STEP, err))
        return false;
    ok = room == g->room || (room <= GROW_SMALL ? grow_heap(g, room, err) : grow_map(g, room, err));
    if (ok)
        g->limit = g->paid < g->room - BUFFER_ALIGN ? g->paid : g->room - BUFFER_ALIGN;
    return ok;
}

/* ---- Becoming a buffer --------------------------------------------------------- */

/* A mapping that a buffer owns. */
typedef struct mapping {
    void *bytes;
    size_t room;
    int64_t cost;
    budget *budget;
} mapping;

static void release_mapping(void *owner)
{
    mapping *m = owner;

    munmap(m->bytes, m->room);
    budget_release(m->budget, m->cost);
    free(m);
}

static buffer *take_mapping(grow *g, error *err)
{
    const size_t room = (g->size + BUFFER_ALIGN + PAGE - 1) / PAGE * PAGE;
    mapping *m = malloc(sizeof *m);
    const size_t size = g->size;
    const int64_t cost = buffer_cost(size);

    if (m == NULL || !pay(g, (size_t)cost, BUFFER_ALIGN, err)) {
        free(m);
        no_room(size, err);
        return NULL;
    }
    if (room < g->room)
        munmap(g->bytes + room, g->room - room);
    budget_release(g->budget, (int64_t)g->paid - cost);
    *m = (mapping){.bytes = g->bytes,
                   .room = room < g->room ? room : g->room,
                   .cost = cost,
                   .budget = g->budget};
    grow_init(g, g->budget);
    return buffer_new_foreign(m->bytes, size, release_mapping, m);
}

buffer *grow_take(grow *g, error *err)
{
    buffer *buf;

    if (g->mapped && g->size > GROW_SMALL)
        return take_mapping(g, err);
    buf = buffer_new(g->budget, g->size, err);
    if (buf == NULL)
        return NULL;
    if (g->size > 0)
        memcpy(buffer_bytes(buf), g->bytes, g->size);
    g->size = 0;
    if (g->mapped)
        grow_clear(g);
    return buf;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/names.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/table.h"
#include "storage/private.h"

struct names {
    _Atomic int references;
    uint64_t priority; /* not below that of any node under it */
    entry *entry;
    names *left, *right; /* names before and after the entry's */
};

/* ---- References ---------------------------------------------------------------- */

names *names_ref(names *n)
{
    if (n != NULL)
        atomic_fetch_add_explicit(&n->references, 1, memory_order_relaxed);
    return n;
}

/* Calls itself for left subtrees only; a treap is a few dozen nodes deep. */
void names_unref(names *n)
{
    while (n != NULL && atomic_fetch_sub(&n->references, 1) == 1) {
        names *right = n->right;

        names_unref(n->left);
        entry_unref(n->entry);
        free(n);
        n = right;
    }
}

static names *node_new(entry *e, uint64_t priority)
{
    names *n = malloc(sizeof *n);

    if (n == NULL)
        abort();
    *n = (names){.references = 1, .priority = priority, .entry = e};
    return n;
}

/* n itself if nobody else holds it, a copy of it otherwise. */
static names *owned_take(names *n)
{
    names *copy;

    if (atomic_load(&n->references) == 1)
        return n;
    copy = node_new(entry_ref(n->entry), n->priority);
    copy->left = names_ref(n->left);
    copy->right = names_ref(n->right);
    names_unref(n);
    return copy;
}

/* ---- Searching ----------------------------------------------------------------- */

entry *names_find(const names *n, const char *name)
{
    while (n != NULL) {
        int order = strcmp(name, n->entry->name);

        if (order == 0)
            return n->entry;
        n = order < 0 ? n->left : n->right;
    }
    return NULL;
}

entry *names_after(const names *n, const char *name, bool inclusive)
{
    entry *found = NULL;

    while (n != NULL) {
        int order = strcmp(name, n->entry->name);

        if (order < 0 || (order == 0 && inclusive)) {
            found = n->entry;
            n = n->left;
        } else {
            n = n->right;
        }
    }
    return found;
}

/* Calls itself for left subtrees only, as names_unref does. */
int64_t names_count(const names *n, const char *prefix, entry_kind kind)
{
    const size_t length = strlen(prefix);
    int64_t count = 0;

    while (n != NULL) {
        const int order = strncmp(n->entry->name, prefix, length);

        if (order == 0)
            count += (n->entry->kind == kind) + names_count(n->left, prefix, kind);
        n = order > 0 ? n->left : n->right;
    }
    return count;
}

/* ---- Changing ------------------------------------------------------------------ */

/* Parts n into the names before and after name, which is not in it. */
static void split_take(names *n, const char *name, names **before, names **after)
{
    while (n != NULL) {
        n = owned_take(n);
        if (strcmp(n->entry->name, name) < 0) {
            *before = n;
            before = &n->right;
            n = n->right;
        } else {
            *after = n;
            after = &n->left;
            n = n->left;
        }
    }
    *before = *after = NULL;
}

/* One map of two, all names of a being before those of b. */
static names *join_take(names *a, names *b)
{
    names *joined, **at = &joined;

    while (a != NULL && b != NULL) {
        if (a->priority >= b->priority) {
            *at = a = owned_take(a);
            at = &a->right;
            a = a->right;
        } else {
            *at = b = owned_take(b);
            at = &b->left;
            b = b->left;
        }
    }
    *at = a != NULL ? a : b;
    return joined;
}

names *names_put_take(names *n, entry *e)
{
    const uint64_t priority = hash_bytes(e->name, strlen(e->name));
    names **at = &n, *added;

    while (*at != NULL && (*at)->priority >= priority) {
        names *here = *at = owned_take(*at);
        int order = strcmp(e->name, here->entry->name);

        if (order == 0) {
            entry_unref(here->entry);
            here->entry = e;
            return n;
        }
        at = order < 0 ? &here->left : &here->right;
    }
    added = node_new(e, priority);
    split_take(*at, e->name, &added->left, &added->right);
    *at = added;
    return n;
}

names *names_remove_take(names *n, const char *name)
{
    names **at = &n;

    for (;;) {
        names *here = *at = owned_take(*at);
        int order = strcmp(name, here->entry->name);

        if (order == 0) {
            *at = join_take(here->left, here->right);
            entry_unref(here->entry);
            free(here);
            return n;
        }
        at = order < 0 ? &here->left : &here->right;
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "storage/private.h"

snapshot *storage_snapshot(storage *s)
{
    snapshot *n;

    pthread_mutex_lock(&s->lock);
    n = snapshot_ref(s->current);
    pthread_mutex_unlock(&s->lock);
    return n;
}

snapshot *snapshot_ref(snapshot *n)
{
    atomic_fetch_add_explicit(&n->references, 1, memory_order_relaxed);
    return n;
}

void snapshot_unref(snapshot *n)
{
    if (n == NULL || atomic_fetch_sub(&n->references, 1) > 1)
        return;
    names_unref(n->names);
    within_free(n->within);
    free(n);
}

snapshot *snapshot_within(const snapshot *n, const char *prefixes)
{
    snapshot *part = malloc(sizeof *part);

    if (part == NULL)
        abort();
    *part = (snapshot){.references = 1,
                       .commit = n->commit,
                       .names = names_ref(n->names),
                       .within = within_new(prefixes)};
    memcpy(part->count, n->count, sizeof part->count);
    return part;
}

bool snapshot_allows(const snapshot *n, const char *name, error *err)
{
    text prefixes;

    if (within_has(n->within, name))
        return true;
    text_init(&prefixes);
    within_add(n->within, &prefixes);
    error_set(err, ERR_FORBIDDEN,
              "'%s' may not be changed with this token, which is for names that begin with %s.",
              name, prefixes.bytes);
    text_clear(&prefixes);
    return false;
}

int64_t snapshot_commit(const snapshot *n)
{
    return n->commit;
}

char *version_name(const char *name, int64_t version)
{
    text t;

    text_init(&t);
    text_addf(&t, ".versions/%s/%019" PRId64, name, version);
    return text_take(&t);
}

static const entry *older_version(const snapshot *n, const char *name, int64_t version)
{
    char *hidden = version_name(name, version);
    const entry *e = snapshot_find(n, hidden);

    free(hidden);
    return e;
}

const entry *snapshot_find_version(const snapshot *n, const char *name, int64_t version)
{
    const entry *e = snapshot_find(n, name);

    if (e == NULL || e->kind != ENTRY_VARIABLE || version <= 0)
        return NULL;
    return e->version == version ? e : older_version(n, name, version);
}

size_t snapshot_versions(const snapshot *n, const char *name, int64_t before, const entry **found,
                         size_t room)
{
    size_t count = 0;

    for (int64_t v = before - 1; v > 0 && count < room; v--) {
        found[count] = older_version(n, name, v);
        if (found[count] == NULL)
            break; /* versions are kept without gaps */
        count++;
    }
    return count;
}

int64_t snapshot_count(const snapshot *n, entry_kind kind)
{
    return snapshot_count_prefix(n, kind, "");
}

int64_t snapshot_count_prefix(const snapshot *n, entry_kind kind, const char *prefix)
{
    if (n->within != NULL)
        return within_count(n->within, n->names, prefix, kind);
    return prefix[0] == '\0' ? n->count[kind] : names_count(n->names, prefix, kind);
}

const entry *snapshot_find(const snapshot *n, const char *name)
{
    return within_has(n->within, name) ? names_find(n->names, name) : NULL;
}

size_t snapshot_list(const snapshot *n, entry_kind kind, const char *prefix, const char *after,
                     const entry **found, size_t room)
{
    const size_t length = strlen(prefix);
    const bool from_prefix = strcmp(after, prefix) < 0;
    const entry *e = within_after(n->within, n->names, from_prefix ? prefix : after, from_prefix);
    size_t count = 0;

    while (e != NULL && count < room && strncmp(e->name, prefix, length) == 0) {
        if (e->kind == kind)
            found[count++] = e;
        e = within_after(n->within, n->names, e->name, false);
    }
    return count;
}

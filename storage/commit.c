/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/commit.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "storage/slots.h"

/* ---- Life ---------------------------------------------------------------------- */

void batch_init(batch *b, storage *s, txn *transactions, content *garbage)
{
    snapshot *now = storage_snapshot(s);

    *b = (batch){.storage = s,
                 .transactions = transactions,
                 .garbage = garbage,
                 .names = names_ref(now->names),
                 .commit = now->commit,
                 .arena = arena_new()};
    memcpy(b->count, now->count, sizeof b->count);
    snapshot_unref(now);
    for (const txn *x = transactions; x != NULL; x = x->next) {
        b->synced |= x->durability == DURABILITY_DISK;
        b->loose |= x->durability != DURABILITY_DISK;
    }
    /* A file may go only when the commit that took its name is on the disk. */
    for (const content *c = garbage; c != NULL; c = c->older)
        b->synced |= c->in_file && c->id != 0;
    b->synced |= b->loose && !s->loose;
}

void batch_clear(batch *b)
{
    for (size_t i = 0; i < b->redeemed_count; i++)
        content_unref(b->redeemed[i]);
    for (size_t i = 0; i < b->doomed_count; i++)
        content_unref(b->doomed[i]);
    names_unref(b->names);
    arena_free(b->arena);
}

static void redeem(batch *b, content *c)
{
    if (c == NULL)
        return;
    b->redeemed = arena_grow(b->arena, b->redeemed, b->redeemed_count, &b->redeemed_room,
                             sizeof *b->redeemed);
    b->redeemed[b->redeemed_count++] = content_ref(c);
}

/* Notes that no name has c any more, here and in the index. */
static bool doom(batch *b, content *c, error *err)
{
    if (c == NULL)
        return true;
    b->doomed =
        arena_grow(b->arena, b->doomed, b->doomed_count, &b->doomed_room, sizeof *b->doomed);
    b->doomed[b->doomed_count++] = content_ref(c);
    return c->is_volatile || index_doom_blob(b->storage->index, c->id, err);
}

/* ---- May it be done? ------------------------------------------------------------ */

static bool check_change(const change *c, const entry *old, error *err)
{
    if (old == NULL && c->content == NULL && c->make == NULL)
        return error_set(err, ERR_NOT_FOUND, "%s does not exist", c->name);
    if (old != NULL && c->content != NULL && old->kind != c->kind)
        return error_set(err, ERR_NAME_KIND, "%s is a %s; delete it before storing a %s", c->name,
                         entry_kind_name(old->kind), entry_kind_name(c->kind));
    return true;
}

static bool check_count(const batch *b, int64_t added, error *err)
{
    const int64_t most = b->storage->options.names_max;
    int64_t count = added;

    for (int k = 0; k < ENTRY_KINDS; k++)
        count += k == ENTRY_HIDDEN ? 0 : b->count[k];
    if (added <= 0 || count <= most)
        return true;
    return error_set_limit(err, ERR_VARIABLE_QUOTA, most, count,
                           "there would be %" PRId64 " names; the limit is %" PRId64, count, most);
}

static bool check_txn(const batch *b, const txn *x, error *err)
{
    int64_t added = 0;

    if (!txn_check_expectations(x, b->names, err))
        return false;
    for (size_t i = 0; i < x->change_count; i++) {
        const entry *old = names_find(b->names, x->changes[i]->name);

        if (!check_change(x->changes[i], old, err))
            return false;
        if (name_is_hidden(x->changes[i]->name))
            continue;
        added += (old == NULL) - x->changes[i]->removes;
    }
    return check_count(b, added, err);
}

/* ---- Doing it --------------------------------------------------------------------- */

/* Writes the blob of a content that is new. */
static bool store_blob(storage *s, content *c, error *err)
{
    buffer *bytes;
    bool ok;

    if (c == NULL)
        return true;
    bytes = content_bytes(c, err); /* never evicted while doomed, hence never read here */
    if (bytes == NULL)
        return false;
    if (c->id == 0)
        c->id = ++s->last_blob;
    ok = index_put_blob(s->index, c->id, buffer_bytes(bytes), (size_t)content_blob_bytes(c), err);
    buffer_unref(bytes);
    return ok;
}

static bool store_name(storage *s, const entry *e, error *err)
{
    const content *c = e->content;
    name_row row = {
        .name = e->name,
        .kind = entry_kind_name(e->kind),
        .dtype = dtype_name(c->dtype),
        .version = e->version,
        .commit = e->commit,
        .created_us = e->created_us,
        .modified_us = e->modified_us,
        .file = c->in_file ? c->file : NULL,
        .chunked = c->slots != NULL,
        .content = c->id,
        .attributes = e->attributes == NULL ? 0 : e->attributes->id,
        .attributes_bytes = e->attributes == NULL ? 0 : e->attributes->nbytes,
    };
    text place;
    bool ok;

    content_shape(c, &row.shape);
    text_init(&place);
    if (c->place != NULL) {
        place_add(c->place, &place);
        row.place = place.bytes;
    }
    ok = index_put_name(s->index, &row, err);
    text_clear(&place);
    return ok;
}

/* The entry that change makes of old (NULL: there was none). Attributes stay when
 * a value is replaced, unless only one of the two is in the index. */
static entry *entry_after(const batch *b, const change *c, const entry *old)
{
    entry *e = entry_new(c->name, c->content != NULL ? c->kind : old->kind);
    content *kept = NULL;

    e->content = content_ref(c->content != NULL ? c->content : old->content);
    if (old != NULL && old->content->is_volatile == e->content->is_volatile)
        kept = old->attributes;
    if (c->attributes != NULL)
        c->attributes->is_volatile = e->content->is_volatile;
    e->attributes = content_ref(c->attributes != NULL ? c->attributes : kept);
    e->version = old == NULL ? 1 : old->version + (c->content != NULL);
    e->commit = b->commit;
    e->modified_us = clock_date_us();
    e->created_us = old == NULL ? e->modified_us : old->created_us;
    return e;
}

/* Brings the index from old to e. */
static bool store_entry(storage *s, const change *c, const entry *old, const entry *e, error *err)
{
    if (e->content->is_volatile)
        return old == NULL || old->content->is_volatile ||
               index_delete_name(s->index, e->name, err);
    return store_blob(s, c->content, err) && store_blob(s, c->attributes, err) &&
           store_name(s, e, err);
}

/* ---- Older versions ------------------------------------------------------------------- */

/* Whether the value that a change takes from a name is kept. */
static bool is_kept(const batch *b, const entry *old, const entry *e)
{
    return b->storage->options.history > 0 && old->kind == ENTRY_VARIABLE &&
           !old->content->is_volatile && !e->content->is_volatile;
}

/* Removes older versions, from one downwards as long as there are any. */
static bool drop_versions(batch *b, const char *name, int64_t version, error *err)
{
    bool ok = true, found = true;

    for (; ok && found && version > 0; version--) {
        char *hidden = version_name(name, version);
        const entry *e = names_find(b->names, hidden);

        found = e != NULL;
        if (found) {
            ok = index_delete_name(b->storage->index, hidden, err) && doom(b, e->content, err);
            b->count[ENTRY_HIDDEN]--;
            b->names = names_remove_take(b->names, hidden);
        }
        free(hidden);
    }
    return ok;
}

/* Versions are kept without gaps: what is older than one that is not kept goes too. */
static bool forget_versions(batch *b, const entry *old, error *err)
{
    return old->kind != ENTRY_VARIABLE || drop_versions(b, old->name, old->version - 1, err);
}

/* Keeps the value of old under a hidden name, and gives up what is too old. */
static bool keep_version(batch *b, const entry *old, error *err)
{
    char *hidden = version_name(old->name, old->version);
    entry *e = entry_new(hidden, ENTRY_HIDDEN);
    bool ok;

    free(hidden);
    e->version = old->version;
    e->commit = old->commit;
    e->created_us = old->created_us;
    e->modified_us = old->modified_us;
    e->content = content_ref(old->content);
    ok = store_name(b->storage, e, err) &&
         drop_versions(b, old->name, old->version - b->storage->options.history, err);
    b->names = names_put_take(b->names, e);
    b->count[ENTRY_HIDDEN]++;
    return ok;
}

static bool put(batch *b, const change *c, const entry *old, commit_name *result, error *err)
{
    entry *e = entry_after(b, c, old);
    bool ok = store_entry(b->storage, c, old, e, err);

    redeem(b, c->content);
    redeem(b, c->attributes);
    if (ok && old != NULL && old->content != e->content)
        ok = is_kept(b, old, e) ? keep_version(b, old, err)
                                : doom(b, old->content, err) && forget_versions(b, old, err);
    if (ok && old != NULL && old->attributes != e->attributes)
        ok = doom(b, old->attributes, err);
    *result = (commit_name){.name = c->name, .created = old == NULL, .version = e->version};
    b->count[e->kind] += old == NULL;
    b->names = names_put_take(b->names, e); /* the old one may be gone now */
    return ok;
}

static bool remove_name(batch *b, const change *c, const entry *old, commit_name *result,
                        error *err)
{
    bool ok = (old->content->is_volatile || index_delete_name(b->storage->index, c->name, err)) &&
              forget_versions(b, old, err);

    ok = ok && doom(b, old->content, err) && doom(b, old->attributes, err);
    *result = (commit_name){.name = c->name, .deleted = true, .version = old->version};
    b->count[old->kind]--;
    b->names = names_remove_take(b->names, c->name);
    return ok;
}

static bool apply_change(batch *b, txn *x, size_t i, error *err)
{
    const change *c = x->changes[i];
    const entry *old = names_find(b->names, c->name);

    if (!(c->removes ? remove_name : put)(b, c, old, &x->names[i], err))
        return false;
    x->names[i].hidden = name_is_hidden(c->name);
    return true;
}

/* Makes the content of a receipt, now that the other changes have their numbers. */
static bool make_receipt(const batch *b, const txn *x, change *c, error *err)
{
    const commit_result done = {.commit = b->commit, .count = x->change_count, .names = x->names};
    text t;

    text_init(&t);
    c->make(c->context, &done, &t);
    content_unref(c->content);
    c->content = content_of_receipt(b->storage, t.bytes, t.length, err);
    if (c->content != NULL)
        c->content->is_volatile = x->durability == DURABILITY_MEMORY;
    text_clear(&t);
    return c->content != NULL;
}

static bool apply(batch *b, txn *x, error *err)
{
    b->commit++;
    x->commit = b->commit;
    for (size_t i = 0; i < x->change_count; i++) {
        if (x->changes[i]->make != NULL)
            x->names[i] = (commit_name){.name = x->changes[i]->name, .hidden = true};
        else if (!apply_change(b, x, i, err))
            return false;
    }
    for (size_t i = 0; i < x->change_count; i++)
        if (x->changes[i]->make != NULL &&
            (!make_receipt(b, x, x->changes[i], err) || !apply_change(b, x, i, err)))
            return false;
    return true;
}

/* ---- A batch ------------------------------------------------------------------------ */

/* The new files' names must be on the disk before the index names them. */
static bool sync_directories(const batch *b, error *err)
{
    uint64_t directories[ARRAY_DIRECTORIES / 64] = {0};

    for (const txn *x = b->transactions; x != NULL; x = x->next) {
        for (size_t i = 0; i < x->change_count; i++) {
            const content *c = x->changes[i]->content;

            if (c != NULL && c->in_file && (c->slots == NULL || !slots_are_named(c->slots)))
                directories[c->file[0] / 64] |= (uint64_t)1 << c->file[0] % 64;
        }
    }
    return array_sync_directories(b->storage, directories, err);
}

/* The names of the transactions' files are on the disk. */
static void note_names(const batch *b)
{
    for (const txn *x = b->transactions; x != NULL; x = x->next)
        for (size_t i = 0; i < x->change_count; i++)
            if (x->changes[i]->content != NULL && x->changes[i]->content->slots != NULL)
                slots_set_named(x->changes[i]->content->slots);
}

static bool purge(const batch *b, error *err)
{
    for (const content *c = b->garbage; c != NULL; c = c->older)
        if (c->id != 0 && !index_purge_blob(b->storage->index, c->id, err))
            return false;
    return true;
}

bool batch_write(batch *b, bool *changes, error *err)
{
    name_index *ix = b->storage->index;
    const int64_t last = b->commit;

    if (!sync_directories(b, err))
        return false;
    note_names(b);
    if (!index_begin(ix, b->synced, err) || !purge(b, err))
        return false;
    for (txn *x = b->transactions; x != NULL; x = x->next) {
        error_clear(&x->failure);
        if (check_txn(b, x, &x->failure) && !apply(b, x, err))
            return false;
    }
    *changes = b->commit > last || b->garbage != NULL;
    if (b->loose && !b->storage->loose && !index_set_meta(ix, "state", STATE_LOOSE, err))
        return false;
    return index_set_meta(ix, "commit", b->commit, err);
}

void batch_redeem(batch *b)
{
    for (size_t i = 0; i < b->redeemed_count; i++)
        b->redeemed[i]->doomed = false;
}

void batch_publish(batch *b)
{
    storage *s = b->storage;
    snapshot *next = malloc(sizeof *next), *last;

    if (next == NULL)
        abort();
    batch_redeem(b);
    for (size_t i = 0; i < b->doomed_count; i++)
        b->doomed[i]->doomed = true;
    *next = (snapshot){.references = 1, .commit = b->commit, .names = names_ref(b->names)};
    memcpy(next->count, b->count, sizeof next->count);
    s->loose |= b->loose;
    atomic_fetch_add(&s->syncs, b->synced);
    pthread_mutex_lock(&s->lock);
    last = s->current;
    s->current = next;
    pthread_mutex_unlock(&s->lock);
    atomic_fetch_add(&s->commits, next->commit - last->commit);
    snapshot_unref(last);
}

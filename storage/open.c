/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "engine/base/secret.h"
#include "storage/ballast.h"
#include "storage/datadir.h"
#include "storage/slots.h"

/* A damaged index is looked for in full after a disorderly end, if it is smaller
 * than this; quickly otherwise. */
#define FULL_CHECK_BYTES_MAX ((int64_t)1 << 30)

/* Commit numbers that are skipped after an end that may have lost unsynced
 * commits, so that no number, hence no entity tag, comes twice. */
enum { LOOSE_GAP = 1 << 20 };

storage_options storage_options_default(const char *path)
{
    return (storage_options){
        .path = path,
        .names_max = 1000000,
        .bytes_max = INT64_MAX / 4,
        .inline_bytes_max = 64 << 10,
        .free_bytes_min = 1 << 30,
        .cache_bytes_max = 64 << 20,
        .wal_bytes_max = 4 << 20,
        .attach_roots = "",
        .vfs = vfs_real(),
    };
}

/* ---- Names from the index ---------------------------------------------------------- */

typedef struct loading {
    storage *storage;
    snapshot *snapshot;
    arena *arena;
    table files;    /* of slots, by their names */
    int64_t newest; /* commit of any row */
} loading;

static bool kind_of_name(const char *name, entry_kind *kind, error *err)
{
    for (int k = 0; k < ENTRY_KINDS; k++) {
        if (strcmp(name, entry_kind_name((entry_kind)k)) == 0) {
            *kind = (entry_kind)k;
            return true;
        }
    }
    return error_set(err, ERR_INTEGRITY, "the index has a name of the kind %s", name);
}

/* A content that is in the index already. */
static content *stored_content(storage *s, int64_t id, dtype t, const shape *shape, place *p)
{
    content *c = content_alloc(s, t, shape);

    c->place = p;
    c->doomed = false;
    c->id = id;
    return c;
}

static slots *slots_of_row(loading *l, const name_row *row)
{
    char name[ARRAY_NAME];
    slots *f;

    array_name(row->file, true, name);
    f = table_get(&l->files, name);
    if (f == NULL) {
        f = slots_new(l->storage, row->file);
        slots_set_named(f);
        table_put(&l->files, name, f);
    }
    return f;
}

/* Without its map a chunked array is damaged, and so that this can be looked into, its file stays
 * as it is. */
static void lose_map(content *c, const error *why)
{
    log_message(LOG_ERROR, "the map of a chunked array: %s", why->detail);
    c->damaged = true;
    free(c->map);
    c->map = NULL;
    slots_keep_all(c->slots);
}

static void load_map(content *c)
{
    error why = {0};
    buffer *blob = content_bytes(c, &why);
    const int64_t n = content_chunks(c);

    if (blob == NULL) {
        lose_map(c, &why);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        c->map[i] = content_number(blob, n + i);
    slots_use(c->slots, c->map, n);
    buffer_unref(blob);
}

static entry *entry_of_row(loading *l, const name_row *row, dtype t, entry_kind kind)
{
    storage *s = l->storage;
    entry *e = entry_new(row->name, kind);

    e->version = row->version;
    e->commit = row->commit;
    e->created_us = row->created_us;
    e->modified_us = row->modified_us;
    e->content = stored_content(s, row->content, t, &row->shape,
                                row->place == NULL ? NULL : place_read(row->place));
    if (row->file != NULL && row->chunked) {
        slots_join(slots_of_row(l, row), e->content);
        load_map(e->content);
        if (e->content->damaged)
            entry_note_damage(e, "the map of its chunks is lost");
    } else if (row->file != NULL) {
        e->content->in_file = true;
        memcpy(e->content->file, row->file, FILE_ID_BYTES);
    }
    atomic_fetch_add(&s->bytes, content_own_bytes(e->content));
    if (row->attributes != 0) {
        const shape flat = {.rank = 1, .length = {row->attributes_bytes}};

        e->attributes = stored_content(s, row->attributes, DT_U8, &flat, NULL);
        atomic_fetch_add(&s->bytes, row->attributes_bytes);
    }
    return e;
}

static bool add_row(void *context, const name_row *row, error *err)
{
    loading *l = context;
    entry_kind kind = ENTRY_VARIABLE;
    dtype t;

    if (!kind_of_name(row->kind, &kind, err) || !shape_check(&row->shape, row->name, err) ||
        !dtype_parse(row->dtype, strlen(row->dtype), &t, err))
        return error_set(err, ERR_INTEGRITY, "the index has a row that is none: %s", row->name);
    l->snapshot->names = names_put_take(l->snapshot->names, entry_of_row(l, row, t, kind));
    l->snapshot->count[kind]++;
    l->newest = row->commit > l->newest ? row->commit : l->newest;
    return true;
}

static bool load(storage *s, error *err)
{
    loading l = {.storage = s, .snapshot = calloc(1, sizeof(snapshot)), .arena = arena_new()};
    bool ok;

    if (l.snapshot == NULL)
        abort();
    l.snapshot->references = 1;
    s->current = l.snapshot;
    table_init(&l.files, l.arena);
    ok = index_get_meta(s->index, "commit", 0, &l.snapshot->commit, err) &&
         index_last_blob(s->index, &s->last_blob, err) &&
         index_each_name(s->index, add_row, &l, err);
    ok = ok && (l.newest <= l.snapshot->commit ||
                error_set(err, ERR_INTEGRITY, "the index has a row of a commit that is none yet"));
    for (size_t i = 0; i < l.files.count; i++)
        slots_unref(l.files.entries[i].value);
    arena_free(l.arena);
    if (!ok)
        err->kind = ERR_INTEGRITY;
    return ok;
}

/* ---- The index ----------------------------------------------------------------------- */

static bool check_index(storage *s, int64_t *state, error *err)
{
    int64_t bytes;

    if (!index_check(s->index, false, err) || !index_bytes(s->index, &bytes, err) ||
        !index_get_meta(s->index, "state", STATE_OPEN, state, err))
        return false;
    return *state == STATE_CLOSED || bytes > FULL_CHECK_BYTES_MAX ||
           index_check(s->index, true, err);
}

/* After a failed sync the system takes what it could not write for written. So the log is read from
 * the disk: what it has there is what was committed. (An array whose sync failed has no name.) */
static void forget_log(storage *s)
{
    int fd = s->vfs->open(s->vfs, s->directory, "index.db-wal", O_RDONLY);

    if (fd < 0)
        return;
    s->vfs->forget(s->vfs, fd);
    s->vfs->close(s->vfs, fd);
}

static bool open_index(storage *s, bool create, error *err)
{
    char path[PATH_MAX];

    forget_log(s);
    if (snprintf(path, sizeof path, "%s/index.db", s->options.path) >= (int)sizeof path)
        return error_set(err, ERR_VALUE, "data: the path is too long");
    s->index = index_open(path, s->vfs, create, err);
    return s->index != NULL;
}

/* Notes that the directory is open, gives it its number, and forgets the garbage
 * of the last time. */
static bool begin_session(storage *s, int64_t last_state, error *err)
{
    int64_t directory;
    uint32_t fresh;

    random_bytes(&fresh, sizeof fresh);
    if (last_state == STATE_LOOSE)
        s->current->commit += LOOSE_GAP;
    if (!index_begin(s->index, true, err) ||
        !index_get_meta(s->index, "directory", fresh, &directory, err) ||
        !index_set_meta(s->index, "directory", directory, err) ||
        !index_set_meta(s->index, "commit", s->current->commit, err) ||
        !index_set_meta(s->index, "state", STATE_OPEN, err) || !index_purge_all(s->index, err) ||
        !index_commit(s->index, err))
        return false;
    s->id = (uint32_t)directory;
    return true;
}

/* Notes that all is well; the next start need not look closely. */
static void end_session(storage *s)
{
    error err = {0};

    if (s->failed || s->index == NULL || !s->has_writer)
        return;
    if (!index_begin(s->index, true, &err) ||
        !index_set_meta(s->index, "state", STATE_CLOSED, &err) || !index_commit(s->index, &err) ||
        !index_checkpoint(s->index, true, &err))
        log_message(LOG_WARN, "closing the data directory: %s", err.detail);
}

/* ---- Life ---------------------------------------------------------------------------- */

static storage *storage_alloc(const storage_options *options)
{
    storage *s = calloc(1, sizeof *s);
    pthread_condattr_t monotonic;

    if (s == NULL)
        abort();
    s->options = *options;
    s->vfs = options->vfs;
    s->lock_file = s->directory = s->arrays = -1;
    s->last_waiting = &s->first_waiting;
    pthread_mutex_init(&s->index_lock, NULL);
    pthread_mutex_init(&s->lock, NULL);
    pthread_mutex_init(&s->cache_lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&s->work, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return s;
}

static void close_file(storage *s, int fd)
{
    if (fd >= 0)
        s->vfs->close(s->vfs, fd);
}

static void storage_release(storage *s)
{
    snapshot_unref(s->current);
    garbage_free(s->garbage);
    slots_close(s);
    index_close(s->index);
    close_file(s, s->arrays);
    close_file(s, s->directory);
    close_file(s, s->lock_file); /* and with it the lock, last of all */
    pthread_cond_destroy(&s->work);
    pthread_mutex_destroy(&s->cache_lock);
    pthread_mutex_destroy(&s->lock);
    pthread_mutex_destroy(&s->index_lock);
    free(s);
}

/* From an existing or a new directory to names in memory. Nothing is written to a
 * directory that has an index before that was found sound. */
static bool open_parts(storage *s, error *err)
{
    int64_t format, state;

    if (!datadir_open(s, err) || !datadir_read_version(s, &format, err) ||
        !open_index(s, format == 0, err) || !check_index(s, &state, err) ||
        !datadir_complete(s, format, err) || !index_upgrade(s->index, err) || !load(s, err) ||
        !sweep(s, s->current, err))
        return false;
    return begin_session(s, state, err);
}

storage *storage_open(const storage_options *options, error *err)
{
    storage *s = storage_alloc(options);
    const int64_t started = clock_us();

    if (!open_parts(s, err)) {
        storage_release(s);
        return NULL;
    }
    ballast_keep(s);
    if (pthread_create(&s->writer, NULL, writer_main, s) != 0)
        abort();
    s->has_writer = true;
    log_message(LOG_INFO, "storage: %" PRId64 " variables and %" PRId64 " graphs in %" PRId64 " ms",
                s->current->count[ENTRY_VARIABLE], s->current->count[ENTRY_GRAPH],
                (clock_us() - started) / 1000);
    return s;
}

void storage_close(storage *s)
{
    if (s == NULL)
        return;
    pthread_mutex_lock(&s->lock);
    s->closing = true;
    pthread_cond_signal(&s->work);
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->writer, NULL);
    end_session(s);
    storage_release(s);
}

/* ---- State ---------------------------------------------------------------------------- */

void storage_add_garbage(storage *s, content *c)
{
    pthread_mutex_lock(&s->lock);
    c->older = s->garbage;
    s->garbage = c;
    if (c->older == NULL)
        pthread_cond_signal(&s->work);
    pthread_mutex_unlock(&s->lock);
}

void storage_wake(storage *s)
{
    pthread_mutex_lock(&s->lock);
    s->woken = true;
    pthread_cond_signal(&s->work);
    pthread_mutex_unlock(&s->lock);
}

void storage_fail(storage *s, const error *err)
{
    if (!atomic_exchange(&s->failed, true))
        log_message(LOG_ERROR, "storage is read-only from now on: %s", err->detail);
}

bool storage_can_write(const storage *s, error *err)
{
    return !s->failed || error_set(err, ERR_READ_ONLY,
                                   "the disk failed before; nothing is written until a restart");
}

void storage_figures_get(storage *s, storage_figures *result)
{
    snapshot *now = storage_snapshot(s);

    *result = (storage_figures){
        .commit = now->commit,
        .variables = now->count[ENTRY_VARIABLE],
        .graphs = now->count[ENTRY_GRAPH],
        .bytes = s->bytes,
        .bytes_max = s->options.bytes_max,
        .commits = s->commits,
        .syncs = s->syncs,
        .damaged = s->damaged,
        .strays = s->strays,
        .writable = !s->failed,
    };
    snapshot_unref(now);
    pthread_mutex_lock(&s->cache_lock);
    result->cached_bytes = s->cached;
    pthread_mutex_unlock(&s->cache_lock);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/slots.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/log.h"

/* In place of the number of uses: nobody's, but its blocks are not given back yet. */
#define LEFT UINT32_MAX

struct slots {
    int references;       /* of contents, of mappings, and of the queue of the writer */
    int contents;         /* that the index has, or will have */
    storage *storage;     /* NULL: closed */
    slots *newer, *older; /* of the storage */
    slots *next_left;     /* in the storage's queue */
    bool queued, named, keeps_all, removed;
    uint8_t file[FILE_ID_BYTES];
    uint32_t *uses;            /* of each slot: 0 is free; or LEFT */
    int64_t count, room, free; /* no slot below free is 0 */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- Files ------------------------------------------------------------------------------- */

slots *slots_new(storage *s, const uint8_t file[FILE_ID_BYTES])
{
    slots *f = calloc(1, sizeof *f);

    if (f == NULL)
        abort();
    f->references = 1;
    f->storage = s;
    memcpy(f->file, file, FILE_ID_BYTES);
    pthread_mutex_lock(&lock);
    f->older = s->slot_files;
    if (f->older != NULL)
        f->older->newer = f;
    s->slot_files = f;
    pthread_mutex_unlock(&lock);
    return f;
}

slots *slots_ref(slots *f)
{
    pthread_mutex_lock(&lock);
    f->references++;
    pthread_mutex_unlock(&lock);
    return f;
}

static void unlink_from_storage(slots *f)
{
    if (f->storage == NULL)
        return;
    *(f->newer != NULL ? &f->newer->older : &f->storage->slot_files) = f->older;
    if (f->older != NULL)
        f->older->newer = f->newer;
}

void slots_unref(slots *f)
{
    bool last;

    if (f == NULL)
        return;
    pthread_mutex_lock(&lock);
    last = --f->references == 0;
    if (last)
        unlink_from_storage(f);
    pthread_mutex_unlock(&lock);
    if (!last)
        return;
    free(f->uses);
    free(f);
}

static slots *next_left(storage *s)
{
    slots *f;

    pthread_mutex_lock(&lock);
    f = s->left;
    if (f != NULL) {
        s->left = f->next_left;
        f->queued = false;
    }
    pthread_mutex_unlock(&lock);
    return f;
}

void slots_close(storage *s)
{
    for (slots *f; (f = next_left(s)) != NULL;)
        slots_unref(f);
    pthread_mutex_lock(&lock);
    for (slots *f = s->slot_files, *next; f != NULL; f = next) {
        next = f->older;
        f->storage = NULL;
        f->newer = f->older = NULL;
    }
    s->slot_files = NULL;
    pthread_mutex_unlock(&lock);
}

void slots_join(slots *f, content *c)
{
    const size_t n = (size_t)content_chunks(c);

    c->slots = slots_ref(f);
    c->in_file = true;
    memcpy(c->file, f->file, FILE_ID_BYTES);
    c->map = malloc((n + 1) * sizeof *c->map);
    if (c->map == NULL)
        abort();
    memset(c->map, 0xff, (n + 1) * sizeof *c->map);
    pthread_mutex_lock(&lock);
    f->contents++;
    pthread_mutex_unlock(&lock);
}

bool slots_are_named(const slots *f)
{
    return f->named;
}

void slots_set_named(slots *f)
{
    f->named = true;
}

/* ---- Counting, with the lock --------------------------------------------------------------- */

static void grow(slots *f, int64_t count)
{
    if (count > f->room) {
        f->room = count + count / 2;
        f->uses = realloc(f->uses, (size_t)f->room * sizeof *f->uses);
        if (f->uses == NULL)
            abort();
    }
    for (; f->count < count; f->count++)
        f->uses[f->count] = 0;
}

/* What the file holds counts for the quota until it is given back. */
static void count_bytes(slots *f, int64_t n)
{
    if (f->storage != NULL)
        atomic_fetch_add(&f->storage->bytes, n * SLOT_BYTES);
}

static void use(slots *f, uint32_t slot)
{
    grow(f, (int64_t)slot + 1);
    count_bytes(f, f->uses[slot] == 0);
    f->uses[slot]++;
}

/* Whether the slot is nobody's now. */
static bool leave(slots *f, uint32_t slot)
{
    if (--f->uses[slot] > 0)
        return false;
    f->uses[slot] = LEFT;
    return true;
}

static void queue(slots *f)
{
    if (f->storage == NULL || f->queued || f->keeps_all || f->removed)
        return;
    f->queued = true;
    f->references++;
    f->next_left = f->storage->left;
    f->storage->left = f;
    storage_wake(f->storage);
}

void slots_use(slots *f, const uint32_t *map, int64_t n)
{
    pthread_mutex_lock(&lock);
    for (int64_t i = 0; i < n; i++)
        if (map[i] != SLOT_NONE)
            use(f, map[i]);
    pthread_mutex_unlock(&lock);
}

static void leave_all(slots *f, const uint32_t *map, int64_t n)
{
    bool left = false;

    for (int64_t i = 0; i < n; i++)
        left |= map[i] != SLOT_NONE && leave(f, map[i]);
    if (left)
        queue(f);
}

void slots_leave(slots *f, const uint32_t *map, int64_t n)
{
    pthread_mutex_lock(&lock);
    leave_all(f, map, n);
    pthread_mutex_unlock(&lock);
}

/* ---- Taking -------------------------------------------------------------------------------- */

static void take_lowest(slots *f, uint32_t *map, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        while (f->free < f->count && f->uses[f->free] != 0)
            f->free++;
        map[i] = (uint32_t)f->free;
        use(f, map[i]);
    }
}

/* How many of the slots from the first on follow each other in the file. */
static int64_t run_length(const uint32_t *map, int64_t n)
{
    int64_t run = 1;

    while (run < n && map[run] == map[0] + (uint32_t)run)
        run++;
    return run;
}

static bool set_aside(storage *s, int fd, const uint32_t *map, int64_t n, error *err)
{
    vfs *v = s->vfs;

    for (int64_t i = 0, run; i < n; i += run) {
        run = run_length(map + i, n - i);
        if (v->allocate(v, fd, (int64_t)map[i] * SLOT_BYTES, run * SLOT_BYTES) != 0 &&
            errno != EOPNOTSUPP)
            return disk_failed("setting room aside for chunks", err);
    }
    return true;
}

bool slots_take(content *c, int fd, int64_t first, int64_t n, error *err)
{
    storage *s = c->storage;
    uint32_t *map = c->map + first;

    if (!content_check_quota(s, n * SLOT_BYTES, err) ||
        !disk_has_room(s, n * SLOT_BYTES + 2 * NPY_ALIGN_PAGE, err))
        return false;
    pthread_mutex_lock(&lock);
    take_lowest(c->slots, map, n);
    pthread_mutex_unlock(&lock);
    if (set_aside(s, fd, map, n, err))
        return true;
    slots_leave(c->slots, map, n);
    memset(map, 0xff, (size_t)n * sizeof *map);
    return false;
}

/* ---- Giving back ---------------------------------------------------------------------------- */

void slots_keep_all(slots *f)
{
    pthread_mutex_lock(&lock);
    f->keeps_all = true;
    pthread_mutex_unlock(&lock);
}

void slots_doubt(slots *f, int64_t bytes)
{
    const int64_t count = bytes / SLOT_BYTES + (bytes % SLOT_BYTES != 0);

    pthread_mutex_lock(&lock);
    if (count <= SLOT_NONE - 1)
        grow(f, count);
    for (int64_t i = 0; i < f->count; i++) {
        if (f->uses[i] != 0)
            continue;
        f->uses[i] = LEFT;
        count_bytes(f, 1);
    }
    queue(f);
    pthread_mutex_unlock(&lock);
}

static void remove_file(slots *f)
{
    storage *s = f->storage;
    char name[ARRAY_NAME];
    int64_t used = 0;

    array_name(f->file, true, name);
    for (int64_t i = 0; i < f->count; i++)
        used += f->uses[i] != 0;
    count_bytes(f, -used);
    f->removed = true;
    if (s->vfs->remove(s->vfs, s->arrays, name) != 0)
        log_message(LOG_WARN, "cannot remove arrays/%s; the next start will", name);
}

void slots_drop(content *c)
{
    slots *f = c->slots;

    pthread_mutex_lock(&lock);
    if (--f->contents == 0)
        remove_file(f);
    if (c->map != NULL)
        leave_all(f, c->map, content_chunks(c));
    pthread_mutex_unlock(&lock);
}

/* The next run of slots from *first on that are LEFT; how many, 0 at the end. */
static int64_t left_run(const slots *f, int64_t *first)
{
    int64_t n = 0;

    while (*first < f->count && f->uses[*first] != LEFT)
        ++*first;
    while (*first + n < f->count && f->uses[*first + n] == LEFT)
        n++;
    return n;
}

/* They may be taken again, even if their blocks could not be given back. */
static void set_free(slots *f, int64_t first, int64_t n)
{
    memset(f->uses + first, 0, (size_t)n * sizeof *f->uses);
    count_bytes(f, -n);
    if (first < f->free)
        f->free = first;
}

/* Only the writer makes LEFT slots free, so they stay what they are without the lock. */
static void empty_runs(slots *f, vfs *v, int fd)
{
    int64_t n;

    pthread_mutex_lock(&lock);
    for (int64_t first = 0; !f->removed && (n = left_run(f, &first)) > 0; first += n) {
        pthread_mutex_unlock(&lock);
        if (v->punch(v, fd, first * SLOT_BYTES, n * SLOT_BYTES) != 0 && errno != EOPNOTSUPP)
            log_message(LOG_WARN, "cannot give chunks back: %s", strerror(errno));
        pthread_mutex_lock(&lock);
        set_free(f, first, n);
    }
    pthread_mutex_unlock(&lock);
}

static void empty(storage *s, slots *f)
{
    char name[ARRAY_NAME];
    int fd;

    array_name(f->file, true, name);
    fd = s->vfs->open(s->vfs, s->arrays, name, O_WRONLY);
    if (fd < 0) /* removed, or the next start will */
        return;
    empty_runs(f, s->vfs, fd);
    s->vfs->close(s->vfs, fd);
}

void slots_empty_left(storage *s)
{
    slots *f;

    while ((f = next_left(s)) != NULL) {
        if (!s->failed)
            empty(s, f);
        slots_unref(f);
    }
}

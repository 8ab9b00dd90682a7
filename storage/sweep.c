/* SPDX-License-Identifier: Apache-2.0 */
/* sweep -- at start, what the last process left behind.
 *
 * A file that no name has is what a crash left of a commit that did not happen,
 * or of garbage that was not yet removed. It is removed; but if such files are
 * more than one in a hundred, the index may be the one that is wrong, and they
 * are set aside for a day. A name whose file is missing is damaged, alone. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "storage/slots.h"

enum { STRAY_SHARE = 100 };
#define QUARANTINE_US ((int64_t)24 * 3600 * 1000000)

typedef struct sweeping {
    storage *storage;
    arena *arena;
    table known;       /* contents, by the names of their files, one of each; NULL once seen */
    char directory[4]; /* being listed: xx */
    int64_t files, missing;
    const char **strays; /* xx/ID.npy */
    size_t stray_count, stray_room;
} sweeping;

static void collect_known(sweeping *w, const snapshot *n)
{
    char name[ARRAY_NAME];

    for (entry *e = names_after(n->names, "", true); e != NULL;
         e = names_after(n->names, e->name, false)) {
        if (!e->content->in_file)
            continue;
        array_name(e->content->file, e->content->slots != NULL, name);
        table_put(&w->known, name, e->content);
    }
}

/* Whether it is a name that array_name could have given, in directory xx. */
static bool is_array_name(const char *directory, const char *name)
{
    const size_t digits = 2 * FILE_ID_BYTES;

    if (strlen(name) < digits || strncmp(name, directory, 2) != 0 ||
        (strcmp(name + digits, ".npy") != 0 && strcmp(name + digits, ".slots") != 0))
        return false;
    for (size_t i = 0; i < digits; i++)
        if (!isdigit((unsigned char)name[i]) && (name[i] < 'a' || name[i] > 'f'))
            return false;
    return true;
}

static bool see_file(void *context, const char *name)
{
    sweeping *w = context;
    char path[ARRAY_NAME];

    if (!is_array_name(w->directory, name))
        return true; /* not ours */
    snprintf(path, sizeof path, "%.2s/%.38s", w->directory, name);
    w->files++;
    if (table_get(&w->known, path) != NULL) {
        table_put(&w->known, path, NULL);
        return true;
    }
    w->strays = arena_grow(w->arena, w->strays, w->stray_count, &w->stray_room, sizeof(char *));
    w->strays[w->stray_count++] = arena_copy(w->arena, path, strlen(path));
    return true;
}

static bool list_arrays(sweeping *w, error *err)
{
    vfs *v = w->storage->vfs;

    for (unsigned i = 0; i < ARRAY_DIRECTORIES; i++) {
        int fd, listed = -1;

        snprintf(w->directory, sizeof w->directory, "%02x", i & 255);
        fd = v->open(v, w->storage->arrays, w->directory, O_RDONLY | O_DIRECTORY);
        if (fd >= 0) {
            listed = v->list(v, fd, see_file, w);
            v->close(v, fd);
        }
        if (listed != 0)
            return disk_failed("listing the arrays", err);
    }
    return true;
}

static void mark_missing(sweeping *w)
{
    for (size_t i = 0; i < w->known.count; i++) {
        content *c = w->known.entries[i].value;

        if (c == NULL)
            continue;
        c->damaged = true;
        w->missing++;
    }
}

static void tell_missing(const snapshot *n)
{
    for (entry *e = names_after(n->names, "", true); e != NULL;
         e = names_after(n->names, e->name, false))
        if (e->content->damaged)
            entry_note_damage(e, "its file is missing");
}

/* What nobody uses of the files of chunked arrays: chunks of commits that did not happen, and what
 * was not given back yet. */
static void sweep_slots(const snapshot *n)
{
    for (entry *e = names_after(n->names, "", true); e != NULL;
         e = names_after(n->names, e->name, false))
        if (e->content->slots != NULL && !e->content->damaged)
            array_doubt_slots(e->content);
}

/* ---- Strays ---------------------------------------------------------------------- */

static bool expire(void *context, const char *name)
{
    storage *s = context;
    char path[NAME_MAX + sizeof "quarantine/"];
    struct stat found;
    int fd;

    snprintf(path, sizeof path, "quarantine/%s", name);
    fd = s->vfs->open(s->vfs, s->directory, path, O_RDONLY);
    if (fd < 0)
        return true;
    if (s->vfs->stat(s->vfs, fd, &found) == 0 && S_ISREG(found.st_mode) &&
        clock_date_us() - (int64_t)found.st_ctim.tv_sec * 1000000 > QUARANTINE_US)
        s->vfs->remove(s->vfs, s->directory, path);
    s->vfs->close(s->vfs, fd);
    return true;
}

static void empty_quarantine(storage *s)
{
    int fd = s->vfs->open(s->vfs, s->directory, "quarantine", O_RDONLY | O_DIRECTORY);

    if (fd < 0)
        return;
    s->vfs->list(s->vfs, fd, expire, s);
    s->vfs->close(s->vfs, fd);
}

static void put_away(sweeping *w)
{
    storage *s = w->storage;
    const bool suspicious = (int64_t)w->stray_count * STRAY_SHARE > w->files;
    char path[64];

    for (size_t i = 0; i < w->stray_count; i++) {
        int failed;

        snprintf(path, sizeof path, "quarantine/%s", w->strays[i] + 3);
        failed = suspicious ? s->vfs->rename(s->vfs, s->arrays, w->strays[i], s->directory, path)
                            : s->vfs->remove(s->vfs, s->arrays, w->strays[i]);
        if (failed != 0)
            log_message(LOG_WARN, "cannot put arrays/%s away", w->strays[i]);
    }
    if (w->stray_count > 0)
        log_message(LOG_INFO, "%zu of %" PRId64 " array files belonged to no name; %s",
                    w->stray_count, w->files, suspicious ? "see quarantine" : "removed");
}

bool sweep(storage *s, const snapshot *n, error *err)
{
    sweeping w = {.storage = s, .arena = arena_new()};
    bool ok;

    table_init(&w.known, w.arena);
    collect_known(&w, n);
    ok = list_arrays(&w, err);
    if (ok) {
        empty_quarantine(s);
        mark_missing(&w);
        put_away(&w);
        sweep_slots(n);
        s->strays = (int64_t)w.stray_count;
        if (w.missing > 0)
            tell_missing(n);
    }
    arena_free(w.arena);
    return ok;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* care -- looking whether all is well, copies, and tidying. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storage/slots.h"
#include "storage/schema.h"

/* ---- Checking ------------------------------------------------------------------------- */

static bool check_content(content *c, error *why)
{
    buffer *elements = content_elements(c, why);
    const bool ok =
        elements != NULL && content_verify(c, elements, 0, c->nbytes, why) &&
        (!buffer_is_lost(elements) || error_set(why, ERR_INTEGRITY, "the file could not be read"));

    buffer_unref(elements);
    return ok;
}

static bool check_entry(const entry *e, error *why)
{
    buffer *attributes;

    if (!check_content(e->content, why))
        return false;
    if (e->attributes == NULL)
        return true;
    attributes = content_bytes(e->attributes, why);
    buffer_unref(attributes);
    return attributes != NULL;
}

bool storage_check(storage *s, void (*tell)(void *context, const char *name, const error *why),
                   void *context, storage_findings *findings, error *err)
{
    snapshot *n = storage_snapshot(s);
    bool ok;

    *findings = (storage_findings){0};
    pthread_mutex_lock(&s->index_lock);
    ok = index_check(s->index, true, err);
    pthread_mutex_unlock(&s->index_lock);
    for (const entry *e = names_after(n->names, "", true); ok && e != NULL;
         e = names_after(n->names, e->name, false)) {
        error why = {0};

        findings->names++;
        findings->bytes += e->content->nbytes;
        if (check_entry(e, &why))
            continue;
        findings->damaged++;
        tell(context, e->name, &why);
    }
    snapshot_unref(n);
    return ok;
}

bool storage_compact(storage *s, error *err)
{
    bool ok;

    pthread_mutex_lock(&s->index_lock);
    ok = index_compact(s->index, err);
    pthread_mutex_unlock(&s->index_lock);
    if (!ok && err->kind == ERR_STORAGE)
        storage_fail(s, err);
    return ok;
}

/* ---- Backups --------------------------------------------------------------------------- */

/* A copy while it is made. */
typedef struct copying {
    storage *storage;
    int arrays;        /* of the copy */
    name_index *index; /* of the copy */
} copying;

/* Copies the chunks of a row to the same slots; the map is the second half of the blob. */
static bool copy_slots(vfs *v, int from, int to, const buffer *blob, int64_t bytes)
{
    const int64_t chunks = (int64_t)buffer_size(blob) / 8;
    bool ok = true;

    for (int64_t i = chunks; ok && i < 2 * chunks; i++) {
        const int64_t at = (int64_t)content_number(blob, i) * SLOT_BYTES, left = bytes - at;

        ok = left <= 0 ||
             vfs_copy_all(v, from, to, (size_t)(left < SLOT_BYTES ? left : SLOT_BYTES), at);
    }
    return ok;
}

static bool copy_parts(copying *c, int from, const char *name, const buffer *blob)
{
    vfs *v = c->storage->vfs;
    int to = v->open(v, c->arrays, name, O_WRONLY | O_CREAT | (blob == NULL ? O_EXCL : 0));
    struct stat found;
    bool ok;

    if (to < 0)
        return false;
    ok = v->stat(v, from, &found) == 0 &&
         (blob == NULL ? vfs_copy_all(v, from, to, (size_t)found.st_size, 0)
                       : copy_slots(v, from, to, blob, found.st_size)) &&
         v->sync_data(v, to) == 0;
    v->close(v, to);
    return ok;
}

/* The whole file, or, if there is a blob, the slots that it names: other rows may have the file as
 * well. One that was lost before is reported as that by whoever reads the copy. */
static bool copy_file(copying *c, const char *name, const buffer *blob, error *err)
{
    vfs *v = c->storage->vfs;
    int from = v->open(v, c->storage->arrays, name, O_RDONLY);
    bool ok;

    if (from < 0)
        return errno == ENOENT || disk_failed("copying an array file", err);
    ok = copy_parts(c, from, name, blob) || disk_failed("copying an array file", err);
    v->close(v, from);
    return ok;
}

/* Not as a link: slots that the copy needs would be given back. */
static bool copy_chunked(copying *c, const name_row *row, error *err)
{
    error why = {0};
    char name[ARRAY_NAME];
    buffer *blob = index_read_blob(c->index, row->content, &why);
    bool ok;

    if (blob == NULL)
        return why.kind == ERR_INTEGRITY || error_set(err, why.kind, "%s", why.detail);
    array_name(row->file, true, name);
    ok = copy_file(c, name, blob, err);
    buffer_unref(blob);
    return ok;
}

static bool copy_array(void *context, const name_row *row, error *err)
{
    copying *c = context;
    char name[ARRAY_NAME];

    if (row->file == NULL)
        return true;
    if (row->chunked)
        return copy_chunked(c, row, err);
    array_name(row->file, false, name);
    if (c->storage->vfs->link(c->storage->vfs, c->storage->arrays, name, c->arrays, name) == 0)
        return true;
    if (errno == ENOENT) /* it was lost before, and is reported as that */
        return true;
    return copy_file(c, name, NULL, err);
}

static bool make_folders(vfs *v, int directory, int *arrays, error *err)
{
    char name[4];

    if (v->make_directory(v, directory, "arrays") != 0 ||
        (*arrays = v->open(v, directory, "arrays", O_RDONLY | O_DIRECTORY)) < 0)
        return disk_failed("making the folders of a copy", err);
    for (unsigned i = 0; i < ARRAY_DIRECTORIES; i++) {
        snprintf(name, sizeof name, "%02x", i);
        if (v->make_directory(v, *arrays, name) != 0)
            return disk_failed("making the folders of a copy", err);
    }
    return true;
}

static bool sync_folders(vfs *v, int arrays, error *err)
{
    char name[4];
    bool ok = true;

    for (unsigned i = 0; ok && i < ARRAY_DIRECTORIES; i++) {
        int fd;

        snprintf(name, sizeof name, "%02x", i);
        fd = v->open(v, arrays, name, O_RDONLY | O_DIRECTORY);
        ok = fd >= 0 && v->sync_directory(v, fd) == 0;
        if (fd >= 0)
            v->close(v, fd);
    }
    return (ok && v->sync_directory(v, arrays) == 0) || disk_failed("syncing a copy", err);
}

/* The arrays that the copied index names. */
static bool copy_arrays(copying *c, const char *index_path, error *err)
{
    bool ok;

    c->index = index_open(index_path, c->storage->vfs, false, err);
    ok = c->index != NULL && index_each_name(c->index, copy_array, c, err) &&
         index_checkpoint(c->index, true, err);
    index_close(c->index);
    return ok;
}

/* Written last: without it the copy is none. */
static bool write_version(vfs *v, int directory, error *err)
{
    char said[64];
    const int n = snprintf(said, sizeof said, "tensord data format %d\n", SCHEMA_FORMAT);
    int fd = v->open(v, directory, "VERSION", O_WRONLY | O_CREAT | O_EXCL);
    const bool ok = fd >= 0 && vfs_write_all(v, fd, said, (size_t)n, 0) && v->sync_data(v, fd) == 0;

    if (fd >= 0)
        v->close(v, fd);
    return (ok && v->sync_directory(v, directory) == 0) || disk_failed("writing VERSION", err);
}

static bool fill_copy(copying *c, int directory, const char *path, error *err)
{
    storage *s = c->storage;
    char index_path[PATH_MAX];
    bool ok;

    if (snprintf(index_path, sizeof index_path, "%s/index.db", path) >= (int)sizeof index_path)
        return error_set(err, ERR_VALUE, "the path is too long");
    pthread_mutex_lock(&s->index_lock);
    ok = index_copy(s->index, index_path, err);
    pthread_mutex_unlock(&s->index_lock);
    return ok && make_folders(s->vfs, directory, &c->arrays, err) &&
           copy_arrays(c, index_path, err) && sync_folders(s->vfs, c->arrays, err) &&
           write_version(s->vfs, directory, err);
}

bool storage_backup(storage *s, const char *path, error *err)
{
    vfs *v = s->vfs;
    copying c = {.storage = s, .arrays = -1};
    int directory;
    bool ok;

    if (v->make_directory(v, AT_FDCWD, path) != 0)
        return error_set(err, ERR_VALUE, "cannot make the directory %s: %s", path, strerror(errno));
    directory = v->open(v, AT_FDCWD, path, O_RDONLY | O_DIRECTORY);
    if (directory < 0)
        return disk_failed("opening the directory of a copy", err);
    s->backups++;
    ok = fill_copy(&c, directory, path, err);
    s->backups--;
    if (c.arrays >= 0)
        v->close(v, c.arrays);
    v->close(v, directory);
    return ok;
}

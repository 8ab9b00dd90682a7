/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/secret.h"
#include "engine/tensor/npy.h"
#include "storage/slots.h"

void array_name(const uint8_t file[FILE_ID_BYTES], bool slots, char to[ARRAY_NAME])
{
    char *at = to + sprintf(to, "%02x/", file[0]);

    for (int i = 0; i < FILE_ID_BYTES; i++)
        at += sprintf(at, "%02x", file[i]);
    strcpy(at, slots ? ".slots" : ".npy");
}

/* ---- Errors and room ------------------------------------------------------------- */

bool disk_failed(const char *what, error *err)
{
    const char *why = strerror(errno);

    switch (errno) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        return error_set(err, ERR_DISK, "%s: %s; nothing was changed", what, why);
    case EMFILE:
    case ENFILE:
    case ENOMEM:
        return error_set(err, ERR_MEMORY_BUSY, "%s: %s; nothing was changed", what, why);
    default:
        return error_set(err, ERR_STORAGE, "%s: %s; nothing was changed", what, why);
    }
}

bool disk_has_room(storage *s, int64_t n, error *err)
{
    struct statvfs space;
    int64_t unit, available, floor;

    if (s->vfs->free_space(s->vfs, s->directory, &space) != 0)
        return disk_failed("asking for the free space", err);
    unit = (int64_t)space.f_frsize;
    available = (int64_t)space.f_bavail * unit;
    floor = (int64_t)space.f_blocks / 20 * unit;
    if (floor > s->options.free_bytes_min)
        floor = s->options.free_bytes_min;
    if (n <= available - floor)
        return true;
    return error_set_limit(err, ERR_DISK, available > floor ? available - floor : 0, n,
                           "the disk has no room for %" PRId64 " more bytes above the %" PRId64
                           " that are kept free",
                           n, floor);
}

static int open_file(content *c, int flags, error *err)
{
    vfs *v = c->storage->vfs;
    char name[ARRAY_NAME];
    int fd;

    array_name(c->file, c->slots != NULL, name);
    fd = v->open(v, c->storage->arrays, name, flags);
    if (fd < 0) {
        error_kind kind = errno == EMFILE || errno == ENFILE ? ERR_MEMORY_BUSY : ERR_INTEGRITY;

        error_set(err, kind, "the array's file cannot be opened: %s", strerror(errno));
    }
    return fd;
}

/* ---- Writing ----------------------------------------------------------------------- */

/* An empty file with a new name. */
static int create(storage *s, bool slots, uint8_t file[FILE_ID_BYTES], error *err)
{
    char name[ARRAY_NAME];
    int fd;

    random_bytes(file, FILE_ID_BYTES);
    array_name(file, slots, name);
    fd = s->vfs->open(s->vfs, s->arrays, name, O_WRONLY | O_CREAT | O_EXCL);
    if (fd < 0)
        disk_failed("making an array file", err);
    return fd;
}

int array_create(content *c, error *err)
{
    vfs *v = c->storage->vfs;
    int fd = create(c->storage, false, c->file, err);

    if (fd < 0)
        return -1;
    c->in_file = true;
    /* Where blocks cannot be set aside, a full disk shows while writing. */
    if (v->allocate(v, fd, 0, NPY_ALIGN_PAGE + c->nbytes) != 0 && errno != EOPNOTSUPP) {
        disk_failed("setting room aside for an array file", err);
        v->close(v, fd);
        return -1;
    }
    return fd;
}

int array_create_slots(content *c, error *err)
{
    storage *s = c->storage;
    uint8_t file[FILE_ID_BYTES];
    int fd = create(s, true, file, err);
    slots *f;

    if (fd < 0)
        return -1;
    f = slots_new(s, file);
    slots_join(f, c);
    slots_unref(f);
    if (slots_take(c, fd, 0, content_chunks(c), err))
        return fd;
    s->vfs->close(s->vfs, fd);
    return -1;
}

void array_doubt_slots(content *c)
{
    vfs *v = c->storage->vfs;
    error ignored = {0};
    struct stat found;
    int fd = open_file(c, O_RDONLY, &ignored);

    if (fd < 0)
        return;
    if (v->stat(v, fd, &found) == 0 && S_ISREG(found.st_mode))
        slots_doubt(c->slots, found.st_size);
    v->close(v, fd);
}

static bool sync_directory(storage *s, unsigned i, error *err)
{
    vfs *v = s->vfs;
    char name[4];
    int fd;
    bool ok;

    snprintf(name, sizeof name, "%02x", i & 255);
    fd = v->open(v, s->arrays, name, O_RDONLY | O_DIRECTORY);
    ok = fd >= 0 && v->sync_directory(v, fd) == 0;
    if (!ok)
        error_set(err, ERR_STORAGE, "syncing the directory arrays/%s: %s", name, strerror(errno));
    if (fd >= 0)
        v->close(v, fd);
    return ok;
}

bool array_sync_directories(storage *s, const uint64_t directories[ARRAY_DIRECTORIES / 64],
                            error *err)
{
    for (unsigned i = 0; i < ARRAY_DIRECTORIES; i++)
        if ((directories[i / 64] >> i % 64 & 1) != 0 && !sync_directory(s, i, err))
            return false;
    return true;
}

/* ---- Reading ------------------------------------------------------------------------- */

/* Whether the open file's header and size are those that the index says. */
static bool check_file(content *c, int fd, error *err)
{
    vfs *v = c->storage->vfs;
    char bytes[NPY_ALIGN_PAGE];
    struct stat found;
    npy_header header;
    shape expected;
    error ignored = {0};

    if (v->stat(v, fd, &found) != 0 || !S_ISREG(found.st_mode) ||
        found.st_size != NPY_ALIGN_PAGE + c->nbytes)
        return error_set(err, ERR_INTEGRITY, "the array's file has the wrong size");
    content_shape(c, &expected);
    if (!vfs_read_all(v, fd, bytes, sizeof bytes, 0) ||
        !npy_header_parse(bytes, sizeof bytes, &c->dtype, &header, &ignored) ||
        header.dtype != c->dtype || header.swapped || header.fortran ||
        !shape_equal(&header.shape, &expected))
        return error_set(err, ERR_INTEGRITY, "the array's file has the wrong header");
    return true;
}

/* Whether the open file has all the slots that the array is in. */
static bool check_slots(content *c, int fd, error *err)
{
    vfs *v = c->storage->vfs;
    struct stat found;
    int64_t end = 0;

    if (c->map == NULL)
        return error_set(err, ERR_INTEGRITY, "the places of the array's chunks are lost");
    for (int64_t i = 0, n = content_chunks(c); i < n; i++) {
        const int64_t left = c->nbytes - i * CHUNK_BYTES;
        const int64_t to =
            (int64_t)c->map[i] * SLOT_BYTES + (left < SLOT_BYTES ? left : SLOT_BYTES);

        end = to > end ? to : end;
    }
    return (v->stat(v, fd, &found) == 0 && S_ISREG(found.st_mode) && found.st_size >= end) ||
           error_set(err, ERR_INTEGRITY, "the array's file has the wrong size");
}

int array_open_slots(content *c, error *err)
{
    return open_file(c, O_WRONLY, err);
}

int array_open(content *c, error *err)
{
    vfs *v = c->storage->vfs;
    int fd = open_file(c, O_RDONLY, err);

    if (fd < 0)
        return -1;
    if ((c->slots != NULL ? check_slots : check_file)(c, fd, err))
        return fd;
    v->close(v, fd);
    return -1;
}

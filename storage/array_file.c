/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/secret.h"
#include "engine/tensor/npy.h"
#include "storage/private.h"

void array_name(const uint8_t file[FILE_ID_BYTES], char to[ARRAY_NAME])
{
    char *at = to + sprintf(to, "%02x/", file[0]);

    for (int i = 0; i < FILE_ID_BYTES; i++)
        at += sprintf(at, "%02x", file[i]);
    strcpy(at, ".npy");
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

/* ---- Writing ----------------------------------------------------------------------- */

int array_create(content *c, error *err)
{
    vfs *v = c->storage->vfs;
    char name[ARRAY_NAME];
    int fd;

    random_bytes(c->file, sizeof c->file);
    array_name(c->file, name);
    fd = v->open(v, c->storage->arrays, name, O_WRONLY | O_CREAT | O_EXCL);
    if (fd < 0) {
        disk_failed("making an array file", err);
        return -1;
    }
    c->in_file = true;
    /* Where blocks cannot be set aside, a full disk shows while writing. */
    if (v->allocate(v, fd, NPY_ALIGN_PAGE + c->nbytes) != 0 && errno != EOPNOTSUPP) {
        disk_failed("setting room aside for an array file", err);
        v->close(v, fd);
        return -1;
    }
    return fd;
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

int array_open(content *c, error *err)
{
    vfs *v = c->storage->vfs;
    char name[ARRAY_NAME];
    int fd;

    array_name(c->file, name);
    fd = v->open(v, c->storage->arrays, name, O_RDONLY);
    if (fd < 0) {
        error_kind kind = errno == EMFILE || errno == ENFILE ? ERR_MEMORY_BUSY : ERR_INTEGRITY;

        error_set(err, kind, "the array's file cannot be opened: %s", strerror(errno));
        return -1;
    }
    if (check_file(c, fd, err))
        return fd;
    v->close(v, fd);
    return -1;
}

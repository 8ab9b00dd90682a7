/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/datadir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "storage/schema.h"

static const char version_prefix[] = "tensord data format ";

/* ---- Opening --------------------------------------------------------------------- */

static bool make_directories(vfs *v, const char *path, error *err)
{
    char partial[PATH_MAX];

    if (snprintf(partial, sizeof partial, "%s", path) >= (int)sizeof partial || *path == '\0')
        return error_set(err, ERR_VALUE, "data: the path is empty or too long");
    for (char *p = partial + 1;; p++) {
        char kept = *p;

        if (kept != '/' && kept != '\0')
            continue;
        *p = '\0';
        if (v->make_directory(v, AT_FDCWD, partial) != 0 && errno != EEXIST)
            return error_set(err, ERR_VALUE, "cannot make the directory %s: %s", partial,
                             strerror(errno));
        *p = kept;
        if (kept == '\0')
            return true;
    }
}

static bool hold_lock(storage *s, error *err)
{
    s->lock_file = s->vfs->open(s->vfs, s->directory, "LOCK", O_RDWR | O_CREAT);
    if (s->lock_file < 0)
        return error_set(err, ERR_VALUE, "cannot open %s/LOCK: %s", s->options.path,
                         strerror(errno));
    if (s->vfs->lock(s->vfs, s->lock_file) == 0)
        return true;
    return error_set(err, errno == EWOULDBLOCK ? ERR_CONFLICT : ERR_VALUE,
                     "the data directory %s is in use by another process", s->options.path);
}

bool storage_is_in_use(const char *path)
{
    char lock[PATH_MAX];
    int fd;
    bool held;

    snprintf(lock, sizeof lock, "%s/LOCK", path);
    fd = open(lock, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    held = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    close(fd);
    return held;
}

bool datadir_open(storage *s, error *err)
{
    char path[PATH_MAX];

    if (!make_directories(s->vfs, s->options.path, err))
        return false;
    /* The dot lets the path itself be a link. */
    if (snprintf(path, sizeof path, "%s/.", s->options.path) >= (int)sizeof path)
        return error_set(err, ERR_VALUE, "data: the path is too long");
    s->directory = s->vfs->open(s->vfs, AT_FDCWD, path, O_RDONLY | O_DIRECTORY);
    if (s->directory < 0)
        return error_set(err, ERR_VALUE, "cannot open the directory %s: %s", s->options.path,
                         strerror(errno));
    return hold_lock(s, err);
}

/* ---- The version ------------------------------------------------------------------- */

static bool note_name(void *context, const char *name)
{
    (void)name;
    *(bool *)context = true;
    return false;
}

static bool note_array(void *context, const char *directory)
{
    storage *s = context;
    int fd = s->vfs->open(s->vfs, s->arrays, directory, O_RDONLY | O_DIRECTORY);
    bool found = false;

    if (fd < 0)
        return true;
    s->vfs->list(s->vfs, fd, note_name, &found);
    s->vfs->close(s->vfs, fd);
    s->strays += found;
    return !found;
}

/* Without VERSION the directory is new, or was left while it was made: then it
 * has no arrays. */
static bool check_new(storage *s, error *err)
{
    bool arrays;

    s->arrays = s->vfs->open(s->vfs, s->directory, "arrays", O_RDONLY | O_DIRECTORY);
    if (s->arrays < 0)
        return true;
    s->vfs->list(s->vfs, s->arrays, note_array, s);
    arrays = s->strays > 0;
    s->strays = 0;
    s->vfs->close(s->vfs, s->arrays);
    s->arrays = -1;
    return !arrays ||
           error_set(err, ERR_INTEGRITY, "%s has arrays but no file VERSION; nothing was touched",
                     s->options.path);
}

bool datadir_read_version(storage *s, int64_t *format, error *err)
{
    const size_t prefix = sizeof version_prefix - 1;
    char found[64] = {0};
    int fd = s->vfs->open(s->vfs, s->directory, "VERSION", O_RDONLY);

    *format = 0;
    if (fd < 0)
        return errno == ENOENT ? check_new(s, err)
                               : error_set(err, ERR_STORAGE, "cannot open %s/VERSION: %s",
                                           s->options.path, strerror(errno));
    s->vfs->read(s->vfs, fd, found, sizeof found - 1, 0);
    s->vfs->close(s->vfs, fd);
    if (strncmp(found, version_prefix, prefix) == 0)
        *format = strtoll(found + prefix, NULL, 10);
    if (*format < 1)
        return error_set(err, ERR_INTEGRITY, "%s/VERSION is damaged; nothing was touched",
                         s->options.path);
    if (*format > SCHEMA_FORMAT)
        return error_set(err, ERR_VALUE,
                         "%s has data of format %d; this version knows formats up to %d",
                         s->options.path, (int)*format, SCHEMA_FORMAT);
    return true;
}

static bool write_version(storage *s, error *err)
{
    vfs *v = s->vfs;
    char content[64];
    int n = snprintf(content, sizeof content, "%s%d\n", version_prefix, SCHEMA_FORMAT);
    int fd = v->open(v, s->directory, "VERSION.new", O_WRONLY | O_CREAT | O_TRUNC);
    bool ok = fd >= 0 && vfs_write_all(v, fd, content, (size_t)n, 0) && v->sync_data(v, fd) == 0;

    if (fd >= 0)
        v->close(v, fd);
    ok = ok && v->rename(v, s->directory, "VERSION.new", s->directory, "VERSION") == 0;
    return ok || disk_failed("writing VERSION", err);
}

/* ---- Folders ------------------------------------------------------------------------- */

/* Makes a folder; *made becomes true if it was missing. */
static bool make_folder(storage *s, int directory, const char *name, bool *made, error *err)
{
    if (s->vfs->make_directory(s->vfs, directory, name) == 0)
        *made = true;
    else if (errno != EEXIST)
        return disk_failed("making a folder of the data directory", err);
    return true;
}

static bool sync_if(storage *s, int directory, bool changed, error *err)
{
    return !changed || s->vfs->sync_directory(s->vfs, directory) == 0 ||
           disk_failed("syncing the data directory", err);
}

bool datadir_complete(storage *s, int64_t format, error *err)
{
    const bool raise = format < SCHEMA_FORMAT; /* told before the index has it */
    bool changed = false, made = false;
    char name[4];

    if (!make_folder(s, s->directory, "arrays", &changed, err) ||
        !make_folder(s, s->directory, "quarantine", &changed, err))
        return false;
    s->arrays = s->vfs->open(s->vfs, s->directory, "arrays", O_RDONLY | O_DIRECTORY);
    if (s->arrays < 0)
        return disk_failed("opening arrays", err);
    for (unsigned i = 0; i < ARRAY_DIRECTORIES; i++) {
        snprintf(name, sizeof name, "%02x", i);
        if (!make_folder(s, s->arrays, name, &made, err))
            return false;
    }
    if (!sync_if(s, s->arrays, made, err) || (raise && !write_version(s, err)))
        return false;
    return sync_if(s, s->directory, changed || raise, err);
}

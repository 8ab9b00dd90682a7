/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/faulty_vfs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static faulty_vfs *of(vfs *v)
{
    return v->context;
}

/* The name as the record has it: xx/ID.npy becomes arrays/ID, xx/ID.slots slots/ID, xx arrays/xx.
 */
static const char *short_name(const char *name)
{
    size_t n = strlen(name);

    if (n > 36 && strcmp(name + n - 4, ".npy") == 0)
        return "arrays/ID";
    if (n > 36 && strcmp(name + n - 6, ".slots") == 0)
        return "slots/ID";
    if (n == 2 && strspn(name, "0123456789abcdef") == 2)
        return "arrays/xx";
    return name;
}

/* The 256 folders of arrays are alike, so only the first one counts; a test that
 * fails every call in turn would do little else otherwise. */
static bool counts(const char *name)
{
    return strcmp(short_name(name), "arrays/xx") != 0 || strcmp(name, "00") == 0;
}

/* Records and counts a call; 0, or the errno with which it fails. */
static int gate(faulty_vfs *f, const char *what, const char *name)
{
    int failure = 0;

    pthread_mutex_lock(&f->lock);
    if (f->recording)
        text_addf(&f->record, "%s %s\n", what, short_name(name));
    f->calls += counts(name);
    if (counts(name) && f->fail_at != 0 &&
        (f->sticky ? f->calls >= f->fail_at : f->calls == f->fail_at))
        failure = f->failure;
    pthread_mutex_unlock(&f->lock);
    errno = failure;
    return failure;
}

static const char *name_of(faulty_vfs *f, int fd)
{
    return fd >= 0 && fd < FAULTY_FILES && f->names[fd] != NULL ? f->names[fd] : "?";
}

static void set_name(faulty_vfs *f, int fd, const char *name)
{
    if (fd < 0 || fd >= FAULTY_FILES)
        return;
    pthread_mutex_lock(&f->lock);
    free(f->names[fd]);
    f->names[fd] = name == NULL ? NULL : strdup(name);
    pthread_mutex_unlock(&f->lock);
}

static int faulty_open(vfs *v, int directory, const char *name, int flags)
{
    faulty_vfs *f = of(v);
    int fd = -1;

    if (gate(f, flags & O_CREAT ? "create" : "open", name) == 0)
        fd = f->real->open(f->real, directory, name, flags);
    set_name(f, fd, name);
    return fd;
}

static int faulty_open_beneath(vfs *v, int directory, const char *path)
{
    faulty_vfs *f = of(v);
    int fd = gate(f, "open", path) == 0 ? f->real->open_beneath(f->real, directory, path) : -1;

    set_name(f, fd, path);
    return fd;
}

static int faulty_close(vfs *v, int fd)
{
    set_name(of(v), fd, NULL);
    return of(v)->real->close(of(v)->real, fd);
}

static ssize_t faulty_read(vfs *v, int fd, void *to, size_t n, int64_t offset)
{
    faulty_vfs *f = of(v);

    return gate(f, "read", name_of(f, fd)) != 0 ? -1 : f->real->read(f->real, fd, to, n, offset);
}

static ssize_t faulty_write(vfs *v, int fd, const void *from, size_t n, int64_t offset)
{
    faulty_vfs *f = of(v);

    if (gate(f, "write", name_of(f, fd)) != 0)
        return -1;
    return f->real->write(f->real, fd, from, f->halve && n > 1 ? n / 2 : n, offset);
}

static ssize_t faulty_copy(vfs *v, int from, int to, size_t n, int64_t offset)
{
    faulty_vfs *f = of(v);

    if (gate(f, "copy", name_of(f, to)) != 0)
        return -1;
    return f->real->copy(f->real, from, to, f->halve && n > 1 ? n / 2 : n, offset);
}

static int faulty_allocate(vfs *v, int fd, int64_t offset, int64_t n)
{
    faulty_vfs *f = of(v);

    return gate(f, "allocate", name_of(f, fd)) != 0 ? -1
                                                    : f->real->allocate(f->real, fd, offset, n);
}

static int faulty_punch(vfs *v, int fd, int64_t offset, int64_t n)
{
    faulty_vfs *f = of(v);

    return gate(f, "punch", name_of(f, fd)) != 0 ? -1 : f->real->punch(f->real, fd, offset, n);
}

static int faulty_forget(vfs *v, int fd)
{
    faulty_vfs *f = of(v);

    return gate(f, "forget", name_of(f, fd)) != 0 ? -1 : f->real->forget(f->real, fd);
}

static int faulty_sync_data(vfs *v, int fd)
{
    faulty_vfs *f = of(v);

    return gate(f, "sync", name_of(f, fd)) != 0 ? -1 : f->real->sync_data(f->real, fd);
}

static int faulty_sync_directory(vfs *v, int fd)
{
    faulty_vfs *f = of(v);

    return gate(f, "sync", name_of(f, fd)) != 0 ? -1 : f->real->sync_directory(f->real, fd);
}

static int faulty_stat(vfs *v, int fd, struct stat *result)
{
    faulty_vfs *f = of(v);

    return gate(f, "stat", name_of(f, fd)) != 0 ? -1 : f->real->stat(f->real, fd, result);
}

static int faulty_free_space(vfs *v, int fd, struct statvfs *result)
{
    faulty_vfs *f = of(v);

    return gate(f, "free_space", "") != 0 ? -1 : f->real->free_space(f->real, fd, result);
}

static int faulty_lock(vfs *v, int fd)
{
    return of(v)->real->lock(of(v)->real, fd);
}

static void *faulty_map(vfs *v, int fd, size_t n)
{
    faulty_vfs *f = of(v);

    return gate(f, "map", name_of(f, fd)) != 0 ? NULL : f->real->map(f->real, fd, n);
}

static void *faulty_reserve(vfs *v, size_t n)
{
    faulty_vfs *f = of(v);

    return gate(f, "reserve", "") != 0 ? NULL : f->real->reserve(f->real, n);
}

static int faulty_map_over(vfs *v, int fd, void *at, size_t n, int64_t offset)
{
    faulty_vfs *f = of(v);

    return gate(f, "map", name_of(f, fd)) != 0 ? -1 : f->real->map_over(f->real, fd, at, n, offset);
}

static int faulty_unmap(vfs *v, void *bytes, size_t n)
{
    return of(v)->real->unmap(of(v)->real, bytes, n);
}

static int faulty_make_directory(vfs *v, int directory, const char *name)
{
    faulty_vfs *f = of(v);

    return gate(f, "mkdir", name) != 0 ? -1 : f->real->make_directory(f->real, directory, name);
}

static int faulty_rename(vfs *v, int from_directory, const char *from, int to_directory,
                         const char *to)
{
    faulty_vfs *f = of(v);

    return gate(f, "rename", to) != 0
               ? -1
               : f->real->rename(f->real, from_directory, from, to_directory, to);
}

static int faulty_link(vfs *v, int from_directory, const char *from, int to_directory,
                       const char *to)
{
    faulty_vfs *f = of(v);

    return gate(f, "link", to) != 0
               ? -1
               : f->real->link(f->real, from_directory, from, to_directory, to);
}

static int faulty_remove(vfs *v, int directory, const char *name)
{
    faulty_vfs *f = of(v);

    return gate(f, "remove", name) != 0 ? -1 : f->real->remove(f->real, directory, name);
}

static int faulty_list(vfs *v, int directory, bool (*each)(void *context, const char *name),
                       void *context)
{
    faulty_vfs *f = of(v);

    return gate(f, "list", name_of(f, directory)) != 0
               ? -1
               : f->real->list(f->real, directory, each, context);
}

static int faulty_foreign(vfs *v, const vfs_foreign *what)
{
    static const char *const words[] = {"write", "sync", "truncate", "remove"};

    return gate(of(v), words[what->kind], what->file);
}

void faulty_init(faulty_vfs *f)
{
    memset(f, 0, sizeof *f);
    f->real = vfs_real();
    pthread_mutex_init(&f->lock, NULL);
    text_init(&f->record);
    f->vfs = (vfs){
        .context = f,
        .open = faulty_open,
        .open_beneath = faulty_open_beneath,
        .close = faulty_close,
        .read = faulty_read,
        .write = faulty_write,
        .copy = faulty_copy,
        .allocate = faulty_allocate,
        .punch = faulty_punch,
        .forget = faulty_forget,
        .sync_data = faulty_sync_data,
        .sync_directory = faulty_sync_directory,
        .stat = faulty_stat,
        .free_space = faulty_free_space,
        .lock = faulty_lock,
        .map = faulty_map,
        .reserve = faulty_reserve,
        .map_over = faulty_map_over,
        .unmap = faulty_unmap,
        .make_directory = faulty_make_directory,
        .rename = faulty_rename,
        .link = faulty_link,
        .remove = faulty_remove,
        .list = faulty_list,
        .foreign = faulty_foreign,
    };
}

void faulty_clear(faulty_vfs *f)
{
    for (int fd = 0; fd < FAULTY_FILES; fd++)
        free(f->names[fd]);
    text_clear(&f->record);
    pthread_mutex_destroy(&f->lock);
}

void faulty_fail(faulty_vfs *f, int64_t n, int failure, bool sticky)
{
    pthread_mutex_lock(&f->lock);
    f->fail_at = f->calls + n;
    f->failure = failure;
    f->sticky = sticky;
    pthread_mutex_unlock(&f->lock);
}

void faulty_heal(faulty_vfs *f)
{
    pthread_mutex_lock(&f->lock);
    f->fail_at = 0;
    pthread_mutex_unlock(&f->lock);
}

int64_t faulty_calls(faulty_vfs *f)
{
    int64_t calls;

    pthread_mutex_lock(&f->lock);
    calls = f->calls;
    pthread_mutex_unlock(&f->lock);
    return calls;
}

void faulty_record(faulty_vfs *f)
{
    pthread_mutex_lock(&f->lock);
    text_clear(&f->record);
    f->recording = true;
    pthread_mutex_unlock(&f->lock);
}

void faulty_note(faulty_vfs *f, const char *line)
{
    pthread_mutex_lock(&f->lock);
    if (f->recording)
        text_addf(&f->record, "%s\n", line);
    pthread_mutex_unlock(&f->lock);
}

char *faulty_recorded(faulty_vfs *f)
{
    char *copy;

    pthread_mutex_lock(&f->lock);
    copy = strdup(f->record.bytes);
    pthread_mutex_unlock(&f->lock);
    return copy;
}

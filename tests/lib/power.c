/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/power.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILES_MAX = 1024, PIECE = 512, PATH_ROOM = 128 };

typedef enum kind {
    CREATE,
    MAKE,
    RENAME,
    REMOVE,
    WRITE,
    GROW,
    PUNCH,
    CUT,
    SYNC,
    SYNC_NAMES,
    MARK
} kind;

typedef struct event {
    kind kind;
    char *path, *to; /* below the directory; "" is itself */
    int64_t offset, n;
    void *bytes;
} event;

/* A file, or a directory (which has no bytes). */
typedef struct object {
    bool is_directory;
    char *bytes; /* that are on the disk */
    int64_t size;
    const event **pending; /* what was done since */
    size_t pending_count;
} object;

/* A name in a directory: put there, or taken away if object is NULL. */
typedef struct naming {
    const char *path;
    object *object;
    bool with_next; /* both or none, as a rename is */
} naming;

typedef struct folder {
    const char *path;
    naming *
        names; /* that are on the disk, in the order in which they came; then what was done since */
    size_t count, synced;
} folder;

struct power {
    vfs vfs;
    const char *path;
    pthread_mutex_t lock;
    char *names[FILES_MAX]; /* of open descriptors */
    event *events;
    int64_t count, room;

    int64_t at;
    folder *folders;
    size_t folder_count;
};

static void *more(void *items, size_t count, size_t size)
{
    void *grown =
        (count & (count - 1)) == 0 ? realloc(items, (count == 0 ? 1 : 2 * count) * size) : items;

    if (grown == NULL)
        abort();
    return grown;
}

/* ---- The record ---------------------------------------------------------------------------- */

static power *of(vfs *v)
{
    return v->context;
}

static void note(power *p, event e)
{
    pthread_mutex_lock(&p->lock);
    p->events = more(p->events, (size_t)p->count, sizeof *p->events);
    p->events[p->count++] = e;
    pthread_mutex_unlock(&p->lock);
}

/* The path below the directory of a name in an open one; to be freed. */
static char *path_of(power *p, int directory, const char *name)
{
    const size_t n = strlen(p->path);
    const char *base = directory == AT_FDCWD ? "" : p->names[directory];
    char *path = NULL;

    if (directory == AT_FDCWD) {
        if (strncmp(name, p->path, n) != 0) /* a directory above */
            return strdup("");
        name += n + (name[n] == '/');
        name = strcmp(name, ".") == 0 ? "" : name;
    }
    if (asprintf(&path, "%s%s%s", base, *base != '\0' && *name != '\0' ? "/" : "", name) < 0)
        abort();
    return path;
}

static int power_open(vfs *v, int directory, const char *name, int flags)
{
    power *p = of(v);
    char *path = path_of(p, directory, name);
    const bool made = (flags & O_CREAT) && faccessat(directory, name, F_OK, 0) != 0;
    int fd = vfs_real()->open(v, directory, name, flags);

    if (fd < 0) {
        free(path);
        return -1;
    }
    if (made)
        note(p, (event){.kind = CREATE, .path = strdup(path)});
    if (flags & O_TRUNC)
        note(p, (event){.kind = CUT, .path = strdup(path)});
    pthread_mutex_lock(&p->lock);
    free(p->names[fd]);
    p->names[fd] = path;
    pthread_mutex_unlock(&p->lock);
    return fd;
}

static char *name_of(power *p, int fd)
{
    char *copy;

    pthread_mutex_lock(&p->lock);
    copy = strdup(p->names[fd]);
    pthread_mutex_unlock(&p->lock);
    return copy;
}

static void *copy_of(const void *bytes, size_t n)
{
    void *copy = malloc(n + 1);

    return memcpy(copy, bytes, n);
}

static ssize_t power_write(vfs *v, int fd, const void *from, size_t n, int64_t offset)
{
    ssize_t done = vfs_real()->write(v, fd, from, n, offset);

    if (done > 0)
        note(of(v), (event){.kind = WRITE,
                            .path = name_of(of(v), fd),
                            .offset = offset,
                            .n = done,
                            .bytes = copy_of(from, (size_t)done)});
    return done;
}

/* As a write of what was read. */
static ssize_t power_copy(vfs *v, int from, int to, size_t n, int64_t offset)
{
    char *bytes = malloc(n);
    ssize_t got = pread(from, bytes, n, offset);
    ssize_t done = got <= 0 ? got : power_write(v, to, bytes, (size_t)got, offset);

    free(bytes);
    return done;
}

static int power_allocate(vfs *v, int fd, int64_t offset, int64_t n)
{
    note(of(v), (event){.kind = GROW, .path = name_of(of(v), fd), .offset = offset, .n = n});
    return vfs_real()->allocate(v, fd, offset, n);
}

static int power_punch(vfs *v, int fd, int64_t offset, int64_t n)
{
    note(of(v), (event){.kind = PUNCH, .path = name_of(of(v), fd), .offset = offset, .n = n});
    return vfs_real()->punch(v, fd, offset, n);
}

static int power_sync(vfs *v, int fd)
{
    note(of(v), (event){.kind = SYNC, .path = name_of(of(v), fd)});
    return 0;
}

static int power_sync_directory(vfs *v, int fd)
{
    note(of(v), (event){.kind = SYNC_NAMES, .path = name_of(of(v), fd)});
    return 0;
}

static int power_make_directory(vfs *v, int directory, const char *name)
{
    int result = vfs_real()->make_directory(v, directory, name);

    if (result == 0)
        note(of(v), (event){.kind = MAKE, .path = path_of(of(v), directory, name)});
    return result;
}

static int power_rename(vfs *v, int from_directory, const char *from, int to_directory,
                        const char *to)
{
    int result = vfs_real()->rename(v, from_directory, from, to_directory, to);

    if (result == 0)
        note(of(v), (event){.kind = RENAME,
                            .path = path_of(of(v), from_directory, from),
                            .to = path_of(of(v), to_directory, to)});
    return result;
}

static int power_remove(vfs *v, int directory, const char *name)
{
    int result = vfs_real()->remove(v, directory, name);

    if (result == 0)
        note(of(v), (event){.kind = REMOVE, .path = path_of(of(v), directory, name)});
    return result;
}

/* SQLite syncs the directory with the first sync of a log or journal that it made. */
static int power_foreign(vfs *v, const vfs_foreign *what)
{
    static const kind kinds[] = {
        [VFS_WRITE] = WRITE, [VFS_SYNC] = SYNC, [VFS_TRUNCATE] = CUT, [VFS_REMOVE] = REMOVE};
    event e = {.kind = kinds[what->kind],
               .path = strdup(what->file),
               .offset = what->offset,
               .n = what->n};

    if (what->kind == VFS_WRITE)
        e.bytes = copy_of(what->bytes, (size_t)what->n);
    note(of(v), e);
    if ((what->kind == VFS_SYNC && strchr(what->file, '-') != NULL) ||
        (what->kind == VFS_REMOVE && what->n != 0))
        note(of(v), (event){.kind = SYNC_NAMES, .path = strdup("")});
    return 0;
}

power *power_new(const char *path)
{
    power *p = calloc(1, sizeof *p);

    p->path = path;
    pthread_mutex_init(&p->lock, NULL);
    p->vfs = *vfs_real();
    p->vfs.context = p;
    p->vfs.open = power_open;
    p->vfs.write = power_write;
    p->vfs.copy = power_copy;
    p->vfs.allocate = power_allocate;
    p->vfs.punch = power_punch;
    p->vfs.sync_data = power_sync;
    p->vfs.sync_directory = power_sync_directory;
    p->vfs.make_directory = power_make_directory;
    p->vfs.rename = power_rename;
    p->vfs.remove = power_remove;
    p->vfs.foreign = power_foreign;
    return p;
}

vfs *power_vfs(power *p)
{
    return &p->vfs;
}

void power_mark(power *p, int64_t mark)
{
    note(p, (event){.kind = MARK, .n = mark});
}

int64_t power_events(const power *p)
{
    return p->count;
}

/* ---- What is on the disk, and what may be
 * -------------------------------------------------------- */

static folder *folder_at(power *p, const char *path, size_t length)
{
    for (size_t i = 0; i < p->folder_count; i++)
        if (strncmp(p->folders[i].path, path, length) == 0 && p->folders[i].path[length] == '\0')
            return &p->folders[i];
    p->folders = more(p->folders, p->folder_count, sizeof *p->folders);
    p->folders[p->folder_count] = (folder){.path = strndup(path, length)};
    return &p->folders[p->folder_count++];
}

/* The folder in which a path is a name. */
static folder *folder_of(power *p, const char *path)
{
    const char *slash = strrchr(path, '/');

    return folder_at(p, path, slash == NULL ? 0 : (size_t)(slash - path));
}

static object *object_at(power *p, const char *path)
{
    const folder *f = folder_of(p, path);

    for (size_t i = f->count; i > 0; i--)
        if (strcmp(f->names[i - 1].path, path) == 0)
            return f->names[i - 1].object;
    return NULL;
}

static void put_name(power *p, const char *path, object *o, bool with_next)
{
    folder *f = folder_of(p, path);

    f->names = more(f->names, f->count, sizeof *f->names);
    f->names[f->count++] = (naming){.path = path, .object = o, .with_next = with_next};
}

static object *make_object(power *p, const char *path, bool is_directory)
{
    object *o = calloc(1, sizeof *o);

    o->is_directory = is_directory;
    put_name(p, path, o, false);
    return o;
}

static void resize(char **bytes, int64_t *size, int64_t n)
{
    *bytes = realloc(*bytes, (size_t)n + 1);
    if (n > *size)
        memset(*bytes + *size, 0, (size_t)(n - *size));
    *size = n;
}

/* A part of what an event writes; all of it: from 0, e->n. */
static void write_part(char **bytes, int64_t *size, const event *e, int64_t from, int64_t n)
{
    if (e->offset + from + n > *size)
        resize(bytes, size, e->offset + from + n);
    memcpy(*bytes + e->offset + from, (const char *)e->bytes + from, (size_t)n);
}

static void apply(char **bytes, int64_t *size, const event *e)
{
    int64_t n = e->n;

    if (e->kind == WRITE)
        write_part(bytes, size, e, 0, n);
    if (e->kind == CUT || (e->kind == GROW && e->offset + n > *size))
        resize(bytes, size, e->kind == CUT ? n : e->offset + n);
    if (e->kind == PUNCH && e->offset < *size) {
        n = e->offset + n > *size ? *size - e->offset : n;
        memset(*bytes + e->offset, 0, (size_t)n);
    }
}

static void sync_object(object *o)
{
    for (size_t i = 0; o != NULL && i < o->pending_count; i++)
        apply(&o->bytes, &o->size, o->pending[i]);
    if (o != NULL)
        o->pending_count = 0;
}

static void change_object(power *p, const event *e)
{
    object *o = object_at(p, e->path);

    if (o == NULL) /* the index's library made it */
        o = make_object(p, e->path, false);
    o->pending = more(o->pending, o->pending_count, sizeof(event *));
    o->pending[o->pending_count++] = e;
}

static void go_one(power *p, const event *e)
{
    folder *f;

    switch (e->kind) {
    case CREATE:
    case MAKE:
        make_object(p, e->path, e->kind == MAKE);
        break;
    case RENAME:
        put_name(p, e->to, object_at(p, e->path), true);
        put_name(p, e->path, NULL, false);
        break;
    case REMOVE:
        put_name(p, e->path, NULL, false);
        break;
    case SYNC:
        sync_object(object_at(p, e->path));
        break;
    case SYNC_NAMES:
        f = folder_at(p, e->path, strlen(e->path));
        f->synced = f->count;
        break;
    case MARK:
        break;
    default:
        change_object(p, e);
    }
}

void power_go(power *p, int64_t n, void (*tell)(void *context, int64_t mark), void *context)
{
    for (; p->at < n && p->at < p->count; p->at++) {
        if (p->events[p->at].kind == MARK)
            tell(context, p->events[p->at].n);
        go_one(p, &p->events[p->at]);
    }
}

/* ---- Cutting ----------------------------------------------------------------------------------
 */

/* How a cut treats what is not synced. */
typedef enum fate { LOST, KEPT, MIXED, FATES } fate;

static bool survives(fate f)
{
    return f == KEPT || (f == MIXED && random() % 2 == 0);
}

/* Pieces of a write, each for itself. */
static void tear(char **bytes, int64_t *size, const event *e)
{
    for (int64_t from = 0; from < e->n; from += PIECE)
        if (random() % 2 == 0)
            write_part(bytes, size, e, from, e->n - from < PIECE ? e->n - from : PIECE);
}

static void write_file(const char *path, const object *o, fate f)
{
    int64_t size = o->size;
    char *bytes = copy_of(o->bytes == NULL ? "" : o->bytes, (size_t)size);
    int fd;

    for (size_t i = 0; i < o->pending_count; i++) {
        const event *e = o->pending[i];

        if (e->kind == WRITE && f == MIXED && random() % 2 == 0)
            tear(&bytes, &size, e);
        else if (survives(f))
            apply(&bytes, &size, e);
    }
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (fd < 0 || !vfs_write_all(vfs_real(), fd, bytes, (size_t)size, 0))
        abort();
    close(fd);
    free(bytes);
}

/* How many of a folder's namings are on the disk. */
static size_t cut_names(const folder *f, fate names)
{
    size_t n = names == KEPT ? f->count : f->synced;

    if (names == MIXED)
        n += (size_t)random() % (f->count - f->synced + 1);
    return n > f->synced && f->names[n - 1].with_next ? n - 1 : n;
}

static bool is_replaced(const folder *f, size_t i, size_t n)
{
    for (size_t k = i + 1; k < n; k++)
        if (strcmp(f->names[k].path, f->names[i].path) == 0)
            return true;
    return false;
}

static void cut_folder(const power *p, const folder *f, const char *path, fate data, fate names)
{
    const size_t n = cut_names(f, names);

    for (size_t i = 0; i < n; i++) {
        const object *o = f->names[i].object;
        char full[512];

        if (o == NULL || is_replaced(f, i, n))
            continue;
        snprintf(full, sizeof full, "%s/%s", path, f->names[i].path);
        if (!o->is_directory)
            write_file(full, o, data);
        else if (mkdir(full, 0700) != 0)
            abort();
        for (size_t k = 0; o->is_directory && k < p->folder_count; k++)
            if (strcmp(p->folders[k].path, f->names[i].path) == 0)
                cut_folder(p, &p->folders[k], path, data, names);
    }
}

void power_cut(const power *p, const char *path)
{
    const fate data = (fate)(random() % FATES), names = (fate)(random() % FATES);

    for (size_t i = 0; i < p->folder_count; i++)
        if (p->folders[i].path[0] == '\0')
            cut_folder(p, &p->folders[i], path, data, names);
}

void power_free(power *p)
{
    for (size_t i = 0; i < p->folder_count; i++) {
        for (size_t k = 0; k < p->folders[i].count; k++) {
            object *o = p->folders[i].names[k].object;
            bool last = o != NULL;

            for (size_t l = k + 1; last && l < p->folders[i].count; l++)
                last = p->folders[i].names[l].object != o;
            if (last) {
                free(o->bytes);
                free(o->pending);
                free(o);
            }
        }
        free(p->folders[i].names);
        free((void *)(uintptr_t)p->folders[i].path);
    }
    for (int64_t i = 0; i < p->count; i++) {
        free(p->events[i].path);
        free(p->events[i].to);
        free(p->events[i].bytes);
    }
    for (int fd = 0; fd < FILES_MAX; fd++)
        free(p->names[fd]);
    free(p->events);
    free(p->folders);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* place -- arrays in files that are not ours: where they may lie, and whether they are still
 * what they were when they were attached. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storage/private.h"

/* ---- Roots --------------------------------------------------------------------------- */

/* What stands behind the root (n bytes) in a path below it; NULL if it is not below. */
static const char *below(const char *path, const char *root, size_t n)
{
    while (n > 1 && root[n - 1] == '/')
        n--;
    if (n == 0 || root[0] != '/' || strncmp(path, root, n) != 0)
        return NULL;
    path += n;
    if (n == 1)
        return path[0] == '\0' ? NULL : path;
    return *path == '/' && path[1] != '\0' ? path + 1 : NULL;
}

static int open_below(storage *s, const char *root, size_t n, const char *rest, error *err)
{
    char directory[PATH_MAX];
    int at, fd;

    snprintf(directory, sizeof directory, "%.*s/.", (int)n, root);
    at = s->vfs->open(s->vfs, AT_FDCWD, directory, O_RDONLY | O_DIRECTORY);
    fd = at < 0 ? -1 : s->vfs->open_beneath(s->vfs, at, rest + strspn(rest, "/"));
    if (fd < 0 && (errno == ELOOP || errno == EXDEV))
        error_set(err, ERR_FORBIDDEN, "%s: a link leads there; give the path itself", rest);
    else if (fd < 0)
        error_set(err, errno == ENOENT || errno == ENOTDIR ? ERR_NOT_FOUND : ERR_FORBIDDEN,
                  "%s cannot be opened: %s", rest, strerror(errno));
    if (at >= 0)
        s->vfs->close(s->vfs, at);
    return fd;
}

/* A plain file with one name: another may be that of somebody else's. */
static bool check_kind(storage *s, int fd, struct stat *found, error *err)
{
    if (s->vfs->stat(s->vfs, fd, found) != 0 || !S_ISREG(found->st_mode))
        return error_set(err, ERR_FORBIDDEN, "only a plain file can be attached");
    return found->st_nlink == 1 ||
           error_set(err, ERR_FORBIDDEN, "the file has %d names; only one with one can be attached",
                     (int)found->st_nlink);
}

static int attachment_open(storage *s, const char *path, error *err)
{
    struct stat found;
    int fd = -1;

    for (const char *root = s->options.attach_roots; *root != '\0';) {
        const size_t n = strcspn(root, ",");
        const char *rest = below(path, root, n);

        if (rest != NULL) {
            fd = open_below(s, root, n, rest, err);
            break;
        }
        root += n + (root[n] == ',');
    }
    if (fd < 0 && !error_is_set(err))
        error_set(err, ERR_FORBIDDEN,
                  "%.200s is below no directory that the server was started with (--attach-root)",
                  path);
    if (fd >= 0 && !check_kind(s, fd, &found, err)) {
        s->vfs->close(s->vfs, fd);
        return -1;
    }
    return fd;
}

/* ---- Headers ---------------------------------------------------------------------------- */

/* As many bytes of the file as a header may have; returns how many there are. */
static size_t read_start(storage *s, int fd, char *to)
{
    size_t n = 0;
    ssize_t got;

    while (n < NPY_HEADER_MAX &&
           (got = s->vfs->read(s->vfs, fd, to + n, NPY_HEADER_MAX - n, (int64_t)n)) > 0)
        n += (size_t)got;
    return n;
}

bool attachment_header(storage *s, const char *path, const dtype *hint, npy_header *result,
                       error *err)
{
    int fd = attachment_open(s, path, err);
    char *start;
    size_t n, length;
    bool ok;

    if (fd < 0)
        return false;
    start = malloc(NPY_HEADER_MAX);
    if (start == NULL)
        abort();
    n = read_start(s, fd, start);
    s->vfs->close(s->vfs, fd);
    ok = npy_header_length(start, n, &length, err) &&
         (length <= n || error_set(err, ERR_NPY, "the file ends in its header")) &&
         npy_header_parse(start, length, hint, result, err);
    free(start);
    return ok;
}

/* ---- Attaching ------------------------------------------------------------------------- */

static place *place_new(const char *path)
{
    const size_t n = strlen(path) + 1;
    place *p = calloc(1, sizeof *p + n);

    if (p == NULL)
        abort();
    memcpy(p->path, path, n);
    p->said.path = p->path;
    return p;
}

static int64_t modified_ns(const struct stat *s)
{
    return (int64_t)s->st_mtim.tv_sec * 1000000000 + s->st_mtim.tv_nsec;
}

/* Notes what the file is now, and whether the elements fit into it. */
static bool note_file(storage *s, place *p, int64_t nbytes, error *err)
{
    int fd = attachment_open(s, p->path, err);
    struct stat found;
    int64_t asked;
    bool ok;

    if (fd < 0)
        return false;
    ok = s->vfs->stat(s->vfs, fd, &found) == 0;
    s->vfs->close(s->vfs, fd);
    if (!ok)
        return disk_failed("looking at a file to attach", err);
    p->bytes = (int64_t)found.st_size;
    p->modified_ns = modified_ns(&found);
    p->inode = (uint64_t)found.st_ino;
    p->device = (uint64_t)found.st_dev;
    if (p->said.offset <= p->bytes && nbytes <= p->bytes - p->said.offset)
        return true;
    if (__builtin_add_overflow(p->said.offset, nbytes, &asked))
        asked = INT64_MAX;
    return error_set_limit(err, ERR_SIZE, p->bytes, asked,
                           "the file has %" PRId64 " bytes; %" PRId64 " from byte %" PRId64
                           " on are asked for",
                           p->bytes, nbytes, p->said.offset);
}

static bool check_said(const attachment *a, dtype t, error *err)
{
    const int64_t size = (int64_t)dtype_size(t);

    if (a->offset < 0 || a->offset % size != 0)
        return error_set(err, ERR_VALUE,
                         "the elements begin at byte %" PRId64
                         "; that is no multiple of their %" PRId64 " bytes",
                         a->offset, size);
    return strpbrk(a->path, "\n") == NULL || error_set(err, ERR_VALUE, "the path has a line break");
}

/* The first of n bytes that is no bool; n if all are. */
static size_t first_no_bool(const uint8_t *bytes, size_t n)
{
    size_t i = 0;

    while (i < n && bytes[i] <= 1)
        i++;
    return i;
}

/* Bools are computed with as 0 and 1 without looking again. ERR_VALUE if n bytes of the file hold
 * others, ERR_STORAGE if they cannot be read. */
static bool check_bools(storage *s, const attachment *a, int64_t n, error *err)
{
    enum { PIECE = 8192 };
    uint8_t piece[PIECE];
    const int fd = attachment_open(s, a->path, err);

    for (int64_t at = 0; fd >= 0 && at < n && !error_is_set(err); at += PIECE) {
        const size_t want = n - at < PIECE ? (size_t)(n - at) : PIECE;
        size_t good;

        if (!vfs_read_all(s->vfs, fd, piece, want, a->offset + at)) {
            disk_failed("reading a file to attach", err);
            break;
        }
        good = first_no_bool(piece, want);
        if (good < want)
            error_set(err, ERR_VALUE,
                      "element %" PRId64
                      " is the byte %d, and a bool is 0 or 1; attach the file as "
                      "uint8",
                      at + (int64_t)good, piece[good]);
    }
    if (fd >= 0)
        s->vfs->close(s->vfs, fd);
    return !error_is_set(err);
}

content *place_content(txn *x, const attachment *a, dtype t, const shape *shape, error *err)
{
    content *c;
    buffer *nothing;

    if (!storage_can_write(x->storage, err) || !check_said(a, t, err) ||
        !shape_check(shape, "attach", err))
        return NULL;
    c = content_alloc(x->storage, t, shape);
    c->place = place_new(a->path);
    c->place->said.offset = a->offset;
    c->place->said.read_only = a->read_only;
    c->place->said.fortran = a->fortran;
    c->is_volatile = x->durability == DURABILITY_MEMORY;
    nothing = note_file(x->storage, c->place, c->nbytes, err) &&
                      (t != DT_BOOL || check_bools(x->storage, a, c->nbytes, err))
                  ? buffer_new(NULL, 1, err)
                  : NULL;
    if (nothing == NULL) {
        content_unref(c);
        return NULL;
    }
    ((char *)buffer_bytes(nothing))[0] = 0;
    content_cache_take(c, nothing);
    return c;
}

/* ---- Reading ----------------------------------------------------------------------------- */

int place_open(storage *s, const place *p, error *err)
{
    error why = {0};
    int fd = attachment_open(s, p->path, &why);
    struct stat found;

    if (fd < 0) {
        error_set(err, ERR_INTEGRITY, "the attached file cannot be read: %s", why.detail);
        return -1;
    }
    if (s->vfs->stat(s->vfs, fd, &found) == 0 && (int64_t)found.st_size == p->bytes &&
        modified_ns(&found) == p->modified_ns && (uint64_t)found.st_ino == p->inode &&
        (uint64_t)found.st_dev == p->device)
        return fd;
    s->vfs->close(s->vfs, fd);
    error_set(err, ERR_INTEGRITY, "the attached file has changed since; attach it again");
    return -1;
}

/* ---- As text ------------------------------------------------------------------------------ */

void place_add(const place *p, text *to)
{
    text_addf(to, "%d %d %" PRId64 " %" PRId64 " %" PRId64 " %" PRIu64 " %" PRIu64 "\n%s",
              p->said.read_only, p->said.fortran, p->said.offset, p->bytes, p->modified_ns,
              p->inode, p->device, p->path);
}

place *place_read(const char *text)
{
    const char *path = strchr(text, '\n');
    place *p = place_new(path == NULL ? "" : path + 1);
    int read_only = 1, fortran = 0;

    /* What cannot be read is a file that has changed. */
    if (sscanf(text, "%d %d %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNu64 " %" SCNu64, &read_only,
               &fortran, &p->said.offset, &p->bytes, &p->modified_ns, &p->inode, &p->device) != 7)
        p->bytes = -1;
    p->said.read_only = read_only != 0;
    p->said.fortran = fortran != 0;
    return p;
}

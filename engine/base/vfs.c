/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/base/vfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static int real_open(vfs *v, int directory, const char *name, int flags)
{
    (void)v;
    return openat(directory, name, flags | O_CLOEXEC | O_NOFOLLOW, 0600);
}

static int real_open_beneath(vfs *v, int directory, const char *path)
{
    struct open_how how = {.flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS};

    (void)v;
    return (int)syscall(SYS_openat2, directory, path, &how, sizeof how);
}

static int real_close(vfs *v, int fd)
{
    (void)v;
    return close(fd);
}

static ssize_t real_read(vfs *v, int fd, void *to, size_t n, int64_t offset)
{
    (void)v;
    return pread(fd, to, n, offset);
}

static ssize_t real_write(vfs *v, int fd, const void *from, size_t n, int64_t offset)
{
    (void)v;
    return pwrite(fd, from, n, offset);
}

/* Where files cannot be copied by the system. */
static ssize_t copy_by_hand(int from, int to, size_t n, int64_t offset)
{
    char piece[8192];
    ssize_t got = pread(from, piece, n < sizeof piece ? n : sizeof piece, offset);

    return got <= 0 ? got : pwrite(to, piece, (size_t)got, offset);
}

static ssize_t real_copy(vfs *v, int from, int to, size_t n, int64_t offset)
{
    off_t in = offset, out = offset;
    ssize_t done = copy_file_range(from, &in, to, &out, n, 0);

    (void)v;
    if (done < 0 && (errno == EXDEV || errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP))
        return copy_by_hand(from, to, n, offset);
    return done;
}

static int real_allocate(vfs *v, int fd, int64_t offset, int64_t n)
{
    (void)v;
    return fallocate(fd, 0, offset, n);
}

static int real_punch(vfs *v, int fd, int64_t offset, int64_t n)
{
    (void)v;
    return fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, n);
}

static int real_forget(vfs *v, int fd)
{
    (void)v;
    return posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) == 0 ? 0 : -1;
}

static int real_sync_data(vfs *v, int fd)
{
    (void)v;
    return fdatasync(fd);
}

static int real_sync_directory(vfs *v, int fd)
{
    (void)v;
    return fsync(fd);
}

static int real_stat(vfs *v, int fd, struct stat *result)
{
    (void)v;
    return fstat(fd, result);
}

static int real_free_space(vfs *v, int fd, struct statvfs *result)
{
    (void)v;
    return fstatvfs(fd, result);
}

static int real_lock(vfs *v, int fd)
{
    (void)v;
    return flock(fd, LOCK_EX | LOCK_NB);
}

static void *real_map(vfs *v, int fd, size_t n)
{
    void *bytes = mmap(NULL, n, PROT_READ, MAP_SHARED, fd, 0);

    (void)v;
    return bytes == MAP_FAILED ? NULL : bytes;
}

static void *real_reserve(vfs *v, size_t n)
{
    void *bytes = mmap(NULL, n, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    (void)v;
    return bytes == MAP_FAILED ? NULL : bytes;
}

static int real_map_over(vfs *v, int fd, void *at, size_t n, int64_t offset)
{
    (void)v;
    return mmap(at, n, PROT_READ, MAP_SHARED | MAP_FIXED, fd, offset) == MAP_FAILED ? -1 : 0;
}

static int real_unmap(vfs *v, void *bytes, size_t n)
{
    (void)v;
    return munmap(bytes, n);
}

static int real_make_directory(vfs *v, int directory, const char *name)
{
    (void)v;
    return mkdirat(directory, name, 0700);
}

static int real_rename(vfs *v, int from_directory, const char *from, int to_directory,
                       const char *to)
{
    (void)v;
    return renameat(from_directory, from, to_directory, to);
}

static int real_link(vfs *v, int from_directory, const char *from, int to_directory, const char *to)
{
    (void)v;
    return linkat(from_directory, from, to_directory, to, 0);
}

static int real_remove(vfs *v, int directory, const char *name)
{
    (void)v;
    return unlinkat(directory, name, 0);
}

static int real_list(vfs *v, int directory, bool (*each)(void *context, const char *name),
                     void *context)
{
    int fd = v->open(v, directory, ".", O_RDONLY | O_DIRECTORY), failed;
    DIR *names = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *found;

    if (names == NULL) {
        if (fd >= 0)
            close(fd);
        return -1;
    }
    while (errno = 0, (found = readdir(names)) != NULL)
        if (strcmp(found->d_name, ".") != 0 && strcmp(found->d_name, "..") != 0 &&
            !each(context, found->d_name))
            break;
    failed = found == NULL ? errno : 0;
    closedir(names);
    errno = failed;
    return failed == 0 ? 0 : -1;
}

vfs *vfs_real(void)
{
    static vfs real = {
        .open = real_open,
        .open_beneath = real_open_beneath,
        .close = real_close,
        .read = real_read,
        .write = real_write,
        .copy = real_copy,
        .allocate = real_allocate,
        .punch = real_punch,
        .forget = real_forget,
        .sync_data = real_sync_data,
        .sync_directory = real_sync_directory,
        .stat = real_stat,
        .free_space = real_free_space,
        .lock = real_lock,
        .map = real_map,
        .reserve = real_reserve,
        .map_over = real_map_over,
        .unmap = real_unmap,
        .make_directory = real_make_directory,
        .rename = real_rename,
        .link = real_link,
        .remove = real_remove,
        .list = real_list,
    };

    return &real;
}

bool vfs_read_all(vfs *v, int fd, void *to, size_t n, int64_t offset)
{
    for (size_t done = 0; done < n;) {
        ssize_t got = v->read(v, fd, (char *)to + done, n - done, offset + (int64_t)done);

        if (got < 0 && errno == EINTR)
            continue;
        if (got == 0)
            errno = EIO;
        if (got <= 0)
            return false;
        done += (size_t)got;
    }
    return true;
}

bool vfs_write_all(vfs *v, int fd, const void *from, size_t n, int64_t offset)
{
    for (size_t done = 0; done < n;) {
        ssize_t put = v->write(v, fd, (const char *)from + done, n - done, offset + (int64_t)done);

        if (put < 0 && errno == EINTR)
            continue;
        if (put == 0)
            errno = ENOSPC;
        if (put <= 0)
            return false;
        done += (size_t)put;
    }
    return true;
}

bool vfs_copy_all(vfs *v, int from, int to, size_t n, int64_t offset)
{
    for (size_t done = 0; done < n;) {
        ssize_t put = v->copy(v, from, to, n - done, offset + (int64_t)done);

        if (put < 0 && errno == EINTR)
            continue;
        if (put == 0)
            errno = EIO;
        if (put <= 0)
            return false;
        done += (size_t)put;
    }
    return true;
}

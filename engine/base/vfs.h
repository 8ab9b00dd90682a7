/* vfs -- every call that touches the disk, in one table of functions.
 *
 * Storage never calls the system itself, so that a test can stand in between:
 * record what happens in which order, fail the n-th call, let the disk be full,
 * write only half. vfs_real() is the system; a test copies it, replaces what it
 * likes and keeps its state in context.
 *
 * A library that does its own calls (the index) announces those that matter for
 * durability to foreign before it makes them, and fails with the errno it gets.
 *
 * Functions return what their POSIX namesakes return: -1 (or NULL) and errno on
 * failure. Names are relative to an open directory, and never followed if they
 * are links. Files are opened with mode 0600, directories made with mode 0700.
 *
 * Threads: the functions may be called by any number of threads. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/types.h>

/* What foreign is told: to write n bytes, to sync, to cut or to remove a file, which is named
 * without its directory. A file that is removed is gone from the disk if n is not 0. */
typedef enum vfs_foreign_kind { VFS_WRITE, VFS_SYNC, VFS_TRUNCATE, VFS_REMOVE } vfs_foreign_kind;

typedef struct vfs_foreign {
    vfs_foreign_kind kind;
    const char *file;
    const void *bytes;
    int64_t n, offset;
} vfs_foreign;

typedef struct vfs vfs;

struct vfs {
    void *context; /* of whoever replaced functions; NULL in the real one */

    /* Opens a file or, with O_DIRECTORY, a directory. */
    int (*open)(vfs *v, int directory, const char *name, int flags);
    /* Opens a file for reading by a path that no link leads out of, or anywhere. */
    int (*open_beneath)(vfs *v, int directory, const char *path);
    int (*close)(vfs *v, int fd);
    ssize_t (*read)(vfs *v, int fd, void *to, size_t n, int64_t offset);
    ssize_t (*write)(vfs *v, int fd, const void *from, size_t n, int64_t offset);
    /* Copies at most n bytes to the same place in another file, sharing blocks where the
     * file system can. How many, 0 at the end. */
    ssize_t (*copy)(vfs *v, int from, int to, size_t n, int64_t offset);
    /* Sets the blocks of n bytes aside, and makes the file as long as that. EOPNOTSUPP where
     * the file system cannot. */
    int (*allocate)(vfs *v, int fd, int64_t offset, int64_t n);
    /* Gives the blocks of n bytes back; zeros are read there. EOPNOTSUPP likewise. */
    int (*punch)(vfs *v, int fd, int64_t offset, int64_t n);
    /* What the system remembers of a file and has written is forgotten: it is read from the disk.
     */
    int (*forget)(vfs *v, int fd);
    int (*sync_data)(vfs *v, int fd);
    int (*sync_directory)(vfs *v, int fd);
    int (*stat)(vfs *v, int fd, struct stat *result);
    int (*free_space)(vfs *v, int fd, struct statvfs *result);
    /* An exclusive lock that goes with the descriptor; EWOULDBLOCK if held. */
    int (*lock)(vfs *v, int fd);
    /* The first n bytes of a file, read-only and shared. NULL on failure. */
    void *(*map)(vfs *v, int fd, size_t n);
    /* Addresses for n bytes, which cannot be read before something is mapped over them. */
    void *(*reserve)(vfs *v, size_t n);
    /* Maps n bytes of a file from offset on over a part of what was reserved. */
    int (*map_over)(vfs *v, int fd, void *at, size_t n, int64_t offset);
    int (*unmap)(vfs *v, void *bytes, size_t n);

    int (*make_directory)(vfs *v, int directory, const char *name);
    int (*rename)(vfs *v, int from_directory, const char *from, int to_directory, const char *to);
    /* Gives a file a second name, in another directory. */
    int (*link)(vfs *v, int from_directory, const char *from, int to_directory, const char *to);
    int (*remove)(vfs *v, int directory, const char *name);
    /* Calls each for every name in the directory but . and .., until it returns
     * false. */
    int (*list)(vfs *v, int directory, bool (*each)(void *context, const char *name),
                void *context);

    /* A library is about to do something with a file of its own: 0, or the errno
     * to fail with. NULL: nobody wants to know. */
    int (*foreign)(vfs *v, const vfs_foreign *what);
};

/* The system's own functions. */
vfs *vfs_real(void);

/* Reads or writes all n bytes, going on after short counts and interruptions.
 * False and errno on failure; reading past the end is EIO. */
bool vfs_read_all(vfs *v, int fd, void *to, size_t n, int64_t offset);
bool vfs_write_all(vfs *v, int fd, const void *from, size_t n, int64_t offset);
bool vfs_copy_all(vfs *v, int from, int to, size_t n, int64_t offset);

/* SPDX-License-Identifier: Apache-2.0 */
#include "server/datadir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static bool make_directories(const char *path, error *err)
{
    char partial[PATH_MAX];

    if (snprintf(partial, sizeof partial, "%s", path) >= (int)sizeof partial || *path == '\0')
        return error_set(err, ERR_VALUE, "data: the path is empty or too long");
    for (char *p = partial + 1;; p++) {
        char kept = *p;

        if (kept != '/' && kept != '\0')
            continue;
        *p = '\0';
        if (mkdir(partial, 0700) != 0 && errno != EEXIST)
            return error_set(err, ERR_VALUE, "cannot make the directory %s: %s", partial,
                             strerror(errno));
        *p = kept;
        if (kept == '\0')
            return true;
    }
}

datadir_result datadir_hold(const char *path, error *err)
{
    char lock[PATH_MAX];
    int fd;

    if (!make_directories(path, err))
        return DATADIR_FAILED;
    if (snprintf(lock, sizeof lock, "%s/LOCK", path) >= (int)sizeof lock) {
        error_set(err, ERR_VALUE, "data: the path is too long");
        return DATADIR_FAILED;
    }
    fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        error_set(err, ERR_VALUE, "cannot open %s: %s", lock, strerror(errno));
        return DATADIR_FAILED;
    }
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        return DATADIR_HELD;
    close(fd);
    error_set(err, ERR_VALUE, "the data directory %s is in use by another process", path);
    return DATADIR_BUSY;
}

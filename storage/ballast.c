/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/ballast.h"

#include <errno.h>
#include <fcntl.h>

#include "engine/base/log.h"

#define BALLAST_BYTES ((int64_t)64 << 20)
#define PLENTY_BYTES  ((int64_t)10 << 30) /* of free space, below which there is none */

static const char ballast[] = "ballast";

static bool is_plenty(storage *s)
{
    struct statvfs space;

    return s->vfs->free_space(s->vfs, s->directory, &space) == 0 &&
           (int64_t)space.f_bavail >= PLENTY_BYTES / (int64_t)space.f_frsize;
}

void ballast_keep(storage *s)
{
    vfs *v = s->vfs;
    int fd;

    if (s->has_ballast || !is_plenty(s))
        return;
    fd = v->open(v, s->directory, ballast, O_WRONLY | O_CREAT);
    if (fd < 0)
        return;
    s->has_ballast = v->allocate(v, fd, 0, BALLAST_BYTES) == 0;
    v->close(v, fd);
    if (!s->has_ballast)
        v->remove(v, s->directory, ballast);
}

bool ballast_give_up(storage *s)
{
    const bool gone = s->vfs->remove(s->vfs, s->directory, ballast) == 0;

    s->has_ballast = false;
    if (gone)
        log_message(LOG_WARN, "the disk is full; the ballast was given up");
    return gone;
}

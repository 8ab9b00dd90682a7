/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/tensor/resident.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/tensor/buffer.h"
#include "engine/tensor/large.h"

/* Mapped pages that are always allowed, the program's own among them. */
#define LEAST_BYTES ((int64_t)24 << 20)

enum { LOOK_US = 250 };

static resident *first; /* guarded by lock, held while pages are given back */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
_Atomic int64_t resident_mapped;
static _Atomic int64_t next_look_us;

void resident_add(resident *r, void *bytes, size_t size)
{
    pthread_mutex_lock(&lock);
    *r = (resident){.bytes = bytes, .size = size, .next = first};
    if (first != NULL)
        first->before = r;
    first = r;
    resident_mapped += (int64_t)size;
    pthread_mutex_unlock(&lock);
}

void resident_remove(resident *r)
{
    pthread_mutex_lock(&lock);
    *(r->before != NULL ? &r->before->next : &first) = r->next;
    if (r->next != NULL)
        r->next->before = r->before;
    resident_mapped -= (int64_t)r->size;
    pthread_mutex_unlock(&lock);
}

/* Half of what tensors leave: they may come to need it while nobody looks. */
static int64_t allowed_bytes(void)
{
    const int64_t left = server_memory_limit() - server_memory_used() - large_kept();

    return LEAST_BYTES + (left > 0 ? left / 2 : 0);
}

/* Bytes of files in the process's memory. */
static int64_t resident_bytes(void)
{
    const int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    char said[128] = "";
    int64_t pages = 0;

    if (fd < 0)
        return INT64_MAX;
    if (read(fd, said, sizeof said - 1) <= 0 || sscanf(said, "%*d %*d %" SCNd64, &pages) != 1)
        pages = INT64_MAX / sysconf(_SC_PAGESIZE);
    close(fd);
    return pages * sysconf(_SC_PAGESIZE);
}

static void give_back(void)
{
    pthread_mutex_lock(&lock);
    for (const resident *r = first; r != NULL; r = r->next)
        madvise(r->bytes, r->size, MADV_DONTNEED);
    pthread_mutex_unlock(&lock);
}

void resident_look(void)
{
    const int64_t allowed = allowed_bytes(), mapped = resident_mapped;
    const int64_t now = mapped > allowed ? clock_us() : 0;
    int64_t next = next_look_us;

    if (mapped <= allowed || now < next ||
        !atomic_compare_exchange_strong(&next_look_us, &next, now + LOOK_US))
        return;
    if (resident_bytes() > allowed)
        give_back();
}

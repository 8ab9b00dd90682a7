/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/tensor/large.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>

#define HUGE_PAGE  ((size_t)2 << 20)
#define KEPT_BYTES ((size_t)256 << 20) /* in freed blocks, all together */
enum { KEPT_BLOCKS = 16 };

static struct {
    void *block;
    size_t size;
} kept[KEPT_BLOCKS]; /* block NULL: a free place */
static _Atomic size_t kept_bytes;
static bool is_idle; /* nothing came or went since large_drop_idle */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static size_t mapped_size(size_t size)
{
    return (size + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
}

/* A kept block of just this size, which is then kept no more; NULL if there is none. */
static void *take_kept(size_t size)
{
    void *block = NULL;

    pthread_mutex_lock(&lock);
    for (int i = 0; block == NULL && i < KEPT_BLOCKS; i++) {
        if (kept[i].block == NULL || kept[i].size != size)
            continue;
        block = kept[i].block;
        kept[i].block = NULL;
        kept_bytes -= size;
        is_idle = false;
    }
    pthread_mutex_unlock(&lock);
    return block;
}

/* Whether the block found a place among the kept ones. */
static bool keep(void *block, size_t size)
{
    bool done = false;

    pthread_mutex_lock(&lock);
    for (int i = 0; !done && kept_bytes + size <= KEPT_BYTES && i < KEPT_BLOCKS; i++) {
        if (kept[i].block != NULL)
            continue;
        kept[i].block = block;
        kept[i].size = size;
        kept_bytes += size;
        is_idle = false;
        done = true;
    }
    pthread_mutex_unlock(&lock);
    return done;
}

/* The lock is held. */
static void unmap_kept(void)
{
    for (int i = 0; i < KEPT_BLOCKS; i++) {
        if (kept[i].block != NULL)
            munmap(kept[i].block, kept[i].size);
        kept[i].block = NULL;
    }
    kept_bytes = 0;
}

void large_drop(void)
{
    pthread_mutex_lock(&lock);
    unmap_kept();
    pthread_mutex_unlock(&lock);
}

void large_drop_idle(void)
{
    pthread_mutex_lock(&lock);
    if (is_idle)
        unmap_kept();
    is_idle = true;
    pthread_mutex_unlock(&lock);
}

int64_t large_kept(void)
{
    return (int64_t)kept_bytes;
}

/* Wishes for huge pages where all of one is asked for, so that nothing more becomes resident than
 * was. Nothing is lost if that is refused. */
static void wish_for_pages(char *block, size_t size, size_t asked)
{
    const size_t whole = asked / HUGE_PAGE * HUGE_PAGE;

    if (whole > 0)
        madvise(block, whole, MADV_HUGEPAGE);
    if (whole < size)
        madvise(block + whole, size - whole, MADV_NOHUGEPAGE);
}

/* Maps size bytes, for those asked for, at a multiple of HUGE_PAGE: maps more and trims the
 * ends. */
static void *map_aligned(size_t size, size_t asked)
{
    char *raw = mmap(NULL, size + HUGE_PAGE, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    char *block;
    size_t before;

    if (raw == MAP_FAILED)
        return NULL;
    before = (HUGE_PAGE - (uintptr_t)raw % HUGE_PAGE) % HUGE_PAGE;
    block = raw + before;
    if (before > 0)
        munmap(raw, before);
    munmap(block + size, HUGE_PAGE - before);
    wish_for_pages(block, size, asked);
    return block;
}

void *large_alloc(size_t size)
{
    const size_t mapped = mapped_size(size);
    void *block = take_kept(mapped);

    return block != NULL ? block : map_aligned(mapped, size);
}

void large_free(void *block, size_t size)
{
    const size_t mapped = mapped_size(size);

    if (keep(block, mapped))
        return;
    large_drop(); /* their sizes are not those that are asked for now */
    if (!keep(block, mapped))
        munmap(block, mapped);
}

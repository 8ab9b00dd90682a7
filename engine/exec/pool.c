/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/exec/pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "engine/base/clock.h"
#include "engine/kernels/stream.h"

enum { PARTS_BETWEEN_LOOKS = 4, THREADS_MAX = 256, SPIN_US = 50, SPINS_BETWEEN_CLOCKS = 64 };

typedef struct region {
    struct region *next; /* in the ring of open regions */
    _Atomic int64_t taken;
    int64_t count;
    void (*part)(void *context, int64_t i, int lane);
    void *context;
    int helpers;                 /* workers inside; guarded by lock */
    bool lane_used[THREADS_MAX]; /* guarded by lock; 0 is the caller's */
} region;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER, left = PTHREAD_COND_INITIALIZER;
static region *regions;                /* open ones, the next to be helped first */
static int thread_count = 1, sleeping; /* workers that wait; guarded by lock */
static _Atomic int runs, opened;       /* plans that run; regions that were ever opened */

/* Does up to `most` parts; false when none is left. */
static bool do_parts(region *r, int lane, int most)
{
    for (int done = 0; done < most; done++) {
        const int64_t i = atomic_fetch_add(&r->taken, 1);

        if (i >= r->count)
            return false;
        r->part(r->context, i, lane);
    }
    return true;
}

static bool has_parts(const region *r)
{
    return atomic_load(&r->taken) < r->count;
}

/* The first region with parts left, moved to the end of the ring; NULL if none. */
static region *next_region(void)
{
    region **at = &regions;

    while (*at != NULL && !has_parts(*at))
        at = &(*at)->next;
    region *found = *at;
    if (found == NULL || found->next == NULL)
        return found;
    *at = found->next;
    found->next = NULL;
    while (*at != NULL)
        at = &(*at)->next;
    *at = found;
    return found;
}

static int take_lane(region *r)
{
    int lane = 1;

    while (r->lane_used[lane])
        lane++;
    r->lane_used[lane] = true;
    r->helpers++;
    return lane;
}

/* Waits a little for a region to be opened, while a plan runs that may do so: to wake a thread
 * that sleeps takes as long as some 50 us of work. */
static bool spin(int seen)
{
    const int64_t end = clock_us() + SPIN_US;

    while (runs > 0) {
        for (int i = 0; i < SPINS_BETWEEN_CLOCKS; i++) {
            if (opened != seen)
                return true;
            spin_pause();
        }
        if (clock_us() > end)
            return false;
    }
    return false;
}

/* Returns when there may be a region; the lock is held. */
static void await_region(void)
{
    const int seen = opened;
    bool found;

    pthread_mutex_unlock(&lock);
    found = spin(seen);
    pthread_mutex_lock(&lock);
    if (found || opened != seen)
        return;
    sleeping++;
    pthread_cond_wait(&work, &lock);
    sleeping--;
}

static void *help(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&lock);
    for (;;) {
        region *r = next_region();
        int lane;

        if (r == NULL) {
            await_region();
            continue;
        }
        lane = take_lane(r);
        pthread_mutex_unlock(&lock);
        do_parts(r, lane, PARTS_BETWEEN_LOOKS);
        pthread_mutex_lock(&lock);
        r->lane_used[lane] = false;
        if (--r->helpers == 0)
            pthread_cond_broadcast(&left);
    }
    return NULL;
}

void pool_start(int threads)
{
    static pthread_mutex_t once = PTHREAD_MUTEX_INITIALIZER;

    pthread_mutex_lock(&once);
    threads = threads < THREADS_MAX ? threads : THREADS_MAX;
    for (; thread_count < threads; thread_count++) {
        pthread_t thread;

        if (pthread_create(&thread, NULL, help, NULL) != 0)
            break;
        pthread_detach(thread);
    }
    pthread_mutex_unlock(&once);
}

int pool_threads(void)
{
    return thread_count;
}

static void close_region(region *r)
{
    region **at = &regions;

    pthread_mutex_lock(&lock);
    while (*at != r)
        at = &(*at)->next;
    *at = r->next;
    while (r->helpers > 0)
        pthread_cond_wait(&left, &lock);
    pthread_mutex_unlock(&lock);
}

void pool_enter(void)
{
    runs++;
}

void pool_leave(void)
{
    runs--;
}

void pool_run(int64_t count, void (*part)(void *context, int64_t i, int lane), void *context)
{
    region r = {.count = count, .part = part, .context = context};

    if (count > 1 && thread_count > 1) {
        pthread_mutex_lock(&lock);
        r.next = regions;
        regions = &r;
        opened++;
        if (sleeping > 0)
            pthread_cond_broadcast(&work);
        pthread_mutex_unlock(&lock);
    }
    while (do_parts(&r, 0, 1 << 30))
        continue;
    if (count > 1 && thread_count > 1)
        close_region(&r);
}

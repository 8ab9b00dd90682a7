/* pool -- the threads that share the work of all requests.
 *
 * A request brings a region: a number of parts that may run in any order. The
 * thread that brings it works on it too, so a region never waits for the pool; the
 * workers go from region to region, part by part, so that a large one does not keep
 * them from small ones. */
#pragma once

#include <stdint.h>

/* Starts the workers: threads - 1 of them, since the caller of a region works too.
 * Called once; later calls do nothing. */
void pool_start(int threads);

/* How many threads may work on one region. */
int pool_threads(void);

/* A plan begins to run, and has ended: between them workers that have nothing to do spin for a
 * moment before they sleep. */
void pool_enter(void);
void pool_leave(void);

/* Calls part(context, i, lane) for every i in [0, count) and returns when all are
 * done. lane is in [0, pool_threads()), different for every thread that works on the
 * region at one time: 0 is the caller. */
void pool_run(int64_t count, void (*part)(void *context, int64_t i, int lane), void *context);

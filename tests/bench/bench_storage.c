/* SPDX-License-Identifier: Apache-2.0 */
/* bench_storage -- how fast storage is, in the directory $TMPDIR or /tmp. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "tests/lib/storing.h"

enum { SMALL = 10, MIB = 131072, MANY = 100000, WRITERS_MAX = 32 };

typedef struct job {
    storage *s;
    int thread, commits;
    int64_t n;
} job;

static void *commit_often(void *argument)
{
    const job *j = argument;
    char name[32];

    for (int i = 0; i < j->commits; i++) {
        error err = {0};

        snprintf(name, sizeof name, "t%d_%d", j->thread, i % 100);
        if (put_vector(j->s, name, j->n, i, &err) < 0) {
            fprintf(stderr, "%s\n", err.detail);
            exit(1);
        }
    }
    return NULL;
}

static void measure_commits(int threads, int commits, int64_t n)
{
    char *path = scratch_new();
    storage *s = open_or_fail(path);
    pthread_t ids[WRITERS_MAX];
    job jobs[WRITERS_MAX];
    int64_t start = clock_us();
    double seconds;

    for (int i = 0; i < threads; i++) {
        jobs[i] = (job){s, i, commits, n};
        pthread_create(&ids[i], NULL, commit_often, &jobs[i]);
    }
    for (int i = 0; i < threads; i++)
        pthread_join(ids[i], NULL);
    seconds = (double)(clock_us() - start) / 1e6;
    printf("%2d writers, %8ld bytes: %7.0f commits/s, %6.1f MiB/s\n", threads, (long)n * 8,
           threads * commits / seconds, threads * commits * (double)n * 8 / seconds / (1 << 20));
    storage_close(s);
    scratch_remove(path);
}

static void fill(storage *s)
{
    tensor t = vector_of(SMALL, 1);
    txn *x = txn_new(s, NULL, DURABILITY_DISK);
    commit_result result;
    error err = {0};
    char name[32];
    int64_t start = clock_us();

    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "variable_%d", i);
        txn_put_tensor(x, name, &t, FORM_INLINE, &err);
    }
    if (!txn_commit(x, &result, &err))
        exit(1);
    printf("one commit of %d names: %ld ms\n", MANY, (long)(clock_us() - start) / 1000);
    txn_free(x);
    tensor_unref(&t);
}

static void measure_reading(storage *s)
{
    snapshot *n = storage_snapshot(s);
    int64_t start = clock_us();
    error err = {0};
    char name[32];
    tensor t;

    for (int pass = 0; pass < 2; pass++, start = clock_us()) {
        for (int i = 0; i < MANY; i++) {
            snprintf(name, sizeof name, "variable_%d", i);
            if (!entry_tensor(s, snapshot_find(n, name), &t, &err))
                exit(1);
            tensor_unref(&t);
        }
        printf("reading %d inline values, %s: %.2f us each\n", MANY, pass == 0 ? "cold" : "warm",
               (double)(clock_us() - start) / MANY);
    }
    snapshot_unref(n);
}

static void measure_mapping(storage *s)
{
    snapshot *n;
    int64_t start;
    error err = {0};
    tensor t;

    put_vector(s, "mapped", MIB, 1, &err);
    n = storage_snapshot(s);
    start = clock_us();
    for (int i = 0; i < 10000; i++) {
        if (!entry_tensor(s, snapshot_find(n, "mapped"), &t, &err))
            exit(1);
        tensor_unref(&t);
    }
    printf("mapping an array of 1 MiB: %.2f us\n", (double)(clock_us() - start) / 10000);
    snapshot_unref(n);
}

static void measure_many(void)
{
    char *path = scratch_new();
    storage *s = open_or_fail(path);
    int64_t start;
    job one;

    fill(s);
    one = (job){s, 0, 200, SMALL};
    start = clock_us();
    commit_often(&one);
    printf("commits beside %d names: %.0f/s\n", MANY, 200 / ((double)(clock_us() - start) / 1e6));
    storage_close(s);
    start = clock_us();
    s = open_or_fail(path);
    printf("start with %d names: %ld ms\n", MANY, (long)(clock_us() - start) / 1000);
    measure_reading(s);
    measure_mapping(s);
    storage_close(s);
    scratch_remove(path);
}

int main(void)
{
    log_set_level(LOG_ERROR);
    measure_commits(1, 300, SMALL);
    measure_commits(32, 100, SMALL);
    measure_commits(1, 100, MIB);
    measure_commits(32, 10, MIB);
    measure_many();
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Many threads at once: commits share syncs, readers see whole commits. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/lib/storing.h"

enum { WRITERS = 16, READERS = 2, COMMITS = 20, SMALL = 10, LARGE = 10000 };

typedef struct crowd {
    storage *s;
    _Atomic bool stop;
    _Atomic int next;     /* number of the next thread */
    _Atomic int failures; /* of anything that must not fail */
} crowd;

static void fail_if(crowd *c, bool failed)
{
    if (failed)
        atomic_fetch_add(&c->failures, 1);
}

/* Writes the same value under two names in each of its commits. */
static void *write_pairs(void *argument)
{
    crowd *c = argument;
    int me = atomic_fetch_add(&c->next, 1);
    char small[16], large[16];

    snprintf(small, sizeof small, "small%d", me);
    snprintf(large, sizeof large, "large%d", me);
    for (int i = 0; i < COMMITS; i++) {
        tensor t = vector_of(SMALL, i), u = vector_of(LARGE, i);
        txn *x = txn_new(c->s, NULL, DURABILITY_DISK);
        commit_result result;
        error err = {0};

        fail_if(c, !txn_put_tensor(x, small, &t, FORM_AUTO, &err) ||
                       !txn_put_tensor(x, large, &u, FORM_AUTO, &err) ||
                       !txn_commit(x, &result, &err));
        txn_free(x);
        tensor_unref(&t);
        tensor_unref(&u);
    }
    return NULL;
}

/* The first element of a variable; -1 if it does not exist or cannot be read. */
static double first_of(storage *s, snapshot *n, const char *name)
{
    const entry *e = snapshot_find(n, name);
    error err = {0};
    double first = -1;
    tensor t;

    if (e != NULL && entry_tensor(s, e, &t, &err)) {
        first = *(double *)tensor_bytes(&t);
        if (!is_vector(&t, t.shape.length[0], first))
            first = -1;
        tensor_unref(&t);
    }
    return first;
}

static void *read_pairs(void *argument)
{
    crowd *c = argument;
    char small[16], large[16];

    for (int i = 0; !c->stop; i++) {
        snapshot *n = storage_snapshot(c->s);

        snprintf(small, sizeof small, "small%d", i % WRITERS);
        snprintf(large, sizeof large, "large%d", i % WRITERS);
        fail_if(c, first_of(c->s, n, small) != first_of(c->s, n, large));
        snapshot_unref(n);
    }
    return NULL;
}

/* Adds one to a counter with optimistic retries. */
static void *count_up(void *argument)
{
    crowd *c = argument;
    commit_result result;

    for (int done = 0; done < COMMITS;) {
        txn *x = txn_new(c->s, NULL, DURABILITY_PROCESS);
        error err = {0};
        tensor old, next;
        bool ok;

        fail_if(c, !entry_tensor(c->s, txn_read(x, "counter"), &old, &err));
        next = vector_of(1, *(double *)tensor_bytes(&old) + 1);
        ok = txn_put_tensor(x, "counter", &next, FORM_AUTO, &err) && txn_commit(x, &result, &err);
        fail_if(c, !ok && err.kind != ERR_CONFLICT);
        done += ok;
        tensor_unref(&old);
        tensor_unref(&next);
        txn_free(x);
    }
    return NULL;
}

static void run(crowd *c, int n, void *(*main)(void *), pthread_t threads[])
{
    for (int i = 0; i < n; i++)
        pthread_create(&threads[i], NULL, main, c);
}

static void join(int n, pthread_t threads[])
{
    for (int i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
}

static void commits_share_syncs_and_readers_see_whole_commits(void **state)
{
    char *path = scratch_new();
    crowd c = {0};
    pthread_t writers[WRITERS], readers[READERS];
    storage_options options = storage_options_default(path);
    storage_figures figures;

    (void)state;
    options.cache_bytes_max = 500; /* so that readers go to the index as well */
    options.wal_bytes_max = 100000;
    c.s = storage_open(&options, &(error){0});
    run(&c, READERS, read_pairs, readers);
    run(&c, WRITERS, write_pairs, writers);
    join(WRITERS, writers);
    c.stop = true;
    join(READERS, readers);
    assert_int_equal(c.failures, 0);
    storage_figures_get(c.s, &figures);
    print_message("note: %d commits in %d syncs\n", (int)figures.commits, (int)figures.syncs);
    assert_int_equal(figures.commits, WRITERS * COMMITS);
    assert_true(figures.syncs <= figures.commits / 2);
    storage_close(c.s);
    assert_int_equal(scratch_files(path, "arrays"), WRITERS);
    scratch_remove(path);
}

static void conflicts_are_noticed(void **state)
{
    char *path = scratch_new();
    crowd c = {.s = open_or_fail(path)};
    pthread_t threads[WRITERS];
    error err = {0};

    (void)state;
    put_vector(c.s, "counter", 1, 0, &err);
    run(&c, WRITERS, count_up, threads);
    join(WRITERS, threads);
    assert_int_equal(c.failures, 0);
    assert_true(has_vector(c.s, "counter", 1, WRITERS * COMMITS));
    storage_close(c.s);
    scratch_remove(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commits_share_syncs_and_readers_see_whole_commits),
        cmocka_unit_test(conflicts_are_noticed),
    };

    return cmocka_run_group_tests_name("threads", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A process that writes is killed at any moment, a hundred times over.
 *
 * The child commits from several threads. Each transaction of a thread stores one
 * number, never used before, under all of the thread's names: as a small value
 * and as arrays in files; a third of them remove the last name instead. When a
 * commit returns, the number is acknowledged on a pipe. Then comes SIGKILL. The
 * parent opens the directory and demands that every thread's names agree, down
 * to the last element, on the last number acknowledged or on the one after it.
 *
 * A test that cannot fail shows nothing. So two broken programs are put through
 * the same: one acknowledges before the index has committed, the other writes
 * array files after the index. Both must be caught. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/log.h"
#include "tests/lib/storing.h"

enum {
    KILLS = 100,
    THREADS = 4,
    NAMES = 3,
    SMALL = 10,
    MEDIUM = 9000, /* just above what is inline */
    LARGE = 40000,
    LIFE_US_MAX = 200000,
    EARLY_US = 3000, /* how much before its commit an answer comes */
    LATE_US = 50000  /* how much after its commit a file is written: longer than any sync */
};

typedef enum mutant { NO_MUTANT, EARLY_ANSWER, INDEX_BEFORE_FILE } mutant;

typedef struct acknowledgement {
    int thread;
    int number;
} acknowledgement;

/* ---- The child ------------------------------------------------------------------- */

typedef struct writer {
    storage *s;
    int thread, number, pipe;
    bool silent; /* somebody else acknowledges */
} writer;

static durability level = DURABILITY_DISK; /* of every commit */
static _Atomic int in_flight[THREADS];     /* the number that each thread is committing; 0: none */

static void print_name(char to[16], int thread, int i)
{
    snprintf(to, 16, "t%d_%c", thread, 'a' + i);
}

static bool removes_last(int number)
{
    return number % 3 == 0;
}

static int64_t length_of(int i)
{
    static const int64_t lengths[NAMES] = {SMALL, LARGE, MEDIUM};

    return lengths[i];
}

static void acknowledge(int pipe, int thread, int number)
{
    acknowledgement a = {thread, number};

    if (write(pipe, &a, sizeof a) != sizeof a)
        _exit(3);
}

static bool commit_number(writer *w, int number)
{
    txn *x = txn_new(w->s, NULL, level);
    commit_result result;
    error err = {0};
    bool ok = true;
    char name[16];

    for (int i = 0; i < NAMES && ok; i++) {
        tensor t = vector_of(length_of(i), number);

        print_name(name, w->thread, i);
        if (i == NAMES - 1 && removes_last(number)) {
            if (snapshot_find(txn_base(x), name) != NULL)
                txn_delete(x, name);
        } else {
            ok = txn_put_tensor(x, name, &t, FORM_AUTO, &err);
        }
        tensor_unref(&t);
    }
    atomic_store(&in_flight[w->thread], number);
    ok = ok && txn_commit(x, &result, &err);
    atomic_store(&in_flight[w->thread], 0);
    txn_free(x);
    return ok;
}

static void *write_on(void *argument)
{
    writer *w = argument;

    while (commit_number(w, w->number + 1)) {
        w->number++;
        if (!w->silent)
            acknowledge(w->pipe, w->thread, w->number);
    }
    _exit(4); /* no commit may fail */
}

/* ---- The broken programs ------------------------------------------------------------ */

static void acknowledge_early(void *context)
{
    for (int i = 0; i < THREADS; i++) {
        int number = atomic_exchange(&in_flight[i], 0);

        if (number != 0)
            acknowledge(*(int *)context, i, number);
    }
    usleep(EARLY_US);
}

/* A write that is done later. */
typedef struct late {
    int fd;
    void *bytes;
    size_t n;
    int64_t offset;
    struct late *next;
} late;

static pthread_mutex_t late_lock = PTHREAD_MUTEX_INITIALIZER;
static late *late_first;

/* All descriptors that storage writes to are array files; the index has its own. */
static ssize_t write_late(vfs *v, int fd, const void *from, size_t n, int64_t offset)
{
    late *l = malloc(sizeof *l);

    (void)v;
    *l = (late){.fd = dup(fd), .bytes = malloc(n), .n = n, .offset = offset};
    memcpy(l->bytes, from, n);
    pthread_mutex_lock(&late_lock);
    l->next = late_first;
    late_first = l;
    pthread_mutex_unlock(&late_lock);
    return (ssize_t)n;
}

static void *catch_up(void *argument)
{
    for (;;) {
        late *l;

        usleep(LATE_US);
        pthread_mutex_lock(&late_lock);
        l = late_first;
        late_first = NULL;
        pthread_mutex_unlock(&late_lock);
        while (l != NULL) {
            late *next = l->next;

            if (pwrite(l->fd, l->bytes, l->n, l->offset) != (ssize_t)l->n)
                _exit(5);
            close(l->fd);
            free(l->bytes);
            free(l);
            l = next;
        }
    }
    return argument;
}

/* ---- Running and killing -------------------------------------------------------------- */

static void child_main(const char *path, const int numbers[THREADS], int pipe, mutant m)
{
    static vfs late_vfs;
    storage_options options = storage_options_default(path);
    writer writers[THREADS];
    pthread_t thread;
    error err = {0};
    storage *s;

    options.wal_bytes_max = 200000; /* the log is recycled now and then */
    if (m == EARLY_ANSWER) {
        options.before_commit = acknowledge_early;
        options.context = &pipe;
    }
    if (m == INDEX_BEFORE_FILE) {
        late_vfs = *vfs_real();
        late_vfs.write = write_late;
        options.vfs = &late_vfs;
        pthread_create(&thread, NULL, catch_up, NULL);
    }
    s = storage_open(&options, &err);
    if (s == NULL) {
        fprintf(stderr, "%s\n", err.detail);
        _exit(2);
    }
    for (int i = 0; i < THREADS; i++) {
        writers[i] = (writer){s, i, numbers[i], pipe, m == EARLY_ANSWER};
        pthread_create(&thread, NULL, write_on, &writers[i]);
    }
    pause();
}

/* Lets a child write for a while and kills it; acknowledged gets what it said. */
static void run_and_kill(const char *path, const int numbers[THREADS], int acknowledged[THREADS],
                         mutant m)
{
    acknowledgement a;
    int ends[2], status;
    pid_t child;

    assert_int_equal(pipe(ends), 0);
    child = fork();
    if (child == 0) {
        close(ends[0]);
        child_main(path, numbers, ends[1], m);
    }
    close(ends[1]);
    usleep((useconds_t)(random() % LIFE_US_MAX));
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    while (read(ends[0], &a, sizeof a) == sizeof a)
        acknowledged[a.thread] = a.number;
    close(ends[0]);
}

/* The number that all of a thread's names agree on; -1 if they do not. */
static int number_in(storage *s, int thread, int least)
{
    for (int number = least; number <= least + 1; number++) {
        bool all = true;
        char name[16];

        for (int i = 0; i < NAMES && all; i++) {
            print_name(name, thread, i);
            if (number == 0 || (i == NAMES - 1 && removes_last(number)))
                all = !has_name(s, name);
            else
                all = has_vector(s, name, length_of(i), number);
        }
        if (all)
            return number;
    }
    return -1;
}

/* Kills up to KILLS times; how often something was lost or torn. Stops at the first
 * time if a mutant is at work. *total counts acknowledgements. */
static int kill_often(mutant m, int *total)
{
    char *path = scratch_new();
    int numbers[THREADS] = {0}, faults = 0;

    *total = 0;
    if (m != NO_MUTANT) /* which break the commits, not what makes the directory */
        storage_close(open_or_fail(path));
    for (int round = 0; round < KILLS && (m == NO_MUTANT || faults == 0); round++) {
        int acknowledged[THREADS];
        storage *s;

        memcpy(acknowledged, numbers, sizeof acknowledged);
        run_and_kill(path, numbers, acknowledged, m);
        s = open_or_fail(path);
        for (int i = 0; i < THREADS; i++) {
            int found = number_in(s, i, acknowledged[i]);

            *total += acknowledged[i] - numbers[i];
            faults += found < 0;
            numbers[i] = found < 0 ? acknowledged[i] : found;
        }
        storage_close(s);
    }
    scratch_remove(path);
    return faults;
}

static void check_kills(const char *where)
{
    int total, faults = kill_often(NO_MUTANT, &total);

    print_message("note: %s: %d kills, %d acknowledged commits, %d lost or torn\n", where, KILLS,
                  total, faults);
    assert_int_equal(faults, 0);
    assert_true(total > KILLS);
}

static void nothing_acknowledged_is_lost_and_nothing_is_torn(void **state)
{
    (void)state;
    check_kills("on the disk");
}

/* Where syncs cost nothing, there are many more commits to hit. */
static void nor_is_anything_that_need_only_survive_the_process(void **state)
{
    (void)state;
    if (access("/dev/shm", W_OK) != 0)
        skip();
    setenv("TMPDIR", "/dev/shm", 1);
    level = DURABILITY_PROCESS;
    check_kills("in memory, unsynced");
    level = DURABILITY_DISK;
    unsetenv("TMPDIR");
}

/* Opens, commits so, and is killed. Returns the commit number the next one gets. */
static int64_t commit_after_kill(const char *path, durability d)
{
    pid_t child = fork();
    int64_t commit;
    storage *s;

    if (child == 0) {
        writer w = {.s = open_or_fail(path)};

        level = d;
        commit_number(&w, 1);
        kill(getpid(), SIGKILL);
    }
    waitpid(child, NULL, 0);
    s = open_or_fail(path);
    commit = put_vector(s, "x", SMALL, 1, &(error){0});
    storage_close(s);
    return commit;
}

static void no_number_of_a_commit_is_given_twice(void **state)
{
    char *path = scratch_new();

    (void)state;
    assert_int_equal(commit_after_kill(path, DURABILITY_DISK), 2);
    assert_int_equal(commit_after_kill(path, DURABILITY_PROCESS), 4 + (1 << 20));
    assert_int_equal(commit_after_kill(path, DURABILITY_DISK), 6 + (1 << 20));
    assert_int_equal(commit_after_kill(path, DURABILITY_MEMORY), 8 + (2 << 20));
    scratch_remove(path);
}

static void an_early_answer_is_caught(void **state)
{
    int total;

    (void)state;
    assert_true(kill_often(EARLY_ANSWER, &total) > 0);
}

static void an_index_before_its_files_is_caught(void **state)
{
    int total;

    (void)state;
    assert_true(kill_often(INDEX_BEFORE_FILE, &total) > 0);
}

int main(void)
{
    const char *given = getenv("SEED");
    const unsigned seed = given != NULL ? (unsigned)strtoul(given, NULL, 10) : (unsigned)time(NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_acknowledged_is_lost_and_nothing_is_torn),
        cmocka_unit_test(nor_is_anything_that_need_only_survive_the_process),
        cmocka_unit_test(no_number_of_a_commit_is_given_twice),
        cmocka_unit_test(an_early_answer_is_caught),
        cmocka_unit_test(an_index_before_its_files_is_caught),
    };

    srandom(seed);
    print_message("note: seed %u (SEED=%u repeats it)\n", seed, seed);
    log_set_level(LOG_ERROR);
    return cmocka_run_group_tests_name("storage_kill", tests, NULL, NULL);
}

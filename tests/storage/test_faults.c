/* SPDX-License-Identifier: Apache-2.0 */
/* Every call to the disk fails in turn, in several ways; whatever is answered must
 * be true, nothing may be half done, and the directory must open again. Then: in
 * which order the disk is told things. */
#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/lib/faulty_vfs.h"
#include "tests/lib/storing.h"

enum { SMALL = 10, LARGE = 20000, LONG = 300000, CALLS_MAX = 5000 }; /* LONG: three chunks */

static int open_descriptors(void)
{
    DIR *d = opendir("/proc/self/fd");
    int n = 0;

    while (readdir(d) != NULL)
        n++;
    closedir(d);
    return n;
}

/* ---- The workload ------------------------------------------------------------------- */

/* What a transaction's answer allows: the value before, after, or either. */
typedef struct answers {
    bool opened;
    bool pair_done, pair_unknown;       /* small and large become 2 */
    bool removed_done, removed_unknown; /* victim goes */
    bool grown_done, grown_unknown;     /* long gets SMALL more, and a receipt tells it */
    bool patched_done, patched_unknown; /* SMALL elements of the chunked one change */
} answers;

static void prepare(const char *path)
{
    storage *s = open_or_fail(path);
    error err = {0};

    put_vector(s, "small", SMALL, 1, &err);
    put_vector(s, "large", LARGE, 1, &err);
    put_vector(s, "victim", LARGE, 1, &err);
    put_vector(s, "long", LONG, 0, &err);
    put_chunked(s, "chunked", LONG, 0);
    storage_close(s);
}

static void change_pair(storage *s, answers *a)
{
    tensor t = vector_of(SMALL, 2), u = vector_of(LARGE, 2);
    txn *x = txn_new(s, NULL, DURABILITY_DISK);
    commit_result result;
    error err = {0};

    a->pair_done = txn_put_tensor(x, "small", &t, FORM_AUTO, &err) &&
                   txn_put_tensor(x, "large", &u, FORM_AUTO, &err) && txn_commit(x, &result, &err);
    a->pair_unknown = err.kind == ERR_STORAGE;
    txn_free(x);
    tensor_unref(&t);
    tensor_unref(&u);
}

static void write_receipt(void *context, const commit_result *done, text *to)
{
    (void)context;
    text_addf(to, "%d", (int)done->count);
}

/* More elements behind those that are there, whose chunks are copied. */
static void grow(storage *s, answers *a)
{
    tensor more = vector_of(SMALL, LONG);
    txn *x = txn_new(s, NULL, DURABILITY_DISK);
    const entry *e = txn_read(x, "long");
    commit_result result;
    error err = {0};

    txn_put_receipt(x, ".receipt", write_receipt, NULL);
    a->grown_done = txn_append(x, e, &more, 0, &err) && txn_commit(x, &result, &err);
    a->grown_unknown = err.kind == ERR_STORAGE;
    txn_free(x);
    tensor_unref(&more);
}

static void check_grown(storage *s, const answers *a)
{
    const bool new = has_vector(s, "long", LONG + SMALL, 0), old = has_vector(s, "long", LONG, 0);

    assert_true(new || old);
    assert_true(new == has_name(s, ".receipt"));
    if (!a->grown_unknown)
        assert_true(a->grown_done == new);
}

static void change_chunk(storage *s, answers *a)
{
    error err = {0};

    a->patched_done = patch_vector(s, "chunked", LONG / 2, SMALL, -1000, &err);
    a->patched_unknown = err.kind == ERR_STORAGE;
}

static void check_patched(storage *s, const answers *a)
{
    tensor t = read_vector(s, "chunked");
    double *x = tensor_bytes(&t);
    const bool new = x[LONG / 2] == -1000;

    assert_int_equal(t.shape.length[0], LONG);
    for (int64_t i = 0; i < LONG; i++) {
        const int64_t at = i - LONG / 2;

        assert_true(x[i] == (double)(new &&at >= 0 && at < SMALL ? at - 1000 : i));
    }
    tensor_unref(&t);
    if (!a->patched_unknown)
        assert_true(a->patched_done == new);
}

static void check(storage *s, const answers *a)
{
    bool new_pair = has_vector(s, "small", SMALL, 2) && has_vector(s, "large", LARGE, 2);
    bool old_pair = has_vector(s, "small", SMALL, 1) && has_vector(s, "large", LARGE, 1);

    assert_true(new_pair || old_pair);
    if (!a->pair_unknown)
        assert_true(a->pair_done == new_pair);
    if (!a->removed_unknown)
        assert_true(a->removed_done == !has_name(s, "victim"));
    assert_true(!has_name(s, "victim") || has_vector(s, "victim", LARGE, 1));
    check_grown(s, a);
    check_patched(s, a);
}

static answers work(const char *path, faulty_vfs *f)
{
    storage_options options = storage_options_default(path);
    error err = {0};
    answers a = {0};
    storage *s;

    options.vfs = &f->vfs;
    options.wal_bytes_max = 1; /* so that checkpoints happen within */
    s = storage_open(&options, &err);
    if (s == NULL)
        return a;
    a.opened = true;
    change_pair(s, &a);
    grow(s, &a);
    change_chunk(s, &a);
    error_clear(&err);
    a.removed_done = delete_name(s, "victim", &err);
    a.removed_unknown = err.kind == ERR_STORAGE;
    faulty_heal(f); /* what is in memory must be sound as well */
    check(s, &a);
    storage_close(s);
    return a;
}

/* Fails the n-th call; false if there are not so many. */
static bool fail_one(int64_t n, int failure, bool sticky, bool halve)
{
    char *path = scratch_new();
    faulty_vfs f;
    answers a;
    storage *s;
    bool failed;

    prepare(path);
    faulty_init(&f);
    f.halve = halve;
    faulty_fail(&f, n, failure, sticky);
    a = work(path, &f);
    failed = faulty_calls(&f) >= n;
    faulty_clear(&f);
    s = open_or_fail(path);
    check(s, &a);
    assert_true(put_vector(s, "small", SMALL, 3, &(error){0}) > 0);
    storage_close(s);
    scratch_remove(path);
    return failed;
}

static void fail_every(int failure, bool sticky, bool halve)
{
    int before = open_descriptors();
    int64_t n = 1;

    while (n < CALLS_MAX && fail_one(n, failure, sticky, halve))
        n++;
    printf("note: %d calls failed with %s%s\n", (int)n - 1, strerror(failure),
           sticky ? ", and on" : "");
    assert_true(n > 50 && n < CALLS_MAX);
    assert_int_equal(open_descriptors(), before);
}

static void any_call_may_fail_with_an_io_error(void **state)
{
    (void)state;
    fail_every(EIO, false, false);
}

static void any_call_may_find_the_disk_dead(void **state)
{
    (void)state;
    fail_every(EIO, true, false);
}

static void any_call_may_find_the_disk_full(void **state)
{
    (void)state;
    fail_every(ENOSPC, false, true);
}

static void the_disk_may_stay_full(void **state)
{
    (void)state;
    fail_every(ENOSPC, true, false);
}

static void descriptors_may_run_out(void **state)
{
    (void)state;
    fail_every(EMFILE, false, false);
}

/* ---- Care ---------------------------------------------------------------------------------- */

/* The n-th call of a check, a copy and a compaction fails; false if there are not so many. The data
 * are what they were, and a copy that is said to be whole is. */
static bool fail_care(int64_t n, int failure)
{
    char *path = scratch_new(), *copy = NULL;
    const answers nothing = {0};
    storage_options options = storage_options_default(path);
    faulty_vfs f;
    error err = {0};
    storage *s;
    int64_t before;
    bool copied, failed;

    assert_true(asprintf(&copy, "%s/copy", path) > 0);
    prepare(path);
    faulty_init(&f);
    options.vfs = &f.vfs;
    s = storage_open(&options, &err);
    before = faulty_calls(&f);
    faulty_fail(&f, n, failure, false);
    copied = storage_backup(s, copy, &err);
    error_clear(&err);
    storage_compact(s, &err);
    failed = faulty_calls(&f) - before >= n;
    faulty_heal(&f);
    storage_close(s);
    faulty_clear(&f);
    s = open_or_fail(path);
    check(s, &nothing);
    storage_close(s);
    if (copied) {
        s = open_or_fail(copy);
        check(s, &nothing);
        storage_close(s);
    }
    free(copy);
    scratch_remove(path);
    return failed;
}

static void copies_and_compactions_may_fail_anywhere(void **state)
{
    int64_t n = 1;

    (void)state;
    while (n < CALLS_MAX && fail_care(n, n % 2 == 0 ? EIO : ENOSPC))
        n++;
    printf("note: %d calls of copies and compactions failed\n", (int)n - 1);
    assert_true(n > 50 && n < CALLS_MAX);
}

/* ---- After a failure ------------------------------------------------------------------- */

typedef struct faulty_place {
    char *path;
    faulty_vfs f;
    storage *s;
} faulty_place;

static int set_up(void **state)
{
    faulty_place *p = calloc(1, sizeof *p);
    storage_options options;

    p->path = scratch_new();
    faulty_init(&p->f);
    options = storage_options_default(p->path);
    options.vfs = &p->f.vfs;
    p->s = storage_open(&options, &(error){0});
    *state = p;
    return p->s == NULL;
}

static int tear_down(void **state)
{
    faulty_place *p = *state;

    storage_close(p->s);
    faulty_clear(&p->f);
    scratch_remove(p->path);
    free(p);
    return 0;
}

static void a_failed_sync_makes_it_read_only(void **state)
{
    faulty_place *p = *state;
    storage_figures figures;
    error err = {0};

    put_vector(p->s, "x", LARGE, 1, &err);
    for (int64_t n = 1; !error_is_set(&err) || err.kind != ERR_STORAGE; n++) {
        error_clear(&err);
        faulty_fail(&p->f, n, EIO, false);
        put_vector(p->s, "y", LARGE, 1, &err);
        storage_figures_get(p->s, &figures);
        if (!figures.writable)
            break;
        assert_true(n < 100);
        error_clear(&err);
    }
    assert_int_equal(err.kind, ERR_STORAGE);
    error_clear(&err);
    assert_int_equal(put_vector(p->s, "z", SMALL, 1, &err), -1);
    assert_int_equal(err.kind, ERR_READ_ONLY);
    error_clear(&err);
    assert_false(delete_name(p->s, "x", &err));
    assert_int_equal(err.kind, ERR_READ_ONLY);
    assert_true(has_vector(p->s, "x", LARGE, 1));
}

/* Fails unless the lines occur in the record in this order; returns the rest. */
static const char *in_order(const char *record, const char *const lines[])
{
    for (; *lines != NULL; lines++) {
        const char *at = strstr(record, *lines);

        if (at == NULL)
            print_message("no \"%s\" in what follows:\n%s", *lines, record);
        assert_non_null(at);
        record = at + strlen(*lines);
    }
    return record;
}

static void the_log_is_read_from_the_disk(void **state)
{
    faulty_place *p = *state;
    storage_options options = storage_options_default(p->path);
    char *record;

    put_vector(p->s, "x", LARGE, 1, &(error){0});
    options.vfs = &p->f.vfs;
    storage_close(p->s);
    faulty_record(&p->f);
    p->s = storage_open(&options, &(error){0});
    record = faulty_recorded(&p->f);
    in_order(record, (const char *const[]){"forget index.db-wal", "index.db", NULL});
    free(record);
}

static void a_full_disk_refuses_and_then_goes_on(void **state)
{
    faulty_place *p = *state;
    error err = {0};

    put_vector(p->s, "x", LARGE, 1, &err);
    faulty_fail(&p->f, 1, ENOSPC, true);
    assert_int_equal(put_vector(p->s, "x", LARGE, 2, &err), -1);
    assert_int_equal(err.kind, ERR_DISK);
    faulty_heal(&p->f);
    assert_true(has_vector(p->s, "x", LARGE, 1));
    error_clear(&err);
    assert_true(put_vector(p->s, "x", LARGE, 3, &err) > 0);
    assert_true(has_vector(p->s, "x", LARGE, 3));
}

/* ---- The order --------------------------------------------------------------------------- */

#define IN_ORDER(record, ...) in_order(record, (const char *const[]){__VA_ARGS__, NULL})

/* Stores a vector of n under x, on the record. */
static void put_recorded(faulty_place *p, durability d, int64_t n)
{
    tensor t = vector_of(n, 1);
    txn *x;
    commit_result result;
    error err = {0};

    faulty_record(&p->f);
    x = txn_new(p->s, NULL, d);
    assert_true(txn_put_tensor(x, "x", &t, FORM_AUTO, &err) && txn_commit(x, &result, &err));
    faulty_note(&p->f, "answer");
    txn_free(x);
    tensor_unref(&t);
}

static void the_order_is_data_directory_index_answer(void **state)
{
    faulty_place *p = *state;
    char *record;
    const char *rest;

    put_recorded(p, DURABILITY_DISK, LARGE);
    record = faulty_recorded(&p->f);
    rest = IN_ORDER(record, "create arrays/ID", "allocate arrays/ID", "write arrays/ID",
                    "write arrays/ID", "sync arrays/ID", "sync arrays/xx", "write index.db-wal",
                    "sync index.db-wal", "answer");
    assert_null(strstr(rest, "arrays"));
    free(record);
}

static void an_inline_value_needs_one_sync(void **state)
{
    faulty_place *p = *state;
    char *record;

    put_vector(p->s, "y", SMALL, 1, &(error){0});
    put_recorded(p, DURABILITY_DISK, SMALL);
    record = faulty_recorded(&p->f);
    IN_ORDER(record, "write index.db-wal", "sync index.db-wal", "answer");
    assert_null(strstr(record, "arrays"));
    free(record);
}

static void a_process_commit_syncs_the_array_but_not_the_index(void **state)
{
    faulty_place *p = *state;
    char *record;

    put_recorded(p, DURABILITY_PROCESS, SMALL); /* the first one notes that it may be lost */
    record = faulty_recorded(&p->f);
    IN_ORDER(record, "write index.db-wal", "sync index.db-wal", "answer");
    free(record);
    put_recorded(p, DURABILITY_PROCESS, LARGE);
    record = faulty_recorded(&p->f);
    *(char *)(uintptr_t)IN_ORDER(record, "sync arrays/ID", "sync arrays/xx", "write index.db-wal",
                                 "answer") = '\0';
    assert_null(strstr(record, "sync index"));
    free(record);
}

static void a_file_goes_only_after_its_end_is_on_the_disk(void **state)
{
    faulty_place *p = *state;
    char *record;

    put_vector(p->s, "x", LARGE, 1, &(error){0});
    put_recorded(p, DURABILITY_PROCESS, SMALL);
    put_recorded(p, DURABILITY_PROCESS, LARGE);
    put_recorded(p, DURABILITY_PROCESS, LARGE);
    assert_true(scratch_files_become(p->path, "arrays", 1));
    record = faulty_recorded(&p->f);
    IN_ORDER(record, "write index.db-wal", "answer", "sync index.db-wal", "remove arrays/ID");
    free(record);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_call_may_fail_with_an_io_error),
        cmocka_unit_test(any_call_may_find_the_disk_dead),
        cmocka_unit_test(any_call_may_find_the_disk_full),
        cmocka_unit_test(the_disk_may_stay_full),
        cmocka_unit_test(descriptors_may_run_out),
        cmocka_unit_test(copies_and_compactions_may_fail_anywhere),
        TEST(a_failed_sync_makes_it_read_only),
        TEST(the_log_is_read_from_the_disk),
        TEST(a_full_disk_refuses_and_then_goes_on),
        TEST(the_order_is_data_directory_index_answer),
        TEST(an_inline_value_needs_one_sync),
        TEST(a_process_commit_syncs_the_array_but_not_the_index),
        TEST(a_file_goes_only_after_its_end_is_on_the_disk),
    };

    if (getenv("TMPDIR") == NULL && access("/dev/shm", W_OK) == 0)
        setenv("TMPDIR", "/dev/shm", 1); /* thousands of directories, where syncs cost nothing */
    return cmocka_run_group_tests_name("faults", tests, NULL, NULL);
}

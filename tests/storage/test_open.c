/* SPDX-License-Identifier: Apache-2.0 */
/* What start-up refuses, repairs and leaves alone. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "tests/lib/storing.h"

enum { SMALL = 10, LARGE = 300000 };

static int set_up(void **state)
{
    *state = scratch_new();
    return 0;
}

static int tear_down(void **state)
{
    scratch_remove(*state);
    return 0;
}

static storage *open_at(const char *path, error *err)
{
    storage_options options = storage_options_default(path);

    error_clear(err);
    return storage_open(&options, err);
}

/* A path below the data directory, valid until the next call. */
static const char *below(const char *path, const char *name)
{
    static char full[512];

    snprintf(full, sizeof full, "%s/%s", path, name);
    return full;
}

static void fill(const char *path, int arrays)
{
    storage *s = open_or_fail(path);
    error err = {0};
    char name[16];

    put_vector(s, "small", SMALL, 1, &err);
    for (int i = 0; i < arrays; i++) {
        snprintf(name, sizeof name, "x%d", i);
        put_vector(s, name, LARGE, i, &err);
    }
    assert_false(error_is_set(&err));
    storage_close(s);
}

/* The path of a variable's file, valid until the next call of below. */
static const char *file_of(const char *path, const char *name)
{
    storage *s = open_or_fail(path);
    snapshot *now = storage_snapshot(s);
    char file[ENTRY_FILE];

    entry_file(snapshot_find(now, name), file);
    snapshot_unref(now);
    storage_close(s);
    return below(path, file);
}

static void overwrite(const char *file, long offset, const char *bytes, size_t n)
{
    int fd = open(file, O_WRONLY);

    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, bytes, n, offset), n);
    close(fd);
}

/* ---- Who may open ----------------------------------------------------------------- */

static void a_second_opening_is_refused(void **state)
{
    storage *s = open_or_fail(*state);
    error err;

    assert_null(open_at(*state, &err));
    assert_int_equal(err.kind, ERR_CONFLICT);
    storage_close(s);
    s = open_at(*state, &err);
    assert_non_null(s);
    storage_close(s);
}

static void a_path_that_cannot_be_is_refused(void **state)
{
    error err;

    (void)state;
    assert_null(open_at("/dev/null/x", &err));
    assert_int_equal(err.kind, ERR_VALUE);
    assert_null(open_at("", &err));
}

static void parents_are_made_and_the_path_may_be_a_link(void **state)
{
    char real[512], link[512];
    storage *s;

    snprintf(real, sizeof real, "%s/a/b", (const char *)*state);
    snprintf(link, sizeof link, "%s/link", (const char *)*state);
    storage_close(open_or_fail(real));
    assert_int_equal(symlink(real, link), 0);
    s = open_or_fail(link);
    storage_close(s);
}

static void a_newer_format_is_refused(void **state)
{
    error err;

    fill(*state, 0);
    overwrite(below(*state, "VERSION"), 0, "tensord data format 9\n", 22);
    assert_null(open_at(*state, &err));
    assert_int_equal(err.kind, ERR_VALUE);
    overwrite(below(*state, "VERSION"), 0, "something else", 14);
    assert_null(open_at(*state, &err));
    assert_int_equal(err.kind, ERR_INTEGRITY);
}

/* Makes the directory what the first format was. */
static void to_format_1(const char *path)
{
    char sql[] = "ALTER TABLE names DROP COLUMN place; ALTER TABLE names DROP COLUMN chunked; "
                 "ALTER TABLE names DROP COLUMN crc; "
                 "PRAGMA user_version = 1";
    sqlite3 *db;

    assert_int_equal(sqlite3_open(below(path, "index.db"), &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    overwrite(below(path, "VERSION"), 0, "tensord data format 1\n", 22);
}

static void an_older_format_is_raised(void **state)
{
    char version[32] = "";
    storage *s;
    FILE *file;

    fill(*state, 3);
    to_format_1(*state);
    s = open_or_fail(*state);
    assert_true(has_vector(s, "x2", LARGE, 2));
    storage_close(s);
    file = fopen(below(*state, "VERSION"), "r");
    assert_non_null(fgets(version, sizeof version, file));
    fclose(file);
    assert_string_equal(version, "tensord data format 4\n");
    s = open_or_fail(*state);
    storage_close(s);
}

/* ---- A damaged index ----------------------------------------------------------------- */

static void a_damaged_index_is_refused_and_nothing_is_touched(void **state)
{
    char junk[300];
    struct stat before, after;
    error err;

    fill(*state, 3);
    memset(junk, 0xee, sizeof junk);
    for (long at = 0; at < 5 * 8192; at += 8192) {
        char kept[sizeof junk];
        int fd = open(below(*state, "index.db"), O_RDWR);

        assert_int_equal(pread(fd, kept, sizeof kept, at), sizeof kept);
        assert_int_equal(pwrite(fd, junk, sizeof junk, at), sizeof junk);
        fstat(fd, &before);
        close(fd);
        assert_null(open_at(*state, &err));
        assert_int_equal(err.kind, ERR_INTEGRITY);
        assert_int_equal(stat(below(*state, "index.db"), &after), 0);
        assert_int_equal(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec);
        assert_int_equal(scratch_files(*state, "arrays"), 3);
        overwrite(below(*state, "index.db"), at, kept, sizeof kept);
    }
    fill(*state, 0); /* put back together, it opens */
}

static void a_missing_index_is_refused(void **state)
{
    error err;

    fill(*state, 2);
    assert_int_equal(unlink(below(*state, "index.db")), 0);
    assert_null(open_at(*state, &err));
    assert_int_equal(err.kind, ERR_INTEGRITY);
    assert_int_equal(unlink(below(*state, "VERSION")), 0);
    assert_null(open_at(*state, &err));
    assert_int_equal(err.kind, ERR_INTEGRITY);
    assert_int_equal(scratch_files(*state, "arrays"), 2);
}

static void an_opening_that_was_cut_short_is_finished(void **state)
{
    assert_int_equal(mkdir(below(*state, "arrays"), 0700), 0);
    assert_int_equal(mkdir(below(*state, "arrays/00"), 0700), 0);
    close(open(below(*state, "index.db"), O_CREAT | O_WRONLY, 0600));
    fill(*state, 1);
}

/* ---- Damaged arrays ------------------------------------------------------------------- */

/* Checks that x0 alone is refused, as damaged. */
static void check_alone(const char *path)
{
    storage *s = open_or_fail(path);
    snapshot *now = storage_snapshot(s);
    error err = {0};
    tensor t;

    assert_non_null(snapshot_find(now, "x0"));
    assert_false(entry_tensor(s, snapshot_find(now, "x0"), &t, &err));
    assert_int_equal(err.kind, ERR_INTEGRITY);
    assert_non_null(strstr(err.detail, "x0"));
    snapshot_unref(now);
    assert_true(has_vector(s, "small", SMALL, 1));
    assert_true(has_vector(s, "x1", LARGE, 1));
    error_clear(&err);
    assert_true(put_vector(s, "x0", LARGE, 5, &err) > 0); /* and can be stored anew */
    assert_true(has_vector(s, "x0", LARGE, 5));
    storage_close(s);
}

static void a_missing_file_fails_alone(void **state)
{
    fill(*state, 2);
    assert_int_equal(unlink(file_of(*state, "x0")), 0);
    check_alone(*state);
}

static void a_cut_file_fails_alone(void **state)
{
    fill(*state, 2);
    assert_int_equal(truncate(file_of(*state, "x0"), 100000), 0);
    check_alone(*state);
}

static void a_wrong_header_fails_alone(void **state)
{
    fill(*state, 2);
    overwrite(file_of(*state, "x0"), 20, "'<i8'", 5);
    check_alone(*state);
}

static void a_flipped_bit_fails_alone(void **state)
{
    fill(*state, 2);
    overwrite(file_of(*state, "x0"), 4096 + 2000000, "!", 1);
    check_alone(*state);
}

/* ---- Strays ---------------------------------------------------------------------------- */

static void make_strays(const char *path, int n)
{
    char name[64];

    for (int i = 0; i < n; i++) {
        snprintf(name, sizeof name, "arrays/07/07%030x.npy", (unsigned)i);
        close(open(below(path, name), O_CREAT | O_WRONLY, 0600));
    }
    close(open(below(path, "arrays/07/notes.txt"), O_CREAT | O_WRONLY, 0600));
}

static void many_strays_are_set_aside(void **state)
{
    storage_figures figures;
    storage *s;

    fill(*state, 2);
    make_strays(*state, 3);
    s = open_or_fail(*state);
    storage_figures_get(s, &figures);
    assert_int_equal(figures.strays, 3);
    assert_true(has_vector(s, "x1", LARGE, 1));
    storage_close(s);
    assert_int_equal(scratch_files(*state, "quarantine"), 3);
    assert_int_equal(scratch_files(*state, "arrays"), 3); /* what is not ours stays */
}

static void a_few_strays_among_many_files_are_removed(void **state)
{
    storage *s = open_or_fail(*state);
    tensor t = vector_of(1, 1);
    txn *x = txn_new(s, NULL, DURABILITY_DISK);
    commit_result result;
    error err = {0};
    char name[16];

    for (int i = 0; i < 150; i++) {
        snprintf(name, sizeof name, "x%d", i);
        assert_true(txn_put_tensor(x, name, &t, FORM_MEMMAP, &err));
    }
    assert_true(txn_commit(x, &result, &err));
    txn_free(x);
    tensor_unref(&t);
    storage_close(s);
    make_strays(*state, 1);
    storage_close(open_or_fail(*state));
    assert_int_equal(scratch_files(*state, "quarantine"), 0);
    assert_int_equal(scratch_files(*state, "arrays"), 151);
}

/* ---- Limits ----------------------------------------------------------------------------- */

static void limits_refuse_and_change_nothing(void **state)
{
    storage_options options = storage_options_default(*state);
    error err = {0};
    storage *s;

    options.names_max = 2;
    options.bytes_max = 4 * LARGE * 8;
    s = storage_open(&options, &err);
    assert_true(put_vector(s, "a", LARGE, 1, &err) > 0);
    assert_true(put_vector(s, "b", LARGE, 1, &err) > 0);
    assert_true(put_vector(s, "b", LARGE, 2, &err) > 0);
    assert_int_equal(put_vector(s, "c", SMALL, 1, &err), -1);
    assert_int_equal(err.kind, ERR_VARIABLE_QUOTA);
    error_clear(&err);
    assert_int_equal(put_vector(s, "a", 3 * LARGE, 1, &err), -1);
    assert_int_equal(err.kind, ERR_QUOTA);
    error_clear(&err);
    assert_true(delete_name(s, "a", &err));
    assert_true(put_vector(s, "c", SMALL, 1, &err) > 0);
    storage_close(s);
}

static void the_floor_of_free_space_refuses_writes_but_not_deletes(void **state)
{
    storage_options options = storage_options_default(*state);
    const shape huge = {.rank = 1, .length = {(int64_t)1 << 45}};
    error err = {0};
    storage *s;

    s = storage_open(&options, &err);
    assert_true(put_vector(s, "a", LARGE, 1, &err) > 0);
    assert_null(incoming_new(s, DURABILITY_DISK, FORM_AUTO, DT_U8, &huge, &err));
    assert_int_equal(err.kind, ERR_DISK);
    error_clear(&err);
    assert_true(delete_name(s, "a", &err));
    storage_close(s);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_second_opening_is_refused),
        TEST(a_path_that_cannot_be_is_refused),
        TEST(parents_are_made_and_the_path_may_be_a_link),
        TEST(a_newer_format_is_refused),
        TEST(an_older_format_is_raised),
        TEST(a_damaged_index_is_refused_and_nothing_is_touched),
        TEST(a_missing_index_is_refused),
        TEST(an_opening_that_was_cut_short_is_finished),
        TEST(a_missing_file_fails_alone),
        TEST(a_cut_file_fails_alone),
        TEST(a_wrong_header_fails_alone),
        TEST(a_flipped_bit_fails_alone),
        TEST(many_strays_are_set_aside),
        TEST(a_few_strays_among_many_files_are_removed),
        TEST(limits_refuse_and_change_nothing),
        TEST(the_floor_of_free_space_refuses_writes_but_not_deletes),
    };

    return cmocka_run_group_tests_name("open", tests, NULL, NULL);
}

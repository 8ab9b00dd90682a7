/* SPDX-License-Identifier: Apache-2.0 */
/* Chunked arrays: what a change writes, what readers keep, and where the room goes. */
#include <fcntl.h>
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/lib/storing.h"

enum { MIB = 1 << 20, PER_CHUNK = MIB / 8, CHUNKS = 8, LENGTH = CHUNKS * PER_CHUNK - 100 };

/* ---- Changes -------------------------------------------------------------------------- */

static bool append(storage *s, const char *name, int64_t n, double first, error *err)
{
    txn *x = txn_new(s, NULL, DURABILITY_DISK);
    const entry *e = txn_read(x, name);
    tensor more = vector_of(n, first);
    commit_result result;
    bool ok = txn_append(x, e, &more, 0, err) && txn_commit(x, &result, err);

    txn_free(x);
    tensor_unref(&more);
    return ok;
}

/* ---- The file --------------------------------------------------------------------------- */

/* Bytes that the only file of slots has on the disk; 0 if there is none, be it gone just now. */
static int64_t blocks(const place *p)
{
    char *pattern = NULL;
    struct stat found;
    int64_t bytes = 0;
    glob_t files;

    assert_true(asprintf(&pattern, "%s/arrays/*/*.slots", p->path) > 0);
    if (glob(pattern, 0, NULL, &files) == 0) {
        assert_int_equal(files.gl_pathc, 1);
        if (stat(files.gl_pathv[0], &found) == 0)
            bytes =
                (int64_t)found.st_blocks * 512 / MIB * MIB; /* less what the file system notes */
    }
    globfree(&files);
    free(pattern);
    return bytes;
}

static int64_t quota_bytes(storage *s)
{
    storage_figures f;

    storage_figures_get(s, &f);
    return f.bytes;
}

/* Waits until the file and the quota have come down to n slots. */
static bool slots_become(const place *p, int64_t n)
{
    for (int i = 0; i < 500; i++) {
        if (blocks(p) == n * MIB && quota_bytes(p->s) == n * MIB)
            return true;
        usleep(10000);
    }
    print_message("%d MiB in the file, %d in the quota\n", (int)(blocks(p) / MIB),
                  (int)(quota_bytes(p->s) / MIB));
    return false;
}

/* ---- Tests ------------------------------------------------------------------------------- */

static void it_is_what_was_put_also_after_a_restart(void **state)
{
    place *p = *state;
    snapshot *now;
    char file[ENTRY_FILE];

    put_chunked(p->s, "x", LENGTH, 1);
    put_chunked(p->s, "none", 0, 1);
    for (int i = 0; i < 2; i++) {
        assert_true(has_vector(p->s, "x", LENGTH, 1));
        assert_true(has_vector(p->s, "none", 0, 1));
        now = storage_snapshot(p->s);
        assert_int_equal(entry_form(snapshot_find(now, "x")), FORM_CHUNKED);
        entry_file(snapshot_find(now, "x"), file);
        assert_string_equal(file, "");
        snapshot_unref(now);
        place_reopen(p);
    }
}

static void a_change_writes_the_chunks_it_touches(void **state)
{
    place *p = *state;
    error err = {0};
    tensor old, new;
    double *x;

    put_chunked(p->s, "x", LENGTH, 0);
    assert_true(slots_become(p, CHUNKS));
    old = read_vector(p->s, "x");
    assert_true(patch_vector(p->s, "x", 2 * PER_CHUNK + 10, PER_CHUNK, -5, &err));
    assert_true(slots_become(p, CHUNKS + 2)); /* old is still being read */
    assert_true(is_vector(&old, LENGTH, 0));
    new = read_vector(p->s, "x");
    x = tensor_bytes(&new);
    for (int64_t i = 0; i < LENGTH; i++) {
        const int64_t at = i - 2 * PER_CHUNK - 10;

        assert_true(x[i] == (at >= 0 && at < PER_CHUNK ? (double)(at - 5) : (double)i));
    }
    tensor_unref(&new);
    tensor_unref(&old);
    assert_true(slots_become(p, CHUNKS));
    place_reopen(p);
    assert_true(slots_become(p, CHUNKS));
}

static void it_grows_in_its_file(void **state)
{
    place *p = *state;
    error err = {0};

    put_chunked(p->s, "x", LENGTH, 0);
    assert_true(append(p->s, "x", 100 + PER_CHUNK, LENGTH, &err));
    assert_true(has_vector(p->s, "x", LENGTH + 100 + PER_CHUNK, 0));
    assert_true(slots_become(p, CHUNKS + 1));
    place_reopen(p);
    assert_true(has_vector(p->s, "x", LENGTH + 100 + PER_CHUNK, 0));
    assert_true(delete_name(p->s, "x", &err));
    assert_true(slots_become(p, 0));
}

static void what_is_given_up_leaves_nothing(void **state)
{
    place *p = *state;
    tensor value = vector_of(10, 5), part = {.dtype = DT_F64};
    error err = {0};
    txn *x;

    put_chunked(p->s, "x", LENGTH, 0);
    x = txn_new(p->s, NULL, DURABILITY_DISK);
    part.shape = value.shape;
    part.strides[0] = 1;
    assert_true(txn_patch(x, txn_read(x, "x"), &part, &value, &err));
    assert_true(quota_bytes(p->s) == (CHUNKS + 1) * MIB);
    txn_free(x);
    assert_true(slots_become(p, CHUNKS));
    assert_true(has_vector(p->s, "x", LENGTH, 0));
    tensor_unref(&value);
}

static void a_value_that_is_put_anew_has_the_form_it_is_given(void **state)
{
    place *p = *state;
    snapshot *now;

    put_chunked(p->s, "x", LENGTH, 0);
    put_vector(p->s, "x", LENGTH, 1, &(error){0});
    now = storage_snapshot(p->s);
    assert_int_equal(entry_form(snapshot_find(now, "x")), FORM_MEMMAP);
    snapshot_unref(now);
    assert_true(scratch_files_become(p->path, "arrays", 1));
}

/* Copies by hard link would lose what the next change gives back. */
static void a_copy_is_a_copy(void **state)
{
    place *p = *state;
    error err = {0};
    char *path = NULL;
    storage *copy;

    put_chunked(p->s, "x", LENGTH, 0);
    assert_true(patch_vector(p->s, "x", 0, PER_CHUNK, 0, &err));
    assert_true(asprintf(&path, "%s-copy", p->path) > 0);
    assert_true(storage_backup(p->s, path, &err));
    for (int i = 0; i < CHUNKS; i++)
        assert_true(patch_vector(p->s, "x", i * PER_CHUNK, 10, -1, &err));
    assert_true(slots_become(p, CHUNKS));
    copy = open_or_fail(path);
    assert_true(has_vector(copy, "x", LENGTH, 0));
    storage_close(copy);
    scratch_remove(path);
}

static void older_versions_share_the_file(void **state)
{
    place *p = *state;
    storage_options options = storage_options_default(p->path);
    error err = {0};
    snapshot *now;
    tensor t;

    storage_close(p->s);
    options.history = 2;
    p->s = storage_open(&options, &err);
    put_chunked(p->s, "x", LENGTH, 0);
    for (int i = 1; i <= 4; i++)
        assert_true(patch_vector(p->s, "x", i * PER_CHUNK, PER_CHUNK, i * PER_CHUNK + 1, &err));
    assert_true(slots_become(p, CHUNKS + 2));
    for (int again = 0; again < 2; again++) {
        now = storage_snapshot(p->s);
        assert_null(snapshot_find_version(now, "x", 2));
        assert_true(entry_tensor(p->s, snapshot_find_version(now, "x", 3), &t, &err));
        for (int chunk = 0; chunk < CHUNKS; chunk++)
            assert_true(((double *)tensor_bytes(&t))[chunk * PER_CHUNK] ==
                        chunk * PER_CHUNK + (chunk == 1 || chunk == 2));
        tensor_unref(&t);
        snapshot_unref(now);
        storage_close(p->s);
        p->s = storage_open(&options, &err);
        assert_true(slots_become(p, CHUNKS + 2));
    }
}

/* More pieces than a process may map: those above are read. */
static void there_may_be_any_number_of_pieces(void **state)
{
    enum { LONG = 64, READERS = 60000 / LONG + 5 };
    place *p = *state;
    tensor *held;
    error err = {0};

    if (getenv("MEMCHECK") != NULL) /* valgrind knows fewer maps */
        skip();
    held = calloc(READERS, sizeof *held);
    put_chunked(p->s, "x", LONG * PER_CHUNK, 0);
    for (int i = 0; i < LONG; i += 2)
        assert_true(patch_vector(p->s, "x", i * PER_CHUNK, 1, i * PER_CHUNK, &err));
    for (int i = 0; i < READERS; i++) {
        held[i] = read_vector(p->s, "x");
        assert_true(((double *)tensor_bytes(&held[i]))[5 * PER_CHUNK + i] == 5 * PER_CHUNK + i);
    }
    assert_true(is_vector(&held[READERS - 1], LONG * PER_CHUNK, 0));
    for (int i = 0; i < READERS; i++)
        tensor_unref(&held[i]);
    free(held);
}

static void a_tensor_may_outlive_the_storage(void **state)
{
    place *p = *state;
    error err = {0};
    tensor t;

    put_chunked(p->s, "x", LENGTH, 0);
    t = read_vector(p->s, "x");
    assert_true(patch_vector(p->s, "x", 0, LENGTH, 7, &err));
    place_reopen(p);
    assert_true(has_vector(p->s, "x", LENGTH, 7));
    tensor_unref(&t);
}

/* Any changes at all, with a model beside them. */
static void random_changes_agree_with_a_model(void **state)
{
    enum { ROUNDS = 300, MOST = 20 * PER_CHUNK };
    place *p = *state;
    double *model = calloc(MOST, sizeof *model);
    int64_t length = 3 * PER_CHUNK + 17;
    error err = {0};
    tensor t, held = {0};
    double held_sum = 0;

    srandom(7);
    put_chunked(p->s, "x", length, 0);
    for (int64_t i = 0; i < length; i++)
        model[i] = (double)i;
    for (int round = 0; round < ROUNDS; round++) {
        const int64_t n = 1 + random() % (2 * PER_CHUNK), at = random() % length;
        const int64_t within = at + n > length ? length - at : n;

        if (random() % 8 == 0 && length + n < MOST) {
            assert_true(append(p->s, "x", n, round, &err));
            for (int64_t i = 0; i < n; i++)
                model[length + i] = (double)(round + i);
            length += n;
        } else {
            assert_true(patch_vector(p->s, "x", at, within, round, &err));
            for (int64_t i = 0; i < within; i++)
                model[at + i] = (double)(round + i);
        }
        t = read_vector(p->s, "x");
        assert_int_equal(t.shape.length[0], length);
        assert_memory_equal(tensor_bytes(&t), model, (size_t)length * sizeof *model);
        if (round % 20 == 10) { /* a reader who stays for a while */
            held = t;
            held_sum = ((double *)tensor_bytes(&t))[length - 1];
        } else {
            tensor_unref(&t);
        }
        if (round % 20 == 19) {
            assert_true(((double *)tensor_bytes(&held))[held.shape.length[0] - 1] == held_sum);
            tensor_unref(&held);
        }
        if (round % 50 == 49)
            place_reopen(p);
    }
    assert_true(slots_become(p, (length * 8 + MIB - 1) / MIB));
    free(model);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, place_set_up, place_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(it_is_what_was_put_also_after_a_restart),
        TEST(a_change_writes_the_chunks_it_touches),
        TEST(it_grows_in_its_file),
        TEST(what_is_given_up_leaves_nothing),
        TEST(a_value_that_is_put_anew_has_the_form_it_is_given),
        TEST(a_copy_is_a_copy),
        TEST(older_versions_share_the_file),
        TEST(there_may_be_any_number_of_pieces),
        TEST(a_tensor_may_outlive_the_storage),
        TEST(random_changes_agree_with_a_model),
    };

    return cmocka_run_group_tests_name("chunked", tests, NULL, NULL);
}

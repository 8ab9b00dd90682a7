/* SPDX-License-Identifier: Apache-2.0 */
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

enum { SMALL = 10, LARGE = 300000 }; /* elements: inline; a file of three chunks */

static const entry *find(snapshot *n, const char *name)
{
    const entry *e = snapshot_find(n, name);

    assert_non_null(e);
    return e;
}

/* ---- Values ------------------------------------------------------------------------ */

static void a_value_is_there_after_commit_and_after_restart(void **state)
{
    place *p = *state;
    error err = {0};

    assert_int_equal(put_vector(p->s, "small", SMALL, 1, &err), 1);
    assert_int_equal(put_vector(p->s, "large", LARGE, 2, &err), 2);
    for (int i = 0; i < 2; i++) {
        assert_true(has_vector(p->s, "small", SMALL, 1));
        assert_true(has_vector(p->s, "large", LARGE, 2));
        place_reopen(p);
    }
    assert_int_equal(put_vector(p->s, "small", SMALL, 3, &err), 3);
    assert_true(has_vector(p->s, "small", SMALL, 3));
}

static void the_log_of_the_index_is_begun_anew(void **state)
{
    place *p = *state;
    char *log = NULL;
    struct stat found;

    for (int i = 0; i < 200; i++)
        assert_true(put_vector(p->s, "x", 7000, i, &(error){0}) > 0);
    assert_true(asprintf(&log, "%s/index.db-wal", p->path) > 0);
    assert_int_equal(stat(log, &found), 0);
    assert_true(found.st_size > 0 && found.st_size < 6 << 20);
    free(log);
}

static void an_entry_says_what_was_stored(void **state)
{
    place *p = *state;
    snapshot *now;
    const entry *e;
    char file[ENTRY_FILE];
    error err = {0};
    shape shape;

    put_vector(p->s, "x", SMALL, 1, &err);
    put_vector(p->s, "x", LARGE, 1, &err);
    place_reopen(p);
    now = storage_snapshot(p->s);
    e = find(now, "x");
    entry_shape(e, &shape);
    entry_file(e, file);
    assert_int_equal(e->kind, ENTRY_VARIABLE);
    assert_int_equal(e->version, 2);
    assert_int_equal(e->commit, 2);
    assert_true(e->created_us > 0 && e->modified_us >= e->created_us);
    assert_int_equal(entry_dtype(e), DT_F64);
    assert_int_equal(entry_nbytes(e), LARGE * 8);
    assert_int_equal(entry_form(e), FORM_MEMMAP);
    assert_false(entry_is_volatile(e));
    assert_int_equal(shape.rank, 1);
    assert_int_equal(shape.length[0], LARGE);
    assert_int_equal(strncmp(file, "arrays/", 7), 0);
    assert_int_equal(snapshot_count(now, ENTRY_VARIABLE), 1);
    assert_int_equal(snapshot_commit(now), 2);
    snapshot_unref(now);
}

static void the_form_can_be_asked_for(void **state)
{
    place *p = *state;
    tensor t = vector_of(SMALL, 5), u = vector_of(LARGE / 10, 6);
    txn *x = txn_new(p->s, NULL, DURABILITY_DISK);
    commit_result result;
    error err = {0};
    snapshot *now;

    assert_true(txn_put_tensor(x, "t", &t, FORM_MEMMAP, &err));
    assert_true(txn_put_tensor(x, "u", &u, FORM_INLINE, &err));
    assert_true(txn_commit(x, &result, &err));
    txn_free(x);
    place_reopen(p);
    now = storage_snapshot(p->s);
    assert_int_equal(entry_form(find(now, "t")), FORM_MEMMAP);
    assert_int_equal(entry_form(find(now, "u")), FORM_INLINE);
    snapshot_unref(now);
    assert_true(has_vector(p->s, "t", SMALL, 5));
    assert_true(has_vector(p->s, "u", LARGE / 10, 6));
    tensor_unref(&t);
    tensor_unref(&u);
}

/* Stores t under "t" in both forms and checks that it comes back dense. */
static void check_round_trip(place *p, const tensor *t, storage_form form)
{
    txn *x = txn_new(p->s, NULL, DURABILITY_DISK);
    size_t n = (size_t)tensor_nbytes(t);
    void *dense = malloc(n + 1);
    commit_result result;
    snapshot *now;
    error err = {0};
    tensor back;

    assert_true(txn_put_tensor(x, "t", t, form, &err));
    assert_true(txn_commit(x, &result, &err));
    txn_free(x);
    place_reopen(p);
    now = storage_snapshot(p->s);
    assert_true(entry_tensor(p->s, find(now, "t"), &back, &err));
    snapshot_unref(now);
    tensor_copy_dense(t, dense);
    assert_true(back.dtype == t->dtype && shape_equal(&back.shape, &t->shape));
    assert_true(tensor_is_contiguous(&back));
    assert_memory_equal(tensor_bytes(&back), dense, n);
    tensor_unref(&back);
    free(dense);
}

static void strided_tensors_are_stored_densely(void **state)
{
    place *p = *state;
    tensor flat = vector_of(300 * 200 * 3, 0), t = flat;

    t.shape = (shape){.rank = 3, .length = {3, 200, 300}};
    t.strides[0] = 1, t.strides[1] = 3, t.strides[2] = 600;
    check_round_trip(*state, &t, FORM_MEMMAP);
    check_round_trip(*state, &t, FORM_INLINE);
    t.shape = (shape){.rank = 1, .length = {90000}};
    t.strides[0] = -2, t.offset = 179999;
    check_round_trip(*state, &t, FORM_MEMMAP);
    t.shape = (shape){.rank = 2, .length = {100000, 7}};
    t.strides[0] = 0, t.strides[1] = 1, t.offset = 5;
    check_round_trip(p, &t, FORM_MEMMAP);
    tensor_unref(&flat);
}

static void every_dtype_and_odd_shapes_come_back(void **state)
{
    static const shape shapes[] = {{.rank = 0},
                                   {.rank = 1, .length = {0}},
                                   {.rank = 3, .length = {2, 0, 5}},
                                   {.rank = 1, .length = {1}},
                                   {.rank = 4, .length = {1, 2, 3, 1}}};
    error err = {0};

    for (int d = 0; d < DT_COUNT; d++) {
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
            tensor t;

            assert_true(tensor_new(&t, NULL, (dtype)d, &shapes[i], &err));
            memset(tensor_bytes(&t), 1, (size_t)tensor_nbytes(&t));
            check_round_trip(*state, &t, i % 2 == 0 ? FORM_MEMMAP : FORM_INLINE);
            tensor_unref(&t);
        }
    }
}

static void an_array_may_arrive_in_pieces_of_any_size(void **state)
{
    place *p = *state;
    tensor t = vector_of(LARGE, 9);
    incoming *in = incoming_new(p->s, DURABILITY_DISK, FORM_AUTO, DT_F64, &t.shape, &(error){0});
    const char *bytes = tensor_bytes(&t);
    size_t n = (size_t)tensor_nbytes(&t), step = 1;
    txn *x = txn_new(p->s, NULL, DURABILITY_DISK);
    commit_result result;
    error err = {0};

    assert_non_null(in);
    for (size_t at = 0; at < n; at += step, step = step * 3 + 1) {
        step = step < n - at ? step : n - at;
        assert_true(incoming_write(in, bytes + at, step, &err));
    }
    assert_false(incoming_write(in, bytes, 1, &err));
    assert_int_equal(err.kind, ERR_SIZE);
    error_clear(&err);
    assert_true(incoming_finish(in, &err));
    assert_true(txn_put_incoming_take(x, "x", in, &err));
    assert_true(txn_commit(x, &result, &err));
    txn_free(x);
    tensor_unref(&t);
    assert_true(has_vector(p->s, "x", LARGE, 9));
}

static void an_array_with_missing_bytes_is_refused(void **state)
{
    place *p = *state;
    const shape flat = {.rank = 1, .length = {LARGE}};
    error err = {0};
    incoming *in = incoming_new(p->s, DURABILITY_DISK, FORM_AUTO, DT_F64, &flat, &err);

    assert_true(incoming_write(in, &flat, 8, &err));
    assert_false(incoming_finish(in, &err));
    assert_int_equal(err.kind, ERR_SIZE);
    incoming_free(in);
    place_reopen(p);
    assert_int_equal(scratch_files(p->path, "arrays"), 0);
}

static void files_are_npy_files_with_data_at_4096(void **state)
{
    place *p = *state;
    char file[ENTRY_FILE], *path = NULL, header[10];
    snapshot *now;
    error err = {0};
    FILE *f;
    double x;

    put_vector(p->s, "x", LARGE, 7, &err);
    now = storage_snapshot(p->s);
    entry_file(find(now, "x"), file);
    snapshot_unref(now);
    assert_true(asprintf(&path, "%s/%s", p->path, file) > 0);
    f = fopen(path, "rb");
    assert_non_null(f);
    assert_int_equal(fread(header, 1, sizeof header, f), sizeof header);
    assert_memory_equal(header, "\x93NUMPY\x01\x00\xf6\x0f", 10);
    fseek(f, 4096, SEEK_SET);
    assert_int_equal(fread(&x, sizeof x, 1, f), 1);
    assert_true(x == 7);
    fclose(f);
    free(path);
}

/* ---- Graphs and attributes ------------------------------------------------------------ */

static bool put_graph(storage *s, const char *name, const char *text, error *err)
{
    txn *x = txn_new(s, NULL, DURABILITY_DISK);
    commit_result result;
    bool ok = txn_put_graph(x, name, text, strlen(text), err) && txn_commit(x, &result, err);

    txn_free(x);
    return ok;
}

static void graphs_are_texts_and_share_names_with_variables(void **state)
{
    place *p = *state;
    error err = {0};
    snapshot *now;
    buffer *text;

    assert_true(put_graph(p->s, "g", "{\"nodes\": 1}", &err));
    assert_int_equal(put_vector(p->s, "g", SMALL, 1, &err), -1);
    assert_int_equal(err.kind, ERR_NAME_KIND);
    place_reopen(p);
    now = storage_snapshot(p->s);
    error_clear(&err);
    text = entry_text(p->s, find(now, "g"), &err);
    assert_string_equal(buffer_bytes(text), "{\"nodes\": 1}");
    assert_int_equal(find(now, "g")->kind, ENTRY_GRAPH);
    assert_int_equal(snapshot_count(now, ENTRY_GRAPH), 1);
    buffer_unref(text);
    snapshot_unref(now);
}

static bool put_attributes(storage *s, const char *name, const char *text, error *err)
{
    txn *x = txn_new(s, NULL, DURABILITY_DISK);
    commit_result result;
    bool ok = txn_put_attributes(x, name, text, strlen(text), err) && txn_commit(x, &result, err);

    txn_free(x);
    return ok;
}

static void check_attributes(storage *s, const char *name, const char *expected)
{
    snapshot *now = storage_snapshot(s);
    error err = {0};
    buffer *text = entry_attributes(s, find(now, name), &err);

    assert_non_null(text);
    assert_string_equal(buffer_bytes(text), expected);
    buffer_unref(text);
    snapshot_unref(now);
}

static void attributes_stay_when_the_value_is_replaced(void **state)
{
    place *p = *state;
    error err = {0};
    snapshot *now;

    assert_false(put_attributes(p->s, "x", "{\"unit\":\"m\"}", &err));
    assert_int_equal(err.kind, ERR_NOT_FOUND);
    error_clear(&err);
    put_vector(p->s, "x", LARGE, 1, &err);
    check_attributes(p->s, "x", "{}");
    assert_true(put_attributes(p->s, "x", "{\"unit\":\"m\"}", &err));
    put_vector(p->s, "x", LARGE, 2, &err);
    place_reopen(p);
    check_attributes(p->s, "x", "{\"unit\":\"m\"}");
    assert_true(put_attributes(p->s, "x", "{\"unit\":\"km\"}", &err));
    place_reopen(p);
    check_attributes(p->s, "x", "{\"unit\":\"km\"}");
    assert_true(has_vector(p->s, "x", LARGE, 2));
    now = storage_snapshot(p->s);
    assert_int_equal(find(now, "x")->version, 2);
    assert_int_equal(find(now, "x")->commit, 4);
    snapshot_unref(now);
    assert_true(delete_name(p->s, "x", &err));
    put_vector(p->s, "x", SMALL, 3, &err);
    check_attributes(p->s, "x", "{}");
}

/* ---- Snapshots ------------------------------------------------------------------------- */

static void a_snapshot_keeps_what_is_replaced_or_deleted(void **state)
{
    place *p = *state;
    error err = {0};
    snapshot *before;
    tensor a, b;

    put_vector(p->s, "small", SMALL, 1, &err);
    put_vector(p->s, "large", LARGE, 1, &err);
    before = storage_snapshot(p->s);
    put_vector(p->s, "small", SMALL, 2, &err);
    assert_true(delete_name(p->s, "large", &err));
    usleep(200000); /* garbage is removed meanwhile, but not this */
    assert_true(entry_tensor(p->s, find(before, "small"), &a, &err));
    assert_true(entry_tensor(p->s, find(before, "large"), &b, &err));
    snapshot_unref(before);
    assert_true(scratch_files_become(p->path, "arrays", 0));
    assert_true(is_vector(&a, SMALL, 1)); /* tensors need no snapshot */
    assert_true(is_vector(&b, LARGE, 1));
    tensor_unref(&a);
    tensor_unref(&b);
}

static void old_files_go_when_nobody_has_them(void **state)
{
    place *p = *state;
    error err = {0};

    for (int i = 0; i < 5; i++)
        put_vector(p->s, "x", LARGE, i, &err);
    assert_true(scratch_files_become(p->path, "arrays", 1));
    assert_true(delete_name(p->s, "x", &err));
    place_reopen(p);
    assert_int_equal(scratch_files(p->path, "arrays"), 0);
}

static void lists_are_pages_in_order_of_names(void **state)
{
    static const char *const names[] = {"b", "aa", "ab", "a", "ac", "_", "zz"};
    place *p = *state;
    const entry *found[8];
    error err = {0};
    snapshot *now;

    for (size_t i = 0; i < 7; i++)
        put_vector(p->s, names[i], 1, 0, &err);
    put_graph(p->s, "aba", "{}", &err);
    place_reopen(p);
    now = storage_snapshot(p->s);
    assert_int_equal(snapshot_list(now, ENTRY_VARIABLE, "a", "", found, 8), 4);
    assert_string_equal(found[0]->name, "a");
    assert_string_equal(found[3]->name, "ac");
    assert_int_equal(snapshot_list(now, ENTRY_VARIABLE, "a", "aa", found, 1), 1);
    assert_string_equal(found[0]->name, "ab");
    assert_int_equal(snapshot_list(now, ENTRY_VARIABLE, "a", "ac", found, 8), 0);
    assert_int_equal(snapshot_list(now, ENTRY_VARIABLE, "", "", found, 8), 7);
    assert_string_equal(found[0]->name, "_");
    assert_int_equal(snapshot_list(now, ENTRY_GRAPH, "", "", found, 8), 1);
    snapshot_unref(now);
}

/* The names of a list, with blanks between. */
static const char *listed(const snapshot *n, const char *prefix, const char *after, size_t room)
{
    static char names[128];
    const entry *found[8];
    const size_t count = snapshot_list(n, ENTRY_VARIABLE, prefix, after, found, room);

    names[0] = '\0';
    for (size_t i = 0; i < count; i++)
        strcat(strcat(names, i == 0 ? "" : " "), found[i]->name);
    return names;
}

static void a_snapshot_within_prefixes_has_only_names_that_begin_so(void **state)
{
    static const char *const names[] = {"a", "ab", "abc", "b", "lab", "lab_x", "lab_y", "m", "z_1"};
    place *p = *state;
    error err = {0};
    snapshot *now, *part;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        put_vector(p->s, names[i], 1, 0, &err);
    put_graph(p->s, "lab_g", "{}", &err);
    now = storage_snapshot(p->s);
    part = snapshot_within(now, "z_,lab_,ab,lab_x");
    snapshot_unref(now);
    assert_null(snapshot_find(part, "a"));
    assert_null(snapshot_find(part, "lab"));
    assert_non_null(snapshot_find(part, "ab"));
    assert_non_null(snapshot_find(part, "lab_y"));
    assert_null(snapshot_find_version(part, "b", 1));
    assert_string_equal(listed(part, "", "", 8), "ab abc lab_x lab_y z_1");
    assert_string_equal(listed(part, "", "abc", 8), "lab_x lab_y z_1");
    assert_string_equal(listed(part, "", "a", 2), "ab abc");
    assert_string_equal(listed(part, "l", "", 8), "lab_x lab_y");
    assert_string_equal(listed(part, "lab_x", "", 8), "lab_x");
    assert_string_equal(listed(part, "m", "", 8), "");
    assert_int_equal(snapshot_count(part, ENTRY_VARIABLE), 5);
    assert_int_equal(snapshot_count(part, ENTRY_GRAPH), 1);
    assert_int_equal(snapshot_count_prefix(part, ENTRY_VARIABLE, "l"), 2);
    assert_int_equal(snapshot_count_prefix(part, ENTRY_VARIABLE, "lab_x"), 1);
    assert_int_equal(snapshot_count_prefix(part, ENTRY_VARIABLE, "b"), 0);
    snapshot_unref(part);
}

/* ---- Transactions ------------------------------------------------------------------------ */

static void all_of_a_transaction_is_visible_at_once(void **state)
{
    place *p = *state;
    tensor t = vector_of(SMALL, 1);
    txn *x = txn_new(p->s, NULL, DURABILITY_DISK);
    commit_result result;
    error err = {0};

    put_vector(p->s, "old", SMALL, 0, &err);
    assert_true(txn_put_tensor(x, "a", &t, FORM_AUTO, &err));
    assert_true(txn_put_tensor(x, "b", &t, FORM_MEMMAP, &err));
    txn_delete(x, "old");
    assert_false(has_name(p->s, "a"));
    assert_true(txn_commit(x, &result, &err));
    assert_int_equal(result.commit, 2);
    assert_int_equal(result.count, 3);
    assert_string_equal(result.names[0].name, "a");
    assert_true(result.names[1].created && !result.names[1].deleted);
    assert_int_equal(result.names[1].version, 1);
    assert_true(result.names[2].deleted);
    txn_free(x);
    tensor_unref(&t);
    assert_true(has_name(p->s, "a") && has_name(p->s, "b") && !has_name(p->s, "old"));
}

static void one_failing_name_fails_the_whole_transaction(void **state)
{
    place *p = *state;
    tensor t = vector_of(LARGE, 1);
    txn *x = txn_new(p->s, NULL, DURABILITY_DISK);
    commit_result result;
    error err = {0};

    assert_true(txn_put_tensor(x, "a", &t, FORM_AUTO, &err));
    txn_delete(x, "missing");
    assert_false(txn_commit(x, &result, &err));
    assert_int_equal(err.kind, ERR_NOT_FOUND);
    txn_free(x);
    tensor_unref(&t);
    assert_false(has_name(p->s, "a"));
    assert_true(scratch_files_become(p->path, "arrays", 0));
    error_clear(&err);
    assert_int_equal(put_vector(p->s, "a", 1, 1, &err), 1);
}

static bool commit_expecting(storage *s, int64_t commit, error *err)
{
    tensor t = vector_of(SMALL, 1);
    txn *x = txn_new(s, NULL, DURABILITY_DISK);
    commit_result result;
    bool ok;

    error_clear(err);
    txn_expect(x, "x", commit, ERR_PRECONDITION);
    ok = txn_put_tensor(x, "x", &t, FORM_AUTO, err) && txn_commit(x, &result, err);
    txn_free(x);
    tensor_unref(&t);
    return ok;
}

static void a_transaction_within_prefixes_changes_no_other_name(void **state)
{
    place *p = *state;
    error err = {0};
    snapshot *now, *part;
    commit_result result;

    put_vector(p->s, "other", 1, 0, &err);
    now = storage_snapshot(p->s);
    part = snapshot_within(now, "lab_");
    for (int i = 0; i < 5; i++) {
        txn *x = txn_new(p->s, part, DURABILITY_DISK);

        error_clear(&err);
        assert_null(txn_read(x, "other")); /* as if it did not exist, also at commit */
        txn_expect(x, "other", EXPECT_ABSENT, ERR_PRECONDITION);
        assert_true(txn_put_graph(x, "lab_g", "{}", 2, &err));
        assert_true(txn_put_text(x, ".own", "", 0, &err));
        if (i == 0)
            assert_true(txn_put_graph(x, "other", "{}", 2, &err));
        else if (i == 1)
            assert_true(txn_put_graph(x, "new", "{}", 2, &err));
        else if (i == 2)
            txn_delete(x, "other");
        else if (i == 3)
            assert_true(txn_put_attributes(x, "other", "{}", 2, &err));
        assert_int_equal(txn_commit(x, &result, &err), i == 4);
        if (i < 4) {
            assert_int_equal(err.kind, ERR_FORBIDDEN);
            assert_non_null(strstr(err.detail, "lab_"));
        }
        txn_free(x);
    }
    snapshot_unref(part);
    snapshot_unref(now);
    now = storage_snapshot(p->s);
    assert_int_equal(snapshot_count(now, ENTRY_VARIABLE), 1);
    assert_int_equal(snapshot_count(now, ENTRY_GRAPH), 1);
    snapshot_unref(now);
}

static void preconditions_are_those_of_the_moment_of_commit(void **state)
{
    place *p = *state;
    error err = {0};

    assert_false(commit_expecting(p->s, EXPECT_PRESENT, &err));
    assert_int_equal(err.kind, ERR_PRECONDITION);
    assert_true(commit_expecting(p->s, EXPECT_ABSENT, &err));
    assert_false(commit_expecting(p->s, EXPECT_ABSENT, &err));
    assert_true(commit_expecting(p->s, EXPECT_PRESENT, &err));
    assert_false(commit_expecting(p->s, 1, &err));
    assert_int_equal(err.kind, ERR_PRECONDITION);
    assert_true(commit_expecting(p->s, 2, &err));
}

static void what_was_read_must_not_have_changed(void **state)
{
    place *p = *state;
    tensor t = vector_of(SMALL, 1);
    txn *x, *y;
    commit_result result;
    error err = {0};

    put_vector(p->s, "x", SMALL, 1, &err);
    x = txn_new(p->s, NULL, DURABILITY_DISK);
    y = txn_new(p->s, NULL, DURABILITY_DISK);
    assert_non_null(txn_read(x, "x"));
    assert_null(txn_read(y, "new"));
    assert_true(txn_put_tensor(x, "sum", &t, FORM_AUTO, &err));
    put_vector(p->s, "x", SMALL, 2, &err);
    put_vector(p->s, "new", SMALL, 2, &err);
    assert_false(txn_commit(x, &result, &err));
    assert_int_equal(err.kind, ERR_CONFLICT);
    error_clear(&err);
    assert_false(txn_commit(y, &result, &err)); /* also one that changes nothing */
    assert_int_equal(err.kind, ERR_CONFLICT);
    txn_free(x);
    txn_free(y);
    tensor_unref(&t);
}

static void the_last_change_of_a_name_counts(void **state)
{
    place *p = *state;
    tensor t = vector_of(LARGE, 1), u = vector_of(LARGE, 2);
    txn *x = txn_new(p->s, NULL, DURABILITY_DISK);
    commit_result result;
    error err = {0};

    assert_true(txn_put_tensor(x, "a", &t, FORM_AUTO, &err));
    txn_delete(x, "a");
    assert_true(txn_put_tensor(x, "a", &u, FORM_AUTO, &err));
    assert_true(txn_commit(x, &result, &err));
    assert_int_equal(result.count, 1);
    txn_free(x);
    assert_true(has_vector(p->s, "a", LARGE, 2));
    assert_true(scratch_files_become(p->path, "arrays", 1));
    tensor_unref(&t);
    tensor_unref(&u);
}

static void entity_tags_never_repeat(void **state)
{
    place *p = *state;
    char before[ENTRY_ETAG], after[ENTRY_ETAG], with_format[ENTRY_ETAG + 8];
    error err = {0};

    storage_etag(p->s, put_vector(p->s, "x", 1, 0, &err), before);
    delete_name(p->s, "x", &err);
    place_reopen(p);
    storage_etag(p->s, put_vector(p->s, "x", 1, 0, &err), after);
    assert_string_not_equal(before, after);
    assert_int_equal(storage_etag_commit(p->s, after, strlen(after)), 3);
    snprintf(with_format, sizeof with_format, "%s.npy", after);
    assert_int_equal(storage_etag_commit(p->s, with_format, strlen(with_format)), 3);
    assert_int_equal(storage_etag_commit(p->s, "00000000-3", 10), -1);
    assert_int_equal(storage_etag_commit(p->s, after, 9), -1);
    assert_int_equal(storage_etag_commit(p->s, "", 0), -1);
}

/* ---- Durability ------------------------------------------------------------------------- */

static bool put_with(storage *s, durability d, const char *name, double first)
{
    tensor t = vector_of(LARGE / 10, first);
    txn *x = txn_new(s, NULL, d);
    commit_result result;
    error err = {0};
    bool ok = txn_put_tensor(x, name, &t, FORM_AUTO, &err) && txn_commit(x, &result, &err);

    txn_free(x);
    tensor_unref(&t);
    return ok;
}

static void memory_is_forgotten_at_restart_with_what_was_there(void **state)
{
    place *p = *state;
    snapshot *now;

    assert_true(put_with(p->s, DURABILITY_DISK, "x", 1));
    assert_true(put_with(p->s, DURABILITY_MEMORY, "x", 2));
    assert_true(put_with(p->s, DURABILITY_MEMORY, "y", 3));
    assert_true(put_with(p->s, DURABILITY_MEMORY, "z", 4));
    assert_true(put_with(p->s, DURABILITY_DISK, "z", 5));
    now = storage_snapshot(p->s);
    assert_true(entry_is_volatile(find(now, "x")));
    assert_int_equal(entry_form(find(now, "x")), FORM_INLINE);
    assert_false(entry_is_volatile(find(now, "z")));
    snapshot_unref(now);
    assert_true(has_vector(p->s, "x", LARGE / 10, 2));
    place_reopen(p);
    assert_false(has_name(p->s, "x"));
    assert_false(has_name(p->s, "y"));
    assert_true(has_vector(p->s, "z", LARGE / 10, 5));
    assert_int_equal(scratch_files(p->path, "arrays"), 1);
}

static void process_survives_an_orderly_end(void **state)
{
    place *p = *state;

    assert_true(put_with(p->s, DURABILITY_PROCESS, "x", 1));
    assert_true(put_with(p->s, DURABILITY_PROCESS, "x", 2));
    place_reopen(p);
    assert_true(has_vector(p->s, "x", LARGE / 10, 2));
}

/* ---- What is hidden -------------------------------------------------------------------- */

static void what_is_hidden_is_kept_but_neither_listed_nor_counted(void **state)
{
    place *p = *state;
    tensor t = vector_of(LARGE, 3);
    const entry *found[4];
    commit_result done;
    error err = {0};
    snapshot *now;
    txn *x = txn_new(p->s, NULL, DURABILITY_DISK);

    assert_true(txn_put_tensor(x, ".h/large", &t, FORM_AUTO, &err));
    assert_true(txn_put_text(x, ".h", "said", 4, &err));
    assert_true(txn_commit(x, &done, &err));
    assert_true(done.names[0].hidden && done.names[1].hidden);
    txn_free(x);
    tensor_unref(&t);
    assert_true(put_vector(p->s, "seen", SMALL, 1, &err) > 0);
    for (int i = 0; i < 2; i++) {
        buffer *text;

        now = storage_snapshot(p->s);
        assert_int_equal(snapshot_count(now, ENTRY_VARIABLE), 1);
        assert_int_equal(snapshot_list(now, ENTRY_VARIABLE, "", "", found, 4), 1);
        assert_int_equal(snapshot_list(now, ENTRY_HIDDEN, ".h/", "", found, 4), 1);
        text = entry_text(p->s, find(now, ".h"), &err);
        assert_string_equal(buffer_bytes(text), "said");
        buffer_unref(text);
        assert_true(entry_tensor(p->s, found[0], &t, &err));
        assert_true(is_vector(&t, LARGE, 3));
        tensor_unref(&t);
        snapshot_unref(now);
        place_reopen(p);
    }
}

/* The commit and the versions of the names that are not hidden. */
static void tell(void *context, const commit_result *done, text *to)
{
    *(int *)context += 1;
    text_addf(to, "%d", (int)done->commit);
    for (size_t i = 0; i < done->count; i++)
        if (!done->names[i].hidden)
            text_addf(to, " %s:%d", done->names[i].name, (int)done->names[i].version);
}

static void a_receipt_tells_what_the_commit_did(void **state)
{
    place *p = *state;
    commit_result done;
    error err = {0};
    int calls = 0;

    assert_int_equal(put_vector(p->s, "b", SMALL, 1, &err), 1);
    for (int i = 0; i < 2; i++) {
        char expected[32];
        snapshot *now;
        buffer *text;
        tensor t = vector_of(SMALL, 0);
        txn *x = txn_new(p->s, NULL, DURABILITY_DISK);

        txn_put_receipt(x, ".r", tell, &calls); /* before what it tells */
        assert_true(txn_put_tensor(x, "a", &t, FORM_AUTO, &err));
        assert_true(txn_put_tensor(x, "b", &t, FORM_AUTO, &err));
        assert_true(txn_commit(x, &done, &err));
        txn_free(x);
        tensor_unref(&t);
        place_reopen(p);
        now = storage_snapshot(p->s);
        text = entry_text(p->s, find(now, ".r"), &err);
        snprintf(expected, sizeof expected, "%d a:%d b:%d", 2 + i, 1 + i, 2 + i);
        assert_string_equal(buffer_bytes(text), expected);
        buffer_unref(text);
        snapshot_unref(now);
    }
    assert_int_equal(calls, 2);
}

static void a_receipt_of_what_was_refused_is_not_kept(void **state)
{
    place *p = *state;
    commit_result done;
    error err = {0};
    int calls = 0;
    txn *x = txn_new(p->s, NULL, DURABILITY_DISK);

    txn_put_receipt(x, ".r", tell, &calls);
    txn_expect(x, "a", EXPECT_PRESENT, ERR_PRECONDITION);
    assert_false(txn_commit(x, &done, &err));
    txn_free(x);
    assert_false(has_name(p->s, ".r"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, place_set_up, place_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_value_is_there_after_commit_and_after_restart),
        TEST(the_log_of_the_index_is_begun_anew),
        TEST(an_entry_says_what_was_stored),
        TEST(the_form_can_be_asked_for),
        TEST(strided_tensors_are_stored_densely),
        TEST(every_dtype_and_odd_shapes_come_back),
        TEST(an_array_may_arrive_in_pieces_of_any_size),
        TEST(an_array_with_missing_bytes_is_refused),
        TEST(files_are_npy_files_with_data_at_4096),
        TEST(graphs_are_texts_and_share_names_with_variables),
        TEST(attributes_stay_when_the_value_is_replaced),
        TEST(a_snapshot_keeps_what_is_replaced_or_deleted),
        TEST(old_files_go_when_nobody_has_them),
        TEST(lists_are_pages_in_order_of_names),
        TEST(a_snapshot_within_prefixes_has_only_names_that_begin_so),
        TEST(all_of_a_transaction_is_visible_at_once),
        TEST(one_failing_name_fails_the_whole_transaction),
        TEST(a_transaction_within_prefixes_changes_no_other_name),
        TEST(preconditions_are_those_of_the_moment_of_commit),
        TEST(what_was_read_must_not_have_changed),
        TEST(the_last_change_of_a_name_counts),
        TEST(entity_tags_never_repeat),
        TEST(memory_is_forgotten_at_restart_with_what_was_there),
        TEST(process_survives_an_orderly_end),
        TEST(what_is_hidden_is_kept_but_neither_listed_nor_counted),
        TEST(a_receipt_tells_what_the_commit_did),
        TEST(a_receipt_of_what_was_refused_is_not_kept),
    };

    return cmocka_run_group_tests_name("storage", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/storing.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void die(const char *what, const error *err)
{
    fprintf(stderr, "%s: %s\n", what, err->detail);
    exit(1);
}

/* ---- Directories --------------------------------------------------------------- */

char *scratch_new(void)
{
    const char *base = getenv("TMPDIR");
    char *path = NULL;

    if (asprintf(&path, "%s/tensord-test-XXXXXX", base == NULL ? "/tmp" : base) < 0 ||
        mkdtemp(path) == NULL)
        exit(1);
    return path;
}

static int remove_one(const char *path, const struct stat *s, int type, struct FTW *at)
{
    (void)s;
    (void)type;
    (void)at;
    return remove(path);
}

void scratch_remove(char *path)
{
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(path);
}

static int files;

static int count_one(const char *path, const struct stat *s, int type, struct FTW *at)
{
    (void)path;
    (void)s;
    (void)at;
    files += type == FTW_F;
    return 0;
}

int scratch_files(const char *path, const char *directory)
{
    char *full = NULL;

    files = 0;
    if (asprintf(&full, "%s/%s", path, directory) < 0)
        exit(1);
    nftw(full, count_one, 16, FTW_PHYS);
    free(full);
    return files;
}

bool scratch_files_become(const char *path, const char *directory, int n)
{
    for (int i = 0; i < 1000; i++) {
        if (scratch_files(path, directory) == n)
            return true;
        usleep(10000);
    }
    return false;
}

/* ---- Storage ------------------------------------------------------------------- */

storage *open_or_fail(const char *path)
{
    storage_options options = storage_options_default(path);
    error err = {0};
    storage *s = storage_open(&options, &err);

    if (s == NULL)
        die("storage_open", &err);
    return s;
}

tensor vector_of(int64_t n, double first)
{
    const shape flat = {.rank = 1, .length = {n}};
    error err = {0};
    tensor t;
    double *x;

    if (!tensor_new(&t, NULL, DT_F64, &flat, &err))
        die("tensor_new", &err);
    x = tensor_bytes(&t);
    for (int64_t i = 0; i < n; i++)
        x[i] = first + (double)i;
    return t;
}

bool is_vector(const tensor *t, int64_t n, double first)
{
    const double *x = tensor_bytes(t);

    if (t->dtype != DT_F64 || t->shape.rank != 1 || t->shape.length[0] != n)
        return false;
    for (int64_t i = 0; i < n; i++)
        if (x[i] != first + (double)i)
            return false;
    return true;
}

int64_t put_vector(storage *s, const char *name, int64_t n, double first, error *err)
{
    tensor t = vector_of(n, first);
    txn *x = txn_new(s, NULL, DURABILITY_DISK);
    commit_result result = {.commit = -1};

    if (!txn_put_tensor(x, name, &t, FORM_AUTO, err) || !txn_commit(x, &result, err))
        result.commit = -1;
    txn_free(x);
    tensor_unref(&t);
    return result.commit;
}

void put_chunked(storage *s, const char *name, int64_t n, double first)
{
    tensor t = vector_of(n, first);
    txn *x = txn_new(s, NULL, DURABILITY_DISK);
    commit_result result;
    error err = {0};

    if (!txn_put_tensor(x, name, &t, FORM_CHUNKED, &err) || !txn_commit(x, &result, &err))
        die(name, &err);
    txn_free(x);
    tensor_unref(&t);
}

bool patch_vector(storage *s, const char *name, int64_t from, int64_t n, double first, error *err)
{
    txn *x = txn_new(s, NULL, DURABILITY_DISK);
    tensor value = vector_of(n, first), part = value;
    commit_result result;
    bool ok;

    part.buf = NULL;
    part.offset = from;
    ok = txn_patch(x, txn_read(x, name), &part, &value, err) && txn_commit(x, &result, err);
    txn_free(x);
    tensor_unref(&value);
    return ok;
}

tensor read_vector(storage *s, const char *name)
{
    snapshot *now = storage_snapshot(s);
    const entry *e = snapshot_find(now, name);
    error err = {0};
    tensor t = {0};

    if (e == NULL || !entry_tensor(s, e, &t, &err))
        die(name, &err);
    snapshot_unref(now);
    return t;
}

bool delete_name(storage *s, const char *name, error *err)
{
    txn *x = txn_new(s, NULL, DURABILITY_DISK);
    commit_result result;
    bool ok;

    txn_delete(x, name);
    ok = txn_commit(x, &result, err);
    txn_free(x);
    return ok;
}

bool has_vector(storage *s, const char *name, int64_t n, double first)
{
    snapshot *now = storage_snapshot(s);
    const entry *e = snapshot_find(now, name);
    error err = {0};
    tensor t;
    bool same = e != NULL && entry_tensor(s, e, &t, &err);

    snapshot_unref(now);
    if (!same)
        return false;
    same = is_vector(&t, n, first);
    tensor_unref(&t);
    return same;
}

bool has_name(storage *s, const char *name)
{
    snapshot *now = storage_snapshot(s);
    bool found = snapshot_find(now, name) != NULL;

    snapshot_unref(now);
    return found;
}

int place_set_up(void **state)
{
    place *p = calloc(1, sizeof *p);

    p->path = scratch_new();
    p->s = open_or_fail(p->path);
    *state = p;
    return 0;
}

int place_tear_down(void **state)
{
    place *p = *state;

    storage_close(p->s);
    scratch_remove(p->path);
    free(p);
    return 0;
}

void place_reopen(place *p)
{
    storage_close(p->s);
    p->s = open_or_fail(p->path);
}

unsigned number_said(const char *variable, unsigned fallback)
{
    const char *given = getenv(variable);

    return given != NULL ? (unsigned)strtoul(given, NULL, 10) : fallback;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The power is cut at any moment of a session, as often as STATES says: storage opens what is left,
 * finds every value whole, and all names are as some commit left them, at least the last one that
 * was answered and that was to be on the disk.
 *
 * Before half of them, the disk fails as well, at any call of the first start, once or from then
 * on: that start may be refused, but what it opens is one of those states, and the next start finds
 * everything.
 *
 * No power is cut in truth: what a disk may hold is worked out from what was done to it
 * (tests/lib/power.h). test_mutants.py puts broken storages through this program. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/crc32c.h"
#include "engine/base/log.h"
#include "tests/lib/faulty_vfs.h"
#include "tests/lib/power.h"
#include "tests/lib/storing.h"

enum {
    SESSIONS = 3,
    STEPS = 30,
    NAMES = 5,
    SMALL = 20,
    LARGE = 20000,
    LONG = 300000,
    STATES = 400,
    STRIDE = 1000,
    UNREADABLE = -2 /* in the place of a number of elements */
};

static const char *const names[NAMES] = {"small", "large", "twin", "victim", "chunks"};

/* What a name stands for; -1 elements: nothing. */
typedef struct value {
    int64_t n;
    uint32_t crc;
} value;

/* All names after a number of steps. */
typedef struct state {
    value values[NAMES];
} state;

static state states[SESSIONS * STEPS + 1];
static int steps; /* begun so far */

/* Marks: a step begins, is answered, or is answered and on the disk. */
enum { BEGUN, ANSWERED, ON_DISK };

/* ---- A session ---------------------------------------------------------------------------------
 */

static value value_of(const tensor *t)
{
    return (value){t->shape.length[0], crc32c(0, tensor_bytes(t), (size_t)t->shape.length[0] * 8)};
}

static value value_now(storage *s, const char *name)
{
    snapshot *now = storage_snapshot(s);
    const entry *e = snapshot_find(now, name);
    value v = {.n = e == NULL ? -1 : UNREADABLE};
    error err = {0};
    tensor t;

    if (e != NULL && entry_tensor(s, e, &t, &err)) {
        v = value_of(&t);
        tensor_unref(&t);
    }
    snapshot_unref(now);
    return v;
}

static bool put(txn *x, const char *name, int64_t n, int step, storage_form form, error *err)
{
    tensor t = vector_of(n, step * 1e6);
    const bool ok = txn_put_tensor(x, name, &t, form, err);

    tensor_unref(&t);
    return ok;
}

/* Values that belong together: a small one, a large one, and a part of the chunked one. */
static bool change_all(txn *x, int step, error *err)
{
    const int64_t n = 1 + random() % 1000, at = random() % (LONG - n);
    tensor t = vector_of(n, step), part = t;
    bool ok;

    part.offset = at;
    ok = put(x, "small", SMALL, step, FORM_AUTO, err) &&
         put(x, "large", LARGE, step, FORM_AUTO, err) &&
         txn_patch(x, txn_read(x, "chunks"), &part, &t, err);
    tensor_unref(&t);
    return ok;
}

static bool grow(txn *x, int step, error *err)
{
    tensor more = vector_of(LARGE, step);
    const bool ok = txn_append(x, txn_read(x, step % 2 == 0 ? "chunks" : "large"), &more, 0, err);

    tensor_unref(&more);
    return ok;
}

/* The victim goes and comes, with a twin that tells of it. */
static bool replace_victim(txn *x, int step, error *err)
{
    if (txn_read(x, "victim") != NULL)
        txn_delete(x, "victim");
    else if (!put(x, "victim", LARGE, step, FORM_AUTO, err))
        return false;
    return put(x, "twin", SMALL, step, FORM_AUTO, err);
}

static bool change(txn *x, int step, error *err)
{
    if (step == 1 || random() % 12 == 0)
        return put(x, "chunks", LONG, step, FORM_CHUNKED, err) &&
               put(x, "large", LARGE, step, FORM_AUTO, err);
    switch (random() % 4) {
    case 0:
        return grow(x, step, err);
    case 1:
        return replace_victim(x, step, err);
    default:
        return change_all(x, step, err);
    }
}

static void take_step(storage *s, power *p)
{
    const int step = ++steps;
    const durability d = step > 1 && random() % 3 == 0 ? DURABILITY_PROCESS : DURABILITY_DISK;
    commit_result result;
    error err = {0};
    txn *x;

    power_mark(p, BEGUN * STRIDE + step);
    x = txn_new(s, NULL, d);
    if (!change(x, step, &err) || !txn_commit(x, &result, &err)) {
        printf("step %d: %s\n", step, err.detail);
        exit(2);
    }
    txn_free(x);
    power_mark(p, (d == DURABILITY_DISK ? ON_DISK : ANSWERED) * STRIDE + step);
    for (int i = 0; i < NAMES; i++)
        states[step].values[i] = value_now(s, names[i]);
    if (random() % 4 == 0) /* so that what is garbage goes in between */
        usleep(60000);
}

static void run_session(const char *path, power *p)
{
    storage_options options = storage_options_default(path);
    error err = {0};
    storage *s;

    options.vfs = power_vfs(p);
    options.wal_bytes_max = 60000; /* the log is begun anew often: else its growth hides faults */
    s = storage_open(&options, &err);
    if (s == NULL) {
        printf("%s\n", err.detail);
        exit(2);
    }
    for (int i = 0; i < STEPS; i++)
        take_step(s, p);
    storage_close(s);
}

/* ---- What is left
 * ---------------------------------------------------------------------------------- */

static int least, most; /* steps that must be there, and that may */

static void hear(void *context, int64_t mark)
{
    const int step = (int)(mark % STRIDE);

    (void)context;
    if (mark / STRIDE == BEGUN)
        most = step;
    if (mark / STRIDE == ON_DISK)
        least = step;
}

static void tell(void *context, const char *name, const error *why)
{
    printf("%s: %s\n", name, why->detail);
    *(bool *)context = true;
}

static bool is_state(const state *found_now, int step, bool all_readable)
{
    for (int i = 0; i < NAMES; i++) {
        const value found = found_now->values[i], want = states[step].values[i];

        if (found.n == UNREADABLE && want.n >= 0 && !all_readable)
            continue;
        if (found.n != want.n || (want.n >= 0 && found.crc != want.crc))
            return false;
    }
    return true;
}

static bool is_some_state(storage *s, bool all_readable)
{
    state now;

    for (int i = 0; i < NAMES; i++)
        now.values[i] = value_now(s, names[i]);
    for (int step = least; step <= most; step++)
        if (is_state(&now, step, all_readable))
            return true;
    printf("lost or torn: no commit from %d to %d left the names so\n", least, most);
    return false;
}

static int hindered,
    refused; /* starts with a disk that fails, and those that it kept from opening */

/* How a disk may fail while storage starts. */
static void fail_somewhere(faulty_vfs *f)
{
    static const int failures[] = {EIO, EIO, ENOSPC, EMFILE};
    /* some hundred calls are usual; the first ones do most */
    const int64_t n = 1 + random() % (random() % 2 == 0 ? 30 : 300);

    faulty_fail(f, n, failures[random() % 4], random() % 2 == 0);
}

/* Starts on a disk that fails, heals it, looks, and stops (or not in order, if it fails again).
 * Whether what opened was whole; what that left is for check. */
static bool start_hindered(const char *path)
{
    storage_options options = storage_options_default(path);
    error err = {0};
    faulty_vfs f;
    storage *s;
    bool ok;

    faulty_init(&f);
    options.vfs = &f.vfs;
    fail_somewhere(&f);
    s = storage_open(&options, &err);
    hindered++;
    refused += s == NULL;
    faulty_heal(&f);
    ok = s == NULL || is_some_state(s, false);
    if (random() % 2 == 0)
        fail_somewhere(&f);
    storage_close(s);
    faulty_clear(&f);
    return ok;
}

/* Whether all is well; and whether storage goes on from there. */
static bool check(const char *path)
{
    storage_options options = storage_options_default(path);
    storage_findings findings;
    bool damaged = false, ok;
    error err = {0};
    storage *s = storage_open(&options, &err);

    if (s == NULL) {
        printf("lost or torn: it does not open: %s\n", err.detail);
        return false;
    }
    ok = storage_check(s, tell, &damaged, &findings, &err);
    if (!ok || damaged)
        printf("lost or torn: values are damaged %s\n", err.detail);
    ok = ok && !damaged && is_some_state(s, true) && put_vector(s, "small", LARGE, 1, &err) > 0 &&
         has_vector(s, "small", LARGE, 1);
    storage_close(s);
    return ok;
}

static int compare(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* Cuts at so many moments, in the order of time; how many went wrong. */
static int cut_often(power *p, int cuts, bool stop_at_first)
{
    int64_t *moments = malloc((size_t)cuts * sizeof *moments);
    int faults = 0;

    for (int i = 0; i < cuts; i++)
        moments[i] = random() % (power_events(p) + 1);
    qsort(moments, (size_t)cuts, sizeof *moments, compare);
    for (int i = 0; i < cuts && !(stop_at_first && faults > 0); i++) {
        char *left = scratch_new();

        power_go(p, moments[i], hear, NULL);
        power_cut(p, left);
        if ((i % 2 == 1 && !start_hindered(left)) || !check(left)) {
            printf("after event %" PRId64 " of %" PRId64 "\n", moments[i], power_events(p));
            faults++;
        }
        scratch_remove(left);
    }
    free(moments);
    return faults;
}

int main(void)
{
    const unsigned seed = number_said("SEED", (unsigned)time(NULL)),
                   cuts = number_said("STATES", STATES);
    char *path;
    power *p;
    int faults;

    if (getenv("TMPDIR") == NULL && access("/dev/shm", W_OK) == 0)
        setenv("TMPDIR", "/dev/shm", 1);
    log_set_level(LOG_ERROR);
    printf("note: seed %u (SEED=%u repeats it)\n", seed, seed);
    srandom(seed);
    for (int i = 0; i < NAMES; i++)
        states[0].values[i].n = -1;
    path = scratch_new();
    p = power_new(path);
    for (int i = 0; i < SESSIONS; i++)
        run_session(path, p);
    faults = cut_often(p, (int)cuts, getenv("FIRST") != NULL);
    printf("note: %u cuts at %" PRId64
           " moments, %d lost or torn; the disk failed in %d starts, %d were refused\n",
           cuts, power_events(p), faults, hindered, refused);
    printf("%u passed, %d failed\n", cuts - (unsigned)faults, faults);
    power_free(p);
    scratch_remove(path);
    return faults > 0;
}

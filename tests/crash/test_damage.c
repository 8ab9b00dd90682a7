/* SPDX-License-Identifier: Apache-2.0 */
/* Files of a data directory are damaged, MUTATIONS times: bits, blocks, lengths, two files in each
 * other's place. Each time storage says so, of the whole or of a name, or it does not matter: no
 * value is ever another than one that was stored, and nothing crashes. */
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/crc32c.h"
#include "engine/base/log.h"
#include "tests/lib/storing.h"

enum {
    MUTATIONS = 300,
    STEPS = 8,
    NAMES = 5,
    LARGE = 20000,
    LONG = 300000,
    FILES_MAX = 64,
    BLOCK = 512
};

static const char *const names[NAMES] = {"small", "large", "chunks", "graph", "comes"};
static const char graph_text[] = "{\"program\": \"x + 1\"}",
                  attributes_text[] = "{\"unit\": \"m\"}";

/* Of each name after each step; 0: there is none. */
static uint32_t states[STEPS + 1][NAMES];

/* ---- What there is
 * -------------------------------------------------------------------------------- */

typedef enum found { SOUND, DAMAGED } found;

static uint32_t checksum(const void *bytes, size_t n, const entry *e)
{
    shape s;
    uint32_t crc = crc32c(0, bytes, n);

    entry_shape(e, &s);
    crc = crc32c(crc, s.length, (size_t)s.rank * sizeof *s.length);
    return crc32c(crc, dtype_name(entry_dtype(e)), 3) | 1;
}

static found read_text(storage *s, const entry *e, uint32_t *value, error *err)
{
    buffer *text = entry_text(s, e, err);

    if (text == NULL)
        return DAMAGED;
    *value = checksum(buffer_bytes(text), buffer_size(text) - 1, e);
    buffer_unref(text);
    return SOUND;
}

static found read_elements(storage *s, const entry *e, uint32_t *value, error *err)
{
    buffer *attributes = entry_attributes(s, e, err);
    tensor t;
    found result;

    if (attributes == NULL || !entry_tensor(s, e, &t, err)) {
        buffer_unref(attributes);
        return DAMAGED;
    }
    *value = checksum(tensor_bytes(&t), (size_t)tensor_nbytes(&t), e);
    *value = crc32c(*value, buffer_bytes(attributes), buffer_size(attributes)) | 1;
    result = buffer_is_lost(t.buf) ? DAMAGED : SOUND;
    tensor_unref(&t);
    buffer_unref(attributes);
    return result;
}

static found read_name(storage *s, const char *name, uint32_t *value)
{
    snapshot *now = storage_snapshot(s);
    const entry *e = snapshot_find(now, name);
    error err = {0};
    found result = SOUND;

    *value = 0;
    if (e != NULL)
        result = e->kind == ENTRY_GRAPH ? read_text(s, e, value, &err)
                                        : read_elements(s, e, value, &err);
    snapshot_unref(now);
    return result;
}

/* ---- What was stored
 * -------------------------------------------------------------------------------- */

static void must(bool ok, const error *err)
{
    if (ok)
        return;
    printf("preparing: %s\n", err->detail);
    exit(2);
}

static void change_names(storage *s, int step)
{
    tensor small = vector_of(10, step), large = vector_of(LARGE, step);
    txn *x = txn_new(s, NULL, DURABILITY_DISK);
    commit_result result;
    error err = {0};

    must(txn_put_tensor(x, "small", &small, FORM_AUTO, &err) &&
             txn_put_tensor(x, "large", &large, FORM_AUTO, &err) &&
             txn_put_attributes(x, "small", attributes_text, sizeof attributes_text - 1, &err) &&
             txn_put_graph(x, "graph", graph_text, sizeof graph_text - 1, &err),
         &err);
    if (step % 2 == 0)
        txn_delete(x, "comes");
    else
        must(txn_put_tensor(x, "comes", &large, FORM_AUTO, &err), &err);
    must(txn_commit(x, &result, &err), &err);
    txn_free(x);
    tensor_unref(&small);
    tensor_unref(&large);
}

static storage *fill(const char *path)
{
    storage *s = open_or_fail(path);

    for (int step = 1; step <= STEPS; step++) {
        if (step == 1)
            put_chunked(s, "chunks", LONG, 0);
        else if (step == 2)
            patch_vector(s, "chunks", LONG / 2, 10, 5, &(error){0});
        else
            change_names(s, step);
        for (int i = 0; i < NAMES; i++)
            read_name(s, names[i], &states[step][i]);
    }
    return s;
}

/* A directory with what the steps leave. */
static char *prepare(void)
{
    char *path = scratch_new();

    storage_close(fill(path));
    return path;
}

/* The same, but the process ended as if it were killed: the index has its log. */
static char *prepare_killed(void)
{
    char *path = scratch_new();
    int status;

    if (fork() == 0) {
        fill(path);
        _exit(0);
    }
    wait(&status);
    if (status != 0)
        exit(2);
    return path;
}

/* ---- Damage
 * ------------------------------------------------------------------------------------------- */

static char *files[FILES_MAX];
static int file_count;

static int collect(const char *path, const struct stat *s, int type, struct FTW *at)
{
    (void)at;
    if (type == FTW_F && s->st_size > 0 && file_count < FILES_MAX)
        files[file_count++] = strdup(path);
    return 0;
}

/* The index and its log are most of what can be damaged, so they are chosen more often. */
static char *choose_file(void)
{
    char *file = files[random() % file_count];

    for (int i = 0; i < file_count && random() % 2 == 0; i++)
        file = strstr(files[i], "/index.db") != NULL ? files[i] : file;
    return file;
}

static void damage_bytes(char *bytes, int64_t size)
{
    const int64_t at = random() % size, block = at / BLOCK * BLOCK,
                  other = random() % size / BLOCK * BLOCK;
    char kept[BLOCK];

    switch (random() % 4) {
    case 0:
        bytes[at] ^= (char)(1 << random() % 8);
        break;
    case 1:
        for (int64_t i = at; i < size && i < at + 1 + random() % BLOCK; i++)
            bytes[i] = (char)random();
        break;
    case 2:
        memset(bytes + block, 0, (size_t)(size - block < BLOCK ? size - block : BLOCK));
        break;
    default:
        if (block + BLOCK > size || other + BLOCK > size)
            break;
        memcpy(kept, bytes + block, BLOCK);
        memmove(bytes + block, bytes + other, BLOCK);
        memcpy(bytes + other, kept, BLOCK);
    }
}

static void damage_file(const char *path)
{
    int fd = open(path, O_RDWR);
    struct stat s;
    char *bytes;

    if (fd < 0 || fstat(fd, &s) != 0)
        exit(2);
    bytes = calloc(1, (size_t)s.st_size);
    if (pread(fd, bytes, (size_t)s.st_size, 0) != s.st_size)
        exit(2);
    damage_bytes(bytes, s.st_size);
    if (pwrite(fd, bytes, (size_t)s.st_size, 0) != s.st_size || close(fd) != 0)
        exit(2);
    free(bytes);
}

/* Damages one file in one way; returns its path. */
static const char *damage(void)
{
    char *file = choose_file(), *other = choose_file(), *between = NULL;
    struct stat s;

    stat(file, &s);
    switch (random() % 6) {
    case 0: /* cut, or longer */
        if (truncate(file, random() % 2 == 0 ? random() % s.st_size
                                             : s.st_size + 1 + random() % 10000) != 0)
            exit(2);
        break;
    case 1: /* two in each other's place */
        if (asprintf(&between, "%s.between", file) < 0 || rename(file, between) != 0 ||
            (file != other && rename(other, file) != 0) || rename(between, other) != 0)
            exit(2);
        free(between);
        return strstr(other, "-wal") != NULL ? other : file;
    case 2:
        if (remove(file) != 0)
            exit(2);
        break;
    default:
        damage_file(file);
    }
    return file;
}

/* ---- Looking
 * ---------------------------------------------------------------------------------------------- */

/* Whether what is sound is what a step left: the last one, or any if the log was damaged, whose end
 * may be gone without a trace. */
static bool is_some_state(storage *s, bool any)
{
    uint32_t now[NAMES];
    bool sound[NAMES];

    for (int i = 0; i < NAMES; i++)
        sound[i] = read_name(s, names[i], &now[i]) == SOUND;
    for (int step = any ? 0 : STEPS; step <= STEPS; step++) {
        bool same = true;

        for (int i = 0; i < NAMES; i++)
            same = same && (!sound[i] || now[i] == states[step][i] || (step == 0 && now[i] == 0));
        if (same)
            return true;
    }
    return false;
}

static void ignore(void *context, const char *name, const error *why)
{
    (void)name;
    (void)why;
    ++*(int *)context;
}

/* False if a value is wrong. *noticed: storage said something. */
static bool look(const char *path, bool any, bool *noticed)
{
    storage_options options = storage_options_default(path);
    storage_findings findings;
    int damaged = 0;
    error err = {0};
    storage *s = storage_open(&options, &err);
    bool ok;

    *noticed = true;
    if (s == NULL)
        return error_is_set(&err);
    ok = is_some_state(s, any);
    *noticed = !storage_check(s, ignore, &damaged, &findings, &err) || damaged > 0;
    storage_close(s);
    return ok;
}

static char *copy_of(const char *path)
{
    char *copy = scratch_new(), *command = NULL;

    if (asprintf(&command, "cp -a '%s'/. '%s'", path, copy) < 0 || system(command) != 0)
        exit(2);
    free(command);
    return copy;
}

static bool try_one(const char *original, int *noticed)
{
    char *copy = copy_of(original);
    const char *file;
    bool told, ok;

    nftw(copy, collect, 16, FTW_PHYS);
    file = damage();
    ok = look(copy, strstr(file, "-wal") != NULL, &told);
    if (!ok)
        printf("wrong values after damage of %s\n", file);
    *noticed += told;
    while (file_count > 0)
        free(files[--file_count]);
    scratch_remove(copy);
    return ok;
}

int main(void)
{
    const unsigned seed = number_said("SEED", (unsigned)time(NULL)),
                   mutations = number_said("MUTATIONS", MUTATIONS);
    char *originals[2];
    unsigned wrong = 0;
    int noticed = 0;

    if (getenv("TMPDIR") == NULL && access("/dev/shm", W_OK) == 0)
        setenv("TMPDIR", "/dev/shm", 1);
    log_set_level(LOG_ERROR);
    printf("note: seed %u (SEED=%u repeats it)\n", seed, seed);
    fflush(stdout);
    srandom(seed);
    originals[0] = prepare_killed(); /* before there are threads */
    originals[1] = prepare();
    for (unsigned i = 0; i < mutations; i++)
        wrong += !try_one(originals[i % 2], &noticed);
    printf("note: %u mutations, %d noticed, %u wrong\n", mutations, noticed, wrong);
    printf("%u passed, %u failed\n", mutations - wrong, wrong);
    scratch_remove(originals[0]);
    scratch_remove(originals[1]);
    return wrong > 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "server/routes/repeat.h"
#include "server/routes/stored.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/json.h"
#include "engine/base/log.h"
#include "engine/base/secret.h"

enum { KEY_BYTES_MAX = 255, NAME_ROOM = SHA256_DIGITS + 8, SWEEP_US = 60000000 };

static const char prefix[] = ".keys/";

struct repeat {
    char name[NAME_ROOM];
    sha256_run hash; /* of the request, its body last */
    char fingerprint[SHA256_DIGITS + 1];
    repeat *next; /* of those that run */
};

struct repeats {
    const services *services;
    pthread_mutex_t lock;
    repeat *running;
    int64_t count, next_sweep_us;
};

/* ---- Coming -------------------------------------------------------------------------------- */

static void see(void *state, const char *bytes, size_t n)
{
    sha256_add(&((repeat *)state)->hash, bytes, n);
}

static void hash_text(sha256_run *hash, const char *text)
{
    text = text == NULL ? "" : text;
    sha256_add(hash, text, strlen(text) + 1);
}

/* What makes two requests the same, besides their bodies. */
static void hash_head(sha256_run *hash, const http_request *r)
{
    static const char *const headers[] = {"Content-Type", "Tensor-Dtype",  "Tensor-Shape",
                                          "If-Match",     "If-None-Match", "Prefer"};

    sha256_start(hash);
    hash_text(hash, r->method);
    hash_text(hash, r->target);
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        hash_text(hash, http_header(r, headers[i]));
}

bool repeat_open(services *s, http_request *r, repeat **result, error *err)
{
    const char *key = http_header(r, "Idempotency-Key");
    uint8_t digest[SHA256_BYTES];
    char hex[SHA256_DIGITS + 1];
    sha256_run hash;
    repeat *k;

    (void)s;
    *result = NULL;
    if (key == NULL || strcmp(r->method, "GET") == 0 || strcmp(r->method, "HEAD") == 0)
        return true;
    if (*key == '\0' || strlen(key) > KEY_BYTES_MAX)
        return error_set(err, ERR_REQUEST, "An Idempotency-Key has 1 to %d bytes, not %zu.",
                         KEY_BYTES_MAX, strlen(key));
    k = arena_alloc(r->arena, sizeof *k);
    sha256_start(&hash);
    hash_text(&hash, route_caller(r)->id); /* each token has keys of its own */
    hash_text(&hash, key);
    sha256_end(&hash, digest);
    sha256_hex(digest, hex);
    snprintf(k->name, sizeof k->name, "%s%s", prefix, hex);
    hash_head(&k->hash, r);
    r->tap = (http_tap){.state = k, .see = see};
    *result = k;
    return true;
}

/* ---- Kept ------------------------------------------------------------------------------------ */

/* The first line of what is kept: status 0 says that there is no answer with it. */
static void add_head(const repeat *k, int64_t commit, int status, text *to)
{
    text_addf(to, "%s %" PRId64 " %d\n", k->fingerprint, commit, status);
}

/* What a commit keeps, before the answer is known. */
static void write_commit(void *context, const commit_result *done, text *to)
{
    add_head(context, done->commit, 0, to);
}

bool repeat_commit(http_request *r, txn *x, commit_result *done, error *err)
{
    repeat *k = route_repeat(r);

    if (k != NULL)
        txn_put_receipt(x, k->name, write_commit, k);
    if (!txn_commit(x, done, err))
        return false;
    stored_answer_number(r, "Tensord-Commit", done->commit);
    stored_answer_number(r, "Tensord-Snapshot", snapshot_commit(txn_base(x)));
    answer_header(r, "Tensord-Durability", stored_durability_name(txn_durability(x)));
    return true;
}

/* The commit that a request made, as its answer says; 0: none. */
static int64_t commit_of(const http_answer *a)
{
    for (size_t i = 0; i < a->headers->count; i++)
        if (strcmp(a->headers->items[i].name, "Tensord-Commit") == 0)
            return strtoll(a->headers->items[i].value, NULL, 10);
    return 0;
}

static void add_answer(const repeat *k, const http_answer *a, text *to)
{
    add_head(k, commit_of(a), a->status, to);
    text_addf(to, "%s\n", a->media == NULL ? "" : a->media);
    for (size_t i = 0; i < a->headers->count; i++)
        text_addf(to, "%s %s\n", a->headers->items[i].name, a->headers->items[i].value);
    text_add_char(to, '\n');
    if (a->n > 0)
        text_add_bytes(to, a->bytes, a->n);
}

/* Lets a transaction remove the keys whose time is over, and counts the others. */
static void sweep(repeats *rs, txn *x)
{
    enum { PAGE = 256 };
    const int64_t oldest_us = clock_date_us() - rs->services->config->idempotency_keep_time;
    const entry *page[PAGE];
    const char *after = "";
    int64_t left = 0;
    size_t count;

    do {
        count = snapshot_list(txn_base(x), ENTRY_HIDDEN, prefix, after, page, PAGE);
        for (size_t i = 0; i < count; i++) {
            after = page[i]->name;
            if (page[i]->modified_us < oldest_us)
                txn_delete(x, after);
            else
                left++;
        }
    } while (count == PAGE);
    rs->count = left;
}

/* Whether it is time to sweep; if so nobody else will. */
static bool is_time_to_sweep(repeats *rs)
{
    bool due;

    pthread_mutex_lock(&rs->lock);
    due = clock_us() >= rs->next_sweep_us;
    if (due)
        rs->next_sweep_us = clock_us() + SWEEP_US;
    pthread_mutex_unlock(&rs->lock);
    return due;
}

static bool is_full(repeats *rs)
{
    bool full;

    pthread_mutex_lock(&rs->lock);
    full = rs->count >= rs->services->config->idempotency_keys_max;
    pthread_mutex_unlock(&rs->lock);
    return full;
}

/* Whether one more key can be kept; what is old makes room first. */
static bool has_room(repeats *rs, error *err)
{
    const int64_t most = rs->services->config->idempotency_keys_max;

    if (is_full(rs) && is_time_to_sweep(rs)) {
        txn *x = txn_new(rs->services->storage, NULL, DURABILITY_PROCESS);
        commit_result done;
        error why = {0};

        sweep(rs, x);
        if (!txn_commit(x, &done, &why))
            log_message(LOG_WARN, "old Idempotency-Keys are not given up: %s", why.detail);
        txn_free(x);
    }
    return !is_full(rs) || error_set_limit(err, ERR_KEY_QUOTA, most, most + 1,
                                           "%" PRId64 " keys are kept already.", most);
}

/* Keeps the answer of a request that succeeded. If that fails, the commit is kept all the
 * same, if there was one. */
static void keep_answer(services *s, http_request *r, const repeat *k)
{
    txn *x = txn_new(s->storage, NULL, DURABILITY_PROCESS);
    commit_result done;
    http_answer a;
    error err = {0};
    text kept;

    text_init(&kept);
    pthread_mutex_lock(&s->repeats->lock);
    s->repeats->count++;
    pthread_mutex_unlock(&s->repeats->lock);
    if (is_time_to_sweep(s->repeats)) /* which counts anew */
        sweep(s->repeats, x);
    if (http_answered(r, &a) && a.n <= (size_t)s->config->idempotency_answer_bytes_max) {
        add_answer(k, &a, &kept);
        txn_put_text(x, k->name, kept.bytes, kept.length, &err);
    }
    if (error_is_set(&err) || !txn_commit(x, &done, &err))
        log_message(LOG_WARN, "the answer of an Idempotency-Key is not kept: %s", err.detail);
    text_clear(&kept);
    txn_free(x);
}

/* ---- Again ------------------------------------------------------------------------------------
 */

/* Answers a request whose commit alone is known. */
static void answer_commit(http_request *r, int64_t commit)
{
    text body;
    json_writer w = json_to(&body, false);

    text_init(&body);
    json_begin(&w, NULL, '{');
    json_int(&w, "commit", commit);
    json_bool(&w, "replayed", true);
    json_end(&w, '}');
    text_add_char(&body, '\n');
    answer_text(r, 200, "application/json", &body);
    answer_header(r, "Tensord-Commit", arena_format(r->arena, "%" PRId64, commit));
}

/* Answers with what stands behind the first line. */
static void answer_kept(http_request *r, int status, const char *at, const char *end)
{
    size_t n = strcspn(at, "\n");
    const char *media = n == 0 ? NULL : arena_copy(r->arena, at, n);
    text body;

    for (at += n + 1; *at != '\n' && *at != '\0'; at += strcspn(at, "\n") + 1) {
        const size_t name = strcspn(at, " ");

        answer_header(r, arena_copy(r->arena, at, name),
                      arena_copy(r->arena, at + name + 1, strcspn(at + name + 1, "\n")));
    }
    if (media == NULL) {
        answer_empty(r, status);
        return;
    }
    text_init(&body);
    text_add_bytes(&body, at + 1, (size_t)(end - at - 1));
    answer_text(r, status, media, &body);
}

/* Answers from what is kept. *found: it was, and the request is answered or refused. */
static bool answer_again(services *s, http_request *r, const repeat *k, bool *found, error *err)
{
    const int64_t oldest_us = clock_date_us() - s->config->idempotency_keep_time;
    snapshot *n = storage_snapshot(s->storage);
    const entry *e = snapshot_find(n, k->name);
    char fingerprint[SHA256_DIGITS + 1] = "";
    int64_t commit = 0;
    int status = 0;
    buffer *kept = NULL;

    *found = e != NULL && e->modified_us >= oldest_us;
    if (*found)
        kept = entry_text(s->storage, e, err);
    snapshot_unref(n);
    if (kept == NULL)
        return !error_is_set(err);
    sscanf(buffer_bytes(kept), "%64s %" SCNd64 " %d", fingerprint, &commit, &status);
    if (strcmp(fingerprint, k->fingerprint) != 0) {
        error_set(err, ERR_KEY_REUSED,
                  "The Idempotency-Key came with another request before; use a new key for each.");
    } else {
        const char *text = buffer_bytes(kept);

        answer_header(r, "Idempotent-Replayed", "true");
        if (status == 0)
            answer_commit(r, commit);
        else
            answer_kept(r, status, strchr(text, '\n') + 1, text + buffer_size(kept) - 1);
    }
    buffer_unref(kept);
    return !error_is_set(err);
}

/* ---- Once at a time
 * ------------------------------------------------------------------------------ */

static bool enter(repeats *rs, repeat *k, error *err)
{
    bool busy = false;

    pthread_mutex_lock(&rs->lock);
    for (const repeat *other = rs->running; other != NULL; other = other->next)
        busy |= strcmp(other->name, k->name) == 0;
    if (!busy) {
        k->next = rs->running;
        rs->running = k;
    }
    pthread_mutex_unlock(&rs->lock);
    return !busy ||
           error_set(err, ERR_KEY_BUSY, "The first request with this key is still running.");
}

static void leave(repeats *rs, repeat *k)
{
    repeat **at = &rs->running;

    pthread_mutex_lock(&rs->lock);
    while (*at != k)
        at = &(*at)->next;
    *at = k->next;
    pthread_mutex_unlock(&rs->lock);
}

bool repeat_handle(services *s, http_request *r, repeat *k, route_handle *handle, error *err)
{
    uint8_t digest[SHA256_BYTES];
    bool found = false, ok;

    sha256_end(&k->hash, digest);
    sha256_hex(digest, k->fingerprint);
    if (!enter(s->repeats, k, err))
        return false;
    ok = answer_again(s, r, k, &found, err);
    if (!found) {
        ok = has_room(s->repeats, err) && handle(s, r, err);
        if (ok)
            keep_answer(s, r, k);
    }
    leave(s->repeats, k);
    return ok;
}

/* ---- Life ---------------------------------------------------------------------------------------
 */

repeats *repeats_new(const services *s)
{
    repeats *rs = calloc(1, sizeof *rs);
    txn *x;

    if (rs == NULL)
        abort();
    rs->services = s;
    pthread_mutex_init(&rs->lock, NULL);
    x = txn_new(s->storage, NULL, DURABILITY_PROCESS);
    sweep(rs, x); /* to count them; what is old goes with the first that comes */
    txn_free(x);
    return rs;
}

void repeats_free(repeats *rs)
{
    if (rs == NULL)
        return;
    pthread_mutex_destroy(&rs->lock);
    free(rs);
}

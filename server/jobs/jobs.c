/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "engine/base/secret.h"
#include "server/jobs/private.h"

const char *job_state_name(job_state state)
{
    static const char *const names[JOB_STATES] = {
        [JOB_QUEUED] = "queued", [JOB_RUNNING] = "running",     [JOB_DONE] = "done",
        [JOB_FAILED] = "failed", [JOB_CANCELLED] = "cancelled",
    };

    return names[state];
}

bool job_state_is_last(job_state state)
{
    return state == JOB_DONE || state == JOB_FAILED || state == JOB_CANCELLED;
}

/* ---- One job -------------------------------------------------------------------------- */

job *job_new(jobs *js)
{
    job *j = calloc(1, sizeof *j);

    if (j == NULL)
        abort();
    j->references = 1;
    j->jobs = js;
    j->arena = arena_new();
    return j;
}

job *job_ref(job *j)
{
    j->references++;
    return j;
}

void job_unref(job *j)
{
    if (j == NULL || --j->references > 0)
        return;
    arena_free(j->arena);
    free(j);
}

const char *job_id(const job *j)
{
    return j->id;
}

bool job_id_is_valid(const char *id)
{
    return strspn(id, "0123456789abcdef") == JOB_ID_DIGITS && id[JOB_ID_DIGITS] == '\0';
}

const job_request *job_asked(const job *j)
{
    return &j->asked;
}

const _Atomic int *job_cancelled(const job *j)
{
    return &j->cancel;
}

run_progress *job_progress(job *j)
{
    return &j->progress;
}

/* What is done of what was planned. The lock is held. */
static double progress_of(job *j)
{
    const int64_t work = j->progress.work, done = j->progress.work_done;
    double now = work <= 0 ? 0 : (double)done / (double)work;

    if (now > 0.999)
        now = 0.999; /* the commit is still to come */
    if (now > j->shown)
        j->shown = now;
    return j->shown;
}

job_status job_status_of(job *j)
{
    job_status s;

    pthread_mutex_lock(&j->jobs->lock);
    s = (job_status){
        .state = j->state,
        .progress = progress_of(j),
        .steps_done = j->progress.steps_done,
        .steps = j->progress.steps,
        .iterations = j->progress.iterations,
        .created_us = j->created_us,
        .started_us = j->started_us,
    };
    if (job_state_is_last(j->state)) {
        s.progress = j->ending.progress;
        s.steps_done = j->ending.steps_done;
        s.steps = j->ending.steps;
        s.iterations = j->ending.iterations;
        s.expired = j->ending.expired;
        s.finished_us = j->ending.finished_us;
        s.http_status = j->ending.http_status;
    }
    pthread_mutex_unlock(&j->jobs->lock);
    return s;
}

ending job_ending(job *j, job_state state, int http_status)
{
    const job_status now = job_status_of(j);

    return (ending){
        .state = state,
        .http_status = http_status,
        .finished_us = clock_date_us(),
        .steps_done = now.steps_done,
        .steps = now.steps,
        .iterations = now.iterations,
        .progress = state == JOB_DONE ? 1 : now.progress,
    };
}

/* ---- The list --------------------------------------------------------------------------- */

/* Where the first job stands whose id is not before this one. The lock is held. */
static size_t place_of(const jobs *js, const char *id)
{
    size_t from = 0, to = js->count;

    while (from < to) {
        const size_t middle = (from + to) / 2;

        if (strcmp(js->items[middle]->id, id) < 0)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

void jobs_add(jobs *js, job *j)
{
    const size_t at = place_of(js, j->id);

    if (js->count == js->room) {
        js->room = js->room == 0 ? 64 : 2 * js->room;
        js->items = realloc(js->items, js->room * sizeof *js->items);
        if (js->items == NULL)
            abort();
    }
    memmove(js->items + at + 1, js->items + at, (js->count - at) * sizeof *js->items);
    js->items[at] = job_ref(j);
    js->count++;
}

/* The lock is held. */
static void remove_at(jobs *js, size_t i)
{
    job *j = js->items[i];

    js->count--;
    memmove(js->items + i, js->items + i + 1, (js->count - i) * sizeof *js->items);
    job_unref(j);
}

void jobs_remove(jobs *js, job *j)
{
    size_t at;

    pthread_mutex_lock(&js->lock);
    at = place_of(js, j->id);
    if (at < js->count && js->items[at] == j)
        remove_at(js, at);
    pthread_mutex_unlock(&js->lock);
}

job *jobs_find(jobs *js, const char *id)
{
    job *found = NULL;
    size_t at;

    pthread_mutex_lock(&js->lock);
    at = place_of(js, id);
    if (at < js->count && strcmp(js->items[at]->id, id) == 0)
        found = job_ref(js->items[at]);
    pthread_mutex_unlock(&js->lock);
    return found;
}

static bool is_of(const job *j, const char *owner)
{
    return owner == NULL || strcmp(j->asked.owner, owner) == 0;
}

size_t jobs_list(jobs *js, const char *owner, const char *before, job **found, size_t room)
{
    size_t at, count = 0;

    pthread_mutex_lock(&js->lock);
    at = before == NULL ? js->count : place_of(js, before);
    while (at > 0 && count < room)
        if (is_of(js->items[--at], owner))
            found[count++] = job_ref(js->items[at]);
    pthread_mutex_unlock(&js->lock);
    return count;
}

jobs_figures jobs_count(jobs *js)
{
    jobs_figures f = {0};

    pthread_mutex_lock(&js->lock);
    for (size_t i = 0; i < js->count; i++)
        f.now[js->items[i]->state]++;
    f.submitted = js->submitted;
    f.runs = js->runs;
    f.run_us = js->run_us;
    pthread_mutex_unlock(&js->lock);
    return f;
}

/* ---- Coming ------------------------------------------------------------------------------- */

static void copy_request(job *j, const job_request *asked)
{
    arena *a = j->arena;
    job_header *headers = arena_array(a, asked->header_count + 1, sizeof *headers);

    for (size_t i = 0; i < asked->header_count; i++) {
        const job_header *h = &asked->headers[i];

        headers[i] = (job_header){arena_copy(a, h->name, strlen(h->name)),
                                  arena_copy(a, h->value, strlen(h->value))};
    }
    j->asked = (job_request){
        .request_id = arena_copy(a, asked->request_id, strlen(asked->request_id)),
        .method = arena_copy(a, asked->method, strlen(asked->method)),
        .target = arena_copy(a, asked->target, strlen(asked->target)),
        .owner = arena_copy(a, asked->owner, strlen(asked->owner)),
        .headers = headers,
        .header_count = asked->header_count,
        .run_again = asked->run_again,
    };
}

/* Digits of the moment, so that ids sort by it, and some that nobody guesses. */
static void make_id(job *j)
{
    char random[11];

    random_hex(random, 5);
    j->created_us = clock_date_us();
    snprintf(j->id, sizeof j->id, "%014" PRIx64 "%s", (uint64_t)j->created_us & 0xffffffffffffffU,
             random);
}

/* The jobs of an owner (NULL: of all) that are kept. */
static int64_t count_kept(jobs *js, const char *owner)
{
    int64_t count = 0;

    pthread_mutex_lock(&js->lock);
    for (size_t i = 0; i < js->count; i++)
        count += !js->items[i]->ending.expired && is_of(js->items[i], owner);
    pthread_mutex_unlock(&js->lock);
    return count;
}

int64_t jobs_quota_wait(jobs *js, const char *owner)
{
    const int64_t now_us = clock_date_us();
    int64_t first_us = now_us; /* what has not ended is kept longest */

    pthread_mutex_lock(&js->lock);
    for (size_t i = 0; i < js->count; i++) {
        const job *j = js->items[i];

        if (job_state_is_last(j->state) && !j->ending.expired &&
            (owner[0] == '\0' || is_of(j, owner)) && j->ending.finished_us < first_us)
            first_us = j->ending.finished_us;
    }
    pthread_mutex_unlock(&js->lock);
    return first_us + js->options.keep_us - now_us;
}

static bool check_quota(jobs *js, const char *owner, int64_t most, error *err)
{
    const int64_t count = count_kept(js, owner);

    return count < most ||
           error_set_limit(err, ERR_JOB_QUOTA, most, count + 1,
                           "There are %" PRId64 " jobs%s, and the limit is %" PRId64
                           "; delete some that have ended, or wait until they expire.",
                           count, owner == NULL ? "" : " of your token", most);
}

static bool check_quotas(jobs *js, const char *owner, error *err)
{
    return (owner[0] == '\0' || check_quota(js, owner, js->options.owner_jobs_max, err)) &&
           check_quota(js, NULL, js->options.jobs_max, err);
}

/* Puts the job into storage; takes over the body. */
static bool keep(const job *j, incoming *body, job_commit *commit, void *context, error *err)
{
    txn *x = txn_new(j->jobs->options.storage, NULL, DURABILITY_DISK);
    char name[JOB_NAME];
    text record;
    bool ok = true;

    if (body != NULL) {
        job_name(j->id, "body", name);
        ok = txn_put_incoming_take(x, name, body, err);
    }
    text_init(&record);
    record_add(j, &record);
    job_name(j->id, NULL, name);
    ok = ok && txn_put_text(x, name, record.bytes, record.length, err) && commit(context, x, err);
    text_clear(&record);
    txn_free(x);
    return ok;
}

job *jobs_submit(jobs *js, const job_request *asked, incoming *body, job_commit *commit,
                 void *context, error *err)
{
    job *j = job_new(js);

    make_id(j);
    copy_request(j, asked);
    if (!check_quotas(js, asked->owner, err)) {
        incoming_free(body);
        job_unref(j);
        return NULL;
    }
    if (!keep(j, body, commit, context, err)) {
        job_unref(j);
        return NULL;
    }
    pthread_mutex_lock(&js->lock);
    jobs_add(js, j);
    js->submitted++;
    pthread_cond_signal(&js->came);
    pthread_mutex_unlock(&js->lock);
    return j;
}

/* ---- Stopping ------------------------------------------------------------------------------ */

static void wait_for_end(job *j, int64_t wait_us)
{
    jobs *js = j->jobs;
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += wait_us % 1000000 * 1000;
    until.tv_sec += wait_us / 1000000 + until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    while (!job_state_is_last(j->state))
        if (pthread_cond_timedwait(&js->changed, &js->lock, &until) != 0)
            break;
}

bool job_cancel(job *j, int64_t wait_us, error *err)
{
    error cancelled = {0};
    job_state state;

    pthread_mutex_lock(&j->jobs->lock);
    state = j->state;
    j->cancel = JOB_UNWANTED;
    if (state == JOB_QUEUED) /* nobody else may take it now */
        j->state = JOB_RUNNING;
    else if (state == JOB_RUNNING)
        wait_for_end(j, wait_us);
    pthread_mutex_unlock(&j->jobs->lock);
    if (job_state_is_last(state))
        return job_forget(j, err);
    if (state == JOB_QUEUED) {
        error_set(&cancelled, ERR_CANCELLED, "The job was cancelled before it ran.");
        job_refuse(j, JOB_CANCELLED, &cancelled);
    }
    return true;
}

/* ---- Answers --------------------------------------------------------------------------------- */

/* The snapshot in which the answer of j is. NULL and the error if there is none. */
static snapshot *answered(job *j, error *err)
{
    const job_status s = job_status_of(j);

    if (s.expired) {
        error_set(err, ERR_GONE, "The result of job %s has expired.", j->id);
        return NULL;
    }
    if (!job_state_is_last(s.state)) {
        error_set(err, ERR_NOT_FOUND, "Job %s has no result yet.", j->id);
        return NULL;
    }
    return storage_snapshot(j->jobs->options.storage);
}

buffer *job_answer(job *j, error *err)
{
    snapshot *n = answered(j, err);
    char name[JOB_NAME];
    buffer *whole = NULL, *rest = NULL;

    job_name(j->id, "answer", name);
    if (n != NULL)
        whole = hidden_text(j->jobs->options.storage, n, name, err);
    if (whole != NULL) {
        const char *text = ending_rest(buffer_bytes(whole));

        rest = buffer_new(NULL, strlen(text) + 1, err);
        if (rest != NULL)
            strcpy(buffer_bytes(rest), text);
    }
    buffer_unref(whole);
    snapshot_unref(n);
    return rest;
}

bool job_tensor(job *j, int i, tensor *result, error *err)
{
    snapshot *n = answered(j, err);
    char part[16], name[JOB_NAME];
    const entry *e;
    bool ok = false;

    if (n == NULL)
        return false;
    snprintf(part, sizeof part, "%d", i);
    job_name(j->id, part, name);
    e = snapshot_find(n, name);
    if (e != NULL)
        ok = entry_tensor(j->jobs->options.storage, e, result, err);
    else
        error_set(err, ERR_GONE, "The result of job %s has expired.", j->id);
    snapshot_unref(n);
    return ok;
}

bool job_body(const job *j, tensor *result, error *err)
{
    storage *s = j->jobs->options.storage;
    snapshot *n = storage_snapshot(s);
    char name[JOB_NAME];
    const entry *e;
    bool ok;

    job_name(j->id, "body", name);
    e = snapshot_find(n, name);
    ok = e != NULL ? entry_tensor(s, e, result, err)
                   : error_set(err, ERR_NOT_FOUND, "The job has no body.");
    snapshot_unref(n);
    return ok;
}

bool job_put_tensor(const job *j, txn *x, int i, const tensor *t, error *err)
{
    char part[16], name[JOB_NAME];

    snprintf(part, sizeof part, "%d", i);
    job_name(j->id, part, name);
    return txn_put_tensor(x, name, t, FORM_AUTO, err);
}

/* The receipt of a job that succeeds: how it ended, then what the runner has to say. */
static void write_done(void *context, const commit_result *done, text *to)
{
    job *j = context;

    j->done = job_ending(j, JOB_DONE, 200);
    ending_add(&j->done, to);
    j->make(j->context, done, to);
}

void job_put_answer(job *j, txn *x, txn_receipt *make, void *context)
{
    char name[JOB_NAME];

    j->make = make;
    j->context = context;
    job_name(j->id, "answer", name);
    txn_put_receipt(x, name, write_done, j);
    job_name(j->id, "body", name);
    if (snapshot_find(txn_base(x), name) != NULL)
        txn_delete(x, name);
}

/* ---- Life ---------------------------------------------------------------------------------- */

/* What the texts beside the record say of j. */
static void read_state(job *j, const snapshot *n)
{
    storage *s = j->jobs->options.storage;
    char name[JOB_NAME];
    error ignored = {0};
    buffer *found;

    job_name(j->id, "started", name);
    found = hidden_text(s, n, name, &ignored);
    if (found != NULL)
        sscanf(buffer_bytes(found), "%d %" SCNd64, &j->attempts, &j->started_us);
    buffer_unref(found);
    error_clear(&ignored);
    job_name(j->id, "answer", name);
    found = hidden_text(s, n, name, &ignored);
    if (found != NULL && ending_read(buffer_bytes(found), &j->ending))
        j->state = j->ending.state;
    else if (found != NULL)
        log_message(LOG_WARN, "the answer of job %s is none", j->id);
    buffer_unref(found);
}

/* The job of an entry; NULL if that is only a part of one, or damaged. */
static job *read_job(jobs *js, const snapshot *n, const entry *e)
{
    const char *id = e->name + sizeof ".jobs/" - 1;
    error err = {0};
    buffer *record;
    job *j;

    if (strlen(id) != JOB_ID_DIGITS)
        return NULL;
    j = job_new(js);
    memcpy(j->id, id, JOB_ID_DIGITS);
    record = entry_text(js->options.storage, e, &err);
    if (record == NULL || !record_read(buffer_bytes(record), j)) {
        log_message(LOG_ERROR, "job %s cannot be read: %s", id, err.detail);
        job_unref(j);
        j = NULL;
    } else {
        read_state(j, n);
    }
    buffer_unref(record);
    return j;
}

static void read_all(jobs *js)
{
    enum { PAGE = 256 };
    snapshot *n = storage_snapshot(js->options.storage);
    const entry *page[PAGE];
    const char *after = "";
    size_t count;

    do {
        count = snapshot_list(n, ENTRY_HIDDEN, ".jobs/", after, page, PAGE);
        for (size_t i = 0; i < count; i++) {
            job *j = read_job(js, n, page[i]);

            after = page[i]->name;
            if (j != NULL)
                jobs_add(js, j);
            job_unref(j);
        }
    } while (count == PAGE);
    snapshot_unref(n);
}

/* What ran when the server ended, and may not run again, has failed. */
static void settle_interrupted(jobs *js)
{
    for (size_t i = 0; i < js->count; i++) {
        job *j = js->items[i];
        error why = {0};

        if (j->state != JOB_QUEUED || j->attempts == 0 ||
            (j->asked.run_again && j->attempts < JOB_ATTEMPTS_MAX))
            continue;
        error_set(&why, ERR_INTERRUPTED,
                  j->asked.run_again
                      ? "The server ended %d times while the job ran; it is not tried again."
                      : "The server ended while the job ran, and it asked not to run again.",
                  j->attempts);
        job_refuse(j, JOB_FAILED, &why);
    }
}

jobs *jobs_open(const jobs_options *options)
{
    jobs *js = calloc(1, sizeof *js);
    pthread_condattr_t monotonic;

    if (js == NULL)
        abort();
    js->options = *options;
    pthread_mutex_init(&js->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&js->came, &monotonic);
    pthread_cond_init(&js->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    read_all(js);
    return js;
}

void jobs_start(jobs *js)
{
    settle_interrupted(js);
    js->threads = calloc((size_t)js->options.threads, sizeof *js->threads);
    if (js->threads == NULL)
        abort();
    for (int i = 0; i < js->options.threads; i++)
        if (pthread_create(&js->threads[js->thread_count], NULL, work_main, js) == 0)
            js->thread_count++;
    if (js->thread_count == 0)
        abort();
}

void jobs_close(jobs *js)
{
    if (js == NULL)
        return;
    pthread_mutex_lock(&js->lock);
    js->closing = true;
    for (size_t i = 0; i < js->count; i++)
        if (js->items[i]->state == JOB_RUNNING && js->items[i]->cancel == 0)
            js->items[i]->cancel = JOB_INTERRUPTED;
    pthread_cond_broadcast(&js->came);
    pthread_mutex_unlock(&js->lock);
    for (int i = 0; i < js->thread_count; i++)
        pthread_join(js->threads[i], NULL);
    while (js->count > 0)
        remove_at(js, js->count - 1);
    pthread_cond_destroy(&js->changed);
    pthread_cond_destroy(&js->came);
    pthread_mutex_destroy(&js->lock);
    free(js->threads);
    free(js->items);
    free(js);
}

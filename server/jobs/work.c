/* SPDX-License-Identifier: Apache-2.0 */
/* work -- the threads that run jobs, and what happens to jobs as time goes by. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "server/jobs/private.h"

enum { LOOK_US = 1000000 }; /* between looks for what has expired */

/* ---- Ends ------------------------------------------------------------------------------ */

static void set_ending(job *j, const ending *e)
{
    pthread_mutex_lock(&j->jobs->lock);
    j->state = e->state;
    j->ending = *e;
    pthread_cond_broadcast(&j->jobs->changed);
    pthread_mutex_unlock(&j->jobs->lock);
}

/* Lets the transaction remove what storage has of j in the snapshot, but for keep (NULL:
 * nothing is kept). */
static void delete_parts(const job *j, txn *x, const char *keep)
{
    enum { PAGE = 64 };
    const entry *page[PAGE];
    char prefix[JOB_NAME], kept[JOB_NAME] = "", after[JOB_NAME] = "";
    size_t count;

    job_name(j->id, "", prefix);
    if (keep != NULL)
        job_name(j->id, keep, kept);
    do {
        count = snapshot_list(txn_base(x), ENTRY_HIDDEN, prefix, after, page, PAGE);
        for (size_t i = 0; i < count; i++)
            if (strcmp(page[i]->name, kept) != 0)
                txn_delete(x, page[i]->name);
        if (count > 0)
            snprintf(after, sizeof after, "%s", page[count - 1]->name);
    } while (count == PAGE);
}

/* Keeps the ending of j and what stands behind it, in the place of all its other parts. */
static bool keep_ending(const job *j, const ending *e, const char *rest, error *err)
{
    txn *x = txn_new(j->jobs->options.storage, NULL, DURABILITY_DISK);
    char name[JOB_NAME];
    commit_result done;
    text answer;
    bool ok;

    text_init(&answer);
    ending_add(e, &answer);
    text_add(&answer, rest);
    delete_parts(j, x, "started");
    job_name(j->id, "answer", name);
    ok = txn_put_text(x, name, answer.bytes, answer.length, err) && txn_commit(x, &done, err);
    text_clear(&answer);
    txn_free(x);
    return ok;
}

void job_refuse(job *j, job_state state, const error *why)
{
    const job_runner *runner = &j->jobs->options.runner;
    const ending e = job_ending(j, state, error_info_of(why->kind)->status);
    error err = {0};
    text rest;

    text_init(&rest);
    runner->refuse(runner->context, j, why, &rest);
    if (!keep_ending(j, &e, rest.bytes, &err))
        log_message(LOG_ERROR, "the end of job %s cannot be kept: %s", j->id, err.detail);
    text_clear(&rest);
    set_ending(j, &e);
}

/* Gives up what there is of a job's answer; the answer's first line stays. */
static bool expire(job *j, error *err)
{
    ending e;

    pthread_mutex_lock(&j->jobs->lock);
    e = j->ending;
    pthread_mutex_unlock(&j->jobs->lock);
    e.expired = true;
    if (!keep_ending(j, &e, "", err))
        return false;
    set_ending(j, &e);
    return true;
}

bool job_forget(job *j, error *err)
{
    txn *x = txn_new(j->jobs->options.storage, NULL, DURABILITY_DISK);
    char name[JOB_NAME];
    commit_result done;
    bool ok;

    delete_parts(j, x, NULL);
    job_name(j->id, NULL, name);
    if (snapshot_find(txn_base(x), name) != NULL) /* else another was faster */
        txn_delete(x, name);
    ok = txn_commit(x, &done, err);
    txn_free(x);
    if (ok)
        jobs_remove(j->jobs, j);
    return ok;
}

/* ---- Time goes by ---------------------------------------------------------------------- */

/* The first job that has been kept long enough, with a reference; *forget: for good. The
 * lock is held. */
static job *find_old(jobs *js, int64_t now_us, bool *forget)
{
    for (size_t i = 0; i < js->count; i++) {
        job *j = js->items[i];
        const int64_t age = now_us - j->ending.finished_us;

        if (!job_state_is_last(j->state))
            continue;
        *forget = age / 2 > js->options.keep_us;
        if (*forget || (age > js->options.keep_us && !j->ending.expired))
            return job_ref(j);
    }
    return NULL;
}

/* Whether anything was done; false: nothing is old, or it cannot be removed now. */
static bool tidy(jobs *js)
{
    error err = {0};
    bool forget = false, done;
    job *j;

    pthread_mutex_lock(&js->lock);
    j = find_old(js, clock_date_us(), &forget);
    pthread_mutex_unlock(&js->lock);
    if (j == NULL)
        return false;
    done = forget ? job_forget(j, &err) : expire(j, &err);
    if (!done && forget)
        log_message(LOG_WARN, "job %s cannot be removed: %s", j->id, err.detail);
    job_unref(j);
    return done;
}

/* ---- Running ------------------------------------------------------------------------------ */

/* Notes that a run begins, so that a job that ends the server is not tried for ever. */
static void note_start(const job *j)
{
    txn *x = txn_new(j->jobs->options.storage, NULL, DURABILITY_PROCESS);
    char name[JOB_NAME], said[64];
    commit_result done;
    error err = {0};

    snprintf(said, sizeof said, "%d %" PRId64 "\n", j->attempts, j->started_us);
    job_name(j->id, "started", name);
    if (!txn_put_text(x, name, said, strlen(said), &err) || !txn_commit(x, &done, &err))
        log_message(LOG_WARN, "the start of job %s cannot be noted: %s", j->id, err.detail);
    txn_free(x);
}

/* The server stops in order: the run does not count against a job that runs again. */
static void forget_start(const job *j)
{
    txn *x = txn_new(j->jobs->options.storage, NULL, DURABILITY_DISK);
    char name[JOB_NAME];
    commit_result done;
    error err = {0};

    job_name(j->id, "started", name);
    txn_delete(x, name);
    if (!txn_commit(x, &done, &err))
        log_message(LOG_WARN, "job %s will count a run too many: %s", j->id, err.detail);
    txn_free(x);
}

static void finish(job *j, bool ok, const error *why)
{
    const bool interrupted = j->cancel == JOB_INTERRUPTED && why->kind == ERR_CANCELLED;

    if (ok)
        set_ending(j, &j->done);
    else if (!interrupted)
        job_refuse(j, why->kind == ERR_CANCELLED ? JOB_CANCELLED : JOB_FAILED, why);
    else if (j->asked.run_again)
        forget_start(j);
}

static void log_end_of(const job *j, int64_t us)
{
    log_line line;

    if (!log_begin(&line, LOG_INFO, j->asked.request_id, "job"))
        return;
    json_string(&line.json, "job", j->id);
    json_string(&line.json, "state", job_state_name(j->state));
    json_milli(&line.json, "ms", (double)us / 1000);
    log_end(&line);
}

static void run(job *j)
{
    jobs *js = j->jobs;
    const int64_t start = clock_us();
    error err = {0};
    bool ok;

    note_start(j);
    ok = js->options.runner.run(js->options.runner.context, j, &err);
    finish(j, ok, &err);
    pthread_mutex_lock(&js->lock);
    js->runs++;
    js->run_us += clock_us() - start;
    log_end_of(j, clock_us() - start);
    pthread_mutex_unlock(&js->lock);
}

/* The next job to run, with a reference, running from now on; NULL if there is none. The
 * lock is held. */
static job *take(jobs *js)
{
    for (size_t i = 0; i < js->count && !js->closing; i++) {
        job *j = js->items[i];

        if (j->state != JOB_QUEUED)
            continue;
        j->state = JOB_RUNNING;
        j->started_us = clock_date_us();
        j->attempts++;
        return job_ref(j);
    }
    return NULL;
}

/* Waits for a job to come, but not for long. The lock is held. */
static void wait_for_job(jobs *js)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += LOOK_US / 1000000;
    pthread_cond_timedwait(&js->came, &js->lock, &until);
}

void *work_main(void *state)
{
    jobs *js = state;
    bool closing = false;

    while (!closing) {
        job *j;

        pthread_mutex_lock(&js->lock);
        j = take(js);
        if (j == NULL && !js->closing)
            wait_for_job(js);
        closing = js->closing;
        pthread_mutex_unlock(&js->lock);
        if (j != NULL)
            run(j);
        else if (!closing)
            tidy(js);
        job_unref(j);
    }
    return NULL;
}

/* jobs -- requests that are answered later.
 *
 * A job is a request that was put aside. Its line, headers and body are in storage before
 * anybody is told its id, so a job that was accepted is done, whatever happens to the server.
 * Its answer is committed in one transaction with all that the job changes: a job that was
 * interrupted has changed nothing and can run again, one that was committed is done.
 *
 *     .jobs/ID          the request                    (record.c)
 *     .jobs/ID/body     its body, bytes
 *     .jobs/ID/started  how often it was started, and when last
 *     .jobs/ID/answer   how it ended, and the answer in the runner's own form
 *     .jobs/ID/0 ..     the answer's tensors
 *
 *     queued --> running --> done | failed | cancelled --> expired --> forgotten
 *
 * (or forgotten at once, when its owner deletes it).
 *
 * Jobs run in the order of their coming, a few at a time, on threads of their own. What
 * running means is the runner's business; jobs know no HTTP. An answer is kept for a time
 * (keep_us), then for as long again that it was there.
 *
 * Threads: all functions may be called by any thread. A job is counted; what is const in it
 * never changes.
 *
 * Reading order: jobs.h, private.h, record.c, jobs.c, work.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/error.h"
#include "engine/base/text.h"
#include "engine/engine.h"
#include "storage/storage.h"

typedef struct jobs jobs;
typedef struct job job;

typedef enum job_state {
    JOB_QUEUED,
    JOB_RUNNING,
    JOB_DONE,
    JOB_FAILED,
    JOB_CANCELLED,
    JOB_STATES
} job_state;

const char *job_state_name(job_state state);

/* Whether it has an end, with an answer. */
bool job_state_is_last(job_state state);

/* ---- What is asked ------------------------------------------------------------------ */

typedef struct job_header {
    const char *name, *value;
} job_header;

/* The request, free of line breaks. */
typedef struct job_request {
    const char *request_id, *method, *target;
    const char *owner; /* the id of who asks, no blanks; "": one for whom no quota is */
    const job_header *headers;
    size_t header_count;
    bool run_again; /* after the server ended while it ran; otherwise it has failed then */
} job_request;

/* ---- Life --------------------------------------------------------------------------- */

/* Who does what jobs ask. */
typedef struct job_runner {
    void *context;
    /* Does it and commits that, with what job_put_answer adds. False and err: nothing was
     * changed. Is to stop soon once *job_cancel(j) is not 0. */
    bool (*run)(void *context, job *j, error *err);
    /* Adds what is answered in the place of a result. */
    void (*refuse)(void *context, const job *j, const error *why, text *to);
} job_runner;

typedef struct jobs_options {
    storage *storage;
    job_runner runner;
    int threads;
    int64_t jobs_max, keep_us;
    int64_t owner_jobs_max; /* of each owner that has a quota */
} jobs_options;

/* Reads what jobs there are; one that is damaged is left out, and the log says so. */
jobs *jobs_open(const jobs_options *options);

/* Starts to run them. */
void jobs_start(jobs *js);

/* Ends the threads: jobs that run are interrupted, and run again after the next start if
 * they may. No job may be held. NULL is allowed. */
void jobs_close(jobs *js);

typedef struct jobs_figures {
    int64_t now[JOB_STATES];         /* how many there are */
    int64_t submitted, run_us, runs; /* since the start */
} jobs_figures;

jobs_figures jobs_count(jobs *js);

/* ---- Jobs --------------------------------------------------------------------------- */

/* Takes over a finished body (NULL: none) and puts the request aside with a transaction that
 * commit commits; returns when that is durable, with a reference. NULL and ERR_JOB_QUOTA, or
 * an error of commit. */
typedef bool job_commit(void *context, txn *x, error *err);
job *jobs_submit(jobs *js, const job_request *asked, incoming *body, job_commit *commit,
                 void *context, error *err);

/* How long to wait, in microseconds, until one fewer of the jobs of an owner ("": of all) that are
 * kept counts for the limit, if none is deleted. */
int64_t jobs_quota_wait(jobs *js, const char *owner);

/* The job of an id, with a reference; NULL if there is none. */
job *jobs_find(jobs *js, const char *id);

/* Finds up to room jobs of an owner (NULL: of all) that came before the one with the id before
 * (NULL: all), the newest first, each with a reference; returns how many. */
size_t jobs_list(jobs *js, const char *owner, const char *before, job **found, size_t room);

/* Whether a text is an id as jobs have them; there need be no such job. */
bool job_id_is_valid(const char *id);

job *job_ref(job *j);
void job_unref(job *j);

const char *job_id(const job *j);
const job_request *job_asked(const job *j);

typedef struct job_status {
    job_state state;
    bool expired;    /* its answer is gone */
    double progress; /* 0 to 1, of the planned work; never goes back */
    int64_t steps_done, steps;
    int64_t iterations; /* of while loops, whose length nobody knows before */
    int64_t created_us, started_us, finished_us; /* since 1970; 0: not yet */
    int http_status;                             /* of a last state */
} job_status;

job_status job_status_of(job *j);

/* Asks a job to stop, if it has not ended, and waits at most wait_us for it to end; removes one
 * that has. */
bool job_cancel(job *j, int64_t wait_us, error *err);

/* What the runner left for an answer, with a NUL behind it; unref when done. NULL and
 * ERR_GONE if it has expired, ERR_NOT_FOUND before there is one. */
buffer *job_answer(job *j, error *err);

/* Tensor i of the answer; unref when done. */
bool job_tensor(job *j, int i, tensor *result, error *err);

/* ---- For the runner ------------------------------------------------------------------ */

/* Its body; unref when done. NULL and ERR_NOT_FOUND if it has none. */
bool job_body(const job *j, tensor *result, error *err);

/* Not 0 once it is to stop. */
const _Atomic int *job_cancelled(const job *j);

/* To be told how far it is. */
run_progress *job_progress(job *j);

/* Adds the answer of a job that succeeds to the transaction that does what it is asked:
 * tensors, then the rest, which make writes as a receipt does. */
bool job_put_tensor(const job *j, txn *x, int i, const tensor *t, error *err);
void job_put_answer(job *j, txn *x, txn_receipt *make, void *context);

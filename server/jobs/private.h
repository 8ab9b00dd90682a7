/* private -- what the files of jobs share. */
#pragma once

#include <pthread.h>

#include "engine/base/arena.h"
#include "server/jobs/jobs.h"

enum {
    JOB_ID_DIGITS = 24,  /* the moment of coming, then random ones */
    JOB_NAME = 64,       /* room for .jobs/ID/answer */
    JOB_ATTEMPTS_MAX = 3 /* after so many the job itself is what ends the server */
};

/* Why a job is to stop. */
enum { JOB_UNWANTED = 1, JOB_INTERRUPTED };

/* How a job ended. */
typedef struct ending {
    job_state state; /* a last one */
    bool expired;
    int http_status;
    int64_t finished_us, steps_done, steps, iterations;
    double progress;
} ending;

struct job {
    _Atomic int references;
    jobs *jobs;
    arena *arena;
    char id[JOB_ID_DIGITS + 1];
    job_request asked;
    int64_t created_us;
    _Atomic int cancel;
    run_progress progress;
    txn_receipt *make; /* the runner's, while it commits */
    void *context;
    ending done; /* as the commit has it */

    /* Guarded by the lock of jobs. */
    job_state state;
    ending ending; /* of a last state */
    double shown;  /* the progress that was told last */
    int attempts;
    int64_t started_us;
};

struct jobs {
    jobs_options options;
    pthread_mutex_t lock;
    pthread_cond_t came, changed; /* for the threads; for those who wait for an end */
    job **items;                  /* in the order of their ids, hence of their coming */
    size_t count, room;
    int64_t submitted, runs, run_us, next_look_us;
    bool closing;
    pthread_t *threads;
    int thread_count;
};

/* ---- record.c: jobs as texts ----------------------------------------------------------- */

/* Writes .jobs/ID, or .jobs/ID/part. */
void job_name(const char *id, const char *part, char to[JOB_NAME]);

/* Adds the record of j, and reads one into it. False if the text is none. */
void record_add(const job *j, text *to);
bool record_read(const char *record, job *j);

/* The first line of an answer: how the job ended. */
void ending_add(const ending *e, text *to);
bool ending_read(const char *answer, ending *e);

/* What stands behind that line. */
const char *ending_rest(const char *answer);

/* The text of a hidden name in a snapshot; NULL and ERR_NOT_FOUND. */
buffer *hidden_text(storage *s, const snapshot *n, const char *name, error *err);

/* ---- work.c: the threads ------------------------------------------------------------------ */

void *work_main(void *jobs);

/* Ends a job without a result: notes why, durably if that can be done. The lock is not held. */
void job_refuse(job *j, job_state state, const error *why);

/* Removes a job that has ended, with all that storage has of it. The lock is not held. */
bool job_forget(job *j, error *err);

/* ---- jobs.c ---------------------------------------------------------------------------------- */

job *job_new(jobs *js);
/* An ending of j, now. The lock is not held. */
ending job_ending(job *j, job_state state, int http_status);
/* Puts a job where its id belongs, with a reference. The lock is held. */
void jobs_add(jobs *js, job *j);
/* Takes one out if it is there, and gives up the list's reference. The lock is not held. */
void jobs_remove(jobs *js, job *j);

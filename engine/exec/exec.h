/* exec -- runs a plan.
 *
 * Steps run one after the other; each is cut into tasks that the pool's threads share.
 * What a step computes does not depend on how many they are. Buffers come from the
 * request's budget when a step makes them and go back after their last use, exactly
 * as planned.
 *
 * Reading order: exec.h, pool.h, machine.h, tiles.c, folds.c, bands.c, runner.h, run.c, streams.c,
 * control.c. */
#pragma once

#include <stdatomic.h>

#include "engine/plan/plan.h"

/* How far a run is, for whoever watches it from another thread. The work of a while loop is not
 * known before: it comes ever closer to what was planned for it, and its iterations are counted. */
typedef struct run_progress {
    _Atomic int64_t steps, work;           /* planned so far */
    _Atomic int64_t steps_done, work_done; /* element operations */
    _Atomic int64_t iterations;            /* of while loops that are in no other */
    int depth;                             /* of functions that run; the running thread's */
} run_progress;

/* Nothing is done yet, and nothing planned; others may be reading. */
static inline void run_progress_restart(run_progress *p)
{
    p->steps = p->steps_done = 0;
    p->work = p->work_done = p->iterations = 0;
    p->depth = 0;
}

/* Adds a part's share of the work; from any thread. NULL: nobody asks. */
static inline void run_progress_add(run_progress *p, double work)
{
    if (p != NULL)
        atomic_fetch_add_explicit(&p->work_done, (int64_t)work, memory_order_relaxed);
}

/* When to stop: asked at least every few milliseconds. */
typedef struct stop_sign {
    const _Atomic int *cancelled; /* not 0: give up; NULL: never */
    int64_t deadline_us;          /* of the monotonic clock; 0: none */
    int64_t iterations_max;       /* of one loop; 0: LOOP_ITERATIONS */
    run_progress *progress;       /* told how far the run is; NULL: nobody asks */
} stop_sign;

enum { LOOP_ITERATIONS = 1000000 };

/* Whether to stop now, with ERR_CANCELLED or ERR_TIME. */
bool stop_asked(const stop_sign *stop, error *err);

/* Whether a loop that ran `count` times may run once more, by its own limit and by the
 * request's; ERR_LOOP if not. */
bool loop_may_go_on(const node *n, const stop_sign *stop, int64_t count, error *err);

/* What a run met besides errors (kernel flags), and what it took. */
typedef struct run_notes {
    unsigned flags;
    int64_t extra_peak; /* bytes above plan.peak: results whose size values decided */
} run_notes;

/* Who takes an output piece by piece, so that it need not be in memory whole. */
typedef struct sink {
    /* Told of the output's type and shape before anything runs. */
    bool (*open)(void *context, dtype t, const shape *s, error *err);
    /* The next n bytes in C order; called by one thread at a time. */
    bool (*write)(void *context, const void *bytes, size_t n, error *err);
    void *context;
} sink;

/* Runs p on inputs (dense, of the graph's types) and sets outputs, each holding one
 * reference for the caller. On an error nothing is held. Thread-safe for different
 * budgets; p is only read. */
bool exec_run(const plan *p, const tensor *inputs, budget *b, const stop_sign *stop,
              tensor *outputs, run_notes *notes, error *err);

/* Likewise; what the plan gives away goes to the sinks (by output), and has a type and no buffer
 * among the outputs. */
bool exec_run_to(const plan *p, const tensor *inputs, budget *b, const stop_sign *stop,
                 const sink *sinks, tensor *outputs, run_notes *notes, error *err);

/* Stops nothing, starts the workers and prepares the libraries; called once at start. */
void exec_init(int threads);

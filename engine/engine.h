/* engine -- the compute library: programs and graphs in, tensors out.
 *
 * The one path from a graph to its results: rewrite, plan, run. It knows no HTTP, no
 * JSON, no SQL. Graphs come from engine/lang (program text) or are built with
 * engine/graph; the modules below are described in their own headers.
 *
 * Shapes that only values decide. A graph is evaluated in stages: what can be planned
 * is run, what that decides becomes constants, and the rest is planned with them.
 * Most graphs have one stage. */
#pragma once

#include "engine/exec/exec.h"
#include "engine/grad/grad.h"
#include "engine/graph/view.h"
#include "engine/rewrite/rewrite.h"

typedef struct engine_limits {
    int64_t peak_bytes;   /* of one evaluation, inputs included */
    int64_t result_bytes; /* of one output; 0: no limit */
    double work;          /* element operations of one evaluation */
} engine_limits;

typedef struct engine_options {
    engine_limits limits;
    /* By output: who takes it piece by piece if it is large, rather than having it in outputs
     * (then with its type and no buffer); no open: nobody. NULL: nobody takes any. */
    const sink *sinks;
    bool strict;   /* no rewrite that may change rounding */
    bool optimize; /* otherwise only what must be done to run */
    bool dry_run;  /* plans the first stage and runs nothing */
} engine_options;

typedef struct engine_stats {
    int nodes, steps, fused, stages;
    int64_t peak_bytes; /* planned, the budget's use at the start included */
    double work;
    int64_t plan_us, run_us;
    bool divided; /* an integer was divided by zero */
} engine_stats;

/* Prepares tables, libraries and threads; called once, before any other thread.
 * Aborts with a message if a row of the registry is wrong. */
void engine_init(int threads);

/* Plans that are kept for the next evaluation of an equal graph. */
typedef struct engine_cache_figures {
    int64_t hits, misses, made;        /* ever; a graph that cannot be kept is none of them */
    int64_t entries, bytes, bytes_max; /* now */
} engine_cache_figures;

/* How many bytes of plans are kept from now on; 0, as at first: none. Not while evaluations run. */
void engine_cache_limit(int64_t bytes);
engine_cache_figures engine_cache_count(void);

/* Evaluates the outputs of g for its inputs (in the order of g->inputs, any strides).
 * outputs gets g->output_count tensors, each with one reference for the caller; with
 * dry_run types are set and no buffers. On an error nothing is held. Errors: those of
 * the operations, ERR_PLAN_MEMORY, ERR_RESULT_SIZE, ERR_WORK, ERR_TIME, ERR_CANCELLED.
 * Memory comes from b. Thread-safe for different graphs and budgets. */
bool engine_run(const graph *g, const tensor *inputs, const engine_options *options, budget *b,
                const stop_sign *stop, tensor *outputs, engine_stats *stats, error *err);

/* A graph that is evaluated again and again, rewritten and planned once. */
typedef struct prepared prepared;

/* g prepared, for the caller until engine_release; NULL where each evaluation has to plan anew:
 * shapes that values decide, random draws, or no plans are kept. */
prepared *engine_prepare(const graph *g, const engine_options *options);
void engine_release(prepared *p);

/* As engine_run for the graph that was prepared, with the same strict and optimize, no sinks and
 * no dry run. */
bool engine_run_prepared(prepared *p, const tensor *inputs, const engine_options *options,
                         budget *b, const stop_sign *stop, tensor *outputs, engine_stats *stats,
                         error *err);

/* Whether more of a bare number counts than its type: with this one a graph may be rewritten in
 * another way. */
bool engine_number_counts(const tensor *t);

/* g as it is planned, in a: definitions in place and optimised, for the types that are known
 * now. log, unless it is NULL, is told what was done. To be released like any graph. NULL
 * and an error of a definition otherwise. */
graph *engine_optimized(const graph *g, bool strict, rewrite_log *log, void *context, arena *a,
                        error *err);

/* How g, which engine_optimized gave, would be run, in a: which operations share a pass over
 * memory, and which results are written over a value that is needed no more, in functions too.
 * Where lengths are not known they are taken for equal, and result->assumed says so. */
const view_plan *engine_outline(const graph *g, arena *a);

/* plan -- a graph turned into steps, with what they cost.
 *
 * Every step is a tile program (a group of elementwise operations, with a reduction
 * at its end perhaps), a run of one operation on whole tensors, or control flow: a
 * choice between plans, or a loop of them. Movement operations are no steps: they are other ways to
 * look at a slot. Values die at their last use, and a buffer is used again in place where it can
 * be.
 *
 * What a plan needs at its peak, and the element operations it will do, are known
 * before anything is allocated: the caller refuses what is above its limits here.
 *
 * Streams. What is too large to be in memory whole may be made and used a window of rows at a
 * time, where steps follow each other row by row; an output of that kind goes piece by piece
 * to whoever takes it (a file that is written).
 *
 * All shapes of the graph must be known, but for operations whose result's shape
 * depends on values; those may only be outputs, and give their own buffers.
 *
 * Reading order: plan.h, tile.h, groups.c, shared.c, layout.c, tiles.c, loops.c, bands.c,
 * streams.c, apart.c, plan.c. */
#pragma once

#include "engine/graph/graph.h"
#include "engine/plan/tile.h"

typedef enum slot_kind { SLOT_INPUT, SLOT_CONSTANT, SLOT_BUFFER } slot_kind;

typedef struct slot {
    slot_kind kind;
    int index;              /* SLOT_INPUT: of the input; SLOT_BUFFER: of the buffer */
    const tensor *constant; /* SLOT_CONSTANT */
    value value;            /* that was made there; no node: a copy of one */
} slot;

typedef struct plan_buffer {
    size_t size; /* bytes; 0 if the step that makes it decides */
    bool made_by_step;
    int first_step, last_step; /* after which it is given up; the step count for outputs */
    bool is_local;             /* to a band: rows of it are in the scratch of a thread */
    bool is_window;            /* of a stream: its size is that of a window of rows */
    size_t place, row_bytes;   /* local: where a block of rows begins there; one row of it */
} plan_buffer;

typedef enum step_kind { STEP_TILES, STEP_RUN, STEP_COND, STEP_WHILE, STEP_SCAN } step_kind;

typedef struct plan plan;

/* Steps that run together, a block of rows at a time: every one reads, of what the others
 * make, only its own rows. The first of them has it. */
typedef struct band {
    int steps;
    int64_t rows, block;  /* all, and how many are run through the steps at a time */
    int64_t row_elements; /* of all steps: what a row costs */
    int64_t lines;        /* of the next block, asked for at each instruction */
    size_t local_bytes;   /* for a block of all local buffers, at the end of the scratch */
    size_t thread_scratch;
} band;

/* Steps, or bands, that run together, a window of rows at a time. The first of them has it. */
typedef struct stream {
    int steps;
    int64_t rows, window; /* all, and how many are run through the steps at a time */
    size_t scratch;       /* of all its steps, that of each in whole lines */
} stream;

typedef struct step {
    step_kind kind;
    const node *node; /* what it computes, for messages */
    tile_program *tiles;
    const band *band;     /* NULL: the step runs alone, or in the band of one before */
    const stream *stream; /* NULL: likewise */
    int input_count, output_count;
    const layout *inputs;     /* STEP_RUN, STEP_COND */
    const int *outputs;       /* slots */
    const type *output_types; /* shapes may be unknown: the run decides */
    const plan *function[2];  /* control flow: the plans of the node's sub-graphs, in order */
    int own;                  /* control flow: inputs before the captured ones */
    int64_t scratch;          /* bytes taken for the time of the step */
    double work;              /* element operations */
    value over;               /* STEP_TILES: the value that its result is written over, if any */
} step;

struct plan {
    int slot_count, buffer_count, step_count, input_count, output_count;
    slot *slots;
    plan_buffer *buffers;
    step *steps;
    layout *outputs;
    int *first_dying; /* by step: the first buffer to give up after it, -1: none */
    int *next_dying;  /* by buffer: the next one */
    int threads;
    int64_t peak;  /* bytes in buffers and scratch, at most, without the inputs */
    int peak_step; /* where that is */
    double work;   /* element operations */
    int fused;     /* operations that share a step with another */
};

/* How many steps run together, from s on. */
int plan_steps_together(const step *s);

/* A plan for the graph's outputs, in a. threads is how many will run it. NULL and an
 * error if an operation cannot be planned. Takes time proportional to the nodes. */
plan *plan_new(const graph *g, int threads, arena *a, error *err);

/* Likewise, with streams where they save memory. taken: by output, whether it may be given
 * away piece by piece; it then has a window for a buffer. */
plan *plan_new_streamed(const graph *g, int threads, const bool *taken, arena *a, error *err);

/* g, in a, with large values computed anew for each operation that uses them, if they follow
 * element by element from others: a plan for it takes more work and, streamed, less memory. To be
 * released like any graph. NULL if it would be too large. */
graph *plan_apart(const graph *g, arena *a);

/* From how many bytes on an output is given away rather than made whole before. */
int64_t plan_large_bytes(void);

/* Whether output i is given away. */
bool plan_output_is_taken(const plan *p, int i);

/* What takes most of the memory where a plan needs most, as a clause of a sentence, and why it
 * is in memory whole. */
void plan_explain_peak(const plan *p, text *to);

/* Sets the bytes of all windows of a stream together. For tests: results do not depend on it.
 * Not thread-safe. */
void plan_set_window_bytes(int64_t bytes);

/* Which operations of g share a step, in a: by node id the id of the last one that is in it;
 * -1 for those that are alone in theirs, or in none. Lengths that are not known are taken
 * for equal. Takes time proportional to the nodes. */
int *plan_fusion(const graph *g, arena *a);

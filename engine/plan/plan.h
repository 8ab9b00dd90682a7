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
 * All shapes of the graph must be known, but for operations whose result's shape
 * depends on values; those may only be outputs, and give their own buffers.
 *
 * Reading order: plan.h, tile.h, groups.c, layout.c, tiles.c, loops.c, bands.c,
 * plan.c. */
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
    size_t place, row_bytes;   /* local: where a block of rows begins there, one row of it */
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

typedef struct step {
    step_kind kind;
    const node *node; /* what it computes, for messages */
    tile_program *tiles;
    const band *band; /* NULL: the step runs alone, or in the band of one before */
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
    int64_t peak; /* bytes in buffers and scratch, at most, without the inputs */
    double work;  /* element operations */
    int fused;    /* operations that share a step with another */
};

/* A plan for the graph's outputs, in a. threads is how many will run it. NULL and an
 * error if an operation cannot be planned. Takes time proportional to the nodes. */
plan *plan_new(const graph *g, int threads, arena *a, error *err);

/* Which operations of g share a step, in a: by node id the id of the last one that is in it;
 * -1 for those that are alone in theirs, or in none. Lengths that are not known are taken
 * for equal. Takes time proportional to the nodes. */
int *plan_fusion(const graph *g, arena *a);

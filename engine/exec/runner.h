/* runner -- a plan while it runs. Private to exec. */
#pragma once

#include "engine/exec/exec.h"

typedef struct runner {
    const plan *plan;
    const tensor *inputs;
    budget *budget;
    const stop_sign *stop;
    buffer **buffers; /* by index; NULL: not made yet, or given up */
    shape *shapes;    /* of buffers whose shape the step decided */
    int64_t *offsets; /* in bytes, of what a step put there: a part of another tensor perhaps */
    run_notes *notes;
    arena *arena;
} runner;

/* Where a value lies now; without a reference of its own. */
tensor runner_tensor(const runner *r, const layout *l);

/* Allocates the buffer of a slot, unless it has one. */
bool runner_make(runner *r, int slot, error *err);

/* Puts a dense tensor that a step made, or a dense part of one, where its slot is. Takes over
 * the reference. */
void runner_adopt_take(runner *r, int slot, const tensor *t);

/* The steps with functions (control.c). */
bool run_cond(runner *r, const step *s, error *err);
bool run_while(runner *r, const step *s, error *err);
bool run_scan(runner *r, const step *s, error *err);

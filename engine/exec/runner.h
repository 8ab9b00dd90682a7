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
    const sink *sinks; /* by output; NULL: all are kept */
    double step_work;  /* element operations of the step that runs */
} runner;

/* Where a value lies now; without a reference of its own. */
tensor runner_tensor(const runner *r, const layout *l);

/* Allocates the buffer of a slot, unless it has one. */
bool runner_make(runner *r, int slot, error *err);

/* Puts a dense tensor that a step made, or a dense part of one, where its slot is. Takes over
 * the reference. */
void runner_adopt_take(runner *r, int slot, const tensor *t);

/* The first byte of a slot that has a buffer. */
char *runner_bytes(const runner *r, int slot);

/* Element operations of steps that follow each other. */
double runner_work(const step *s, int count);

/* Binds a step's program to its slots, whose buffers are made unless a band keeps them. */
struct machine;
struct watch;
bool runner_bind(runner *r, const step *s, struct machine *m, struct watch *w, error *err);

/* ---- Streams (streams.c) --------------------------------------------------------------- */

/* Runs the steps of the stream that begins with one. */
bool run_stream(runner *r, const step *first, error *err);

/* Some rows of what a run of one operation makes. */
typedef struct rows_of_run {
    int64_t from, to, whole;
    const void *before;  /* the row made last; NULL: there is none */
    char *made;          /* where they go */
    int64_t read_before; /* bytes: how far before its buffer the first input would begin */
} rows_of_run;

bool runner_run_rows(runner *r, const step *s, const rows_of_run *rows, error *err);
/* Bytes of a row of its result. */
size_t runner_row_bytes(const step *s, int64_t rows);

/* The steps with functions (control.c). */
bool run_cond(runner *r, const step *s, error *err);
bool run_while(runner *r, const step *s, error *err);
bool run_scan(runner *r, const step *s, error *err);

/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a stream: windows of rows, each through all its steps; what is given away is written
 * after each. */
#include <string.h>

#include "engine/exec/machine.h"
#include "engine/exec/pool.h"
#include "engine/exec/runner.h"
#include "engine/kernels/stream.h"

/* A step, or a band, of the stream. */
typedef struct part {
    const step *step;
    machine *machines; /* bound to windows' beginnings, then as many of the present window; NULL: a
                          run of an operation */
    char *scratch;     /* its own; of a run: the last row of the window before */
} part;

typedef struct stream_run {
    runner *runner;
    const stream *stream;
    part *parts;
    int count;
    watch watch;
} stream_run;

static size_t in_lines(size_t bytes)
{
    return (bytes + BUFFER_ALIGN - 1) / BUFFER_ALIGN * BUFFER_ALIGN;
}

static int steps_of_part(const step *s)
{
    return s->band != NULL ? s->band->steps : 1;
}

/* ---- Binding --------------------------------------------------------------------------------- */

static bool bind_part(stream_run *r, part *p, error *err)
{
    const int count = steps_of_part(p->step);

    if (p->step->kind != STEP_TILES)
        return runner_make(r->runner, p->step->outputs[0], err);
    p->machines = arena_array(r->runner->arena, 2 * (size_t)count, sizeof *p->machines);
    for (int i = 0; i < count; i++) {
        if (!runner_bind(r->runner, &p->step[i], &p->machines[i], &r->watch, err))
            return false;
        p->machines[i].scratch = p->scratch;
        p->machines[i].shared =
            p->scratch + p->machines[i].thread_scratch * (size_t)r->runner->plan->threads;
    }
    return true;
}

/* Bytes that a part has of the stream's scratch. */
static size_t scratch_of(const stream_run *r, const step *s)
{
    return in_lines(s->kind == STEP_TILES ? (size_t)s->scratch
                                          : runner_row_bytes(s, r->stream->rows));
}

static bool bind_parts(stream_run *r, const step *first, char *scratch, error *err)
{
    r->parts = arena_array(r->runner->arena, (size_t)r->stream->steps, sizeof *r->parts);
    for (int i = 0; i < r->stream->steps; i += steps_of_part(&first[i])) {
        part *p = &r->parts[r->count++];

        *p = (part){.step = &first[i], .scratch = scratch};
        scratch += scratch_of(r, p->step);
        if (!bind_part(r, p, err))
            return false;
    }
    return true;
}

/* ---- Windows --------------------------------------------------------------------------------- */

/* How far before a slot's first byte its rows would begin if all were there. */
static int64_t rows_before(const stream_run *r, int slot_index, int64_t from)
{
    const slot *s = slot_index == NO_SLOT ? NULL : &r->runner->plan->slots[slot_index];
    const plan_buffer *b =
        s != NULL && s->kind == SLOT_BUFFER ? &r->runner->plan->buffers[s->index] : NULL;

    return b != NULL && b->is_window ? from * (int64_t)b->row_bytes : 0;
}

/* A machine for the window that begins with row `from`. */
static machine machine_of_window(const stream_run *r, const machine *whole, int64_t from)
{
    machine m = *whole;

    for (int i = 0; i < m.program->leaf_count; i++)
        m.leaf[i] -= m.leaf[i] == NULL ? 0 : rows_before(r, m.program->leaves[i].slot, from);
    for (int i = 0; i < m.program->output_count; i++)
        m.output[i] -= m.output[i] == NULL ? 0 : rows_before(r, m.program->outputs[i].slot, from);
    return m;
}

/* ---- Some rows of one step, in tasks -----------------------------------------------------------
 */

typedef struct rows_run {
    machine *machine;
    int64_t rows, from, to; /* all, and those of the window */
    int64_t in_task;        /* rows, or pairs of a reduction */
    int64_t first, count;   /* of the pairs of each result; count 0: no reduction */
    int64_t results, segments;
} rows_run;

/* The reduction's pairs [from, to), counted result by result among those of the window. */
static void fold_some(const rows_run *r, worker *w, int64_t from, int64_t to)
{
    while (from < to) {
        const int64_t at = from % r->count, left = r->count - at;
        const int64_t n = to - from < left ? to - from : left;
        const int64_t pair = from / r->count * r->segments + r->first + at;

        fold_results(w, pair, pair + n);
        from += n;
    }
}

static void run_task(void *context, int64_t task, int lane)
{
    const rows_run *r = context;
    const int64_t all = r->count > 0 ? r->count * r->results : r->to - r->from;
    const int64_t from = task * r->in_task;
    const int64_t to = from + r->in_task < all ? from + r->in_task : all;
    worker w;

    if (watch_stops(r->machine->watch))
        return;
    kernel_flags = 0;
    worker_init(&w, r->machine, lane);
    if (r->count > 0)
        fold_some(r, &w, from, to);
    else
        worker_rows(&w, r->rows, r->from + from, r->from + to);
    stream_finish();
    watch_note(r->machine->watch);
}

static int64_t rounded_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* Finds the pairs of a reduction that the window's rows fill. */
static void find_pairs(rows_run *r)
{
    const fold_windows f = tile_fold_windows(r->machine->program, r->rows);
    const fold_cut c = tile_fold_cut(r->machine->program);

    r->results = f.whole ? c.results : 1;
    r->segments = c.segments;
    r->first = f.whole ? r->from * f.units / f.per_segment : r->from / f.block;
    r->count = (f.whole ? rounded_up(r->to * f.units, f.per_segment) : rounded_up(r->to, f.block)) -
               r->first;
    r->in_task = c.per_task;
}

static void run_tiles(machine *m, int64_t rows, int64_t from, int64_t to)
{
    rows_run r = {.machine = m, .rows = rows, .from = from, .to = to};
    int64_t elements = 1;

    for (int i = 0; i < m->program->rank; i++)
        elements *= m->program->length[i];
    r.in_task = elements / rows > 0 ? TASK_ELEMENTS / (elements / rows) : TASK_ELEMENTS;
    r.in_task = r.in_task > 0 ? r.in_task : 1;
    if (m->program->fold_count > 0)
        find_pairs(&r);
    pool_run(rounded_up(r.count > 0 ? r.count * r.results : to - from, r.in_task), run_task, &r);
}

/* ---- One window ------------------------------------------------------------------------------ */

static bool run_operation(stream_run *r, const part *p, int64_t from, int64_t to, error *err)
{
    const size_t row = runner_row_bytes(p->step, r->stream->rows);
    const int slot_index = p->step->outputs[0];
    const int read = p->step->input_count > 0 ? p->step->inputs[0].slot : NO_SLOT;
    char *made = runner_bytes(r->runner, slot_index) + from * (int64_t)row -
                 rows_before(r, slot_index, from);
    const rows_of_run rows = {.from = from,
                              .to = to,
                              .whole = r->stream->rows,
                              .before = from > 0 ? p->scratch : NULL,
                              .made = made,
                              .read_before = rows_before(r, read, from)};

    if (!runner_run_rows(r->runner, p->step, &rows, err))
        return false;
    memcpy(p->scratch, made + (to - from - 1) * (int64_t)row, row);
    return true;
}

static bool run_part(stream_run *r, const part *p, int64_t from, int64_t to, error *err)
{
    const int count = steps_of_part(p->step);
    machine *machines;

    if (p->step->kind != STEP_TILES)
        return run_operation(r, p, from, to, err);
    machines = p->machines + count;
    for (int i = 0; i < count; i++)
        machines[i] = machine_of_window(r, &p->machines[i], from);
    if (p->step->band != NULL)
        band_run_tasks(r->runner->plan, p->step->band, machines, p->scratch, &r->watch, from, to);
    else
        run_tiles(machines, r->stream->rows, from, to);
    if (r->watch.stopped)
        *err = r->watch.err;
    return !r->watch.stopped;
}

/* Hands the window's rows of what is given away to those who take it. */
static bool give_away(const stream_run *r, const step *first, int64_t rows, error *err)
{
    const plan *pl = r->runner->plan;
    const int begin = (int)(first - pl->steps), end = begin + r->stream->steps;

    for (int i = 0; i < pl->output_count; i++) {
        const slot *s = &pl->slots[pl->outputs[i].slot];
        const plan_buffer *b = s->kind == SLOT_BUFFER ? &pl->buffers[s->index] : NULL;
        const sink *to = &r->runner->sinks[i];

        if (b == NULL || !b->is_window || b->first_step < begin || b->first_step >= end)
            continue;
        if (!to->write(to->context, runner_bytes(r->runner, pl->outputs[i].slot),
                       (size_t)rows * b->row_bytes, err))
            return false;
    }
    return true;
}

/* Says how far the stream is. */
static void tell_progress(const stream_run *r, int64_t before, double work, int64_t rows)
{
    run_progress *p = r->runner->stop->progress;

    if (p != NULL)
        p->work_done = before + (int64_t)(work * (double)rows / (double)r->stream->rows);
}

static bool run_windows(stream_run *r, const step *first, error *err)
{
    const run_progress *p = r->runner->stop->progress;
    const int64_t before = p == NULL ? 0 : p->work_done;
    const double work = runner_work(first, r->stream->steps);

    for (int64_t from = 0; from < r->stream->rows; from += r->stream->window) {
        const int64_t left = r->stream->rows - from;
        const int64_t rows = left < r->stream->window ? left : r->stream->window;

        if (stop_asked(r->runner->stop, err))
            return false;
        for (int i = 0; i < r->count; i++)
            if (!run_part(r, &r->parts[i], from, from + rows, err))
                return false;
        if (!give_away(r, first, rows, err))
            return false;
        tell_progress(r, before, work, from + rows);
    }
    return true;
}

/* Ends reductions of all rows. */
static void finish_folds(const stream_run *r)
{
    for (int i = 0; i < r->count; i++) {
        machine *m = r->parts[i].machines;

        if (m != NULL && r->parts[i].step->band == NULL && m->program->fold_count > 0)
            fold_finish(m);
    }
}

bool run_stream(runner *r, const step *first, error *err)
{
    stream_run s = {.runner = r, .stream = first->stream, .watch = {.stop = r->stop}};
    buffer *scratch = buffer_new(r->budget, first->stream->scratch, err);
    bool ok;

    if (scratch == NULL)
        return false;
    ok = bind_parts(&s, first, buffer_bytes(scratch), err) && run_windows(&s, first, err);
    if (ok)
        finish_folds(&s);
    r->notes->flags |= s.watch.flags;
    buffer_unref(scratch);
    return ok;
}

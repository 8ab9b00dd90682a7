/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a band: blocks of rows, each through all its steps. */
#include "engine/exec/machine.h"
#include "engine/exec/pool.h"
#include "engine/kernels/stream.h"

/* A step of the band as one thread runs it. */
typedef struct band_step {
    machine machine;
    worker worker;
    /* Bytes that a row takes in slots that only the band has, 0 in others. */
    int64_t leaf_row[TILE_LEAVES], output_row[TILE_LEAVES];
} band_step;

typedef struct band_lane {
    band_step *steps;
    int64_t first; /* the row of which the steps have local memory */
    ahead coming;
} band_lane;

typedef struct band_run {
    const band *band;
    const machine *machines;
    watch *watch;
    int64_t from, to, task_rows;
    band_lane *lanes;
} band_run;

/* ---- What a thread has --------------------------------------------------------------------- */

/* The buffer of a slot that only the band has; NULL if others have it too. */
static const plan_buffer *local_buffer(const plan *p, int slot_index)
{
    const slot *s = &p->slots[slot_index];
    const plan_buffer *b = s->kind == SLOT_BUFFER ? &p->buffers[s->index] : NULL;

    return b != NULL && b->is_local ? b : NULL;
}

static void bind_step(const plan *p, band_step *s, const machine *m, char *scratch, char *locals)
{
    const tile_program *t = m->program;
    const plan_buffer *b;

    s->machine = *m;
    s->machine.scratch = scratch;
    for (int i = 0; i < t->leaf_count; i++)
        if ((b = local_buffer(p, t->leaves[i].slot)) != NULL) {
            s->machine.leaf[i] = locals + b->place;
            s->leaf_row[i] = (int64_t)b->row_bytes;
        }
    for (int i = 0; i < t->output_count; i++)
        if ((b = local_buffer(p, t->outputs[i].slot)) != NULL) {
            s->machine.output[i] = locals + b->place;
            s->output_row[i] = (int64_t)b->row_bytes;
        }
    worker_init(&s->worker, &s->machine, 0);
}

static void lane_init(const plan *p, const band_run *r, band_lane *l, char *scratch, arena *a)
{
    char *locals = scratch + r->band->thread_scratch - r->band->local_bytes;

    l->steps = arena_array(a, (size_t)r->band->steps, sizeof *l->steps);
    l->coming.lines = r->band->lines;
    l->coming.far = true;
    for (int k = 0; k < r->band->steps; k++) {
        bind_step(p, &l->steps[k], &r->machines[k], scratch, locals);
        l->steps[k].worker.ahead = &l->coming;
        scratch += r->machines[k].thread_scratch; /* its own: tiles of constants stay there */
    }
}

/* Local memory is seen as if all rows before the block were there too. */
static void move_to_row(const band_run *r, band_lane *l, int64_t first)
{
    const int64_t rows = first - l->first;

    for (int k = 0; k < r->band->steps; k++) {
        band_step *s = &l->steps[k];

        for (int i = 0; i < s->machine.program->leaf_count; i++)
            s->machine.leaf[i] -= rows * s->leaf_row[i];
        for (int i = 0; i < s->machine.program->output_count; i++)
            s->machine.output[i] -= rows * s->output_row[i];
    }
    l->first = first;
}

/* ---- Blocks ---------------------------------------------------------------------------------- */

/* What the rows from `first` on need of memory that is not local. */
static void look_ahead(const band_run *r, ahead *a, int64_t first, int64_t end)
{
    a->count = 0;
    for (int k = 0; first < end && k < r->band->steps; k++) {
        const machine *m = &r->machines[k];

        for (int i = 0; i < m->program->leaf_count && a->count < TILE_LEAVES; i++) {
            const tile_leaf *l = &m->program->leaves[i];
            const int64_t row = l->ahead * (int64_t)l->size;

            if (!l->walks)
                continue;
            a->next[a->count] = m->leaf[i] + l->offset * (int64_t)l->size + first * row;
            a->end[a->count] = a->next[a->count] + (end - first) * row;
            a->count++;
        }
    }
}

static void run_block(const band_run *r, band_lane *l, int64_t from, int64_t to)
{
    const int64_t next = to + r->band->block;

    move_to_row(r, l, from);
    look_ahead(r, &l->coming, to, next < r->to ? next : r->to);
    for (int k = 0; k < r->band->steps; k++) {
        worker *w = &l->steps[k].worker;

        if (w->program->fold_count > 0)
            fold_results(w, from, to);
        else
            worker_rows(w, r->band->rows, from, to);
    }
}

static void run_rows(void *context, int64_t task, int lane)
{
    const band_run *r = context;
    const int64_t block = r->band->block;
    const int64_t first = r->from + task * r->task_rows;
    const int64_t end = first + r->task_rows < r->to ? first + r->task_rows : r->to;

    if (watch_stops(r->watch))
        return;
    kernel_flags = 0;
    for (int64_t from = first; from < end; from += block)
        run_block(r, &r->lanes[lane], from, from + block < end ? from + block : end);
    stream_finish();
    watch_note(r->watch);
}

bool band_run_tasks(const plan *p, const band *b, const machine *machines, char *scratch, watch *w,
                    int64_t from, int64_t to)
{
    const int64_t wanted = TASK_ELEMENTS / (b->row_elements > 0 ? b->row_elements : 1);
    const int64_t blocks = wanted / b->block > 0 ? wanted / b->block : 1;
    arena *a = arena_new(); /* its own, since a stream runs a band window by window */
    band_run r = {.band = b,
                  .machines = machines,
                  .watch = w,
                  .from = from,
                  .to = to,
                  .task_rows = blocks * b->block,
                  .lanes = arena_array(a, (size_t)p->threads, sizeof *r.lanes)};

    w->task_work = w->work * (double)r.task_rows / (double)b->rows;
    for (int i = 0; i < p->threads; i++)
        lane_init(p, &r, &r.lanes[i], scratch + (size_t)i * b->thread_scratch, a);
    pool_run((to - from + r.task_rows - 1) / r.task_rows, run_rows, &r);
    arena_free(a);
    return !w->stopped;
}

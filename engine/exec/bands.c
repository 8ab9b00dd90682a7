/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a band: blocks of rows, each through all its steps. */
#include "engine/exec/machine.h"
#include "engine/exec/pool.h"
#include "engine/kernels/stream.h"

typedef struct band_run {
    const plan *plan;
    const band *band;
    const machine *machines;
    char *scratch;
    watch *watch;
    int64_t from, to, task_rows;
} band_run;

/* Where a thread has the rows of a slot, as if all rows before its block were there too;
 * NULL if the slot is not local. */
static char *local_rows(const band_run *r, int slot_index, char *locals, int64_t first)
{
    const slot *s = &r->plan->slots[slot_index];
    const plan_buffer *b = s->kind == SLOT_BUFFER ? &r->plan->buffers[s->index] : NULL;

    return b != NULL && b->is_local ? locals + b->place - first * (int64_t)b->row_bytes : NULL;
}

/* The machine of step k for a block of rows. */
static machine machine_of_block(const band_run *r, int k, char *scratch, int64_t first)
{
    machine m = r->machines[k];
    char *locals = scratch + r->band->thread_scratch - r->band->local_bytes;

    m.scratch = scratch;
    for (int i = 0; i < m.program->leaf_count; i++) {
        const char *rows = local_rows(r, m.program->leaves[i].slot, locals, first);

        m.leaf[i] = rows != NULL ? rows : m.leaf[i];
    }
    for (int i = 0; i < m.program->output_count; i++) {
        char *rows = local_rows(r, m.program->outputs[i].slot, locals, first);

        m.output[i] = rows != NULL ? rows : m.output[i];
    }
    return m;
}

/* What the rows from `first` on need of memory that is not local. */
static ahead rows_ahead(const band_run *r, int64_t first, int64_t end)
{
    ahead a = {.lines = r->band->lines};

    for (int k = 0; k < r->band->steps; k++) {
        const machine *m = &r->machines[k];

        for (int i = 0; i < m->program->leaf_count && a.count < TILE_LEAVES; i++) {
            const tile_leaf *l = &m->program->leaves[i];
            const int64_t row = l->ahead * (int64_t)l->size;

            if (!l->walks)
                continue;
            a.next[a.count] = m->leaf[i] + l->offset * (int64_t)l->size + first * row;
            a.end[a.count] = a.next[a.count] + (end - first) * row;
            a.count += end > first;
        }
    }
    return a;
}

static void run_block(const band_run *r, char *scratch, int64_t from, int64_t to)
{
    const int64_t next = to + r->band->block;
    ahead coming = rows_ahead(r, to, next < r->to ? next : r->to);

    for (int k = 0; k < r->band->steps; k++) {
        machine m = machine_of_block(r, k, scratch, from);
        worker w;

        worker_init(&w, &m, 0);
        w.ahead = &coming;
        if (m.program->reduce != NULL)
            fold_results(&w, from, to);
        else
            worker_rows(&w, r->band->rows, from, to);
    }
}

static void run_rows(void *context, int64_t task, int lane)
{
    const band_run *r = context;
    const int64_t block = r->band->block;
    const int64_t first = r->from + task * r->task_rows;
    const int64_t end = first + r->task_rows < r->to ? first + r->task_rows : r->to;
    char *scratch = r->scratch + (size_t)lane * r->band->thread_scratch;

    if (watch_stops(r->watch))
        return;
    kernel_flags = 0;
    for (int64_t from = first; from < end; from += block)
        run_block(r, scratch, from, from + block < end ? from + block : end);
    stream_finish();
    watch_note(r->watch);
}

bool band_run_tasks(const plan *p, const band *b, const machine *machines, char *scratch, watch *w,
                    int64_t from, int64_t to)
{
    const int64_t wanted = TASK_ELEMENTS / (b->row_elements > 0 ? b->row_elements : 1);
    const int64_t blocks = wanted / b->block > 0 ? wanted / b->block : 1;
    band_run r = {p, b, machines, scratch, w, from, to, blocks * b->block};

    pool_run((to - from + r.task_rows - 1) / r.task_rows, run_rows, &r);
    return !w->stopped;
}

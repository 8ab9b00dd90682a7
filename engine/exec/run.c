/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "engine/exec/machine.h"
#include "engine/exec/pool.h"
#include "engine/exec/runner.h"
#include "engine/kernels/gemm.h"

void exec_init(int threads)
{
    gemm_init();
    fold_init();
    pool_start(threads);
}

/* ---- Slots ------------------------------------------------------------------------- */

static buffer *slot_buffer(const runner *r, int index)
{
    const slot *s = &r->plan->slots[index];

    switch (s->kind) {
    case SLOT_INPUT:
        return r->inputs[s->index].buf;
    case SLOT_CONSTANT:
        return s->constant->buf;
    case SLOT_BUFFER:
        break;
    }
    return r->buffers[s->index];
}

/* Where in its buffer a slot begins, in bytes: inputs and what functions give may be parts of
 * other tensors. */
static int64_t slot_offset(const runner *r, int index)
{
    const slot *s = &r->plan->slots[index];

    switch (s->kind) {
    case SLOT_INPUT:
        return r->inputs[s->index].offset * (int64_t)dtype_size(r->inputs[s->index].dtype);
    case SLOT_CONSTANT:
        return 0; /* its layouts know */
    case SLOT_BUFFER:
        break;
    }
    return r->offsets[s->index];
}

char *runner_bytes(const runner *r, int index)
{
    return (char *)buffer_bytes(slot_buffer(r, index)) + slot_offset(r, index);
}

bool runner_make(runner *r, int index, error *err)
{
    const int b = r->plan->slots[index].index;

    if (r->buffers[b] == NULL)
        r->buffers[b] = buffer_new(r->budget, r->plan->buffers[b].size, err);
    return r->buffers[b] != NULL;
}

tensor runner_tensor(const runner *r, const layout *l)
{
    const slot *s = &r->plan->slots[l->slot];
    tensor t = {
        .buf = slot_buffer(r, l->slot), .dtype = l->dtype, .offset = l->offset, .shape = l->shape};

    memcpy(t.strides, l->strides, sizeof t.strides);
    t.offset += slot_offset(r, l->slot) / (int64_t)dtype_size(l->dtype);
    if (!shape_is_known(&l->shape)) { /* then l is all that the step made */
        t.shape = r->shapes[s->index];
        shape_strides(&t.shape, t.strides);
    }
    return t;
}

static void release_after(runner *r, int step)
{
    for (int b = r->plan->first_dying[step]; b >= 0; b = r->plan->next_dying[b]) {
        buffer_unref(r->buffers[b]);
        r->buffers[b] = NULL;
    }
}

static bool is_local(const runner *r, int index)
{
    const slot *s = &r->plan->slots[index];

    return s->kind == SLOT_BUFFER && r->plan->buffers[s->index].is_local;
}

/* ---- Tile programs ---------------------------------------------------------------------- */

bool runner_bind(runner *r, const step *s, machine *m, watch *w, error *err)
{
    const tile_program *p = s->tiles;

    m->program = p;
    m->watch = w;
    m->thread_scratch = tile_thread_scratch(p);
    for (int i = 0; i < p->output_count; i++) {
        if (is_local(r, p->outputs[i].slot))
            continue;
        if (!runner_make(r, p->outputs[i].slot, err))
            return false;
        m->output[i] = runner_bytes(r, p->outputs[i].slot);
    }
    for (int i = 0; i < p->leaf_count; i++)
        if (!is_local(r, p->leaves[i].slot))
            m->leaf[i] = runner_bytes(r, p->leaves[i].slot);
    fold_prepare(m);
    return true;
}

double runner_work(const step *s, int count)
{
    double work = 0;

    for (int i = 0; i < count; i++)
        work += s[i].work;
    return work;
}

/* Runs the steps of a band, or the one step. */
static bool run_tile_steps(runner *r, const step *s, int count, error *err)
{
    machine *machines = arena_array(r->arena, (size_t)count, sizeof *machines);
    watch w = {.stop = r->stop, .progress = r->stop->progress, .work = runner_work(s, count)};
    buffer *scratch;
    bool ok;

    for (int i = 0; i < count; i++)
        if (!runner_bind(r, &s[i], &machines[i], &w, err))
            return false;
    scratch = buffer_new(r->budget, (size_t)s->scratch, err);
    if (scratch == NULL)
        return false;
    machines->scratch = buffer_bytes(scratch);
    machines->shared = machines->scratch + machines->thread_scratch * (size_t)r->plan->threads;
    ok = s->band != NULL
             ? band_run_tasks(r->plan, s->band, machines, machines->scratch, &w, 0, s->band->rows)
             : machine_run_tasks(machines);
    buffer_unref(scratch);
    r->notes->flags |= w.flags;
    if (!ok)
        *err = w.err;
    return ok;
}

static int steps_of_band(const step *s)
{
    return s->band != NULL ? s->band->steps : 1;
}

/* ---- Runs of one operation ----------------------------------------------------------------- */

static bool run_stopped(op_run *run, error *err)
{
    return stop_asked(((runner *)run->machine)->stop, err);
}

/* A region whose parts stop being done once the request is to stop. */
typedef struct op_region {
    const stop_sign *stop;
    double work; /* element operations of one part */
    void (*part)(void *context, int64_t i);
    void *context;
    _Atomic bool stopped;
    error err;
} op_region;

static void run_op_part(void *context, int64_t i, int lane)
{
    op_region *region = context;
    error err = {0};

    (void)lane;
    if (atomic_load_explicit(&region->stopped, memory_order_relaxed))
        return;
    if (!stop_asked(region->stop, &err)) {
        region->part(region->context, i);
        run_progress_add(region->stop->progress, region->work);
    } else if (!atomic_exchange(&region->stopped, true)) {
        region->err = err;
    }
}

static bool run_parallel(op_run *run, int64_t n, void (*part)(void *context, int64_t i),
                         void *context, error *err)
{
    const runner *r = run->machine;
    op_region region = {
        .stop = r->stop, .work = r->step_work / (double)n, .part = part, .context = context};

    pool_run(n, run_op_part, &region);
    if (region.stopped)
        *err = region.err;
    return !region.stopped;
}

/* Allocates the outputs whose shape is known; the run makes the others. */
static bool make_outputs(runner *r, const step *s, tensor *outputs, error *err)
{
    for (int i = 0; i < s->output_count; i++) {
        const type *t = &s->output_types[i];

        memset(&outputs[i], 0, sizeof outputs[i]);
        if (!shape_is_known(&t->shape))
            continue;
        if (!runner_make(r, s->outputs[i], err))
            return false;
        tensor_wrap_take(&outputs[i], slot_buffer(r, s->outputs[i]), t->dtype, &t->shape);
    }
    return true;
}

void runner_adopt_take(runner *r, int slot_index, const tensor *t)
{
    const int b = r->plan->slots[slot_index].index;

    r->buffers[b] = t->buf;
    r->shapes[b] = t->shape;
    r->offsets[b] = t->offset * (int64_t)dtype_size(t->dtype);
}

/* The plan counted what has no known shape as nothing: makes that good. */
static void note_extra(runner *r)
{
    const int64_t above = r->budget == NULL ? 0 : r->budget->used - r->plan->peak;

    if (above > r->notes->extra_peak)
        r->notes->extra_peak = above;
}

static op_run op_run_of(runner *r, const step *s, tensor *inputs, tensor *outputs)
{
    return (op_run){.op = s->node->op,
                    .count = s->input_count,
                    .inputs = inputs,
                    .attrs = s->node->attrs,
                    .outputs = outputs,
                    .budget = r->budget,
                    .arena = r->arena,
                    .stopped = run_stopped,
                    .parallel = run_parallel,
                    .machine = r};
}

static tensor *op_inputs(runner *r, const step *s)
{
    tensor *inputs = arena_array(r->arena, (size_t)s->input_count + 1, sizeof *inputs);

    for (int i = 0; i < s->input_count; i++)
        if (s->inputs[i].slot != NO_SLOT)
            inputs[i] = runner_tensor(r, &s->inputs[i]);
    return inputs;
}

static bool call_operation(runner *r, op_run *run, error *err)
{
    bool ok;

    kernel_flags = 0;
    ok = run->op->run(run, err);
    r->notes->flags |= kernel_flags;
    return ok;
}

static bool run_op_step(runner *r, const step *s, error *err)
{
    tensor *outputs = arena_array(r->arena, (size_t)s->output_count + 1, sizeof *outputs);
    op_run run = op_run_of(r, s, op_inputs(r, s), outputs);
    bool ok;

    if (!make_outputs(r, s, outputs, err))
        return false;
    ok = call_operation(r, &run, err);
    for (int i = 0; i < s->output_count; i++)
        if (!shape_is_known(&s->output_types[i].shape) && outputs[i].buf != NULL) {
            runner_adopt_take(r, s->outputs[i], &outputs[i]);
            note_extra(r);
        }
    return ok;
}

/* ---- Rows of one operation ----------------------------------------------------------------- */

size_t runner_row_bytes(const step *s, int64_t rows)
{
    const type *t = s->output_types;

    return (size_t)(shape_size(&t->shape) / rows) * dtype_size(t->dtype);
}

/* Makes t some of its rows, or of those of t flattened. */
static void take_rows(tensor *t, const rows_of_run *rows)
{
    const int64_t width = tensor_size(t) / rows->whole;

    if (t->shape.rank > 0 && t->shape.length[0] == rows->whole) {
        t->offset += rows->from * t->strides[0];
        t->shape.length[0] = rows->to - rows->from;
    } else {
        t->offset += rows->from * width;
        t->shape = (shape){.rank = 1, .length = {(rows->to - rows->from) * width}};
        t->strides[0] = 1;
    }
    t->offset -= rows->read_before / (int64_t)dtype_size(t->dtype);
}

bool runner_run_rows(runner *r, const step *s, const rows_of_run *rows, error *err)
{
    const type *made = s->output_types;
    tensor *inputs = op_inputs(r, s), output;
    op_run run = op_run_of(r, s, inputs, &output);
    shape part = made->shape;

    part.length[0] = rows->to - rows->from;
    tensor_wrap_take(&output, slot_buffer(r, s->outputs[0]), made->dtype, &part);
    output.offset =
        (rows->made - (char *)buffer_bytes(output.buf)) / (int64_t)dtype_size(made->dtype);
    if (s->input_count > 0 && inputs[0].shape.rank > 0)
        take_rows(&inputs[0], rows);
    run.first_row = rows->from;
    run.whole_rows = rows->whole;
    run.before = rows->before;
    return call_operation(r, &run, err);
}

/* ---- Plans --------------------------------------------------------------------------------------
 */

static bool run_step(runner *r, const step *s, error *err)
{
    if (s->stream != NULL)
        return run_stream(r, s, err);
    switch (s->kind) {
    case STEP_TILES:
        return run_tile_steps(r, s, steps_of_band(s), err);
    case STEP_RUN:
        return run_op_step(r, s, err);
    case STEP_COND:
        return run_cond(r, s, err);
    case STEP_WHILE:
        return run_while(r, s, err);
    case STEP_SCAN:
        return run_scan(r, s, err);
    }
    return false;
}

/* Runs a step, or the band that begins with it, and says so. What functions inside it counted is
 * replaced by what was planned. */
static bool run_watched(runner *r, const step *s, error *err)
{
    run_progress *p = r->stop->progress;
    const int64_t before = p == NULL ? 0 : p->work_done;
    const int count = plan_steps_together(s);
    const double work = runner_work(s, count);

    if (p == NULL)
        return run_step(r, s, err);
    p->depth++;
    r->step_work = work;
    if (!run_step(r, s, err))
        return false;
    p->depth--;
    p->work_done = before + (int64_t)work;
    p->steps_done += p->depth == 0 ? count : 0;
    return true;
}

static bool run_steps(runner *r, error *err)
{
    for (int i = 0; i < r->plan->step_count; i++) {
        const int last = i + plan_steps_together(&r->plan->steps[i]) - 1;

        if (stop_asked(r->stop, err) || !run_watched(r, &r->plan->steps[i], err))
            return false;
        if (r->notes->flags & KERNEL_NEGATIVE_POWER)
            return error_set(err, ERR_VALUE,
                             "power: integers to negative integer powers are not "
                             "allowed; make one of them a float");
        for (; i < last; i++)
            release_after(r, i);
        release_after(r, i);
    }
    return true;
}

/* Tells those who take outputs what is to come. */
static bool open_sinks(const plan *p, const sink *sinks, error *err)
{
    for (int i = 0; i < p->output_count; i++)
        if (plan_output_is_taken(p, i) &&
            !sinks[i].open(sinks[i].context, p->outputs[i].dtype, &p->outputs[i].shape, err))
            return false;
    return true;
}

static tensor output_of(const runner *r, int i)
{
    const layout *l = &r->plan->outputs[i];
    tensor t;

    if (plan_output_is_taken(r->plan, i))
        return (tensor){.dtype = l->dtype, .shape = l->shape};
    t = runner_tensor(r, l);
    tensor_ref(&t);
    return t;
}

bool exec_run_to(const plan *p, const tensor *inputs, budget *b, const stop_sign *stop,
                 const sink *sinks, tensor *outputs, run_notes *notes, error *err)
{
    arena *a = arena_new();
    runner r = {.plan = p,
                .inputs = inputs,
                .budget = b,
                .stop = stop,
                .notes = notes,
                .arena = a,
                .sinks = sinks};
    bool ok;

    r.buffers = arena_array(a, (size_t)p->buffer_count + 1, sizeof *r.buffers);
    r.shapes = arena_array(a, (size_t)p->buffer_count + 1, sizeof *r.shapes);
    r.offsets = arena_array(a, (size_t)p->buffer_count + 1, sizeof *r.offsets);
    pool_enter();
    ok = open_sinks(p, sinks, err) && run_steps(&r, err);
    pool_leave();
    for (int i = 0; ok && i < p->output_count; i++)
        outputs[i] = output_of(&r, i);
    for (int i = 0; i < p->buffer_count; i++)
        buffer_unref(r.buffers[i]);
    arena_free(a);
    return ok;
}

bool exec_run(const plan *p, const tensor *inputs, budget *b, const stop_sign *stop,
              tensor *outputs, run_notes *notes, error *err)
{
    return exec_run_to(p, inputs, b, stop, NULL, outputs, notes, err);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "engine/base/clock.h"
#include "engine/exec/machine.h"
#include "engine/exec/pool.h"
#include "engine/kernels/stream.h"
#include "engine/kernels/target.h"
#include "engine/tensor/resident.h"

/* Instructions that storing past the caches counts for: it leaves time to ask for lines. */
enum { STORE_WEIGHT = 5 };

/* How often lines are asked for in a tile of n elements. */
static int64_t asks_of_tile(const tile_program *p, int64_t n)
{
    return p->instruction_count + (p->stored_count > 0 ? STORE_WEIGHT : tile_fold_parts(p, n));
}

bool stop_asked(const stop_sign *stop, error *err)
{
    resident_check();
    if (stop->cancelled != NULL && atomic_load_explicit(stop->cancelled, memory_order_relaxed)) {
        error_set(err, ERR_CANCELLED, "the evaluation was cancelled");
        return true;
    }
    if (stop->deadline_us != 0 && clock_us() > stop->deadline_us) {
        error_set(err, ERR_TIME,
                  "the evaluation did not end within its time; ask for less, give "
                  "it a longer timeout_ms, or run it as a job");
        return true;
    }
    return false;
}

/* ---- Gathering --------------------------------------------------------------------- */

/* n elements that lie step elements apart, side by side; n copies of one. */
#define GATHER(size, T)                                                                            \
    static void gather_##size(void *to, const void *from, int64_t n, int64_t step)                 \
    {                                                                                              \
        T *out = to;                                                                               \
        const T *x = from;                                                                         \
                                                                                                   \
        for (int64_t i = 0; i < n; i++)                                                            \
            out[i] = x[i * step];                                                                  \
    }                                                                                              \
                                                                                                   \
    CPU_LEVELS static void spread_##size(void *to, const void *from, int64_t n)                    \
    {                                                                                              \
        const T x = *(const T *)from;                                                              \
        T *out = to;                                                                               \
                                                                                                   \
        for (int64_t i = 0; i < n; i++)                                                            \
            out[i] = x;                                                                            \
    }
GATHER(1, uint8_t)
GATHER(2, uint16_t)
GATHER(4, uint32_t)
GATHER(8, uint64_t)
GATHER(16, double _Complex)

typedef void gather_fn(void *to, const void *from, int64_t n, int64_t step);
typedef void spread_fn(void *to, const void *from, int64_t n);

/* By the size of an element. */
static gather_fn *const gather[] = {
    [1] = gather_1, [2] = gather_2, [4] = gather_4, [8] = gather_8, [16] = gather_16};
static spread_fn *const spread[] = {
    [1] = spread_1, [2] = spread_2, [4] = spread_4, [8] = spread_8, [16] = spread_16};

/* Elements of a flat run from `at`, through all its axes. */
static void gather_flat(const tile_program *p, const tile_leaf *l, const char *base, char *to,
                        int64_t at, int64_t n)
{
    const int first = p->fold_count == 0 ? 0 : p->kept, last = p->rank - 1;
    int64_t index[RANK_MAX], rest = at, offset = 0;

    for (int i = last; i >= first; i--) {
        index[i] = rest % p->length[i];
        rest /= p->length[i];
        offset += index[i] * l->steps[i];
    }
    while (n > 0) {
        const int64_t left = p->length[last] - index[last], part = n < left ? n : left;

        gather[l->size](to, base + offset * (int64_t)l->size, part, l->steps[last]);
        to += (size_t)part * l->size;
        n -= part;
        offset -= index[last] * l->steps[last];
        index[last] = 0;
        for (int i = last - 1; i >= first; i--) {
            offset += l->steps[i];
            if (++index[i] < p->length[i])
                break;
            offset -= index[i] * l->steps[i];
            index[i] = 0;
        }
    }
}

/* ---- Workers ------------------------------------------------------------------------- */

static int operand_count(const tile_program *p)
{
    return p->leaf_count + p->register_count + p->stored_count;
}

void worker_init(worker *w, machine *m, int lane)
{
    const tile_program *p = m->program;
    const size_t tile = (size_t)p->tile * p->element_size + BUFFER_ALIGN;
    char *scratch = m->scratch + (size_t)lane * m->thread_scratch;

    w->machine = m;
    w->ahead = &w->own;
    w->own.count = 0;
    w->own.far = false;
    w->program = p;
    for (int i = 0; i < operand_count(p); i++, scratch += tile / BUFFER_ALIGN * BUFFER_ALIGN)
        w->operand[i] = w->spare[i] = scratch;
    for (int i = 0; i < p->fold_count; i++) {
        w->levels[i] = scratch;
        scratch += tile_fold_bytes(p, &p->folds[i]);
    }
    memset(w->filled, 0, sizeof w->filled);
    for (int i = 0; i < p->leaf_count; i++)
        w->offset[i] = p->leaves[i].offset;
}

void worker_seek(worker *w, int64_t row, int from, int to, bool add)
{
    const tile_program *p = w->program;

    for (int k = 0; k < p->leaf_count; k++) {
        if (!add)
            w->offset[k] = p->leaves[k].offset;
        w->filled[k] = w->filled[k] && p->leaves[k].constant;
    }
    for (int i = to - 1; i >= from && row > 0; i--) {
        const int64_t index = row % p->length[i];

        row /= p->length[i];
        for (int k = 0; k < p->leaf_count; k++)
            w->offset[k] += index * p->leaves[k].steps[i];
    }
}

/* Elements of a tile that the longest row fills. */
static int64_t used_of_tile(const tile_program *p)
{
    const int64_t row = (p->length[p->rank - 1] + REDUCE_LANES - 1) / REDUCE_LANES * REDUCE_LANES;

    return !p->flat && row < p->tile ? row : p->tile;
}

/* Makes the leaf's n elements from `at` its operand, padded with zeros. */
static void load_leaf(worker *w, int k, int64_t at, int64_t n, int64_t padded)
{
    const tile_program *p = w->program;
    const tile_leaf *l = &p->leaves[k];
    const char *base = w->machine->leaf[k] + w->offset[k] * (int64_t)l->size;

    switch (l->access) {
    case LEAF_DENSE:
        w->operand[k] = (char *)base + at * (int64_t)l->size;
        if (n == padded)
            return;
        memcpy(w->spare[k], w->operand[k], (size_t)n * l->size);
        w->operand[k] = w->spare[k];
        break;
    case LEAF_FIXED:
        if (!w->filled[k])
            spread[l->size](w->spare[k], base, used_of_tile(p));
        w->filled[k] = true;
        return;
    case LEAF_STRIDED:
        if (p->flat)
            gather_flat(p, l, base, w->spare[k], at, n);
        else
            gather[l->size](w->spare[k], base + at * l->steps[p->rank - 1] * (int64_t)l->size, n,
                            l->steps[p->rank - 1]);
    }
    memset(w->spare[k] + (size_t)n * l->size, 0, (size_t)(padded - n) * l->size);
}

/* Sets the lines that the leaves will read some tiles after the one at `at`, and how many of
 * them are asked for at a time. */
static void look_ahead(worker *w, int64_t at, int64_t n)
{
    const tile_program *p = w->program;
    ahead *a = &w->own;
    int64_t lines = 0;

    a->count = 0;
    for (int k = p->leaf_count - 1; k >= 0; k--) { /* the first one is asked for first */
        const tile_leaf *l = &p->leaves[k];

        if (!l->walks)
            continue;
        a->next[a->count] = w->machine->leaf[k] + (w->offset[k] + at + l->ahead) * (int64_t)l->size;
        a->end[a->count] = a->next[a->count] + n * (int64_t)l->size;
        lines += (n * (int64_t)l->size + CACHE_LINE - 1) / CACHE_LINE;
        a->count++;
    }
    a->lines = lines / asks_of_tile(p, n) + 1;
}

/* Asks for what is left. */
static void ask_rest(ahead *a)
{
    a->lines = INT64_MAX;
    ask_ahead(a);
}

/* Runs the instructions, asking for lines in between. */
static void run_instructions(worker *w, int64_t n, int64_t padded)
{
    const tile_program *p = w->program;

    for (int i = 0; i < p->instruction_count; i++) {
        const tile_instruction *t = &p->instructions[i];
        const void *in[TILE_INPUTS] = {w->operand[t->in[0]], w->operand[t->in[1]],
                                       w->operand[t->in[2]]};

        ask_ahead(w->ahead);
        t->kernel((size_t)(t->exact ? n : padded), w->operand[t->out], in);
    }
}

/* Stores past the caches, asking for lines that come in between. */
static void stream_output(ahead *a, char *to, const char *from, int64_t size)
{
    enum { PART = 2 * CACHE_LINE, LINES = 4 };
    int64_t done = 0;

    a->lines = LINES;
    for (; done + PART <= size && a->count > 0; done += PART) {
        ask_ahead(a);
        stream_copy(to + done, from + done, PART);
    }
    stream_copy(to + done, from + done, (size_t)(size - done));
}

/* Outputs are computed where they go, or aside if they are padded or pass the caches. */
static void store_outputs(worker *w, int64_t n, int64_t out)
{
    const tile_program *p = w->program;
    const int first = p->leaf_count + p->register_count;

    for (int k = 0; k < p->stored_count; k++) {
        const size_t size = p->outputs[k].size;
        char *to = w->machine->output[k] + (size_t)out * size;

        if (w->operand[first + k] != w->spare[first + k])
            continue;
        if (p->outputs[k].streams)
            stream_output(w->ahead, to, w->spare[first + k], n * (int64_t)size);
        else
            memcpy(to, w->spare[first + k], (size_t)n * size);
    }
}

int64_t worker_padded(const tile_program *p, int64_t n)
{
    return p->instruction_count == 0 ? n : (n + LANES - 1) / LANES * LANES;
}

int64_t worker_cut(const worker *w, int64_t done, int64_t left, int64_t *back)
{
    const tile_program *p = w->program;
    const int64_t n = left < p->tile ? left : p->tile, more = worker_padded(p, n) - n;
    const int64_t whole = n - n % (p->fold_count > 0 ? REDUCE_LANES : LANES);

    *back = more <= done && !p->overwrites ? more : 0;
    return more == *back || whole == 0 ? n : whole;
}

void worker_tile(worker *w, int64_t at, int64_t n, int64_t out)
{
    const tile_program *p = w->program;
    const int64_t padded = worker_padded(p, n);
    const int first_output = p->leaf_count + p->register_count;

    resident_check(); /* elements that are far apart are each on pages of their own */
    for (int k = 0; k < p->leaf_count; k++)
        load_leaf(w, k, at, n, padded);
    for (int k = 0; k < p->stored_count; k++)
        w->operand[first_output + k] =
            n == padded && !p->outputs[k].streams
                ? w->machine->output[k] + (size_t)out * p->outputs[k].size
                : w->spare[first_output + k];
    if (w->ahead == &w->own)
        look_ahead(w, at, n);
    run_instructions(w, n, padded);
    if (p->stored_count == 0)
        return;
    store_outputs(w, n, out);
    if (w->ahead == &w->own)
        ask_rest(&w->own);
}

/* ---- Elementwise tasks ------------------------------------------------------------------- */

static void run_tiles(worker *w, int64_t from, int64_t to, int64_t out)
{
    for (int64_t at = from, n, back; at < to; at += n) {
        n = worker_cut(w, at - from, to - at, &back);
        worker_tile(w, at - back, n + back, out + at - back);
    }
}

static int64_t size_of_space(const tile_program *p, int from, int to)
{
    int64_t n = 1;

    for (int i = from; i < to; i++)
        n *= p->length[i];
    return n;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* A part of one long row, or several short rows, or a part of the flat run. */
static void elementwise_task(worker *w, int64_t task)
{
    const tile_program *p = w->program;
    const int last = p->rank - 1;
    const int64_t inner = p->flat ? size_of_space(p, 0, p->rank) : p->length[last];
    const int64_t rows = p->flat ? 1 : size_of_space(p, 0, last);

    if (inner >= TASK_ELEMENTS) {
        const int64_t parts = (inner + TASK_ELEMENTS - 1) / TASK_ELEMENTS;
        const int64_t row = task / parts, from = task % parts * TASK_ELEMENTS;

        if (!p->flat)
            worker_seek(w, row, 0, last, false);
        run_tiles(w, from, least(inner, from + TASK_ELEMENTS), row * inner);
        return;
    }
    const int64_t per_task = TASK_ELEMENTS / inner;
    for (int64_t row = task * per_task; row < least(rows, (task + 1) * per_task); row++) {
        if (!p->flat)
            worker_seek(w, row, 0, last, false);
        run_tiles(w, 0, inner, row * inner);
    }
}

void worker_rows(worker *w, int64_t rows, int64_t from, int64_t to)
{
    const tile_program *p = w->program;
    const int last = p->rank - 1;

    if (p->flat || last == 0) {
        const int64_t width = size_of_space(p, 0, p->rank) / rows;

        if (!p->flat)
            worker_seek(w, 0, 0, 0, false);
        run_tiles(w, from * width, to * width, 0);
        return;
    }
    const int64_t runs = size_of_space(p, 0, last) / rows;
    for (int64_t run = from * runs; run < to * runs; run++) {
        worker_seek(w, run, 0, last, false);
        run_tiles(w, 0, p->length[last], run * p->length[last]);
    }
}

/* ---- All tasks ------------------------------------------------------------------------------ */

bool watch_stops(watch *w)
{
    error err = {0};

    if (atomic_load_explicit(&w->stopped, memory_order_relaxed))
        return true;
    if (!stop_asked(w->stop, &err))
        return false;
    if (!atomic_exchange(&w->stopped, true))
        w->err = err;
    return true;
}

void watch_note(watch *w)
{
    if (kernel_flags != 0)
        atomic_fetch_or(&w->flags, kernel_flags);
    run_progress_add(w->progress, w->task_work);
}

static void run_task(void *context, int64_t task, int lane)
{
    machine *m = context;
    worker w;

    if (watch_stops(m->watch))
        return;
    kernel_flags = 0;
    worker_init(&w, m, lane);
    if (m->program->fold_count > 0)
        fold_task(&w, task);
    else
        elementwise_task(&w, task);
    stream_finish();
    watch_note(m->watch);
}

bool machine_run_tasks(machine *m)
{
    const int64_t tasks = tile_task_count(m->program);

    m->watch->task_work = m->watch->work / (double)tasks;
    pool_run(tasks, run_task, m);
    if (!m->watch->stopped && m->program->fold_count > 0)
        fold_finish(m);
    return !m->watch->stopped;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions. Elements are folded in lanes, block by block; blocks are combined two by
 * two, as the digits of a binary counter carry, so that the error grows with the
 * logarithm of their number and the tree is the same however the work is shared. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "engine/exec/machine.h"
#include "engine/ops/op.h"

enum { ELEMENT = 16 }; /* bytes that any element fits in */

/* ---- Numbers of any type --------------------------------------------------------------- */

/* Writes n elements of value x of type t. */
static void fill_with(dtype t, double x, double imaginary, int64_t n, void *to)
{
    double _Complex value = __builtin_complex(x, imaginary);
    double _Complex from[LANES];
    char block[LANES * ELEMENT];
    const void *in[] = {from};

    for (int i = 0; i < LANES; i++)
        from[i] = value;
    if (dtype_is_complex(t))
        kernel_cast(DT_C128, t)(LANES, block, in);
    else {
        double real[LANES];

        in[0] = real;
        for (int i = 0; i < LANES; i++)
            real[i] = x;
        kernel_cast(DT_F64, t)(LANES, block, in);
    }
    for (int64_t i = 0; i < n; i++)
        memcpy((char *)to + (size_t)i * dtype_size(t), block, dtype_size(t));
}

/* The least or the greatest integer of a type. */
static void fill_with_limit(dtype t, bool greatest, int64_t n, void *to)
{
    const size_t size = dtype_size(t);
    const bool is_signed = dtype_info_of(t)->class == CLASS_INT;
    const uint64_t top = (uint64_t)1 << (8 * size - 1);
    const uint64_t limit = is_signed ? (greatest ? top - 1 : top) : (greatest ? ~(uint64_t)0 : 0);

    for (int64_t i = 0; i < n; i++)
        memcpy((char *)to + (size_t)i * size, &limit, size);
}

/* What partial results begin with: n elements of the type that is folded in. */
static void fill_start(const tile_fold *f, int64_t n, void *to)
{
    const fold_start start = f->reduce->start;
    const bool greatest = start == START_HIGHEST, real = dtype_is_float(f->folded);
    const double infinite = greatest ? INFINITY : -INFINITY;

    if (start == START_ZERO)
        fill_with(f->folded, real || dtype_is_complex(f->folded) ? -0.0 : 0, -0.0, n, to);
    else if (start == START_ONE)
        fill_with(f->folded, 1, 0, n, to);
    else if (f->folded == DT_BOOL)
        memset(to, greatest, (size_t)n);
    else if (dtype_is_integer(f->folded))
        fill_with_limit(f->folded, greatest, n, to);
    else
        fill_with(f->folded, infinite, infinite, n, to);
}

/* ---- The binary counter ------------------------------------------------------------------- */

/* Partial results of `width` elements each: level k holds one of 2^k blocks. */
typedef struct counter {
    const tile_fold *fold;
    char *levels;
    int64_t width; /* elements, a multiple of LANES */
    size_t bytes;  /* of a level */
    int64_t count; /* of blocks so far */
} counter;

static void combine(const counter *c, char *first, const char *second)
{
    const void *in[TILE_INPUTS] = {first, second, second};

    c->fold->reduce->fold.combine[c->fold->folded]((size_t)c->width, first, in);
}

static char *level(const counter *c, int k)
{
    return c->levels + (size_t)k * c->bytes;
}

static void counter_init(counter *c, const tile_fold *f, char *levels, int64_t width)
{
    *c = (counter){f, levels, width, (size_t)width * f->size, 0};
}

/* Where the next block's result is to be put before counter_carry. */
static char *counter_next(const counter *c)
{
    int k = 0;

    while (c->count >> k & 1)
        k++;
    return level(c, k);
}

/* Takes in the result at counter_next: carries as adding 1 to a binary number does. */
static void counter_carry(counter *c)
{
    char *value = counter_next(c);
    int k = 0;

    for (; c->count >> k & 1; k++)
        if (k == 0)
            combine(c, level(c, 0), value);
        else
            combine(c, level(c, k), level(c, k - 1));
    if (k > 0)
        memcpy(level(c, k), level(c, k - 1), c->bytes);
    c->count++;
}

/* All blocks in one; NULL if there was none. */
static char *counter_total(counter *c)
{
    char *total = NULL;

    for (int k = 0; c->count >> k != 0; k++) {
        if (!(c->count >> k & 1))
            continue;
        if (total != NULL)
            combine(c, level(c, k), total);
        total = level(c, k);
    }
    return total;
}

static const op_def *divide;

void fold_init(void)
{
    divide = op_find("true_divide", 11);
}

/* ---- Results ------------------------------------------------------------------------------- */

static int64_t length_of(const tile_program *p, int from, int to)
{
    int64_t n = 1;

    for (int i = from; i < to; i++)
        n *= p->length[i];
    return n;
}

/* How many elements are folded into each result. */
static int64_t folded_count(const tile_program *p)
{
    return p->columns ? length_of(p, p->kept - 1, p->rank - 1) : length_of(p, p->kept, p->rank);
}

/* The type that means of a type are divided in. */
static dtype divided_in(dtype t)
{
    return dtype_is_float(t) || dtype_is_complex(t) ? t : DT_F64;
}

/* Divides LANES elements by the number of folded ones: integers as float64, towards zero. */
static void divide_by_count(const machine *m, int k, char *part)
{
    const dtype t = m->program->folds[k].folded, in = divided_in(t);
    char numbers[LANES * ELEMENT];
    const void *from[TILE_INPUTS] = {part}, *back[TILE_INPUTS] = {numbers};
    const void *both[TILE_INPUTS] = {numbers, m->divisor[k], m->divisor[k]};

    kernel_cast(t, in)(LANES, numbers, from);
    divide->kernel[in](LANES, numbers, both);
    kernel_cast(in, t)(LANES, part, back);
}

void fold_prepare(machine *m)
{
    const tile_program *p = m->program;

    for (int k = 0; k < p->fold_count; k++) {
        const tile_fold *f = &p->folds[k];

        fill_start(f, REDUCE_LANES, m->start[k]);
        if (f->reduce->divide)
            fill_with(divided_in(f->folded), (double)folded_count(p), 0, LANES, m->divisor[k]);
    }
}

/* Finishes n folded elements (room for whole lanes) and stores them as result `at` of fold k. */
static void store_result(const machine *m, int k, char *values, int64_t n, int64_t at)
{
    const tile_program *p = m->program;
    const tile_fold *f = &p->folds[k];
    const int64_t padded = (n + LANES - 1) / LANES * LANES;
    char *out = m->output[p->stored_count + k] + (size_t)at * dtype_size(f->result);

    if (folded_count(p) == 0 && f->reduce->start == START_ZERO)
        memset(values, 0, (size_t)padded * f->size);
    for (int64_t i = 0; i < padded; i += LANES) {
        char block[LANES * ELEMENT];
        char *part = values + (size_t)i * f->size;
        const void *one[TILE_INPUTS] = {part};
        const int64_t left = n - i < LANES ? n - i : LANES;

        if (f->reduce->divide)
            divide_by_count(m, k, part);
        kernel_cast(f->folded, f->result)(LANES, block, one);
        memcpy(out + (size_t)i * dtype_size(f->result), block,
               (size_t)left * dtype_size(f->result));
    }
}

/* ---- By rows ------------------------------------------------------------------------------- */

/* Folds n elements of the tile from `from`, asking for lines to come: line by line as they are
 * read if there is one run of them, else some in between. */
static void fold_tile(worker *w, int k, int64_t from, int64_t n)
{
    const tile_fold *f = &w->program->folds[k];
    const int64_t size = (int64_t)f->size;
    const char *value = (const char *)w->operand[f->value] + from * size;
    const char *next = take_ahead(w->ahead, n * size);
    const int64_t part = next != NULL ? n : FOLD_PART / size;

    for (int64_t i = 0; i < n; i += part) {
        const char *x = value + i * size;

        if (next == NULL)
            ask_ahead(w->ahead);
        f->reduce->fold.lanes[f->folded]((size_t)(n - i < part ? n - i : part), w->levels[k], x,
                                         next != NULL ? next : x);
    }
}

/* Folds n elements from `at` of the run at which the leaves point, each fold into its result.
 * out: the element of the stored outputs that belongs to the first one. */
static void fold_block(worker *w, int64_t at, int64_t n, int64_t out, char *const results[])
{
    const tile_program *p = w->program;

    for (int k = 0; k < p->fold_count; k++) {
        const size_t size = p->folds[k].size;

        memset(results[k], 0, LANES * size); /* lanes behind the one that counts */
        memcpy(w->levels[k], w->machine->start[k], REDUCE_LANES * size);
    }
    for (int64_t done = 0, part, back; done < n; done += part) {
        part = worker_cut(w, done, n - done, &back);
        worker_tile(w, at + done - back, part + back, out + done - back);
        for (int k = 0; k < p->fold_count; k++)
            fold_tile(w, k, back, part);
    }
    for (int k = 0; k < p->fold_count; k++)
        p->folds[k].reduce->fold.fold[p->folds[k].folded](w->levels[k], results[k]);
}

/* Puts what a counter has, or what folding nothing gives, where it belongs. */
static void take_total(counter *c, char *to)
{
    const char *total = counter_total(c);

    if (total != NULL)
        memcpy(to, total, c->bytes);
    else
        fill_start(c->fold, c->width, to);
}

/* One part of one result of each fold. */
static void fold_rows(worker *w, const fold_cut *c, int64_t result, int64_t segment,
                      char *const totals[])
{
    const tile_program *p = w->program;
    const int64_t per_run = (c->run + FOLD_BLOCK - 1) / FOLD_BLOCK;
    const int64_t first = segment * FOLD_SEGMENT, begin = result * c->runs * c->run;
    const int64_t end = first + FOLD_SEGMENT < c->blocks ? first + FOLD_SEGMENT : c->blocks;
    counter counted[TILE_FOLDS];
    char *next[TILE_FOLDS];

    worker_seek(w, result, 0, p->kept, false);
    if (c->blocks == 1) { /* nothing to combine */
        fold_block(w, 0, c->run, begin, totals);
        return;
    }
    for (int k = 0; k < p->fold_count; k++)
        counter_init(&counted[k], &p->folds[k],
                     w->levels[k] + (size_t)REDUCE_LANES * p->folds[k].size, LANES);
    for (int64_t b = first; b < end; b++) {
        const int64_t run = b / per_run, at = b % per_run * FOLD_BLOCK;

        worker_seek(w, result, 0, p->kept, false);
        if (!p->flat)
            worker_seek(w, run, p->kept, p->rank - 1, true);
        for (int k = 0; k < p->fold_count; k++)
            next[k] = counter_next(&counted[k]);
        fold_block(w, at, c->run - at < FOLD_BLOCK ? c->run - at : FOLD_BLOCK,
                   begin + run * c->run + at, next);
        for (int k = 0; k < p->fold_count; k++)
            counter_carry(&counted[k]);
    }
    for (int k = 0; k < p->fold_count; k++)
        take_total(&counted[k], totals[k]);
}

/* ---- By columns ---------------------------------------------------------------------------- */

/* Folds the n elements of the tile into as many results, asking for lines in between. */
static void fold_row(worker *w, const tile_fold *f, int64_t n, char *results)
{
    const int64_t size = (int64_t)f->size, part = FOLD_PART / size;
    const char *value = w->operand[f->value];

    for (int64_t i = 0; i < n; i += part) {
        const void *in[TILE_INPUTS] = {results + i * size, value + i * size, value + i * size};

        ask_ahead(w->ahead);
        f->reduce->fold.combine[f->folded]((size_t)(n - i < part ? n - i : part),
                                           results + i * size, in);
    }
}

/* A panel of columns: of the results, and of the rows that are folded into it. */
typedef struct panel {
    int64_t at, n;   /* columns */
    int64_t row_set; /* which results: the index along the kept axes but the last */
} panel;

static panel panel_of(const tile_program *p, int64_t result)
{
    const int64_t length = p->length[p->rank - 1];
    const int64_t panels = (length + p->tile - 1) / p->tile, at = result % panels * p->tile;

    return (panel){
        .at = at, .n = length - at < p->tile ? length - at : p->tile, .row_set = result / panels};
}

/* Folds rows [from, end) of a panel, each fold into its block. */
static void fold_panel_rows(worker *w, const panel *c, int64_t from, int64_t end,
                            char *const blocks[])
{
    const tile_program *p = w->program;
    const int last = p->rank - 1;
    const int64_t padded = worker_padded(p, c->n);

    for (int64_t row = from; row < end; row++) {
        worker_seek(w, c->row_set, 0, p->kept - 1, false);
        worker_seek(w, row, p->kept - 1, last, true);
        worker_tile(w, c->at, c->n, row * p->length[last] + c->at);
        for (int k = 0; k < p->fold_count; k++)
            fold_row(w, &p->folds[k], padded, blocks[k]);
    }
}

/* The part of each result that is a panel of columns, folded over the rows of a segment. */
static void fold_columns(worker *w, const fold_cut *c, int64_t result, int64_t segment,
                         char *const totals[])
{
    const tile_program *p = w->program;
    const panel columns = panel_of(p, result);
    const int64_t padded = (columns.n + LANES - 1) / LANES * LANES;
    const int64_t first = segment * FOLD_SEGMENT * FOLD_ROWS;
    const int64_t most = first + FOLD_SEGMENT * FOLD_ROWS, end = most < c->runs ? most : c->runs;
    counter counted[TILE_FOLDS];
    char *blocks[TILE_FOLDS];

    for (int k = 0; k < p->fold_count; k++)
        counter_init(&counted[k], &p->folds[k], w->levels[k], padded);
    for (int64_t from = first; from < end; from += FOLD_ROWS) {
        for (int k = 0; k < p->fold_count; k++) {
            blocks[k] = counter_next(&counted[k]);
            fill_start(&p->folds[k], padded, blocks[k]);
        }
        fold_panel_rows(w, &columns, from, from + FOLD_ROWS < end ? from + FOLD_ROWS : end, blocks);
        for (int k = 0; k < p->fold_count; k++)
            counter_carry(&counted[k]);
    }
    for (int k = 0; k < p->fold_count; k++)
        take_total(&counted[k], totals[k]);
}

/* ---- Tasks --------------------------------------------------------------------------------- */

/* The elements of one (result, segment) pair in memory. */
static int64_t pair_width(const tile_program *p)
{
    return p->columns ? p->tile : 1;
}

/* Where a result begins among all results, and how many elements it has. */
static int64_t result_place(const tile_program *p, int64_t result, int64_t *n)
{
    panel columns;

    *n = 1;
    if (!p->columns)
        return result;
    columns = panel_of(p, result);
    *n = columns.n;
    return columns.row_set * p->length[p->rank - 1] + columns.at;
}

/* The part that a (result, segment) pair of fold k is of its result. */
static char *shared_part(const machine *m, int k, int64_t pair)
{
    const tile_program *p = m->program;
    char *parts = m->shared;

    for (int i = 0; i < k; i++)
        parts += tile_parts_bytes(p, &p->folds[i]);
    return parts + (size_t)(pair * pair_width(p)) * p->folds[k].size;
}

/* Results of one element each that wait to be stored, LANES at a time. */
typedef struct waiting {
    char values[LANES * ELEMENT];
    int count;
    int64_t first; /* of the results */
} waiting;

static void store_waiting(const machine *m, int k, waiting *r)
{
    if (r->count > 0)
        store_result(m, k, r->values, r->count, r->first);
    r->count = 0;
}

static void let_wait(const machine *m, int k, waiting *r, int64_t result, const char *total)
{
    const size_t size = m->program->folds[k].size;

    if (r->count == 0) {
        memset(r->values, 0, sizeof r->values);
        r->first = result;
    }
    memcpy(r->values + (size_t)r->count++ * size, total, size);
    if (r->count == LANES)
        store_waiting(m, k, r);
}

/* Stores a whole result of fold k, or one part of several. */
static void keep_result(machine *m, int k, const fold_cut *c, int64_t pair, char *total, waiting *r)
{
    const tile_program *p = m->program;
    int64_t n, at = result_place(p, pair / c->segments, &n);

    if (c->segments > 1)
        memcpy(shared_part(m, k, pair), total, (size_t)n * p->folds[k].size);
    else if (p->columns)
        store_result(m, k, total, n, at);
    else
        let_wait(m, k, r, at, total);
}

/* The (result, segment) pairs [from, to). */
static void fold_pairs(worker *w, const fold_cut *c, int64_t from, int64_t to)
{
    const tile_program *p = w->program;
    char *totals[TILE_FOLDS];
    waiting results[TILE_FOLDS];

    for (int k = 0; k < p->fold_count; k++) {
        const tile_fold *f = &p->folds[k];

        totals[k] = w->levels[k] + tile_fold_bytes(p, f) - tile_total_bytes(p, f);
        results[k].count = 0;
    }
    for (int64_t i = from; i < to; i++) {
        (p->columns ? fold_columns : fold_rows)(w, c, i / c->segments, i % c->segments, totals);
        for (int k = 0; k < p->fold_count; k++)
            keep_result(w->machine, k, c, i, totals[k], &results[k]);
    }
    for (int k = 0; k < p->fold_count; k++)
        store_waiting(w->machine, k, &results[k]);
}

void fold_task(worker *w, int64_t task)
{
    const fold_cut c = tile_fold_cut(w->program);
    const int64_t pairs = c.results * c.segments, from = task * c.per_task;

    fold_pairs(w, &c, from, from + c.per_task < pairs ? from + c.per_task : pairs);
}

void fold_results(worker *w, int64_t from, int64_t to)
{
    const fold_cut c = tile_fold_cut(w->program);

    fold_pairs(w, &c, from, to);
}

/* Combines the parts of a result of fold k. */
static void finish_result(worker *w, int k, const fold_cut *c, int64_t result)
{
    machine *m = w->machine;
    const tile_fold *f = &m->program->folds[k];
    int64_t n, at = result_place(m->program, result, &n);
    counter counted;

    counter_init(&counted, f, w->levels[k], (n + LANES - 1) / LANES * LANES);
    for (int64_t s = 0; s < c->segments; s++) {
        char *next = counter_next(&counted);

        memset(next, 0, counted.bytes);
        memcpy(next, shared_part(m, k, result * c->segments + s), (size_t)n * f->size);
        counter_carry(&counted);
    }
    store_result(m, k, counter_total(&counted), n, at);
}

void fold_finish(machine *m)
{
    const fold_cut c = tile_fold_cut(m->program);
    worker w;

    if (c.segments == 1)
        return;
    worker_init(&w, m, 0);
    for (int k = 0; k < m->program->fold_count; k++)
        for (int64_t result = 0; result < c.results; result++)
            finish_result(&w, k, &c, result);
}

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
static void fill_start(const tile_program *p, int64_t n, void *to)
{
    const fold_start start = p->reduce->start;
    const bool greatest = start == START_HIGHEST, real = dtype_is_float(p->folded);
    const double infinite = greatest ? INFINITY : -INFINITY;

    if (start == START_ZERO)
        fill_with(p->folded, real || dtype_is_complex(p->folded) ? -0.0 : 0, -0.0, n, to);
    else if (start == START_ONE)
        fill_with(p->folded, 1, 0, n, to);
    else if (p->folded == DT_BOOL)
        memset(to, greatest, (size_t)n);
    else if (dtype_is_integer(p->folded))
        fill_with_limit(p->folded, greatest, n, to);
    else
        fill_with(p->folded, infinite, infinite, n, to);
}

/* ---- The binary counter ------------------------------------------------------------------- */

/* Partial results of `width` elements each: level k holds one of 2^k blocks. */
typedef struct counter {
    const tile_program *program;
    char *levels;
    int64_t width; /* elements, a multiple of LANES */
    size_t bytes;  /* of a level */
    int64_t count; /* of blocks so far */
} counter;

static void combine(const counter *c, char *first, const char *second)
{
    const void *in[TILE_INPUTS] = {first, second, second};

    c->program->reduce->fold.combine[c->program->folded]((size_t)c->width, first, in);
}

static char *level(const counter *c, int k)
{
    return c->levels + (size_t)k * c->bytes;
}

static void counter_init(counter *c, const tile_program *p, char *levels, int64_t width)
{
    *c = (counter){p, levels, width, (size_t)width * dtype_size(p->folded), 0};
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

/* ---- Results ----------------------------------------------------------------------------------
 */

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
static void divide_by_count(const machine *m, char *part)
{
    const dtype t = m->program->folded, in = divided_in(t);
    char numbers[LANES * ELEMENT];
    const void *from[TILE_INPUTS] = {part}, *back[TILE_INPUTS] = {numbers};
    const void *both[TILE_INPUTS] = {numbers, m->divisor, m->divisor};

    kernel_cast(t, in)(LANES, numbers, from);
    divide->kernel[in](LANES, numbers, both);
    kernel_cast(in, t)(LANES, part, back);
}

void fold_prepare(machine *m)
{
    const tile_program *p = m->program;

    if (p->reduce == NULL)
        return;
    fill_start(p, REDUCE_LANES, m->start);
    if (p->reduce->divide)
        fill_with(divided_in(p->folded), (double)folded_count(p), 0, LANES, m->divisor);
}

/* Finishes n folded elements (room for whole lanes) and stores them as result `at`. */
static void store_result(const machine *m, char *values, int64_t n, int64_t at)
{
    const tile_program *p = m->program;
    const int64_t padded = (n + LANES - 1) / LANES * LANES;
    char *out = m->output[0] + (size_t)at * dtype_size(p->result);

    if (folded_count(p) == 0 && p->reduce->start == START_ZERO)
        memset(values, 0, (size_t)padded * dtype_size(p->folded));
    for (int64_t i = 0; i < padded; i += LANES) {
        char block[LANES * ELEMENT];
        char *part = values + (size_t)i * dtype_size(p->folded);
        const void *one[TILE_INPUTS] = {part};
        const int64_t left = n - i < LANES ? n - i : LANES;

        if (p->reduce->divide)
            divide_by_count(m, part);
        kernel_cast(p->folded, p->result)(LANES, block, one);
        memcpy(out + (size_t)i * dtype_size(p->result), block,
               (size_t)left * dtype_size(p->result));
    }
}

/* ---- By rows
 * -------------------------------------------------------------------------------------- */

/* Folds the n elements of the tile, asking for lines in between. */
static void fold_lanes(worker *w, int64_t n, char *partial)
{
    const tile_program *p = w->program;
    const int64_t size = (int64_t)dtype_size(p->folded), part = FOLD_PART / size;
    const char *value = w->operand[p->value];

    for (int64_t i = 0; i < n; i += part) {
        ask_ahead(w->ahead);
        p->reduce->fold.lanes[p->folded]((size_t)(n - i < part ? n - i : part), partial,
                                         value + i * size);
    }
}

/* Folds n elements from `at` of the run at which the leaves point into *result. */
static void fold_block(worker *w, int64_t at, int64_t n, char *partial, char *result)
{
    const tile_program *p = w->program;
    const size_t size = dtype_size(p->folded);

    memset(result, 0, LANES * size); /* lanes behind the one that counts */
    memcpy(partial, w->machine->start, REDUCE_LANES * size);
    for (int64_t done = 0, part; done < n; done += part) {
        const int64_t left = n - done < p->tile ? n - done : p->tile;

        part = left > REDUCE_LANES ? left / REDUCE_LANES * REDUCE_LANES : left;
        const int64_t padded = (part + REDUCE_LANES - 1) / REDUCE_LANES * REDUCE_LANES;

        worker_tile(w, at + done, part, -1, REDUCE_LANES);
        if (padded != part) { /* what pads a leaf in place is in its spare then */
            char *value = w->operand[p->value];

            memcpy(value + (size_t)part * size, w->machine->start, (size_t)(padded - part) * size);
            if (p->value < p->leaf_count)
                w->filled[p->value] = false;
        }
        fold_lanes(w, padded, partial);
    }
    p->reduce->fold.fold[p->folded](partial, result);
}

/* One part of one result. */
static void fold_rows(worker *w, const fold_cut *c, int64_t result, int64_t segment, char *to)
{
    const tile_program *p = w->program;
    const int64_t per_run = (c->run + FOLD_BLOCK - 1) / FOLD_BLOCK;
    const int64_t first = segment * FOLD_SEGMENT;
    const int64_t end = first + FOLD_SEGMENT < c->blocks ? first + FOLD_SEGMENT : c->blocks;
    char *partial = w->levels;
    char *total;
    counter counted;

    if (c->blocks == 1) { /* nothing to combine */
        worker_seek(w, result, 0, p->kept, false);
        fold_block(w, 0, c->run, partial, to);
        return;
    }
    counter_init(&counted, p, w->levels + (size_t)REDUCE_LANES * dtype_size(p->folded), LANES);
    for (int64_t b = first; b < end; b++) {
        const int64_t at = b % per_run * FOLD_BLOCK;

        worker_seek(w, result, 0, p->kept, false);
        if (!p->flat)
            worker_seek(w, b / per_run, p->kept, p->rank - 1, true);
        fold_block(w, at, c->run - at < FOLD_BLOCK ? c->run - at : FOLD_BLOCK, partial,
                   counter_next(&counted));
        counter_carry(&counted);
    }
    total = counter_total(&counted);
    if (total == NULL) {
        memcpy(partial, w->machine->start, (size_t)LANES * dtype_size(p->folded));
        total = partial;
    }
    memcpy(to, total, (size_t)LANES * dtype_size(p->folded));
}

/* ---- By columns
 * -------------------------------------------------------------------------------------- */

/* Folds the n elements of the tile into as many results, asking for lines in between. */
static void add_row(worker *w, int64_t n, char *results)
{
    const tile_program *p = w->program;
    const int64_t size = (int64_t)dtype_size(p->folded), part = FOLD_PART / size;
    const char *value = w->operand[p->value];

    for (int64_t i = 0; i < n; i += part) {
        const void *in[TILE_INPUTS] = {results + i * size, value + i * size, value + i * size};

        ask_ahead(w->ahead);
        p->reduce->fold.combine[p->folded]((size_t)(n - i < part ? n - i : part),
                                           results + i * size, in);
    }
}

/* The part of a result that is a panel of columns, folded over the rows of a segment. */
static void fold_columns(worker *w, const fold_cut *c, int64_t result, int64_t segment, char *to)
{
    const tile_program *p = w->program;
    const int last = p->rank - 1;
    const int64_t panels = (p->length[last] + p->tile - 1) / p->tile;
    const int64_t at = result % panels * p->tile;
    const int64_t n = p->length[last] - at < p->tile ? p->length[last] - at : p->tile;
    const int64_t padded = (n + LANES - 1) / LANES * LANES;
    /* Nothing but adding and comparing is the same without padding. */
    const int64_t lanes = p->instruction_count == 0 ? 1 : LANES;
    const int64_t first = segment * FOLD_SEGMENT * FOLD_ROWS;
    const int64_t most = first + FOLD_SEGMENT * FOLD_ROWS, end = most < c->runs ? most : c->runs;
    counter counted;
    char *total;

    counter_init(&counted, p, w->levels, padded);
    for (int64_t from = first; from < end; from += FOLD_ROWS) {
        char *block = counter_next(&counted);

        fill_start(p, padded, block);
        for (int64_t row = from; row < end && row < from + FOLD_ROWS; row++) {
            worker_seek(w, result / panels, 0, p->kept - 1, false);
            worker_seek(w, row, p->kept - 1, last, true);
            worker_tile(w, at, n, -1, lanes);
            add_row(w, lanes == 1 ? n : padded, block);
        }
        counter_carry(&counted);
    }
    total = counter_total(&counted);
    if (total == NULL)
        fill_start(p, padded, to);
    else
        memcpy(to, total, counted.bytes);
}

/* ---- Tasks
 * ---------------------------------------------------------------------------------------------- */

/* The elements of one (result, segment) pair in memory. */
static int64_t pair_width(const tile_program *p)
{
    return p->columns ? p->tile : 1;
}

/* Where a result begins among all results, and how many elements it has. */
static int64_t result_place(const tile_program *p, int64_t result, int64_t *n)
{
    const int64_t length = p->length[p->rank - 1];
    const int64_t panels = p->columns ? (length + p->tile - 1) / p->tile : 1;
    const int64_t at = p->columns ? result % panels * p->tile : 0;

    *n = !p->columns ? 1 : length - at < p->tile ? length - at : p->tile;
    return p->columns ? result / panels * length + at : result;
}

/* Results of one element each that wait to be stored, LANES at a time. */
typedef struct waiting {
    char values[LANES * ELEMENT];
    int count;
    int64_t first; /* of the results */
} waiting;

static void store_waiting(const machine *m, waiting *r)
{
    if (r->count > 0)
        store_result(m, r->values, r->count, r->first);
    r->count = 0;
}

static void let_wait(const machine *m, waiting *r, int64_t result, const char *total)
{
    const size_t size = dtype_size(m->program->folded);

    if (r->count == 0) {
        memset(r->values, 0, sizeof r->values);
        r->first = result;
    }
    memcpy(r->values + (size_t)r->count++ * size, total, size);
    if (r->count == LANES)
        store_waiting(m, r);
}

/* Stores a whole result, or one part of several. */
static void keep_result(machine *m, const fold_cut *c, int64_t pair, char *total, waiting *r)
{
    const tile_program *p = m->program;
    int64_t n, at = result_place(p, pair / c->segments, &n);

    if (c->segments > 1)
        memcpy(m->shared + (size_t)(pair * pair_width(p)) * dtype_size(p->folded), total,
               (size_t)n * dtype_size(p->folded));
    else if (p->columns)
        store_result(m, total, n, at);
    else
        let_wait(m, r, at, total);
}

/* The (result, segment) pairs [from, to). */
static void fold_pairs(worker *w, const fold_cut *c, int64_t from, int64_t to)
{
    const tile_program *p = w->program;
    char *total = w->levels + tile_fold_bytes(p) - tile_total_bytes(p);
    waiting results = {.count = 0};

    for (int64_t i = from; i < to; i++) {
        (p->columns ? fold_columns : fold_rows)(w, c, i / c->segments, i % c->segments, total);
        keep_result(w->machine, c, i, total, &results);
    }
    store_waiting(w->machine, &results);
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

void fold_finish(machine *m)
{
    const tile_program *p = m->program;
    const fold_cut c = tile_fold_cut(p);
    const size_t size = dtype_size(p->folded);
    worker w;
    counter counted;

    if (c.segments == 1)
        return;
    worker_init(&w, m, 0);
    for (int64_t result = 0; result < c.results; result++) {
        int64_t n, at = result_place(p, result, &n);

        counter_init(&counted, p, w.levels, (n + LANES - 1) / LANES * LANES);
        for (int64_t s = 0; s < c.segments; s++) {
            char *next = counter_next(&counted);

            memset(next, 0, counted.bytes);
            memcpy(next, m->shared + (size_t)((result * c.segments + s) * pair_width(p)) * size,
                   (size_t)n * size);
            counter_carry(&counted);
        }
        store_result(m, counter_total(&counted), n, at);
    }
}

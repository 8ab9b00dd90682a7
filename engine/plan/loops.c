/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/plan/loops.h"

#include <string.h>

/* Of one operand: a dozen operands stay in the first-level cache. */
static int64_t tile_bytes = 1024;

enum {
    SHORT_AXIS = 64, /* a tile axis below this is not worth a tile of its own */
    SHORT_RUN = 32,  /* a run below this is folded by columns if that is possible */
    AHEAD = 2,       /* tiles, or rows of columns, that are asked for in time */
    CACHED = 8 << 20 /* bytes of an output that may stay in a cache */
};

/* The loops while they are arranged. */
typedef struct axes {
    int rank;
    int64_t length[RANK_MAX];
    bool folded[RANK_MAX];
    int64_t steps[TILE_LEAVES][RANK_MAX];
    int leaves;
} axes;

static int64_t step_along(const layout *l, int axis, int rank)
{
    const int own = axis - (rank - l->shape.rank);

    return own < 0 || l->shape.length[own] == 1 ? 0 : l->strides[own];
}

/* The space's axes without those of length 1. */
static void read_axes(axes *x, const shape *space, const layout *const *layouts, int leaves,
                      const bool folded[RANK_MAX])
{
    x->leaves = leaves;
    for (int i = 0; i < space->rank; i++) {
        if (space->length[i] == 1)
            continue;
        x->length[x->rank] = space->length[i];
        x->folded[x->rank] = folded[i];
        for (int k = 0; k < leaves; k++)
            x->steps[k][x->rank] = step_along(layouts[k], i, space->rank);
        x->rank++;
    }
}

static bool merges(const axes *x, int i)
{
    if (x->folded[i] != x->folded[i + 1])
        return false;
    for (int k = 0; k < x->leaves; k++)
        if (x->steps[k][i] != x->steps[k][i + 1] * x->length[i + 1])
            return false;
    return true;
}

static void copy_axis(axes *to, int i, const axes *from, int k)
{
    to->length[i] = from->length[k];
    to->folded[i] = from->folded[k];
    for (int leaf = 0; leaf < from->leaves; leaf++)
        to->steps[leaf][i] = from->steps[leaf][k];
}

/* Makes one axis of neighbours that every leaf walks through as if they were one. */
static void merge_axes(axes *x)
{
    int n = 0;

    for (int i = 1; i < x->rank; i++) {
        if (merges((copy_axis(x, n + 1, x, i), x), n)) {
            const int64_t length = x->length[n];

            copy_axis(x, n, x, i);
            x->length[n] *= length;
        } else
            n++;
    }
    x->rank = x->rank > 0 ? n + 1 : 0;
}

/* Kept axes first, then folded ones; with columns the last kept axis goes to the end. */
static void order_axes(axes *x, bool columns)
{
    axes from = *x;
    int last = -1, n = 0;

    for (int i = 0; columns && i < from.rank; i++)
        last = from.folded[i] ? last : i;
    for (int i = 0; i < from.rank; i++)
        if (!from.folded[i] && i != last)
            copy_axis(x, n++, &from, i);
    for (int i = 0; i < from.rank; i++)
        if (from.folded[i])
            copy_axis(x, n++, &from, i);
    if (last >= 0)
        copy_axis(x, n++, &from, last);
}

/* Whether folding goes by columns: where the last axis is kept and long enough, or
 * where runs would be short and there is a kept axis to go along. */
static bool goes_by_columns(const axes *x)
{
    int kept = -1, folded = -1;

    for (int i = 0; i < x->rank; i++)
        *(x->folded[i] ? &folded : &kept) = i;
    if (kept < 0 || folded < 0 || x->length[kept] < SHORT_RUN)
        return false;
    return kept > folded || x->length[folded] < SHORT_RUN;
}

static int count_kept(const axes *x)
{
    int kept = 0;

    for (int i = 0; i < x->rank; i++)
        kept += !x->folded[i];
    return kept;
}

/* The first of the axes that a flat run joins: all folded ones, or all. */
static int first_flat_axis(const tile_program *p)
{
    return p->fold_count == 0 ? 0 : p->kept;
}

static void set_access(tile_program *p, tile_leaf *l)
{
    const int first = first_flat_axis(p);
    int64_t dense = 1;
    bool is_dense = true, is_fixed = true;

    for (int i = p->rank - 1; i >= (p->flat ? first : p->rank - 1); i--) {
        is_dense = is_dense && l->steps[i] == dense;
        is_fixed = is_fixed && l->steps[i] == 0;
        dense *= p->length[i];
    }
    l->access = is_fixed ? LEAF_FIXED : is_dense ? LEAF_DENSE : LEAF_STRIDED;
    l->constant = is_fixed;
    l->walks = l->access == LEAF_DENSE;
    for (int i = 0; i < p->rank; i++) {
        l->constant = l->constant && l->steps[i] == 0;
        l->walks = l->walks && l->steps[i] != 0;
    }
    l->ahead = AHEAD * (p->columns && p->rank > 1 ? l->steps[p->rank - 2] : p->tile);
}

static void set_leaves(tile_program *p, const axes *x, const layout *const *layouts, arena *a)
{
    for (int k = 0; k < p->leaf_count; k++) {
        tile_leaf *l = &p->leaves[k];

        l->offset = layouts[k]->offset;
        l->steps = arena_array(a, (size_t)p->rank, sizeof *l->steps);
        for (int i = 0; i < x->rank; i++)
            l->steps[i] = x->steps[k][i];
        set_access(p, l);
    }
}

void tile_set_bytes(int64_t bytes)
{
    tile_bytes = bytes;
}

/* A multiple of REDUCE_LANES that divides FOLD_BLOCK, so that tiles end where blocks do.
 * Longer where nothing but folding is done, so that it is most of the work. */
static int64_t tile_length(const tile_program *p)
{
    const int64_t bytes = p->instruction_count > 1    ? tile_bytes
                          : p->instruction_count == 1 ? 2 * tile_bytes
                          : p->columns                ? 8 * tile_bytes
                                                      : 4 * tile_bytes;
    const int64_t n = bytes / (int64_t)p->element_size;

    return n < 128 ? 128 : n > 1024 ? 1024 : n;
}

int64_t loops_product(const int64_t *length, int from, int to)
{
    int64_t n = 1;

    for (int i = from; i < to; i++)
        n *= length[i];
    return n;
}

static void set_outputs(tile_program *p)
{
    const int64_t n = loops_product(p->length, 0, p->rank);
    const bool in_order = p->fold_count == 0 || p->kept == 0; /* else rows may end within lines */

    for (int k = 0; k < p->stored_count; k++)
        p->outputs[k].streams = in_order && n * (int64_t)p->outputs[k].size > CACHED;
}

void loops_arrange(tile_program *p, const shape *space, const layout *const *layouts,
                   const bool folded[RANK_MAX], arena *a)
{
    axes *x = arena_alloc(a, sizeof *x);

    read_axes(x, space, layouts, p->leaf_count, folded);
    merge_axes(x);
    if (p->fold_count > 0) {
        p->columns = goes_by_columns(x);
        order_axes(x, p->columns);
        if (!p->columns)
            merge_axes(x);
    }
    p->rank = x->rank > 0 ? x->rank : 1;
    p->length = arena_array(a, (size_t)p->rank, sizeof *p->length);
    p->length[0] = 1;
    for (int i = 0; i < x->rank; i++)
        p->length[i] = x->length[i];
    p->kept = p->fold_count == 0 ? p->rank : count_kept(x);
    if (p->fold_count > 0 && !p->columns && p->kept == p->rank) /* nothing is folded: runs of 1 */
        p->columns = true;
    p->tile = tile_length(p);
    p->flat =
        !p->columns && p->rank - first_flat_axis(p) > 1 && p->length[p->rank - 1] < SHORT_AXIS;
    set_leaves(p, x, layouts, a);
    set_outputs(p);
}

/* ---- How the space is cut into tasks ------------------------------------------------------ */

fold_cut tile_fold_cut(const tile_program *p)
{
    const int last = p->rank - 1;
    fold_cut c = {0};

    if (p->columns) {
        const int64_t panels = (p->length[last] + p->tile - 1) / p->tile;

        c.results = loops_product(p->length, 0, p->kept - 1) * panels;
        c.runs = loops_product(p->length, p->kept - 1, last); /* rows */
        c.run = p->tile;
        c.blocks = (c.runs + FOLD_ROWS - 1) / FOLD_ROWS;
    } else {
        c.results = loops_product(p->length, 0, p->kept);
        c.run = p->flat ? loops_product(p->length, p->kept, p->rank) : p->length[last];
        c.runs = p->flat ? 1 : loops_product(p->length, p->kept, last);
        c.blocks = c.runs * ((c.run + FOLD_BLOCK - 1) / FOLD_BLOCK);
    }
    c.segments = (c.blocks + FOLD_SEGMENT - 1) / FOLD_SEGMENT;
    c.segments = c.segments > 0 ? c.segments : 1;
    const int64_t elements = (c.run * c.runs) / c.segments;
    c.per_task = TASK_ELEMENTS / (elements > 0 ? elements : 1);
    c.per_task = c.per_task > 0 ? c.per_task : 1;
    return c;
}

static int64_t common_divisor(int64_t a, int64_t b)
{
    while (b != 0) {
        const int64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

/* All rows are folded into each result, whose segments have so many units. */
static fold_windows whole_windows(int64_t units, int64_t per_segment)
{
    return (fold_windows){.block = per_segment / common_divisor(per_segment, units),
                          .whole = true,
                          .units = units,
                          .per_segment = per_segment};
}

fold_windows tile_fold_windows(const tile_program *p, int64_t rows)
{
    const fold_cut c = tile_fold_cut(p);
    const fold_windows none = {0};

    if (c.segments == 1 && p->kept == 1 && p->length[tile_rows_axis(p, false)] == rows)
        return (fold_windows){.block = p->columns ? p->tile : 1};
    if (p->columns)
        return p->kept == 1 && p->length[0] == rows
                   ? whole_windows(c.runs / rows, FOLD_ROWS * FOLD_SEGMENT)
                   : none;
    if (c.runs == 1 && (p->kept == 0 ? c.run % rows == 0 : c.run == rows))
        return whole_windows(c.run / rows, FOLD_BLOCK * FOLD_SEGMENT);
    return p->kept == 0 && p->length[0] == rows ? whole_windows(c.blocks / rows, FOLD_SEGMENT)
                                                : none;
}

int tile_rows_axis(const tile_program *p, bool whole)
{
    if (p->fold_count == 0 || p->columns == whole)
        return 0;
    return whole ? p->kept : p->rank - 1;
}

int64_t tile_task_count(const tile_program *p)
{
    if (p->fold_count > 0) {
        const fold_cut c = tile_fold_cut(p);

        return (c.results * c.segments + c.per_task - 1) / c.per_task;
    }
    const int64_t inner = p->flat ? loops_product(p->length, 0, p->rank) : p->length[p->rank - 1];
    const int64_t rows = p->flat ? 1 : loops_product(p->length, 0, p->rank - 1);
    if (inner >= TASK_ELEMENTS)
        return rows * ((inner + TASK_ELEMENTS - 1) / TASK_ELEMENTS);
    if (inner == 0 || rows == 0)
        return 0;
    const int64_t rows_per_task = TASK_ELEMENTS / inner;
    return (rows + rows_per_task - 1) / rows_per_task;
}

/* Levels of a binary counter up to n. */
static size_t levels_for(int64_t n)
{
    size_t levels = 1;

    for (; n > 0; n >>= 1)
        levels++;
    return levels;
}

int64_t tile_fold_parts(const tile_program *p, int64_t n)
{
    int64_t parts = 0;

    for (int i = 0; i < p->fold_count; i++)
        parts += (n * (int64_t)p->folds[i].size + FOLD_PART - 1) / FOLD_PART;
    return parts;
}

size_t tile_total_bytes(const tile_program *p, const tile_fold *f)
{
    return (size_t)(p->columns ? p->tile : LANES) * f->size;
}

size_t tile_fold_bytes(const tile_program *p, const tile_fold *f)
{
    const fold_cut c = tile_fold_cut(p);
    const size_t levels = levels_for(c.segments > FOLD_SEGMENT ? c.segments : FOLD_SEGMENT);
    const size_t lanes = p->columns ? 0 : REDUCE_LANES * f->size;

    return lanes + (levels + 1) * tile_total_bytes(p, f);
}

size_t tile_parts_bytes(const tile_program *p, const tile_fold *f)
{
    const fold_cut c = tile_fold_cut(p);

    if (c.segments == 1)
        return 0;
    return (size_t)(c.results * c.segments) * (p->columns ? (size_t)p->tile : 1) * f->size;
}

/* A register for each leaf (gathered, or padded at the end), register and stored output, and
 * for reductions the partial results. */
size_t tile_thread_scratch(const tile_program *p)
{
    const size_t tile = (size_t)p->tile * p->element_size + BUFFER_ALIGN;
    const size_t operands = (size_t)(p->leaf_count + p->register_count + p->stored_count);
    size_t folds = 0;

    for (int i = 0; i < p->fold_count; i++)
        folds += tile_fold_bytes(p, &p->folds[i]);
    return (operands * tile + folds + BUFFER_ALIGN) / BUFFER_ALIGN * BUFFER_ALIGN;
}

size_t tile_shared_scratch(const tile_program *p)
{
    size_t bytes = 0;

    for (int i = 0; i < p->fold_count; i++)
        bytes += tile_parts_bytes(p, &p->folds[i]);
    return bytes;
}

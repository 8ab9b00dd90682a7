/* SPDX-License-Identifier: Apache-2.0 */
/* Bands: steps that follow each other and run row by row together, so that what they hand
 * on stays in the cache and needs no buffer. A softmax is a band of four. */
#include "engine/kernels/stream.h"
#include "engine/plan/loops.h"
#include "engine/plan/private.h"

enum {
    BAND_STEPS = 16,
    BLOCK_BYTES = 32 << 10, /* of a block of rows, what the widest step reads and writes */
    ROW_BYTES = 256 << 10   /* of one row, at most */
};

/* ---- Which steps may belong to a band --------------------------------------------------- */

static int64_t space_size(const tile_program *p)
{
    return loops_product(p->length, 0, p->rank);
}

/* The rows that a reduction gives the band: its results, if each comes from one run. */
static int64_t rows_of_fold(const tile_program *p)
{
    const fold_cut c = tile_fold_cut(p);

    return p->fold_count > 0 && !p->columns && c.segments == 1 && p->kept == 1 ? c.results : 0;
}

static bool is_one_run(const tile_program *p)
{
    return p->fold_count == 0 && (p->flat || p->rank == 1);
}

bool rows_divide(const tile_program *p, int64_t rows)
{
    if (p->fold_count > 0)
        return rows_of_fold(p) == rows;
    return is_one_run(p) ? space_size(p) > 0 && space_size(p) % rows == 0 : p->length[0] == rows;
}

int64_t rows_output_width(const tile_program *p, int output, int64_t rows)
{
    return output < p->stored_count ? space_size(p) / rows : 1;
}

/* Whether the leaf reads, for a row, only the width elements that are this row's in its
 * slot. */
static bool stays_in_row(const tile_program *p, const tile_leaf *l, int64_t rows, int64_t width)
{
    int64_t last = 0, dense = 1;

    if (l->offset != 0)
        return false;
    for (int i = p->rank - 1; i >= 0; i--) {
        if (is_one_run(p) && l->steps[i] != dense)
            return false;
        if (l->steps[i] < 0)
            return false;
        dense *= p->length[i];
        last += i > 0 ? (p->length[i] - 1) * l->steps[i] : 0;
    }
    return is_one_run(p) ? space_size(p) / rows == width : l->steps[0] == width && last < width;
}

/* ---- Finding bands ------------------------------------------------------------------------- */

typedef struct finder {
    plan *plan;
    int64_t rows;
    int first, end;  /* steps */
    int64_t *widths; /* by buffer: elements of a row that the band writes; 0: none */
} finder;

static int buffer_of(const plan *pl, int slot_index)
{
    const slot *s = &pl->slots[slot_index];

    return s->kind == SLOT_BUFFER ? s->index : -1;
}

/* Whether all that step reads of what the band writes is of the same row. */
static bool reads_own_rows(const finder *f, const step *s)
{
    const tile_program *p = s->tiles;

    for (int i = 0; i < p->leaf_count; i++) {
        const int b = buffer_of(f->plan, p->leaves[i].slot);

        if (b >= 0 && f->widths[b] > 0 && !stays_in_row(p, &p->leaves[i], f->rows, f->widths[b]))
            return false;
    }
    return true;
}

static void note_outputs(finder *f, const step *s, bool written)
{
    const tile_program *p = s->tiles;

    for (int i = 0; i < p->output_count; i++)
        f->widths[buffer_of(f->plan, p->outputs[i].slot)] =
            written ? rows_output_width(p, i, f->rows) : 0;
}

static bool all_read_own_rows(const finder *f)
{
    for (int i = f->first; i < f->end; i++)
        if (!reads_own_rows(f, &f->plan->steps[i]))
            return false;
    return true;
}

/* Lengthens the band by the step behind it; false if that cannot be. */
static bool lengthen(finder *f)
{
    const step *s = &f->plan->steps[f->end];

    if (f->end == f->plan->step_count || f->end - f->first == BAND_STEPS || s->kind != STEP_TILES ||
        !rows_divide(s->tiles, f->rows))
        return false;
    note_outputs(f, s, true);
    f->end++;
    if (all_read_own_rows(f))
        return true;
    f->end--;
    note_outputs(f, s, false);
    for (int i = f->first; i < f->end; i++)
        note_outputs(f, &f->plan->steps[i], true);
    return false;
}

/* ---- What is handed on ---------------------------------------------------------------------- */

/* Whether the buffer is made and given up inside the band. */
static bool is_local(const finder *f, int b)
{
    const plan_buffer *buffer = &f->plan->buffers[b];

    return f->widths[b] > 0 && !buffer->made_by_step && buffer->last_step >= 0 &&
           buffer->last_step < f->end && buffer->first_step >= f->first;
}

static size_t in_lines(size_t bytes)
{
    return (bytes + BUFFER_ALIGN - 1) / BUFFER_ALIGN * BUFFER_ALIGN;
}

static size_t local_row_bytes(const finder *f)
{
    size_t bytes = 0;

    for (int b = 0; b < f->plan->buffer_count; b++)
        bytes += is_local(f, b) ? f->plan->buffers[b].size / (size_t)f->rows : 0;
    return bytes;
}

/* Gives the local buffers their places in a thread's scratch. Returns the bytes of all. */
static size_t place_locals(finder *f, int64_t block)
{
    size_t at = 0;

    for (int b = 0; b < f->plan->buffer_count; b++) {
        plan_buffer *buffer = &f->plan->buffers[b];

        if (!is_local(f, b))
            continue;
        buffer->is_local = true;
        buffer->place = at;
        buffer->row_bytes = buffer->size / (size_t)f->rows;
        buffer->last_step = -1; /* never made */
        at += in_lines(buffer->row_bytes * (size_t)block + BUFFER_ALIGN);
    }
    return at;
}

static bool is_local_slot(const finder *f, int slot_index)
{
    const int b = buffer_of(f->plan, slot_index);

    return b >= 0 && f->plan->buffers[b].is_local;
}

/* Whether an earlier leaf of the band, up to one of a step, reads the slot in place. */
static bool is_read_before(const finder *f, int step, int leaf)
{
    const int slot_index = f->plan->steps[step].tiles->leaves[leaf].slot;

    for (int i = f->first; i <= step; i++) {
        const tile_program *p = f->plan->steps[i].tiles;

        for (int k = 0; k < (i < step ? p->leaf_count : leaf); k++)
            if (p->leaves[k].slot == slot_index && p->leaves[k].walks)
                return true;
    }
    return false;
}

/* A slot is asked for by the first leaf that reads it, but for what is handed on. Returns
 * the elements of a row that the leaf asks for. */
static int64_t settle_leaf(const finder *f, int step, int leaf)
{
    const tile_program *p = f->plan->steps[step].tiles;
    tile_leaf *l = &p->leaves[leaf];

    l->walks = l->walks && !is_local_slot(f, l->slot) && !is_read_before(f, step, leaf);
    l->ahead = is_one_run(p) ? space_size(p) / f->rows : l->steps[0];
    return l->walks ? l->ahead : 0;
}

/* How often lines of the next block are asked for during a tile: before each instruction,
 * and each part that is folded. */
static int64_t asks_of_tile(const tile_program *p)
{
    return p->instruction_count + tile_fold_parts(p, p->tile);
}

/* Sets what is asked for, spread over all instructions of a row. Nothing is stored past the
 * cache: rows end within lines, and lines in parts are the slowest stores of all. */
static void settle_programs(const finder *f, band *b)
{
    int64_t bytes = 0, times = 1;

    for (int i = f->first; i < f->end; i++) {
        tile_program *p = f->plan->steps[i].tiles;
        const int64_t width = space_size(p) / f->rows;

        p->tile *= 2; /* what it reads is near */
        for (int k = 0; k < p->output_count; k++)
            p->outputs[k].streams = false;
        times += (width + p->tile - 1) / p->tile * asks_of_tile(p);
        for (int k = 0; k < p->leaf_count; k++)
            bytes += settle_leaf(f, i, k) * (int64_t)p->leaves[k].size;
    }
    b->lines = bytes / CACHE_LINE / times + 1;
}

/* Bytes of a row that the step that needs most reads and writes. */
static int64_t widest_row(const finder *f)
{
    int64_t widest = 1;

    for (int i = f->first; i < f->end; i++) {
        const tile_program *p = f->plan->steps[i].tiles;
        int64_t bytes = 0;

        for (int k = 0; k < p->leaf_count; k++)
            bytes += p->leaves[k].access == LEAF_FIXED ? 0 : (int64_t)p->leaves[k].size;
        for (int k = 0; k < p->stored_count; k++)
            bytes += (int64_t)p->outputs[k].size;
        bytes *= space_size(p) / f->rows;
        widest = bytes > widest ? bytes : widest;
    }
    return widest;
}

static void make_band(finder *f, arena *a)
{
    const size_t row = local_row_bytes(f);
    const int64_t fitting = BLOCK_BYTES / widest_row(f);
    step *first = &f->plan->steps[f->first];
    band *b;
    size_t scratch = 0;

    if (f->end - f->first < 2 || row == 0 || row > ROW_BYTES)
        return;
    b = arena_alloc(a, sizeof *b);
    b->steps = f->end - f->first;
    b->rows = f->rows;
    b->block = fitting > 0 ? fitting < f->rows ? fitting : f->rows : 1;
    b->local_bytes = place_locals(f, b->block);
    settle_programs(f, b);
    for (int i = f->first; i < f->end; i++) {
        scratch += in_lines(tile_thread_scratch(f->plan->steps[i].tiles));
        b->row_elements += space_size(f->plan->steps[i].tiles) / f->rows;
        f->plan->steps[i].scratch = 0;
    }
    b->thread_scratch = scratch + b->local_bytes;
    first->scratch = (int64_t)(b->thread_scratch * (size_t)f->plan->threads);
    first->band = b;
}

/* The first step of those before i that a band around i may begin with. */
static int earliest(const plan *pl, int i, int after, int64_t rows)
{
    while (i > after && pl->steps[i - 1].kind == STEP_TILES &&
           rows_divide(pl->steps[i - 1].tiles, rows))
        i--;
    return i;
}

/* Makes the band around the reduction at step i; returns the step behind it. */
static int band_around(finder *f, int i, int after, arena *a)
{
    f->first = f->end = earliest(f->plan, i, after, f->rows);
    for (; f->end <= i; f->end = ++f->first) {
        while (lengthen(f))
            continue;
        if (f->end > i)
            make_band(f, a);
        for (int k = f->first; k < f->end; k++)
            note_outputs(f, &f->plan->steps[k], false);
        if (f->end > i)
            return f->end;
    }
    return i + 1;
}

void bands_find(plan *pl, arena *a)
{
    finder f = {.plan = pl,
                .widths = arena_array(a, (size_t)pl->buffer_count + 1, sizeof *f.widths)};

    for (int i = 0, after = 0; i < pl->step_count; i++) {
        const step *s = &pl->steps[i];

        f.rows = s->kind == STEP_TILES ? rows_of_fold(s->tiles) : 0;
        if (f.rows < 2)
            continue;
        after = band_around(&f, i, after, a);
        i = after - 1;
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Streams: steps that follow each other and run row by row together, a window of rows at a
 * time, so that what they make is never in memory whole. A window is some MiB: rows that one
 * step made are still in a cache when the next one reads them, and all threads work on one. */
#include <string.h>

#include "engine/plan/loops.h"
#include "engine/plan/private.h"

static int64_t window_bytes = 4 << 20;

enum {
    STREAM_STEPS = 32, /* at most, so that finding streams takes time proportional to the steps */
    WINDOWS_MOST = 16, /* times window_bytes, if steps make many rows together */
    NOT_YET = -1       /* width of what is there only after all rows */
};

void plan_set_window_bytes(int64_t bytes)
{
    window_bytes = bytes;
}

int64_t plan_large_bytes(void)
{
    return 4 * window_bytes;
}

/* Below this a buffer is kept whole. */
static int64_t whole_bytes(void)
{
    return 2 * window_bytes;
}

/* ---- Which steps may belong to a stream --------------------------------------------------- */

typedef struct finder {
    plan *plan;
    bool *kept;     /* by buffer: an output there is not given away, or not as it lies there */
    int *last_read; /* by buffer: the last step that reads it, and the last that writes it */
    int *last_made;
    int64_t rows;
    int64_t window;  /* rows in one, once that is settled */
    int64_t block;   /* rows that all steps make together: a window has a multiple of them */
    int first, end;  /* steps */
    int64_t *widths; /* by buffer: elements of a row that the stream writes; 0: none; NOT_YET */
} finder;

static int buffer_of(const plan *pl, int slot_index)
{
    const slot *s = slot_index == NO_SLOT ? NULL : &pl->slots[slot_index];

    return s != NULL && s->kind == SLOT_BUFFER ? s->index : -1;
}

static op_call call_of(const step *s, arena *a)
{
    type *types = arena_array(a, (size_t)s->input_count + 1, sizeof *types);

    for (int i = 0; i < s->input_count; i++)
        if (s->inputs[i].slot != NO_SLOT)
            types[i] = (type){.dtype = s->inputs[i].dtype, .shape = s->inputs[i].shape};
    return (op_call){s->node->op, s->input_count, types, s->node->attrs, a};
}

/* Rows that the run of one operation makes together; 0 if it makes its result whole. */
static int64_t run_block(const step *s, int64_t rows)
{
    arena *a;
    int64_t block;

    if (s->node->op->block == NULL || s->output_count != 1 ||
        !shape_is_known(&s->output_types->shape) || s->output_types->shape.rank == 0 ||
        s->output_types->shape.length[0] != rows)
        return 0;
    a = arena_new();
    const op_call call = call_of(s, a);
    block = s->node->op->block(&call);
    arena_free(a);
    return block;
}

/* Rows that a tile program makes together; 0 if it cannot be run some of them at a time. */
static int64_t tiles_block(const tile_program *p, int64_t rows)
{
    fold_windows f;

    if (p->fold_count == 0)
        return rows_divide(p, rows);
    f = tile_fold_windows(p, rows);
    return p->stored_count > 0 && p->columns && !f.whole ? 0 : f.block; /* stored row by row */
}

/* The same of a step, or of the band that begins with it. */
static int64_t step_block(const step *s, int64_t rows)
{
    if (s->band != NULL)
        return s->band->rows == rows;
    return s->kind == STEP_TILES ? tiles_block(s->tiles, rows)
           : s->kind == STEP_RUN ? run_block(s, rows)
                                 : 0;
}

/* ---- What a step reads and writes ------------------------------------------------------------ */

/* Whether p walks along the rows on an axis, and the leaf in a row only among the width elements
 * that are this row's in its slot. */
static bool walks_in_row(const tile_program *p, const tile_leaf *l, int64_t rows, int64_t width)
{
    const bool whole = p->fold_count > 0 && tile_fold_windows(p, rows).whole;
    const int axis = tile_rows_axis(p, whole);
    int64_t last = 0;

    if (l->offset != 0 || p->length[axis] != rows || l->steps[axis] != width)
        return false;
    for (int i = 0; i < p->rank; i++) {
        if (l->steps[i] < 0)
            return false;
        last += i == axis ? 0 : (p->length[i] - 1) * l->steps[i];
    }
    return last < width;
}

/* Whether rows come one after the other, and the leaf walks so through their width elements. */
static bool walks_densely(const tile_program *p, const tile_leaf *l, int64_t rows, int64_t width)
{
    int64_t dense = 1;

    if (p->columns || (p->fold_count > 0 && p->kept > 0 && tile_fold_windows(p, rows).whole))
        return false;
    for (int i = p->rank - 1; i >= 0; i--) {
        if (l->steps[i] != dense)
            return false;
        dense *= p->length[i];
    }
    return l->offset == 0 && dense == rows * width;
}

static bool tiles_read_own_rows(const finder *f, const tile_program *p)
{
    for (int i = 0; i < p->leaf_count; i++) {
        const int b = buffer_of(f->plan, p->leaves[i].slot);
        const int64_t width = b < 0 ? 0 : f->widths[b];

        if (width != 0 && !walks_densely(p, &p->leaves[i], f->rows, width) &&
            !walks_in_row(p, &p->leaves[i], f->rows, width))
            return false;
    }
    return true;
}

/* The first input is read row by row, the others whole. */
static bool run_reads_own_rows(const finder *f, const step *s)
{
    for (int i = 0; i < s->input_count; i++) {
        const layout *l = &s->inputs[i];
        const int b = buffer_of(f->plan, l->slot);

        if (b >= 0 && f->widths[b] != 0 &&
            (i > 0 || l->offset != 0 || !layout_is_dense(l) ||
             shape_size(&l->shape) != f->rows * f->widths[b]))
            return false;
    }
    return true;
}

static bool all_read_own_rows(const finder *f)
{
    for (int i = f->first; i < f->end; i++) {
        const step *s = &f->plan->steps[i];

        if (s->tiles != NULL ? !tiles_read_own_rows(f, s->tiles) : !run_reads_own_rows(f, s))
            return false;
    }
    return true;
}

/* Elements of a row of an output of p; NOT_YET if that is there only after all rows. */
static int64_t tiles_width(const tile_program *p, int output, int64_t rows)
{
    return output >= p->stored_count && tile_fold_windows(p, rows).whole
               ? NOT_YET
               : rows_output_width(p, output, rows);
}

static int output_count(const step *s)
{
    return s->tiles != NULL ? s->tiles->output_count : s->output_count;
}

/* The buffer of an output of a step. */
static int made_buffer(const plan *pl, const step *s, int k)
{
    return buffer_of(pl, s->tiles != NULL ? s->tiles->outputs[k].slot : s->outputs[k]);
}

static void note_outputs(finder *f, const step *s, bool written)
{
    for (int k = 0; k < output_count(s); k++)
        f->widths[made_buffer(f->plan, s, k)] =
            !written           ? 0
            : s->tiles != NULL ? tiles_width(s->tiles, k, f->rows)
                               : shape_size(&s->output_types[k].shape) / f->rows;
}

static void note_all(finder *f, bool written)
{
    for (int i = f->first; i < f->end; i++)
        note_outputs(f, &f->plan->steps[i], written);
}

/* Calls each once for every buffer that a step of the stream makes, and adds up what it gives. */
static int64_t sum_made(const finder *f, int64_t (*each)(const finder *f, int b))
{
    int64_t sum = 0;

    for (int i = f->first; i < f->end; i++)
        for (int k = 0; k < output_count(&f->plan->steps[i]); k++) {
            const int b = made_buffer(f->plan, &f->plan->steps[i], k);

            sum += f->last_made[b] == i ? each(f, b) : 0;
        }
    return sum;
}

static int64_t common_multiple(int64_t a, int64_t b)
{
    int64_t x = a, y = b;

    while (y != 0) {
        const int64_t rest = x % y;

        x = y;
        y = rest;
    }
    return a / x * b;
}

static int64_t bytes_of_row(const finder *f, int b)
{
    return (int64_t)f->plan->buffers[b].size / f->rows;
}

/* Bytes of a row of what is large and written in the stream. */
static int64_t written_row(const finder *f, int b)
{
    return f->widths[b] > 0 && (int64_t)f->plan->buffers[b].size > whole_bytes()
               ? bytes_of_row(f, b)
               : 0;
}

/* Whether the steps go together: each reads its own rows of what the others make, and a window
 * of as many rows as they need is not too large. */
static bool go_together(const finder *f)
{
    const int64_t row = sum_made(f, written_row);

    return (row == 0 || f->block <= WINDOWS_MOST * window_bytes / row) && all_read_own_rows(f);
}

/* Lengthens the stream by the step, or band, behind it; false if that cannot be. */
static bool lengthen(finder *f)
{
    const int end = f->end;
    const int64_t block = f->block;
    const step *s = &f->plan->steps[end];
    const int64_t own =
        end == f->plan->step_count || end - f->first >= STREAM_STEPS ? 0 : step_block(s, f->rows);

    if (own == 0)
        return false;
    f->end += plan_steps_together(s);
    f->block = common_multiple(block, own);
    note_all(f, true);
    if (go_together(f))
        return true;
    note_all(f, false);
    f->end = end;
    f->block = block;
    note_all(f, true);
    return false;
}

/* ---- Windows ------------------------------------------------------------------------------------
 */

/* Whether the buffer is made in the stream, read nowhere else, and worth a window. */
static bool wants_window(const finder *f, int b)
{
    const plan_buffer *buffer = &f->plan->buffers[b];

    return f->widths[b] > 0 && !buffer->made_by_step && buffer->last_step >= 0 &&
           buffer->first_step >= f->first && f->last_read[b] < f->end &&
           (int64_t)buffer->size > whole_bytes() && !f->kept[b];
}

static int64_t window_row(const finder *f, int b)
{
    return wants_window(f, b) ? bytes_of_row(f, b) : 0;
}

/* Windows are written to a file next: not past the caches. */
static void keep_in_cache(const finder *f)
{
    for (int i = f->first; i < f->end; i++) {
        const tile_program *p = f->plan->steps[i].tiles;

        for (int k = 0; p != NULL && k < p->output_count; k++)
            p->outputs[k].streams =
                p->outputs[k].streams &&
                !f->plan->buffers[buffer_of(f->plan, p->outputs[k].slot)].is_window;
    }
}

/* Makes a buffer a window, if it is to be one; returns how many became one. */
static int64_t make_window(const finder *f, int b)
{
    plan_buffer *buffer = &f->plan->buffers[b];

    if (!wants_window(f, b))
        return 0;
    buffer->is_window = true;
    buffer->row_bytes = buffer->size / (size_t)f->rows;
    buffer->last_step = f->end - 1;
    buffer->size = buffer->row_bytes * (size_t)f->window;
    return 1;
}

static size_t in_lines(int64_t bytes)
{
    return (size_t)(bytes + BUFFER_ALIGN - 1) / BUFFER_ALIGN * BUFFER_ALIGN;
}

/* Bytes for the work of all steps; a run of an operation keeps a row. */
static size_t scratch_bytes(const finder *f)
{
    size_t bytes = 0;

    for (int i = f->first; i < f->end; i += plan_steps_together(&f->plan->steps[i])) {
        const step *s = &f->plan->steps[i];
        const type *made = s->output_types;

        bytes += in_lines(s->kind == STEP_TILES ? s->scratch
                                                : shape_size(&made->shape) / f->rows *
                                                      (int64_t)dtype_size(made->dtype));
    }
    return bytes;
}

/* Makes a stream of the steps if that saves memory. */
static bool make_stream(finder *f, arena *a)
{
    const int64_t row = sum_made(f, window_row);
    const int64_t fitting = row > 0 ? window_bytes / row / f->block * f->block : 0;
    stream *s;

    f->window = fitting < f->block ? f->block : fitting;
    if (row == 0 || f->window > f->rows / 2)
        return false;
    s = arena_alloc(a, sizeof *s);
    s->steps = f->end - f->first;
    s->rows = f->rows;
    s->window = f->window;
    s->scratch = scratch_bytes(f);
    sum_made(f, make_window);
    keep_in_cache(f);
    f->plan->steps[f->first].stream = s;
    return true;
}

/* ---- Finding streams ----------------------------------------------------------------------------
 */

/* The shape of the largest buffer that a step makes; NULL if all are small. */
static const shape *large_shape(const plan *pl, const step *s)
{
    const int count = s->tiles != NULL ? s->tiles->output_count : s->output_count;

    for (int i = 0; i < count; i++) {
        const slot *made = &pl->slots[s->tiles != NULL ? s->tiles->outputs[i].slot : s->outputs[i]];

        if (made->value.node != NULL && !pl->buffers[made->index].is_local &&
            (int64_t)pl->buffers[made->index].size > whole_bytes())
            return &value_type(made->value)->shape;
    }
    return NULL;
}

static bool find_with_rows(finder *f, int first, arena *a)
{
    bool made;

    f->first = f->end = first;
    f->block = 1;
    while (lengthen(f))
        continue;
    made = f->end > f->first && make_stream(f, a);
    note_all(f, false);
    return made;
}

/* Makes a stream that begins with step i. Rows are those of the first axis, or, if it is short,
 * of the first ones together. */
static bool find_from(finder *f, int i, arena *a)
{
    const plan *pl = f->plan;
    const shape *made = NULL;

    for (int k = i; k < i + plan_steps_together(&pl->steps[i]) && made == NULL; k++)
        made = large_shape(pl, &pl->steps[k]);
    f->rows = 1;
    for (int axis = 0; made != NULL && axis < made->rank; axis++) {
        f->rows *= made->length[axis];
        if (f->rows > 1 && find_with_rows(f, i, a))
            return true;
    }
    return false;
}

static void note_read(finder *f, int slot_index, int step)
{
    const int b = buffer_of(f->plan, slot_index);

    if (b >= 0)
        f->last_read[b] = step;
}

static void find_last_uses(finder *f)
{
    for (int i = 0; i < f->plan->step_count; i++) {
        const step *s = &f->plan->steps[i];

        for (int k = 0; k < s->input_count; k++)
            note_read(f, s->inputs[k].slot, i);
        for (int k = 0; s->tiles != NULL && k < s->tiles->leaf_count; k++)
            note_read(f, s->tiles->leaves[k].slot, i);
        for (int k = 0; k < output_count(s); k++)
            f->last_made[made_buffer(f->plan, s, k)] = i;
    }
}

static void find_kept(finder *f, const bool *taken)
{
    const plan *pl = f->plan;

    for (int i = 0; i < pl->output_count; i++) {
        const layout *l = &pl->outputs[i];
        const int b = buffer_of(pl, l->slot);

        if (b >= 0 && (taken == NULL || !taken[i] || l->offset != 0 || !layout_is_dense(l) ||
                       (size_t)shape_size(&l->shape) * dtype_size(l->dtype) != pl->buffers[b].size))
            f->kept[b] = true;
    }
}

void streams_find(plan *pl, const bool *taken, arena *a)
{
    const size_t n = (size_t)pl->buffer_count + 1;
    finder f = {.plan = pl,
                .kept = arena_array(a, n, sizeof *f.kept),
                .last_read = arena_array(a, n, sizeof *f.last_read),
                .last_made = arena_array(a, n, sizeof *f.last_made),
                .widths = arena_array(a, n, sizeof *f.widths)};

    find_last_uses(&f);
    find_kept(&f, taken);
    for (int i = 0; i < pl->step_count; i += plan_steps_together(&pl->steps[i]))
        find_from(&f, i, a);
}

/* ---- Why not ------------------------------------------------------------------------------------
 */

/* The largest buffer that is there where the plan needs most; -1 if there is none. */
static int largest_at_peak(const plan *pl)
{
    int largest = -1;

    for (int b = 0; b < pl->buffer_count; b++) {
        const plan_buffer *buffer = &pl->buffers[b];

        if (buffer->last_step >= pl->peak_step && buffer->first_step <= pl->peak_step &&
            (largest < 0 || buffer->size > pl->buffers[largest].size))
            largest = b;
    }
    return largest;
}

static value value_in(const plan *pl, int b)
{
    for (int i = 0; i < pl->slot_count; i++)
        if (buffer_of(pl, i) == b && pl->slots[i].value.node != NULL)
            return pl->slots[i].value;
    return (value){0};
}

static bool makes_rows(const step *s)
{
    return s->kind == STEP_TILES || (s->kind == STEP_RUN && s->node->op->block != NULL);
}

/* What a buffer holds. */
static void add_content(const plan *pl, int b, text *to)
{
    const value v = value_in(pl, b);
    char shape[SHAPE_TEXT_MAX];

    if (v.node == NULL)
        text_addf(to, "a copy for %s", pl->steps[pl->buffers[b].first_step].node->op->name);
    else
        text_addf(to, "the result of %s, %s of shape %s,", v.node->op->name,
                  dtype_name(value_type(v)->dtype), shape_print(&value_type(v)->shape, shape));
}

void plan_explain_peak(const plan *pl, text *to)
{
    const int b = largest_at_peak(pl);
    const plan_buffer *buffer = b < 0 ? NULL : &pl->buffers[b];
    const step *maker;

    if (b < 0)
        return;
    maker = &pl->steps[buffer->first_step];
    add_content(pl, b, to);
    text_add(to, " is in memory as a whole, since ");
    if (!makes_rows(maker))
        text_addf(to, "%s does not stream", maker->node->op->name);
    else if (buffer->last_step >= pl->step_count)
        text_add(to, "it is answered, or not just stored row by row");
    else
        text_addf(to, "%s needs all of it", pl->steps[buffer->last_step].node->op->name);
}

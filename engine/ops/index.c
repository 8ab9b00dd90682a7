/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/ops/index.h"

#include <inttypes.h>
#include <string.h>

/* How far the reading of a key is. */
typedef struct reader {
    const op_call *call;
    const shape *in;
    index_view *view;
    int axis;          /* of the indexed tensor, next to be consumed */
    int plain;         /* axes of the view so far that no tensor selects */
    bool any_tensor;   /* in the whole key: integers then count as advanced */
    bool seen, closed; /* an advanced item was read; something else followed it */
    bool apart;        /* and then another advanced one */
} reader;

static int consumed_axes(const op_call *call, const index_item *item)
{
    if (item->kind == INDEX_INTEGER || item->kind == INDEX_SLICE)
        return 1;
    if (item->kind != INDEX_TENSOR)
        return 0;
    const type *t = &call->inputs[item->operand];
    return t->dtype == DT_BOOL ? t->shape.rank : 1;
}

static void add_axis(reader *r, int source, int64_t length, int64_t start, int64_t step)
{
    index_view *v = r->view;
    const int i = v->shape.rank++;

    v->shape.length[i] = length;
    v->source[i] = source;
    v->start[i] = start;
    v->step[i] = step;
}

static void note_plain(reader *r)
{
    r->closed = r->closed || r->seen;
}

static void note_advanced(reader *r)
{
    if (!r->seen)
        r->view->position = r->plain;
    r->apart = r->apart || r->closed;
    r->seen = true;
}

static bool read_integer(reader *r, const index_item *item, error *err)
{
    const int64_t n = r->in->length[r->axis];
    const int64_t at = item->start < 0 ? item->start + n : item->start;

    if (n == LENGTH_UNKNOWN && item->start < 0)
        return error_set(err, ERR_INDEX,
                         "%s: axis %d has no known length to count %" PRId64 " from",
                         r->call->op->name, r->axis, item->start);
    if (n != LENGTH_UNKNOWN && (at < 0 || at >= n))
        return error_set(err, ERR_INDEX,
                         "%s: index %" PRId64 " is out of bounds for axis %d with length %" PRId64,
                         r->call->op->name, item->start, r->axis, n);
    r->view->fixed_axis[r->view->fixed_count] = r->axis++;
    r->view->fixed_at[r->view->fixed_count++] = at;
    if (r->any_tensor)
        note_advanced(r);
    return true;
}

static int64_t clamp(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}

/* Python's slice.indices(n). */
static bool read_slice(reader *r, const index_item *item, error *err)
{
    const int64_t n = r->in->length[r->axis];
    const int64_t step = item->has_step ? clamp(item->step, -LENGTH_MAX, LENGTH_MAX) : 1;
    const int64_t low = step < 0 ? -1 : 0, high = step < 0 ? n - 1 : n;
    int64_t start = step < 0 ? high : low, stop = step < 0 ? low : high, length;

    if (step == 0)
        return error_set(err, ERR_VALUE, "%s: the step of a slice cannot be 0", r->call->op->name);
    if (n == LENGTH_UNKNOWN) {
        const bool whole = !item->has_start && !item->has_stop && step == 1;

        add_axis(r, r->axis++, LENGTH_UNKNOWN, whole ? 0 : INT64_MIN, step);
    } else {
        if (item->has_start)
            start = clamp(item->start < 0 ? item->start + n : item->start, low, high);
        if (item->has_stop)
            stop = clamp(item->stop < 0 ? item->stop + n : item->stop, low, high);
        if (step > 0)
            length = stop > start ? (stop - start - 1) / step + 1 : 0;
        else
            length = start > stop ? (start - stop - 1) / -step + 1 : 0;
        add_axis(r, r->axis++, length, length == 0 ? 0 : start, step);
    }
    r->plain++;
    note_plain(r);
    return true;
}

static bool check_mask(reader *r, const shape *mask, error *err)
{
    for (int i = 0; i < mask->rank; i++) {
        const int64_t n = r->in->length[r->axis + i];

        if (n != mask->length[i] && n != LENGTH_UNKNOWN && mask->length[i] != LENGTH_UNKNOWN)
            return error_set(err, ERR_INDEX,
                             "%s: a mask of length %" PRId64
                             " cannot select along axis %d with length %" PRId64,
                             r->call->op->name, mask->length[i], r->axis + i, n);
    }
    return true;
}

static bool read_tensor(reader *r, const index_item *item, error *err)
{
    const type *t = &r->call->inputs[item->operand];
    const bool mask = t->dtype == DT_BOOL;
    const int axes = mask ? t->shape.rank : 1;

    if (!mask && !dtype_is_integer(t->dtype))
        return error_set(err, ERR_INDEX, "%s: an index is of integers or bool, not of %s",
                         r->call->op->name, dtype_name(t->dtype));
    if (axes == 0)
        return error_set(err, ERR_INDEX, "%s: a single bool cannot be an index; use where",
                         r->call->op->name);
    if (mask && !check_mask(r, &t->shape, err))
        return false;
    note_advanced(r);
    r->view->operand[r->view->tensor_count] = item->operand;
    r->view->tensor_axis[r->view->tensor_count++] = r->view->shape.rank;
    for (int i = 0; i < axes; i++) {
        r->view->is_selected[r->view->shape.rank] = true;
        add_axis(r, r->axis, r->in->length[r->axis], 0, 1);
        r->axis++;
    }
    return true;
}

/* `count` whole axes, for an ellipsis or what the key leaves out. */
static void read_whole(reader *r, int count)
{
    for (int i = 0; i < count; i++) {
        add_axis(r, r->axis, r->in->length[r->axis], 0, 1);
        r->axis++;
        r->plain++;
    }
    note_plain(r);
}

static bool read_item(reader *r, const index_item *item, int left, error *err)
{
    switch (item->kind) {
    case INDEX_INTEGER:
        return read_integer(r, item, err);
    case INDEX_SLICE:
        return read_slice(r, item, err);
    case INDEX_TENSOR:
        return read_tensor(r, item, err);
    case INDEX_ELLIPSIS:
        read_whole(r, left);
        return true;
    case INDEX_NEWAXIS:
        add_axis(r, -1, 1, 0, 0);
        r->plain++;
        note_plain(r);
        return true;
    }
    return false;
}

/* What a key has of each kind. */
typedef struct key_counts {
    int consumed;  /* axes of the indexed tensor */
    int added;     /* new axes */
    int ellipses;  /* ... */
    int arguments; /* tensors: $1 up to this one */
} key_counts;

static key_counts count_items(const op_call *call, const attr *key)
{
    key_counts c = {0};

    for (int i = 0; i < key->n; i++) {
        const index_item *item = &key->index[i];
        const bool argument = item->kind == INDEX_TENSOR;

        if (argument && item->operand > c.arguments)
            c.arguments = item->operand;
        if (!argument || item->operand < call->count)
            c.consumed += consumed_axes(call, item);
        c.ellipses += item->kind == INDEX_ELLIPSIS;
        c.added += item->kind == INDEX_NEWAXIS;
    }
    return c;
}

static bool check_key(const op_call *call, const key_counts *c, error *err)
{
    const int rank = call->inputs[0].shape.rank, given = call->count - 1;

    if (c->arguments > given)
        return error_set(err, ERR_INDEX,
                         "%s: the index refers to an argument $%d that is not there",
                         call->op->name, c->arguments);
    if (c->arguments < given)
        return error_set(err, ERR_ARGUMENT,
                         "%s: the index takes %d tensors, not %d; one tensor where a tuple of them "
                         "goes is taken as its parts along axis 0: write (x,)",
                         call->op->name, c->arguments, given);
    if (c->ellipses > 1)
        return error_set(err, ERR_INDEX, "%s: an index can have only one ...", call->op->name);
    if (c->consumed > rank)
        return error_set(err, ERR_INDEX, "%s: %d indices for a tensor with %d axes", call->op->name,
                         c->consumed, rank);
    return rank + c->added <= RANK_MAX ||
           error_set_limit(err, ERR_SHAPE_INVALID, RANK_MAX, rank + c->added,
                           "%s: a tensor has at most %d axes", call->op->name, RANK_MAX);
}

bool index_read(const op_call *call, const attr *key, index_view *view, error *err)
{
    const key_counts counts = count_items(call, key);
    reader r = {.call = call,
                .in = &call->inputs[0].shape,
                .view = view,
                .any_tensor = counts.arguments > 0};

    memset(view, 0, sizeof *view);
    if (!check_key(call, &counts, err))
        return false;
    for (int i = 0; i < key->n; i++)
        if (!read_item(&r, &key->index[i], r.in->rank - counts.consumed, err))
            return false;
    if (counts.ellipses == 0)
        read_whole(&r, r.in->rank - counts.consumed);
    if (r.apart)
        view->position = 0;
    return true;
}

void index_apply(const index_view *view, const tensor *t, tensor *result)
{
    *result = *t;
    result->shape = view->shape;
    for (int i = 0; i < view->fixed_count; i++)
        result->offset += view->fixed_at[i] * t->strides[view->fixed_axis[i]];
    for (int i = 0; i < view->shape.rank; i++) {
        const int64_t stride = view->source[i] < 0 ? 0 : t->strides[view->source[i]];

        result->offset += view->start[i] * stride;
        result->strides[i] = view->step[i] * stride;
    }
}

/* The shape that the index tensors broadcast to; masks count as one unknown axis. */
static bool tensors_shape(const op_call *call, const index_view *view, shape *result, error *err)
{
    *result = shape_scalar;
    for (int i = 0; i < view->tensor_count; i++) {
        const type *t = &call->inputs[view->operand[i]];
        const shape mask = {.rank = 1, .length = {LENGTH_UNKNOWN}};
        char a[SHAPE_TEXT_MAX], b[SHAPE_TEXT_MAX];
        const shape before = *result;
        int axis;

        if (!shape_broadcast(result, t->dtype == DT_BOOL ? &mask : &t->shape, &axis))
            return error_set(err, ERR_INDEX, "%s: indices of shapes %s and %s do not broadcast",
                             call->op->name, shape_print(&before, a), shape_print(&t->shape, b));
    }
    return true;
}

bool index_shape(const op_call *call, const index_view *view, shape *result, error *err)
{
    shape selected;
    int plain = 0;

    if (!tensors_shape(call, view, &selected, err))
        return false;
    result->rank = 0;
    for (int i = 0; i <= view->shape.rank; i++) {
        if (plain == view->position && view->tensor_count > 0 &&
            (i == view->shape.rank || !view->is_selected[i] || view->tensor_axis[0] == i)) {
            if (result->rank + selected.rank > RANK_MAX)
                return error_set_limit(
                    err, ERR_SHAPE_INVALID, RANK_MAX, result->rank + selected.rank,
                    "%s: a tensor has at most %d axes", call->op->name, RANK_MAX);
            memcpy(result->length + result->rank, selected.length,
                   (size_t)selected.rank * sizeof *selected.length);
            result->rank += selected.rank;
            plain = RANK_MAX + 1; /* once only */
        }
        if (i < view->shape.rank && !view->is_selected[i]) {
            if (result->rank >= RANK_MAX)
                return error_set_limit(err, ERR_SHAPE_INVALID, RANK_MAX, RANK_MAX + 1,
                                       "%s: a tensor has at most %d axes", call->op->name,
                                       RANK_MAX);
            result->length[result->rank++] = view->shape.length[i];
            plain += plain <= RANK_MAX;
        }
    }
    return true;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Operations that select: x[key], x[key] = value, and where elements are not zero.
 *
 * Masks in a key are replaced by nonzero's results before a plan is made (see
 * rewrite/), so the functions that run here only see integer tensors. */
#include <inttypes.h>
#include <string.h>

#include "engine/ops/families.h"
#include "engine/ops/index.h"

/* ---- Walking over what is selected ---------------------------------------------- */

/* The positions that a key's tensors select, one after the other in C order. */
typedef struct selection {
    op_run *run;
    index_view view;
    tensor base;                         /* the indexed tensor as the basic part leaves it */
    shape shape;                         /* that the index tensors broadcast to */
    int64_t strides[RANK_MAX][RANK_MAX]; /* of each index tensor, along that shape */
    int64_t index[RANK_MAX];             /* where the walk is */
} selection;

static bool selection_start(selection *s, op_run *run, const type types[], const tensor *indexed,
                            error *err)
{
    const op_call call = {run->op, run->count, types, run->attrs, run->arena};
    int axis;

    s->run = run;
    memset(s->index, 0, sizeof s->index);
    if (!index_read(&call, &run->attrs[0], &s->view, err))
        return false;
    index_apply(&s->view, indexed, &s->base);
    s->shape = shape_scalar;
    for (int i = 0; i < s->view.tensor_count; i++)
        shape_broadcast(&s->shape, &run->inputs[s->view.operand[i]].shape, &axis);
    for (int i = 0; i < s->view.tensor_count; i++) {
        const tensor *t = &run->inputs[s->view.operand[i]];
        const int more = s->shape.rank - t->shape.rank;

        for (int k = 0; k < s->shape.rank; k++)
            s->strides[i][k] =
                k < more || t->shape.length[k - more] == 1 ? 0 : t->strides[k - more];
    }
    return true;
}

/* The offset, in elements from the base's first, of where the walk is. */
static bool selection_offset(const selection *s, int64_t *offset, error *err)
{
    *offset = 0;
    for (int i = 0; i < s->view.tensor_count; i++) {
        const tensor *t = &s->run->inputs[s->view.operand[i]];
        const int axis = s->view.tensor_axis[i];
        const int64_t n = s->base.shape.length[axis];
        int64_t place = 0, at;

        for (int k = 0; k < s->shape.rank; k++)
            place += s->index[k] * s->strides[i][k];
        at = ((const int64_t *)tensor_bytes(t))[place];
        if (at < -n || at >= n)
            return error_set(err, ERR_INDEX,
                             "%s: index %" PRId64 " is out of bounds for axis %d with length "
                             "%" PRId64,
                             s->run->op->name, at, s->view.source[axis], n);
        *offset += (at < 0 ? at + n : at) * s->base.strides[axis];
    }
    return true;
}

static void selection_next(selection *s)
{
    for (int k = s->shape.rank - 1; k >= 0; k--) {
        if (++s->index[k] < s->shape.length[k])
            return;
        s->index[k] = 0;
    }
}

/* The axes of the base that no tensor selects, as a tensor of its own, and the
 * same axes of `outer`, in whose shape the selected ones stand at view.position. */
static void split_axes(const selection *s, const tensor *outer, tensor *inside, tensor *outside)
{
    int at = 0;

    *inside = s->base;
    *outside = *outer;
    inside->shape.rank = outside->shape.rank = 0;
    for (int i = 0; i < s->base.shape.rank; i++) {
        const int k = inside->shape.rank;

        if (s->view.is_selected[i])
            continue;
        if (at == s->view.position)
            at += s->shape.rank;
        inside->shape.length[k] = outside->shape.length[k] = s->base.shape.length[i];
        inside->strides[k] = s->base.strides[i];
        outside->strides[k] = outer->strides[at++];
        inside->shape.rank = outside->shape.rank = k + 1;
    }
}

/* The offset in `outer` of the walk's place. */
static int64_t outer_offset(const selection *s, const tensor *outer)
{
    int64_t offset = 0;

    for (int k = 0; k < s->shape.rank; k++)
        offset += s->index[k] * outer->strides[s->view.position + k];
    return offset;
}

/* Two tensors of one shape walked through together, in C order. */
typedef struct pair_walk {
    const tensor *from, *to;
    int64_t index[RANK_MAX];
    int64_t at_from, at_to; /* elements from the first */
} pair_walk;

static void pair_next(pair_walk *w)
{
    for (int k = w->from->shape.rank - 1; k >= 0; k--) {
        w->at_from += w->from->strides[k];
        w->at_to += w->to->strides[k];
        if (++w->index[k] < w->from->shape.length[k])
            return;
        w->at_from -= w->from->strides[k] * w->from->shape.length[k];
        w->at_to -= w->to->strides[k] * w->to->shape.length[k];
        w->index[k] = 0;
    }
}

/* What is done with the elements of `from` and of `to`, which has the same shape. */
typedef bool pair_act(op_run *run, const tensor *from, const tensor *to, error *err);

/* Whether to stop, asked once in many elements. */
static bool stops(op_run *run, int64_t left, error *err)
{
    return left % 65536 == 65535 && run->stopped(run, err);
}

static bool copy_elements(op_run *run, const tensor *from, const tensor *to, error *err)
{
    const size_t size = dtype_size(from->dtype);
    const char *x = tensor_bytes(from);
    char *out = tensor_bytes(to);
    pair_walk w = {.from = from, .to = to};

    for (int64_t left = tensor_size(from); left > 0; left--, pair_next(&w)) {
        if (stops(run, left, err))
            return false;
        memcpy(out + w.at_to * (int64_t)size, x + w.at_from * (int64_t)size, size);
    }
    return true;
}

/* Adds an element to another of the same type, in the type that is computed in. */
static void add_element(kernel_fn *const *add, dtype t, const char *x, char *sum)
{
    const dtype computed = dtype_info_of(t)->computed;
    char a[LANES * 16] = {0}, b[LANES * 16] = {0}, c[LANES * 16] = {0};
    const void *both[] = {a, b}, *from[] = {c}, *back[] = {c};

    memcpy(c, x, dtype_size(t));
    kernel_cast(t, computed)(LANES, a, from);
    memcpy(c, sum, dtype_size(t));
    kernel_cast(t, computed)(LANES, b, from);
    add[computed](LANES, c, both);
    kernel_cast(computed, t)(LANES, a, back);
    memcpy(sum, a, dtype_size(t));
}

bool op_add_elements(op_run *run, const tensor *from, const tensor *to, error *err)
{
    kernel_fn *const *add = op_find("add", 3)->kernel;
    const int64_t size = (int64_t)dtype_size(from->dtype);
    pair_walk w = {.from = from, .to = to};

    for (int64_t left = tensor_size(from); left > 0; left--, pair_next(&w)) {
        if (stops(run, left, err))
            return false;
        add_element(add, to->dtype, (const char *)tensor_bytes(from) + w.at_from * size,
                    (char *)tensor_bytes(to) + w.at_to * size);
    }
    return true;
}

/* Calls act(base's part, outer's part) for every place selected, in order. With
 * reversed, act gets (outer's part, base's part). */
static bool walk(selection *s, const tensor *outer, bool reversed, pair_act *act, error *err)
{
    tensor inside, outside;
    const int64_t count = shape_size(&s->shape);

    split_axes(s, outer, &inside, &outside);
    for (int64_t i = 0; i < count; i++, selection_next(s)) {
        int64_t offset;

        if (i % 1024 == 0 && s->run->stopped(s->run, err))
            return false;
        if (!selection_offset(s, &offset, err))
            return false;
        inside.offset = s->base.offset + offset;
        outside.offset = outer->offset + outer_offset(s, outer);
        if (!act(s->run, reversed ? &outside : &inside, reversed ? &inside : &outside, err))
            return false;
    }
    return true;
}

static type *types_of_inputs(const op_run *run)
{
    type *types = arena_array(run->arena, (size_t)run->count, sizeof *types);

    for (int i = 0; i < run->count; i++) {
        types[i].dtype = run->inputs[i].dtype;
        types[i].shape = run->inputs[i].shape;
    }
    return types;
}

/* ---- getitem ------------------------------------------------------------------------ */

static bool infer_getitem(const op_call *call, type *output, error *err)
{
    index_view view;

    if (!index_read(call, &call->attrs[0], &view, err) ||
        !index_shape(call, &view, &output->shape, err))
        return false;
    output->dtype = call->inputs[0].dtype;
    return true;
}

static bool view_getitem(const op_call *call, const tensor *input, tensor *result)
{
    index_view view;
    error err = {0};

    if (!index_read(call, &call->attrs[0], &view, &err))
        return false;
    index_apply(&view, input, result);
    return true;
}

/* Index tensors come as int64; masks and values as they are. */
static void cast_indices(const op_call *call, const type *outputs, dtype *casts)
{
    (void)outputs;
    for (int i = 1; i < call->count; i++)
        if (dtype_is_integer(casts[i]))
            casts[i] = DT_I64;
}

static bool run_getitem(op_run *run, error *err)
{
    selection *s = arena_alloc(run->arena, sizeof *s);

    return selection_start(s, run, types_of_inputs(run), &run->inputs[0], err) &&
           walk(s, &run->outputs[0], false, copy_elements, err);
}

/* ---- setitem and index_add ------------------------------------------------------------- */

/* The last input is the value, which must broadcast to what the key selects. */
static bool infer_setitem(const op_call *call, type *output, error *err)
{
    const type *value = &call->inputs[call->count - 1];
    char a[SHAPE_TEXT_MAX], b[SHAPE_TEXT_MAX];
    shape selected, trimmed = value->shape, joined;
    op_call without_value = *call;
    index_view view;
    int axis;

    if (call->count < 2)
        return error_set(err, ERR_ARGUMENT, "%s needs a value", call->op->name);
    without_value.count--;
    if (!index_read(&without_value, &call->attrs[0], &view, err) ||
        !index_shape(&without_value, &view, &selected, err))
        return false;
    while (trimmed.rank > selected.rank && trimmed.length[0] == 1) { /* NumPy drops them */
        trimmed.rank--;
        memmove(trimmed.length, trimmed.length + 1, (size_t)trimmed.rank * sizeof *trimmed.length);
    }
    joined = selected;
    if (!shape_broadcast(&joined, &trimmed, &axis) ||
        (shape_is_known(&joined) && shape_is_known(&selected) && !shape_equal(&joined, &selected)))
        return error_set(err, ERR_SHAPE, "%s: a value of shape %s does not broadcast to %s",
                         call->op->name, shape_print(&value->shape, a), shape_print(&selected, b));
    *output = call->inputs[0];
    return true;
}

static void cast_setitem(const op_call *call, const type *outputs, dtype *casts)
{
    cast_indices(call, outputs, casts);
    casts[0] = outputs[0].dtype;
    casts[call->count - 1] = outputs[0].dtype;
}

/* value stretched to shape: leading axes of length 1 may be dropped. */
static tensor stretch_value(const tensor *value, const shape *to)
{
    tensor result = *value;
    const int more = to->rank - value->shape.rank;

    result.shape = *to;
    for (int i = 0; i < to->rank; i++) {
        const int k = i - more;

        result.strides[i] = k < 0 || value->shape.length[k] == 1 ? 0 : value->strides[k];
    }
    return result;
}

/* The first input copied to the output, then act on each selected part. */
static bool run_assign(op_run *run, pair_act *act, error *err)
{
    selection *s = arena_alloc(run->arena, sizeof *s);
    type *types = types_of_inputs(run);
    op_run without_value = *run;
    op_call call = {run->op, run->count - 1, types, run->attrs, run->arena};
    shape selected;
    tensor value;

    without_value.count--;
    if (!op_copy(run, &run->inputs[0], tensor_bytes(&run->outputs[0]), err) ||
        !selection_start(s, &without_value, types, &run->outputs[0], err) ||
        !index_shape(&call, &s->view, &selected, err))
        return false;
    value = stretch_value(&run->inputs[run->count - 1], &selected);
    return walk(s, &value, true, act, err);
}

static bool run_setitem(op_run *run, error *err)
{
    return run_assign(run, copy_elements, err);
}

static bool run_index_add(op_run *run, error *err)
{
    return run_assign(run, op_add_elements, err);
}

/* ---- nonzero ---------------------------------------------------------------------------- */

static bool infer_nonzero(const op_call *call, type *outputs, error *err)
{
    const int rank = call->inputs[0].shape.rank;

    if (rank == 0)
        return error_set(err, ERR_VALUE, "%s needs a tensor with at least one axis",
                         call->op->name);
    for (int i = 0; i < rank; i++) {
        outputs[i].dtype = DT_I64;
        outputs[i].shape.rank = 1;
        outputs[i].shape.length[0] = LENGTH_UNKNOWN;
    }
    return true;
}

static void cast_to_bool(const op_call *call, const type *outputs, dtype *casts)
{
    (void)call;
    (void)outputs;
    casts[0] = DT_BOOL;
}

static int64_t count_true(const bool *x, int64_t n)
{
    int64_t count = 0;

    for (int64_t i = 0; i < n; i++)
        count += x[i];
    return count;
}

static bool run_nonzero(op_run *run, error *err)
{
    const tensor *x = &run->inputs[0];
    const bool *mask = tensor_bytes(x);
    const int64_t size = tensor_size(x);
    const shape found = {.rank = 1, .length = {count_true(mask, size)}};
    int64_t index[RANK_MAX] = {0}, n = 0;

    for (int i = 0; i < x->shape.rank; i++)
        if (!tensor_new(&run->outputs[i], run->budget, DT_I64, &found, err))
            return false;
    for (int64_t i = 0; i < size; i++) {
        if (i % 65536 == 0 && run->stopped(run, err))
            return false;
        for (int k = 0; mask[i] && k < x->shape.rank; k++)
            ((int64_t *)tensor_bytes(&run->outputs[k]))[n] = index[k];
        n += mask[i];
        for (int k = x->shape.rank - 1; k >= 0 && ++index[k] == x->shape.length[k]; k--)
            index[k] = 0;
    }
    return true;
}

/* ---- Rows ---------------------------------------------------------------------------------- */

static op_def rows[] = {
    {
        .name = "getitem",
        .family = "Indexing",
        .signature = "x, indices: tensors, key: index",
        .infer = infer_getitem,
        .view = view_getitem, /* without index tensors */
        .run = run_getitem,
        .casts = cast_indices,
        .grad = {"index_add(zeros_like(x), indices + (g,), key=key) if indices else "
                 "setitem(zeros_like(x), (g,), key=key)"},
        .doc = "Elements selected by NumPy's indexing, written x[key].",
        .example = "array([[1, 2], [3, 4]])[1]",
        .gives = "[3, 4]",
    },
    {
        .name = "setitem",
        .family = "Indexing",
        .signature = "x, operands: tensors, key: index",
        .infer = infer_setitem,
        .run = run_setitem,
        .casts = cast_setitem,
        .traits = OP_ASSIGNS,
        /* Of values that were set at one place only the last counts: the places remember
         * which it was. */
        .grad = {"setitem(g, operands[:-1] + (0,), key=key)",
                 "places = operands[:-1]\n"
                 "v = getitem(g, places, key=key)\n"
                 "i = reshape(arange(v.size), v.shape)\n"
                 "last = setitem(zeros_like(g, int64), places + (i,), key=key)\n"
                 "kept = where(getitem(last, places, key=key) == i, v, 0) if places else v\n"
                 "return (None,) * len(places) + (kept,)"},
        .doc = "The tensor with the selected elements replaced by the value, the last operand; "
               "written x[key] = value.",
        .example = "x = [1, 2, 3]\nx[1:] = 0\nx",
        .gives = "[1, 0, 0]",
    },
    {
        .name = "index_add",
        .family = "Indexing",
        .signature = "x, operands: tensors, key: index",
        .infer = infer_setitem,
        .run = run_index_add,
        .casts = cast_setitem,
        .grad = {"g", "(None,) * (len(operands) - 1) + (getitem(g, operands[:-1], key=key),)"},
        .doc = "The tensor with the value, the last operand, added to the selected elements, as "
               "often as each is selected.",
        .example = "index_add([1, 2, 3], [[0, 0], 10], key='$1')",
        .gives = "[21, 2, 3]",
    },
    {
        .name = "nonzero",
        .family = "Indexing",
        .signature = "x",
        .outputs = -1,
        .infer = infer_nonzero,
        .run = run_nonzero,
        .casts = cast_to_bool,
        .traits = OP_DENSE,
        .no_grad = true,
        .doc = "Indices of the elements that are not zero, one tensor for each axis.",
        .example = "nonzero([0, 5, 0, 7])",
        .gives = "([1, 3],)",
    },
};

const op_family indexing_family = {rows, sizeof rows / sizeof *rows};

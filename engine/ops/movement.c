/* SPDX-License-Identifier: Apache-2.0 */
/* Movement: the same elements, arranged otherwise. Each is a view: shape, strides
 * and offset change, no element is copied. */
#include <inttypes.h>
#include <string.h>

#include "engine/ops/families.h"

/* ---- Reshape ------------------------------------------------------------------- */

/* Replaces the one -1 among the lengths by what makes the sizes equal. */
static bool fill_length(const op_call *call, const shape *in, shape *out, int hole, error *err)
{
    int64_t rest = 1;
    char text[SHAPE_TEXT_MAX];

    if (!shape_is_known(in))
        return true;
    for (int i = 0; i < out->rank; i++) {
        if (i != hole && out->length[i] == LENGTH_UNKNOWN)
            return true;
        if (i != hole)
            rest *= out->length[i];
    }
    if (rest == 0 || shape_size(in) % rest != 0)
        return error_set(err, ERR_SHAPE,
                         "%s: no length for the -1 makes %" PRId64 " elements of shape %s",
                         call->op->name, shape_size(in), shape_print(in, text));
    out->length[hole] = shape_size(in) / rest;
    return true;
}

/* Where the one -1 among the lengths is; -1 if there is none. */
static bool find_hole(const op_call *call, const attr *lengths, int *hole, error *err)
{
    *hole = -1;
    for (int i = 0; i < lengths->n; i++) {
        if (lengths->ints[i] != -1)
            continue;
        if (*hole >= 0)
            return error_set(err, ERR_VALUE, "%s: only one length can be -1", call->op->name);
        *hole = i;
    }
    return true;
}

static bool infer_reshape(const op_call *call, type *output, error *err)
{
    const attr *lengths = &call->attrs[0];
    const shape *in = &call->inputs[0].shape;
    char a[SHAPE_TEXT_MAX], b[SHAPE_TEXT_MAX];
    int hole;

    if (!find_hole(call, lengths, &hole, err) ||
        !op_shape_with_hole(call, lengths, hole, &output->shape, err) ||
        (hole >= 0 && !fill_length(call, in, &output->shape, hole, err)))
        return false;
    output->dtype = call->inputs[0].dtype;
    if (shape_is_known(in) && shape_is_known(&output->shape) &&
        shape_size(in) != shape_size(&output->shape))
        return error_set(err, ERR_SHAPE, "%s: %" PRId64 " elements of shape %s do not fill %s",
                         call->op->name, shape_size(in), shape_print(in, a),
                         shape_print(&output->shape, b));
    return true;
}

/* Strides that arrange the elements of in, read in C order, as out; false if
 * there are none. Axes of in that lie densely behind each other are merged and
 * then split into axes of out. */
static bool reshape_strides(const tensor *in, const shape *out, int64_t strides[RANK_MAX])
{
    int i = 0, k = 0;

    shape_strides(out, strides);
    if (tensor_size(in) == 0)
        return true;
    while (i < in->shape.rank || k < out->rank) {
        int64_t from = i < in->shape.rank ? in->shape.length[i] : 1;
        int64_t to = k < out->rank ? out->length[k] : 1, step;
        int i_end = i + (i < in->shape.rank), k_end = k + (k < out->rank);

        while (from != to) {
            if (from < to)
                from *= in->shape.length[i_end++];
            else
                to *= out->length[k_end++];
        }
        step = i_end > 0 && i_end > i ? in->strides[i_end - 1] : 1;
        for (int j = i_end - 1, last = -1; j >= i; j--) { /* merged axes must be dense */
            if (in->shape.length[j] == 1)
                continue;
            if (last < 0)
                step = in->strides[j];
            else if (in->strides[j] != in->strides[last] * in->shape.length[last])
                return false;
            last = j;
        }
        for (int j = k_end - 1; j >= k; j--) {
            strides[j] = step;
            step *= out->length[j];
        }
        i = i_end;
        k = k_end;
    }
    return true;
}

static bool view_reshape(const op_call *call, const tensor *input, tensor *result)
{
    (void)call;
    return reshape_strides(input, &result->shape, result->strides);
}

static bool infer_ravel(const op_call *call, type *output, error *err)
{
    const shape *in = &call->inputs[0].shape;

    (void)err;
    output->dtype = call->inputs[0].dtype;
    output->shape.rank = 1;
    output->shape.length[0] = shape_is_known(in) ? shape_size(in) : LENGTH_UNKNOWN;
    return true;
}

/* ---- Axes in another order ------------------------------------------------------- */

/* The permutation that transpose's attribute means: given, or reversed. */
static bool permutation(const op_call *call, int order[RANK_MAX], error *err)
{
    const attr *axes = &call->attrs[0];
    const int rank = call->inputs[0].shape.rank;
    bool seen[RANK_MAX] = {false};

    if (axes->kind == ATTR_NONE) {
        for (int i = 0; i < rank; i++)
            order[i] = rank - 1 - i;
        return true;
    }
    if (axes->n != rank)
        return error_set(err, ERR_AXIS, "%s: %d axes given for a tensor with %d", call->op->name,
                         axes->n, rank);
    for (int i = 0; i < rank; i++) {
        if (!shape_axis(axes->ints[i], rank, call->op->name, &order[i], err))
            return false;
        if (seen[order[i]])
            return error_set(err, ERR_AXIS, "%s: axis %d is given twice", call->op->name, order[i]);
        seen[order[i]] = true;
    }
    return true;
}

static bool infer_transpose(const op_call *call, type *output, error *err)
{
    const type *in = &call->inputs[0];
    int order[RANK_MAX];

    if (!permutation(call, order, err))
        return false;
    *output = *in;
    for (int i = 0; i < in->shape.rank; i++)
        output->shape.length[i] = in->shape.length[order[i]];
    return true;
}

static bool infer_untranspose(const op_call *call, type *output, error *err)
{
    const type *in = &call->inputs[0];
    int order[RANK_MAX];

    if (!permutation(call, order, err))
        return false;
    *output = *in;
    for (int i = 0; i < in->shape.rank; i++)
        output->shape.length[order[i]] = in->shape.length[i];
    return true;
}

static bool view_untranspose(const op_call *call, const tensor *input, tensor *result)
{
    int order[RANK_MAX];
    error err = {0};

    permutation(call, order, &err);
    for (int i = 0; i < input->shape.rank; i++)
        result->strides[order[i]] = input->strides[i];
    return true;
}

static bool view_transpose(const op_call *call, const tensor *input, tensor *result)
{
    int order[RANK_MAX];
    error err = {0};

    permutation(call, order, &err);
    for (int i = 0; i < input->shape.rank; i++)
        result->strides[i] = input->strides[order[i]];
    return true;
}

/* The two axes that swapaxes exchanges. */
static bool swapped(const op_call *call, int *a, int *b, error *err)
{
    const int rank = call->inputs[0].shape.rank;

    return shape_axis(call->attrs[0].integer, rank, call->op->name, a, err) &&
           shape_axis(call->attrs[1].integer, rank, call->op->name, b, err);
}

static bool infer_swapaxes(const op_call *call, type *output, error *err)
{
    int a, b;

    if (!swapped(call, &a, &b, err))
        return false;
    *output = call->inputs[0];
    output->shape.length[a] = call->inputs[0].shape.length[b];
    output->shape.length[b] = call->inputs[0].shape.length[a];
    return true;
}

static bool view_swapaxes(const op_call *call, const tensor *input, tensor *result)
{
    int a = 0, b = 0;
    error err = {0};

    swapped(call, &a, &b, &err);
    memcpy(result->strides, input->strides, sizeof result->strides);
    result->strides[a] = input->strides[b];
    result->strides[b] = input->strides[a];
    return true;
}

/* ---- Axes of length 1 -------------------------------------------------------------- */

static bool new_axes(const op_call *call, bool added[RANK_MAX], int *rank, error *err)
{
    const int extra = call->attrs[0].kind == ATTR_INTS ? call->attrs[0].n : 1;

    *rank = call->inputs[0].shape.rank + extra;
    if (*rank > RANK_MAX)
        return error_set_limit(err, ERR_SHAPE_INVALID, RANK_MAX, *rank,
                               "%s: a tensor has at most %d axes, not %d", call->op->name, RANK_MAX,
                               *rank);
    return op_axes(call, &call->attrs[0], *rank, added, err);
}

static bool infer_expand_dims(const op_call *call, type *output, error *err)
{
    bool added[RANK_MAX];
    int rank;

    if (!new_axes(call, added, &rank, err))
        return false;
    *output = call->inputs[0];
    output->shape.rank = rank;
    for (int i = 0, k = 0; i < rank; i++)
        output->shape.length[i] = added[i] ? 1 : call->inputs[0].shape.length[k++];
    return true;
}

static bool view_expand_dims(const op_call *call, const tensor *input, tensor *result)
{
    bool added[RANK_MAX];
    error err = {0};
    int rank;

    new_axes(call, added, &rank, &err);
    for (int i = 0, k = 0; i < rank; i++)
        result->strides[i] = added[i] ? 0 : input->strides[k++];
    return true;
}

/* Which axes squeeze drops: those asked for, which must have length 1, or all such. */
static bool dropped_axes(const op_call *call, bool dropped[RANK_MAX], error *err)
{
    const shape *in = &call->inputs[0].shape;
    char text[SHAPE_TEXT_MAX];

    if (!op_axes(call, &call->attrs[0], in->rank, dropped, err))
        return false;
    for (int i = 0; i < in->rank; i++) {
        if (call->attrs[0].kind == ATTR_NONE)
            dropped[i] = in->length[i] == 1;
        else if (dropped[i] && in->length[i] != 1 && in->length[i] != LENGTH_UNKNOWN)
            return error_set(err, ERR_VALUE, "%s: axis %d of shape %s has not length 1",
                             call->op->name, i, shape_print(in, text));
    }
    return true;
}

static bool infer_squeeze(const op_call *call, type *output, error *err)
{
    const shape *in = &call->inputs[0].shape;
    bool dropped[RANK_MAX];

    if (!dropped_axes(call, dropped, err))
        return false;
    output->dtype = call->inputs[0].dtype;
    for (int i = 0; i < in->rank; i++)
        if (!dropped[i])
            output->shape.length[output->shape.rank++] = in->length[i];
    return true;
}

static bool view_squeeze(const op_call *call, const tensor *input, tensor *result)
{
    bool dropped[RANK_MAX];
    error err = {0};

    dropped_axes(call, dropped, &err);
    for (int i = 0, k = 0; i < input->shape.rank; i++)
        if (!dropped[i])
            result->strides[k++] = input->strides[i];
    return true;
}

/* ---- Broadcasting -------------------------------------------------------------------- */

/* Whether two shapes may be the same; lengths that are not known may be any. */
static bool may_equal(const shape *a, const shape *b)
{
    for (int i = 0; a->rank == b->rank && i < a->rank; i++)
        if (a->length[i] != b->length[i] && a->length[i] != LENGTH_UNKNOWN &&
            b->length[i] != LENGTH_UNKNOWN)
            return false;
    return a->rank == b->rank;
}

static bool infer_broadcast_to(const op_call *call, type *output, error *err)
{
    const shape *in = &call->inputs[0].shape;
    char a[SHAPE_TEXT_MAX], b[SHAPE_TEXT_MAX];
    shape target, joined;
    int axis;

    if (!op_shape_attr(call, &call->attrs[0], &target, err))
        return false;
    joined = target;
    if (!shape_broadcast(&joined, in, &axis) || !may_equal(&joined, &target))
        return error_set(err, ERR_SHAPE, "%s: shape %s does not broadcast to %s", call->op->name,
                         shape_print(in, a), shape_print(&target, b));
    *output = call->inputs[0];
    output->weak = false;
    output->shape = target;
    return true;
}

/* Lines the axes up at the right; axes that are stretched stand still. */
static void stretch(const tensor *input, tensor *result)
{
    const int more = result->shape.rank - input->shape.rank;

    for (int i = 0; i < result->shape.rank; i++)
        result->strides[i] =
            i < more || (input->shape.length[i - more] == 1 && result->shape.length[i] != 1)
                ? 0
                : input->strides[i - more];
}

static bool view_broadcast_to(const op_call *call, const tensor *input, tensor *result)
{
    (void)call;
    stretch(input, result);
    return true;
}

/* spread undoes a reduction's shape: the reduced axes come back, stretched to the
 * lengths of the second input. */
static bool infer_spread(const op_call *call, type *output, error *err)
{
    bool reduced[RANK_MAX];

    if (!op_axes(call, &call->attrs[0], call->inputs[1].shape.rank, reduced, err))
        return false;
    *output = call->inputs[1];
    output->weak = false;
    output->dtype = call->inputs[0].dtype;
    return true;
}

static bool view_spread(const op_call *call, const tensor *input, tensor *result)
{
    const bool keepdims = call->attrs[1].truth;
    bool reduced[RANK_MAX];
    error err = {0};

    op_axes(call, &call->attrs[0], result->shape.rank, reduced, &err);
    for (int i = 0, k = 0; i < result->shape.rank; i++) {
        result->strides[i] = reduced[i] ? 0 : input->strides[k];
        k += keepdims || !reduced[i];
    }
    return true;
}

/* ---- Flip -------------------------------------------------------------------------------- */

static bool infer_flip(const op_call *call, type *output, error *err)
{
    bool turned[RANK_MAX];

    *output = call->inputs[0];
    return op_axes(call, &call->attrs[0], output->shape.rank, turned, err);
}

static bool view_flip(const op_call *call, const tensor *input, tensor *result)
{
    bool turned[RANK_MAX];
    error err = {0};

    op_axes(call, &call->attrs[0], input->shape.rank, turned, &err);
    for (int i = 0; i < input->shape.rank; i++) {
        result->strides[i] = turned[i] ? -input->strides[i] : input->strides[i];
        if (turned[i] && input->shape.length[i] > 0)
            result->offset += (input->shape.length[i] - 1) * input->strides[i];
    }
    return true;
}

/* ---- Rows ----------------------------------------------------------------------------------- */

static op_def rows[] = {
    {
        .name = "reshape",
        .family = "Movement",
        .signature = "x, shape: ints",
        .infer = infer_reshape,
        .view = view_reshape,
        .grad = {"reshape(g, x.shape)"},
        .doc = "The elements in C order, arranged in another shape; one length may be -1.",
        .example = "reshape([1, 2, 3, 4], (2, -1))",
        .gives = "[[1, 2], [3, 4]]",
    },
    {
        .name = "ravel",
        .aliases = "flatten",
        .family = "Movement",
        .signature = "x",
        .infer = infer_ravel,
        .view = view_reshape,
        .grad = {"reshape(g, x.shape)"},
        .doc = "The elements in C order along one axis.",
        .example = "ravel([[1, 2], [3, 4]])",
        .gives = "[1, 2, 3, 4]",
    },
    {
        .name = "transpose",
        .aliases = "permute_dims",
        .family = "Movement",
        .signature = "x, axes: axes = None",
        .infer = infer_transpose,
        .view = view_transpose,
        .grad = {"untranspose(g, axes)"},
        .doc = "The axes in another order, reversed if none is given.",
        .example = "transpose([[1, 2], [3, 4]])",
        .gives = "[[1, 3], [2, 4]]",
    },
    {
        .name = "untranspose",
        .family = "Movement",
        .signature = "x, axes: axes = None",
        .infer = infer_untranspose,
        .view = view_untranspose,
        .grad = {"transpose(g, axes)"},
        .doc = "The axes put back as they were before a transpose with the same axes.",
        .example = "untranspose([[1, 2], [3, 4]])",
        .gives = "[[1, 3], [2, 4]]",
    },
    {
        .name = "swapaxes",
        .family = "Movement",
        .signature = "x, axis1: int, axis2: int",
        .infer = infer_swapaxes,
        .view = view_swapaxes,
        .grad = {"swapaxes(g, axis1, axis2)"},
        .doc = "Two axes exchanged.",
        .example = "swapaxes([[1, 2], [3, 4]], 0, 1)",
        .gives = "[[1, 3], [2, 4]]",
    },
    {
        .name = "expand_dims",
        .family = "Movement",
        .signature = "x, axis: axes",
        .infer = infer_expand_dims,
        .view = view_expand_dims,
        .grad = {"squeeze(g, axis=axis)"},
        .doc = "Axes of length 1 put in at the given positions.",
        .example = "expand_dims([1, 2], 0)",
        .gives = "[[1, 2]]",
    },
    {
        .name = "squeeze",
        .family = "Movement",
        .signature = "x, axis: axes = None",
        .infer = infer_squeeze,
        .view = view_squeeze,
        .grad = {"reshape(g, x.shape) if axis is None else expand_dims(g, axis)"},
        .doc = "Axes of length 1 left out.",
        .example = "squeeze([[1, 2]])",
        .gives = "[1, 2]",
    },
    {
        .name = "broadcast_to",
        .family = "Movement",
        .signature = "x, shape: ints",
        .infer = infer_broadcast_to,
        .view = view_broadcast_to,
        .grad = {"g"},
        .doc = "The tensor stretched to a shape by NumPy's rules of broadcasting.",
        .example = "broadcast_to([1, 2], (2, 2))",
        .gives = "[[1, 2], [1, 2]]",
    },
    {
        .name = "spread",
        .family = "Movement",
        .signature = "x, like, axis: axes = None, keepdims: bool = False",
        .infer = infer_spread,
        .view = view_spread,
        .grad = {"sum(g, axis=axis, keepdims=keepdims)"},
        .doc = "The result of a reduction stretched back over the axes that were reduced.",
        .example = "spread([10, 20], [[1, 2], [3, 4]], axis=0)",
        .gives = "[[10, 20], [10, 20]]",
    },
    {
        .name = "flip",
        .aliases = "reverse",
        .family = "Movement",
        .signature = "x, axis: axes = None",
        .infer = infer_flip,
        .view = view_flip,
        .grad = {"flip(g, axis=axis)"},
        .doc = "The order of the elements turned around along axes, all if none is given.",
        .example = "flip([1, 2, 3])",
        .gives = "[3, 2, 1]",
    },
};

const op_family movement_family = {rows, sizeof rows / sizeof *rows};

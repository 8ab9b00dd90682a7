/* SPDX-License-Identifier: Apache-2.0 */
/* Several tensors made one. */
#include <inttypes.h>
#include <string.h>

#include "engine/ops/families.h"

/* The type that a list of tensors promotes to; weak scalars join as such. */
static bool joined_dtype(const op_call *call, dtype *result, error *err)
{
    bool any = false;

    if (call->count == 0)
        return error_set(err, ERR_ARGUMENT, "%s needs at least one tensor", call->op->name);
    for (int i = 0; i < call->count; i++)
        if (!call->inputs[i].weak) {
            *result = any ? dtype_promote(*result, call->inputs[i].dtype) : call->inputs[i].dtype;
            any = true;
        }
    for (int i = 0; i < call->count; i++)
        if (call->inputs[i].weak) {
            const dtype weak = call->inputs[i].dtype;

            *result = any ? dtype_join_weak(*result, dtype_info_of(weak)->class) : weak;
            any = true;
        }
    return true;
}

/* Without an axis: all elements, one tensor after the other. */
static bool infer_flat(const op_call *call, type *output, error *err)
{
    int64_t *length = &output->shape.length[0];

    output->shape = (shape){.rank = 1};
    for (int i = 0; i < call->count; i++) {
        const shape *s = &call->inputs[i].shape;

        *length = *length < 0 || !shape_is_known(s) ? LENGTH_UNKNOWN : *length + shape_size(s);
        if (!shape_check(&output->shape, call->op->name, err))
            return false;
    }
    return true;
}

static bool infer_concatenate(const op_call *call, type *output, error *err)
{
    const attr *given = &call->attrs[0];
    const shape *first;
    int axis;

    if (!joined_dtype(call, &output->dtype, err))
        return false;
    if (given->kind == ATTR_NONE)
        return infer_flat(call, output, err);
    first = &call->inputs[0].shape;
    if (first->rank == 0)
        return error_set(err, ERR_SHAPE,
                         "%s does not take scalars along an axis; use stack, or axis=None",
                         call->op->name);
    if (given->kind != ATTR_INT)
        return error_set(err, ERR_ARGUMENT, "%s joins along one axis", call->op->name);
    if (!shape_axis(given->integer, first->rank, call->op->name, &axis, err))
        return false;
    output->shape = *first;
    for (int i = 1; i < call->count; i++) {
        const shape *s = &call->inputs[i].shape;
        char a[SHAPE_TEXT_MAX], b[SHAPE_TEXT_MAX];
        int64_t *length = &output->shape.length[axis];

        if (s->rank != first->rank)
            return error_set(err, ERR_SHAPE, "%s cannot join shapes %s and %s along axis %d",
                             call->op->name, shape_print(first, a), shape_print(s, b), axis);
        for (int k = 0; k < s->rank; k++)
            if (k != axis && s->length[k] != first->length[k] && s->length[k] >= 0 &&
                first->length[k] >= 0)
                return error_set(err, ERR_SHAPE, "%s cannot join shapes %s and %s along axis %d",
                                 call->op->name, shape_print(first, a), shape_print(s, b), axis);
        *length = *length < 0 || s->length[axis] < 0 ? LENGTH_UNKNOWN : *length + s->length[axis];
        if (!shape_check(&output->shape, call->op->name, err))
            return false;
    }
    return true;
}

static bool infer_stack(const op_call *call, type *output, error *err)
{
    const shape *first;
    int axis;

    if (!joined_dtype(call, &output->dtype, err))
        return false;
    first = &call->inputs[0].shape;
    if (!shape_axis(call->attrs[0].integer, first->rank + 1, call->op->name, &axis, err))
        return false;
    if (first->rank + 1 > RANK_MAX)
        return error_set_limit(err, ERR_SHAPE_INVALID, RANK_MAX, RANK_MAX + 1,
                               "%s: a tensor has at most %d axes", call->op->name, RANK_MAX);
    for (int i = 1; i < call->count; i++) {
        char a[SHAPE_TEXT_MAX], b[SHAPE_TEXT_MAX];

        if (!shape_equal(&call->inputs[i].shape, first))
            return error_set(err, ERR_SHAPE, "%s needs equal shapes, not %s and %s", call->op->name,
                             shape_print(first, a), shape_print(&call->inputs[i].shape, b));
    }
    output->shape.rank = first->rank + 1;
    for (int i = 0, k = 0; i <= first->rank; i++)
        output->shape.length[i] = i == axis ? call->count : first->length[k++];
    return true;
}

/* Copies blocks of `block` bytes from a dense source to every `stride` bytes. */
static bool copy_blocks(op_run *run, char *to, const char *from, int64_t count, int64_t block,
                        int64_t stride, error *err)
{
    for (int64_t i = 0; i < count; i++) {
        if (i % 1024 == 0 && run->stopped(run, err))
            return false;
        memcpy(to + i * stride, from + i * block, (size_t)block);
    }
    return true;
}

/* Both are the same work: the inputs' parts behind the axis follow each other; without an
 * axis, all of them. */
static bool run_join(op_run *run, error *err)
{
    tensor *out = &run->outputs[0];
    const int64_t size = (int64_t)dtype_size(out->dtype);
    int64_t outer = 1, stride = size, at = 0;
    int axis = 0;

    if (run->attrs[0].kind != ATTR_NONE &&
        !shape_axis(run->attrs[0].integer, out->shape.rank, run->op->name, &axis, err))
        return false;
    for (int i = 0; i < out->shape.rank; i++)
        *(i < axis ? &outer : &stride) *= out->shape.length[i];
    for (int i = 0; i < run->count; i++) {
        const int64_t block = outer == 0 ? 0 : tensor_nbytes(&run->inputs[i]) / outer;

        if (!copy_blocks(run, (char *)tensor_bytes(out) + at, tensor_bytes(&run->inputs[i]), outer,
                         block, stride, err))
            return false;
        at += block;
    }
    return true;
}

static op_def rows[] = {
    {
        .name = "concatenate",
        .aliases = "concat",
        .family = "Joining",
        .signature = "arrays: tensors, axis: axes = 0",
        .infer = infer_concatenate,
        .run = run_join,
        .casts = op_cast_to_result,
        .traits = OP_DENSE,
        .grad = {"split_like(g, arrays, axis=axis)"},
        .doc = "Tensors joined along an axis that they have; with axis=None all their elements.",
        .example = "concatenate([[1, 2], [3]])",
        .gives = "[1, 2, 3]",
    },
    {
        .name = "stack",
        .family = "Joining",
        .signature = "arrays: tensors, axis: int = 0",
        .infer = infer_stack,
        .run = run_join,
        .casts = op_cast_to_result,
        .traits = OP_DENSE,
        .grad = {"unstack(g, axis=axis)"},
        .doc = "Tensors of one shape joined along a new axis.",
        .example = "stack([[1, 2], [3, 4]], axis=1)",
        .gives = "[[1, 3], [2, 4]]",
    },
};

const op_family joining_family = {rows, sizeof rows / sizeof *rows};

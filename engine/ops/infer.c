/* SPDX-License-Identifier: Apache-2.0 */
/* Types of results: NumPy's promotion, loop search and broadcasting. */
#include <stdio.h>
#include <string.h>

#include "engine/ops/families.h"

bool op_refuse_dtypes(const op_call *call, error *err)
{
    char names[256] = "";
    size_t n = 0;

    for (int i = 0; i < call->count && n < sizeof names - 40; i++)
        n += (size_t)snprintf(names + n, sizeof names - n, "%s%s",
                              i == 0                ? ""
                              : i + 1 < call->count ? ", "
                                                    : " and ",
                              dtype_name(call->inputs[i].dtype));
    return error_set(err, ERR_DTYPE, "%s does not take %s", call->op->name, names);
}

/* ---- Which type an elementwise operation computes in ------------------------- */

static bool has_loop(const op_def *op, dtype t)
{
    return op->kernel[dtype_info_of(t)->computed] != NULL;
}

/* The inputs from which the loop's type follows: all, or all but a leading bool. */
static int first_typed_input(const op_def *op)
{
    return op->pattern[0] == 'B' ? 1 : 0;
}

/* What the inputs of a call are to a loop: what the strong ones promote to, and what
 * that becomes when bare numbers of some kind join it. */
typedef struct joined_inputs {
    dtype strong, joined;
    bool any_strong;
} joined_inputs;

static joined_inputs join_inputs(const op_call *call, int first)
{
    joined_inputs j = {DT_BOOL, DT_BOOL, false};
    dtype weak = DT_BOOL;
    bool any_weak = false;

    for (int i = first; i < call->count; i++) {
        const type *t = &call->inputs[i];
        bool *any = t->weak ? &any_weak : &j.any_strong;
        dtype *common = t->weak ? &weak : &j.strong;

        *common = *any ? dtype_promote(*common, t->dtype) : t->dtype;
        *any = true;
    }
    if (!any_weak)
        j.joined = j.strong;
    else
        j.joined = j.any_strong ? dtype_join_weak(j.strong, dtype_info_of(weak)->class) : weak;
    return j;
}

/* Whether loop type t holds every input: the strong ones each by itself, as NumPy's
 * search has it (int16 and uint16 both fit float32, though together they make int32),
 * unless a bare number lifts them. */
static bool holds_inputs(const op_call *call, int first, const joined_inputs *j, dtype t)
{
    if (!j->any_strong || j->joined != j->strong)
        return dtype_can_cast_safely(j->joined, t);
    for (int i = first; i < call->count; i++)
        if (!call->inputs[i].weak && !dtype_can_cast_safely(call->inputs[i].dtype, t))
            return false;
    return true;
}

/* The first type, in the order of dtype.def, that has a loop and holds the inputs. */
static bool find_loop(const op_call *call, int first, const joined_inputs *j, dtype *loop)
{
    const bool to_f64 = (call->op->traits & OP_INTS_TO_F64) != 0 && !dtype_is_float(j->joined) &&
                        !dtype_is_complex(j->joined);

    for (int i = to_f64 ? DT_F64 : 0; i < DT_COUNT; i++) {
        if (has_loop(call->op, (dtype)i) && holds_inputs(call, first, j, (dtype)i)) {
            *loop = (dtype)i;
            return true;
        }
    }
    return false;
}

bool op_loop(const op_call *call, dtype *loop, dtype *casts, error *err)
{
    const int first = first_typed_input(call->op);
    const joined_inputs j = join_inputs(call, first);

    if ((j.joined == DT_BOOL && (call->op->traits & OP_NO_BOOL) != 0) ||
        !find_loop(call, first, &j, loop))
        return op_refuse_dtypes(call, err);
    for (int i = 0; casts != NULL && i < call->count; i++)
        casts[i] = i < first ? DT_BOOL : *loop;
    return true;
}

static bool all_weak(const op_call *call)
{
    for (int i = 0; i < call->count; i++)
        if (!call->inputs[i].weak)
            return false;
    return call->count > 0;
}

static bool broadcast_inputs(const op_call *call, shape *result, error *err)
{
    *result = shape_scalar;
    for (int i = 0; i < call->count; i++) {
        char a[SHAPE_TEXT_MAX], b[SHAPE_TEXT_MAX];
        shape before = *result;
        int axis;

        if (!shape_broadcast(result, &call->inputs[i].shape, &axis))
            return error_set(err, ERR_SHAPE,
                             "%s cannot combine shapes %s and %s: they differ in axis %d from "
                             "the right, and neither is 1 there",
                             call->op->name, shape_print(&before, a),
                             shape_print(&call->inputs[i].shape, b), axis);
    }
    return shape_check(result, call->op->name, err);
}

static bool infer_elementwise(const op_call *call, type *output, error *err)
{
    const char result = call->op->pattern[strlen(call->op->pattern) - 1];
    dtype loop = DT_BOOL;

    if (!op_loop(call, &loop, NULL, err) || !broadcast_inputs(call, &output->shape, err))
        return false;
    output->dtype = result == 'B' ? DT_BOOL : result == 'R' ? dtype_real(loop) : loop;
    output->weak = (call->op->traits & OP_WEAK) != 0 && all_weak(call);
    return true;
}

/* ---- Reductions ------------------------------------------------------------------ */

static dtype accumulated(accumulate how, dtype t)
{
    const dtype_class class = dtype_info_of(t)->class;

    switch (how) {
    case ACCUMULATE_BOOL:
        return DT_BOOL;
    case ACCUMULATE_WIDE:
        return class == CLASS_UINT ? DT_U64 : class <= CLASS_INT ? DT_I64 : t;
    case ACCUMULATE_MEAN:
        return class <= CLASS_INT ? DT_F64 : t;
    case ACCUMULATE_SAME:
        break;
    }
    return t;
}

/* Reductions have the attributes axis, dtype where the accumulation widens, and
 * keepdims, in this order. */
static bool infer_reduce(const op_call *call, type *output, error *err)
{
    const reduce_def *reduce = call->op->reduce;
    const type *in = &call->inputs[0];
    const attr *keepdims = &call->attrs[call->op->attr_count - 1];
    bool reduced[RANK_MAX], nothing = false;

    if (!op_axes(call, &call->attrs[0], in->shape.rank, reduced, err))
        return false;
    *output = (type){.dtype = accumulated(reduce->accumulate, in->dtype)};
    if (call->op->attr_count == 3 && call->attrs[1].kind == ATTR_DTYPE)
        output->dtype = call->attrs[1].dtype;
    for (int i = 0; i < in->shape.rank; i++) {
        if (!reduced[i])
            output->shape.length[output->shape.rank++] = in->shape.length[i];
        else if (keepdims->truth)
            output->shape.length[output->shape.rank++] = 1;
        nothing = nothing || (reduced[i] && in->shape.length[i] == 0);
    }
    if (nothing && !reduce->empty && shape_is_known(&output->shape) &&
        shape_size(&output->shape) > 0)
        return error_set(err, ERR_VALUE,
                         "%s of no elements has no value: an axis it runs over has length 0",
                         call->op->name);
    return true;
}

bool op_infer(const op_call *call, type *outputs, error *err)
{
    const int count = op_output_count(call->op, call->inputs);

    memset(outputs, 0, (size_t)count * sizeof *outputs);
    if (call->op->infer == NULL && call->op->reduce == NULL)
        return infer_elementwise(call, outputs, err);
    if (!(call->op->infer != NULL ? call->op->infer : infer_reduce)(call, outputs, err))
        return false;
    for (int i = 0; i < count; i++) {
        outputs[i].weak = false;
        if (!shape_check(&outputs[i].shape, call->op->name, err))
            return false;
    }
    return true;
}

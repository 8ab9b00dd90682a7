/* SPDX-License-Identifier: Apache-2.0 */
/* Constants, shapes that are insisted on, and counters, as dataflow graphs have them. */
#include <inttypes.h>
#include <string.h>

#include "engine/ops/families.h"

/* ---- ensure_shape ------------------------------------------------------------------- */

/* A length of -1 in the attribute may be any. */
static bool infer_ensure_shape(const op_call *call, type *output, error *err)
{
    const attr *asked = &call->attrs[0];
    const shape *in = &call->inputs[0].shape;
    bool fits = asked->n == in->rank;
    char a[SHAPE_TEXT_MAX], b[SHAPE_TEXT_MAX];
    shape wanted = {.rank = asked->n > RANK_MAX ? RANK_MAX : asked->n};

    for (int i = 0; i < wanted.rank; i++)
        wanted.length[i] = asked->ints[i] < 0 ? LENGTH_UNKNOWN : asked->ints[i];
    *output = call->inputs[0];
    for (int i = 0; fits && i < in->rank; i++) {
        fits = wanted.length[i] == LENGTH_UNKNOWN || in->length[i] == LENGTH_UNKNOWN ||
               in->length[i] == wanted.length[i];
        if (in->length[i] == LENGTH_UNKNOWN)
            output->shape.length[i] = wanted.length[i];
    }
    return fits || error_set(err, ERR_SHAPE, "%s: the shape is %s, not %s", call->op->name,
                             shape_print(in, a), shape_print(&wanted, b));
}

static bool view_same(const op_call *call, const tensor *input, tensor *result)
{
    (void)call;
    for (int i = 0; i < result->shape.rank; i++)
        result->strides[i] = input->strides[i];
    result->offset = input->offset;
    return true;
}

/* ---- count_up_to ---------------------------------------------------------------------- */

static bool infer_count(const op_call *call, type *outputs, error *err)
{
    const type *t = &call->inputs[0];

    if (dtype_info_of(t->dtype)->class != CLASS_INT && dtype_info_of(t->dtype)->class != CLASS_UINT)
        return op_refuse_dtypes(call, err);
    if (t->shape.rank != 0)
        return error_set(err, ERR_SHAPE, "%s: the counter must be a scalar", call->op->name);
    outputs[0] = outputs[1] = *t;
    outputs[0].weak = outputs[1].weak = false;
    return true;
}

/* One integer of any type to any other, through a block of whole lanes. */
static void cast_one(dtype from, const void *in, dtype to, void *out)
{
    _Alignas(64) char block_in[LANES * 8] = {0}, block_out[LANES * 8];
    const void *inputs[] = {block_in};

    memcpy(block_in, in, dtype_size(from));
    kernel_cast(from, to)(LANES, block_out, inputs);
    memcpy(out, block_out, dtype_size(to));
}

static bool run_count(op_run *run, error *err)
{
    const dtype type = run->inputs[0].dtype;
    const int64_t limit = run->attrs[0].integer;
    int64_t count, next;

    cast_one(type, tensor_bytes(&run->inputs[0]), DT_I64, &count);
    if (count >= limit || (dtype_info_of(type)->class == CLASS_UINT && count < 0))
        return error_set(err, ERR_OUT_OF_RANGE, "%s: the counter is at its limit of %" PRId64,
                         run->op->name, limit);
    next = count + 1;
    cast_one(DT_I64, &count, type, tensor_bytes(&run->outputs[0]));
    cast_one(DT_I64, &next, type, tensor_bytes(&run->outputs[1]));
    return true;
}

static op_def rows[] = {
    {
        .name = "constant",
        .family = "Creation",
        .signature = "value, dtype: dtype = None, shape: ints = None, verify_shape: bool = False",
        .lower =
            "v = array(value) if dtype is None else astype(value, dtype)\n"
            "if_same = v if shape is None else ensure_shape(v, shape) if verify_shape else None\n"
            "return if_same if if_same is not None else broadcast_to(v, shape) if v.size == 1 "
            "else reshape(v, shape)",
        .doc =
            "The value as an array of a type and shape: one element fills the shape, several are "
            "reshaped to it; with verify_shape it must have the shape already.",
        .example = "constant(7, shape=(2,))",
        .gives = "[7, 7]",
    },
    {
        .name = "ensure_shape",
        .family = "Movement",
        .signature = "x, shape: ints",
        .infer = infer_ensure_shape,
        .view = view_same,
        .grad = {"g"},
        .doc = "The tensor itself if it has the shape, in which -1 stands for any length; an error "
               "otherwise.",
        .example = "ensure_shape([[1, 2]], (-1, 2))",
        .gives = "[[1, 2]]",
    },
    {
        .name = "count_up_to",
        .family = "Control flow",
        .signature = "counter, limit: int",
        .outputs = 2,
        .infer = infer_count,
        .run = run_count,
        .traits = OP_DENSE,
        .no_grad = true,
        .doc = "An integer below the limit, and the next one to update the counter with; the error "
               "out-of-range at the limit.",
        .example = "count_up_to(4, 5)",
        .gives = "(4, 5)",
    },
};

const op_family dataflow_family = {rows, sizeof rows / sizeof *rows};

/* SPDX-License-Identifier: Apache-2.0 */
/* Bare numbers that do not fit what they meet. Python's rule, which NumPy 2 follows:
 * uint8 + 300 is an error, but uint8 < 300 is true. */
#include <inttypes.h>
#include <string.h>

#include "engine/graph/private.h"

/* Whether an integer constant, int64 or uint64, is a value of integer type t. */
static bool fits(const tensor *constant, dtype t)
{
    const void *element = tensor_bytes(constant);
    const int bits = (int)dtype_size(t) * 8;
    const bool is_signed = dtype_info_of(t)->class == CLASS_INT;
    int64_t x;

    memcpy(&x, element, sizeof x);
    if (constant->dtype == DT_U64)
        return !is_signed && bits == 64;
    if (!is_signed)
        return x >= 0 && (bits == 64 || x < (int64_t)1 << bits);
    return bits == 64 || (x >= -((int64_t)1 << (bits - 1)) && x < (int64_t)1 << (bits - 1));
}

static bool is_whole(const tensor *t)
{
    return t->dtype == DT_I64 || t->dtype == DT_U64;
}

bool weak_fits(value v, dtype to)
{
    const tensor *t = value_constant(v);

    return t == NULL || !t->weak || !dtype_is_integer(to) || !is_whole(t) || fits(t, to);
}

/* The same constant, strong. */
static value strengthen(graph *g, const tensor *constant, error *err)
{
    return graph_scalar(g, constant->dtype, tensor_bytes(constant), false, err);
}

static bool refuse(const op_def *op, const tensor *constant, dtype loop, error *err)
{
    int64_t x;

    memcpy(&x, tensor_bytes(constant), sizeof x);
    if (constant->dtype == DT_U64)
        return error_set(err, ERR_OVERFLOW, "%s: %" PRIu64 " does not fit %s", op->name,
                         (uint64_t)x, dtype_name(loop));
    return error_set(err, ERR_OVERFLOW, "%s: %" PRId64 " does not fit %s", op->name, x,
                     dtype_name(loop));
}

bool weak_check(graph *g, const op_def *op, value *inputs, int count, const type *types,
                const attr *attrs, error *err)
{
    const bool compares = op->pattern[strlen(op->pattern) - 1] == 'B';
    const op_call call = {op, count, types, attrs, g->arena};
    error ignored = {0};
    dtype loop = DT_BOOL;
    bool all_weak = true;

    for (int i = 0; i < count; i++)
        all_weak = all_weak && types[i].weak;
    if (op->infer != NULL || all_weak || !op_loop(&call, &loop, NULL, &ignored) ||
        !dtype_is_integer(loop))
        return true;
    for (int i = 0; i < count; i++) {
        const tensor *constant = types[i].weak ? value_constant(inputs[i]) : NULL;

        if (constant == NULL || !is_whole(constant) || fits(constant, loop))
            continue;
        if (!compares)
            return refuse(op, constant, loop, err);
        inputs[i] = strengthen(g, constant, err);
        if (inputs[i].node == NULL)
            return false;
    }
    return true;
}

/* Whether an integer constant is below (lower) or above all values of integer type t. */
static bool is_beyond(const tensor *constant, dtype t, bool lower)
{
    int64_t x;

    memcpy(&x, tensor_bytes(constant), sizeof x);
    return !fits(constant, t) && (constant->dtype == DT_I64 && x < 0) == lower;
}

/* The smallest (lower) or largest value of an integer type of 64 bits at most, as a bare
 * number; of uint64 only the smallest is ever asked for. */
static value end_of(graph *g, dtype t, bool lower, error *err)
{
    const bool is_signed = dtype_info_of(t)->class == CLASS_INT;
    const int bits = (int)dtype_size(t) * 8 - is_signed;
    const int64_t largest = (int64_t)(UINT64_MAX >> (64 - bits));
    const int64_t end = !lower ? largest : is_signed ? -largest - 1 : 0;

    return graph_scalar(g, DT_I64, &end, true, err);
}

bool weak_limit(graph *g, value *inputs, int count, error *err)
{
    const type *x = value_type(inputs[0]);

    if (x->weak || !dtype_is_integer(x->dtype))
        return true;
    for (int i = 1; i < count; i++) {
        const tensor *t = inputs[i].node != NULL ? value_constant(inputs[i]) : NULL;

        if (t == NULL || !t->weak || !is_whole(t) || !is_beyond(t, x->dtype, i == 1))
            continue;
        inputs[i] = end_of(g, x->dtype, i == 1, err);
        if (inputs[i].node == NULL)
            return false;
    }
    return true;
}

/* Whether a float is a whole number's neighbour: NaN and the infinities are not. */
static bool is_finite_number(const tensor *t)
{
    double x[2] = {0, 0};

    memcpy(x, tensor_bytes(t), dtype_size(t->dtype));
    return x[0] - x[0] == 0 && x[1] - x[1] == 0;
}

bool weak_check_assignment(const op_def *op, dtype to, value v, error *err)
{
    const tensor *t = value_constant(v);

    if (t == NULL || !t->weak || !dtype_is_integer(to))
        return true;
    if (is_whole(t))
        return fits(t, to) || refuse(op, t, to, err);
    return t->dtype == DT_BOOL || is_finite_number(t) ||
           error_set(err, ERR_VALUE, "%s: NaN and infinities do not fit %s", op->name,
                     dtype_name(to));
}

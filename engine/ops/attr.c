/* SPDX-License-Identifier: Apache-2.0 */
/* What a caller wrote for an attribute, turned into what the parameter takes. */
#include <inttypes.h>
#include <string.h>

#include "engine/ops/families.h"

/* What each kind of parameter takes, for messages. */
static const char *const wanted[] = {
    [PARAM_TENSOR] = "a tensor",
    [PARAM_TENSORS] = "a list of tensors",
    [PARAM_BOOL] = "True or False",
    [PARAM_INT] = "an integer",
    [PARAM_NUMBER] = "a number",
    [PARAM_INTS] = "an integer or a list of integers",
    [PARAM_AXES] = "None, an axis or a list of axes",
    [PARAM_PAIR] = "an integer or two lists of axes",
    [PARAM_TEXT] = "a text",
    [PARAM_DTYPE] = "the name of an element type",
    [PARAM_INDEX] = "an index",
    [PARAM_SHAPES] = "a list of shapes, whose lengths are integers or None",
    [PARAM_GRAPH] = "a function without parameters",
    [PARAM_GRAPHS] = "a list of functions",
};

static bool is_missing_default(const op_param *p, const attr *value)
{
    return value->kind == ATTR_NONE && p->has_default && p->value.kind == ATTR_NONE;
}

/* An int, given or computed, as a list of one. */
static void wrap_int(attr *value, arena *a)
{
    attr *items = arena_alloc(a, sizeof *items);
    int64_t *ints = arena_alloc(a, sizeof *ints);
    const bool computed = value->kind == ATTR_DYNAMIC;

    *items = computed ? *value : (attr){0};
    *ints = computed ? INT64_MIN : value->integer;
    *value = (attr){.kind = ATTR_INTS, .n = 1, .ints = ints, .dynamic = computed ? items : NULL};
}

/* One list of an axes pair as ints; an int counts as a list of one. */
static bool pair_side(const attr *side, int64_t *to, int *n)
{
    if (side->kind == ATTR_INT) {
        to[0] = side->integer;
        *n = 1;
        return true;
    }
    if (side->kind != ATTR_INTS || side->dynamic != NULL || side->n > RANK_MAX)
        return false;
    memcpy(to, side->ints, (size_t)side->n * sizeof *to);
    *n = side->n;
    return true;
}

static bool convert_pair(attr *value, arena *a)
{
    int64_t *ints = arena_array(a, 2 * RANK_MAX, sizeof *ints);
    attr sides[2];
    int first, second;

    if (value->kind == ATTR_INT)
        return true;
    if (value->kind == ATTR_INTS && value->n == 2 && value->dynamic == NULL) {
        ints[0] = value->ints[0];
        ints[1] = value->ints[1];
        *value = (attr){.kind = ATTR_INTS, .n = 2, .ints = ints};
        return true;
    }
    if (value->kind != ATTR_LIST || value->n != 2)
        return false;
    memcpy(sides, value->items, sizeof sides);
    if (!pair_side(&sides[0], ints, &first) || !pair_side(&sides[1], ints + first, &second) ||
        first != second)
        return false;
    *value = (attr){.kind = ATTR_INTS, .n = first + second, .ints = ints};
    return true;
}

/* Adds a shape, whose lengths may be None, to ints at n; false if it is none. */
static bool add_shape(const attr *lengths, int64_t *ints, int *n)
{
    if ((lengths->kind != ATTR_INTS && lengths->kind != ATTR_LIST) || lengths->n > RANK_MAX ||
        (lengths->kind == ATTR_INTS && lengths->dynamic != NULL))
        return false;
    ints[(*n)++] = lengths->n;
    for (int i = 0; i < lengths->n; i++) {
        const attr *item = lengths->kind == ATTR_LIST ? &lengths->items[i] : NULL;
        const bool is_int = item == NULL || item->kind == ATTR_INT;
        const int64_t length = item == NULL ? lengths->ints[i] : item->integer;

        if ((!is_int && item->kind != ATTR_NONE) || (is_int && length < 0))
            return false;
        ints[(*n)++] = is_int ? length : LENGTH_UNKNOWN;
    }
    return true;
}

static bool convert_shapes(attr *value, arena *a)
{
    int64_t *ints;
    int n = 0;

    if (value->kind == ATTR_INTS && value->n == 0)
        return true;
    if (value->kind != ATTR_LIST || value->n > OP_OUTPUTS)
        return false;
    ints = arena_array(a, (size_t)value->n * (RANK_MAX + 1), sizeof *ints);
    for (int i = 0; i < value->n; i++)
        if (!add_shape(&value->items[i], ints, &n))
            return false;
    *value = (attr){.kind = ATTR_INTS, .n = n, .ints = ints};
    return true;
}

static bool convert(const op_param *p, attr *value, arena *a, error *err)
{
    switch (p->kind) {
    case PARAM_BOOL:
        if (value->kind == ATTR_INT && (value->integer == 0 || value->integer == 1))
            *value = (attr){.kind = ATTR_BOOL, .truth = value->integer == 1};
        return value->kind == ATTR_BOOL;
    case PARAM_INT:
        if (value->kind == ATTR_INTS && value->n == 1 && value->dynamic == NULL)
            *value = (attr){.kind = ATTR_INT, .integer = value->ints[0]};
        return value->kind == ATTR_INT || value->kind == ATTR_DYNAMIC;
    case PARAM_NUMBER:
        return value->kind == ATTR_INT || value->kind == ATTR_FLOAT || value->kind == ATTR_DYNAMIC;
    case PARAM_INTS:
        if (value->kind == ATTR_INT || value->kind == ATTR_DYNAMIC)
            wrap_int(value, a);
        return value->kind == ATTR_INTS;
    case PARAM_AXES:
        return value->kind == ATTR_INT || value->kind == ATTR_NONE ||
               (value->kind == ATTR_INTS && value->dynamic == NULL);
    case PARAM_PAIR:
        return convert_pair(value, a);
    case PARAM_TEXT:
        return value->kind == ATTR_TEXT;
    case PARAM_DTYPE:
        if (value->kind == ATTR_TEXT &&
            dtype_parse(value->text, strlen(value->text), &value->dtype, err))
            value->kind = ATTR_DTYPE;
        return value->kind == ATTR_DTYPE;
    case PARAM_INDEX:
        return value->kind == ATTR_INDEX;
    case PARAM_SHAPES:
        return convert_shapes(value, a);
    case PARAM_GRAPH:
        return value->kind == ATTR_GRAPH;
    case PARAM_GRAPHS:
    case PARAM_TENSOR:
    case PARAM_TENSORS:
        break;
    }
    return false;
}

bool op_attr_convert(const op_def *op, const op_param *param, attr *value, arena *a, error *err)
{
    if (value->kind == ATTR_LIST && value->n == 0) /* () and [] */
        *value = (attr){.kind = ATTR_INTS, .ints = arena_alloc(a, sizeof(int64_t))};
    if (is_missing_default(param, value) || convert(param, value, a, err))
        return true;
    return error_set(err, ERR_ARGUMENT, "%s: %s must be %s", op->name, param->name,
                     wanted[param->kind]);
}

bool op_shape_with_hole(const op_call *call, const attr *lengths, int hole, shape *result,
                        error *err)
{
    if (lengths->n > RANK_MAX)
        return error_set_limit(err, ERR_SHAPE_INVALID, RANK_MAX, lengths->n,
                               "%s: a tensor has at most %d axes, not %d", call->op->name, RANK_MAX,
                               lengths->n);
    result->rank = lengths->n;
    for (int i = 0; i < lengths->n; i++) {
        const bool computed = lengths->dynamic != NULL && lengths->dynamic[i].kind == ATTR_DYNAMIC;

        if (computed || i == hole)
            result->length[i] = LENGTH_UNKNOWN;
        else if (lengths->ints[i] < 0)
            return error_set(err, ERR_SHAPE_INVALID, "%s: axis %d cannot have the length %" PRId64,
                             call->op->name, i, lengths->ints[i]);
        else
            result->length[i] = lengths->ints[i];
    }
    return shape_check(result, call->op->name, err);
}

bool op_shape_attr(const op_call *call, const attr *lengths, shape *result, error *err)
{
    return op_shape_with_hole(call, lengths, -1, result, err);
}

static bool mark_axis(const op_call *call, int64_t axis, int rank, bool marked[RANK_MAX],
                      error *err)
{
    int i;

    if (!shape_axis(axis, rank, call->op->name, &i, err))
        return false;
    if (marked[i])
        return error_set(err, ERR_AXIS, "%s: axis %d is given twice", call->op->name, i);
    marked[i] = true;
    return true;
}

bool op_axes(const op_call *call, const attr *axes, int rank, bool reduced[RANK_MAX], error *err)
{
    for (int i = 0; i < rank; i++)
        reduced[i] = axes->kind == ATTR_NONE;
    if (axes->kind == ATTR_INT && rank == 0 && (axes->integer == 0 || axes->integer == -1))
        return true; /* a scalar counts as having an axis, as in NumPy */
    if (axes->kind == ATTR_INT)
        return mark_axis(call, axes->integer, rank, reduced, err);
    for (int i = 0; axes->kind == ATTR_INTS && i < axes->n; i++)
        if (!mark_axis(call, axes->ints[i], rank, reduced, err))
            return false;
    return true;
}

void op_cast_to_result(const op_call *call, const type *outputs, dtype *casts)
{
    for (int i = 0; i < call->count; i++)
        casts[i] = outputs[0].dtype;
}

bool op_copy(op_run *run, const tensor *from, void *to, error *err)
{
    const int64_t stretch = 1 << 19; /* elements between two questions */
    const int64_t rows = from->shape.rank == 0 ? 1 : from->shape.length[0];
    const int64_t row = rows == 0 ? 0 : tensor_size(from) / rows;
    const int64_t step = row >= stretch ? 1 : stretch / (row > 0 ? row : 1);
    char *out = to;

    for (int64_t at = 0; at < rows; at += step) {
        tensor part = *from;

        if (run->stopped(run, err))
            return false;
        if (from->shape.rank > 0) {
            part.shape.length[0] = rows - at < step ? rows - at : step;
            part.offset += at * from->strides[0];
        }
        tensor_copy_dense(&part, out);
        out += tensor_nbytes(&part);
    }
    return true;
}

bool op_attr_is_default(const op_param *param, const attr *value)
{
    const attr *d = &param->value;

    return param->has_default && value->kind == d->kind &&
           (value->kind == ATTR_NONE || (value->kind == ATTR_BOOL && value->truth == d->truth) ||
            (value->kind == ATTR_INT && value->integer == d->integer) ||
            (value->kind == ATTR_DTYPE && value->dtype == d->dtype) ||
            (value->kind == ATTR_TEXT && strcmp(value->text, d->text) == 0));
}

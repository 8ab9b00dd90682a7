/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/lang/constant.h"

#include <inttypes.h>
#include <string.h>

#include "engine/lang/scalar.h"

/* ---- Wide types: one of each class ------------------------------------------ */

static dtype wide_type(dtype t)
{
    const dtype_class class = dtype_info_of(t)->class;

    return class == CLASS_UINT ? DT_U64 : dtype_default(class);
}

/* The type in which a number is kept here. */
static dtype number_type(lang_number_class class)
{
    static const dtype types[] = {[LANG_BOOL] = DT_BOOL,
                                  [LANG_INT] = DT_I64,
                                  [LANG_UINT] = DT_U64,
                                  [LANG_FLOAT] = DT_F64,
                                  [LANG_COMPLEX] = DT_C128};

    return types[class];
}

dtype constant_dtype(unsigned classes)
{
    const unsigned ints = 1u << LANG_BOOL | 1u << LANG_INT;

    if (classes == 0)
        return DT_F64;
    if (classes == 1u << LANG_BOOL)
        return DT_BOOL;
    if ((classes & ~ints) == 0)
        return DT_I64;
    if (classes >= 1u << LANG_COMPLEX)
        return DT_C128;
    return classes >= 1u << LANG_FLOAT ? DT_F64 : DT_U64;
}

/* Writes a number as element i of a wide type that holds its class. */
static void write_wide(void *elements, dtype wide, int64_t i, const lang_value *v)
{
    if (wide == DT_BOOL)
        ((bool *)elements)[i] = scalar_truth(v);
    else if (wide == DT_I64)
        ((int64_t *)elements)[i] = v->integer;
    else if (wide == DT_U64)
        ((uint64_t *)elements)[i] = v->unsigned_integer;
    else if (wide == DT_F64)
        ((double *)elements)[i] = scalar_as_double(v);
    else {
        ((double *)elements)[2 * i] = scalar_as_double(v);
        ((double *)elements)[2 * i + 1] = v->number == LANG_COMPLEX ? v->parts[1] : 0;
    }
}

lang_value constant_element(const void *elements, dtype type, int64_t i)
{
    const dtype wide = wide_type(type);

    if (wide == DT_BOOL)
        return scalar_bool(((const bool *)elements)[i]);
    if (wide == DT_I64)
        return scalar_int(((const int64_t *)elements)[i]);
    if (wide == DT_U64)
        return scalar_unsigned(((const uint64_t *)elements)[i]);
    if (wide == DT_F64)
        return scalar_float(((const double *)elements)[i]);
    return scalar_complex(((const double *)elements)[2 * i], ((const double *)elements)[2 * i + 1]);
}

/* n elements cast from one type to another, in a. Kernels take whole groups. */
static const void *cast(const void *elements, dtype from, dtype to, int64_t n, arena *a)
{
    const size_t padded = ((size_t)n + LANES - 1) / LANES * LANES;
    void *result = arena_array(a, padded + LANES, dtype_size(to));

    kernel_cast(from, to)(padded, result, &elements);
    return result;
}

void *constant_room(dtype type, int64_t n, arena *a)
{
    return arena_array(a, (size_t)n + 2 * LANES, dtype_size(type));
}

const void *constant_widen(const void *dense, dtype type, int64_t n, arena *a)
{
    return wide_type(type) == type ? dense : cast(dense, type, wide_type(type), n, a);
}

const void *constant_elements(const tensor *t, arena *a)
{
    const int64_t n = tensor_size(t);
    void *dense = constant_room(t->dtype, n, a);

    tensor_copy_dense(t, dense);
    return constant_widen(dense, t->dtype, n, a);
}

/* ---- Scalars ---------------------------------------------------------------- */

value constant_scalar(tracer *tr, const lang_value *number, bool weak, error *err)
{
    const dtype type = number_type(number->number);
    double room[2] = {0};

    write_wide(room, type, 0, number);
    return graph_scalar(tr->graph, type, room, weak, err);
}

/* ---- Arrays ----------------------------------------------------------------- */

/* Whether an integer type holds the number; bools and floats are not asked. */
static bool check_range(const lang_value *v, dtype type, error *err)
{
    const dtype_info *info = dtype_info_of(type);
    const int bits = 8 * info->size - (info->class == CLASS_INT);
    const uint64_t most = bits >= 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
    const bool negative = v->number == LANG_INT && v->integer < 0;

    if (!dtype_is_integer(type) || v->number >= LANG_FLOAT || v->number == LANG_BOOL)
        return true;
    if (negative ? info->class == CLASS_INT && -1 - v->integer <= (int64_t)most
                 : v->unsigned_integer <= most)
        return true;
    if (v->number == LANG_UINT)
        return error_set(err, ERR_OVERFLOW, "array: %" PRIu64 " does not fit %s",
                         v->unsigned_integer, info->name);
    return error_set(err, ERR_OVERFLOW, "array: %" PRId64 " does not fit %s", v->integer,
                     info->name);
}

/* The wide type that holds all numbers and is then cast to type. */
static dtype gathering_type(const lang_value *const *numbers, int64_t n, dtype type)
{
    unsigned classes = 0;

    for (int64_t i = 0; i < n; i++)
        classes |= 1u << numbers[i]->number;
    if ((classes & 1u << LANG_UINT) && classes < 1u << LANG_FLOAT)
        return dtype_is_integer(type) ? DT_U64 : DT_F64; /* no integer type holds the
                                                            negative ones beside those */
    return n == 0 ? wide_type(type) : constant_dtype(classes);
}

static bool keep_constant(tracer *tr, const void *elements, const shape *s, dtype type,
                          value *result, error *err)
{
    tensor t;

    if (!tensor_new(&t, tr->options->budget, type, s, err))
        return false;
    memcpy(buffer_bytes(t.buf), elements, (size_t)tensor_nbytes(&t));
    *result = graph_constant(tr->graph, &t, err);
    tensor_unref(&t);
    return result->node != NULL;
}

bool constant_array(tracer *tr, const lang_value *const *numbers, const shape *s, dtype type,
                    value *result, error *err)
{
    const int64_t n = shape_size(s);
    const dtype wide = gathering_type(numbers, n, type);
    void *elements = constant_room(wide, n, tr->arena);

    for (int64_t i = 0; i < n; i++) {
        if (!check_range(numbers[i], type, err))
            return false;
        if (numbers[i]->number == LANG_COMPLEX && !dtype_is_complex(type) && type != DT_BOOL)
            return error_set(err, ERR_DTYPE, "array: a complex number cannot become %s",
                             dtype_name(type));
        write_wide(elements, wide, i, numbers[i]);
    }
    return keep_constant(tr, wide == type ? elements : cast(elements, wide, type, n, tr->arena), s,
                         type, result, err);
}

bool constant_empty(tracer *tr, dtype type, const attr *lengths, const lang_value *x, value *result,
                    error *err)
{
    shape s = {.rank = lengths->n};
    bool empty = false;

    if (x->kind != LANG_LIST || x->sequence->count > 0)
        return error_set(err, ERR_ARGUMENT, "array: a shape goes with an empty list; use reshape");
    if (lengths->n > RANK_MAX)
        return error_set_limit(err, ERR_SHAPE_INVALID, RANK_MAX, lengths->n,
                               "array: a tensor has at most %d axes", RANK_MAX);
    for (int i = 0; i < s.rank && lengths->kind == ATTR_INTS; i++) {
        s.length[i] = lengths->ints[i];
        empty = empty || s.length[i] == 0;
        if (s.length[i] < 0)
            return error_set(err, ERR_SHAPE_INVALID, "array: a length cannot be negative");
    }
    if (!shape_check(&s, "array", err))
        return false;
    if (!empty)
        return error_set(err, ERR_SIZE, "array: an empty list does not fill this shape");
    return keep_constant(tr, &s, &s, type, result, err);
}

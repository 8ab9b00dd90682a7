/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions: folds along axes, and what is found by walking along one axis. */
#include <string.h>

#include "engine/ops/elementwise.h"
#include "engine/ops/families.h"
#include "engine/tensor/half.h"

/* ---- Folds -------------------------------------------------------------------- */

#define COMBINE(id, suffix, name)  [DT_##id] = kernel_##name##_##suffix,
#define LANES_OF(id, suffix, name) [DT_##id] = lanes_##name##_##suffix,
#define FOLD_OF(id, suffix, name)  [DT_##id] = fold_##name##_##suffix,
// clang-format off
#define EACH(M, name) \
    M(BOOL, b8, name) \
    M(I8, i8, name) \
    M(U8, u8, name) \
    M(I16, i16, name) \
    M(U16, u16, name) \
    M(I32, i32, name) \
    M(U32, u32, name) \
    M(I64, i64, name) \
    M(U64, u64, name) \
    M(F32, f32, name) \
    M(F64, f64, name) \
    M(C64, c64, name) \
    M(C128, c128, name)
// clang-format on
#define FOLD(name)                                                                                 \
    {                                                                                              \
        .combine = {EACH(COMBINE, name)}, .lanes = {EACH(LANES_OF, name)}, .fold = {               \
            EACH(FOLD_OF, name)                                                                    \
        }                                                                                          \
    }

static const reduce_def sum = {
    .fold = FOLD(add), .accumulate = ACCUMULATE_WIDE, .start = START_ZERO, .empty = true};
static const reduce_def prod = {
    .fold = FOLD(multiply), .accumulate = ACCUMULATE_WIDE, .start = START_ONE, .empty = true};
static const reduce_def mean = {.fold = FOLD(add),
                                .accumulate = ACCUMULATE_MEAN,
                                .start = START_ZERO,
                                .empty = true,
                                .divide = true};
static const reduce_def max = {
    .fold = FOLD(maximum), .accumulate = ACCUMULATE_SAME, .start = START_LOWEST};
static const reduce_def min = {
    .fold = FOLD(minimum), .accumulate = ACCUMULATE_SAME, .start = START_HIGHEST};
/* On bool, maximum is "or" and minimum is "and". */
static const reduce_def any = {
    .fold = FOLD(maximum), .accumulate = ACCUMULATE_BOOL, .start = START_LOWEST, .empty = true};
static const reduce_def all = {
    .fold = FOLD(minimum), .accumulate = ACCUMULATE_BOOL, .start = START_HIGHEST, .empty = true};

/* ---- Along one axis -------------------------------------------------------------- */

/* The loops of argmax, argmin, cumsum and the like see the input as outer x n x
 * inner elements, dense. */
typedef struct lines {
    int64_t outer, n, inner;
} lines;

static lines lines_of(const shape *s, const attr *axis)
{
    lines l = {1, 1, 1};
    int at = axis->kind == ATTR_INT
                 ? (int)(axis->integer < 0 ? axis->integer + s->rank : axis->integer)
                 : -1;

    for (int i = 0; i < s->rank; i++) {
        int64_t *side = at < 0 || i == at ? &l.n : i < at ? &l.outer : &l.inner;

        *side *= s->length[i];
    }
    return l;
}

static bool infer_arg(const op_call *call, type *output, error *err)
{
    const type *in = &call->inputs[0];
    const bool keepdims = call->attrs[1].truth;
    bool reduced[RANK_MAX];

    if (!op_axes(call, &call->attrs[0], in->shape.rank, reduced, err))
        return false;
    output->dtype = DT_I64;
    for (int i = 0; i < in->shape.rank; i++) {
        if (reduced[i] && in->shape.length[i] == 0)
            return error_set(err, ERR_VALUE, "%s of no elements has no value: axis %d has length 0",
                             call->op->name, i);
        if (!reduced[i] || keepdims)
            output->shape.length[output->shape.rank++] = reduced[i] ? 1 : in->shape.length[i];
    }
    return true;
}

/* argmax and argmin compare in the type the values are computed in, by a function
 * that says whether y beats x; the first NaN beats everything. */
#define ARG(suffix, T, LOAD, IS_NAN, ABOVE)                                                        \
    static int64_t argmax_##suffix(const void *values, int64_t best, int64_t from, int64_t to,     \
                                   int64_t step, bool least)                                       \
    {                                                                                              \
        const T *x = values;                                                                       \
                                                                                                   \
        for (int64_t i = from; i < to; i++) {                                                      \
            const T a = x[best * step], b = x[i * step];                                           \
                                                                                                   \
            if (IS_NAN(LOAD(a)))                                                                   \
                break;                                                                             \
            if (IS_NAN(LOAD(b)) || (least ? ABOVE(LOAD(a), LOAD(b)) : ABOVE(LOAD(b), LOAD(a))))    \
                best = i;                                                                          \
        }                                                                                          \
        return best;                                                                               \
    }
#define PLAIN(x)         (x)
#define NEVER_NAN(x)     ((void)(x), false)
#define REAL_NAN(x)      ((x) != (x))
#define COMPLEX_NAN(x)   (__real__(x) != __real__(x) || __imag__(x) != __imag__(x))
#define REAL_ABOVE(x, y) ((x) > (y))
#define COMPLEX_ABOVE(x, y)                                                                        \
    (__real__(x) > __real__(y) || (__real__(x) == __real__(y) && __imag__(x) > __imag__(y)))
ARG(BOOL, bool, PLAIN, NEVER_NAN, REAL_ABOVE)
ARG(I8, int8_t, PLAIN, NEVER_NAN, REAL_ABOVE)
ARG(U8, uint8_t, PLAIN, NEVER_NAN, REAL_ABOVE)
ARG(I16, int16_t, PLAIN, NEVER_NAN, REAL_ABOVE)
ARG(U16, uint16_t, PLAIN, NEVER_NAN, REAL_ABOVE)
ARG(I32, int32_t, PLAIN, NEVER_NAN, REAL_ABOVE)
ARG(U32, uint32_t, PLAIN, NEVER_NAN, REAL_ABOVE)
ARG(I64, int64_t, PLAIN, NEVER_NAN, REAL_ABOVE)
ARG(U64, uint64_t, PLAIN, NEVER_NAN, REAL_ABOVE)
ARG(F16, uint16_t, f32_of_f16, REAL_NAN, REAL_ABOVE)
ARG(BF16, uint16_t, f32_of_bf16, REAL_NAN, REAL_ABOVE)
ARG(F32, float, PLAIN, REAL_NAN, REAL_ABOVE)
ARG(F64, double, PLAIN, REAL_NAN, REAL_ABOVE)
ARG(C64, float _Complex, PLAIN, COMPLEX_NAN, COMPLEX_ABOVE)
ARG(C128, double _Complex, PLAIN, COMPLEX_NAN, COMPLEX_ABOVE)

/* The index of the best of [from, to) and of element `best`. */
typedef int64_t arg_fn(const void *values, int64_t best, int64_t from, int64_t to, int64_t step,
                       bool least);
static arg_fn *const arg_fns[DT_COUNT] = {
#define DTYPE(id, ...) [DT_##id] = argmax_##id,
#include "engine/tensor/dtype.def"
#undef DTYPE
};

/* Elements that a loop does before it asks whether to stop. */
enum { STRETCH = 1 << 17 };

/* The best of a line, in stretches. */
static bool best_of_line(op_run *run, const char *line, const lines *l, bool least, int64_t *best,
                         error *err)
{
    *best = 0;
    for (int64_t from = 0; from < l->n; from += STRETCH) {
        const int64_t to = l->n - from < STRETCH ? l->n : from + STRETCH;

        if (from > 0 && run->stopped(run, err))
            return false;
        *best = arg_fns[run->inputs[0].dtype](line, *best, from, to, l->inner, least);
    }
    return true;
}

static bool run_arg(op_run *run, bool least, error *err)
{
    const tensor *x = &run->inputs[0];
    const lines l = lines_of(&x->shape, &run->attrs[0]);
    const size_t size = dtype_size(x->dtype);
    int64_t *out = tensor_bytes(&run->outputs[0]);

    for (int64_t i = 0; i < l.outer; i++)
        for (int64_t k = 0; k < l.inner; k++) {
            const char *line = (char *)tensor_bytes(x) + (size_t)(i * l.n * l.inner + k) * size;

            if (((i * l.inner + k) % 64 == 0 && run->stopped(run, err)) ||
                !best_of_line(run, line, &l, least, out++, err))
                return false;
        }
    return true;
}

static bool run_argmax(op_run *run, error *err)
{
    return run_arg(run, false, err);
}

static bool run_argmin(op_run *run, error *err)
{
    return run_arg(run, true, err);
}

static bool infer_cumulative(const op_call *call, type *output, error *err)
{
    const type *in = &call->inputs[0];
    const dtype_class class = dtype_info_of(in->dtype)->class;
    bool axes[RANK_MAX];

    if (!op_axes(call, &call->attrs[0], in->shape.rank, axes, err))
        return false;
    output->dtype = class == CLASS_UINT ? DT_U64 : class <= CLASS_INT ? DT_I64 : in->dtype;
    if (call->attrs[1].kind == ATTR_DTYPE)
        output->dtype = call->attrs[1].dtype;
    output->shape = in->shape;
    if (call->attrs[0].kind == ATTR_NONE) {
        output->shape.rank = 1;
        output->shape.length[0] =
            shape_is_known(&in->shape) ? shape_size(&in->shape) : LENGTH_UNKNOWN;
    } else if (in->shape.rank == 0) { /* a scalar counts as one element of an axis */
        output->shape.rank = 1;
        output->shape.length[0] = 1;
    }
    return true;
}

/* Cumulative sums, one element after the other, in the result's type; halves are
 * rounded after every addition. */
#define CUMSUM(suffix, T, LOAD, STORE, A)                                                          \
    static void cumsum_##suffix(void *values, int64_t n, int64_t step)                             \
    {                                                                                              \
        T *x = values;                                                                             \
                                                                                                   \
        for (int64_t i = 1; i < n; i++)                                                            \
            x[i * step] = (T)STORE((A)(LOAD(x[(i - 1) * step]) + LOAD(x[i * step])));              \
    }
CUMSUM(BOOL, bool, PLAIN, PLAIN, bool)
CUMSUM(I8, int8_t, PLAIN, PLAIN, int8_t)
CUMSUM(U8, uint8_t, PLAIN, PLAIN, uint8_t)
CUMSUM(I16, int16_t, PLAIN, PLAIN, int16_t)
CUMSUM(U16, uint16_t, PLAIN, PLAIN, uint16_t)
CUMSUM(I32, int32_t, PLAIN, PLAIN, int32_t)
CUMSUM(U32, uint32_t, PLAIN, PLAIN, uint32_t)
CUMSUM(I64, int64_t, PLAIN, PLAIN, int64_t)
CUMSUM(U64, uint64_t, PLAIN, PLAIN, uint64_t)
CUMSUM(F16, uint16_t, f32_of_f16, f16_of_f32, float)
CUMSUM(BF16, uint16_t, f32_of_bf16, bf16_of_f32, float)
CUMSUM(F32, float, PLAIN, PLAIN, float)
CUMSUM(F64, double, PLAIN, PLAIN, double)
CUMSUM(C64, float _Complex, PLAIN, PLAIN, float _Complex)
CUMSUM(C128, double _Complex, PLAIN, PLAIN, double _Complex)

typedef void cumulate_fn(void *values, int64_t n, int64_t step);
static cumulate_fn *const cumsum_fns[DT_COUNT] = {
#define DTYPE(id, ...) [DT_##id] = cumsum_##id,
#include "engine/tensor/dtype.def"
#undef DTYPE
};

/* Sums up a line in stretches, each beginning with the last sum before it. */
static bool sum_line(op_run *run, char *line, const lines *l, error *err)
{
    const dtype t = run->inputs[0].dtype;

    for (int64_t from = 0; from < l->n; from += STRETCH) {
        const int64_t before = from > 0 ? 1 : 0;
        const int64_t n = l->n - from < STRETCH ? l->n - from : STRETCH;

        if (from > 0 && run->stopped(run, err))
            return false;
        cumsum_fns[t](line + (size_t)((from - before) * l->inner) * dtype_size(t), n + before,
                      l->inner);
    }
    return true;
}

/* Adds the sums before a row to it, element by element. */
static void continue_row(dtype t, const void *before, char *row, int64_t inner)
{
    const size_t size = dtype_size(t);

    for (int64_t i = 0; i < inner; i++, row += size) {
        _Alignas(16) char two[2 * 16];

        memcpy(two, (const char *)before + (size_t)i * size, size);
        memcpy(two + size, row, size);
        cumsum_fns[t](two, 2, 1);
        memcpy(row, two + size, size);
    }
}

/* Sums along axis 0, or of all, go on from the row before; others are each in one row. */
static int64_t cumsum_block(const op_call *call)
{
    return call->inputs[0].shape.rank > 0;
}

static bool runs_along_rows(const op_run *run)
{
    const attr *axis = &run->attrs[0];

    return axis->kind == ATTR_NONE || axis->integer == 0 ||
           axis->integer == -run->outputs[0].shape.rank;
}

/* The input has the result's type. */
static bool run_cumsum(op_run *run, error *err)
{
    const tensor *x = &run->inputs[0];
    const lines l = lines_of(&x->shape, &run->attrs[0]);
    const size_t size = dtype_size(x->dtype);
    char *out = tensor_bytes(&run->outputs[0]);

    if (!op_copy(run, x, out, err))
        return false;
    if (run->before != NULL && runs_along_rows(run))
        continue_row(x->dtype, run->before, out, l.inner);
    for (int64_t i = 0; i < l.outer; i++)
        for (int64_t k = 0; k < l.inner; k++)
            if (((i * l.inner + k) % 64 == 0 && run->stopped(run, err)) ||
                !sum_line(run, out + (size_t)(i * l.n * l.inner + k) * size, &l, err))
                return false;
    return true;
}

/* ---- Undoing a broadcast --------------------------------------------------------- */

static bool infer_sum_to(const op_call *call, type *output, error *err)
{
    const shape *from = &call->inputs[0].shape, *to = &call->inputs[1].shape;
    char a[SHAPE_TEXT_MAX], b[SHAPE_TEXT_MAX];
    shape joined = *from;
    int axis;

    if (!shape_broadcast(&joined, to, &axis) || joined.rank != from->rank ||
        (shape_is_known(from) && shape_is_known(to) && !shape_equal(&joined, from)))
        return error_set(err, ERR_SHAPE, "%s: shape %s does not broadcast to %s", call->op->name,
                         shape_print(to, a), shape_print(from, b));
    output->dtype = call->inputs[0].dtype;
    output->shape = *to;
    return true;
}

/* The output seen with the shape of x: axes that are summed stand still. */
static tensor stretched(const tensor *output, const shape *to)
{
    const int more = to->rank - output->shape.rank;
    tensor result = *output;

    result.shape = *to;
    for (int i = 0; i < to->rank; i++)
        result.strides[i] =
            i < more || output->shape.length[i - more] == 1 ? 0 : output->strides[i - more];
    return result;
}

static bool run_sum_to(op_run *run, error *err)
{
    const tensor *x = &run->inputs[0];
    const tensor to = stretched(&run->outputs[0], &x->shape);

    if (shape_equal(&x->shape, &run->outputs[0].shape)) /* nothing is added, not even zero */
        return op_copy(run, x, tensor_bytes(&run->outputs[0]), err);
    memset(tensor_bytes(&run->outputs[0]), 0, (size_t)tensor_nbytes(&run->outputs[0]));
    return op_add_elements(run, x, &to, err);
}

/* ---- Rows -------------------------------------------------------------------------- */

static op_def rows[] = {
    {
        .name = "sum",
        .aliases = "reduce_sum",
        .family = "Reductions",
        .signature = "x, axis: axes = None, dtype: dtype = None, keepdims: bool = False",
        .reduce = &sum,
        .grad = {"spread(g, x, axis=axis, keepdims=keepdims)"},
        .doc = "Sum of the elements along axes.",
        .example = "sum([[1, 2], [3, 4]], axis=0)",
        .gives = "[4, 6]",
    },
    {
        .name = "prod",
        .aliases = "reduce_prod",
        .family = "Reductions",
        .signature = "x, axis: axes = None, dtype: dtype = None, keepdims: bool = False",
        .reduce = &prod,
        /* The product of the others: r / x; at the only zero the product of what is not
         * zero, at one of two zeros that times the other. With more it is 0, and so are its
         * first derivatives (the second ones, of three zeros, are lost). */
        .grad = {"zero = x == 0\n"
                 "zeros = sum(zero, axis=axis, keepdims=True)\n"
                 "whole = r if keepdims else spread(r, x, axis=axis)\n"
                 "rest = prod(where(zero, 1, x), axis=axis, keepdims=True)\n"
                 "other = sum(where(zero, x, 0), axis=axis, keepdims=True) - x\n"
                 "at_zero = where(zeros == 1, rest, where(zeros == 2, rest * other, 0))\n"
                 "others = where(zero, at_zero, whole / where(zero, 1, x))\n"
                 "return spread(g, x, axis=axis, keepdims=keepdims) * conj(others)"},
        .doc = "Product of the elements along axes.",
        .example = "prod([[1, 2], [3, 4]], axis=1)",
        .gives = "[2, 12]",
    },
    {
        .name = "mean",
        .aliases = "reduce_mean",
        .family = "Reductions",
        .signature = "x, axis: axes = None, dtype: dtype = None, keepdims: bool = False",
        .reduce = &mean,
        .grad = {"spread(g, x, axis=axis, keepdims=keepdims) * (r.size / x.size)"},
        .doc = "Arithmetic mean of the elements along axes.",
        .example = "mean([1, 2, 6])",
        .gives = "3.0",
    },
    {
        .name = "max",
        .aliases = "amax reduce_max",
        .family = "Reductions",
        .signature = "x, axis: axes = None, keepdims: bool = False",
        .reduce = &max,
        .grad = {"m = x == spread(r, x, axis=axis, keepdims=keepdims)\n"
                 "n = sum(m, axis=axis, keepdims=keepdims)\n"
                 "return where(m, spread(g / n, x, axis=axis, keepdims=keepdims), 0)"},
        .doc = "Largest element along axes, NaN if there is one.",
        .example = "max([[1, 5], [7, 2]], axis=0)",
        .gives = "[7, 5]",
    },
    {
        .name = "min",
        .aliases = "amin reduce_min",
        .family = "Reductions",
        .signature = "x, axis: axes = None, keepdims: bool = False",
        .reduce = &min,
        .grad = {"m = x == spread(r, x, axis=axis, keepdims=keepdims)\n"
                 "n = sum(m, axis=axis, keepdims=keepdims)\n"
                 "return where(m, spread(g / n, x, axis=axis, keepdims=keepdims), 0)"},
        .doc = "Smallest element along axes, NaN if there is one.",
        .example = "min([[1, 5], [7, 2]], axis=0)",
        .gives = "[1, 2]",
    },
    {
        .name = "sum_to",
        .family = "Reductions",
        .signature = "x, like",
        .infer = infer_sum_to,
        .run = run_sum_to,
        .grad = {"broadcast_to(g, x.shape)"},
        .doc = "Sum over the axes along which a tensor of the second's shape would be stretched to "
               "the first's.",
        .example = "sum_to([[1, 2], [3, 4]], [[0, 0]])",
        .gives = "[[4, 6]]",
    },
    {
        .name = "any",
        .aliases = "reduce_any",
        .family = "Reductions",
        .signature = "x, axis: axes = None, keepdims: bool = False",
        .reduce = &any,
        .no_grad = true,
        .doc = "Whether any element along axes is true.",
        .example = "any([[0, 1], [0, 0]], axis=1)",
        .gives = "[True, False]",
    },
    {
        .name = "all",
        .aliases = "reduce_all",
        .family = "Reductions",
        .signature = "x, axis: axes = None, keepdims: bool = False",
        .reduce = &all,
        .no_grad = true,
        .doc = "Whether all elements along axes are true.",
        .example = "all([[0, 1], [1, 1]], axis=1)",
        .gives = "[False, True]",
    },
    {
        .name = "argmax",
        .family = "Reductions",
        .signature = "x, axis: int = None, keepdims: bool = False",
        .infer = infer_arg,
        .run = run_argmax,
        .traits = OP_DENSE,
        .no_grad = true,
        .doc = "Index of the first largest element, of the flattened tensor or along an axis.",
        .example = "argmax([[1, 5], [7, 2]], axis=1)",
        .gives = "[1, 0]",
    },
    {
        .name = "argmin",
        .family = "Reductions",
        .signature = "x, axis: int = None, keepdims: bool = False",
        .infer = infer_arg,
        .run = run_argmin,
        .traits = OP_DENSE,
        .no_grad = true,
        .doc = "Index of the first smallest element, of the flattened tensor or along an axis.",
        .example = "argmin([[1, 5], [7, 2]], axis=1)",
        .gives = "[0, 1]",
    },
    {
        .name = "cumsum",
        .aliases = "cumulative_sum",
        .family = "Reductions",
        .signature = "x, axis: int = None, dtype: dtype = None",
        .infer = infer_cumulative,
        .run = run_cumsum,
        .block = cumsum_block,
        .casts = op_cast_to_result,
        .traits = OP_DENSE,
        .grad = {"reshape(flip(cumsum(flip(g))), x.shape) if axis is None else "
                 "flip(cumsum(flip(g, axis=axis), axis=axis), axis=axis)"},
        .doc = "Running sum, of the flattened tensor or along an axis.",
        .example = "cumsum([1, 2, 3])",
        .gives = "[1, 3, 6]",
    },
};

const op_family reduction_family = {rows, sizeof rows / sizeof *rows};

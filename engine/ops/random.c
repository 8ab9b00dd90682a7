/* SPDX-License-Identifier: Apache-2.0 */
/* Random draws. Numbers are counter-based: element i follows from the seed and i alone
 * (Philox4x32-10; Salmon et al., SC 2011), so a draw does not depend on how the work is
 * cut. Without a seed every evaluation draws anew, each turn of a loop included. */
#include <math.h>
#include <sys/random.h>

#include <Random123/philox.h>

#include "engine/ops/families.h"

/* What a fill needs to know. */
typedef struct draw {
    uint64_t seed;
    int bits; /* of the fraction that the result's type holds */
} draw;

static philox4x32_ctr_t block_of(const draw *d, uint64_t index, uint32_t attempt)
{
    const philox4x32_key_t key = {{(uint32_t)d->seed, (uint32_t)(d->seed >> 32)}};
    const philox4x32_ctr_t counter = {{(uint32_t)index, (uint32_t)(index >> 32), attempt, 0}};

    return philox4x32(counter, key);
}

static uint64_t word_of(const philox4x32_ctr_t *block, int half)
{
    return (uint64_t)block->v[2 * half + 1] << 32 | block->v[2 * half];
}

/* A number from 0 up to, not including, 1, with so many bits. */
static double unit_of(uint64_t word, int bits)
{
    return ldexp((double)(word >> (64 - bits)), -bits);
}

/* ---- Fills ----------------------------------------------------------------------------- */

static void fill_digits(const void *context, int64_t first, int64_t n, void *values)
{
    int64_t *x = values;

    for (int64_t i = 0; i < n; i++) {
        const uint64_t at = (uint64_t)(first + i);
        const philox4x32_ctr_t block = block_of(context, at / 4, 0);

        x[i] = (int64_t)((uint64_t)block.v[at % 4] * 10 >> 32);
    }
}

static void fill_unit(const void *context, int64_t first, int64_t n, void *values)
{
    const draw *d = context;
    double *x = values;

    for (int64_t i = 0; i < n; i++) {
        const uint64_t at = (uint64_t)(first + i);
        const philox4x32_ctr_t block = block_of(d, at / 2, 0);

        x[i] = unit_of(word_of(&block, (int)(at % 2)), d->bits);
    }
}

/* The two normal numbers that a block gives (Box and Muller, 1958). */
static double normal_of(const philox4x32_ctr_t *block, bool second)
{
    const double radius = sqrt(-2 * log1p(-unit_of(word_of(block, 0), 53)));
    const double angle = 2 * M_PI * unit_of(word_of(block, 1), 53);

    return radius * (second ? sin(angle) : cos(angle));
}

static void fill_normal(const void *context, int64_t first, int64_t n, void *values)
{
    double *x = values;

    for (int64_t i = 0; i < n; i++) {
        const uint64_t at = (uint64_t)(first + i);
        const philox4x32_ctr_t block = block_of(context, at / 2, 0);

        x[i] = normal_of(&block, at % 2 == 1);
    }
}

/* Normal numbers drawn again until they lie within two deviations: 1 in 22 is drawn twice. */
static void fill_truncated(const void *context, int64_t first, int64_t n, void *values)
{
    enum { ATTEMPTS = 64 };
    double *x = values;

    for (int64_t i = 0; i < n; i++) {
        x[i] = 3;
        for (uint32_t attempt = 0; fabs(x[i]) >= 2 && attempt < ATTEMPTS; attempt++) {
            const philox4x32_ctr_t block = block_of(context, (uint64_t)(first + i), attempt);

            x[i] = normal_of(&block, false);
        }
        x[i] = fabs(x[i]) < 2 ? x[i] : 0;
    }
}

/* ---- Runs ---------------------------------------------------------------------------------- */

static void cast_seed(const op_call *call, const type *outputs, dtype *casts)
{
    (void)call;
    (void)outputs;
    casts[0] = DT_I64;
}

/* The seed that is given, which must be an integer, or one from the system. */
static bool take_seed(op_run *run, draw *d, error *err)
{
    if (run->count > 0 && run->inputs[0].buf != NULL) {
        d->seed = (uint64_t) * (const int64_t *)tensor_bytes(&run->inputs[0]);
        return true;
    }
    return getrandom(&d->seed, sizeof d->seed, 0) == sizeof d->seed ||
           error_set(err, ERR_INTERNAL, "the system gave no randomness");
}

static bool check_seed(const op_call *call, error *err)
{
    const type *seed = &call->inputs[0];

    if (seed->shape.rank == 0 && (dtype_is_integer(seed->dtype) || seed->dtype == DT_BOOL))
        return true;
    return error_set(err, ERR_DTYPE, "%s: a seed is one integer", call->op->name);
}

static bool run_fill(op_run *run, dtype made, fill_fn *fill, error *err)
{
    static const int bits[DT_COUNT] = {[DT_F16] = 11, [DT_BF16] = 8, [DT_F32] = 24, [DT_F64] = 53};
    draw d = {.bits = bits[run->outputs[0].dtype]};

    return take_seed(run, &d, err) && op_fill(run, made, fill, &d, err);
}

static bool infer_digits(const op_call *call, type *output, error *err)
{
    output->dtype = DT_I64;
    return check_seed(call, err) && op_shape_attr(call, &call->attrs[0], &output->shape, err);
}

static bool infer_floats(const op_call *call, type *output, error *err)
{
    output->dtype = call->attrs[1].dtype;
    if (!dtype_is_float(output->dtype))
        return error_set(err, ERR_DTYPE, "%s gives floating-point numbers, not %s", call->op->name,
                         dtype_name(output->dtype));
    return check_seed(call, err) && op_shape_attr(call, &call->attrs[0], &output->shape, err);
}

/* A number takes ten rounds of multiplications, and a function of what they give. */
static double draw_work(const op_call *call)
{
    enum { OPERATIONS = 16 };
    error ignored = {0};
    shape drawn;

    return op_shape_attr(call, &call->attrs[0], &drawn, &ignored)
               ? OPERATIONS * (double)shape_size(&drawn)
               : 0;
}

static bool run_rand(op_run *run, error *err)
{
    return run_fill(run, DT_I64, fill_digits, err);
}

static bool run_unit(op_run *run, error *err)
{
    return run_fill(run, DT_F64, fill_unit, err);
}

static bool run_normal(op_run *run, error *err)
{
    return run_fill(run, DT_F64, fill_normal, err);
}

static bool run_truncated(op_run *run, error *err)
{
    return run_fill(run, DT_F64, fill_truncated, err);
}

/* ---- Rows --------------------------------------------------------------------------------------
 */

static op_def rows[] = {
    {
        .name = "rand",
        .family = "Random",
        .signature = "shape: ints, seed = None",
        .infer = infer_digits,
        .run = run_rand,
        .block = op_fill_block,
        .work = draw_work,
        .casts = cast_seed,
        .traits = OP_IMPURE,
        .no_grad = true,
        .doc = "Random integers from 0 to 9, the same ones for the same seed.",
        .example = "rand((3,), seed=1) < 10",
        .gives = "[True, True, True]",
    },
    {
        .name = "standard_uniform",
        .family = "Random",
        .signature = "shape: ints, dtype: dtype = float64, seed = None",
        .infer = infer_floats,
        .run = run_unit,
        .block = op_fill_block,
        .work = draw_work,
        .casts = cast_seed,
        .traits = OP_IMPURE,
        .no_grad = true,
        .doc = "Random numbers, even from 0 up to, not including, 1.",
        .example = "standard_uniform((3,), seed=1) < 1",
        .gives = "[True, True, True]",
    },
    {
        .name = "standard_normal",
        .family = "Random",
        .signature = "shape: ints, dtype: dtype = float64, seed = None",
        .infer = infer_floats,
        .run = run_normal,
        .block = op_fill_block,
        .work = draw_work,
        .casts = cast_seed,
        .traits = OP_IMPURE,
        .no_grad = true,
        .doc = "Random numbers of the normal distribution with mean 0 and deviation 1.",
        .example = "absolute(standard_normal((3,), seed=1)) < 9",
        .gives = "[True, True, True]",
    },
    {
        .name = "standard_truncated_normal",
        .family = "Random",
        .signature = "shape: ints, dtype: dtype = float64, seed = None",
        .infer = infer_floats,
        .run = run_truncated,
        .block = op_fill_block,
        .work = draw_work,
        .casts = cast_seed,
        .traits = OP_IMPURE,
        .no_grad = true,
        .doc = "Random numbers of the normal distribution that lie within two deviations.",
        .example = "absolute(standard_truncated_normal((3,), seed=1)) < 2",
        .gives = "[True, True, True]",
    },
    {
        .name = "random_uniform",
        .family = "Random",
        .signature =
            "shape: ints, minval = None, maxval = None, dtype: dtype = float64, seed = None",
        .lower = "low = 0.0 if minval is None else minval\n"
                 "high = 1.0 if maxval is None else maxval\n"
                 "return standard_uniform(shape, dtype, seed) * (high - low) + low",
        .traits = OP_IMPURE,
        .doc = "Random numbers, even from minval (0) up to, not including, maxval (1).",
        .example = "random_uniform((3,), 5, 6, seed=1) >= 5",
        .gives = "[True, True, True]",
    },
    {
        .name = "random_normal",
        .family = "Random",
        .signature = "shape: ints, mean = None, stddev = None, dtype: dtype = float64, seed = None",
        .lower = "m = 0.0 if mean is None else mean\n"
                 "s = 1.0 if stddev is None else stddev\n"
                 "return standard_normal(shape, dtype, seed) * s + m",
        .traits = OP_IMPURE,
        .doc = "Random numbers of the normal distribution with a mean (0) and a deviation (1).",
        .example = "absolute(random_normal((3,), 100, seed=1) - 100) < 9",
        .gives = "[True, True, True]",
    },
    {
        .name = "truncated_normal",
        .family = "Random",
        .signature = "shape: ints, mean = None, stddev = None, dtype: dtype = float64, seed = None",
        .lower = "m = 0.0 if mean is None else mean\n"
                 "s = 1.0 if stddev is None else stddev\n"
                 "return standard_truncated_normal(shape, dtype, seed) * s + m",
        .traits = OP_IMPURE,
        .doc = "Random numbers of the normal distribution within two deviations of the mean.",
        .example = "absolute(truncated_normal((3,), 100, seed=1) - 100) < 2",
        .gives = "[True, True, True]",
    },
};

const op_family random_family = {rows, sizeof rows / sizeof *rows};

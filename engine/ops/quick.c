/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels in place of those that call SLEEF. Most have the functions of quick.h: an element
 * in the function's range gets the quick value, any other the row's own, wherever it stands.
 * That of power is the row's own, mended near the largest number. */
#include <string.h>

#include "engine/kernels/quick.h"
#include "engine/ops/elementwise.h"
#include "engine/ops/families.h"

#define QUICK(name, range, suffix, T, U)                                                           \
    static void mixed_##name##_##suffix(size_t n, T *out, const T *x)                              \
    {                                                                                              \
        for (size_t i = 0; i < n; i += LANES) {                                                    \
            T own[LANES];                                                                          \
            const void *const in[] = {x + i};                                                      \
                                                                                                   \
            kernel_##name##_##suffix(LANES, own, in);                                              \
            for (size_t k = 0; k < LANES; k++)                                                     \
                own[k] = in_range_##range##_##suffix(x[i + k]) ? quick_##name##_##suffix(x[i + k]) \
                                                               : own[k];                           \
            memcpy(out + i, own, sizeof own);                                                      \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    CPU_LEVELS static void quick_kernel_##name##_##suffix(size_t n, void *result,                  \
                                                          const void *const in[])                  \
    {                                                                                              \
        const T *x = in[0];                                                                        \
        T *out = result;                                                                           \
        U outside = 0;                                                                             \
                                                                                                   \
        for (size_t i = 0; i < n; i++)                                                             \
            outside |= in_range_##range##_##suffix(x[i]) ? 0 : 1;                                  \
        if (outside)                                                                               \
            mixed_##name##_##suffix(n, out, x);                                                    \
        else                                                                                       \
            _Pragma("GCC ivdep") for (size_t i = 0; i < n; i++) out[i] =                           \
                quick_##name##_##suffix(x[i]);                                                     \
    }

#define BOTH(name, range)                                                                          \
    QUICK(name, range, f64, double, uint64_t)                                                      \
    QUICK(name, range, f32, float, uint32_t)
BOTH(exp, exp)
BOTH(log, log)
BOTH(sin, angle)
BOTH(cos, angle)

/* SLEEF's pow is infinite a little below the largest number already: infinities that came
 * of finite numbers are asked of the C library again. The row's kernel writes into a block
 * beside, since out may be one of the inputs. */
#define MENDED_POWER(suffix, T, pow_of)                                                            \
    static void mend_power_##suffix(size_t n, T *out, const T *x, const T *y)                      \
    {                                                                                              \
        for (size_t i = 0; i < n; i++)                                                             \
            if (isinf(out[i]) && isfinite(x[i]) && isfinite(y[i]))                                 \
                out[i] = pow_of(x[i], y[i]);                                                       \
    }                                                                                              \
                                                                                                   \
    CPU_LEVELS static bool any_infinite_##suffix(size_t n, const T *out)                           \
    {                                                                                              \
        int any = 0;                                                                               \
                                                                                                   \
        for (size_t i = 0; i < n; i++)                                                             \
            any |= isinf(out[i]) != 0;                                                             \
        return any != 0;                                                                           \
    }                                                                                              \
                                                                                                   \
    static void mended_power_##suffix(size_t n, void *result, const void *const in[])              \
    {                                                                                              \
        const T *x = in[0], *y = in[1];                                                            \
        T own[POWER_BLOCK];                                                                        \
                                                                                                   \
        for (size_t i = 0, count; i < n; i += count) {                                             \
            const void *const from[] = {x + i, y + i};                                             \
                                                                                                   \
            count = n - i < POWER_BLOCK ? n - i : POWER_BLOCK;                                     \
            kernel_power_##suffix(count, own, from);                                               \
            if (any_infinite_##suffix(count, own))                                                 \
                mend_power_##suffix(count, own, x + i, y + i);                                     \
            memcpy((T *)result + i, own, count * sizeof *own);                                     \
        }                                                                                          \
    }

enum { POWER_BLOCK = 16 * LANES };

MENDED_POWER(f64, double, (pow))
MENDED_POWER(f32, float, powf)

void op_take_quick(op_def *op)
{
    static const struct {
        const char *name;
        kernel_fn *f64, *f32;
    } kernels[] = {
        {"exp", quick_kernel_exp_f64, quick_kernel_exp_f32},
        {"log", quick_kernel_log_f64, quick_kernel_log_f32},
        {"sin", quick_kernel_sin_f64, quick_kernel_sin_f32},
        {"cos", quick_kernel_cos_f64, quick_kernel_cos_f32},
    };

    if (strcmp(op->name, "power") == 0) {
        op->kernel[DT_F64] = mended_power_f64;
        op->kernel[DT_F32] = mended_power_f32;
    }
    for (size_t i = 0; has_fused() && i < sizeof kernels / sizeof *kernels; i++)
        if (strcmp(kernels[i].name, op->name) == 0) {
            op->kernel[DT_F64] = kernels[i].f64;
            op->kernel[DT_F32] = kernels[i].f32;
        }
}

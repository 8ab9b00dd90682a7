/* SPDX-License-Identifier: Apache-2.0 */
/* Division of short integers in vectors, which no processor has: by way of floats that hold them
 * exactly, with twice their bits at least. A quotient of two such is rounded to an integer only if
 * it is one, so that cutting it off gives what the division of integers gives. In place of the
 * rows' own kernels, whose results they have. */
#include <string.h>

#include "engine/ops/elementwise.h"
#include "engine/ops/families.h"

/* FROM is a type that holds the quotient, and that F is converted to quickly. Dividing the
 * smallest value by -1 is beyond it: it stays, as everything else is negated. */
#define DIVISION(suffix, T, F, FROM, is_signed)                                                    \
    ALWAYS_INLINE                                                                                  \
    T quotient_##suffix(T x, T y, T *rest)                                                         \
    {                                                                                              \
        const T zero = y == 0, minus = is_signed & (y == (T)-1), by = zero | minus ? 1 : y;        \
        const T whole = (T)(FROM)((F)x / (F)by), left = (T)(x - whole * by);                       \
        const T below = is_signed & (left != 0) & ((left ^ by) >> (8 * sizeof(T) - 1));            \
        const T floor = (T)(minus ? 0 - x : whole - below);                                        \
                                                                                                   \
        *rest = (T)(below ? left + by : left);                                                     \
        return (T)(zero ? 0 : floor);                                                              \
    }                                                                                              \
                                                                                                   \
    CPU_LEVELS static void note_zeros_##suffix(size_t n, const T *y)                               \
    {                                                                                              \
        T zeros = 0;                                                                               \
                                                                                                   \
        for (size_t i = 0; i < n; i++)                                                             \
            zeros = (T)(zeros | (y[i] == 0));                                                      \
        kernel_flags |= zeros != 0 ? KERNEL_DIVIDE : 0;                                            \
    }                                                                                              \
                                                                                                   \
    CPU_LEVELS static void floor_divide_##suffix(size_t n, void *result, const void *const in[])   \
    {                                                                                              \
        const T *x = in[0], *y = in[1];                                                            \
        T *out = result, rest;                                                                     \
                                                                                                   \
        note_zeros_##suffix(n, y);                                                                 \
        _Pragma("GCC ivdep") for (size_t i = 0; i < n; i++) out[i] =                               \
            quotient_##suffix(x[i], y[i], &rest);                                                  \
    }                                                                                              \
                                                                                                   \
    CPU_LEVELS static void remainder_##suffix(size_t n, void *result, const void *const in[])      \
    {                                                                                              \
        const T *x = in[0], *y = in[1];                                                            \
        T *out = result;                                                                           \
                                                                                                   \
        note_zeros_##suffix(n, y);                                                                 \
        _Pragma("GCC ivdep") for (size_t i = 0; i < n; i++)                                        \
        {                                                                                          \
            T rest;                                                                                \
                                                                                                   \
            quotient_##suffix(x[i], y[i], &rest);                                                  \
            out[i] = y[i] == 0 ? 0 : rest;                                                         \
        }                                                                                          \
    }

DIVISION(i8, int8_t, float, int32_t, 1)
DIVISION(u8, uint8_t, float, int32_t, 0)
DIVISION(i16, int16_t, float, int32_t, 1)
DIVISION(u16, uint16_t, float, int32_t, 0)
DIVISION(i32, int32_t, double, int32_t, 1)
DIVISION(u32, uint32_t, double, uint32_t, 0)

void op_take_division(op_def *op)
{
#define TAKE(id, suffix, name) op->kernel[DT_##id] = name##_##suffix;
#define TAKE_ALL(name)                                                                             \
    TAKE(I8, i8, name)                                                                             \
    TAKE(U8, u8, name)                                                                             \
    TAKE(I16, i16, name)                                                                           \
    TAKE(U16, u16, name)                                                                           \
    TAKE(I32, i32, name)                                                                           \
    TAKE(U32, u32, name)
    if (strcmp(op->name, "floor_divide") == 0) {
        TAKE_ALL(floor_divide)
    } else if (strcmp(op->name, "remainder") == 0) {
        TAKE_ALL(remainder)
    }
}

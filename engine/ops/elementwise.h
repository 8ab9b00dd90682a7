/* elementwise -- the kernels that elementwise.def makes, declared for its rows.
 *
 * For every row and every type there may be a function kernel_name_type, such
 * as kernel_add_f64; which exist, the rows' bodies decide. */
#pragma once

#include <string.h>

#include "engine/kernels/kernels.h"
#include "engine/kernels/stream.h"
#include "engine/kernels/target.h"
#include "engine/kernels/vecmath.h"

#define OP(name, ...)                                                                              \
    kernel_fn kernel_##name##_b8, kernel_##name##_i8, kernel_##name##_u8, kernel_##name##_i16,     \
        kernel_##name##_u16, kernel_##name##_i32, kernel_##name##_u32, kernel_##name##_i64,        \
        kernel_##name##_u64, kernel_##name##_f32, kernel_##name##_f64, kernel_##name##_c64,        \
        kernel_##name##_c128;
#include "engine/ops/elementwise.def"
#undef OP

/* The types that kernels compute in: TYPE(DT_id, suffix). */
#define COMPUTED_TYPES(TYPE)                                                                       \
    TYPE(BOOL, b8)                                                                                 \
    TYPE(I8, i8)                                                                                   \
    TYPE(U8, u8)                                                                                   \
    TYPE(I16, i16)                                                                                 \
    TYPE(U16, u16)                                                                                 \
    TYPE(I32, i32)                                                                                 \
    TYPE(U32, u32)                                                                                 \
    TYPE(I64, i64)                                                                                 \
    TYPE(U64, u64)                                                                                 \
    TYPE(F32, f32)                                                                                 \
    TYPE(F64, f64)                                                                                 \
    TYPE(C64, c64)                                                                                 \
    TYPE(C128, c128)

/* The operations that reductions fold with (see reduce.tmpl.h). */
#define FOLDS(id, suffix)                                                                          \
    void lanes_add_##suffix(size_t, void *, const void *, const char *);                           \
    void lanes_multiply_##suffix(size_t, void *, const void *, const char *);                      \
    void lanes_maximum_##suffix(size_t, void *, const void *, const char *);                       \
    void lanes_minimum_##suffix(size_t, void *, const void *, const char *);                       \
    void fold_add_##suffix(const void *, void *);                                                  \
    void fold_multiply_##suffix(const void *, void *);                                             \
    void fold_maximum_##suffix(const void *, void *);                                              \
    void fold_minimum_##suffix(const void *, void *);
COMPUTED_TYPES(FOLDS)
#undef FOLDS

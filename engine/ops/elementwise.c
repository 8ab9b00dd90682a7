/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/ops/elementwise.h"

#include "engine/ops/families.h"

#define SIGNATURE_T_T   "x"
#define SIGNATURE_T_B   "x"
#define SIGNATURE_T_R   "x"
#define SIGNATURE_TT_T  "x, y"
#define SIGNATURE_TT_B  "x, y"
#define SIGNATURE_BTT_T "condition, x, y"

/* The kernel if the row has a body for it, else NULL. */
#define FIRST(kernel, ...) kernel
#define NONE
#define IF_BODY(kernel, ...) FIRST(__VA_OPT__(kernel, ) NULL, )
#define CHOOSE(kernel, ...)  IF_BODY(kernel, __VA_ARGS__)

#define ALIASES(text)          .aliases = text
#define NO_ALIASES             .aliases = NULL
#define GRAD(...)              .grad = {__VA_ARGS__}
#define NOGRAD                 .no_grad = true
#define DOC(text, call, value) .doc = text, .example = call, .gives = value

#define OP(id, types, b, i, f, c, names, traits_, gradient, docs)                                  \
    {.name = #id,                                                                                  \
     .family = "Elementwise",                                                                      \
     .signature = SIGNATURE_##types,                                                               \
     .pattern = #types,                                                                            \
     .traits = traits_,                                                                            \
     names,                                                                                        \
     gradient,                                                                                     \
     docs,                                                                                         \
     .kernel = {                                                                                   \
         [DT_BOOL] = CHOOSE(kernel_##id##_b8, b),                                                  \
         [DT_I8] = CHOOSE(kernel_##id##_i8, i),                                                    \
         [DT_U8] = CHOOSE(kernel_##id##_u8, i),                                                    \
         [DT_I16] = CHOOSE(kernel_##id##_i16, i),                                                  \
         [DT_U16] = CHOOSE(kernel_##id##_u16, i),                                                  \
         [DT_I32] = CHOOSE(kernel_##id##_i32, i),                                                  \
         [DT_U32] = CHOOSE(kernel_##id##_u32, i),                                                  \
         [DT_I64] = CHOOSE(kernel_##id##_i64, i),                                                  \
         [DT_U64] = CHOOSE(kernel_##id##_u64, i),                                                  \
         [DT_F32] = CHOOSE(kernel_##id##_f32, f),                                                  \
         [DT_F64] = CHOOSE(kernel_##id##_f64, f),                                                  \
         [DT_C64] = CHOOSE(kernel_##id##_c64, c),                                                  \
         [DT_C128] = CHOOSE(kernel_##id##_c128, c),                                                \
     }},

static op_def rows[] = {
#include "engine/ops/elementwise.def"
};

const op_family elementwise_family = {rows, sizeof rows / sizeof *rows};

/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/kernels/gemm.h"

#include <stdlib.h>
#include <string.h>

#include <cblas.h>

#include "engine/kernels/target.h"
#include "engine/tensor/half.h"

/* OpenBLAS chooses its kernels when it is loaded. */
extern void gotoblas_dynamic_init(void) __attribute__((weak));
extern void gotoblas_dynamic_quit(void) __attribute__((weak));

/* What OpenBLAS should take for this processor; NULL if its own choice stands. It knows
 * processors by model number, and takes one that is younger than itself for a Prescott,
 * which is 5 times slower than it could be (1024 x 1024 float64: 140 ms, not 29). */
static const char *better_core(void)
{
#if defined(__x86_64__)
    if (strcmp(openblas_get_corename(), "Prescott") != 0 || getenv("OPENBLAS_CORETYPE") != NULL)
        return NULL;
    return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") ? "SkylakeX"
           : __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")        ? "Haswell"
                                                                                    : NULL;
#else
    return NULL;
#endif
}

void gemm_init(void)
{
    const char *core = better_core();

    if (core != NULL && gotoblas_dynamic_init != NULL && gotoblas_dynamic_quit != NULL) {
        gotoblas_dynamic_quit();
        setenv("OPENBLAS_CORETYPE", core, 1);
        gotoblas_dynamic_init();
    }
    openblas_set_num_threads(1);
}

/* ---- Loops ----------------------------------------------------------------------- */

/* Row by row: c's row is the sum of b's rows, scaled by the elements of a's. */
#define PRODUCT(suffix, T, A, LOAD, STORE, MULTIPLY_ADD)                                           \
    CPU_LEVELS static void product_##suffix(int64_t m, int64_t n, int64_t k, const T *a,           \
                                            int64_t a_row, int64_t a_column, const T *b,           \
                                            int64_t b_row, int64_t b_column, bool add, T *c)       \
    {                                                                                              \
        enum { WIDTH = 256 };                                                                      \
        A row[WIDTH];                                                                              \
                                                                                                   \
        for (int64_t i = 0; i < m; i++)                                                            \
            for (int64_t from = 0; from < n; from += WIDTH) {                                      \
                const int64_t width = n - from < WIDTH ? n - from : WIDTH;                         \
                                                                                                   \
                for (int64_t j = 0; j < width; j++)                                                \
                    row[j] = add ? (A)LOAD(c[i * n + from + j]) : 0;                               \
                for (int64_t l = 0; l < k; l++) {                                                  \
                    const A x = (A)LOAD(a[i * a_row + l * a_column]);                              \
                    const T *y = b + l * b_row + from * b_column;                                  \
                                                                                                   \
                    for (int64_t j = 0; j < width; j++)                                            \
                        row[j] = (A)MULTIPLY_ADD(row[j], x, (A)LOAD(y[j * b_column]));             \
                }                                                                                  \
                for (int64_t j = 0; j < width; j++)                                                \
                    c[i * n + from + j] = (T)STORE(row[j]);                                        \
            }                                                                                      \
    }
#define PLAIN(x)            (x)
#define SUM(total, x, y)    ((total) + (x) * (y))
#define EITHER(total, x, y) ((total) | ((x) & (y)))
PRODUCT(bool, bool, bool, PLAIN, PLAIN, EITHER)
PRODUCT(i8, uint8_t, uint8_t, PLAIN, PLAIN, SUM) /* signed ones wrap alike */
PRODUCT(i16, uint16_t, uint16_t, PLAIN, PLAIN, SUM)
PRODUCT(i32, uint32_t, uint32_t, PLAIN, PLAIN, SUM)
PRODUCT(i64, uint64_t, uint64_t, PLAIN, PLAIN, SUM)
PRODUCT(f16, uint16_t, float, f32_of_f16, f16_of_f32, SUM)
PRODUCT(bf16, uint16_t, float, f32_of_bf16, bf16_of_f32, SUM)

/* ---- Choosing ---------------------------------------------------------------------- */

/* OpenBLAS takes no leading dimension of 0. */
static int leading(int64_t n)
{
    return (int)(n > 0 ? n : 1);
}

#define LOOPS(suffix)                                                                              \
    product_##suffix(m, n, k, a->elements, a->turned ? 1 : a->width, a->turned ? a->width : 1,     \
                     b->elements, b->turned ? 1 : b->width, b->turned ? b->width : 1, add, c)
#define BLAS(function, one, zero)                                                                  \
    function(CblasRowMajor, a->turned ? CblasTrans : CblasNoTrans,                                 \
             b->turned ? CblasTrans : CblasNoTrans, (int)m, (int)n, (int)k, one, a->elements,      \
             leading(a->width), b->elements, leading(b->width), add ? one : zero, c, leading(n))

void gemm(dtype t, int64_t m, int64_t n, int64_t k, const factor *a, const factor *b, bool add,
          void *c)
{
    static const double one[2] = {1, 0}, zero[2] = {0, 0};
    static const float one_f[2] = {1, 0}, zero_f[2] = {0, 0};

    if (m == 0 || n == 0)
        return;
    if (k == 0 && add)
        return;
    if (k == 0) {
        memset(c, 0, (size_t)(m * n) * dtype_size(t));
        return;
    }
    switch (t) {
    case DT_BOOL:
        LOOPS(bool);
        break;
    case DT_I8:
    case DT_U8:
        LOOPS(i8);
        break;
    case DT_I16:
    case DT_U16:
        LOOPS(i16);
        break;
    case DT_I32:
    case DT_U32:
        LOOPS(i32);
        break;
    case DT_I64:
    case DT_U64:
        LOOPS(i64);
        break;
    case DT_F16:
        LOOPS(f16);
        break;
    case DT_BF16:
        LOOPS(bf16);
        break;
    case DT_F32:
        BLAS(cblas_sgemm, 1, 0);
        break;
    case DT_F64:
        BLAS(cblas_dgemm, 1, 0);
        break;
    case DT_C64:
        BLAS(cblas_cgemm, one_f, zero_f);
        break;
    case DT_C128:
        BLAS(cblas_zgemm, one, zero);
        break;
    case DT_COUNT:
        break;
    }
}

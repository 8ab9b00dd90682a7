/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/kernels/gemm.h"

#include <stdlib.h>
#include <string.h>

#include <cblas.h>

#include "engine/kernels/kernels.h"
#include "engine/kernels/target.h"

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
#define PRODUCT(suffix, T, MULTIPLY_ADD)                                                           \
    CPU_LEVELS static void product_##suffix(int64_t m, int64_t n, int64_t k, const T *a,           \
                                            int64_t a_row, int64_t a_column, const T *b,           \
                                            int64_t b_row, int64_t b_column, bool add, T *c)       \
    {                                                                                              \
        enum { WIDTH = 256 };                                                                      \
        T row[WIDTH];                                                                              \
                                                                                                   \
        for (int64_t i = 0; i < m; i++)                                                            \
            for (int64_t from = 0; from < n; from += WIDTH) {                                      \
                const int64_t width = n - from < WIDTH ? n - from : WIDTH;                         \
                                                                                                   \
                for (int64_t j = 0; j < width; j++)                                                \
                    row[j] = add ? c[i * n + from + j] : 0;                                        \
                for (int64_t l = 0; l < k; l++) {                                                  \
                    const T x = a[i * a_row + l * a_column];                                       \
                    const T *y = b + l * b_row + from * b_column;                                  \
                                                                                                   \
                    for (int64_t j = 0; j < width; j++)                                            \
                        row[j] = (T)MULTIPLY_ADD(row[j], x, y[j * b_column]);                      \
                }                                                                                  \
                memcpy(c + i * n + from, row, (size_t)width * sizeof *row);                        \
            }                                                                                      \
    }
#define SUM(total, x, y)    ((total) + (x) * (y))
#define EITHER(total, x, y) ((total) | ((x) & (y)))
PRODUCT(bool, bool, EITHER)
PRODUCT(i8, uint8_t, SUM) /* signed ones wrap alike */
PRODUCT(i16, uint16_t, SUM)
PRODUCT(i32, uint32_t, SUM)
PRODUCT(i64, uint64_t, SUM)

/* ---- Halves ------------------------------------------------------------------------ */

/* OpenBLAS takes no leading dimension of 0. */
static int leading(int64_t n)
{
    return (int)(n > 0 ? n : 1);
}

/* Blocks of halves as floats: all three stay in the second-level cache. */
enum { BLOCK_M = 64, BLOCK_N = 128, BLOCK_K = 128 };
static _Thread_local struct {
    float a[BLOCK_M * BLOCK_K], b[BLOCK_K * BLOCK_N], c[BLOCK_M * BLOCK_N];
} floats;

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Casts lines of elements that lie from_width apart to such that lie to_width apart. Casts
 * are the same wherever an element stands: nothing is padded. */
static void cast_lines(dtype from_type, dtype to_type, int64_t lines, int64_t n, const void *from,
                       int64_t from_width, void *to, int64_t to_width)
{
    kernel_fn *cast = kernel_cast(from_type, to_type);

    for (int64_t i = 0; i < lines; i++) {
        const void *in[] = {(const char *)from + (size_t)(i * from_width) * dtype_size(from_type)};

        cast((size_t)n, (char *)to + (size_t)(i * to_width) * dtype_size(to_type), in);
    }
}

/* A block of a factor as floats, turned as the factor is. */
static factor block_of(dtype t, const factor *f, int64_t row, int64_t column, int64_t rows,
                       int64_t columns, float *to)
{
    const int64_t first = f->turned ? column * f->width + row : row * f->width + column;
    const int64_t lines = f->turned ? columns : rows, n = f->turned ? rows : columns;

    cast_lines(t, DT_F32, lines, n, (const uint16_t *)f->elements + first, f->width, to, n);
    return (factor){.elements = to, .width = n, .turned = f->turned};
}

/* A block of the result, as floats. */
static void sum_block(dtype t, int64_t i, int64_t rows, int64_t j, int64_t columns, int64_t k,
                      const factor *a, const factor *b)
{
    for (int64_t l = 0; l < k; l += BLOCK_K) {
        const int64_t depth = least(k - l, BLOCK_K);
        const factor x = block_of(t, a, i, l, rows, depth, floats.a);
        const factor y = block_of(t, b, l, j, depth, columns, floats.b);

        gemm(DT_F32, rows, columns, depth, &x, &y, l > 0, floats.c);
    }
}

static void product_halves(dtype t, int64_t m, int64_t n, int64_t k, const factor *a,
                           const factor *b, uint16_t *c)
{
    for (int64_t i = 0; i < m; i += BLOCK_M)
        for (int64_t j = 0; j < n; j += BLOCK_N) {
            const int64_t rows = least(m - i, BLOCK_M), columns = least(n - j, BLOCK_N);

            sum_block(t, i, rows, j, columns, k, a, b);
            cast_lines(DT_F32, t, rows, columns, floats.c, columns, c + i * n + j, n);
        }
}

/* ---- Choosing ---------------------------------------------------------------------- */

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
    case DT_BF16:
        product_halves(t, m, n, k, a, b, c);
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

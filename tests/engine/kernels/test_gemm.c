/* SPDX-License-Identifier: Apache-2.0 */
/* Products of halves are sums of floats, rounded once, for any lengths and ways to lie. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "engine/kernels/gemm.h"
#include "engine/tensor/half.h"

/* m, n, k: around the lengths of blocks. */
static const int64_t lengths[][3] = {{1, 1, 1},     {3, 5, 2},     {64, 128, 128}, {65, 129, 257},
                                     {130, 1, 300}, {1, 300, 129}, {63, 127, 127}};

static uint16_t half_of(dtype t, float x)
{
    return t == DT_F16 ? f16_of_f32(x) : bf16_of_f32(x);
}

/* Small integers, whose products and sums are exact floats. */
static float number(int64_t i)
{
    return (float)(i * 7919 % 5 - 2);
}

/* Rows x columns of them as halves, in rows or, turned, in columns. */
static uint16_t *matrix(dtype t, int64_t rows, int64_t columns, bool turned)
{
    uint16_t *result = malloc((size_t)(rows * columns) * sizeof *result);

    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++)
            result[turned ? j * rows + i : i * columns + j] = half_of(t, number(i * columns + j));
    return result;
}

static void check_product(dtype t, const int64_t *length, bool a_turned, bool b_turned)
{
    const int64_t m = length[0], n = length[1], k = length[2];
    uint16_t *x = matrix(t, m, k, a_turned), *y = matrix(t, k, n, b_turned);
    uint16_t *c = malloc((size_t)(m * n) * sizeof *c);
    const factor a = {x, a_turned ? m : k, a_turned}, b = {y, b_turned ? k : n, b_turned};

    gemm(t, m, n, k, &a, &b, false, c);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            float sum = 0;

            for (int64_t l = 0; l < k; l++)
                sum += number(i * k + l) * number(l * n + j);
            if (c[i * n + j] != half_of(t, sum))
                fail_msg("%s [%ld, %ld, %ld], turned %d %d: element %ld, %ld differs",
                         dtype_name(t), (long)m, (long)n, (long)k, a_turned, b_turned, (long)i,
                         (long)j);
        }
    free(x);
    free(y);
    free(c);
}

static void halves_are_summed_as_floats(void **state)
{
    (void)state;
    gemm_init();
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (int turned = 0; turned < 4; turned++) {
            check_product(DT_F16, lengths[i], turned & 1, turned & 2);
            check_product(DT_BF16, lengths[i], turned & 1, turned & 2);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(halves_are_summed_as_floats)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}

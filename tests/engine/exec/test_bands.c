/* SPDX-License-Identifier: Apache-2.0 */
/* Steps that run together row by row give what they give one row alone, wherever the row
 * stands in its block and its task. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/lib/evaluate.h"

enum { ROWS = 203 };

static const char *const programs[] = {
    "softmax(a)",
    "var(a, axis=1)",
    "(a - a.mean(axis=1, keepdims=True)) / sqrt(var(a, axis=1, keepdims=True) + 1e-5)",
    "m = a.max(axis=1, keepdims=True)\nlog(sum(exp(a - m), axis=1, keepdims=True)) * 3 + 2 * m",
    "w = a / (1 + abs(a).sum(axis=1, keepdims=True))\n2 * w + 3 * w.prod(axis=1, keepdims=True)",
};
static const int64_t widths[] = {33, 700, 1000, 5000}; /* shorter ones are folded by columns */
static const dtype dtypes[] = {DT_F32, DT_F64, DT_F16, DT_C128};

static void evaluate_rows(evaluated *e, const char *program, const tensor *a)
{
    evaluation_input input = {.name = "a", .value = *a};
    const evaluation_options options = {.input_count = 1, .inputs = &input};

    evaluate(e, program, &options);
    if (error_is_set(&e->err))
        fail_msg("%s: %s", program, e->err.detail);
}

/* A matrix of small numbers. */
static tensor matrix(dtype t, int64_t rows, int64_t width)
{
    const shape s = {.rank = 2, .length = {rows, width}};
    error err = {0};
    tensor numbers, result;
    evaluated e;
    char program[64];

    assert_true(tensor_new(&numbers, NULL, DT_F64, &s, &err));
    for (int64_t i = 0; i < rows * width; i++)
        ((double *)tensor_bytes(&numbers))[i] = (double)(i * 7919 % 10007) / 5003 - 1;
    snprintf(program, sizeof program, "astype(a, %s)", dtype_name(t));
    evaluate_rows(&e, program, &numbers);
    assert_true(tensor_new(&result, NULL, t, &s, &err)); /* outlives what e pays for */
    tensor_copy_dense(&e.results[0], tensor_bytes(&result));
    evaluated_clear(&e);
    tensor_unref(&numbers);
    return result;
}

/* Compares the result's row with that of the program for the row alone. */
static void check_row(const char *program, const tensor *a, const tensor *whole, int64_t row)
{
    const size_t bytes = (size_t)(tensor_nbytes(whole) / ROWS);
    tensor alone = *a;
    evaluated e;

    alone.shape.length[0] = 1;
    alone.offset += row * a->strides[0];
    evaluate_rows(&e, program, &alone);
    assert_int_equal(tensor_nbytes(&e.results[0]), bytes);
    if (memcmp((char *)tensor_bytes(whole) + (size_t)row * bytes, tensor_bytes(&e.results[0]),
               bytes) != 0)
        fail_msg("%s of %s[%d, %ld]: row %ld differs", program, dtype_name(a->dtype), ROWS,
                 (long)a->shape.length[1], (long)row);
    evaluated_clear(&e);
}

static void rows_do_not_depend_on_their_place(void **state)
{
    (void)state;
    for (size_t t = 0; t < sizeof dtypes / sizeof *dtypes; t++)
        for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
            tensor a = matrix(dtypes[t], ROWS, widths[w]);

            for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
                evaluated e;

                if (dtypes[t] == DT_C128 && strstr(programs[i], "max") != NULL)
                    continue;
                evaluate_rows(&e, programs[i], &a);
                for (int64_t row = 0; row < ROWS; row += row < 40 ? 1 : 9)
                    check_row(programs[i], &a, &e.results[0], row);
                evaluated_clear(&e);
            }
            tensor_unref(&a);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_do_not_depend_on_their_place)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}

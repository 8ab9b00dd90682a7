/* SPDX-License-Identifier: Apache-2.0 */
/* What a plan says it will need is what the run takes: never less, at most a tenth more. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/lib/evaluate.h"

static const char *const programs[] = {
    "a + b",
    "2*a + 3*b*sin(a) - exp(b)",
    "x = a*b\ny = x + a\nz = y @ b\nz.sum(axis=0), x.max()",
    "softmax(a)",
    "softmax(a, axis=0)",
    "a.sum(), a.sum(axis=0), a.mean(axis=1, keepdims=True)",
    "var(a), std(b, axis=0)",
    "a.T @ b",
    "(a.T + b).reshape(-1)[::7]",
    "concatenate([a, b, a], axis=1).sum()",
    "stack([a, b])",
    "tensordot(a, b, 1)",
    "cumsum(a, axis=0), argmax(b)",
    "a[a > 0.5]",
    "a[[0, 3, 5]], a[:, [1, 2]]",
    "x = a\nx[2:5] = 0\nx[x > 0.7] = 1\nx",
    "nonzero(a > 0.9)",
    "astype(a, float16) * astype(b, float32)",
    "cond(a.sum() > 0, lambda: a @ b, lambda: a * 2)",
    "cond(a.sum() < 0, lambda: a @ b, lambda: (a * 2)[1:])",
    "x = a\nx = x + 1\nx = x * 2\nx = sqrt(x)\nx = x @ a\nx = x - b\nx",
    "zeros((500, 500)) + a[:1, :1]",
    "linspace(0, 1, 100000).reshape(100, 1000).sum(axis=1)",
    "rand((300, 300), seed=1) * 2",
    "where(a > b, a, b), clip(a, 0.25, 0.75), divmod(a, b)",
    "flip(a) + transpose(b)",
    "x = [a, b]\nmean(x, axis=0)",
    "n = (a > 0.5).sum()\nzeros(n) + 1",
};

/* A square of numbers between 0 and 1. */
static tensor square(int n, int seed)
{
    const shape s = {.rank = 2, .length = {n, n}};
    error err = {0};
    tensor t;

    assert_true(tensor_new(&t, NULL, DT_F64, &s, &err));
    for (int i = 0; i < n * n; i++)
        ((double *)tensor_bytes(&t))[i] = (double)((i * 7919 + seed * 104729) % 10007) / 10007;
    return t;
}

static void check_peaks(int n)
{
    evaluation_input inputs[] = {{"a", square(n, 1)}, {"b", square(n, 2)}};
    const evaluation_options options = {.input_count = 2, .inputs = inputs};

    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        evaluated e;

        evaluate(&e, programs[i], &options);
        if (error_is_set(&e.err))
            fail_msg("%s: %s", programs[i], e.err.detail);
        if (e.stats.peak_bytes < e.budget.peak || e.stats.peak_bytes * 10 > e.budget.peak * 11)
            fail_msg("%s of %d x %d: planned %ld bytes, took %ld", programs[i], n, n,
                     (long)e.stats.peak_bytes, (long)e.budget.peak);
        evaluated_clear(&e);
    }
    tensor_unref(&inputs[0].value);
    tensor_unref(&inputs[1].value);
}

static void planned_peaks_are_true_for_small_tensors(void **state)
{
    (void)state;
    check_peaks(10);
}

static void planned_peaks_are_true_for_large_tensors(void **state)
{
    (void)state;
    check_peaks(300);
}

/* A limit just below the planned peak refuses; at the peak it runs. */
static void a_plan_above_the_limit_is_refused(void **state)
{
    evaluated e;

    (void)state;
    evaluate(&e, "x = zeros((20000, 20000)) + 1\n(x @ x).sum()", NULL);
    assert_int_equal(e.err.kind, ERR_PLAN_MEMORY);
    assert_int_equal(e.budget.peak, 0);
    evaluated_clear(&e);
}

/* Sixty doublings: the size is known to be absurd before anything is allocated. */
static void doublings_are_refused_before_they_run(void **state)
{
    char program[8192] = "x = [1, 2]\n";
    evaluated e;

    (void)state;
    for (int i = 0; i < 60; i++)
        strcat(program, "x = concatenate([x, x])\n");
    strcat(program, "x.sum()");
    evaluate(&e, program, NULL);
    assert_int_equal(e.err.kind, ERR_SHAPE_INVALID);
    assert_int_equal(e.budget.peak, 0);
    evaluated_clear(&e);
}

/* A softmax hands e^x and the sums on row by row: it needs little but its result. */
static void what_rows_hand_on_takes_no_buffer(void **state)
{
    evaluation_input input = {"a", square(500, 1)};
    const evaluation_options options = {.input_count = 1, .inputs = &input};
    evaluated e;

    (void)state;
    evaluate(&e, "softmax(a)", &options);
    assert_false(error_is_set(&e.err));
    assert_true(e.budget.peak < 500 * 500 * 8 * 3 / 2);
    evaluated_clear(&e);
    tensor_unref(&input.value);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(planned_peaks_are_true_for_small_tensors),
        cmocka_unit_test(planned_peaks_are_true_for_large_tensors),
        cmocka_unit_test(what_rows_hand_on_takes_no_buffer),
        cmocka_unit_test(a_plan_above_the_limit_is_refused),
        cmocka_unit_test(doublings_are_refused_before_they_run),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What gradients of loops take: a long scan goes in pieces, whose gradients are those of the
 * whole; a while loop that would record too much is refused. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/lib/evaluate.h"

static evaluated *run(evaluated *e, const char *words)
{
    evaluate(e, words, NULL);
    return e;
}

static void is_true(const char *words)
{
    evaluated e;

    if (error_is_set(&run(&e, words)->err) || strcmp(evaluated_text(&e), "bool [] True") != 0)
        fail_msg("%s\ngives %s%s", words, evaluated_text(&e), e.err.detail);
    evaluated_clear(&e);
}

/* 10,000 steps that carry 3,000 numbers would record 240 MB. */
static void a_long_scan_records_the_root_of_its_steps(void **state)
{
    static const char words[] =
        "w = linspace(0.0, 1.0, 10000)\n"
        "f = lambda x: sum(scan(lambda c, y: (c * 0.999 + y * c * c, None), x, w)[0])\n"
        "sum(grad(f, linspace(0.0, 1e-3, 3000)))";
    const int64_t carried = 3000 * 8;
    evaluated e;

    (void)state;
    if (error_is_set(&run(&e, words)->err))
        fail_msg("%s", e.err.detail);
    if (e.budget.peak > 2 * 100 * carried + (1 << 20) || e.stats.peak_bytes < e.budget.peak)
        fail_msg("took %" PRId64 " bytes, planned %" PRId64, e.budget.peak, e.stats.peak_bytes);
    evaluated_clear(&e);
}

/* One that records little is recorded whole, and no step is done twice. */
static void a_short_tape_is_not_cut(void **state)
{
    static const char words[] = "w = linspace(0.0, 1.0, %d)\n"
                                "f = lambda x: scan(lambda c, y: (c * y + y, None), x, w)[0]\n"
                                "sum(grad(lambda x: sum(f(x)), linspace(0.0, 1.0, %d)))";
    char program[512];
    double work[2];

    (void)state;
    for (int i = 0; i < 2; i++) {
        evaluated e;

        snprintf(program, sizeof program, words, i == 0 ? 400 : 1600, 4000);
        if (error_is_set(&run(&e, program)->err))
            fail_msg("%s", e.err.detail);
        work[i] = e.stats.work / (i == 0 ? 400 : 1600);
        evaluated_clear(&e);
    }
    assert_true(work[1] > work[0] * 1.2); /* 13 MB, and 51 MB in pieces */
}

/* The same steps on few numbers, which are recorded whole, and on many, in pieces: each
 * number goes its own way, so the gradients of the first ones must agree. 300 steps are 17
 * pieces of 17, and 11. */
static void pieces_have_the_gradients_of_the_whole(void **state)
{
    static const char *const functions[] = {
        /* carried, walked along and captured values */
        "def f(x, y, w): return sum(scan(lambda c, a: (c * w + sin(c * a), None), x, y)[0] ** 2)",
        /* stacked ones, which come back by way of the pieces and of what is left */
        "def f(x, y, w): return sum(scan(lambda c, a: (c * w + a, sin(c) * a), x, y)[1] * y)",
        /* an integer that is carried along, and two things at once */
        "def f(x, y, w):\n"
        "    step = lambda c, a: ((c[0] * w + a[0], c[1] + 1, c[2]), (c[0] * c[1], a[1] * c[2]))\n"
        "    final, rows = scan(step, (x, 0, x), (y, y * 2))\n"
        "    return sum(final[0] + final[2]) + sum(rows[0] * 0.01 + rows[1])",
        /* nothing to walk along */
        "def f(x, y, w): return sum(scan(lambda c, a: (sin(c) * w, None), x, None, length=300)[0]"
        " + y[0])",
    };
    char program[2048];

    (void)state;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        snprintf(program, sizeof program,
                 "%s\n"
                 "def at(n): return grad(f, (x[:n], y[:, :n], w[:n]))\n"
                 "x = linspace(0.5, 0.7, 7200)\n"
                 "w = linspace(0.9, 0.95, 7200)\n"
                 "y = reshape(linspace(-0.1, 0.1, 2160000), (300, 7200))\n"
                 "many, few = at(7200), at(50)\n"
                 "near = lambda a, b: max(abs(a - b)) < 1e-11 * (1 + max(abs(b)))\n"
                 "near(many[0][:50], few[0]) & near(many[1][:, :50], few[1]) & "
                 "near(many[2][:50], few[2])",
                 functions[i]);
        is_true(program);
    }
}

static void pieces_can_be_differentiated_again(void **state)
{
    (void)state;
    is_true("def f(x): return sum(scan(lambda c, a: (c * 0.9 + sin(c * a), None), x, a)[0])\n"
            "def g(x): return sum(grad(f, x) ** 2)\n"
            "a = linspace(0.0, 1.0, 300)\n"
            "x = linspace(0.5, 0.7, 7200)\n"
            "many, few = grad(g, x), grad(g, x[:50])\n"
            "max(abs(many[:50] - few)) < 1e-9 * (1 + max(abs(few)))");
}

/* The tape of a while loop is known when its steps were counted. */
static void a_tape_above_the_limit_is_refused(void **state)
{
    static const char words[] = "f = lambda x: sum(while_loop(lambda i, v: i < 600,\n"
                                "    lambda i, v: (i + 1, v * 0.5), (0, x))[1])\n"
                                "sum(grad(f, linspace(0.0, 1.0, 1000000)))";
    evaluated e;

    (void)state;
    assert_int_equal(run(&e, words)->err.kind, ERR_PLAN_MEMORY);
    assert_true(e.budget.peak < 100 << 20);
    evaluated_clear(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_long_scan_records_the_root_of_its_steps),
        cmocka_unit_test(a_short_tape_is_not_cut),
        cmocka_unit_test(pieces_have_the_gradients_of_the_whole),
        cmocka_unit_test(pieces_can_be_differentiated_again),
        cmocka_unit_test(a_tape_above_the_limit_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

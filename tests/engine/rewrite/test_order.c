/* SPDX-License-Identifier: Apache-2.0 */
/* Chains of matrix products: the cheapest order, where it may be changed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/lib/rewritten.h"

enum { MATRICES = 6 };

/* Matrices a, b, c .. of a type whose lengths follow each other. */
typedef struct matrices {
    evaluation_input inputs[MATRICES];
    evaluation_options how;
} matrices;

static void matrices_init(matrices *m, dtype t, const int64_t dims[MATRICES + 1])
{
    static const char *const names[] = {"a", "b", "c", "d", "e", "f"};

    for (int i = 0; i < MATRICES; i++)
        m->inputs[i] = (evaluation_input){names[i], numbers_of(t, 2, dims[i], dims[i + 1], i)};
    m->how = (evaluation_options){.input_count = MATRICES, .inputs = m->inputs};
}

static void matrices_clear(matrices *m)
{
    for (int i = 0; i < MATRICES; i++)
        tensor_unref(&m->inputs[i].value);
}

static double work_of(matrices *m, const char *program, bool strict)
{
    evaluation_options how = m->how;
    evaluated e;
    double work;

    how.strict = strict;
    evaluate(&e, program, &how);
    if (error_is_set(&e.err))
        fail_msg("%s: %s", program, e.err.detail);
    work = e.stats.work;
    evaluated_clear(&e);
    return work;
}

/* The example of the textbooks: 15125 multiplications rather than 40500. */
static const int64_t textbook[] = {30, 35, 15, 5, 10, 20, 25};

static void the_cheapest_order_is_taken(void **state)
{
    static const char *const programs[] = {
        "a @ b @ c @ d @ e @ f",
        "a @ (b @ (c @ (d @ (e @ f))))",
        "(a @ b) @ ((c @ d) @ (e @ f))",
        "matmul(dot(a, b), c) @ d @ dot(e, f)",
        "p = a @ b\nq = p @ c\nr = d @ e\nq @ (r @ f)",
    };
    matrices m;

    (void)state;
    matrices_init(&m, DT_F64, textbook);
    const double best = work_of(&m, "(a @ (b @ c)) @ ((d @ e) @ f)", true);
    const double written = work_of(&m, programs[0], true);
    assert_true(best * 40500 < written * 15125 * 1.01 && best * 40500 > written * 15125 * 0.99);
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        if (work_of(&m, programs[i], false) != best)
            fail_msg("%s takes %g, not %g", programs[i], work_of(&m, programs[i], false), best);
    }
    matrices_clear(&m);
}

static void assert_close(evaluated *a, evaluated *b)
{
    const evaluation_input both[] = {{"p", a->results[0]}, {"q", b->results[0]}};
    const evaluation_options how = {.input_count = 2, .inputs = both};
    evaluated e;

    evaluate(&e,
             "all(absolute(astype(p, complex128) - q) <= 1e-5 * "
             "max(absolute(astype(p, complex128))))",
             &how);
    assert_int_equal(e.count, 1);
    assert_true(*(const bool *)tensor_bytes(&e.results[0]));
    evaluated_clear(&e);
}

/* Close for numbers that round, the same bits for integers, which wrap. */
static void results_are_those_of_the_order_written(void **state)
{
    static const dtype types[] = {DT_F32, DT_F64, DT_C64, DT_C128, DT_I8, DT_U16, DT_I64};

    (void)state;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        evaluation_options plain;
        evaluated e, want;
        matrices m;

        matrices_init(&m, types[i], textbook);
        plain = m.how;
        plain.unoptimized = true;
        evaluate(&e, "a @ b @ c @ d @ e @ f", &m.how);
        evaluate(&want, "a @ b @ c @ d @ e @ f", &plain);
        assert_true(e.stats.work < want.stats.work);
        if (dtype_is_integer(types[i]))
            assert_true(same_bits(&e.results[0], &want.results[0]));
        else
            assert_close(&e, &want);
        evaluated_clear(&e);
        evaluated_clear(&want);
        matrices_clear(&m);
    }
}

/* Products that are used twice, or are results, stay; so do halves, and all under strict. */
static void what_must_stay_stays(void **state)
{
    static const int64_t column[] = {40, 40, 1, 1, 1, 1, 1};
    static const struct {
        dtype type;
        bool strict, changes;
        const char *program;
    } cases[] = {
        {DT_F32, false, true, "a @ a @ b"},
        {DT_F32, true, false, "a @ a @ b"},
        {DT_F16, false, false, "a @ a @ b"},
        {DT_I32, true, true, "a @ a @ b"},
        {DT_F32, false, false, "p = a @ a\np @ b + p[:, :1]"},
        {DT_F32, false, false, "p = a @ a\np @ b, p"},
        {DT_F32, false, false, "(a @ a) @ b + (a @ a)[:, :1]"},
        {DT_F32, false, false, "a @ (a @ b)"},
        {DT_F32, false, false, "a @ a @ b[:, 0]"},
        {DT_F32, false, true, "fori_loop(0, 3, lambda i, v: a @ a @ v, b)"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rewritten r;
        matrices m;

        matrices_init(&m, cases[i].type, column);
        rewritten_init(&r, cases[i].program, m.inputs, MATRICES,
                       (rewrite_options){.strict = cases[i].strict});
        if (r.graph == NULL)
            fail_msg("%s: %s", cases[i].program, r.source.err.detail);
        if ((rewritten_count(&r, "order") > 0) != cases[i].changes)
            fail_msg("%s of %s: %d chains changed", cases[i].program, dtype_name(cases[i].type),
                     rewritten_count(&r, "order"));
        rewritten_clear(&r);
        matrices_clear(&m);
    }
}

/* A hundred products in a row are cut after 64 operands: the rest is put in order. */
static void long_chains_are_cut(void **state)
{
    static const int64_t square[] = {8, 8, 1, 1, 1, 1, 1};
    text t;
    matrices m;

    (void)state;
    text_init(&t);
    for (int i = 0; i < 100; i++)
        text_add(&t, "a @ ");
    text_add(&t, "b");
    text_add_char(&t, '\0');
    matrices_init(&m, DT_F64, square);
    assert_true(work_of(&m, t.bytes, false) < work_of(&m, t.bytes, true) * 0.7);
    matrices_clear(&m);
    text_clear(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cheapest_order_is_taken),
        cmocka_unit_test(results_are_those_of_the_order_written),
        cmocka_unit_test(what_must_stay_stays),
        cmocka_unit_test(long_chains_are_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

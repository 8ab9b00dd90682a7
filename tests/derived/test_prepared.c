/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluations that run a kept plan give what those without one give, and an evaluation that is
 * other in anything never runs another's plan. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/lib/evaluate.h"

enum { ROOM = 16 << 20 };

/* The text of what a program gives. A comment of another length each time puts what belongs to
 * the evaluation at other addresses, so that nothing kept can live on it unnoticed. */
static const char *text_of(const char *program, const evaluation_options *options, char to[4096])
{
    static _Atomic unsigned turn;
    char commented[1024];
    evaluated e;

    snprintf(commented, sizeof commented, "%s # %*s", program, (int)(turn++ * 37 % 331), "");
    evaluate(&e, commented, options);
    snprintf(to, 4096, "%s%s", evaluated_text(&e), e.stats.divided ? " divided" : "");
    evaluated_clear(&e);
    return to;
}

/* How many more evaluations ran a kept plan. */
static int64_t new_hits(void)
{
    static int64_t before;
    const int64_t hits = engine_cache_count().hits, more = hits - before;

    before = hits;
    return more;
}

static void check_again(const char *program, const evaluation_options *options)
{
    char want[4096], got[4096];

    engine_cache_limit(0);
    text_of(program, options, want);
    engine_cache_limit(ROOM);
    for (int i = 0; i < 4; i++)
        if (strcmp(text_of(program, options, got), want) != 0)
            fail_msg("%s gives %s, and time %d %s", program, want, i + 1, got);
}

static void every_example_gives_the_same_again(void **state)
{
    const evaluation_options unoptimized = {.unoptimized = true}, strict = {.strict = true};
    size_t count;

    (void)state;
    evaluate_init();
    const op_def *const *all = ops_all(&count);
    new_hits();
    for (size_t i = 0; i < count; i++) {
        if (all[i]->example == NULL || (all[i]->traits & OP_IMPURE) != 0)
            continue;
        check_again(all[i]->example, NULL);
        check_again(all[i]->example, &strict);
        check_again(all[i]->example, &unoptimized);
    }
    assert_true(new_hits() > (int64_t)count);
}

/* 0, 1, .. 11 in three rows. */
static tensor matrix(void)
{
    const shape s = {.rank = 2, .length = {3, 4}};
    tensor result;
    error err = {0};

    assert_true(tensor_new(&result, NULL, DT_F64, &s, &err));
    for (int i = 0; i < 12; i++)
        ((double *)tensor_bytes(&result))[i] = i;
    return result;
}

/* Programs that differ in little, each with its own value, asked for in turns. */
static void what_differs_is_not_taken_for_another(void **state)
{
    static const char *const programs[] = {
        "x = array([1.0, 2.0]); x + 1",
        "x = array([1.0, 2.0]); x + 2",
        "x = array([1, 2]); x + 1",
        "x = array([1, 2]); x + 1.0",
        "x = float32([1, 2]); x + 1",
        "x = float32([1, 2]); x + float64(1)",
        "x = array([1.0, -0.0]); 1 / x",
        "x = array([1.0, 0.0]); 1 / x",
        "x = ones((2, 3)); x.sum(axis=0)",
        "x = ones((2, 3)); x.sum(axis=1)",
        "x = ones((3, 2)); x.sum(axis=0)",
        "x = ones((2, 3)); x.sum()",
        "x = arange(6); x[1:4]",
        "x = arange(6); x[1:5]",
        "x = arange(6); x[1:5:2]",
        "x = arange(6); x[-1]",
        "x = arange(3); x, x + 1",
        "x = arange(3); x + 1, x",
        "x = int8([100, 2]); x + x",
        "x = uint8([100, 2]); x + x",
        "x = array([7, 8]); x // 0",
        "x = array([7, 8]); x // 2",
        "x = array([1, 0, 2]); x[x > 0]",
        "x = array([1, 0, 0]); x[x > 0]",
        "astype([1, 2], \"float32\")",
        "astype([1, 2], \"float64\")",
        "x = array([[1.0, 2.0]]); x @ x.T",
        "x = array([[1.0, 2.0]]); x.T @ x",
        "x[[0, 2]]",
        "x[:, [0, 1, -1]]",
        "x[[0, 2], 1:3]",
        "x[1] = 7; x",
        "x[1:3, 1:] = 7; x",
        "x[:, ::-2] = 7; x",
        "x[[0, 2]] = 7; x",
        "sort(x, axis=0)",
        "argmax(x, axis=1)",
        "x = array([1.5]); cond(x[0] > 1, lambda: 1, lambda: 2)",
        "x = array([0.5]); cond(x[0] > 1, lambda: 1, lambda: 2)",
    };
    enum { COUNT = sizeof programs / sizeof *programs };
    static char want[COUNT][4096];
    const evaluation_input x = {"x", matrix()};
    const evaluation_options options = {.input_count = 1, .inputs = &x};
    char got[4096];

    (void)state;
    evaluate_init();
    engine_cache_limit(0);
    for (int i = 0; i < COUNT; i++)
        text_of(programs[i], &options, want[i]);
    engine_cache_limit(ROOM);
    new_hits();
    for (int turn = 0; turn < 4; turn++)
        for (int i = 0; i < COUNT; i++)
            if (strcmp(text_of(programs[i], &options, got), want[i]) != 0)
                fail_msg("%s gives %s, not %s", programs[i], got, want[i]);
    assert_true(new_hits() > COUNT);
    tensor_unref((tensor *)&x.value);
}

/* An input of n numbers, the first of which is x. */
static tensor numbers(dtype t, int64_t n, double x)
{
    const shape s = {.rank = 1, .length = {n}};
    tensor result;
    error err = {0};

    assert_true(tensor_new(&result, NULL, t, &s, &err));
    memset(tensor_bytes(&result), 0, (size_t)tensor_nbytes(&result));
    if (t == DT_F64)
        *(double *)tensor_bytes(&result) = x;
    else
        *(float *)tensor_bytes(&result) = (float)x;
    return result;
}

/* What s + x * 2 gives for an input x, in which only its values are not part of the plan. */
static void check_input(dtype t, int64_t n, double x)
{
    const evaluation_input input = {"x", numbers(t, n, x)};
    const evaluation_options options = {.input_count = 1, .inputs = &input};
    evaluated e;

    evaluate(&e, "x * 2 + 1", &options);
    assert_false(error_is_set(&e.err));
    assert_int_equal(e.results[0].dtype, t);
    assert_int_equal(tensor_size(&e.results[0]), n);
    if (t == DT_F64)
        assert_true(*(double *)tensor_bytes(&e.results[0]) == 2 * x + 1);
    else
        assert_true(*(float *)tensor_bytes(&e.results[0]) == 2 * (float)x + 1);
    evaluated_clear(&e);
    tensor_unref((tensor *)&input.value);
}

static void inputs_have_their_own_values_types_and_lengths(void **state)
{
    int64_t made;

    (void)state;
    evaluate_init();
    engine_cache_limit(ROOM);
    new_hits();
    made = engine_cache_count().made;
    for (int i = 0; i < 60; i++)
        check_input(i % 2 ? DT_F64 : DT_F32, 1 + i % 3, i / 4.0);
    assert_int_equal(new_hits(), 60 - 2 * 6);
    assert_int_equal(engine_cache_count().made - made, 6);
}

static void draws_are_drawn_anew(void **state)
{
    char a[4096], b[4096];

    (void)state;
    evaluate_init();
    engine_cache_limit(ROOM);
    for (int i = 0; i < 3; i++) {
        text_of("random_uniform((4,)) + 1", NULL, a);
        text_of("random_uniform((4,)) + 1", NULL, b);
        assert_string_not_equal(a, b);
    }
}

static void what_is_kept_is_bounded(void **state)
{
    char program[64], got[4096], want[64];

    (void)state;
    evaluate_init();
    engine_cache_limit(1 << 20);
    for (int i = 0; i < 300; i++)
        for (int turn = 0; turn < 3; turn++) {
            snprintf(program, sizeof program, "x = array([%d, 1]); x + 1", i);
            snprintf(want, sizeof want, "int64 [2] [%d, 2]", i + 1);
            assert_string_equal(text_of(program, NULL, got), want);
            assert_true(engine_cache_count().bytes <= 1 << 20);
        }
    assert_true(engine_cache_count().entries > 3);
    assert_true(engine_cache_count().entries < 300);
}

static void *evaluate_often(void *failures)
{
    char program[64], got[4096], want[64];

    for (int i = 0; i < 1500; i++) {
        const int k = i % 37;

        snprintf(program, sizeof program, "x = array([%d, 1]); x * 3", k);
        snprintf(want, sizeof want, "int64 [2] [%d, 3]", 3 * k);
        if (strcmp(text_of(program, NULL, got), want) != 0)
            ++*(_Atomic int *)failures;
    }
    return NULL;
}

static void threads_share_what_is_kept(void **state)
{
    pthread_t threads[4];
    _Atomic int failures = 0;

    (void)state;
    evaluate_init();
    engine_cache_limit(1 << 20); /* not all fit: they come and go */
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, evaluate_often, &failures), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(failures, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_example_gives_the_same_again),
        cmocka_unit_test(what_differs_is_not_taken_for_another),
        cmocka_unit_test(inputs_have_their_own_values_types_and_lengths),
        cmocka_unit_test(draws_are_drawn_anew),
        cmocka_unit_test(what_is_kept_is_bounded),
        cmocka_unit_test(threads_share_what_is_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

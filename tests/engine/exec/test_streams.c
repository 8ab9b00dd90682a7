/* SPDX-License-Identifier: Apache-2.0 */
/* What is made a window of rows at a time and given away has the bits that it has when it is made
 * whole, within the memory that was planned; what cannot be is refused before anything runs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/lib/evaluate.h"

enum { ROWS = 3000, COLUMNS = 40, LONG = 600000, OUTPUTS = 4 };

/* Who takes an output: all bytes, side by side. */
typedef struct taker {
    dtype dtype;
    shape shape;
    char *bytes;
    size_t count, pieces;
} taker;

static bool take_type(void *context, dtype t, const shape *s, error *err)
{
    taker *to = context;

    (void)err;
    to->dtype = t;
    to->shape = *s;
    to->bytes = malloc((size_t)shape_size(s) * dtype_size(t) + 1);
    return true;
}

static bool take_bytes(void *context, const void *bytes, size_t n, error *err)
{
    taker *to = context;

    (void)err;
    assert_true(to->count + n <= (size_t)shape_size(&to->shape) * dtype_size(to->dtype));
    memcpy(to->bytes + to->count, bytes, n);
    to->count += n;
    to->pieces++;
    return true;
}

static bool refuse_bytes(void *context, const void *bytes, size_t n, error *err)
{
    (void)context;
    (void)bytes;
    (void)n;
    return error_set(err, ERR_DISK, "full");
}

/* ---- Inputs ------------------------------------------------------------------------------------
 */

static tensor numbers(dtype t, const shape *s, int seed)
{
    error err = {0};
    tensor result;

    assert_true(tensor_new(&result, NULL, t, s, &err));
    for (int64_t i = 0; i < shape_size(s); i++) {
        const int64_t x = (i * 7919 + seed * 104729) % 10007;

        if (t == DT_F64)
            ((double *)tensor_bytes(&result))[i] = (double)x / 997 - 4;
        else if (t == DT_F32)
            ((float *)tensor_bytes(&result))[i] = (float)x / 997 - 4;
        else
            ((int32_t *)tensor_bytes(&result))[i] = (int32_t)x;
    }
    return result;
}

static evaluation_input inputs[] = {{.name = "a"}, {.name = "b"}, {.name = "w"}, {.name = "i"},
                                    {.name = "v"}, {.name = "f"}, {.name = "n"}, {.name = "t"}};
enum { INPUTS = sizeof inputs / sizeof *inputs };
static const evaluation_options options = {.input_count = INPUTS, .inputs = inputs};

static int make_inputs(void **state)
{
    const shape table = {.rank = 2, .length = {ROWS, COLUMNS}},
                line = {.rank = 1, .length = {LONG}};
    const shape square = {.rank = 2, .length = {COLUMNS, COLUMNS}};
    const shape cube = {.rank = 3, .length = {50, 20, COLUMNS}};
    const shape narrow = {.rank = 2, .length = {20000, 6}},
                tall = {.rank = 2, .length = {40000, 32}};

    (void)state;
    inputs[0].value = numbers(DT_F64, &table, 1);
    inputs[1].value = numbers(DT_F64, &table, 2);
    inputs[2].value = numbers(DT_F64, &square, 3);
    inputs[3].value = numbers(DT_I32, &table, 4);
    inputs[4].value = numbers(DT_F64, &line, 5);
    inputs[5].value = numbers(DT_F32, &cube, 6);
    inputs[6].value = numbers(DT_F64, &narrow, 7);
    inputs[7].value = numbers(DT_F64, &tall, 8);
    return 0;
}

static int clear_inputs(void **state)
{
    (void)state;
    for (int i = 0; i < INPUTS; i++)
        tensor_unref(&inputs[i].value);
    return 0;
}

/* ---- Running -----------------------------------------------------------------------------------
 */

/* Runs what e has built once more, its outputs taken. */
static void run_taken(evaluated *e, taker *takers, int64_t limit, int64_t window)
{
    sink sinks[OUTPUTS];
    evaluation_options how = options;

    memset(takers, 0, OUTPUTS * sizeof *takers);
    for (int i = 0; i < OUTPUTS; i++)
        sinks[i] = (sink){take_type, take_bytes, &takers[i]};
    how.sinks = sinks;
    how.peak_bytes = limit;
    plan_set_window_bytes(window);
    evaluate_graph(e, e->graph, &how);
    plan_set_window_bytes(4 << 20);
}

static bool same_as(const taker *t, const tensor *whole)
{
    char *dense = malloc((size_t)tensor_nbytes(whole) + 1);
    bool same = t->dtype == whole->dtype && shape_equal(&t->shape, &whole->shape) &&
                t->count == (size_t)tensor_nbytes(whole);

    tensor_copy_dense(whole, dense);
    same = same && memcmp(dense, t->bytes, t->count) == 0;
    free(dense);
    return same;
}

static void clear(taker *takers)
{
    for (int i = 0; i < OUTPUTS; i++)
        free(takers[i].bytes);
}

/* Every output is taken, in several pieces, and is what it is when it is made whole. */
static void check(const char *program, int64_t window)
{
    taker takers[OUTPUTS];
    evaluated whole, e;

    evaluate(&whole, program, &options);
    evaluate(&e, program, &options);
    if (error_is_set(&whole.err))
        fail_msg("%s: %s", program, whole.err.detail);
    run_taken(&e, takers, (int64_t)1 << 32, window);
    if (error_is_set(&e.err))
        fail_msg("%s: %s", program, e.err.detail);
    for (int i = 0; i < e.count; i++) {
        if (e.results[i].buf != NULL || takers[i].pieces < 2)
            fail_msg("%s: output %d came in %zu pieces", program, i, takers[i].pieces);
        if (!same_as(&takers[i], &whole.results[i]))
            fail_msg("%s: output %d has other bits in windows of %ld", program, i, (long)window);
    }
    if (e.stats.peak_bytes < e.budget.peak || e.stats.peak_bytes * 10 > e.budget.peak * 11)
        fail_msg("%s: planned %ld bytes, took %ld", program, (long)e.stats.peak_bytes,
                 (long)e.budget.peak);
    clear(takers);
    evaluated_clear(&whole);
    evaluated_clear(&e);
}

static const char *const streaming[] = {
    "2*a + 1",
    "v * 2 - v / 3",
    "2*v + 1, sqrt(abs(v))",
    "a + b * w[3]",
    "a - a.mean()",
    "a - a.mean(axis=0)",
    "a - a.mean(axis=1, keepdims=True)",
    "softmax(a)",
    "(a - a.mean(axis=1, keepdims=True)) / sqrt(var(a, axis=1, keepdims=True) + 1e-5)",
    "f @ w",
    "cumsum(v)",
    "cumsum(a)",
    "cumsum(a, axis=0)",
    "cumsum(a, axis=1)",
    "cumsum(f.astype(float16), axis=0)",
    "cumsum(v * 2) * 3 + 1",
    "cumsum(i, axis=-2) % 7",
    "astype(a * 100, int16)",
    "i.astype(bool)",
    "astype(f, bfloat16) * 2",
    "where(a > b, a, b)",
    "arange(50000), arange(3.0, 30000.0, 0.5) * 2",
    "linspace(0, 1, 30001), linspace(5, 3, 20000, endpoint=False)",
    "rand((700, 30), seed=3) * 2, standard_normal(30000, seed=4)",
    "a.T + 1",
    "f.reshape(1000, 40) * 2",
    "v[::-1] * 2",
    "broadcast_to(v[:40], (3000, 40)) + a",
    "exp(a) * complex(1, 2)",
    /* more operations than one pass takes */
    "f = lambda x: cos(x * 1.5 + a / 7 - x * x) + 1 / (x + 9)\nf(f(f(f(f(f(sin(a)))))))",
};

/* What makes many rows at a time. */
static const char *const in_blocks[] = {
    "softmax(a) @ w",
    "a @ w",
    "relu(a @ w + w[0]) @ w",
    "t.astype(int32) @ t[:32].astype(int64)",
    "v.reshape(-1, 2) @ w[0, :2]",
    "softmax(n)",
    "n - n.mean(axis=1, keepdims=True)",
    "n * n.sum(axis=1)[:, None], n + 1",
};

static void streams_have_the_bits_of_the_whole(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof streaming / sizeof *streaming; i++) {
        check(streaming[i], 4096);
        check(streaming[i], 20000);
    }
    for (size_t i = 0; i < sizeof in_blocks / sizeof *in_blocks; i++)
        check(in_blocks[i], 128 << 10);
}

/* What is large and handed on needs no memory as a whole, even if it is folded on the way. */
static void what_is_handed_on_streams_within_the_limit(void **state)
{
    static const char *const programs[] = {
        "(t @ t[:32]).sum(axis=1)",
        "relu(t @ t[:32] + 1).max(axis=1)",
        "(cumsum(t, axis=0) * 2).sum(axis=1)",
        "(cumsum(v) * 2).sum()",
        "(cumsum(t, axis=0) + t[1]).sum(axis=0)",
        "cumsum(t, axis=0).reshape(-1, 8).sum(axis=1)",
        "y = 2*v + 1\ny, y.sum(), y.max()",
        "softmax(v)",
        "exp(v) / exp(v).sum()",
        "y = exp(v)\nz = (y - y.mean()) / y.max()\nz",
        "y = sqrt(abs(t))\n(y - y.mean(axis=0)) / std(y, axis=0)",
        "y = cumsum(v.reshape(-1, 1) * [[1.0, 2.0]], axis=0)\ny, y.sum(axis=0), y.max(axis=1)",
        "y = cumsum(t)\ny, sum(y)",
        "y = cumsum(t, axis=0) * t[2]\ny, y.mean(), y.mean(axis=0), y.mean(axis=1)",
    };

    (void)state;
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        taker takers[OUTPUTS];
        evaluated whole, e;

        evaluate(&whole, programs[i], &options);
        evaluate(&e, programs[i], &options);
        run_taken(&e, takers, whole.stats.peak_bytes - 1, 512 << 10);
        if (error_is_set(&e.err))
            fail_msg("%s: %s", programs[i], e.err.detail);
        if (e.stats.peak_bytes < e.budget.peak)
            fail_msg("%s: planned %ld bytes, took %ld", programs[i], (long)e.stats.peak_bytes,
                     (long)e.budget.peak);
        for (int k = 0; k < e.count; k++)
            if (e.results[k].buf == NULL ? !same_as(&takers[k], &whole.results[k])
                                         : !same_bits(&e.results[k], &whole.results[k]))
                fail_msg("%s: output %d has other bits", programs[i], k);
        clear(takers);
        evaluated_clear(&whole);
        evaluated_clear(&e);
    }
}

static void what_cannot_stream_is_refused_with_its_reason(void **state)
{
    static const struct {
        const char *program, *why;
    } cases[] = {
        {"concatenate([v, v])", "concatenate does not stream"},
        {"flip(cumsum(flip(v)))", "cumsum needs all of it"},
        {"(2 * v)[1:]", "not just stored row by row"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        taker takers[OUTPUTS];
        evaluated e;

        evaluate(&e, cases[i].program, &options);
        run_taken(&e, takers, LONG * 8 / 2, 2048);
        assert_int_equal(e.err.kind, ERR_PLAN_MEMORY);
        if (strstr(e.err.detail, cases[i].why) == NULL)
            fail_msg("%s: %s", cases[i].program, e.err.detail);
        assert_int_equal(takers[0].count, 0);
        clear(takers);
        evaluated_clear(&e);
    }
}

static void a_sink_that_fails_ends_the_run(void **state)
{
    taker taken = {0};
    sink full = {take_type, refuse_bytes, &taken};
    evaluation_options how = options;
    evaluated e;

    (void)state;
    evaluate(&e, "v * 2", &options);
    how.sinks = &full;
    plan_set_window_bytes(2048);
    evaluate_graph(&e, e.graph, &how);
    plan_set_window_bytes(4 << 20);
    assert_int_equal(e.err.kind, ERR_DISK);
    assert_int_equal(e.budget.used, 0);
    free(taken.bytes);
    evaluated_clear(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streams_have_the_bits_of_the_whole),
        cmocka_unit_test(what_is_handed_on_streams_within_the_limit),
        cmocka_unit_test(what_cannot_stream_is_refused_with_its_reason),
        cmocka_unit_test(a_sink_that_fails_ends_the_run),
    };

    return cmocka_run_group_tests(tests, make_inputs, clear_inputs);
}

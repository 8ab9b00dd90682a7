/* SPDX-License-Identifier: Apache-2.0 */
/* What shares a pass gives the bits that it gives alone; what cannot share one does not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "engine/plan/plan.h"
#include "engine/plan/tile.h"
#include "tests/lib/evaluate.h"

enum { RESULTS = 8 };

/* Expressions of a and b, which have the same shape, r (its last axis) and c (its first), and how
 * many steps all of them take, of matrices. */
static const struct shared {
    const char *results[RESULTS];
    int steps;
} shared[] = {
    {{"a + b", "a * b"}, 1},
    {{"a + b", "a * b", "(a * b).sum()", "a.mean()", "a.max()"}, 1},
    {{"a.sum()", "b.sum()"}, 2},
    {{"a.sum(axis=1)", "a.max(axis=1)", "(2 * a).min(axis=1)"}, 1},
    {{"a.sum(axis=0)", "a.prod(axis=0)", "a - b", "(a * a).mean(axis=0)"}, 1},
    {{"a.sum(axis=0)", "a.sum(axis=1)", "a.sum()"}, 3},
    {{"a.sum()", "(a.T + a.T).sum()", "a[::-1] + 1", "a + 1"}, 3},
    {{"(a + r).sum()", "a.sum()", "a - 1"}, 2},
    {{"(a + c).sum()", "a.sum()", "(a * c).max()"}, 2},
    {{"(a + r).sum(axis=1)", "a.max(axis=1)", "a * r"}, 1},
    {{"2 * a", "(2 * a).sum(axis=1)", "2 * a - (2 * a).max(axis=1, keepdims=True)"}, 2},
    {{"a - a.mean(axis=1, keepdims=True)", "(a - a.mean(axis=1, keepdims=True)).max(axis=1)"}, 2},
    {{"a / a.sum()", "a + 1", "b / (a + 1).sum()"}, 3},
    {{"a.sum()", "a + a.sum()", "(a + a.sum()).max()"}, 2},
    {{"float32(a)", "float32(a).sum()", "float16(a).max()", "float16(a)", "a"}, 1},
    {{"a > b", "(a > b).all()", "where(a > b, a, b)", "where(a > b, a, b).min()"}, 1},
    {{"int32(a * 9)", "int32(a * 9).sum()", "int32(a * 9).mean()", "abs(int32(a * 9))"}, 1},
    {{"a + 1", "(a + 1).sum(axis=0)", "(a + 1)[2:] * 2", "((a + 1)[2:] * 2).sum()"}, 3},
};
static const int64_t shapes[][2] = {{70, 1000}, {1000, 70}, {4100, 9}, {3, 90000}, {300, 1},
                                    {1, 300},   {7, 5},     {0, 40},   {40, 0}};
static const dtype dtypes[] = {DT_F64, DT_F32, DT_F16, DT_I32};

typedef struct world {
    evaluation_input inputs[4];
    evaluation_options options;
} world;

/* Small numbers of a type, between -1 and 1, and between -10 and 10 if they are integers. */
static tensor numbers(dtype t, int64_t rows, int64_t columns, int seed)
{
    const shape s = {.rank = 2, .length = {rows, columns}};
    evaluation_input input = {.name = "x"};
    const evaluation_options options = {.input_count = 1, .inputs = &input};
    error err = {0};
    evaluated e;
    char program[64];
    tensor result;

    assert_true(tensor_new(&input.value, NULL, DT_F64, &s, &err));
    for (int64_t i = 0; i < rows * columns; i++)
        ((double *)tensor_bytes(&input.value))[i] =
            (double)((i + seed) * 7919 % 10007) / (t == DT_I32 ? 500 : 5003) -
            (t == DT_I32 ? 10 : 1);
    snprintf(program, sizeof program, "astype(x, %s)", dtype_name(t));
    evaluate(&e, program, &options);
    assert_true(tensor_new(&result, NULL, t, &s, &err)); /* what e paid for goes with e */
    memcpy(tensor_bytes(&result), tensor_bytes(&e.results[0]), (size_t)tensor_nbytes(&result));
    evaluated_clear(&e);
    tensor_unref(&input.value);
    return result;
}

static void world_init(world *w, dtype t, const int64_t lengths[2])
{
    *w = (world){.inputs = {{"a", numbers(t, lengths[0], lengths[1], 1)},
                            {"b", numbers(t, lengths[0], lengths[1], 2)},
                            {"r", numbers(t, 1, lengths[1], 3)},
                            {"c", numbers(t, lengths[0], 1, 4)}}};
    w->options = (evaluation_options){.input_count = 4, .inputs = w->inputs};
}

static void world_clear(world *w)
{
    for (int i = 0; i < 4; i++)
        tensor_unref(&w->inputs[i].value);
}

/* The program that gives all results. */
static const char *program_of(const struct shared *s, char *to, size_t room)
{
    size_t used = 0;

    for (int i = 0; i < RESULTS && s->results[i] != NULL; i++)
        used += (size_t)snprintf(to + used, room - used, "%s%s", i > 0 ? ", " : "", s->results[i]);
    return to;
}

/* Evaluates all results together, then each alone, and compares; folds of nothing may fail, then
 * all together fail. */
static void check_results(const struct shared *s, const world *w, bool unoptimized)
{
    evaluation_options options = w->options;
    char program[512];
    evaluated all;
    bool failed = false;

    options.unoptimized = unoptimized;
    evaluate(&all, program_of(s, program, sizeof program), &options);
    for (int i = 0; i < RESULTS && s->results[i] != NULL; i++) {
        evaluated alone;

        evaluate(&alone, s->results[i], &w->options);
        failed = failed || alone.count == 0;
        if (all.count > 0 && !same_bits(&all.results[i], &alone.results[0]))
            fail_msg("%s of %s: %s differs", program, dtype_name(w->inputs->value.dtype),
                     s->results[i]);
        evaluated_clear(&alone);
    }
    if (failed != (all.count == 0))
        fail_msg("%s: %s", program, all.err.detail);
    evaluated_clear(&all);
}

static void what_is_shared_has_the_same_bits(void **state)
{
    (void)state;
    for (size_t t = 0; t < sizeof dtypes / sizeof *dtypes; t++)
        for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
            world w;

            world_init(&w, dtypes[t], shapes[k]);
            for (size_t i = 0; i < sizeof shared / sizeof *shared; i++) {
                check_results(&shared[i], &w, false);
                check_results(&shared[i], &w, true);
            }
            world_clear(&w);
        }
}

/* The steps of a program's plan. */
static int steps_of(const char *program, const world *w)
{
    arena *a = arena_new();
    error err = {0};
    evaluated e;
    graph *g;
    int steps;

    evaluate(&e, program, &w->options);
    g = engine_optimized(e.graph, false, NULL, NULL, a, &err);
    steps = plan_new(g, 2, a, &err)->step_count;
    graph_release(g);
    arena_free(a);
    evaluated_clear(&e);
    return steps;
}

static void as_many_steps_as_needed(void **state)
{
    world w;
    (void)state;

    world_init(&w, DT_F64, shapes[0]);
    for (size_t i = 0; i < sizeof shared / sizeof *shared; i++) {
        char program[512];
        const int steps = steps_of(program_of(&shared[i], program, sizeof program), &w);

        if (steps != shared[i].steps)
            fail_msg("%s: %d steps, not %d", program, steps, shared[i].steps);
    }
    world_clear(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_shared_has_the_same_bits),
                                       cmocka_unit_test(as_many_steps_as_needed)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}

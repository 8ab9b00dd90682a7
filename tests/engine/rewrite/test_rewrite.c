/* SPDX-License-Identifier: Apache-2.0 */
/* What each phase does and reports, and that what rewriting takes grows with the graph. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/lib/rewritten.h"

/* ---- Phases ----------------------------------------------------------------------------- */

static const struct {
    const char *program, *operations;
    const char *phase, *rule; /* of one event that is reported; NULL if there is none */
} cases[] = {
    {"x + size(x)", "add", "fold", NULL},
    {"sin(x) * sin(x)", "sin multiply", "merge", NULL},
    {"clip(x, 0)", "maximum", "lower", NULL},
    {"softmax(x)", "max subtract exp sum true_divide", "lower", NULL},
    {"-(-x)", "", "simplify", "-(-x)"},
    {"transpose(transpose(x))", "", "simplify", "transpose(transpose(x))"},
    {"x ** 2", "square", "simplify", "x ** 2"},
    {"log(1 + x)", "log1p", "stabilise", "log(1 + x)"},
    {"log(sum(exp(x - max(x))))", "max subtract exp sum log", NULL, NULL},
    {"log(softmax(x, axis=0))", "max subtract exp sum log subtract", "stabilise",
     "log(softmax(x, axis=axis))"},
    {"cond(True, lambda: x, lambda: -x)", "", "choose", NULL},
    {"astype(astype(x, float64), float32)", "", "simplify", NULL},
};

static bool has_event(const rewritten *r, const char *phase, const char *rule)
{
    for (int i = 0; i < r->event_count && i < EVENTS; i++) {
        const rewrite_event *e = &r->events[i];

        if (strcmp(e->phase, phase) == 0 && (e->rule == NULL) == (rule == NULL) &&
            (rule == NULL || strcmp(e->rule, rule) == 0) && e->after.node != NULL)
            return true;
    }
    return false;
}

static void each_phase_does_its_part_and_says_so(void **state)
{
    evaluation_input x = {"x", numbers_of(DT_F32, 2, 4, 4, 1)};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rewritten r;

        rewritten_init(&r, cases[i].program, &x, 1, (rewrite_options){0});
        if (r.graph == NULL)
            fail_msg("%s: %s", cases[i].program, r.source.err.detail);
        if (strcmp(rewritten_operations(&r), cases[i].operations) != 0)
            fail_msg("%s became %s", cases[i].program, rewritten_operations(&r));
        if (cases[i].phase == NULL ? r.event_count > 0
                                   : !has_event(&r, cases[i].phase, cases[i].rule))
            fail_msg("%s: not the events of %s", cases[i].program, cases[i].phase);
        assert_int_equal(r.event_count, r.options.fired);
        rewritten_clear(&r);
    }
    tensor_unref(&x.value);
}

/* Nothing that may round otherwise happens to strict programs, and nothing at all that need
 * not be to those that are only lowered. */
static void strict_and_unoptimised_graphs_are_left_alone(void **state)
{
    static const struct {
        const char *program, *strict, *lowered;
    } kept[] = {
        {"log(1 + x)", "add log", "add log"},
        {"x ** 2", "power", "power"},
        {"x @ (x @ x[:, :1])", "getitem matmul matmul", "getitem matmul matmul"},
        {"x @ x @ x[:, :1]", "matmul getitem matmul", "matmul getitem matmul"},
        {"-(-x)", "", "negative negative"},
        {"x.T.T", "", "transpose transpose"},
    };
    evaluation_input x = {"x", numbers_of(DT_F32, 2, 4, 4, 1)};

    (void)state;
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        rewritten strict, lowered;

        rewritten_init(&strict, kept[i].program, &x, 1, (rewrite_options){.strict = true});
        rewritten_init(&lowered, kept[i].program, &x, 1, (rewrite_options){.only_lower = true});
        assert_string_equal(rewritten_operations(&strict), kept[i].strict);
        assert_string_equal(rewritten_operations(&lowered), kept[i].lowered);
        rewritten_clear(&strict);
        rewritten_clear(&lowered);
    }
    tensor_unref(&x.value);
}

/* What a rewrite put in place is not put in place once more when its result is rewritten. */
static void rewriting_again_changes_nothing(void **state)
{
    static const char *const programs[] = {"log(softmax(x))", "log(sum(exp(x)))",
                                           "exp(x) / sum(exp(x), axis=0, keepdims=True)",
                                           "log(1 + exp(x))", "softmax(x) @ x @ x[:, :1]"};
    evaluation_input x = {"x", numbers_of(DT_F32, 2, 4, 4, 1)};

    (void)state;
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        rewritten r;
        rewrite_options again = {.again = true};
        const char *before;
        graph *first;

        rewritten_init(&r, programs[i], &x, 1, (rewrite_options){0});
        before = rewritten_operations(&r);
        first = r.graph;
        r.graph = rewrite_graph(first, &again, r.arena, &r.source.err);
        assert_string_equal(rewritten_operations(&r), before);
        graph_release(first);
        rewritten_clear(&r);
    }
    tensor_unref(&x.value);
}

/* ---- Growth -----------------------------------------------------------------------------------
 */

/* Sixty doublings are sixty nodes: nothing is looked at more than once. */
static void doublings_stay_small(void **state)
{
    evaluation_input x = {"x", numbers_of(DT_F64, 1, 8, 0, 1)};
    char program[4096] = "";
    rewritten r;

    (void)state;
    for (int i = 0; i < 60; i++)
        strcat(program, "x = x + x\n");
    strcat(program, "x");
    rewritten_init(&r, program, &x, 1, (rewrite_options){0});
    assert_non_null(r.graph);
    assert_int_equal(r.graph->count, 61);
    assert_int_equal(r.event_count, 0);
    assert_in_range(r.source.stats.steps, 1, 60);
    rewritten_clear(&r);
    tensor_unref(&x.value);
}

/* A program of n lines, of which each gives rules, definitions, merging and products work. */
static void write_lines(text *t, int n)
{
    static const char *const lines[] = {"x = log(1 + exp(x))\n", "x = -(-x) * 1\n",
                                        "x = x @ x @ x\n", "x = sin(x) + sin(x)\n",
                                        "x = softmax(x.T.T)\n"};

    text_init(t);
    for (int i = 0; i < n; i++)
        text_add(t, lines[i % 5]);
    text_add(t, "x");
    text_add_char(t, '\0');
}

/* Nodes made, things done and steps planned, for each line, are the same for 10 lines and for
 * thousands. */
static void work_grows_with_the_graph(void **state)
{
    static const int sizes[] = {10, 100, 1000, 3000};
    evaluation_input x = {"x", numbers_of(DT_F32, 2, 2, 2, 1)};
    double nodes = 0, fired = 0, steps = 0;

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const double n = sizes[i];
        rewritten *r = malloc(sizeof *r);
        text t;

        write_lines(&t, sizes[i]);
        rewritten_init(r, t.bytes, &x, 1, (rewrite_options){0});
        if (r->graph == NULL)
            fail_msg("%d lines: %s", sizes[i], r->source.err.detail);
        if (i == 0) {
            nodes = r->graph->count / n;
            fired = r->event_count / n;
            steps = r->source.stats.steps / n;
        }
        assert_true(r->graph->count / n <= nodes && r->graph->count / n >= nodes / 2);
        assert_true(r->event_count / n <= fired * 1.1 && r->event_count / n >= fired / 2);
        assert_true(r->source.stats.steps / n <= steps * 1.1);
        text_clear(&t);
        rewritten_clear(r);
        free(r);
    }
    tensor_unref(&x.value);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_phase_does_its_part_and_says_so),
        cmocka_unit_test(strict_and_unoptimised_graphs_are_left_alone),
        cmocka_unit_test(rewriting_again_changes_nothing),
        cmocka_unit_test(doublings_stay_small),
        cmocka_unit_test(work_grows_with_the_graph),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

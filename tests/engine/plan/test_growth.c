/* SPDX-License-Identifier: Apache-2.0 */
/* Building, rewriting and planning take time in proportion to the nodes. Runs alone. */
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "engine/base/text.h"
#include "engine/plan/plan.h"
#include "tests/lib/evaluate.h"

enum { LARGEST = 10000, TRIES = 3, ROUNDS = 3 };

/* The processor time of this thread: what else the machine does hardly counts. */
static int64_t cpu_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* Programs of any number of nodes: a line that is repeated, with the number of the turn in the
 * place of its %d, and what ends them. */
static const struct growing {
    const char *first, *line, *last;
    int nodes_per_line;
} growing[] = {
    {"y = x", "y = sin(y)", "y", 1},
    {"y = x", "y = y + y", "y", 1},
    {"y = x", "y = y * x - 1", "y", 2},
    {"y = x", "y = y - mean(y, axis=0)", "y", 2},
    {"y = x", "y = (y.T + x)[:, ::-1]", "y", 3},
    {"y = x", "y = y @ x", "y", 1},
    {"y = x", "y = tanh(y @ x + %d)", "y", 3},
    {"y = x", "y = y + [[%d.5, 1, 2, 3]]", "y", 1},
    {"y = 0", "y = y + in%d", "y", 1},
    {"y = 0", "y = y + sum(x * %d)", "y", 3},
    {"y = x", "y[0] = y[1] * %d", "y", 3},
    {"y = stack([x, x])", "y = concatenate([y, y])[2:]", "y", 2},
    {"y = x", "y = softmax(y)", "y", 1},
    {"y = x", "y = cond(y[0, 0] > %d, lambda: y + 1, lambda: y * x)", "y", 3},
    {"y = x", "y = where(y > x, y, x)", "y", 2},
};

/* Everything is an input of this type: x, in0, in1 .. */
static bool resolve(void *context, graph *g, const char *name, value *result, error *err)
{
    const type square = {.dtype = DT_F64, .shape = {.rank = 2, .length = {4, 4}}};
    (void)context;

    *result = (value){0};
    if (strcmp(name, "x") == 0 || strncmp(name, "in", 2) == 0)
        *result = graph_input(g, name, &square, err);
    return !error_is_set(err);
}

static char *program_of(const struct growing *p, int nodes, text *t)
{
    text_init(t);
    text_addf(t, "%s\n", p->first);
    for (int i = 0; i < nodes / p->nodes_per_line; i++) {
        const char *at = strstr(p->line, "%d");

        text_addf(t, "%.*s", at != NULL ? (int)(at - p->line) : 1000, p->line);
        if (at != NULL)
            text_addf(t, "%d%s", i, at + 2);
        text_add_char(t, '\n');
    }
    text_add(t, p->last);
    return t->bytes;
}

typedef struct times {
    int64_t build_us, plan_us; /* plan: rewriting, too, and planning both ways */
    int nodes;
} times;

/* Builds, rewrites and plans a program once. */
static times measure(const char *words)
{
    const lang_options options = {.steps_max = INT64_MAX};
    const lang_scope scope = {.resolve = resolve};
    arena *a = arena_new();
    graph *g = graph_new(a, NULL), *better;
    lang_program says;
    error err = {0};
    times t;
    const int64_t start = cpu_us();

    g->node_limit = 4 * LARGEST;
    if (!lang_build(g, words, strlen(words), &options, &scope, &says, &err))
        fail_msg("%.100s: %s", words, err.detail);
    for (int i = 0; i < says.result_count; i++)
        graph_add_output(g, says.results[i]);
    t.build_us = cpu_us() - start;
    t.nodes = g->count;
    better = engine_optimized(g, false, NULL, NULL, a, &err);
    if (better == NULL || plan_new(better, 2, a, &err) == NULL ||
        plan_new_streamed(better, 2, NULL, a, &err) == NULL)
        fail_msg("%.100s: %s", words, err.detail);
    t.plan_us = cpu_us() - start - t.build_us;
    graph_release(better);
    graph_release(g);
    arena_free(a);
    return t;
}

/* The shortest of several times, per node, in nanoseconds. */
typedef struct per_node {
    double build, plan;
} per_node;

static per_node best_of(const struct growing *p, int nodes)
{
    per_node best = {1e18, 1e18};
    text t;
    const char *words = program_of(p, nodes, &t);

    for (int i = 0; i < TRIES; i++) {
        const times took = measure(words);
        const double build = 1e3 * (double)took.build_us / took.nodes;
        const double plan = 1e3 * (double)took.plan_us / took.nodes;

        best.build = build < best.build ? build : best.build;
        best.plan = plan < best.plan ? plan : best.plan;
    }
    text_clear(&t);
    return best;
}

/* Whether a node costs at most three times as much among ten times as many; once in several
 * rounds is enough, since other work on the machine only adds. */
static bool grows_with_nodes(const struct growing *p, int nodes)
{
    for (int i = 0; i < ROUNDS; i++) {
        const per_node few = best_of(p, nodes / 10), many = best_of(p, nodes);

        if (many.build < 3 * few.build && many.plan < 3 * few.plan)
            return true;
        printf("%s: %d nodes: build %.0f ns a node, then %.0f; plan %.0f, then %.0f\n", p->line,
               nodes, few.build, many.build, few.plan, many.plan);
    }
    return false;
}

static void ten_times_the_nodes_take_ten_times_as_long(void **state)
{
    (void)state;
    evaluate_init();
    plan_set_window_bytes(16);          /* every value is worth a window */
    mallopt(M_MMAP_THRESHOLD, 1 << 30); /* memory is not given back: its first touch costs */
    mallopt(M_TRIM_THRESHOLD, 1 << 30); /* more than the work, and differs by size */
    for (size_t i = 0; i < sizeof growing / sizeof *growing; i++)
        for (int nodes = 100; nodes <= LARGEST; nodes *= 10)
            assert_true(grows_with_nodes(&growing[i], nodes));
}

static void sixty_doublings_are_planned_in_ten_milliseconds(void **state)
{
    const struct growing doubling = {"", "x = x + x", "x", 1};
    int64_t best = INT64_MAX;
    text t;
    const char *words = program_of(&doubling, 60, &t);

    (void)state;
    evaluate_init();
    for (int i = 0; i < 5; i++) {
        const times took = measure(words);
        const int64_t all = took.build_us + took.plan_us;

        best = all < best ? all : best;
    }
    assert_in_range(best, 0, 10000);
    text_clear(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ten_times_the_nodes_take_ten_times_as_long),
        cmocka_unit_test(sixty_doublings_are_planned_in_ten_milliseconds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

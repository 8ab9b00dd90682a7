/* SPDX-License-Identifier: Apache-2.0 */
/* The limits of graphs. */
#include "tests/lib/evaluate.h"
#include "tests/lib/program.h"

/* Builds `times` lines into a graph of few nodes; its error, if any, is *err. */
static void build_many(const char *line, int times, int node_limit, error *err)
{
    const lang_options options = {0};
    const lang_scope scope = {.resolve = program_resolve, .nearest = program_nearest};
    arena *a = arena_new();
    graph *g = graph_new(a, NULL);
    lang_program says;
    text words;

    evaluate_init();
    text_init(&words);
    for (int i = 0; i < times; i++)
        text_add(&words, line);
    g->node_limit = node_limit;
    lang_build(g, words.bytes, words.length, &options, &scope, &says, err);
    text_clear(&words);
    graph_release(g);
    arena_free(a);
}

static void a_graph_has_a_limit_of_nodes(void **state)
{
    error err = {0};

    (void)state;
    build_many("sin(alpha)\n", 49, 50, &err);
    assert_int_equal(err.kind, ERR_NONE);
    build_many("sin(alpha)\n", 50, 50, &err);
    assert_int_equal(err.kind, ERR_GRAPH_SIZE);
    assert_int_equal(err.limit, 50);
}

static void nodes_of_definitions_and_branches_count_in_all(void **state)
{
    error err = {0};

    (void)state;
    build_many(
        "cond(p, lambda: sin(sin(sin(sin(sin(sin(sin(sin(sin(alpha))))))))), lambda: alpha)\n", 45,
        50, &err);
    assert_int_equal(err.kind, ERR_NONE);
    build_many("cond(p, lambda: std(x), lambda: std(w))\n", 45, 50, &err);
    assert_int_equal(err.kind, ERR_GRAPH_SIZE);
    assert_int_equal(err.limit, 50 * GRAPH_TOTAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_graph_has_a_limit_of_nodes),
        cmocka_unit_test(nodes_of_definitions_and_branches_count_in_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

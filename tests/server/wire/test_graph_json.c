/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs written as JSON and read again: the same nodes, the same results. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "server/wire/graph_json.h"
#include "server/wire/reader.h"
#include "tests/lib/evaluate.h"

/* Programs that use what the examples of the operations do not. */
static const char *const programs[] = {
    "x = [1, 2, 3]\nx[x > 1], x[[0, 2]], x[::-1], x[..., None]",
    "x = array([1.5, np.nan, -np.inf])\nx + 1, x * 2.5, x * 1j, x == True",
    "x = [1, 2, 3]\ny = x\ny[1:] = 0\ny[[0]] += 5\ny",
    "n = array([1, 0, 2])\nzeros(n.sum()), arange(n.sum()), nonzero(n)",
    "x = array([1, -5])\ncond(x.sum() > 0, lambda: (x, x * 2), lambda: (-x, x + 1))",
    "x = array([1, 5])\ncond(x.sum() > 0, lambda: cond(x[0] > 1, lambda: x, lambda: x * 3), "
    "lambda: x)",
    "x = array([1, 2], dtype='uint8')\n(x + 250) * 2, x < 300, x.astype('bfloat16') / 3",
    "q, r = divmod([7, -7], 2)\nq, r, (q, r)[1]",
    "7",
    "2.5, 1e300, -0.0, 18446744073709551615, True, 3j",
    "array([], dtype='int8'), zeros((0, 3)), array(5, dtype='complex64')",
    "tensordot([[1, 2]], [[1], [2]], axes=([1], [0])), clip([1, 9], None, 3)",
    "while_loop(lambda i, y: i < 5, lambda i, y: (i + 1, y * 2), (0, 1.0), limit=7)",
    "w = array([1.0, 2.0])\nscan(lambda c, x: (c + (x * w).sum(), (c, x)), 0.0, [3.0, 4.0])",
    "scan(lambda c, x: (c + fori_loop(0, 3, lambda i, v: v * x + i, 1), None), 1, [2, 3])[0]",
    "map(lambda x: x.sum(), [[1, 2], [3, 4]])",
    "case([(1 > 2, lambda: 1), (2 > 1, lambda: 2)], default=lambda: 3)",
    "grad(lambda x: fori_loop(0, 3, lambda i, v: v * x, 1.0), 2.0)",
    "while_loop(lambda v: v.sum() < 9, lambda v: v + 1, ones(2), shape_invariants=[(None,)])",
    "concatenate([[1], [2.5]]), stack([[1], [2]], axis=1)",
};

/* The JSON of a graph, in a. */
static const char *json_of(const graph *g, arena *a)
{
    const char *result;
    text t;

    text_init(&t);
    graph_json_write(g, &t);
    result = text_copy(&t, a);
    text_clear(&t);
    return result;
}

/* Reads a graph object into g and adds its outputs; the reader must be freed. */
static wire_reader *read_graph(graph *g, const char *json, budget *b, error *err)
{
    const wire_reader_options options = {.format = WIRE_JSON, .document = WIRE_GRAPH_BODY};
    wire_reader *r = wire_reader_new(g->arena, b, &options, err);
    graph_json j;

    assert_non_null(r);
    if (!wire_reader_feed(r, json, strlen(json), err) || !wire_reader_end(r, err) ||
        !graph_json_read(g, wire_reader_root(r), NULL, DECLARED_GIVEN, &j, err))
        return r;
    for (int i = 0; i < j.output_count; i++)
        graph_add_output(g, j.outputs[i]);
    return r;
}

static void compare(evaluated *before, const tensor *results, int count, const char *json)
{
    if (before->count != count)
        fail_msg("%s: %s", json, before->err.detail);
    for (int i = 0; i < count; i++)
        if (!same_bits(&before->results[i], &results[i]))
            fail_msg("result %d is another: %s", i, json);
}

/* Builds a program, writes its graph, reads that, writes it again and runs it. */
static void round_trip(const char *program)
{
    evaluated e;
    graph *g;
    const char *json;
    wire_reader *reader;
    tensor *results;
    error err = {0};
    int count;

    evaluate(&e, program, NULL);
    if (error_is_set(&e.err))
        fail_msg("%s: %s", program, e.err.detail);
    json = json_of(e.graph, e.arena);
    g = graph_new(e.arena, NULL);
    reader = read_graph(g, json, &e.budget, &err);
    if (error_is_set(&err))
        fail_msg("%s: %s: %s at %s", program, json, err.detail, err.pointer);
    assert_string_equal(json_of(g, e.arena), json);
    results = e.results;
    count = e.count;
    e.count = 0;
    evaluate_graph(&e, g, NULL);
    if (strstr(program, "rand") == NULL)
        compare(&e, results, count, json);
    for (int i = 0; i < count; i++)
        tensor_unref(&results[i]);
    graph_release(g);
    wire_reader_free(reader);
    evaluated_clear(&e);
}

static void every_example_survives_the_round_trip(void **state)
{
    size_t count;
    const op_def *const *all;

    (void)state;
    evaluate_init();
    all = ops_all(&count);
    for (size_t i = 0; i < count; i++)
        round_trip(all[i]->example);
}

static void programs_survive_the_round_trip(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        round_trip(programs[i]);
}

static void names_of_nodes_are_kept(void **state)
{
    static const char json[] =
        "{\"inputs\":{},\"nodes\":{\"second\":{\"op\":\"exp\",\"args\":[\"first\"]},"
        "\"first\":{\"op\":\"add\",\"args\":[[1.0,2.0],{\"weak\":\"float\",\"value\":1.0}]}},"
        "\"outputs\":[\"second\"]}";
    arena *a = arena_new();
    graph *g = graph_new(a, NULL);
    budget b;
    error err = {0};
    wire_reader *reader;

    (void)state;
    evaluate_init();
    budget_init(&b, 1 << 20);
    reader = read_graph(g, json, &b, &err);
    assert_false(error_is_set(&err));
    assert_non_null(strstr(json_of(g, a), "\"second\":{\"op\":\"exp\",\"args\":[\"first\"]}"));
    graph_release(g);
    wire_reader_free(reader);
    arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_example_survives_the_round_trip),
        cmocka_unit_test(programs_survive_the_round_trip),
        cmocka_unit_test(names_of_nodes_are_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

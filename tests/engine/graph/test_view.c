/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs as text and pictures, compared with what a person would write. */
#include "tests/lib/program.h"

#include <stdio.h>
#include <time.h>

#include "engine/base/table.h"
#include "engine/graph/declaration.h"
#include "engine/graph/define.h"
#include "engine/graph/view.h"

typedef void writer_fn(const graph *g, text *t);

static void debug(const graph *g, text *t)
{
    view_debug(g, NULL, t);
}

static void dot(const graph *g, text *t)
{
    view_dot(g, NULL, t);
}

static void shows(writer_fn *view, const char *words, const char *expected)
{
    program p;
    text t;

    program_build(&p, LANG_NUMPY, words);
    if (!p.ok)
        fail_msg("%s\n%s", words, p.err.detail);
    text_init(&t);
    view(p.graph, &t);
    assert_string_equal(t.bytes, expected);
    text_clear(&t);
    program_clear(&p);
}

/* ---- Formulas -------------------------------------------------------------------------- */

static void pretty_puts_as_few_parentheses_as_can_be(void **state)
{
    static const char *const same[] = {
        "x + x * 2 - n",
        "(x + 1) * (x - 1)",
        "x - (n - 1)",
        "x - n - 1",
        "-x ** 2",
        "(-x) ** 2",
        "2 ** -x",
        "2 ** x ** n",
        "(2 ** x) ** n",
        "x / (n * 2)",
        "x / n * 2",
        "x @ (w + 1)",
        "-(x + 1) * 2",
        "(x + 1).T",
        "x[0, 1:] + x[::2, ..., None]",
        "x[n + 1]",
        "sum(x * 2, axis=1, keepdims=True)",
        "x < n + 1",
        "(x < n) + 1",
        "i8 | i8 & i8 << 1",
        "~i8 ^ i8",
        "where(m, 1, -2.5) % 3",
        "concatenate([v, v])",
    };

    (void)state;
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        char expected[200];

        snprintf(expected, sizeof expected, "%s\n", same[i]);
        if (strstr(same[i], "[v, v]") != NULL)
            snprintf(expected, sizeof expected, "concatenate(v, v)\n");
        shows(view_pretty, same[i], expected);
    }
}

static void pretty_names_what_is_used_twice(void **state)
{
    (void)state;
    shows(view_pretty, "z = x @ w\nz ** 2 + z", "(x @ w) ** 2 + x @ w\n");
    shows(view_pretty, "z = x @ w + n\nz ** 2 + z", "z ** 2 + z where z = x @ w + n\n");
    shows(view_pretty, "z = x @ w + n\nx = z * z\nx - x", "z * z - z * z where z = x @ w + n\n");
    shows(view_pretty, "z = x * 2 + n\ny = z * z * n\nn = y * y\nn - 1",
          "y * y - 1 where y = z * z * n, z = x * 2 + n\n");
    shows(view_pretty, "y = x * 2 + 1\nx = y * y + 1\nx * x",
          "x_1 * x_1 where x_1 = y * y + 1, y = x * 2 + 1\n");
    shows(view_pretty, "x, x + n", "x, x + n\n");
}

static void latex_is_mathematics(void **state)
{
    (void)state;
    shows(view_latex, "sqrt(x ** 2 + alpha) / exp(-x)",
          "\\frac{\\sqrt{{x}^{2} + \\mathrm{alpha}}}{e^{-x}}\n");
    shows(view_latex, "sum((x + 1) * 2, axis=1)",
          "\\sum_{\\text{axis=1}} \\left(x + 1\\right) \\cdot 2\n");
    shows(view_latex, "log_a = x @ w + 1\nlog_a.T @ log_a",
          "{\\mathrm{log\\_a}}^{\\mathsf{T}} \\, \\mathrm{log\\_a} \\quad\\text{where}\\quad "
          "\\mathrm{log\\_a} = x \\, w + 1\n");
    shows(view_latex, "clip(x, 0, 1) <= floor(n / 2)",
          "\\operatorname{clip}\\left(x, 0, 1\\right) \\leq "
          "\\left\\lfloor\\frac{n}{2}\\right\\rfloor\n");
}

static void functions_are_written_where_they_stand(void **state)
{
    (void)state;
    shows(view_pretty, "cond(p, lambda: x + 1, lambda: x)",
          "cond(p, true_fn=lambda: x + 1, false_fn=lambda: x)\n");
    shows(view_pretty, "scan(lambda c, r: (c + r, c * 2), v[0], v)",
          "t1[0], t1[1] where t1 = scan(v[0], v, f=lambda c, r: (c + r, c * 2))\n");
    /* what comes from outside has a name there, parameters have names of their own */
    shows(view_pretty, "y = x * 2 + 1\nmap(lambda r: r * y[0, 0] * x[0, 0], x)",
          "scan(x, f=lambda r: r * y[0, 0] * x[0, 0], carries=0) where y = x * 2 + 1\n");
    shows(view_pretty, "map(lambda r: cond(p, lambda: r * 2, lambda: exp(r + 1) * exp(n)), x)",
          "scan(x, f=lambda r: cond(p, true_fn=lambda: r * 2, "
          "false_fn=lambda: exp(r + 1) * exp(n)), carries=0)\n");
    shows(view_pretty, "map(lambda x: x + v, v * alpha)",
          "scan(v * alpha, f=lambda x: x + v, carries=0)\n");
    shows(view_pretty, "map(lambda x: x * n, x)", "scan(x, f=lambda x_1: x_1 * n, carries=0)\n");
    /* names that depend on parameters are said within */
    shows(view_pretty, "def f(r):\n    t = exp(r + 1) * 2\n    return t * t\nmap(f, x)",
          "scan(x, f=(lambda r: t1 * t1 where t1 = exp(r + 1) * 2), carries=0)\n");
    shows(view_latex, "cond(p, lambda: x + 1, lambda: alpha * x)",
          "\\operatorname{cond}\\left(p, \\text{true\\_fn=}\\lambda .\\, x + 1"
          "\\text{, false\\_fn=}\\lambda .\\, \\mathrm{alpha} \\cdot x\\right)\n");
}

/* ---- Trees --------------------------------------------------------------------------------- */

static void debug_is_theanos(void **state)
{
    (void)state;
    shows(debug, "h = x @ w\ny = h * h + n\nsum(y, axis=0)",
          "Sum{axis=0} [id A] <TensorType(float64, vector)> ''\n"
          " |Elemwise{add,no_inplace} [id B] <TensorType(float64, matrix)> 'y'\n"
          "   |Elemwise{mul,no_inplace} [id C] <TensorType(float64, matrix)> ''\n"
          "   | |Matmul [id D] <TensorType(float64, matrix)> 'h'\n"
          "   | | |x [id E] <TensorType(float64, matrix)>\n"
          "   | | |w [id F] <TensorType(float64, matrix)>\n"
          "   | |Matmul [id D] <TensorType(float64, matrix)> 'h' ···\n"
          "   |n [id G] <TensorType(int64, scalar)>\n");
    shows(debug, "cond(p, lambda: x[:, None] + 1, lambda: x[:, None])",
          "Cond{true_fn=lambda: ..., false_fn=lambda: ...} [id A] "
          "<TensorType(float64, (False, True, False))> ''\n"
          " |p [id B] <TensorType(bool, scalar)>\n"
          " |x [id C] <TensorType(float64, matrix)>\n"
          " |x [id C] <TensorType(float64, matrix)>\n"
          "\n"
          "Cond{true_fn=lambda: ..., false_fn=lambda: ...} [id A] true_fn:\n"
          "  Elemwise{add,no_inplace} [id A] <TensorType(float64, (False, True, False))> ''\n"
          "   |Getitem{:, None} [id B] <TensorType(float64, (False, True, False))> ''\n"
          "   | |x [id C] <TensorType(float64, matrix)>\n"
          "   |TensorConstant{1} [id D] <TensorType(int64, scalar)>\n"
          "\n"
          "Cond{true_fn=lambda: ..., false_fn=lambda: ...} [id A] false_fn:\n"
          "  Getitem{:, None} [id A] <TensorType(float64, (False, True, False))> ''\n"
          "   |x [id B] <TensorType(float64, matrix)>\n");
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void apply_has_variables_applies_and_clients(void **state)
{
    (void)state;
    shows(view_apply, "q, r = divmod(v, 2)\nq + r",
          "{\"variables\":["
          "{\"id\":0,\"name\":\"v\",\"type\":{\"dtype\":\"float32\",\"shape\":[3],"
          "\"broadcastable\":[false]},\"owner\":null,\"index\":0,\"clients\":[[0,0]]},"
          "{\"id\":1,\"name\":null,\"type\":{\"dtype\":\"int64\",\"shape\":[],"
          "\"broadcastable\":[]},\"owner\":null,\"index\":0,\"constant\":2,\"clients\":[[0,1]]},"
          "{\"id\":2,\"name\":\"q:0\",\"type\":{\"dtype\":\"float32\",\"shape\":[3],"
          "\"broadcastable\":[false]},\"owner\":0,\"index\":0,\"clients\":[[1,0]]},"
          "{\"id\":3,\"name\":\"q:1\",\"type\":{\"dtype\":\"float32\",\"shape\":[3],"
          "\"broadcastable\":[false]},\"owner\":0,\"index\":1,\"clients\":[[1,1]]},"
          "{\"id\":4,\"name\":null,\"type\":{\"dtype\":\"float32\",\"shape\":[3],"
          "\"broadcastable\":[false]},\"owner\":1,\"index\":0,\"clients\":[[\"output\",0]]}],"
          "\"applies\":["
          "{\"id\":0,\"op\":\"divmod\",\"display\":\"Divmod\",\"attrs\":{},\"inputs\":[0,1],"
          "\"outputs\":[2,3]},"
          "{\"id\":1,\"op\":\"add\",\"display\":\"Elemwise{add,no_inplace}\",\"attrs\":{},"
          "\"inputs\":[2,3],\"outputs\":[4]}],"
          "\"outputs\":[4]}");
}

static void apply_writes_constants_and_attributes_as_json(void **state)
{
    (void)state;
    shows(view_apply, "reshape(array([1.5, np.nan]), (n, -1))",
          "{\"variables\":["
          "{\"id\":0,\"name\":null,\"type\":{\"dtype\":\"float64\",\"shape\":[2],"
          "\"broadcastable\":[false]},\"owner\":null,\"index\":0,\"constant\":"
          "{\"dtype\":\"float64\",\"shape\":[2],\"data\":[1.5, \"NaN\"]},\"clients\":[[0,0]]},"
          "{\"id\":1,\"name\":\"n\",\"type\":{\"dtype\":\"int64\",\"shape\":[],"
          "\"broadcastable\":[]},\"owner\":null,\"index\":0,\"clients\":[[0,1]]},"
          "{\"id\":2,\"name\":null,\"type\":{\"dtype\":\"float64\",\"shape\":[null, null],"
          "\"broadcastable\":[false,false]},\"owner\":0,\"index\":0,\"clients\":[[\"output\",0]]}],"
          "\"applies\":[{\"id\":0,\"op\":\"reshape\",\"display\":\"Reshape{shape=(#1, -1)}\","
          "\"attrs\":{\"shape\": [{\"input\": 1}, -1]},\"inputs\":[0,1],\"outputs\":[2]}],"
          "\"outputs\":[2]}");
}

/* ---- Pictures ---------------------------------------------------------------------------------
 */

static void dot_has_boxes_ellipses_and_types(void **state)
{
    (void)state;
    shows(dot, "y = v * 2\ny",
          "digraph graph_ {\n"
          "  rankdir=TB;\n"
          "  node [fontname=\"Helvetica\", fontsize=11, style=filled];\n"
          "  edge [fontname=\"Helvetica\", fontsize=9];\n"
          "  n0 [label=\"v\", shape=box, fillcolor=\"#c8e6c9\", class=\"input\"];\n"
          "  n1 [label=\"2\", shape=box, fillcolor=\"#e0e0e0\", class=\"const\"];\n"
          "  n2 [label=\"multiply\", shape=ellipse, fillcolor=\"#ffffff\", class=\"apply\"];\n"
          "  n0 -> n2 [label=\"0: float32 [3]\"];\n"
          "  n1 -> n2 [label=\"1: int64 []\"];\n"
          "  o0 [label=\"y\", shape=box, fillcolor=\"#bbdefb\", class=\"output\"];\n"
          "  n2 -> o0 [label=\"float32 [3]\"];\n"
          "}\n");
}

/* A function's nodes stand in a box; what it captured comes straight from outside. */
static void dot_has_boxes_for_functions(void **state)
{
    static const char *const parts[] = {
        "  n0 -> n2 [label=\"bool []\"];\n",
        "  n1 -> n2_0n2 [label=\"0: float64 [2, 3]\"];\n",
        "  n2_0n2 -> n2 [label=\"true_fn: float64 [2, 3]\", style=dotted];\n",
        "  n1 -> n2 [label=\"false_fn: float64 [2, 3]\", style=dotted];\n",
        "  subgraph cluster_n2_0 { label=\"true_fn\"; style=rounded; class=\"function\";\n",
    };
    program p;
    text t;

    (void)state;
    program_build(&p, LANG_NUMPY, "cond(p, lambda: x + 1, lambda: x)");
    text_init(&t);
    view_dot(p.graph, NULL, &t);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strstr(t.bytes, parts[i]) == NULL)
            fail_msg("%s is not in\n%s", parts[i], t.bytes);
    text_clear(&t);
    program_clear(&p);
}

static void structure_has_an_arrow_for_each_reference(void **state)
{
    static const char *const parts[] = {
        "v2_0 [label=\"y\", shape=box, fillcolor=\"#ef9a9a\", color=\"red\", class=\"var\"]",
        "a2 [label=\"Apply\", shape=box, fillcolor=\"#90caf9\", color=\"blue\", class=\"apply\"]",
        "p2 [label=\"Elemwise{mul,no_inplace}\", shape=circle, fillcolor=\"#a5d6a7\", "
        "color=\"green\", class=\"op\"]",
        "t2_0 [label=\"TensorType(float32, vector)\", shape=box, fillcolor=\"#ce93d8\", "
        "color=\"purple\", class=\"type\"]",
        "v2_0 -> a2 [label=\"owner\"]",
        "a2 -> p2 [label=\"op\"]",
        "v2_0 -> t2_0 [label=\"type\"]",
        "a2 -> v0_0 [label=\"inputs[0]\"]",
        "a2 -> v1_0 [label=\"inputs[1]\"]",
        "a2 -> v2_0 [label=\"outputs[0]\"]",
    };
    program p;
    text t;

    (void)state;
    program_build(&p, LANG_NUMPY, "y = v * 2\ny");
    text_init(&t);
    view_structure(p.graph, &t);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strstr(t.bytes, parts[i]) == NULL)
            fail_msg("%s is not in\n%s", parts[i], t.bytes);
    text_clear(&t);
    program_clear(&p);
}

static void labels_are_escaped(void **state)
{
    arena *a = arena_new();
    graph *g = graph_new(a, NULL);
    const type scalar = {.dtype = DT_F64};
    error err = {0};
    text t;

    (void)state;
    graph_add_output(g, graph_input(g, "a\"b\\c\n", &scalar, &err));
    text_init(&t);
    view_dot(g, NULL, &t);
    assert_non_null(strstr(t.bytes, "label=\"a\\\"b\\\\c \""));
    t.length = 0;
    view_apply(g, &t);
    assert_non_null(strstr(t.bytes, "\"name\":\"a\\\"b\\\\c\\n\""));
    t.length = 0;
    view_latex(g, &t);
    assert_string_equal(t.bytes, "\\mathrm{a\"b\\textbackslash{}c\n}\n");
    text_clear(&t);
    graph_release(g);
    arena_free(a);
}

/* ---- Size ---------------------------------------------------------------------------------------
 */

/* Bytes of a view of a graph in which each node takes the one before twice, or once. */
static size_t bytes_of(writer_fn *view, int nodes, bool twice)
{
    arena *a = arena_new();
    graph *g = graph_new(a, NULL);
    const type scalar = {.dtype = DT_F64};
    const op_def *op = op_find(twice ? "add" : "negative", twice ? 3 : 8);
    error err = {0};
    value v = graph_input(g, "x", &scalar, &err), outputs[OP_OUTPUTS];
    size_t bytes;
    text t;

    for (int i = 0; i < nodes; i++) {
        const value inputs[] = {v, v};

        assert_non_null(graph_apply(g, op, inputs, twice ? 2 : 1, NULL, outputs, &err));
        v = outputs[0];
    }
    graph_add_output(g, v);
    text_init(&t);
    view(g, &t);
    bytes = t.length;
    text_clear(&t);
    graph_release(g);
    arena_free(a);
    return bytes;
}

static void views_are_linear_in_the_size_of_the_graph(void **state)
{
    static writer_fn *const views[] = {view_apply, debug, view_pretty,
                                       view_latex, dot,   view_structure};

    (void)state;
    for (size_t i = 0; i < sizeof views / sizeof *views; i++) {
        const clock_t start = clock();

        assert_true(bytes_of(views[i], 60, true) < 100000);
        assert_true(bytes_of(views[i], 9000, true) < 9000 * 1000);
        assert_true(bytes_of(views[i], 9000, false) < 9000 * 1000);
        assert_true(clock() - start < 5 * CLOCKS_PER_SEC);
    }
}

static void values_are_cut_at_a_depth(void **state)
{
    program p;
    text t;

    (void)state;
    program_build(&p, LANG_NUMPY, "exp(log(sqrt(x + 1)))");
    text_init(&t);
    view_value(p.graph->outputs[0], 2, &t);
    assert_string_equal(t.bytes, "exp(log(…))");
    text_clear(&t);
    program_clear(&p);
}

static int set_up(void **state)
{
    (void)state;
    ops_init();
    lang_init();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pretty_puts_as_few_parentheses_as_can_be),
        cmocka_unit_test(pretty_names_what_is_used_twice),
        cmocka_unit_test(latex_is_mathematics),
        cmocka_unit_test(functions_are_written_where_they_stand),
        cmocka_unit_test(debug_is_theanos),
        cmocka_unit_test(apply_has_variables_applies_and_clients),
        cmocka_unit_test(apply_writes_constants_and_attributes_as_json),
        cmocka_unit_test(dot_has_boxes_ellipses_and_types),
        cmocka_unit_test(dot_has_boxes_for_functions),
        cmocka_unit_test(structure_has_an_arrow_for_each_reference),
        cmocka_unit_test(labels_are_escaped),
        cmocka_unit_test(views_are_linear_in_the_size_of_the_graph),
        cmocka_unit_test(values_are_cut_at_a_depth),
    };

    return cmocka_run_group_tests(tests, set_up, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What is the same for all gradients: sums, names, types, choices. That each row's text is
 * right is tests/derived/test_gradients.c. */
#include "engine/grad/grad.h"

#include "tests/lib/evaluate.h"
#include "tests/lib/program.h"

/* The value of an input of the program's graph. */
static value input_of(const program *p, const char *name)
{
    for (int i = 0; i < p->graph->input_count; i++)
        if (strcmp(p->graph->inputs[i].node->name, name) == 0)
            return p->graph->inputs[i];
    fail_msg("the program has no input %s", name);
    return (value){0};
}

/* Builds a program and the gradients of its results for an input of the given name. */
static bool differentiate(program *p, const char *words, const char *name, bool zeros,
                          value *gradient)
{
    gradient_query query = {.wrt_count = 1, .zeros = zeros};
    value wrt;

    evaluate_init();
    program_build(p, LANG_NUMPY, words);
    if (!p->ok)
        fail_msg("%s\n%s", words, p->err.detail);
    wrt = input_of(p, name);
    query.wrt = &wrt;
    query.ys = p->says.results;
    query.y_count = p->says.result_count;
    return grad_build(p->graph, &query, gradient, &p->err);
}

static void refuses(const char *words, const char *name, error_kind kind, const char *part)
{
    value gradient;
    program p;

    if (differentiate(&p, words, name, false, &gradient))
        fail_msg("%s has a gradient for %s", words, name);
    if (p.err.kind != kind || strstr(p.err.detail, part) == NULL)
        fail_msg("%s: %s", words, p.err.detail);
    program_clear(&p);
}

static void gives(const char *words, const char *result)
{
    evaluated got, want;

    evaluate(&got, words, NULL);
    evaluate(&want, result, NULL);
    if (error_is_set(&got.err) || strcmp(evaluated_text(&got), evaluated_text(&want)) != 0)
        fail_msg("%s\ngives %s, not %s", words, evaluated_text(&got), evaluated_text(&want));
    evaluated_clear(&got);
    evaluated_clear(&want);
}

/* ---- Sums ------------------------------------------------------------------------------ */

static void contributions_of_all_uses_add_up(void **state)
{
    (void)state;
    gives("grad(lambda x: x * x + 3 * x + x, 2.0)", "8.0");
    gives("grad(lambda x: sum(stack([x, x, x]) * array([[1.0], [10.0], [100.0]])), [1.0, 2.0])",
          "[111.0, 111.0]");
}

static void gradients_are_summed_over_stretched_axes(void **state)
{
    (void)state;
    gives("grad(lambda b: sum(ones((4, 2, 3)) * b), [[1.0], [2.0]])", "[[12.0], [12.0]]");
    gives("grad(lambda b: sum(ones((0, 3)) + b), 1.0)", "0.0");
}

static void gradients_have_the_type_of_their_input(void **state)
{
    (void)state;
    gives("a, b = grad(lambda a, b: sum(a * b), (float32(2), array([1.0, 2.0]))); a, b",
          "float32(3), [2.0, 2.0]");
    gives("grad(lambda a: sum(a * array([2.0, 0.5])), array([1, 2], dtype=\"float16\"))",
          "array([2.0, 0.5], dtype=\"float16\")");
    gives("a, b = grad(lambda a, b: real(a * b), (2.0, 3 + 4j)); a, b", "3.0, conj(2 + 0j)");
}

static void lengths_that_data_decide_are_no_obstacle(void **state)
{
    (void)state;
    gives("def f(a, b): return sum(a[a > 2] * b[b > 0])\n"
          "a, b = grad(f, ([1.0, 3.0], [1.0, 2.0, 3.0])); a, b",
          "[0.0, 6.0], [3.0, 3.0, 3.0]");
    gives("grad(lambda a: mean(exp(a[a > 9])[:, None] * ones(3)), [1.0, 2.0])", "[0.0, 0.0]");
    gives("grad(lambda a: sum(softmax(a[a > 0]) * a[a > 0]), [2.0, -1.0])", "[1.0, 0.0]");
    gives("grad(lambda a: sum(reshape(a[a > 1], (-1, 1)) @ a[None, a > 1]), [0.0, 2.0, 3.0])",
          "[0.0, 10.0, 10.0]");
}

/* ---- Queries ------------------------------------------------------------------------------ */

static void several_ys_take_their_own_incoming_gradients(void **state)
{
    value wrt, gradient, grad_ys[2] = {{0}};
    gradient_query query = {.y_count = 2, .wrt_count = 1, .wrt = &wrt, .grad_ys = grad_ys};
    const double ten = 10;
    evaluation_input in = {.name = "alpha"};
    const evaluation_options options = {.input_count = 1, .inputs = &in};
    evaluated e = {.arena = arena_new()};
    program p;

    (void)state;
    evaluate_init();
    program_build(&p, LANG_NUMPY, "alpha * 2, alpha * 3");
    wrt = input_of(&p, "alpha");
    query.ys = p.says.results;
    grad_ys[1] = graph_scalar(p.graph, DT_F64, &ten, false, &p.err);
    assert_true(grad_build(p.graph, &query, &gradient, &p.err));
    p.graph->output_count = 0;
    graph_add_output(p.graph, gradient);
    assert_true(tensor_new(&in.value, NULL, DT_F64, &shape_scalar, &p.err));
    memset(tensor_bytes(&in.value), 0, sizeof ten);
    evaluate_graph(&e, p.graph, &options);
    assert_string_equal(evaluated_text(&e), "float64 [] 32.0");
    tensor_unref(&in.value);
    evaluated_clear(&e);
    program_clear(&p);
}

static void what_nothing_depends_on_is_reported_by_name(void **state)
{
    value gradient;
    program p;

    (void)state;
    refuses("alpha + 0 * sum(w) * 0; sum(w)", "alpha", ERR_VALUE, "'alpha'");
    refuses("alpha = size(u) * 2.0", "u", ERR_VALUE, "'u'");
    assert_true(differentiate(&p, "alpha + 1; sum(w)", "alpha", true, &gradient));
    assert_string_equal(gradient.node->op->name, "zeros_like");
    program_clear(&p);
    assert_true(differentiate(&p, "floor(alpha)", "alpha", false, &gradient));
    program_clear(&p);
}

static void integers_have_no_gradient(void **state)
{
    (void)state;
    refuses("n * alpha", "n", ERR_DTYPE, "'n' is of int64");
    refuses("astype(alpha, int32) + n", "alpha", ERR_DTYPE, "int");
    gives("grad(lambda x: astype(x, int32) * 2.5, 3.0)", "0.0");
    gives("grad(lambda x: argmax(x) * 1.0 + x[1], [1.0, 2.0])", "[0.0, 1.0]");
}

static void computed_attributes_have_the_gradient_of_their_row(void **state)
{
    (void)state;
    gives("grad(lambda x: sum(linspace(0, x, 3)), 2.0)", "1.5");
    gives("grad(lambda x: sum(linspace(0, stop_gradient(x) + 0.0, 3) * x), 2.0)", "3.0");
}

static void the_type_of_an_incoming_gradient_is_checked(void **state)
{
    evaluated e;

    (void)state;
    evaluate(&e, "vjp(lambda x: x * 2, [1.0, 2.0], 1.0)", NULL);
    assert_int_equal(e.err.kind, ERR_SHAPE);
    evaluated_clear(&e);
    gives("vjp(lambda x: x * 2, array([1, 2], dtype=\"float32\"), [1, 2])",
          "array([2, 4], dtype=\"float32\")");
}

/* ---- Complex numbers --------------------------------------------------------------------------
 */

/* dy/da - i dy/db, as JAX has it: a step against its conjugate goes downhill. */
static void complex_gradients_are_conjugates_of_the_way_uphill(void **state)
{
    (void)state;
    gives("grad(lambda z: real(z * conj(z)), 3 + 4j)", "6 - 8j");
    gives("grad(imag, 3 + 4j)", "0 - 1j");
    gives("grad(real, 3 + 4j)", "conj(1 + 0j)");
    gives("grad(abs, 3 + 4j)", "0.6 - 0.8j");
    gives("grad(abs, 0j)", "conj(0j)");
    gives("vjp(lambda z: z * 2j, 1 + 1j, 1 + 0j)", "0 + 2j");
    gives("vjp(lambda z: z * z, 1 + 1j, 3j)", "-6 + 6j");
    gives("jvp(lambda z: z * z, 1 + 1j, 1 + 0j)", "2 + 2j");
    gives("jacobian(lambda z: stack([real(z), imag(z)]), 1 + 2j)", "conj([1 + 0j, 1j])");
    gives("grad(lambda z: real(scan(lambda c, t: (c * t, None), 1 + 0j, z)[0]), [1 + 1j, 2 - 1j])",
          "[2 - 1j, 1 + 1j]");
    gives("grad(lambda z: cond(real(z) > 0, lambda: real(z * z), lambda: 0.0), 1 + 2j)", "2 + 4j");
    gives("f = lambda z: abs(z * z - 2j); z = 1.5 + 0.5j; f(z - 0.01 * conj(grad(f, z))) < f(z)",
          "True");
}

/* ---- Orders, choices, definitions
 * ----------------------------------------------------------------- */

static void gradients_can_be_differentiated_again(void **state)
{
    (void)state;
    gives("f = lambda x: x ** 5\n"
          "g = lambda f: lambda x: grad(f, x)\n"
          "grad(lambda x: grad(lambda x: grad(lambda x: grad(f, x), x), x), 1.0)",
          "120.0");
    gives("hessian(lambda x: sum(x[[0, 0, 1]] ** 3), [1.0, 2.0])", "[[12.0, 0.0], [0.0, 12.0]]");
    gives("jacobian(lambda x: grad(prod, x), [2.0, 3.0, 0.0])",
          "[[0.0, 0.0, 3.0], [0.0, 0.0, 2.0], [3.0, 2.0, 0.0]]");
    gives("hessian(prod, [0.0, 3.0, 0.0])", "[[0.0, 0.0, 3.0], [0.0, 0.0, 0.0], [3.0, 0.0, 0.0]]");
}

static void a_branch_that_is_not_taken_costs_and_fails_nothing(void **state)
{
    (void)state;
    gives("x = array([1.0, 2.0])\n"
          "grad(lambda x: cond(sum(x) > 0, lambda: sum(x * x), lambda: x[argmax(x) + 7]), x)",
          "[2.0, 4.0]");
    gives(
        "grad(lambda x: cond(x > 1, lambda: x * cond(x > 2, lambda: x, lambda: 1.0), lambda: 0.0), "
        "3.0)",
        "6.0");
}

static void definitions_within_definitions_are_replaced(void **state)
{
    (void)state;
    gives("grad(lambda x: std(x) ** 2, [1.0, 2.0, 6.0]) * 3 - 2 * (array([1.0, 2.0, 6.0]) - 3) < "
          "1e-12",
          "[True, True, True]");
    gives("grad(lambda x: clip(x, 0, 1) + clip(x, 0, 5), 3.0)", "1.0");
}

/* A gradient is a graph: it prints as a program that builds the same. */
static void gradients_are_graphs_like_others(void **state)
{
    static const char *const programs[] = {
        "grad(lambda x: sum(softmax(x @ x) ** 2), array([[1.0, 2.0], [3.0, 4.0]]))",
        "grad(lambda x: cond(sum(x) > 0, lambda: prod(x), lambda: x[0]), array([1.0, 2.0]))",
        "grad(lambda x: sum(x[x > 1] * x[[0, 0]]), array([1.0, 2.0, 3.0]))",
        "grad(lambda x: sum(tensordot(x, x, ([0, 1], [1, 0]))), ones((2, 2)))",
        "jacobian(lambda x: concatenate([x, cumsum(x)]), array([1.0, 2.0]))",
    };

    (void)state;
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        evaluated first, second;
        text once, twice;

        text_init(&once);
        text_init(&twice);
        evaluate(&first, programs[i], NULL);
        lang_print(first.graph, &once);
        evaluate(&second, once.bytes, NULL);
        lang_print(second.graph, &twice);
        if (error_is_set(&first.err) || error_is_set(&second.err))
            fail_msg("%s\n%s%s", once.bytes, first.err.detail, second.err.detail);
        assert_string_equal(once.bytes, twice.bytes);
        assert_string_equal(evaluated_text(&first), evaluated_text(&second));
        evaluated_clear(&first);
        evaluated_clear(&second);
        text_clear(&once);
        text_clear(&twice);
    }
}

/* ---- Cost
 * ---------------------------------------------------------------------------------------- */

static int nodes_of_chain(int length)
{
    value gradient;
    program p;
    text words;
    int nodes;

    text_init(&words);
    text_add(&words, "y = alpha\n");
    for (int i = 0; i < length; i++)
        text_add(&words, "y = sin(y) * y\n");
    text_add(&words, "y");
    assert_true(differentiate(&p, words.bytes, "alpha", false, &gradient));
    nodes = p.graph->count;
    program_clear(&p);
    text_clear(&words);
    return nodes;
}

static void nodes_grow_with_the_length_of_the_way(void **state)
{
    const int once = nodes_of_chain(100), twice = nodes_of_chain(200), four = nodes_of_chain(400);

    (void)state;
    assert_int_equal(four - twice, 2 * (twice - once));
}

/* ---- Texts
 * ------------------------------------------------------------------------------------------ */

static void faulty(const char *name, const char *text, const char *part)
{
    op_def row = *op_find(name, strlen(name));
    error err = {0};

    assert_true(grad_check(&row, &err));
    row.grad[0] = text;
    if (grad_check(&row, &err))
        fail_msg("the text \"%s\" was taken for %s", text, name);
    if (strstr(err.detail, part) == NULL)
        fail_msg("%s: %s", text, err.detail);
}

static void wrong_texts_are_found_at_the_start(void **state)
{
    (void)state;
    evaluate_init();
    faulty("sin", "g * ", "the end");
    faulty("sin", "g * cosinus(x)", "cosinus");
    faulty("sum", "flip(g, axis=axis) + zeros(7)", "");
    faulty("reshape", "reshape(g, (7, 7))", "reshape");
    faulty("stack", "g, g, g", "3 values, not 2");
    faulty("getitem", "index_add(zeros_like(g), indices + (g,), key=key)", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contributions_of_all_uses_add_up),
        cmocka_unit_test(gradients_are_summed_over_stretched_axes),
        cmocka_unit_test(gradients_have_the_type_of_their_input),
        cmocka_unit_test(lengths_that_data_decide_are_no_obstacle),
        cmocka_unit_test(several_ys_take_their_own_incoming_gradients),
        cmocka_unit_test(what_nothing_depends_on_is_reported_by_name),
        cmocka_unit_test(integers_have_no_gradient),
        cmocka_unit_test(computed_attributes_have_the_gradient_of_their_row),
        cmocka_unit_test(the_type_of_an_incoming_gradient_is_checked),
        cmocka_unit_test(complex_gradients_are_conjugates_of_the_way_uphill),
        cmocka_unit_test(gradients_can_be_differentiated_again),
        cmocka_unit_test(a_branch_that_is_not_taken_costs_and_fails_nothing),
        cmocka_unit_test(definitions_within_definitions_are_replaced),
        cmocka_unit_test(gradients_are_graphs_like_others),
        cmocka_unit_test(nodes_grow_with_the_length_of_the_way),
        cmocka_unit_test(wrong_texts_are_found_at_the_start),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Programs become the graphs they say; graphs are compared as printed. */
#include "tests/lib/program.h"

static void operators_keep_pythons_precedence(void **state)
{
    (void)state;
    program_gives("x + x * x", "v1 = multiply(x, x)\nv2 = add(x, v1)\nv2\n");
    program_gives("-x ** 2", "v1 = power(x, 2)\nv2 = negative(v1)\nv2\n");
    program_gives("x ** -v", "v1 = negative(v)\nv2 = power(x, v1)\nv2\n");
    program_gives("x - x - x", "v1 = subtract(x, x)\nv2 = subtract(v1, x)\nv2\n");
    program_gives("n ** n ** n", "v1 = power(n, n)\nv2 = power(n, v1)\nv2\n");
    program_gives("n | n ^ n & n << n", "v1 = left_shift(n, n)\nv2 = bitwise_and(n, v1)\nv3 = "
                                        "bitwise_xor(n, v2)\nv4 = bitwise_or(n, v3)\nv4\n");
    program_gives("x @ w // 2 % 3",
                  "v1 = matmul(x, w)\nv2 = floor_divide(v1, 2)\nv3 = remainder(v2, 3)\nv3\n");
    program_gives("not n == 1", "v1 = equal(n, 1)\nv2 = logical_not(v1)\nv2\n");
    program_gives("~n >> 1", "v1 = invert(n)\nv2 = right_shift(v1, 1)\nv2\n");
}

static void numbers_are_folded_by_pythons_rules(void **state)
{
    (void)state;
    program_gives("1 + 2 * 3, 7 // -2, -7 % 3, 2 ** 10, -2 ** 2", "7, -4, 2, 1024, -4\n");
    program_gives("1 / 4, 2 ** -1, True + True, ~5, 1 << 40", "0.25, 0.5, 2, -6, 1099511627776\n");
    program_gives("-9223372036854775808, 18446744073709551615",
                  "-9223372036854775808, 18446744073709551615\n");
    program_gives("0xff, 0o17, 0b101, 1_000, .5, 1., 1e3", "255, 15, 5, 1000, 0.5, 1.0, 1000.0\n");
    program_gives("2j * 2j, 1 + 2j, -inf", "(-4.0+0.0j), (1.0+2.0j), -np.inf\n");
    program_gives("1 < 2 < 3, 1 < 2 > 3, True & False, 1 == 1.0", "True, False, False, True\n");
    program_gives("1 and 0, 0 or 2, not 3", "0, 2, False\n");
    program_gives("1 / 0", "v1 = true_divide(1, 0)\nv1\n");
}

static void lists_become_arrays_when_one_is_needed(void **state)
{
    (void)state;
    program_gives("[1, 2]", "v1 = array([1, 2])\nv1\n");
    program_gives("a = [1, 2]; a + a", "v1 = array([1, 2])\nv2 = add(v1, v1)\nv2\n");
    program_gives("[[1, 2.5], [True, 3]]", "v1 = array([[1.0, 2.5], [1.0, 3.0]])\nv1\n");
    program_gives("[True, False], [2j]",
                  "v1 = array([True, False])\nv2 = array([(0.0+2.0j)])\nv1, v2\n");
    program_gives("[18446744073709551615, 1]",
                  "v1 = array([18446744073709551615, 1], dtype=\"uint64\")\nv1\n");
    program_gives("[-1, 9223372036854775808]", "v1 = array([-1.0, 9223372036854775808.0])\nv1\n");
    program_gives("[]", "v1 = array([], dtype=\"float64\")\nv1\n");
    program_gives("[v, v]", "v1 = stack([v, v])\nv1\n");
    program_gives("concatenate([v, [1, 2]])",
                  "v1 = array([1, 2])\nv2 = concatenate([v, v1])\nv2\n");
    program_gives("array([1, 2], dtype=\"int8\")", "v1 = array([1, 2], dtype=\"int8\")\nv1\n");
}

static void arguments_go_to_their_parameters(void **state)
{
    (void)state;
    program_gives("sum(x, 1)", "v1 = sum(x, axis=1)\nv1\n");
    program_gives("x.sum(axis=(0, 1), keepdims=True)",
                  "v1 = sum(x, axis=(0, 1), keepdims=True)\nv1\n");
    program_gives("np.sum(x, keepdims=False)", "v1 = sum(x)\nv1\n");
    program_gives("reshape(x, (2 * 3, -1))", "v1 = reshape(x, shape=(6, -1))\nv1\n");
    program_gives("x.reshape(3, 2)", "v1 = reshape(x, shape=(3, 2))\nv1\n");
    program_gives("x.transpose(1, 0)", "v1 = transpose(x, axes=(1, 0))\nv1\n");
    program_gives("x.astype(\"int8\"), x.astype(np.int8)",
                  "v1 = astype(x, dtype=\"int8\")\nv2 = astype(x, dtype=\"int8\")\nv1, v2\n");
    program_gives("zeros((n, 2))", "v1 = zeros(shape=(n, 2))\nv1\n");
    program_gives("reshape(x, x.shape[::-1])", "v1 = reshape(x, shape=(3, 2))\nv1\n");
    program_gives("clip(x, None, 3)", "v1 = clip(x, max=3)\nv1\n");
    program_gives("tensordot(x, w, ([1], [0]))", "v1 = tensordot(x, w, axes=([1], [0]))\nv1\n");
    program_gives("a, b = divmod(x, v); b", "v1_0, v1_1 = divmod(x, v)\nv1_1\n");
}

static void properties_are_known_where_shapes_are(void **state)
{
    (void)state;
    program_gives("x.ndim, x.size, len(x), x.shape[1]", "2, 6, 2, 3\n");
    program_gives("x.T", "v1 = transpose(x)\nv1\n");
    program_gives("u.shape[0]", "v1 = shape(u)\nv2 = v1[0]\nv2\n");
    program_gives("u.shape[1]", "v1 = shape(u)\nv2 = v1[0]\n3\n");
    program_gives("x.dtype == float64 and v.dtype == \"float32\"", "True\n");
}

static void indices_are_those_of_numpy(void **state)
{
    (void)state;
    program_gives("x[0]", "v1 = x[0]\nv1\n");
    program_gives("x[1:, ::-1]", "v1 = x[1:, ::-1]\nv1\n");
    program_gives("x[..., None, 0:2:1]", "v1 = x[..., None, 0:2:1]\nv1\n");
    program_gives("x[[0, 1]]", "v1 = array([0, 1])\nv2 = x[v1]\nv2\n");
    program_gives("x[m, 1]", "v1 = x[m, 1]\nv1\n");
    program_gives("x[n]", "v1 = x[n]\nv1\n");
    program_gives("i = (0, 1); x[i]", "v1 = x[0, 1]\nv1\n");
    program_gives("(1, 2, 3)[1:], (4, 5)[-1]", "v1 = array([2, 3])\nv1, 5\n");
}

static void assignment_to_an_index_makes_a_new_value(void **state)
{
    (void)state;
    program_gives("y = x; y[0] = 1; y, x", "y = x\ny[0] = 1\ny, x\n");
    program_gives("x[m] += 1; x", "v1 = x[m]\nv2 = add(v1, 1)\nx_1 = x\nx_1[m] = v2\nx_1\n");
    program_gives("y = v; y += x[0]; y.dtype == float32",
                  "v1 = x[0]\nv2 = add(v, v1)\ny = astype(v2, dtype=\"float32\")\nTrue\n");
    program_gives("a, (b, c) = 1, (2, 3); [a, b, c] = c, b, a; a + b * c", "5\n");
    program_gives("a = b = 2; a += 1; a, b", "3, 2\n");
}

static void functions_are_traced_into_the_graph(void **state)
{
    (void)state;
    program_gives("f = lambda a, b=2: a * b\nf(v), f(b=v, a=3)",
                  "v1 = multiply(v, 2)\nv2 = multiply(3, v)\nv1, v2\n");
    program_gives("def f(a):\n    # why\n    b = a + 1\n\n    return b * b\nf(v)",
                  "v1 = add(v, 1)\nv2 = multiply(v1, v1)\nv2\n");
    program_gives("def f(a): return a, a + 1\nq, r = f(1); r", "2\n");
    program_gives("def outer(a):\n  def inner(b): return a + b\n  return inner(1)\nouter(2)",
                  "3\n");
    program_gives("k = 1\nf = lambda a: a + k\nk = 10\nf(1)", "11\n");
}

static void conditions_are_decided_now_if_they_are_known(void **state)
{
    (void)state;
    program_gives("v if None is None else nonsense", "v\n");
    program_gives("1 if x.ndim == 3 else 2 if x.ndim == 2 else 3", "2\n");
    program_gives("v * 2 if p else v",
                  "def f1():\n    v1 = multiply(v, 2)\n    return v1\ndef f2():\n    return v\nv2 "
                  "= cond(p, true_fn=f1, false_fn=f2)\nv2\n");
    program_gives("a, b = cond(p, lambda: (v, n), lambda: (v, 1)); b",
                  "def f1():\n    return v, n\ndef f2():\n    return v, 1\nv1_0, v1_1 = cond(p, "
                  "true_fn=f1, false_fn=f2)\nv1_1\n");
}

static void names_printed_lines_and_deletions_are_recorded(void **state)
{
    program p;

    (void)state;
    program_build(
        &p, LANG_NUMPY,
        "a = 1; b = v; a = v + 1\nprint(\"v\", v, (1, v), sep=\": \")\nprint()\ndel q, b");
    assert_true(p.ok);
    assert_int_equal(p.says.assigned_count, 1);
    assert_string_equal(p.says.assigned[0].name, "a");
    assert_int_equal(p.says.assigned[0].value.kind, LANG_TENSOR);
    assert_int_equal(p.says.result_count, 0);
    assert_int_equal(p.says.line_count, 2);
    assert_string_equal(p.says.printed[0].text, "v");
    assert_string_equal(p.says.printed[1].text, ": ");
    assert_int_equal(p.says.printed[2].style, LANG_STR);
    assert_int_equal(p.says.deleted_count, 1);
    assert_string_equal(p.says.deleted[0].name, "q");
    program_clear(&p);
}

static void a_function_body_is_built_from_its_values(void **state)
{
    arena *a = arena_new();
    graph *g = graph_new(a, NULL);
    const type vector = {.dtype = DT_F64, .shape = {.rank = 1, .length = {3}}};
    error err = {0};
    const value v = graph_input(g, "v", &vector, &err);
    const lang_value values[2] = {lang_of_value(v), {.kind = LANG_NONE}};
    value outputs[2];

    (void)state;
    assert_true(lang_function_build(g, "y = g * 2\nreturn y, y if axis is None else g",
                                    (const char *const[]){"g", "axis"}, values, 2, outputs, 2,
                                    &err));
    assert_true(value_equal(outputs[0], outputs[1]));
    assert_string_equal(outputs[0].node->op->name, "multiply");
    assert_false(
        lang_function_build(g, "g +", (const char *const[]){"g"}, values, 1, outputs, 1, &err));
    assert_int_equal(err.kind, ERR_SYNTAX);
    assert_int_equal(err.line, 0);
    graph_release(g);
    arena_free(a);
}

static void an_index_is_read_outside_of_programs(void **state)
{
    arena *a = arena_new();
    error err = {0};
    attr key;

    (void)state;
    assert_true(lang_index_parse(a, "1:3, ...,None, $1,-2, ::2", 25, 1, &key, &err));
    assert_int_equal(key.n, 6);
    assert_int_equal(key.index[0].kind, INDEX_SLICE);
    assert_int_equal(key.index[0].stop, 3);
    assert_int_equal(key.index[1].kind, INDEX_ELLIPSIS);
    assert_int_equal(key.index[2].kind, INDEX_NEWAXIS);
    assert_int_equal(key.index[3].operand, 1);
    assert_int_equal(key.index[4].start, -2);
    assert_true(key.index[5].has_step && !key.index[5].has_start);
    assert_false(lang_index_parse(a, "$2", 2, 1, &key, &err));
    assert_int_equal(err.kind, ERR_INDEX);
    arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_keep_pythons_precedence),
        cmocka_unit_test(numbers_are_folded_by_pythons_rules),
        cmocka_unit_test(lists_become_arrays_when_one_is_needed),
        cmocka_unit_test(arguments_go_to_their_parameters),
        cmocka_unit_test(properties_are_known_where_shapes_are),
        cmocka_unit_test(indices_are_those_of_numpy),
        cmocka_unit_test(assignment_to_an_index_makes_a_new_value),
        cmocka_unit_test(functions_are_traced_into_the_graph),
        cmocka_unit_test(conditions_are_decided_now_if_they_are_known),
        cmocka_unit_test(names_printed_lines_and_deletions_are_recorded),
        cmocka_unit_test(a_function_body_is_built_from_its_values),
        cmocka_unit_test(an_index_is_read_outside_of_programs),
    };

    ops_init();
    lang_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

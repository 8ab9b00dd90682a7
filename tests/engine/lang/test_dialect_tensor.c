/* SPDX-License-Identifier: Apache-2.0 */
/* The small tensor language. */
#include "tests/lib/program.h"

static void gives(const char *words, const char *printed)
{
    program p;

    program_build(&p, LANG_TENSOR_STATEMENTS, words);
    if (!p.ok)
        fail_msg("%s\n%s", words, p.err.detail);
    assert_string_equal(p.printed.bytes, printed);
    program_clear(&p);
}

static void product_and_point_bind_alike_and_tighter_than_sums(void **state)
{
    (void)state;
    gives("x + x . x - x", "v1 = multiply(x, x)\nv2 = add(x, v1)\nv3 = subtract(v2, x)\nv3\n");
    gives("x . x * w", "v1 = multiply(x, x)\nv2 = tensordot(v1, w, axes=1)\nv2\n");
    gives("x * w . [2]",
          "v1 = tensordot(x, w, axes=1)\nv2 = array([2])\nv3 = multiply(v1, v2)\nv3\n");
}

static void a_vector_is_a_row_on_the_left_and_a_column_on_the_right(void **state)
{
    (void)state;
    gives("v * w", "v1 = reshape(v, shape=(1, 3))\nv2 = tensordot(v1, w, axes=1)\nv2\n");
    gives("x * v", "v1 = reshape(v, shape=(3, 1))\nv2 = tensordot(x, v1, axes=1)\nv2\n");
}

static void a_scalar_counts_as_a_vector_of_one(void **state)
{
    (void)state;
    gives("3 + 4", "v1 = array([3])\nv2 = array([4])\nv3 = add(v1, v2)\nv3\n");
    gives("n . 2.5", "v1 = reshape(n, shape=(1,))\nv2 = array([2.5])\nv3 = multiply(v1, v2)\nv3\n");
    gives("-n . 2", "v1 = negative(n)\nv2 = reshape(v1, shape=(1,))\nv3 = array([2])\nv4 = "
                    "multiply(v2, v3)\nv4\n");
}

static void a_point_is_part_of_a_number_only_before_a_digit(void **state)
{
    (void)state;
    gives("1.5.2", "v1 = array([1.5])\nv2 = array([2])\nv3 = multiply(v1, v2)\nv3\n");
    gives("1 . 5", "v1 = array([1])\nv2 = array([5])\nv3 = multiply(v1, v2)\nv3\n");
    gives("x.x", "v1 = multiply(x, x)\nv1\n");
    gives("1e3", "v1 = array(1000.0)\nv1\n");
}

static void functions_take_shapes_in_every_form(void **state)
{
    (void)state;
    gives("one(2); one((2,)); one([2, 3]); zero(2, 3)",
          "v1 = ones(shape=(2,), dtype=\"int64\")\nv2 = ones(shape=(2,), dtype=\"int64\")\nv3 = "
          "ones(shape=(2, 3), dtype=\"int64\")\nv4 = zeros(shape=(2, 3), dtype=\"int64\")\nv4\n");
    gives("rand((2, 3), seed=7)", "v1 = rand(shape=(2, 3), seed=7)\nv1\n");
    gives("reshape(x, [-1]); reshape_tensor(x, 3, 2)",
          "v1 = reshape(x, shape=(-1,))\nv2 = reshape(x, shape=(3, 2))\nv2\n");
    gives("slice(x, [1, 0], [1, -1])", "v1 = x[1:2, 0:3]\nv1\n");
    gives("dot(x, x)", "v1 = multiply(x, x)\nv1\n");
    gives("zero(get_shape(x))", "v1 = zeros(shape=(2, 3), dtype=\"int64\")\nv1\n");
}

/* The printed line of an item, for items that need no run. */
static void prints(const program *p, int item, lang_style style, const char *words)
{
    assert_int_equal(p->says.printed[item].style, style);
    if (style == LANG_LITERAL)
        assert_string_equal(p->says.printed[item].text, words);
}

static void statements_report(void **state)
{
    program p;

    (void)state;
    program_build(&p, LANG_TENSOR_STATEMENTS, "y = [1, 2]; print(y)\nget_shape(y); s = size(y)");
    assert_true(p.ok);
    assert_int_equal(p.says.line_count, 5);
    prints(&p, 0, LANG_LITERAL, "y:tensor");
    prints(&p, 1, LANG_SHAPE, NULL);
    prints(&p, 2, LANG_LISTS, NULL);
    prints(&p, 3, LANG_LITERAL, "shape:");
    prints(&p, 4, LANG_SHAPE, NULL);
    prints(&p, 5, LANG_LITERAL, "size:");
    prints(&p, 6, LANG_STR, NULL);
    prints(&p, 7, LANG_LITERAL, "s:tensor");
    assert_int_equal(p.says.assigned_count, 2);
    program_clear(&p);
}

static const struct expected {
    const char *words;
    error_kind kind;
    int column;
    const char *begin, *part; /* of the detail */
} cases[] = {
    {"[1, 2] + [1, 2, 3]", ERR_SHAPE, 8, "broadcasting failed!", "[2] and [3]"},
    {"x * x", ERR_SHAPE, 3, "输入不合法!", "[2, 3] and the first of [2, 3]"},
    {"3 * x", ERR_SHAPE, 3, "输入不合法!", "[]"},
    {"y = ", ERR_SYNTAX, 5, "输入错误", "end of the program"},
    {"x .. x", ERR_SYNTAX, 4, "输入错误", "'.'"},
    {"x x", ERR_SYNTAX, 3, "输入错误", "end of the statement"},
    {"1.", ERR_SYNTAX, 3, "输入错误", "end of the program"},
    {"'a'", ERR_SYNTAX, 1, "输入错误", "cannot stand here"},
    {"nope(1)", ERR_UNKNOWN_OP, 1, "there is no function 'nope'", ""},
    {"reshap(x, 6)", ERR_UNKNOWN_OP, 1, "there is no function", "reshape"},
    {"q + 1", ERR_UNKNOWN_NAME, 1, "the name 'q'", ""},
    {"reshape(x, 4)", ERR_SHAPE, 1, "reshape", ""},
    {"slice(x, [0, 0], [3, 1])", ERR_INDEX, 1, "slice: 3 elements from 0 overrun axis 0", ""},
    {"slice(x, [0], [1])", ERR_ARGUMENT, 1, "slice", ""},
    {"y = print(x)", ERR_VALUE, 1, "there is no value", ""},
    {"rand(2, sed=1)", ERR_UNKNOWN_ATTR, 1, "rand has no parameter 'sed'", ""},
};

static void errors_begin_with_the_words_of_the_language(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct expected *e = &cases[i];
        program p;

        program_build(&p, LANG_TENSOR_STATEMENTS, e->words);
        if (p.err.kind != e->kind || p.err.column != e->column ||
            strncmp(p.err.detail, e->begin, strlen(e->begin)) != 0 ||
            strstr(p.err.detail, e->part) == NULL)
            fail_msg("%s\ngives %s at %d: %s", e->words, error_info_of(p.err.kind)->code,
                     p.err.column, p.err.detail);
        program_clear(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(product_and_point_bind_alike_and_tighter_than_sums),
        cmocka_unit_test(a_vector_is_a_row_on_the_left_and_a_column_on_the_right),
        cmocka_unit_test(a_scalar_counts_as_a_vector_of_one),
        cmocka_unit_test(a_point_is_part_of_a_number_only_before_a_digit),
        cmocka_unit_test(functions_take_shapes_in_every_form),
        cmocka_unit_test(statements_report),
        cmocka_unit_test(errors_begin_with_the_words_of_the_language),
    };

    ops_init();
    lang_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

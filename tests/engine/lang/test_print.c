/* SPDX-License-Identifier: Apache-2.0 */
/* A printed graph builds the same graph again. */
#include "tests/lib/program.h"

static const char *const programs[] = {
    "x",
    "x, 1, True, 2.5, 1 + 2j, inf, nan",
    "y = x @ w; z = y + 1; z * z",
    "sum = x + 1; v2 = sum * 2; f1 = v2; f1 + sum",
    "x.sum(axis=(0, 1), keepdims=True), x.mean(1), x.T, argmax(x, axis=-1)",
    "x[1:, ::-1, None], x[m], x[[0, 1], 1:], x[..., -1]",
    "y = x; y[0] = 1; y[m, 1:] += 2; y",
    "q, r = divmod(x, v); r, q",
    "softmax(x, axis=1), clip(x, None, 3), var(x, ddof=1)",
    "reshape(x, (n, 2)), zeros((n, 2), \"int8\"), arange(0, 1.5, 0.25), full((2,), v[0])",
    "tensordot(x, w, 1), tensordot(x, w, ([1, 0], [0, 1])), concatenate([x, x], axis=1)",
    "a, = nonzero(v > 0); a",
    "v * 2 if p else v + 1",
    "y = v + 1; cond(p, lambda: (y, cond(n > 1, lambda: y * y, lambda: v)), lambda: (v, y))",
    "array([1, -2], dtype=\"int8\"), array([], \"int32\"), array([], bool, shape=(2, 0, 3))",
    "array([0.1, 1e-45, 3.4e38, nan, -inf, -0.0], float32), array([0.1, 65504.0], \"float16\")",
    "array([0.1, 3e38], bfloat16), array([1 + 2j, -1j, complex(nan, inf), complex(-0.0, 0)])",
    "array([1j / 2], complex64), array([18446744073709551615], uint64), array(3), float32(0.1)",
    "[[True, False], [False, True]], [1e300, 5e-324], -9223372036854775808",
    "astype(x, None), x.astype(float16), zeros_like(x), linspace(0, 1, num=5)",
    "index_add(x, [1.0], \"0:1, ...\"), index_add(x, [m, 2.0], key=\"$1\")",
};

static void a_printed_graph_builds_itself_again(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        program p, q;

        program_build(&p, LANG_NUMPY, programs[i]);
        if (!p.ok)
            fail_msg("%s\n%s", programs[i], p.err.detail);
        program_build(&q, LANG_NUMPY, p.printed.bytes);
        if (!q.ok)
            fail_msg("%s\n%s", p.printed.bytes, q.err.detail);
        assert_string_equal(q.printed.bytes, p.printed.bytes);
        assert_int_equal(q.graph->output_count, p.graph->output_count);
        program_clear(&p);
        program_clear(&q);
    }
}

/* The constants of two graphs, one after the other, have the same bits. */
static void constants_keep_their_bits(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        program p, q;
        int at = 0;

        program_build(&p, LANG_NUMPY, programs[i]);
        program_build(&q, LANG_NUMPY, p.printed.bytes);
        for (int k = 0; k < p.graph->count; k++) {
            const tensor *a = p.graph->nodes[k]->constant, *b;

            if (a == NULL || a->weak)
                continue;
            while (q.graph->nodes[at]->constant == NULL || q.graph->nodes[at]->constant->weak)
                at++;
            b = q.graph->nodes[at++]->constant;
            assert_int_equal(a->dtype, b->dtype);
            assert_true(shape_equal(&a->shape, &b->shape));
            assert_memory_equal(tensor_bytes(a), tensor_bytes(b), (size_t)tensor_nbytes(a));
        }
        program_clear(&p);
        program_clear(&q);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_printed_graph_builds_itself_again),
        cmocka_unit_test(constants_keep_their_bits),
    };

    ops_init();
    lang_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

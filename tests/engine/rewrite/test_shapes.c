/* SPDX-License-Identifier: Apache-2.0 */
/* Views and casts in a row: what they come to, and that it is the same bits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/lib/rewritten.h"

/* Of x, 4 x 6, and s, 1 x 4 x 1. */
static const struct {
    const char *program, *operations;
} cases[] = {
    {"reshape(reshape(x, (2, 12)), (3, 8))", "reshape"},
    {"reshape(reshape(x, (24,)), (4, 6))", ""},
    {"reshape(ravel(x), (8, -1))", "reshape"},
    {"reshape(x, (4, -1))", ""},
    {"reshape(reshape(x.T, (24,)), (3, 8))", "transpose reshape"},
    {"transpose(transpose(x, (1, 0)), (1, 0))", ""},
    {"transpose(x, (0, 1))", ""},
    {"transpose(transpose(stack([x, x]), (1, 2, 0)), (1, 2, 0))", "stack transpose"},
    {"transpose(transpose(transpose(stack([x, x]), (1, 2, 0)), (1, 2, 0)), (1, 2, 0))", "stack"},
    {"swapaxes(swapaxes(x, 0, 1), -1, -2)", ""},
    {"swapaxes(x, 1, 1)", ""},
    {"squeeze(expand_dims(x, 1), 1)", ""},
    {"squeeze(expand_dims(x, (0, 3)), (0, 3))", ""},
    {"expand_dims(squeeze(s), (0, 2))", ""},
    {"x[None][0]", ""},
    {"broadcast_to(x, (4, 6))", ""},
    {"broadcast_to(x, (2, 4, 6))", "broadcast_to"},
    {"x[:]", ""},
    {"x[0:4, ...]", ""},
    {"x[:, 0:100]", ""},
    {"x[1:]", "getitem"},
    {"x[::-1][::-1]", ""},
    {"flip(flip(x, 0), 0)", ""},
    {"flip(flip(x, 0), 1)", "flip flip"},
    {"flip(s, 0)", ""},
    {"concatenate([x])", ""},
    {"concatenate([x], axis=1)", ""},
    {"stack([x], axis=1)", "expand_dims"},
    {"sum(x, axis=())", ""},
    {"sum(s, axis=2, keepdims=True)", ""},
    {"sum(x, axis=0)", "sum"},
    {"max(s, axis=(0, 2), keepdims=True)", ""},
    {"mean(s, axis=0, keepdims=True)", ""},
    {"astype(x, float32)", ""},
    {"astype(astype(x, float64), float32)", ""},
    {"astype(astype(x, float64), float16)", "astype"},
    {"astype(astype(x, float16), float32)", "astype astype"},
    {"astype(astype(x, float64), int8)", "astype astype"},
};

static void views_and_casts_come_to_less(void **state)
{
    const evaluation_input inputs[] = {{"x", numbers_of(DT_F32, 2, 4, 6, 1)},
                                       {"s", numbers_of(DT_F32, 3, 1, 4, 2)}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        evaluation_options plain = {.input_count = 2, .inputs = inputs, .unoptimized = true};
        evaluated want;
        rewritten r;

        rewritten_init(&r, cases[i].program, inputs, 2, (rewrite_options){.strict = true});
        if (r.graph == NULL)
            fail_msg("%s: %s", cases[i].program, r.source.err.detail);
        if (strcmp(rewritten_operations(&r), cases[i].operations) != 0)
            fail_msg("%s became %s", cases[i].program, rewritten_operations(&r));
        evaluate(&want, cases[i].program, &plain);
        assert_true(same_bits(&r.source.results[0], &want.results[0]));
        evaluated_clear(&want);
        rewritten_clear(&r);
    }
    for (int i = 0; i < 2; i++) {
        tensor t = inputs[i].value;
        tensor_unref(&t);
    }
}

/* Every cast by way of another type, odd numbers included, gives the bits it gave. */
static void casts_of_casts_keep_every_bit(void **state)
{
    static const char numbers[] =
        "array([0.0, -0.0, 1.5, -1.5, 127, 128, 255, 256, -129, 32768, 65504, 65520, 1e6, "
        "16777217, 2147483648, -2147483649, 3e9, 9007199254740993, 1e300, nan, inf, -inf])";
    evaluation_options plain = {.unoptimized = true};

    (void)state;
    for (int from = 0; from < DT_COUNT; from++)
        for (int by = 0; by < DT_COUNT; by++)
            for (int to = 0; to < DT_COUNT; to++) {
                evaluation_input x = {.name = "x"};
                const evaluation_options fast = {.input_count = 1, .inputs = &x};
                char program[1024];
                evaluated source, got, want;

                snprintf(program, sizeof program, "astype(%s, %s)", numbers,
                         dtype_name((dtype)from));
                evaluate(&source, program, &plain);
                assert_int_equal(source.count, 1);
                x.value = source.results[0];
                snprintf(program, sizeof program, "astype(astype(x, %s), %s)",
                         dtype_name((dtype)by), dtype_name((dtype)to));
                evaluate(&got, program, &fast);
                plain = fast;
                plain.unoptimized = true;
                evaluate(&want, program, &plain);
                if (!same_bits(&got.results[0], &want.results[0]))
                    fail_msg("%s of %s", program, dtype_name((dtype)from));
                evaluated_clear(&got);
                evaluated_clear(&want);
                evaluated_clear(&source);
                plain = (evaluation_options){.unoptimized = true};
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(views_and_casts_come_to_less),
        cmocka_unit_test(casts_of_casts_keep_every_bit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

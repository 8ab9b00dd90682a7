/* SPDX-License-Identifier: Apache-2.0 */
/* Every rule of rules.def: both sides, evaluated as they are written, agree bit for bit on
 * every type that the rule is for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "engine/rewrite/rules.h"
#include "tests/lib/evaluate.h"

enum { N = 48 };

/* Numbers with all the odd ones: NaN, infinities, both zeros, the ends of the range. */
static tensor numbers(dtype t, int seed)
{
    static const double odd[] = {0.0,        -0.0,      1,     -1,   1.0 / 0.0,
                                 -1.0 / 0.0, 0.0 / 0.0, 1e300, 9e18, 1.8e19};
    const shape s = {.rank = 1, .length = {N}};
    tensor result;
    error err = {0};

    assert_true(tensor_new(&result, NULL, t, &s, &err));
    for (int i = 0; i < N; i += LANES) {
        double values[LANES];
        const void *in[] = {values};

        for (int k = 0; k < LANES; k++)
            values[k] =
                k % 3 == 0 ? odd[(i / LANES * 7 + k / 3 + seed) % 10] : (k * 5 + seed * 3) % 17 - 8;
        kernel_cast(DT_F64, t)(LANES, (char *)tensor_bytes(&result) + (size_t)i * dtype_size(t),
                               in);
    }
    return result;
}

/* NaNs of any sign and payload count as the same; 1 / a tells the zeros apart. */
static bool same_values(evaluated *a, evaluated *b)
{
    static const char same[] =
        "def same(a, b): return ((a == b) & (1 / a == 1 / b)) | ((a != a) & (b != b))\n"
        "all(same(real(p), real(q)) & same(imag(p), imag(q)))";
    const evaluation_input both[] = {{"p", a->results[0]}, {"q", b->results[0]}};
    const evaluation_options options = {.input_count = 2, .inputs = both, .unoptimized = true};
    evaluated e;
    bool result;

    if (same_bits(&a->results[0], &b->results[0]))
        return true;
    evaluate(&e, same, &options);
    result = !error_is_set(&e.err) && *(const bool *)tensor_bytes(&e.results[0]);
    evaluated_clear(&e);
    return result;
}

static bool check_rule(const rule *r, dtype x, dtype y)
{
    const evaluation_input inputs[] = {
        {"x", numbers(x, 1)}, {"y", numbers(y, 2)}, {"z", numbers(x, 3)}};
    const evaluation_options plain = {.input_count = 3, .inputs = inputs, .unoptimized = true};
    evaluated from, to;
    bool ran = false;

    evaluate(&from, r->pattern, &plain);
    evaluate(&to, r->replacement, &plain);
    if (from.count == 1 && to.count == 1 && from.results[0].dtype == to.results[0].dtype) {
        ran = true;
        if (!same_values(&from, &to))
            fail_msg("%s is %s, but %s is %s (%s)", r->pattern, evaluated_text(&from),
                     r->replacement, evaluated_text(&to), dtype_name(x));
    }
    evaluated_clear(&from);
    evaluated_clear(&to);
    for (int i = 0; i < 3; i++) {
        tensor t = inputs[i].value;
        tensor_unref(&t);
    }
    return ran;
}

static bool is_for(const rule *r, dtype t)
{
    return r->kind == RULE_EXACT ||
           (r->kind == RULE_WHOLE && dtype_info_of(t)->class <= CLASS_INT) ||
           (r->kind == RULE_REAL && !dtype_is_complex(t));
}

static void both_sides_of_every_rule_agree(void **state)
{
    int count;

    (void)state;
    evaluate_init();
    const rule *all = rules_all(&count);
    for (int i = 0; i < count; i++) {
        int ran = 0;

        if (rule_is_meaning(&all[i]))
            continue;
        for (int t = 0; t < DT_COUNT; t++)
            ran += is_for(&all[i], (dtype)t) && check_rule(&all[i], (dtype)t, (dtype)t);
        if (ran == 0)
            fail_msg("no type can try the rule %s", all[i].pattern);
    }
}

/* Comparisons across the signs are told by the arithmetic of Python's integers. */
static void int64_compares_with_uint64_exactly(void **state)
{
    static const struct {
        const char *program, *gives;
    } cases[] = {
        {"int64([9007199254740993]) == uint64([9007199254740992])", "[False]"},
        {"int64([-1]) < uint64([0])", "[True]"},
        {"uint64([18446744073709551615]) > int64([9223372036854775807])", "[True]"},
        {"uint64([9223372036854775808]) <= int64([9223372036854775807])", "[False]"},
        {"int64([-1]) == uint64([18446744073709551615])", "[False]"},
        {"int64([-1]) != uint64([18446744073709551615])", "[True]"},
        {"uint64([5, 6]) >= int64([6, 6])", "[False, True]"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int plain = 0; plain < 2; plain++) {
            const evaluation_options options = {.unoptimized = plain == 1};
            evaluated got, want;

            evaluate(&got, cases[i].program, &options);
            evaluate(&want, cases[i].gives, NULL);
            assert_string_equal(evaluated_text(&got), evaluated_text(&want));
            evaluated_clear(&got);
            evaluated_clear(&want);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_sides_of_every_rule_agree),
        cmocka_unit_test(int64_compares_with_uint64_exactly),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

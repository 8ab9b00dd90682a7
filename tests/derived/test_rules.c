/* SPDX-License-Identifier: Apache-2.0 */
/* Every rule of rules.def: both sides, evaluated as they are written, agree on every type that
 * the rule is for: bit for bit, or, of rules that are close, within some units in the last
 * place of the largest value. Where a rule is there for the range of values, the rewritten
 * form is right where the plain one is not. */
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

/* What the arguments of patterns are in turn, with the shape of x, y and z. */
static const struct {
    const char *axis, *keepdims, *type, *shape;
    int64_t rows; /* 0: one axis of all */
} arguments[] = {
    {"0", "True", "x.dtype", "(48,)", 0},    {"-1", "False", "float64", "(6, 8)", 6},
    {"0", "True", "x.dtype", "(48, 1)", 48}, {"1", "True", "x.dtype", "(48, 1)", 48},
    {"()", "False", "int8", "(48,)", 0},
};
enum { ARGUMENTS = sizeof arguments / sizeof *arguments };

/* One side with its arguments, as a program. */
static void write_side(text *t, const char *side, int k)
{
    text_init(t);
    if (arguments[k].rows > 0)
        for (const char *v = "xyz"; *v != '\0'; v++)
            text_addf(t, "%c = reshape(%c, (%ld, -1))\n", *v, *v, (long)arguments[k].rows);
    text_addf(t, "axis = %s\nkeepdims = %s\ndtype = %s\nshape = %s\n%s", arguments[k].axis,
              arguments[k].keepdims, arguments[k].type, arguments[k].shape, side);
    text_add_char(t, '\0');
}

static void evaluate_side(evaluated *e, const char *side, int k, const evaluation_options *options)
{
    text t;

    write_side(&t, side, k);
    evaluate(e, t.bytes, options);
    text_clear(&t);
}

enum { CLOSE_UNITS = 16 };

/* The largest distance between the two, over the largest value and the type's precision:
 * units in its last place. Where nothing is left but rounding (y - y), over one, which is
 * about what the inputs are. Both may be NaN, or the same infinity, at the same places. */
static double distance_of(evaluated *a, evaluated *b)
{
    static const char far[] = "a, b = astype(p, complex128), astype(q, complex128)\n"
                              "same = (a == b) | ((a != a) & (b != b))\n"
                              "max(where(same, 0, absolute(a - b))), "
                              "max(where(isfinite(a), absolute(a), 0))";
    static const double precision[DT_COUNT] = {
        [DT_F16] = 0x1p-10, [DT_BF16] = 0x1p-7, [DT_F32] = 0x1p-23,
        [DT_F64] = 0x1p-52, [DT_C64] = 0x1p-23, [DT_C128] = 0x1p-52};
    const evaluation_input both[] = {{"p", a->results[0]}, {"q", b->results[0]}};
    const evaluation_options options = {.input_count = 2, .inputs = both, .unoptimized = true};
    const double unit = precision[a->results[0].dtype];
    evaluated e;
    double distance, scale;

    evaluate(&e, far, &options);
    assert_int_equal(e.count, 2);
    distance = *(const double *)tensor_bytes(&e.results[0]);
    scale = *(const double *)tensor_bytes(&e.results[1]);
    evaluated_clear(&e);
    return distance / unit / (scale <= CLOSE_UNITS * unit ? 1 : scale);
}

/* Random numbers between -0.9 and 0.9: both sides are defined and stay in range. */
static tensor moderate_numbers(dtype t, int seed)
{
    const shape s = {.rank = 1, .length = {N}};
    tensor result;
    error err = {0};

    assert_true(tensor_new(&result, NULL, t, &s, &err));
    for (int i = 0; i < N; i += LANES) {
        double _Complex values[LANES];
        const void *in[] = {values};

        for (int k = 0; k < LANES; k++) {
            const unsigned a = (unsigned)(i + k + 1) * 2654435761U + (unsigned)seed * 40503U;

            __real__ values[k] = 1.8 * (double)(a % 10007) / 10007 - 0.9;
            __imag__ values[k] = 1.8 * (double)(a % 9973) / 9973 - 0.9;
        }
        kernel_cast(DT_C128, t)(LANES, (char *)tensor_bytes(&result) + (size_t)i * dtype_size(t),
                                in);
    }
    return result;
}

static void check_agreement(const rule *r, evaluated *from, evaluated *to, dtype x)
{
    const bool agree =
        rule_is_close(r) ? distance_of(from, to) <= CLOSE_UNITS : same_values(from, to);

    if (!agree)
        fail_msg("%s is %s, but %s is %s (%s)", r->pattern, evaluated_text(from), r->replacement,
                 evaluated_text(to), dtype_name(x));
}

static bool check_rule(const rule *r, dtype x, dtype y, int k)
{
    tensor (*make)(dtype, int) = rule_is_close(r) ? moderate_numbers : numbers;
    const evaluation_input inputs[] = {{"x", make(x, 1)}, {"y", make(y, 2)}, {"z", make(x, 3)}};
    const evaluation_options plain = {.input_count = 3, .inputs = inputs, .unoptimized = true};
    evaluated from, to;
    bool ran = false;

    evaluate_side(&from, r->pattern, k, &plain);
    evaluate_side(&to, r->replacement, k, &plain);
    if (from.count == 1 && to.count == 1 && from.results[0].dtype == to.results[0].dtype &&
        shape_equal(&from.results[0].shape, &to.results[0].shape)) {
        ran = true;
        check_agreement(r, &from, &to, x);
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
    switch (r->kind) {
    case RULE_EXACT:
        return true;
    case RULE_WHOLE:
        return dtype_info_of(t)->class <= CLASS_INT;
    case RULE_REAL:
        return !dtype_is_complex(t);
    case RULE_CLOSE:
        return dtype_is_float(t) || dtype_is_complex(t);
    case RULE_CLOSE_REAL:
        return dtype_is_float(t);
    default:
        return false;
    }
}

static void both_sides_of_every_rule_agree(void **state)
{
    int count;

    (void)state;
    evaluate_init();
    const rule *all = rules_all(&count);
    for (int i = 0; i < count; i++) {
        int ran = 0;

        if (all[i].phase == RULE_LOWER || all[i].kind == RULE_KEEP)
            continue;
        for (int t = 0; t < DT_COUNT; t++)
            for (int k = 0; is_for(&all[i], (dtype)t) && k < (all[i].has_attrs ? ARGUMENTS : 1);
                 k++)
                ran += check_rule(&all[i], (dtype)t, (dtype)t, k);
        if (ran == 0)
            fail_msg("no type can try the rule %s", all[i].pattern);
    }
}

/* Elements where a rule that is close makes a NaN of what was none, or another number of one
 * that was finite, if that is not what the pattern gives in float64 either: a narrower type
 * may have lost it on the way. */
static const char spoilt[] =
    "a, b, wide = astype(p, float64), astype(q, float64), astype(w, float64)\n"
    "def near(a, b): return absolute(a - b) <= 0.02 * maximum(1, absolute(a))\n"
    "sum(where(a != a, False, where(isinf(a), b != b, ~near(a, b) & ~near(wide, b))))";

typedef tensor make_numbers(dtype t, int seed);

/* One infinity, in the first place for x, among moderate numbers. */
static tensor numbers_with_infinity(dtype t, int seed)
{
    tensor result = moderate_numbers(t, seed);
    const double infinite[LANES] = {1.0 / 0.0};
    const void *in[] = {infinite};
    char lanes[LANES * sizeof(double _Complex)];

    kernel_cast(DT_F64, t)(LANES, lanes, in);
    memcpy((char *)tensor_bytes(&result) + (size_t)(seed - 1) * dtype_size(t), lanes,
           dtype_size(t));
    return result;
}

static tensor as_float64(const tensor *t)
{
    tensor result;
    error err = {0};

    assert_true(tensor_new(&result, NULL, DT_F64, &t->shape, &err));
    for (int i = 0; i < N; i += LANES) {
        const void *in[] = {(char *)tensor_bytes(t) + (size_t)i * dtype_size(t->dtype)};

        kernel_cast(t->dtype, DT_F64)(LANES, (double *)tensor_bytes(&result) + i, in);
    }
    return result;
}

static int64_t count_spoilt(const rule *r, dtype t, make_numbers *make)
{
    const evaluation_input inputs[] = {{"x", make(t, 1)}, {"y", make(t, 2)}, {"z", make(t, 3)}};
    const evaluation_input wide[] = {{"x", as_float64(&inputs[0].value)},
                                     {"y", as_float64(&inputs[1].value)},
                                     {"z", as_float64(&inputs[2].value)}};
    evaluation_options plain = {.input_count = 3, .inputs = inputs, .unoptimized = true};
    evaluation_options in_float64 = {.input_count = 3, .inputs = wide, .unoptimized = true};
    evaluated from, to, true_one, e;
    int64_t result;

    evaluate_side(&from, r->pattern, 0, &plain);
    evaluate_side(&to, r->replacement, 0, &plain);
    evaluate_side(&true_one, r->pattern, 0, &in_float64);
    const evaluation_input sides[] = {
        {"p", from.results[0]}, {"q", to.results[0]}, {"w", true_one.results[0]}};
    const evaluation_options counting = {.input_count = 3, .inputs = sides};
    evaluate(&e, spoilt, &counting);
    assert_int_equal(e.count, 1);
    result = *(const int64_t *)tensor_bytes(&e.results[0]);
    evaluated_clear(&e);
    evaluated_clear(&true_one);
    evaluated_clear(&from);
    evaluated_clear(&to);
    for (int i = 0; i < 3; i++) {
        tensor narrow = inputs[i].value, v = wide[i].value;

        tensor_unref(&narrow);
        tensor_unref(&v);
    }
    return result;
}

static void close_rules_spoil_nothing(void **state)
{
    static const dtype types[] = {DT_F16, DT_F32, DT_F64}; /* bfloat16 rounds too far itself */
    static make_numbers *const makes[] = {numbers, numbers_with_infinity};
    int count;

    (void)state;
    evaluate_init();
    const rule *all = rules_all(&count);
    for (int i = 0; i < count; i++)
        for (int k = 0; rule_is_close(&all[i]) && k < 6; k++) {
            const int64_t n = count_spoilt(&all[i], types[k / 2], makes[k % 2]);

            if (n > 0)
                fail_msg("%s of %s spoils %ld elements", all[i].pattern, dtype_name(types[k / 2]),
                         (long)n);
        }
}

/* The phases come in their order, which is the order in which rules are tried. */
static void rules_are_in_the_order_of_their_phases(void **state)
{
    int count;

    (void)state;
    evaluate_init();
    const rule *all = rules_all(&count);
    for (int i = 1; i < count; i++)
        assert_true(all[i].phase >= all[i - 1].phase);
}

/* ---- Stability -------------------------------------------------------------------------- */

/* Programs of a float64 x whose plain form overflows, underflows or cancels. The true values
 * were computed with 60 digits by mpmath 1.3, from the formula as it is written. */
static const struct {
    const char *program;
    double x[2], gives[2];
} unstable[] = {
    {"log(1 + x)", {1e-17, 1e-300}, {1e-17, 1e-300}},
    {"log(x + 1)", {1e-10, -1e-10}, {9.9999999995e-11, -1.00000000005e-10}},
    {"log(1 - x)", {1e-17, 1e-300}, {-1e-17, -1e-300}},
    {"exp(x) - 1", {1e-17, 1e-10}, {1e-17, 1.00000000005e-10}},
    {"1 - exp(x)", {1e-17, 1e-10}, {-1e-17, -1.00000000005e-10}},
    {"exp(x) / (1 + exp(x))", {1000, 0}, {1, 0.5}},
    {"log(1 + exp(x))", {1000, -50}, {1000, 1.9287498479639178e-22}},
    {"log(1 + exp(-absolute(x)))", {50, -50}, {1.9287498479639178e-22, 1.9287498479639178e-22}},
    {"log1p(exp(x))", {1000, 710}, {1000, 710}},
    {"log(sigmoid(x))", {-1000, 50}, {-1000, -1.9287498479639178e-22}},
    {"log(1 / (1 + exp(-x)))", {-1000, 50}, {-1000, -1.9287498479639178e-22}},
    {"log(1 - sigmoid(x))", {1000, -50}, {-1000, -1.9287498479639178e-22}},
    {"log1p(-sigmoid(x))", {1000, 50}, {-1000, -50}},
    {"log(softmax(x))", {0, 1000}, {-1000, 0}},
    {"log(softmax(stack([x, x]), axis=-1))[1]", {0, 1000}, {-1000, 0}},
    {"log(sum(exp(x), keepdims=True)) + [0, 0]",
     {1000, 1000},
     {1000.6931471805599453, 1000.6931471805599453}},
    {"log(sum(exp(stack([x, x])), axis=0))",
     {1000, -1000},
     {1000.6931471805599453, -999.3068528194400547}},
    {"exp(x) / sum(exp(x), axis=0, keepdims=True)", {1000, 1000}, {0.5, 0.5}},
    {"log(exp(x))", {1000, -1000}, {1000, -1000}},
    {"sqrt(square(x))", {1e200, -1e-200}, {1e200, 1e-200}},
    {"sqrt(x * x)", {1e200, -1e-200}, {1e200, 1e-200}},
    {"grad(lambda v: log(1 + exp(v)).sum(), x)", {1000, 0}, {1, 0.5}},
    {"grad(lambda v: log(1 + exp(-v)).sum(), x)", {-1000, 0}, {-1, -0.5}},
    {"grad(lambda v: log(sigmoid(v)).sum(), x)", {-1000, 0}, {1, 0.5}},
    {"grad(lambda v: log(1 - sigmoid(v)).sum(), x)", {1000, 0}, {-1, -0.5}},
    {"grad(lambda v: log(sum(exp(v))), x)", {1000, 1000}, {0.5, 0.5}},
    {"grad(lambda v: log(sum(exp(stack([v, v])), axis=0)).sum(), x)", {1000, -1000}, {1, 1}},
    {"grad(lambda v: log(sum(exp(v), axis=0, keepdims=True)).sum(), x)", {1000, 1000}, {0.5, 0.5}},
    {"grad(lambda v: log(softmax(v))[0], x)", {0, 1000}, {1, -1}},
    {"grad(lambda v: log(softmax(stack([v, v * 0]), axis=0))[0].sum(), x)", {-1000, 0}, {1, 0.5}},
    {"grad(lambda v: log(1 / (1 + exp(-v))).sum(), x)", {-1000, 0}, {1, 0.5}},
    {"grad(lambda v: log(reciprocal(1 + exp(-v))).sum(), x)", {-1000, 0}, {1, 0.5}},
    {"grad(lambda v: log(1 - 1 / (1 + exp(-v))).sum(), x)", {-1000, 1000}, {0, -1}},
    {"grad(lambda v: (1 / (1 + exp(-v))).sum(), x)", {-1000, -50}, {0, 1.9287498479639178e-22}},
    {"grad(lambda v: reciprocal(1 + exp(-v)).sum(), x)", {-1000, 50}, {0, 1.9287498479639178e-22}},
    {"log(exp(x) / sum(exp(x), axis=0, keepdims=True))", {0, 1000}, {-1000, 0}},
    {"grad(lambda v: (exp(v) / (1 + exp(v))).sum(), x)", {1000, 50}, {0, 1.9287498479639178e-22}},
    {"grad(lambda v: log(exp(v) / (1 + exp(v))).sum(), x)", {-1000, 1000}, {1, 0}},
    {"sqrt(x ** 2)", {1e200, -1e-200}, {1e200, 1e-200}},
};

/* Whether both values are the true ones, to a few units in the last place. */
static bool is_true(const char *program, const double *x, const double *gives,
                    evaluation_options options)
{
    const shape two = {.rank = 1, .length = {2}};
    evaluation_input input = {.name = "x"};
    evaluated e;
    error err = {0};
    bool result = true;

    assert_true(tensor_new(&input.value, NULL, DT_F64, &two, &err));
    memcpy(tensor_bytes(&input.value), x, 2 * sizeof *x);
    options.input_count = 1;
    options.inputs = &input;
    evaluate(&e, program, &options);
    assert_int_equal(e.count, 1);
    for (int i = 0; i < 2; i++) {
        const double got = ((const double *)tensor_bytes(&e.results[0]))[i];
        const double off = got - gives[i], scale = gives[i] < 0 ? -gives[i] : gives[i];

        result = result && off <= 4e-16 * scale && off >= -4e-16 * scale;
    }
    evaluated_clear(&e);
    tensor_unref(&input.value);
    return result;
}

static void rewritten_forms_are_right_where_plain_ones_are_not(void **state)
{
    const evaluation_options usual = {0}, strict = {.strict = true}, plain = {.unoptimized = true};

    (void)state;
    for (size_t i = 0; i < sizeof unstable / sizeof *unstable; i++) {
        const char *program = unstable[i].program;

        if (!is_true(program, unstable[i].x, unstable[i].gives, usual))
            fail_msg("%s is not right", program);
        if (is_true(program, unstable[i].x, unstable[i].gives, strict) ||
            is_true(program, unstable[i].x, unstable[i].gives, plain))
            fail_msg("%s is right without being rewritten", program);
    }
}

/* ---- Meanings ------------------------------------------------------------------------------- */

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
        cmocka_unit_test(close_rules_spoil_nothing),
        cmocka_unit_test(rules_are_in_the_order_of_their_phases),
        cmocka_unit_test(rewritten_forms_are_right_where_plain_ones_are_not),
        cmocka_unit_test(int64_compares_with_uint64_exactly),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of quick.h are within 1 unit in the last place all over their ranges: at
 * random, at the ends, around zero, and where they are hardest, next to multiples of pi/2. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "engine/kernels/quick.h"
#include "tests/lib/evaluate.h"

enum { TRIES = 100000 };

static uint64_t state = 88172645463325252u;

/* From 0 to 1. */
static double chance(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (double)(state >> 11) * 0x1p-53;
}

/* An argument from low to high, of every kind in turn. */
static double argument(int turn, double low, double high)
{
    const double ends[] = {low, high, low < 0 ? 0.0 : 1, low < 0 ? -0.0 : 1};
    const double pi_2 = 1.57079632679489661923;
    double x;

    switch (turn % 4) {
    case 0:
        x = low + (high - low) * chance();
        break;
    case 1:
        x = rint(chance() * 5000) * pi_2 * (turn % 8 == 1 ? 1 : -1);
        break;
    case 2:
        x = ldexp(1 + chance(), (int)(chance() * 60) - 50);
        break;
    default:
        x = turn < 16 ? ends[turn / 4] : 0.5 + chance();
    }
    return x >= low && x <= high ? x : 1 + chance();
}

static long double ulps(long double got, long double right, int digits)
{
    int exponent;

    if (right == 0)
        return got == 0 ? 0 : INFINITY;
    frexpl(right, &exponent);
    return fabsl(got - right) / ldexpl(1, exponent - digits);
}

#define WITHIN_ONE(suffix, T, digits, name, low, high)                                             \
    for (int i = 0; i < TRIES; i++) {                                                              \
        const T x = (T)argument(i, low, high);                                                     \
        const long double off = ulps(quick_##name##_##suffix(x), name##l(x), digits);              \
                                                                                                   \
        if (!(off <= 1))                                                                           \
            fail_msg(#name " of %.17g is %Lg units off", (double)x, off);                          \
    }

static void doubles_are_within_one_unit(void **s)
{
    (void)s;
    WITHIN_ONE(f64, double, 53, exp, -700, 700)
    WITHIN_ONE(f64, double, 53, log, 0x1p-1000, 0x1p1000)
    WITHIN_ONE(f64, double, 53, sin, -8192, 8192)
    WITHIN_ONE(f64, double, 53, cos, -8192, 8192)
}

static void floats_are_within_one_unit(void **s)
{
    (void)s;
    WITHIN_ONE(f32, float, 24, exp, -80, 80)
    WITHIN_ONE(f32, float, 24, log, 0x1p-100, 0x1p100)
    WITHIN_ONE(f32, float, 24, sin, -512, 512)
    WITHIN_ONE(f32, float, 24, cos, -512, 512)
}

/* Neighbours outside of the range do not change an element, and have their own values. */
static void both_ways_meet_in_one_run(void **s)
{
    static const char list[] = "array([1.5, 1e22, -0.0, inf, 3.0, -inf, nan, 800.0, -800.0, "
                               "1e-310, 8192.0, 8193.0])";
    static const evaluation_options plainly = {.unoptimized = true};
    static const char *const functions[] = {"exp", "log", "sin", "cos"};

    (void)s;
    for (size_t f = 0; f < 4; f++)
        for (int i = 0; i < 12; i++) {
            char program[256];
            evaluated e;

            snprintf(program, sizeof program, "%s(%s)[%d], %s(%s[%d:%d])[0]", functions[f], list, i,
                     functions[f], list, i, i + 1);
            evaluate(&e, program, &plainly);
            assert_false(error_is_set(&e.err));
            assert_true(same_bits(&e.results[0], &e.results[1]));
            evaluated_clear(&e);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(doubles_are_within_one_unit),
        cmocka_unit_test(floats_are_within_one_unit),
        cmocka_unit_test(both_ways_meet_in_one_run),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

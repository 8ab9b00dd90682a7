/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers from text and to text: our own ways give what the C++ library gives. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/digits.h"
#include "engine/base/number.h"

static uint64_t state = 88172645463325252u;

static uint64_t draw(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static double of_bits(uint64_t bits)
{
    double x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Any float64, more often one with few bits, of a usual size, subnormal, or with few decimals. */
static double draw_f64(int i)
{
    uint64_t bits = draw();

    if (i % 4 == 1)
        bits &= ~((UINT64_C(1) << draw() % 52) - 1);
    if (i % 4 == 2)
        bits = (bits >> 63) << 63 | (983 + draw() % 80) << 52 | (bits & 0xfffffffffffff);
    if (i % 50 == 3)
        bits &= 0x800fffffffffffff;
    return i % 7 == 5 ? (double)((int64_t)(bits >> 20)) / 1000 : of_bits(bits);
}

static void check_printed(double x)
{
    char ours[NUMBER_TEXT_MAX + 1], theirs[NUMBER_TEXT_MAX + 1];

    *number_print_f64(ours, x) = '\0';
    *number_print_whole(theirs, x) = '\0';
    if (strcmp(ours, theirs) != 0)
        fail_msg("%a is printed %s, not %s", x, ours, theirs);
}

static void printing_is_the_librarys(void **state_of_test)
{
    static const double edges[] = {0.0,      -0.0,      1.0,
                                   -1.0,     0.1,       1e15,
                                   1e16,     1e17,      123456789012345680.0,
                                   1e21,     1e22,      1e23,
                                   9e99,     1e100,     1e-99,
                                   1e-100,   5e-324,    0x1p-1022,
                                   1e-5,     1e-4,      0.00123,
                                   12.5,     99999.0,   100000.0,
                                   1e5 + .5, 0x1p53,    0x1p53 + 2,
                                   0x1p63,   0x1p64,    1e300,
                                   2e-308,   INFINITY,  NAN,
                                   -NAN,     -INFINITY, 0x1.fffffffffffffp1023,
                                   1e14,     123e-20,   9.5e-97};

    (void)state_of_test;
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++)
        check_printed(edges[i]);
    for (int i = 0; i < 400000; i++)
        check_printed(draw_f64(i));
    for (int e = -1074; e < 1024; e++) { /* where the next lower value is closer */
        check_printed(ldexp(1, e));
        check_printed(nextafter(ldexp(1, e), 0));
    }
}

static void check_read(uint64_t digits, int exponent)
{
    char text[64];
    const int n = snprintf(text, sizeof text, "%llue%d", (unsigned long long)digits, exponent);
    double ours, theirs;

    number_read_f64(text, text + n, &theirs);
    if (digits_to_f64(digits, exponent, &ours) && memcmp(&ours, &theirs, sizeof ours) != 0)
        fail_msg("%s is read as %a, not %a", text, ours, theirs);
}

static void reading_is_the_librarys(void **state_of_test)
{
    (void)state_of_test;
    for (int i = 0; i < 400000; i++)
        check_read(draw() >> draw() % 64,
                   i % 2 == 0 ? (int)(draw() % 700) - 360 : (int)(draw() % 40) - 20);
    for (int e = -345; e <= 312; e++)
        for (uint64_t digits = 0; digits < 100; digits++)
            check_read(digits, e);
    for (int e = -20; e < 24; e++) { /* halfway between two values */
        check_read((UINT64_C(1) << 53) + 1, e);
        check_read((UINT64_C(1) << 53) + 3, e);
        check_read((UINT64_C(1) << 54) + 2, e);
    }
}

static void digits_are_the_fewest(void **state_of_test)
{
    (void)state_of_test;
    for (int i = 0; i < 200000; i++) {
        const double x = fabs(draw_f64(i));
        int exponent = 0;
        uint64_t digits;
        double back;

        if (!isfinite(x) || x == 0)
            continue;
        digits = digits_of_f64(x, &exponent);
        assert_true(digits < UINT64_C(100000000000000000));
        for (; digits % 10 == 0; digits /= 10)
            exponent++;
        if (digits_to_f64(digits, exponent, &back) && back != x)
            fail_msg("%llue%d is not %a", (unsigned long long)digits, exponent, x);
        /* One digit less does not do. */
        for (int up = 0; up < 2 && digits > 9; up++)
            if (digits_to_f64(digits / 10 + (uint64_t)up, exponent + 1, &back) && back == x)
                fail_msg("%a needs fewer digits than %llu", x, (unsigned long long)digits);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(printing_is_the_librarys),
        cmocka_unit_test(reading_is_the_librarys),
        cmocka_unit_test(digits_are_the_fewest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

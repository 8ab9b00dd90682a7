/* SPDX-License-Identifier: Apache-2.0 */
/* Plain numbers: both ways to scan give what the reader of all numbers gives. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/digits.h"
#include "engine/base/number.h"
#include "server/wire/element.h"
#include "server/wire/plain.h"

enum { ROUNDS = 200000, TEXT_MAX = 64 };

static bool (*const ways[])(const char *, plain *) = {
    plain_scan,
#if defined(__x86_64__)
    plain_scan_wide,
#endif
};

static size_t way_count(void)
{
    const size_t all = sizeof ways / sizeof *ways;

#if defined(__x86_64__)
    return plain_can_be_wide() ? all : 1;
#endif
    return all;
}

/* Scans the text where other numbers stand around it, in memory that ends where it may. */
static bool scan(size_t way, const char *text, plain *x)
{
    static const char before[] = "9876543210.123456789,-9876543,21 ";
    static const char after[] = "98765432109876543210.98765432109876543210";
    const size_t n = strlen(text);
    char *room = malloc(PLAIN_BEFORE + n + PLAIN_AFTER), *p = room + PLAIN_BEFORE;
    bool found;

    assert_non_null(room);
    memcpy(room, before, PLAIN_BEFORE);
    memcpy(p, text, n);
    memcpy(p + n, after, PLAIN_AFTER);
    found = ways[way](p, x);
    if (found)
        x->end = text + (x->end - p);
    free(room);
    return found;
}

/* A number that was found is the one that stands there. */
static void check_found(const char *text, const plain *x)
{
    const char *end = text + strlen(text) - 1; /* a delimiter is last */
    const double sign = *text == '-' ? -1 : 1;
    double ours, theirs;
    bool whole;

    assert_ptr_equal(number_read_f64(text, end, &theirs), end);
    assert_ptr_equal(element_scan(text, end, &whole), end);
    assert_ptr_equal(x->end, end);
    assert_int_equal(x->whole, whole);
    assert_int_equal(x->negative, *text == '-');
    if (digits_to_f64(x->digits, x->exponent, &ours) && sign * ours != theirs)
        fail_msg("%s is read as %a, not %a", text, sign * ours, theirs);
}

static void check_number(const char *text, bool usual)
{
    for (size_t way = 0; way < way_count(); way++) {
        plain x;
        const bool found = scan(way, text, &x);

        if (usual && !found)
            fail_msg("%s is not found, way %zu", text, way);
        if (found)
            check_found(text, &x);
    }
}

static char *add_digits(char *to, int n)
{
    for (int i = 0; i < n; i++)
        *to++ = (char)('0' + rand() % 10);
    return to;
}

/* Any number that is, up to 30 digits on each side of the point. */
static void draw_number(char *to)
{
    const int before = rand() % 3 == 0 ? rand() % 30 : rand() % 5, after = rand() % 31;

    if (rand() % 2 == 0)
        *to++ = '-';
    *to++ = (char)(before == 0 ? '0' : '1' + rand() % 9);
    to = add_digits(to, before > 0 ? before - 1 : 0);
    if (after > 0 && rand() % 4 > 0) {
        *to++ = '.';
        to = add_digits(to, after);
    }
    if (rand() % 4 == 0)
        to += sprintf(to, "%c%s%d", rand() % 2 ? 'e' : 'E', rand() % 2 ? "-" : "+", rand() % 400);
    *to++ = rand() % 2 ? ',' : ']';
    *to = '\0';
}

static void what_is_found_is_what_stands_there(void **state)
{
    char text[2 * TEXT_MAX];

    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        draw_number(text);
        check_number(text, false);
    }
}

static void every_printed_number_is_found(void **state)
{
    char text[TEXT_MAX];

    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        const uint64_t bits = (uint64_t)rand() << 42 ^ (uint64_t)rand() << 21 ^ (uint64_t)rand();
        const double scale = (double)(1 << rand() % 30);
        const double x = ((double)bits / 0x1p62 - 1) * (i % 2 ? scale : 1 / scale);

        sprintf(text,
                i % 5 == 0   ? "%.0f]"
                : i % 5 == 1 ? "%.2f,"
                : i % 5 == 2 ? "%.17e,"
                             : "%.16g,",
                x);
        check_number(text, true);
    }
}

static void what_is_no_number_is_not_found(void **state)
{
    static const char *const texts[] = {
        ",",     "]",      "-,",   "-]",    ".5,",    "-.5,",     "1.,",  "-1.,",
        "1.e5,", "01,",    "-01,", "00,",   "00.5,",  "+1,",      "--1,", "a1,",
        "1a,",   "1.5a,",  "1e,",  "1e+,",  "1e-,",   "1ee5,",    "1.5.", "1..5,",
        "1-5,",  "\"1\",", "NaN,", "1 5,",  "[1,",    "1e00001,", "/1,",  ":1,",
        "1/,",   "1:,",    "1.:,", "\xb1,", "1\xb1,", "1.\xb1,",  "1}",   "1\""};

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (size_t way = 0; way < way_count(); way++) {
            plain x;

            if (scan(way, texts[i], &x))
                fail_msg("%s is found, way %zu", texts[i], way);
        }
}

static void more_digits_than_fit_are_left_to_others(void **state)
{
    plain x;

    (void)state;
    for (size_t way = 0; way < way_count(); way++) {
        assert_true(scan(way, "9999999999999999999,", &x));
        assert_true(x.digits == UINT64_C(9999999999999999999));
        assert_true(scan(way, "0.00009999999999999999999,", &x));
        assert_true(x.digits == UINT64_C(9999999999999999999));
        assert_false(scan(way, "10000000000000000000,", &x));
        assert_false(scan(way, "0.000099999999999999999990,", &x));
        assert_false(scan(way, "100000000000000000000000000000000000000000,", &x));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_found_is_what_stands_there),
        cmocka_unit_test(every_printed_number_is_found),
        cmocka_unit_test(what_is_no_number_is_not_found),
        cmocka_unit_test(more_digits_than_fit_are_left_to_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

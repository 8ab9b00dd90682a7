/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/text.h"

static void formatted_text_may_have_any_length(void **state)
{
    char digits[300];
    text t;

    (void)state;
    text_init(&t);
    memset(digits, '7', sizeof digits);
    for (int n = 0, length = 0; n < 300; n += 13) {
        text_addf(&t, "%.*s|", n, digits);
        length += n + 1;
        assert_int_equal(t.length, length);
        assert_int_equal(strlen(t.bytes), length);
        assert_int_equal(t.bytes[length - 1], '|');
    }
    text_clear(&t);
}

static void numbers_are_what_printf_gives(void **state)
{
    static const int64_t whole[] = {0, 1, -1, 10, 999, -1000, INT64_MAX, INT64_MIN};
    static const double parts[] = {0,         0.001,  0.0125, 1.9996,  999.9994,
                                   12345.678, -0.001, -2.5,   -0.0001, 1e11,
                                   1e14,      -1e300, 1e-300, 0.9999,  HUGE_VAL};
    char want[400];
    text t;

    (void)state;
    text_init(&t);
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
        t.length = 0;
        text_add_int(&t, whole[i]);
        snprintf(want, sizeof want, "%" PRId64, whole[i]);
        assert_string_equal(t.bytes, want);
    }
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        t.length = 0;
        text_add_milli(&t, parts[i]);
        snprintf(want, sizeof want, "%.3f", parts[i] == -0.0001 ? 0 : parts[i]);
        assert_string_equal(t.bytes, want);
    }
    text_clear(&t);
}

static void json_strings_escape_what_must_be(void **state)
{
    text t;

    (void)state;
    text_init(&t);
    text_add_json(&t, "");
    text_add_json(&t, "plain");
    text_add_json(&t, "\"a\\b\"\n\x01\x7fz");
    text_add_json(&t, "\xc3\xa9\xff!");
    assert_string_equal(
        t.bytes, "\"\"\"plain\"\"\\\"a\\\\b\\\"\\n\\u0001\\u007fz\"\"\xc3\xa9\xef\xbf\xbd!\"");
    text_clear(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formatted_text_may_have_any_length),
        cmocka_unit_test(numbers_are_what_printf_gives),
        cmocka_unit_test(json_strings_escape_what_must_be),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

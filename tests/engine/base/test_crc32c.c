/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/crc32c.h"

static void it_is_the_published_checksum(void **state)
{
    unsigned char bytes[32];

    (void)state;
    assert_int_equal(crc32c(0, "123456789", 9), 0xe3069283u);
    memset(bytes, 0, sizeof bytes); /* the vectors of RFC 3720, B.4 */
    assert_int_equal(crc32c(0, bytes, 32), 0x8a9136aau);
    memset(bytes, 255, sizeof bytes);
    assert_int_equal(crc32c(0, bytes, 32), 0x62a8ab43u);
    for (int i = 0; i < 32; i++)
        bytes[i] = (unsigned char)i;
    assert_int_equal(crc32c(0, bytes, 32), 0x46dd794eu);
    assert_int_equal(crc32c(7, bytes, 0), 7);
}

static void both_ways_and_all_cuts_agree(void **state)
{
    unsigned char bytes[100];

    (void)state;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * 37 + 11);
    for (size_t n = 0; n <= sizeof bytes; n++) {
        uint32_t whole = crc32c(0, bytes, n);

        assert_int_equal(crc32c_by_tables(0, bytes, n), whole);
        for (size_t cut = 0; cut <= n; cut++)
            assert_int_equal(crc32c(crc32c(0, bytes, cut), bytes + cut, n - cut), whole);
    }
}

/* Long ones are computed in several runs at once. */
static void long_ones_agree_wherever_they_are_cut(void **state)
{
    enum { N = 100000 };
    unsigned char *bytes = malloc(N);

    (void)state;
    for (size_t i = 0; i < N; i++)
        bytes[i] = (unsigned char)(i * 7919 >> 3);
    for (size_t n = N - 20; n <= N; n++)
        for (size_t from = 0; from < n; from += 7321) {
            assert_int_equal(crc32c(9, bytes + from, n - from),
                             crc32c_by_tables(9, bytes + from, n - from));
            assert_int_equal(crc32c(crc32c(9, bytes, from), bytes + from, n - from),
                             crc32c(9, bytes, n));
        }
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_the_published_checksum),
        cmocka_unit_test(both_ways_and_all_cuts_agree),
        cmocka_unit_test(long_ones_agree_wherever_they_are_cut),
    };

    return cmocka_run_group_tests_name("crc32c", tests, NULL, NULL);
}

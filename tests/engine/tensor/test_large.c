/* SPDX-License-Identifier: Apache-2.0 */
/* Freed memory is kept for the next one, never beyond the server's limit, and not for ever. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/tensor/buffer.h"
#include "engine/tensor/large.h"

enum { MIB = 1 << 20 };

static buffer *made(size_t size)
{
    error err = {0};
    buffer *b = buffer_new(NULL, size, &err);

    assert_non_null(b);
    memset(buffer_bytes(b), 1, size);
    return b;
}

static void a_freed_block_is_kept_and_used_again(void **state)
{
    (void)state;
    large_drop();
    buffer_unref(made(6 * MIB - BUFFER_ALIGN));
    assert_int_equal(large_kept(), 6 * MIB);
    buffer *b = made(6 * MIB - BUFFER_ALIGN);
    assert_int_equal(large_kept(), 0);
    buffer_unref(b);
}

static void what_nobody_comes_for_is_given_back(void **state)
{
    (void)state;
    buffer_unref(made(4 * MIB - BUFFER_ALIGN));
    large_drop_idle();
    assert_true(large_kept() > 0); /* it was used since the last look */
    large_drop_idle();
    assert_int_equal(large_kept(), 0);
}

static void what_is_kept_and_used_stays_within_the_limit(void **state)
{
    error err = {0};

    (void)state;
    large_drop();
    server_memory_set_limit(server_memory_used() + 16 * MIB);
    buffer_unref(made(10 * MIB));
    assert_int_equal(large_kept(), 12 * MIB);
    buffer *b = made(8 * MIB);
    assert_int_equal(large_kept(), 0);
    assert_null(buffer_new(NULL, 9 * MIB, &err));
    assert_int_equal(err.kind, ERR_MEMORY_BUSY);
    buffer_unref(b);
    server_memory_set_limit(INT64_MAX);
}

static long resident_kib(void)
{
    FILE *f = fopen("/proc/self/status", "r");
    char line[128];
    long kib = 0;

    assert_non_null(f);
    while (fgets(line, sizeof line, f) != NULL)
        if (strncmp(line, "RssAnon:", 8) == 0)
            kib = strtol(line + 8, NULL, 10);
    fclose(f);
    return kib;
}

/* A block of a little more than a huge page, or half of one, is no larger than it is. */
static void no_more_is_resident_than_was_asked_for(void **state)
{
    buffer *blocks[24];
    long before;

    (void)state;
    large_drop();
    before = resident_kib();
    for (int i = 0; i < 24; i++)
        blocks[i] = made((i % 2 == 0 ? 1 : 2) * MIB + 64 * 1024);
    assert_true(resident_kib() - before < (12 * 3 + 4) * 1024);
    for (int i = 0; i < 24; i++)
        buffer_unref(blocks[i]);
    large_drop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_freed_block_is_kept_and_used_again),
        cmocka_unit_test(what_nobody_comes_for_is_given_back),
        cmocka_unit_test(what_is_kept_and_used_stays_within_the_limit),
        cmocka_unit_test(no_more_is_resident_than_was_asked_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Freed memory is kept for the next one, never beyond the server's limit, and not for ever. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_freed_block_is_kept_and_used_again),
        cmocka_unit_test(what_nobody_comes_for_is_given_back),
        cmocka_unit_test(what_is_kept_and_used_stays_within_the_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

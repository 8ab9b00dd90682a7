/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/arena.h"

static void assert_clear(const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        assert_int_equal(bytes[i], 0);
}

/* Fills an arena with pieces of a size, each of which must be clear. */
static void fill(arena *a, size_t size, int count)
{
    for (int i = 0; i < count; i++) {
        char *piece = arena_alloc(a, size);

        assert_int_equal((uintptr_t)piece % 16, 0);
        assert_clear(piece, size);
        memset(piece, 0xa5, size);
    }
}

static void memory_is_clear_however_often_it_was_used(void **state)
{
    (void)state;
    for (int round = 0; round < 20; round++) {
        arena *a = arena_new(), *b = arena_new();

        fill(a, 24, 10 + 500 * (round % 4));
        fill(b, 5000, round % 20);
        fill(a, 100000, round % 3);
        fill(a, 8192, 7); /* blocks are left with room at their ends */
        fill(b, 1, 1);
        arena_free(a);
        fill(b, 4096, 30);
        arena_free(b);
    }
    arena_free(NULL);
}

static void arrays_grow_with_what_is_in_them(void **state)
{
    arena *a = arena_new();
    size_t room = 0;
    int *list = NULL;

    (void)state;
    for (int i = 0; i < 10000; i++) {
        list = arena_grow(a, list, (size_t)i, &room, sizeof *list);
        list[i] = i;
    }
    for (int i = 0; i < 10000; i++)
        assert_int_equal(list[i], i);
    assert_string_equal(arena_format(a, "%d-%s", 7, arena_copy(a, "abcdef", 3)), "7-abc");
    for (int n = 120; n < 300; n += 1)
        assert_int_equal(strlen(arena_format(a, "%*d", n, 7)), n);
    assert_true(arena_bytes(a) >= 40000);
    arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_clear_however_often_it_was_used),
        cmocka_unit_test(arrays_grow_with_what_is_in_them),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Division of short integers by way of floats gives, with the reports, what the rows' own
 * kernels give: all pairs of 8 bits, the ends and much between of the others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/ops/elementwise.h"
#include "engine/ops/op.h"

enum { N = 1 << 16 };

static uint32_t x[N], y[N], made[N], wanted[N];

/* Pairs of numbers of some bytes: every 257th number is an end or next to one. */
static void fill(size_t size)
{
    uint32_t state = 1;

    for (uint32_t i = 0; i < N; i++) {
        const uint32_t near =
            i % 257 < 16 ? (i % 257 & 7) - 3 + ((i & 8) << 28 >> (32 - 8 * size)) : 0;
        uint32_t a = i & 0xff, b = i >> 8;

        if (size > 1) {
            state = state * 1664525 + 1013904223;
            a = state ^ state >> 15;
            state = state * 1664525 + 1013904223;
            b = near != 0 || i % 257 < 16 ? near : state >> (i % (8 * (uint32_t)size));
            a = i % 3 == 0 ? near : a;
        }
        memcpy((char *)x + i * size, &a, size);
        memcpy((char *)y + i * size, &b, size);
    }
}

static void check(dtype t, const char *name, kernel_fn *own)
{
    const void *const in[] = {x, y, y};
    const op_def *op = op_find(name, strlen(name));
    unsigned met;

    fill(dtype_size(t));
    assert_true(op->kernel[t] != own);
    kernel_flags = 0;
    own(N, wanted, in);
    met = kernel_flags;
    kernel_flags = 0;
    op->kernel[t](N, made, in);
    assert_int_equal(kernel_flags, met);
    assert_int_equal(met, KERNEL_DIVIDE);
    if (memcmp(made, wanted, N * dtype_size(t)) != 0)
        fail_msg("%s of %s differs", name, dtype_name(t));
    memset(y, 1, sizeof y); /* no zeros: nothing to report */
    kernel_flags = 0;
    op->kernel[t](N, made, in);
    assert_int_equal(kernel_flags, 0);
}

static void short_integers_are_divided_as_others(void **state)
{
    (void)state;
#define BOTH(id, suffix)                                                                           \
    check(DT_##id, "floor_divide", kernel_floor_divide_##suffix);                                  \
    check(DT_##id, "remainder", kernel_remainder_##suffix);
    BOTH(I8, i8)
    BOTH(U8, u8)
    BOTH(I16, i16)
    BOTH(U16, u16)
    BOTH(I32, i32)
    BOTH(U32, u32)
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(short_integers_are_divided_as_others)};

    ops_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

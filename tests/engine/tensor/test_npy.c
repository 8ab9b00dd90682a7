/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/tensor/npy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* A header of the given version around a dictionary; returns its length. */
static size_t make(char *to, int version, const char *dictionary)
{
    const size_t n = strlen(dictionary), width = version == 1 ? 2 : 4;

    memcpy(to, "\x93NUMPY", 6);
    to[6] = (char)version;
    to[7] = 0;
    for (size_t i = 0; i < width; i++)
        to[8 + i] = (char)(n >> 8 * i & 0xff);
    memcpy(to + 8 + width, dictionary, n);
    return 8 + width + n;
}

static void written_header_reads_back(void **state)
{
    (void)state;
    for (int t = 0; t < DT_COUNT; t++) {
        for (int rank = 0; rank <= RANK_MAX; rank += rank < 3 ? 1 : 61) {
            shape s = {.rank = rank};
            npy_header h;
            char bytes[NPY_HEADER_ROOM];
            error err = {0};
            const dtype hint = (dtype)t;
            size_t length, n;

            for (int i = 0; i < rank; i++)
                s.length[i] = rank > 3 ? 1 : i * 1000 + 3;
            n = npy_header_write(bytes, (dtype)t, &s, NPY_ALIGN);
            assert_int_equal(n % NPY_ALIGN, 0);
            assert_true(npy_header_length(bytes, NPY_PREFIX, &length, &err));
            assert_int_equal(length, n);
            assert_true(npy_header_parse(bytes, n, &hint, &h, &err));
            assert_int_equal(h.dtype, t);
            assert_false(h.fortran || h.swapped);
            assert_true(shape_equal(&h.shape, &s));
            assert_int_equal(npy_header_write(bytes, (dtype)t, &s, NPY_ALIGN_PAGE), 4096);
            assert_true(npy_header_parse(bytes, 4096, &hint, &h, &err));
            assert_true(shape_equal(&h.shape, &s));
        }
    }
}

static void every_version_and_order_is_read(void **state)
{
    char bytes[256];
    npy_header h;
    error err = {0};

    (void)state;
    for (int version = 1; version <= 3; version++) {
        size_t n =
            make(bytes, version, "{\"shape\":(2L, 3), 'descr': '>c16','fortran_order': True}   \n");

        assert_true(npy_header_parse(bytes, n, NULL, &h, &err));
        assert_int_equal(h.dtype, DT_C128);
        assert_true(h.swapped && h.fortran);
        assert_int_equal(h.shape.length[1], 3);
        assert_int_equal(h.length, n);
    }
}

static void bad_headers_are_refused(void **state)
{
    static const struct {
        const char *dictionary, *says;
        error_kind kind;
    } cases[] = {
        {"{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", "objects", ERR_NPY},
        {"{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,)}", "structured", ERR_NPY},
        {"{'descr': '<V2', 'fortran_order': False, 'shape': (1,)}", "bfloat16", ERR_NPY},
        {"{'descr': '<U5', 'fortran_order': False, 'shape': (1,)}", "<U5", ERR_NPY},
        {"{'descr': 'f8', 'fortran_order': False, 'shape': (1,)}", "'f8'", ERR_NPY},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (3)}", "comma", ERR_NPY},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (-3,)}", "length", ERR_NPY},
        {"{'descr': '<f8', 'fortran_order': 0, 'shape': (3,)}", "True or False", ERR_NPY},
        {"{'descr': '<f8', 'fortran_order': False}", "lacks 'shape'", ERR_NPY},
        {"{'descr': '<f8', 'shape': (3,), 'shape': (3,)}", "twice", ERR_NPY},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (3,), 'x': 1}", "'x'", ERR_NPY},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (3,)} 1", "nothing", ERR_NPY},
        {"{'descr': '<f8' 'fortran_order': False, 'shape': (3,)}", "comma", ERR_NPY},
        {"{'descr': __import__('os')}", "quoted", ERR_NPY},
        {"", "dictionary", ERR_NPY},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999999,)}", "longer",
         ERR_SHAPE_INVALID},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296, 0)}", "more",
         ERR_SHAPE_INVALID},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char bytes[256];
        npy_header h;
        error err = {0};

        assert_false(npy_header_parse(bytes, make(bytes, 1, cases[i].dictionary), NULL, &h, &err));
        assert_int_equal(err.kind, cases[i].kind);
        if (strstr(err.detail, cases[i].says) == NULL)
            fail_msg("%s: says %s", cases[i].dictionary, err.detail);
    }
}

static void bad_prefixes_are_refused(void **state)
{
    char bytes[64];
    size_t length;
    error err = {0};

    (void)state;
    assert_false(npy_header_length("not an array", 12, &length, &err));
    make(bytes, 1, "{}");
    for (size_t n = 0; n < 10; n++) {
        error_clear(&err);
        assert_false(npy_header_length(bytes, n, &length, &err));
        assert_int_equal(err.kind, ERR_NPY);
    }
    make(bytes, 4, "{}");
    error_clear(&err);
    assert_false(npy_header_length(bytes, 12, &length, &err));
    make(bytes, 2, "{}");
    bytes[11] = 0x7f;
    error_clear(&err);
    assert_false(npy_header_length(bytes, 12, &length, &err));
    assert_true(err.has_limit);
}

static void bytes_are_swapped_by_part(void **state)
{
    unsigned char two[8] = {1, 2, 3, 4, 5, 6, 7, 8};

    (void)state;
    npy_swap_bytes(two, 1, DT_C64);
    assert_memory_equal(two, "\4\3\2\1\10\7\6\5", 8);
    npy_swap_bytes(two, 8, DT_U8);
    assert_memory_equal(two, "\4\3\2\1\10\7\6\5", 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(written_header_reads_back),
        cmocka_unit_test(every_version_and_order_is_read),
        cmocka_unit_test(bad_headers_are_refused),
        cmocka_unit_test(bad_prefixes_are_refused),
        cmocka_unit_test(bytes_are_swapped_by_part),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "server/wire/format.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { ALL = (1 << WIRE_FORMATS) - 1, NONE = -1 };

static void accept_and_parameter_choose(void **state)
{
    static const struct {
        const char *accept, *parameter;
        unsigned available;
        int chosen;
    } cases[] = {
        {NULL, NULL, ALL, WIRE_JSON},
        {"", NULL, ALL, WIRE_JSON},
        {"*/*", NULL, ALL, WIRE_JSON},
        {"application/x-npy", NULL, ALL, WIRE_NPY},
        {"Application/X-NPZ", NULL, ALL, WIRE_NPZ},
        {"text/html, application/x-npz;q=0.5, application/x-npy;q=0.9", NULL, ALL, WIRE_NPY},
        {"application/json;q=0.1, */*;q=0.5", NULL, ALL, WIRE_NPY},
        {"application/*;q=0.2, text/csv", NULL, ALL, WIRE_CSV},
        {"*/*, application/json;q=0", NULL, 1 << WIRE_JSON | 1 << WIRE_RAW, WIRE_RAW},
        {"text/*", NULL, ALL, WIRE_CSV},
        {"text/html", NULL, ALL, NONE},
        {"application/x-npy", NULL, 1 << WIRE_JSON, NONE},
        {"application/json;q=0", NULL, 1 << WIRE_JSON, NONE},
        {"application/json ; charset=utf-8 ; q=0.8 , text/csv; q=0.7", NULL, ALL, WIRE_JSON},
        {"application/json", "npy", ALL, WIRE_NPY},
        {NULL, "raw", ALL, WIRE_RAW},
        {NULL, "csv", 1 << WIRE_JSON, NONE},
        {NULL, "xml", ALL, NONE},
        {",,;;q=,", NULL, ALL, NONE},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        wire_format format = WIRE_FORMATS;
        error err = {0};
        bool ok = wire_format_choose(cases[i].accept, cases[i].parameter, cases[i].available,
                                     &format, &err);

        if (ok != (cases[i].chosen != NONE) || (ok && (int)format != cases[i].chosen))
            fail_msg("case %zu: %s", i, ok ? wire_format_name(format) : err.detail);
        if (!ok)
            assert_int_equal(err.kind, ERR_ACCEPT);
    }
}

static void content_type_says_the_format(void **state)
{
    static const struct {
        const char *type;
        unsigned available;
        int format;
    } cases[] = {
        {NULL, ALL, WIRE_JSON},
        {"application/json", ALL, WIRE_JSON},
        {"application/json; charset=UTF-8", ALL, WIRE_JSON},
        {"application/json; charset=latin1", ALL, NONE},
        {"application/x-npy", ALL, WIRE_NPY},
        {"application/x-npy", 1 << WIRE_JSON, NONE},
        {"application/octet-stream", ALL, WIRE_RAW},
        {"text/plain", ALL, NONE},
        {"application/x-www-form-urlencoded", ALL, NONE},
        {"", ALL, NONE},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        wire_format format = WIRE_FORMATS;
        error err = {0};
        bool ok = wire_format_of_content(cases[i].type, cases[i].available, &format, &err);

        assert_int_equal(ok, cases[i].format != NONE);
        assert_int_equal(ok ? (int)format : NONE, cases[i].format);
        assert_int_equal(err.kind, ok ? ERR_NONE : ERR_MEDIA_TYPE);
    }
}

static void headers_describe_raw_bytes(void **state)
{
    static const struct {
        const char *dtype, *shape;
        int rank; /* NONE: refused */
        int64_t length[3];
    } cases[] = {
        {"float64", "2,3", 2, {2, 3}},
        {"<f4", " 2 , 3 ", 2, {2, 3}},
        {"bool", "", 0, {0}},
        {"int8", "[2, 3]", 2, {2, 3}},
        {"int8", "(5,)", 1, {5}},
        {"int8", "()", 0, {0}},
        {"int8", "0,4", 2, {0, 4}},
        {"int7", "1", NONE, {0}},
        {"int8", "-1", NONE, {0}},
        {"int8", "2x3", NONE, {0}},
        {"int8", "[2", NONE, {0}},
        {"int8", "2,,3", NONE, {0}},
        {"int8", "99999999999999999999", NONE, {0}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        wire_hints hints;
        error err = {0};
        char shown[WIRE_SHAPE_MAX];
        bool ok = wire_hints_parse(cases[i].dtype, cases[i].shape, &hints, &err);

        assert_int_equal(ok, cases[i].rank != NONE);
        if (!ok)
            continue;
        assert_int_equal(hints.shape.rank, cases[i].rank);
        for (int k = 0; k < cases[i].rank; k++)
            assert_int_equal(hints.shape.length[k], cases[i].length[k]);
        assert_true(
            wire_hints_parse(cases[i].dtype, wire_shape_header(&hints.shape, shown), &hints, &err));
        assert_int_equal(hints.shape.rank, cases[i].rank);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accept_and_parameter_choose),
        cmocka_unit_test(content_type_says_the_format),
        cmocka_unit_test(headers_describe_raw_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "server/wire/slice.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/server/wire/bodies.h"

/* What NumPy gives for arange(60).reshape(3, 4, 5)[slice]. */
static const struct {
    const char *slice, *gives;
} good[] = {
    {"", "int64[3, 4, 5]: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 "
         "27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 "
         "56 57 58 59"},
    {"...", "int64[3, 4, 5]: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 "
            "26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 "
            "54 55 56 57 58 59"},
    {":", "int64[3, 4, 5]: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 "
          "27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 "
          "56 57 58 59"},
    {"1", "int64[4, 5]: 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39"},
    {"-1", "int64[4, 5]: 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59"},
    {"1,2", "int64[5]: 30 31 32 33 34"},
    {"1,2,3", "int64[]: 33"},
    {"0:2", "int64[2, 4, 5]: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 "
            "26 27 28 29 30 31 32 33 34 35 36 37 38 39"},
    {"::2", "int64[2, 4, 5]: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 40 41 42 43 44 45 "
            "46 47 48 49 50 51 52 53 54 55 56 57 58 59"},
    {"::-1", "int64[3, 4, 5]: 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 20 21 22 "
             "23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 0 1 2 3 4 5 6 7 8 9 10 11 12 13 "
             "14 15 16 17 18 19"},
    {"2:0:-1", "int64[2, 4, 5]: 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 20 21 "
               "22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39"},
    {":,1:3", "int64[3, 2, 5]: 5 6 7 8 9 10 11 12 13 14 25 26 27 28 29 30 31 32 33 34 45 46 47 48 "
              "49 50 51 52 53 54"},
    {":,:,::2", "int64[3, 4, 3]: 0 2 4 5 7 9 10 12 14 15 17 19 20 22 24 25 27 29 30 32 34 35 37 39 "
                "40 42 44 45 47 49 50 52 54 55 57 59"},
    {"...,0", "int64[3, 4]: 0 5 10 15 20 25 30 35 40 45 50 55"},
    {"...,-1:", "int64[3, 4, 1]: 4 9 14 19 24 29 34 39 44 49 54 59"},
    {"1,...,2", "int64[4]: 22 27 32 37"},
    {"0:2,...", "int64[2, 4, 5]: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 "
                "25 26 27 28 29 30 31 32 33 34 35 36 37 38 39"},
    {"None", "int64[1, 3, 4, 5]: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 "
             "25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 "
             "53 54 55 56 57 58 59"},
    {"None,0", "int64[1, 4, 5]: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19"},
    {":,None", "int64[3, 1, 4, 5]: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 "
               "24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 "
               "51 52 53 54 55 56 57 58 59"},
    {"1:1", "int64[0, 4, 5]:"},
    {"5:", "int64[0, 4, 5]:"},
    {"-2:", "int64[2, 4, 5]: 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 "
            "43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59"},
    {":-1", "int64[2, 4, 5]: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 "
            "26 27 28 29 30 31 32 33 34 35 36 37 38 39"},
    {":,-3:-1,::-2", "int64[3, 2, 3]: 9 7 5 14 12 10 29 27 25 34 32 30 49 47 45 54 52 50"},
    {"::-1,::-1,::-1", "int64[3, 4, 5]: 59 58 57 56 55 54 53 52 51 50 49 48 47 46 45 44 43 42 41 "
                       "40 39 38 37 36 35 34 33 32 31 30 29 28 27 26 25 24 23 22 21 20 19 18 17 16 "
                       "15 14 13 12 11 10 9 8 7 6 5 4 3 2 1 0"},
    {"10:20", "int64[0, 4, 5]:"},
    {"-10:10:1", "int64[3, 4, 5]: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 "
                 "25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 "
                 "52 53 54 55 56 57 58 59"},
    {"2::-2,3:0:-3", "int64[2, 1, 5]: 55 56 57 58 59 15 16 17 18 19"},
    {"[1, 2:4]", "int64[2, 5]: 30 31 32 33 34 35 36 37 38 39"},
    {"...,newaxis", "int64[3, 4, 5, 1]: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 "
                    "23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 "
                    "49 50 51 52 53 54 55 56 57 58 59"},
    {"0,...,None,1:100:3", "int64[4, 1, 2]: 1 4 6 9 11 14 16 19"},
    {"1 , : , 2", "int64[4]: 22 27 32 37"},
    {"::5", "int64[1, 4, 5]: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19"},
    {"::-5", "int64[1, 4, 5]: 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59"},
    {":0:-1", "int64[2, 4, 5]: 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 20 21 "
              "22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39"},
    {"2:-100:-1", "int64[3, 4, 5]: 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 20 "
                  "21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 0 1 2 3 4 5 6 7 8 9 10 "
                  "11 12 13 14 15 16 17 18 19"},
};

static const struct {
    const char *slice, *says;
} bad[] = {
    {"3", "index 3 is out of range for axis 0 of length 3"},
    {"-4", "index -4"},
    {":,4", "axis 1"},
    {"0,0,0,0", "4 indices are too many"},
    {"...,...", "once only"},
    {"::0", "step cannot be 0"},
    {"a", "character 1"},
    {"1 2", "a comma at character 3"},
    {"1,,2", "character 3"},
    {",", "character 1"},
    {"[1", "comma"},
    {"1]", "comma"},
    {"[1] 2", "nothing more"},
    {"[0, 1]", "a list of indices"},
    {"[1]", "a list of indices"},
    {"--1", "a number"},
    {"1.5", "comma"},
    {"1:2:3:4", "comma"},
    {"99999999999999999999", "out of range"},
};

static tensor numbers_to_60(void)
{
    const shape s = {3, {3, 4, 5}};
    error err = {0};
    tensor t;

    assert_true(tensor_new(&t, NULL, DT_I64, &s, &err));
    for (int64_t i = 0; i < 60; i++)
        ((int64_t *)buffer_bytes(t.buf))[i] = i;
    return t;
}

static void slices_are_those_of_numpy(void **state)
{
    tensor t = numbers_to_60();

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        error err = {0};
        tensor part;
        slice s;
        text out;

        if (!slice_parse(good[i].slice, &s, &err) || !slice_apply(&s, &t, &part, &err))
            fail_msg("%s: %s", good[i].slice, err.detail);
        text_init(&out);
        describe_tensor(&out, &part);
        assert_string_equal(out.bytes, good[i].gives);
        text_clear(&out);
    }
    tensor_unref(&t);
}

static void faulty_slices_are_refused(void **state)
{
    tensor t = numbers_to_60();

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        error err = {0};
        tensor part;
        slice s;

        if (slice_parse(bad[i].slice, &s, &err) && slice_apply(&s, &t, &part, &err))
            fail_msg("%s is taken", bad[i].slice);
        assert_int_equal(err.kind, ERR_INDEX);
        if (strstr(err.detail, bad[i].says) == NULL)
            fail_msg("%s: says %s", bad[i].slice, err.detail);
    }
    tensor_unref(&t);
}

static void axes_are_bounded(void **state)
{
    tensor t = numbers_to_60(), part;
    error err = {0};
    slice s;
    text many;

    (void)state;
    text_init(&many);
    for (int i = 0; i < 62; i++)
        text_add(&many, "None,");
    assert_true(slice_parse(many.bytes, &s, &err));
    assert_false(slice_apply(&s, &t, &part, &err));
    assert_int_equal(err.kind, ERR_SHAPE_INVALID);
    for (int i = 0; i < 100; i++)
        text_add(&many, "None,");
    error_clear(&err);
    assert_false(slice_parse(many.bytes, &s, &err));
    assert_int_equal(err.kind, ERR_INDEX);
    text_clear(&many);
    tensor_unref(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slices_are_those_of_numpy),
        cmocka_unit_test(faulty_slices_are_refused),
        cmocka_unit_test(axes_are_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

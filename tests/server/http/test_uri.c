/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "server/http/uri.h"

static void segments_are_cut_then_decoded(void **state)
{
    static const struct {
        const char *target;
        int count;
        const char *last;
    } good[] = {
        {"/", 1, ""},
        {"/v1/variables/x", 3, "x"},
        {"/v1/variables/%C3%A9t%c3%a9", 3, "\xc3\xa9t\xc3\xa9"},
        {"/a//b", 3, "b"},
        {"/a/", 2, ""},
        {"/a+b", 1, "a+b"},
        {"/%252e%252e", 1, "%2e%2e"},
        {"/...", 1, "..."},
        {"/a?b/c/d", 1, "a"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        arena *a = arena_new();
        error err = {0};
        uri u;

        assert_true(uri_parse(a, good[i].target, &u, &err));
        assert_int_equal(u.segment_count, good[i].count);
        assert_string_equal(u.segments[u.segment_count - 1], good[i].last);
        arena_free(a);
    }
}

static void broken_targets_are_refused(void **state)
{
    static const char *const bad[] = {
        "",
        "a",
        "*",
        "http://x/",
        "/..",
        "/a/../b",
        "/%2e%2E/",
        "/.",
        "/%2e",
        "/a%2fb",
        "/a%5Cb",
        "/a\\b",
        "/%00",
        "/a%0A",
        "/%7f",
        "/%",
        "/%4",
        "/%zz",
        "/%4g",
        "/% 1",
        "/%ff",
        "/%c0%af",
        "/%c3",
        "/%ed%a0%80",
        "/%f4%90%80%80",
        "/%80",
        "/a b",
        "/a\tb",
        "/\xc3\xa9",
        "/a#b",
        "/a\"b",
        "/a<b",
        "/?a=%00",
        "/?a=%1f",
        "/?a=%ff",
        "/?a=%4",
        "/?a=1&a=2",
        "/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q",
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        arena *a = arena_new();
        error err = {0};
        uri u;

        assert_false(uri_parse(a, bad[i], &u, &err));
        assert_true(err.kind == ERR_TRANSPORT || err.kind == ERR_REQUEST);
        arena_free(a);
    }
}

static void queries_are_pairs(void **state)
{
    arena *a = arena_new();
    error err = {0};
    uri u;

    (void)state;
    assert_true(uri_parse(a, "/x?slice=0:10,::2&program=y+%3D+x%2B1%0Ay&flag&&e==", &u, &err));
    assert_int_equal(u.query.count, 4);
    assert_string_equal(u.path, "/x");
    assert_string_equal(u.query.items[0].value, "0:10,::2");
    assert_string_equal(u.query.items[1].value, "y = x+1\ny");
    assert_string_equal(u.query.items[2].name, "flag");
    assert_string_equal(u.query.items[2].value, "");
    assert_string_equal(u.query.items[3].value, "=");
    arena_free(a);
}

static void decoding_stays_within_its_bytes(void **state)
{
    arena *a = arena_new();
    error err = {0};

    (void)state;
    assert_null(uri_decode(a, "%41", 2, URI_PATH, &err));
    assert_int_equal(err.kind, ERR_TRANSPORT);
    error_clear(&err);
    assert_string_equal(uri_decode(a, "%41x", 3, URI_PATH, &err), "A");
    assert_string_equal(uri_decode(a, "", 0, URI_PATH, &err), "");
    arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(segments_are_cut_then_decoded),
        cmocka_unit_test(broken_targets_are_refused),
        cmocka_unit_test(queries_are_pairs),
        cmocka_unit_test(decoding_stays_within_its_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

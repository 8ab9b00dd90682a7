/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "server/openapi/openapi.h"
#include "server/routes/routes.h"

/* A request for a path of at most eight segments, undecoded, in an arena. */
static http_request request(arena *a, const char *method, const char *path)
{
    http_request r = {.arena = a, .method = method, .path = path};

    r.segments = arena_array(a, 8, sizeof *r.segments);
    for (const char *at = path; *at == '/';) {
        size_t n = strcspn(at + 1, "/");

        r.segments[r.segment_count++] = arena_copy(a, at + 1, n);
        at += 1 + n;
    }
    return r;
}

static void patterns_fit_whole_paths(void **state)
{
    static const struct {
        const char *pattern, *path, *capture; /* NULL: does not fit */
    } cases[] = {
        {"/", "/", ""},
        {"/", "/x", NULL},
        {"/v1/info", "/v1/info", ""},
        {"/v1/info", "/v1/info/", NULL},
        {"/v1/info", "/v1/Info", NULL},
        {"/v1/info", "/v1", NULL},
        {"/v1/variables/{name}", "/v1/variables/abc", "abc"},
        {"/v1/variables/{name}", "/v1/variables/", NULL},
        {"/v1/variables/{name}", "/v1/variables", NULL},
        {"/v1/variables/{name}", "/v1/variables/abc/meta", NULL},
        {"/v1/variables/{name}/meta", "/v1/variables/abc/meta", "abc"},
        {"/v1/variables/{name}/meta", "/v1/variables/abc/mete", NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        arena *a = arena_new();
        http_request r = request(a, "GET", cases[i].path);
        http_pairs captures = {0};

        assert_int_equal(route_fits(cases[i].pattern, &r, &captures), cases[i].capture != NULL);
        if (cases[i].capture != NULL && cases[i].capture[0] != '\0')
            assert_string_equal(captures.items[0].value, cases[i].capture);
        arena_free(a);
    }
}

static void methods_are_told_apart(void **state)
{
    arena *a = arena_new();
    http_request head = request(a, "HEAD", "/healthz"), post = request(a, "POST", "/healthz");
    http_request nowhere = request(a, "GET", "/nowhere");
    http_pairs captures = {0};
    error err = {0};
    text allow;

    (void)state;
    text_init(&allow);
    assert_non_null(route_find(&head, &captures, &allow, &err));
    assert_null(route_find(&post, &captures, &allow, &err));
    assert_int_equal(err.kind, ERR_METHOD);
    assert_string_equal(allow.bytes, "GET, HEAD");
    text_clear(&allow);
    error_clear(&err);
    assert_null(route_find(&nowhere, &captures, &allow, &err));
    assert_int_equal(err.kind, ERR_NOT_FOUND);
    arena_free(a);
}

static void media_types_are_negotiated(void **state)
{
    static const struct {
        const char *accept, *offered, *chosen;
    } cases[] = {
        {NULL, "application/json application/x-npy", "application/json"},
        {"", "application/json", "application/json"},
        {"*/*", "application/json application/x-npy", "application/json"},
        {"application/x-npy", "application/json application/x-npy", "application/x-npy"},
        {"APPLICATION/X-NPY", "application/json application/x-npy", "application/x-npy"},
        {"application/json;q=0.5, application/x-npy", "application/json application/x-npy",
         "application/x-npy"},
        {"application/*;q=0.8,application/json;q=0.1", "application/json application/x-npy",
         "application/x-npy"},
        {"*/*;q=0.1, application/json;q=0", "application/json application/x-npy",
         "application/x-npy"},
        {"text/html,application/xhtml+xml,*/*;q=0.8", "application/json", "application/json"},
        {"application/json; charset=utf-8; q=0.2, application/x-npy ; q=0.3",
         "application/json application/x-npy", "application/x-npy"},
        {"image/png", "application/json", NULL},
        {"application/json;q=0", "application/json", NULL},
        {"application", "application/json", NULL},
        {",,;q=,", "application/json", NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        arena *a = arena_new();
        const char *chosen = route_negotiate(a, cases[i].accept, cases[i].offered);

        if (cases[i].chosen == NULL)
            assert_null(chosen);
        else
            assert_string_equal(chosen, cases[i].chosen);
        arena_free(a);
    }
}

static void check_params(const char *pattern, const char *query)
{
    for (const char *at = strchr(pattern, '{'); at != NULL; at = strchr(at + 1, '{'))
        assert_non_null(route_param_of(at + 1, strcspn(at + 1, "}")));
    for (const char *at = query; at != NULL && *at != '\0';) {
        size_t n = strcspn(at, " ");

        assert_non_null(route_param_of(at, n));
        at += n;
        at += *at == ' ';
    }
}

static void every_row_is_well_formed(void **state)
{
    size_t n;
    const route *rows = routes_table(&n);

    (void)state;
    for (size_t i = 0; i < n; i++) {
        size_t length = strlen(rows[i].summary);

        assert_non_null(rows[i].handle);
        assert_int_equal(rows[i].pattern[0], '/');
        assert_int_equal(rows[i].summary[length - 1], '.');
        assert_int_equal(rows[i].errors[ROUTE_ERRORS_MAX - 1], ERR_NONE);
        assert_int_equal(rows[i].open != NULL, rows[i].takes != NULL);
        check_params(rows[i].pattern, rows[i].query);
        for (size_t k = 0; k < i; k++)
            assert_false(strcmp(rows[i].pattern, rows[k].pattern) == 0 &&
                         strcmp(rows[i].method, rows[k].method) == 0);
    }
}

static void document_names_every_route(void **state)
{
    size_t n;
    const route *rows = routes_table(&n);
    text document;

    (void)state;
    text_init(&document);
    openapi_add(&document);
    for (size_t i = 0; i < n; i++)
        if ((rows[i].traits & ROUTE_PAGE) == 0)
            assert_non_null(strstr(document.bytes, rows[i].pattern));
    assert_null(strstr(document.bytes, "\"?\""));
    text_clear(&document);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns_fit_whole_paths),   cmocka_unit_test(methods_are_told_apart),
        cmocka_unit_test(media_types_are_negotiated), cmocka_unit_test(every_row_is_well_formed),
        cmocka_unit_test(document_names_every_route),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

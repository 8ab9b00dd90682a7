/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "server/auth/auth.h"
#include "server/auth/throttle.h"

enum { PORT = 8750 };

static char directory[64];

static int make_directory(void **state)
{
    (void)state;
    strcpy(directory, "/tmp/tensord-auth-XXXXXX");
    return mkdtemp(directory) == NULL;
}

static void path_of(char *path, const char *name)
{
    snprintf(path, 128, "%s/%s", directory, name);
}

static int remove_directory(void **state)
{
    char path[128];

    (void)state;
    path_of(path, "token");
    unlink(path);
    path_of(path, "curl");
    unlink(path);
    return rmdir(directory);
}

static auth_options options_with(const char *allow_hosts)
{
    return (auth_options){.data = directory,
                          .token = true,
                          .allow_hosts = allow_hosts,
                          .allow_origins = "https://app.example,http://127.0.0.1:3000",
                          .session_us = 60000000,
                          .failures_a_minute = 3,
                          .requests_a_second = 1000,
                          .requests_burst = 5};
}

static auth *open_auth(bool token, const char *allow_hosts)
{
    auth_options options = options_with(allow_hosts);
    error err = {0};
    auth *a;

    options.token = token;
    a = auth_open(&options, &err);
    assert_non_null(a);
    auth_set_port(a, PORT);
    return a;
}

static void read_file(const char *name, char *to, size_t room)
{
    char path[128];
    FILE *file;
    size_t n;

    path_of(path, name);
    file = fopen(path, "r");
    assert_non_null(file);
    n = fread(to, 1, room - 1, file);
    to[n] = '\0';
    fclose(file);
}

static void token_is_made_once_and_readable_by_the_owner_alone(void **state)
{
    char first[128], second[128], curl[256], path[128];
    struct stat info;

    (void)state;
    auth_close(open_auth(true, ""));
    read_file("token", first, sizeof first);
    assert_int_equal(strlen(first), 65);
    path_of(path, "token");
    stat(path, &info);
    assert_int_equal(info.st_mode & 0777, 0600);
    read_file("curl", curl, sizeof curl);
    first[64] = '\0';
    assert_non_null(strstr(curl, first));
    auth_close(open_auth(true, ""));
    read_file("token", second, sizeof second);
    assert_memory_equal(first, second, 64);
}

/* The local token as a header has it. */
static void bearer_of_local(char header[256])
{
    char token[128];

    read_file("token", token, sizeof token);
    token[64] = '\0';
    snprintf(header, 256, "Bearer %s", token);
}

static bool lets_in(auth *a, const char *authorization, caller *who, error *err)
{
    const credentials c = {.authorization = authorization};
    int64_t wait_us;

    error_clear(err);
    return auth_check_caller(a, &c, who, &wait_us, err);
}

static void only_the_token_is_let_in(void **state)
{
    auth *a = open_auth(true, "");
    char token[256], header[320];
    error err = {0};
    caller who;

    (void)state;
    bearer_of_local(token);
    assert_true(lets_in(a, token, &who, &err));
    assert_int_equal(who.scopes, SCOPE_ALL);
    snprintf(header, sizeof header, "bearer %s", token + 7);
    assert_true(lets_in(a, header, &who, &err));
    snprintf(header, sizeof header, "%.70s", token);
    assert_false(lets_in(a, header, &who, &err));
    assert_int_equal(err.kind, ERR_UNAUTHORIZED);
    snprintf(header, sizeof header, "%s ", token);
    assert_false(lets_in(a, header, &who, &err));
    assert_false(lets_in(a, token + 7, &who, &err));
    assert_false(lets_in(a, "Bearer ", &who, &err));
    assert_false(lets_in(a, NULL, &who, &err));
    auth_close(a);
}

static void with_none_anyone_is_let_in(void **state)
{
    auth *a = open_auth(false, "");
    error err = {0};
    caller who;

    (void)state;
    assert_true(lets_in(a, NULL, &who, &err));
    auth_close(a);
}

static void a_new_local_token_is_taken_when_told(void **state)
{
    auth *a = open_auth(true, "");
    char old[256], new[256], path[128];
    error err = {0};
    caller who;

    (void)state;
    bearer_of_local(old);
    path_of(path, "token");
    unlink(path);
    auth_reload(a);
    bearer_of_local(new);
    assert_false(lets_in(a, old, &who, &err));
    assert_true(lets_in(a, new, &who, &err));
    auth_close(a);
}

/* ---- Sessions --------------------------------------------------------------------- */

/* Logs in; the cookie as a browser would send it. */
static bool log_in(auth *a, const char *authorization, char cookie[256])
{
    const credentials c = {.authorization = authorization};
    error err = {0};
    int64_t wait_us;
    text set;
    bool ok;

    text_init(&set);
    ok = auth_login(a, &c, false, &set, &wait_us, &err);
    if (ok)
        snprintf(cookie, 256, "other=1; %.*s", (int)strcspn(set.bytes, ";"), set.bytes);
    text_clear(&set);
    return ok;
}

static error_kind refusal(auth *a, credentials c)
{
    error err = {0};
    int64_t wait_us;
    caller who;

    auth_check_caller(a, &c, &who, &wait_us, &err);
    return err.kind;
}

static void a_cookie_is_worth_its_token_from_the_same_origin_and_marked(void **state)
{
    auth *a = open_auth(true, "");
    char bearer[256], cookie[256], path[128];

    (void)state;
    bearer_of_local(bearer);
    assert_true(log_in(a, bearer, cookie));
    assert_int_equal(refusal(a, (credentials){.cookie = cookie, .safe = true}), ERR_NONE);
    assert_int_equal(refusal(a, (credentials){.cookie = cookie}), ERR_MARK);
    assert_int_equal(refusal(a, (credentials){.cookie = cookie, .marked = true}), ERR_NONE);
    assert_int_equal(refusal(a, (credentials){.cookie = cookie, .safe = true, .foreign = true}),
                     ERR_UNAUTHORIZED);
    assert_int_equal(refusal(a, (credentials){.cookie = cookie + 1, .safe = true}), ERR_NONE);
    assert_int_equal(refusal(a, (credentials){.cookie = cookie + 10, .safe = true}),
                     ERR_UNAUTHORIZED);
    cookie[strlen(cookie) - 1] ^= 1;
    assert_int_equal(refusal(a, (credentials){.cookie = cookie, .safe = true}), ERR_UNAUTHORIZED);
    cookie[strlen(cookie) - 1] ^= 1;
    path_of(path, "token");
    unlink(path);
    auth_reload(a); /* the token is another now */
    assert_int_equal(refusal(a, (credentials){.cookie = cookie, .safe = true}), ERR_UNAUTHORIZED);
    auth_close(a);
}

static void a_link_lets_in_once(void **state)
{
    auth *a = open_auth(true, "");
    char cookie[256], header[256];
    error err = {0};
    text link;

    (void)state;
    text_init(&link);
    assert_true(auth_add_link(directory, "http://127.0.0.1:8750", &link, &err));
    assert_int_equal(strncmp(link.bytes, "http://127.0.0.1:8750/#token=", 29), 0);
    snprintf(header, sizeof header, "Bearer %s", link.bytes + 29);
    text_clear(&link);
    assert_int_equal(refusal(a, (credentials){.authorization = header}), ERR_UNAUTHORIZED);
    assert_true(log_in(a, header, cookie));
    assert_int_equal(refusal(a, (credentials){.cookie = cookie, .safe = true}), ERR_NONE);
    assert_false(log_in(a, header, cookie));
    auth_close(a);
}

static void sessions_take_no_more_room_than_there_is(void **state)
{
    auth *a = open_auth(true, "");
    char bearer[256], first[256], cookie[256];

    (void)state;
    bearer_of_local(bearer);
    assert_true(log_in(a, bearer, first));
    for (int i = 0; i < 300; i++)
        assert_true(log_in(a, bearer, cookie));
    assert_int_equal(refusal(a, (credentials){.cookie = cookie, .safe = true}), ERR_NONE);
    assert_int_equal(refusal(a, (credentials){.cookie = first, .safe = true}), ERR_UNAUTHORIZED);
    auth_close(a);
}

/* ---- Throttling ------------------------------------------------------------------- */

static void an_address_that_fails_too_often_is_told_so_and_a_right_token_taken(void **state)
{
    static const uint8_t here[16] = {[15] = 1}, there[16] = {[15] = 2};
    static const uint8_t six[16] = {0x20, 1, [15] = 1}, same_network[16] = {0x20, 1, [15] = 2};
    const credentials wrong = {.authorization = "Bearer x", .address = here};
    auth *a = open_auth(true, "");
    char bearer[256];

    (void)state;
    bearer_of_local(bearer);
    for (int i = 0; i < 3; i++)
        assert_int_equal(refusal(a, wrong), ERR_UNAUTHORIZED);
    assert_int_equal(refusal(a, wrong), ERR_AUTH_THROTTLED);
    assert_int_equal(refusal(a, (credentials){.authorization = bearer, .address = here}), ERR_NONE);
    assert_int_equal(refusal(a, (credentials){.authorization = "Bearer x", .address = there}),
                     ERR_UNAUTHORIZED);
    for (int i = 0; i < 3; i++)
        assert_int_equal(refusal(a, (credentials){.authorization = "Bearer x", .address = six}),
                         ERR_UNAUTHORIZED);
    assert_int_equal(
        refusal(a, (credentials){.authorization = "Bearer x", .address = same_network}),
        ERR_AUTH_THROTTLED);
    auth_close(a);
}

static void buckets_fill_with_time(void **state)
{
    enum { SECOND = 1000000 };
    throttle *t = throttle_new(60, 2);

    (void)state;
    assert_int_equal(throttle_take(t, "a", 1, 10 * SECOND), 0);
    assert_int_equal(throttle_take(t, "a", 1, 10 * SECOND), 0);
    assert_in_range(throttle_take(t, "a", 1, 10 * SECOND), SECOND - 10, SECOND + 10);
    assert_int_equal(throttle_take(t, "b", 1, 10 * SECOND), 0);
    assert_int_equal(throttle_take(t, "a", 1, 11 * SECOND + 10), 0);
    assert_in_range(throttle_take(t, "a", 1, 11 * SECOND + 10), SECOND / 2, SECOND + 10);
    for (int i = 0; i < 100000; i++) /* more keys than there is room for */
        assert_int_equal(throttle_take(t, &i, sizeof i, 12 * SECOND), 0);
    throttle_free(t);
}

static void damaged_token_file_is_refused(void **state)
{
    auth_options options = options_with("");
    error err = {0};
    char path[128];
    FILE *file;

    (void)state;
    path_of(path, "token");
    file = fopen(path, "w");
    fputs("short\n", file);
    fclose(file);
    assert_null(auth_open(&options, &err));
    assert_non_null(strstr(err.detail, "token"));
}

static void hosts_are_ours_or_refused(void **state)
{
    static const char *const ours[] = {"127.0.0.1:8750", "localhost:8750", "LOCALHOST:8750",
                                       "[::1]:8750",     "127.1.2.3:8750", "a.example",
                                       "a.example:99",   "b.example:80",   "b.example"};
    static const char *const foreign[] = {"127.0.0.1",
                                          "127.0.0.1:1",
                                          "localhost",
                                          "evil.example:8750",
                                          "127.0.0.1.evil.example:8750",
                                          "localhost.evil.example:8750",
                                          "[::2]:8750",
                                          "::1:8750",
                                          "127.0.0.1:8750x",
                                          "b.example:81",
                                          "127.0.0.1:",
                                          ":8750",
                                          "",
                                          "[::1",
                                          "xa.example",
                                          "a.example.",
                                          "0.0.0.0:8750",
                                          "2130706433:8750"};
    auth *a = open_auth(true, "a.example,b.example:80");

    (void)state;
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) {
        error err = {0};

        assert_true(auth_check_host(a, ours[i], &err));
    }
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        error err = {0};

        assert_false(auth_check_host(a, foreign[i], &err));
        assert_int_equal(err.kind, ERR_HOST);
    }
    auth_close(a);
}

static void origins_are_the_same_or_refused(void **state)
{
    static const struct {
        const char *host, *origin, *site;
        enum { NO, OWN, FOREIGN } is;
    } cases[] = {
        {"127.0.0.1:8750", NULL, NULL, OWN},
        {"127.0.0.1:8750", "http://127.0.0.1:8750", "same-origin", OWN},
        {"127.0.0.1:8750", "http://localhost:8750", NULL, NO},
        {"127.0.0.1:8750", "http://127.0.0.1:87500", NULL, NO},
        {"127.0.0.1:8750", "https://127.0.0.1:8750", NULL, NO},
        {"127.0.0.1:8750", "null", NULL, NO},
        {"127.0.0.1:8750", "", NULL, NO},
        {"127.0.0.1:8750", NULL, "cross-site", NO},
        {"127.0.0.1:8750", NULL, "same-site", NO},
        {"127.0.0.1:8750", NULL, "none", OWN},
        {"a.example", "https://a.example", NULL, OWN},
        {"a.example", "https://a.example.evil", NULL, NO},
        /* those of --allow-origin, letter for letter */
        {"127.0.0.1:8750", "https://app.example", "cross-site", FOREIGN},
        {"127.0.0.1:8750", "http://127.0.0.1:3000", "same-site", FOREIGN},
        {"127.0.0.1:8750", "http://app.example", NULL, NO},
        {"127.0.0.1:8750", "https://app.example:443", NULL, NO},
        {"127.0.0.1:8750", "https://app.example.evil", NULL, NO},
        {"127.0.0.1:8750", "https://App.example", NULL, NO},
        {"127.0.0.1:8750", "https://xapp.example", NULL, NO},
        {"127.0.0.1:8750", "https://app.exampl", NULL, NO},
        {"127.0.0.1:8750", "https://app.example,http://127.0.0.1:3000", NULL, NO},
        {"127.0.0.1:8750", "*", NULL, NO},
    };
    auth *a = open_auth(true, "a.example");

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        error err = {0};
        bool foreign;

        assert_int_equal(
            auth_check_origin(a, cases[i].host, cases[i].origin, cases[i].site, &foreign, &err),
            cases[i].is != NO);
        if (cases[i].is != NO)
            assert_int_equal(foreign, cases[i].is == FOREIGN);
    }
    auth_close(a);
}

static void what_is_no_origin_cannot_be_allowed(void **state)
{
    static const char *const bad[] = {"*",
                                      "null",
                                      "https://*.app.example",
                                      "app.example",
                                      "https://",
                                      "https://app.example/",
                                      "https://App.example",
                                      "ftp://app.example",
                                      "https://app.example,*"};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        auth_options options = options_with("");
        error err = {0};

        options.allow_origins = bad[i];
        assert_null(auth_open(&options, &err));
        assert_non_null(strstr(err.detail, "allow-origin"));
    }
    auth_close(open_auth(true, ""));
}

static void loopback_is_known(void **state)
{
    (void)state;
    assert_true(auth_is_loopback("127.0.0.1"));
    assert_true(auth_is_loopback("127.9.9.9"));
    assert_true(auth_is_loopback("::1"));
    assert_true(auth_is_loopback("localhost"));
    assert_false(auth_is_loopback("0.0.0.0"));
    assert_false(auth_is_loopback("::"));
    assert_false(auth_is_loopback("192.168.1.1"));
    assert_false(auth_is_loopback("127.0.0.1.example"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, make_directory, remove_directory)
        CASE(token_is_made_once_and_readable_by_the_owner_alone),
        CASE(only_the_token_is_let_in),
        CASE(with_none_anyone_is_let_in),
        CASE(a_new_local_token_is_taken_when_told),
        CASE(a_cookie_is_worth_its_token_from_the_same_origin_and_marked),
        CASE(a_link_lets_in_once),
        CASE(sessions_take_no_more_room_than_there_is),
        CASE(an_address_that_fails_too_often_is_told_so_and_a_right_token_taken),
        cmocka_unit_test(buckets_fill_with_time),
        CASE(what_is_no_origin_cannot_be_allowed),
        CASE(damaged_token_file_is_refused),
        CASE(hosts_are_ours_or_refused),
        CASE(origins_are_the_same_or_refused),
        cmocka_unit_test(loopback_is_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

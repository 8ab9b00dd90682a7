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

static auth *open_auth(bool token, const char *allow_hosts)
{
    auth_options options = {.data = directory, .token = token, .allow_hosts = allow_hosts};
    error err = {0};
    auth *a = auth_open(&options, &err);

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

static void only_the_token_is_let_in(void **state)
{
    auth *a = open_auth(true, "");
    char token[128], header[256];
    error err = {0};
    caller who;

    (void)state;
    read_file("token", token, sizeof token);
    token[64] = '\0';
    snprintf(header, sizeof header, "Bearer %s", token);
    assert_true(auth_check_token(a, header, &who, &err));
    snprintf(header, sizeof header, "bearer %s", token);
    assert_true(auth_check_token(a, header, &who, &err));
    snprintf(header, sizeof header, "Bearer %.63s", token);
    assert_false(auth_check_token(a, header, &who, &err));
    assert_int_equal(err.kind, ERR_UNAUTHORIZED);
    snprintf(header, sizeof header, "Bearer %s ", token);
    assert_false(auth_check_token(a, header, &who, &err));
    assert_false(auth_check_token(a, token, &who, &err));
    assert_false(auth_check_token(a, "Bearer ", &who, &err));
    assert_false(auth_check_token(a, NULL, &who, &err));
    auth_close(a);
}

static void with_none_anyone_is_let_in(void **state)
{
    auth *a = open_auth(false, "");
    error err = {0};
    caller who;

    (void)state;
    assert_true(auth_check_token(a, NULL, &who, &err));
    auth_close(a);
}

static void damaged_token_file_is_refused(void **state)
{
    auth_options options = {.data = directory, .token = true, .allow_hosts = ""};
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
        bool allowed;
    } cases[] = {
        {"127.0.0.1:8750", NULL, NULL, true},
        {"127.0.0.1:8750", "http://127.0.0.1:8750", "same-origin", true},
        {"127.0.0.1:8750", "http://localhost:8750", NULL, false},
        {"127.0.0.1:8750", "http://127.0.0.1:87500", NULL, false},
        {"127.0.0.1:8750", "https://127.0.0.1:8750", NULL, false},
        {"127.0.0.1:8750", "null", NULL, false},
        {"127.0.0.1:8750", "", NULL, false},
        {"127.0.0.1:8750", NULL, "cross-site", false},
        {"127.0.0.1:8750", NULL, "same-site", false},
        {"127.0.0.1:8750", NULL, "none", true},
        {"a.example", "https://a.example", NULL, true},
        {"a.example", "https://a.example.evil", NULL, false},
    };
    auth *a = open_auth(true, "a.example");

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        error err = {0};

        assert_int_equal(auth_check_origin(a, cases[i].host, cases[i].origin, cases[i].site, &err),
                         cases[i].allowed);
    }
    auth_close(a);
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
        CASE(damaged_token_file_is_refused),
        CASE(hosts_are_ours_or_refused),
        CASE(origins_are_the_same_or_refused),
        cmocka_unit_test(loopback_is_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "server/config.h"

/* Loads what a command line of up to ten words says. */
static bool load(config *c, error *err, const char *const words[])
{
    char *argv[12] = {(char *)(uintptr_t) "tensord"};
    int argc = 1;

    while (words[argc - 1] != NULL && argc < 11) {
        argv[argc] = (char *)(uintptr_t)words[argc - 1];
        argc++;
    }
    error_clear(err);
    return config_load(c, argc, argv, err);
}

#define LOAD(c, err, ...) load(c, err, (const char *const[]){__VA_ARGS__, NULL})

static int no_files(void **state)
{
    (void)state;
    setenv("XDG_CONFIG_HOME", "/nonexistent", 1);
    unsetenv("TENSORD_CONFIG");
    unsetenv("TENSORD_THREADS");
    unsetenv("TENSORD_DATA");
    return 0;
}

static const char *write_file(const char *content)
{
    static char path[] = "/tmp/tensord-config-XXXXXX";
    int fd;

    strcpy(path, "/tmp/tensord-config-XXXXXX");
    fd = mkstemp(path);
    assert_int_equal(write(fd, content, strlen(content)), (ssize_t)strlen(content));
    close(fd);
    return path;
}

static void every_row_is_well_formed(void **state)
{
    (void)state;
    for (int i = 0; i < CONFIG_SETTINGS; i++) {
        const config_row *row = config_row_of(i);
        size_t n = strlen(row->doc);

        assert_true(n > 1 && row->doc[0] >= 'A' && row->doc[0] <= 'Z' && row->doc[n - 1] == '.');
        assert_true(row->least <= row->most);
        for (int k = 0; k < i; k++)
            assert_string_not_equal(row->name, config_row_of(k)->name);
    }
}

static void fallbacks_hold(void **state)
{
    config c;

    (void)state;
    config_load_defaults(&c);
    assert_string_equal(c.listen, "127.0.0.1:8750");
    assert_int_equal(c.body_bytes_max, 1LL << 30);
    assert_int_equal(c.queue_time_max, 5000000);
    assert_true(c.threads >= 1 && c.http_threads >= 2);
    assert_true(c.memory_bytes_max >= 64 << 20);
    config_clear(&c);
}

static void flag_goes_before_environment_before_file(void **state)
{
    const char *path = write_file("# a comment\nthreads = 5\ndata=/from/file  # why\n\n");
    config c;
    error err;

    (void)state;
    assert_true(LOAD(&c, &err, "serve", "--config", path));
    assert_int_equal(c.threads, 5);
    assert_string_equal(c.data, "/from/file");
    assert_non_null(strstr(c.source[CONFIG_threads], ":2"));
    config_clear(&c);
    setenv("TENSORD_THREADS", "6", 1);
    assert_true(LOAD(&c, &err, "serve", "--config", path));
    assert_int_equal(c.threads, 6);
    assert_string_equal(c.source[CONFIG_threads], "environment");
    config_clear(&c);
    assert_true(LOAD(&c, &err, "serve", "--config", path, "--threads=7"));
    assert_int_equal(c.threads, 7);
    assert_string_equal(c.source[CONFIG_threads], "flag");
    assert_string_equal(c.source[CONFIG_auth], "default");
    config_clear(&c);
    unlink(path);
}

static void units_are_read_and_printed(void **state)
{
    config c;
    error err;
    text out;

    (void)state;
    assert_true(LOAD(&c, &err, "serve", "--body-bytes-max", "3MiB", "--queue-time-max", "250 ms"));
    assert_int_equal(c.body_bytes_max, 3 << 20);
    assert_int_equal(c.queue_time_max, 250000);
    text_init(&out);
    config_add_value(&c, config_row_of(CONFIG_body_bytes_max), &out);
    assert_string_equal(out.bytes, "3 MiB");
    text_clear(&out);
    config_clear(&c);
}

static void lists_grow(void **state)
{
    config c;
    error err;

    (void)state;
    assert_true(LOAD(&c, &err, "serve", "--allow-host", "a.example", "--allow-host=b.example:80"));
    assert_string_equal(c.allow_host, "a.example,b.example:80");
    config_clear(&c);
}

static void faults_are_told(void **state)
{
    static const struct {
        const char *words[4];
        const char *detail, *suggestion;
    } faults[] = {
        {{"serve", "--lisen", "x"}, "--lisen", "--listen"},
        {{"serve", "--threads", "many"}, "'many'", ""},
        {{"serve", "--threads", "0"}, "from 1 to 1024", ""},
        {{"serve", "--threads", "99999999999999999999"}, "number", ""},
        {{"serve", "--body-bytes-max", "1 parsec"}, "unit", ""},
        {{"serve", "--body-bytes-max", "9000000 TiB"}, "must be from", ""},
        {{"serve", "--auth", "maybe"}, "token|none", ""},
        {{"serve", "--data"}, "needs a value", ""},
        {{"serve", "stray"}, "'stray'", ""},
        {{"serve", "--config", "/nonexistent/file"}, "/nonexistent/file", ""},
        {{"--threads", "2"}, "tensord serve", ""},
        {{"serve", "--rank-max", "65"}, "from 64 to 64", ""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        config c;
        error err;

        assert_false(load(&c, &err, faults[i].words));
        assert_non_null(strstr(err.detail, faults[i].detail));
        assert_string_equal(err.suggestion, faults[i].suggestion);
        config_clear(&c);
    }
}

static void file_faults_name_the_line(void **state)
{
    const char *path = write_file("threads = 2\n\nthread = 3\n");
    config c;
    error err;

    (void)state;
    assert_false(LOAD(&c, &err, "serve", "--config", path));
    assert_non_null(strstr(err.detail, ":3: there is no setting 'thread'"));
    assert_string_equal(err.suggestion, "--threads");
    config_clear(&c);
    unlink(path);
}

static void commands_are_told_apart(void **state)
{
    config c;
    error err;

    (void)state;
    assert_true(LOAD(&c, &err, "--version"));
    assert_int_equal(c.command, COMMAND_VERSION);
    config_clear(&c);
    assert_true(LOAD(&c, &err, "serve", "--help"));
    assert_int_equal(c.command, COMMAND_HELP);
    config_clear(&c);
    assert_true(LOAD(&c, &err, "--write-api", "somewhere"));
    assert_int_equal(c.command, COMMAND_WRITE_API);
    assert_string_equal(c.api_directory, "somewhere");
    config_clear(&c);
}

static void flags_of_tokens_are_of_that_command_alone(void **state)
{
    config c;
    error err;

    (void)state;
    assert_true(LOAD(&c, &err, "token", "create", "x", "read", "--prefix", "a_", "--prefix=b_",
                     "--expires", "30d"));
    assert_string_equal(c.operands[2], "read");
    assert_string_equal(c.prefixes, "a_,b_");
    assert_string_equal(c.expires, "30d");
    config_clear(&c);
    assert_false(LOAD(&c, &err, "token", "create", "x", "--prefix"));
    config_clear(&c);
    assert_false(LOAD(&c, &err, "serve", "--prefix", "a_"));
    config_clear(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(every_row_is_well_formed, no_files),
        cmocka_unit_test_setup(fallbacks_hold, no_files),
        cmocka_unit_test_setup(flag_goes_before_environment_before_file, no_files),
        cmocka_unit_test_setup(units_are_read_and_printed, no_files),
        cmocka_unit_test_setup(lists_grow, no_files),
        cmocka_unit_test_setup(faults_are_told, no_files),
        cmocka_unit_test_setup(file_faults_name_the_line, no_files),
        cmocka_unit_test_setup(commands_are_told_apart, no_files),
        cmocka_unit_test_setup(flags_of_tokens_are_of_that_command_alone, no_files),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

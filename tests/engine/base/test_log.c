/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "engine/base/secret.h"

/* What f writes to standard error. */
static void capture(void (*f)(void), char *to, size_t room)
{
    int ends[2], kept = dup(STDERR_FILENO);
    ssize_t n;

    assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
    dup2(ends[1], STDERR_FILENO);
    f();
    dup2(kept, STDERR_FILENO);
    n = read(ends[0], to, room - 1);
    to[n > 0 ? n : 0] = '\0';
    close(kept);
    close(ends[0]);
    close(ends[1]);
}

static void write_nasty(void)
{
    log_line line;

    if (!log_begin(&line, LOG_WARN, "abc", "a\nb\x1b[31m\"\\"))
        return;
    json_int(&line.json, "n", -3);
    json_string(&line.json, "none", NULL);
    log_end(&line);
}

static void write_quiet(void)
{
    log_message(LOG_DEBUG, "not seen");
}

static void lines_are_one_object_each(void **state)
{
    char out[1024];

    (void)state;
    capture(write_nasty, out, sizeof out);
    assert_ptr_equal(strchr(out, '\n'), out + strlen(out) - 1);
    assert_non_null(strstr(out,
                           "\"level\":\"warn\",\"request_id\":\"abc\","
                           "\"message\":\"a\\nb\\u001b[31m\\\"\\\\\",\"n\":-3,\"none\":null}"));
    capture(write_quiet, out, sizeof out);
    assert_string_equal(out, "");
}

enum { THREADS = 4, LINES = 50 };

static void *write_lines(void *who)
{
    for (int i = 0; i < LINES; i++)
        log_message(i % 16 == 15 ? LOG_WARN : LOG_INFO, "%c%d.", *(const char *)who, i);
    return NULL;
}

static void write_from_threads(void)
{
    static char names[THREADS] = {'a', 'b', 'c', 'd'};
    pthread_t threads[THREADS];

    log_start();
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, write_lines, &names[i]);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    log_stop();
}

/* With a thread of the log's own, each line is written, whole, and in its thread's order. */
static void lines_keep_their_order(void **state)
{
    static char out[65536];
    int next[THREADS] = {0}, lines = 0;

    (void)state;
    capture(write_from_threads, out, sizeof out);
    for (char *line = strtok(out, "\n"); line != NULL; line = strtok(NULL, "\n"), lines++) {
        const char *message = strstr(line, "\"message\":\"");

        assert_int_equal(line[0], '{');
        assert_int_equal(line[strlen(line) - 1], '}');
        assert_non_null(message);
        assert_int_equal(atoi(message + 12), next[message[11] - 'a']++);
    }
    assert_int_equal(lines, THREADS * LINES);
}

static void json_may_be_pretty(void **state)
{
    text t;
    json_writer w = json_to(&t, true);

    (void)state;
    text_init(&t);
    json_begin(&w, NULL, '{');
    json_begin(&w, "a", '[');
    json_int(&w, NULL, 1);
    json_bool(&w, NULL, false);
    json_end(&w, ']');
    json_begin(&w, "b", '{');
    json_end(&w, '}');
    json_end(&w, '}');
    assert_string_equal(t.bytes, "{\n  \"a\": [\n    1,\n    false\n  ],\n  \"b\": {}\n}");
    text_clear(&t);
}

static void digest_of(const char *string, size_t times, char *hex)
{
    uint8_t digest[SHA256_BYTES];
    text t;

    text_init(&t);
    for (size_t i = 0; i < times; i++)
        text_add(&t, string);
    sha256(t.bytes, t.length, digest);
    for (int i = 0; i < SHA256_BYTES; i++)
        sprintf(hex + 2 * i, "%02x", digest[i]);
    text_clear(&t);
}

/* The examples of FIPS 180-4, and lengths around the padding's edges. */
static void sha256_is_right(void **state)
{
    static const struct {
        const char *string;
        size_t times;
        const char *digest;
    } cases[] = {
        {"", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
        {"a", 1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
        {"a", 55, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318"},
        {"a", 64, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb"},
    };
    char hex[2 * SHA256_BYTES + 1];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        digest_of(cases[i].string, cases[i].times, hex);
        assert_string_equal(hex, cases[i].digest);
    }
}

static void random_hex_differs(void **state)
{
    char a[65], b[65];

    (void)state;
    random_hex(a, 32);
    random_hex(b, 32);
    assert_int_equal(strspn(a, "0123456789abcdef"), 64);
    assert_string_not_equal(a, b);
}

enum { NAMES = 200 };

static void *draw_names(void *to)
{
    for (int i = 0; i < NAMES; i++)
        random_name((char *)to + (size_t)i * (RANDOM_NAME_DIGITS + 1));
    return NULL;
}

/* Of one thread, and of two. */
static void random_names_differ(void **state)
{
    static char names[2 * NAMES][RANDOM_NAME_DIGITS + 1];
    pthread_t other;

    (void)state;
    assert_int_equal(pthread_create(&other, NULL, draw_names, names[NAMES]), 0);
    draw_names(names);
    pthread_join(other, NULL);
    for (int i = 0; i < 2 * NAMES; i++) {
        assert_int_equal(strspn(names[i], "0123456789abcdef"), RANDOM_NAME_DIGITS);
        assert_int_equal(strlen(names[i]), RANDOM_NAME_DIGITS);
        for (int k = 0; k < i; k++)
            assert_string_not_equal(names[i], names[k]);
    }
}

static void dates_follow_each_other(void **state)
{
    static const struct {
        int64_t us;
        const char *text;
    } dates[] = {{0, "1970-01-01T00:00:00.000Z"},
                 {1709210096999999, "2024-02-29T12:34:56.999Z"},
                 {1709210096005000, "2024-02-29T12:34:56.005Z"},
                 {1709210097000000, "2024-02-29T12:34:57.000Z"},
                 {0, "1970-01-01T00:00:00.000Z"}};
    text t;

    (void)state;
    text_init(&t);
    for (size_t i = 0; i < sizeof dates / sizeof *dates; i++) {
        t.length = 0;
        clock_add_date_of(&t, dates[i].us);
        assert_string_equal(t.bytes, dates[i].text);
    }
    text_clear(&t);
}

static void sha256_of_pieces_is_that_of_the_whole(void **state)
{
    uint8_t bytes[300], whole[SHA256_BYTES], pieces[SHA256_BYTES];

    (void)state;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 7);
    for (size_t n = 0; n <= sizeof bytes; n++) {
        sha256_run run;

        sha256(bytes, n, whole);
        for (size_t step = 1; step < 130; step += 3) {
            sha256_start(&run);
            for (size_t at = 0; at < n; at += step)
                sha256_add(&run, bytes + at, n - at < step ? n - at : step);
            sha256_end(&run, pieces);
            assert_true(digest_equal(whole, pieces));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_one_object_each),
        cmocka_unit_test(lines_keep_their_order),
        cmocka_unit_test(json_may_be_pretty),
        cmocka_unit_test(sha256_is_right),
        cmocka_unit_test(sha256_of_pieces_is_that_of_the_whole),
        cmocka_unit_test(random_hex_differs),
        cmocka_unit_test(random_names_differ),
        cmocka_unit_test(dates_follow_each_other),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "server/wire/wire.h"
#include "tests/server/wire/bodies.h"

#if defined(__SANITIZE_ADDRESS__)
enum { MEGABYTES = 10, MEASURES_MEMORY = 0 };
#else
enum { MEGABYTES = 100, MEASURES_MEMORY = 1 };
#endif

enum { PIECE = 32768, SLACK_BYTES = 16 << 20 };

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Reads a body of about MEGABYTES of JSON, made as it goes from a block of text
 * that has count numbers, and writes it out again; in a process of its own, whose
 * memory is measured: collected bytes an element are expected. Exits with 0 if all
 * is well. */
static _Noreturn void pass_through(const char *head, const char *block, size_t count,
                                   const char *tail, int64_t collected)
{
    const wire_reader_options o = {.document = WIRE_TENSOR_BODY, .length = -1};
    const size_t length = strlen(block), times = ((size_t)MEGABYTES << 20) / length;
    arena *a = arena_new();
    error err = {0};
    static char piece[PIECE];
    struct rusage usage;
    double start = now(), in, out;
    size_t written = 0, n;
    int64_t before;
    wire_reader *r;
    wire_writer *w;

    getrusage(RUSAGE_SELF, &usage);
    before = usage.ru_maxrss * 1024;
    r = wire_reader_new(a, NULL, &o, &err);
    bool ok = wire_reader_feed(r, head, strlen(head), &err);
    for (size_t i = 0; i < times && ok; i++)
        ok = wire_reader_feed(r, block, length, &err);
    ok = ok && wire_reader_feed(r, tail, strlen(tail), &err) && wire_reader_end(r, &err);
    in = now() - start;
    if (!ok) {
        fprintf(stderr, "%s\n", err.detail);
        _exit(1);
    }
    const tensor *t = wire_tensor(wire_reader_root(r));

    start = now();
    w = wire_writer_new(WIRE_JSON);
    wire_writer_tensor(w, NULL, t);
    while ((n = wire_writer_read(w, piece, sizeof piece)) > 0)
        written += n;
    out = now() - start;
    wire_writer_free(w);
    getrusage(RUSAGE_SELF, &usage);
    fprintf(stderr, "%s%.30s...: in %.0f MB/s, out %.0f MB/s, %.1f MB above %.0f MB of tensor\n",
            head, block, (double)(length * times) / in / 1e6, (double)written / out / 1e6,
            (double)(usage.ru_maxrss * 1024 - before - tensor_nbytes(t)) / 1e6,
            (double)tensor_nbytes(t) / 1e6);
    if (tensor_size(t) != (int64_t)(count * times + 1))
        _exit(2);
    if (MEASURES_MEMORY &&
        usage.ru_maxrss * 1024 - before > tensor_size(t) * collected + SLACK_BYTES)
        _exit(3);
    _exit(0);
}

static void check(const char *head, const char *block, size_t count, const char *tail,
                  int64_t collected)
{
    int status = -1;
    const pid_t child = fork();

    if (child == 0)
        pass_through(head, block, count, tail, collected);
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
}

static void a_large_tensor_takes_little_more_than_its_bytes(void **state)
{
    text doubles, shorts, integers;

    (void)state;
    text_init(&doubles);
    text_init(&shorts);
    text_init(&integers);
    for (int i = 0; i < 2000; i++) {
        text_addf(&doubles, "%.17g,", (rand() + rand() / 2147483648.0) / 2147483648.0);
        text_addf(&shorts, "%d.%d, ", rand() % 100, rand() % 100);
        text_addf(&integers, "%d,", rand() % 100000);
    }
    check("[", doubles.bytes, 2000, "1.5]", 8);
    check("{\"dtype\":\"float64\",\"data\":[", doubles.bytes, 2000, "1.5]}", 8);
    check("{\"data\":[", doubles.bytes, 2000, "1.5],\"dtype\":\"float32\"}", 8);
    check("{\"dtype\":\"float32\",\"data\":[", doubles.bytes, 2000, "1.5]}", 4);
    check("[", shorts.bytes, 2000, "1.5]", 8);
    check("[", integers.bytes, 2000, "1]", 8);
    text_clear(&doubles);
    text_clear(&shorts);
    text_clear(&integers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_large_tensor_takes_little_more_than_its_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

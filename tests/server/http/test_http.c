/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of http that no cheap route uses: workers, their queue, cancelling,
 * sinks and streamed answers; with an app of a few paths. */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "server/http/http.h"

enum { BODY_MAX = 1 << 20, STREAM_BYTES = 10 << 20 };

static _Atomic int cancelled, closed_sinks, closed_sources, running;

/* ---- The app ------------------------------------------------------------------- */

static bool count_feed(void *state, const char *bytes, size_t n, error *err)
{
    if (memchr(bytes, '!', n) != NULL)
        return error_set(err, ERR_JSON, "an exclamation mark");
    *(size_t *)state += n;
    return true;
}

static void count_close(void *state)
{
    (void)state;
    closed_sinks++;
}

static bool admit(void *context, http_request *r, error *err)
{
    const char *path = r->segments[0];

    (void)context, (void)err;
    r->on_worker = strncmp(path, "work", 4) == 0;
    r->body_bytes_max = BODY_MAX;
    r->app_data = arena_alloc(r->arena, sizeof(size_t));
    if (strcmp(path, "count") == 0 || strcmp(path, "workcount") == 0)
        r->sink = (http_sink){
            .state = (void *)(uintptr_t)r->app_data, .feed = count_feed, .close = count_close};
    return true;
}

/* Works until it is cancelled, at most as many ms as the query says. */
static bool work(http_request *r, error *err)
{
    int64_t end = clock_us() + 1000 * atoll(http_query(r, "ms"));

    running++;
    while (clock_us() < end && r->cancel == 0 && clock_us() < r->deadline_us)
        usleep(1000);
    running--;
    if (r->cancel == 0)
        return clock_us() >= end || error_set(err, ERR_TIME, "too long");
    cancelled++;
    return error_set(err, ERR_CANCELLED, "cancelled");
}

static ssize_t stream_fill(void *state, char *to, size_t room)
{
    size_t *left = state, n = room < *left ? room : *left;

    memset(to, 'z', n);
    *left -= n;
    return (ssize_t)n;
}

static void stream_close(void *state)
{
    free(state);
    closed_sources++;
}

static void stream(http_request *r)
{
    size_t *left = malloc(sizeof *left);

    *left = STREAM_BYTES;
    answer_stream(r, 200, "text/plain", http_query(r, "sized") != NULL ? STREAM_BYTES : -1,
                  (http_source){.state = left, .fill = stream_fill, .close = stream_close});
}

static bool handle(void *context, http_request *r, error *err)
{
    text body;

    (void)context;
    if (http_query(r, "ms") != NULL && !work(r, err))
        return false;
    if (strcmp(r->segments[0], "stream") == 0) {
        stream(r);
        return true;
    }
    text_init(&body);
    text_addf(&body, "%zu", *(const size_t *)r->app_data);
    answer_text(r, 200, "text/plain", &body);
    return true;
}

/* ---- Talking to it ---------------------------------------------------------------- */

static http_server *start(int workers, int queue, int64_t queue_us)
{
    http_options options = {.address = "127.0.0.1",
                            .threads = 2,
                            .workers = workers,
                            .queue_max = queue,
                            .queue_us_max = queue_us,
                            .run_us_max = 3000000,
                            .connections_max = 64,
                            .connections_soft_max = 60,
                            .connections_per_address_max = 60,
                            .header_bytes_max = 32768,
                            .headers_max = 50,
                            .header_us_max = 3000000,
                            .body_us_max = 3000000,
                            .idle_us_max = 5000000};
    http_app app = {.admit = admit, .handle = handle};
    error err = {0};
    http_server *s = http_new(&options, &app, &err);

    cancelled = closed_sinks = closed_sources = 0;
    log_set_level(LOG_ERROR);
    assert_non_null(s);
    assert_true(http_start(s, &err));
    return s;
}

static void stop(http_server *s)
{
    http_stop(s, 2000000);
    http_free(s);
}

static int dial(const http_server *s, const char *request)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)http_port(s)),
                                  .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    assert_int_equal(connect(fd, (struct sockaddr *)(void *)&address, sizeof address), 0);
    assert_int_equal(send(fd, request, strlen(request), MSG_NOSIGNAL), (ssize_t)strlen(request));
    return fd;
}

/* Reads until the end: the whole answer. */
static void read_all(int fd, text *answer)
{
    ssize_t n;

    text_init(answer);
    do {
        n = recv(fd, text_reserve(answer, 65536), 65536, 0);
        answer->length += n > 0 ? (size_t)n : 0;
    } while (n > 0);
    text_reserve(answer, 0)[0] = '\0';
    close(fd);
}

/* The status of the answer; body (unless NULL) must be how it ends. */
static int finish(int fd, const char *body)
{
    text answer;
    int status;

    read_all(fd, &answer);
    status = answer.length > 12 ? atoi(answer.bytes + 9) : 0;
    if (body != NULL)
        assert_string_equal(answer.bytes + answer.length - strlen(body), body);
    text_clear(&answer);
    return status;
}

#define GET(path)        "GET " path " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
#define POST(path, more) "POST " path " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" more

static void wait_for_running(int n)
{
    for (int i = 0; i < 1000 && running != n; i++)
        usleep(1000);
    assert_int_equal(running, n);
}

/* ---- Cases -------------------------------------------------------------------------- */

static void worker_answers(void **state)
{
    http_server *s = start(2, 4, 1000000);

    (void)state;
    assert_int_equal(finish(dial(s, GET("/work?ms=20")), "0"), 200);
    assert_int_equal(
        finish(dial(s, POST("/workcount?ms=1", "Content-Length: 5\r\n\r\nhello")), "5"), 200);
    assert_int_equal(closed_sinks, 1);
    stop(s);
}

static void cheap_requests_pass_slow_ones(void **state)
{
    http_server *s = start(2, 4, 1000000);
    int slow[4];

    (void)state;
    for (int i = 0; i < 4; i++)
        slow[i] = dial(s, GET("/work?ms=300"));
    wait_for_running(2);
    for (int i = 0; i < 20; i++)
        assert_int_equal(finish(dial(s, GET("/cheap")), "0"), 200);
    assert_int_equal(running, 2);
    for (int i = 0; i < 4; i++)
        assert_int_equal(finish(slow[i], "0"), 200);
    stop(s);
}

static void full_queue_is_503(void **state)
{
    http_server *s = start(1, 1, 5000000);
    int first = dial(s, GET("/work?ms=300")), second;

    (void)state;
    wait_for_running(1);
    second = dial(s, GET("/work?ms=1"));
    usleep(50000);
    assert_int_equal(finish(dial(s, GET("/work?ms=1")), NULL), 503);
    assert_int_equal(finish(second, "0"), 200);
    assert_int_equal(finish(first, "0"), 200);
    stop(s);
}

static void waiting_too_long_is_503(void **state)
{
    http_server *s = start(1, 8, 100000);
    int first = dial(s, GET("/work?ms=600"));
    int64_t begun;

    (void)state;
    wait_for_running(1);
    begun = clock_us();
    assert_int_equal(finish(dial(s, GET("/work?ms=1")), NULL), 503);
    assert_true(clock_us() - begun < 300000);
    assert_int_equal(finish(first, "0"), 200);
    stop(s);
}

static void client_that_leaves_cancels(void **state)
{
    http_server *s = start(1, 8, 1000000);
    int fd = dial(s, GET("/work?ms=10000"));
    int64_t left;

    (void)state;
    wait_for_running(1);
    left = clock_us();
    close(fd);
    wait_for_running(0);
    assert_int_equal(cancelled, 1);
    assert_true(clock_us() - left < 100000);
    assert_int_equal(finish(dial(s, GET("/work?ms=1")), "0"), 200);
    stop(s);
}

static void deadline_passes(void **state)
{
    http_server *s = start(1, 8, 1000000);

    (void)state;
    assert_int_equal(finish(dial(s, GET("/work?ms=10000")), NULL), 422);
    stop(s);
}

static void sink_refuses_and_the_answer_comes(void **state)
{
    http_server *s = start(1, 8, 1000000);

    (void)state;
    assert_int_equal(finish(dial(s, POST("/count", "Content-Length: 6\r\n\r\nhello!")), NULL), 400);
    assert_int_equal(finish(dial(s, POST("/workcount", "Content-Length: 6\r\n\r\nhello!")), NULL),
                     400);
    assert_int_equal(closed_sinks, 2);
    stop(s);
}

static void announced_size_is_checked(void **state)
{
    http_server *s = start(1, 8, 1000000);

    (void)state;
    assert_int_equal(finish(dial(s, POST("/count", "Content-Length: 1048577\r\n\r\n")), NULL), 413);
    stop(s);
    assert_int_equal(closed_sinks, 1);
}

static void size_is_checked_on_the_byte_that_passes_it(void **state)
{
    static char block[65536 + 1];
    http_server *s = start(1, 8, 1000000);
    int fd = dial(s, POST("/count", "Transfer-Encoding: chunked\r\n\r\n"));

    (void)state;
    memset(block, 'x', sizeof block - 1);
    for (int i = 0; i < 17; i++) {
        send(fd, "10000\r\n", 7, MSG_NOSIGNAL);
        send(fd, block, sizeof block - 1, MSG_NOSIGNAL);
        send(fd, "\r\n", 2, MSG_NOSIGNAL);
    }
    send(fd, "0\r\n\r\n", 5, MSG_NOSIGNAL);
    assert_int_equal(finish(fd, NULL), 413);
    stop(s);
}

static void long_answers_are_streamed(void **state)
{
    http_server *s = start(1, 8, 1000000);
    text answer;

    (void)state;
    read_all(dial(s, GET("/stream?sized=1")), &answer);
    assert_non_null(strstr(answer.bytes, "Content-Length: 10485760\r\n"));
    assert_true(answer.length > STREAM_BYTES);
    text_clear(&answer);
    read_all(dial(s, GET("/stream")), &answer);
    assert_non_null(strstr(answer.bytes, "Transfer-Encoding: chunked\r\n"));
    assert_true(answer.length > STREAM_BYTES);
    text_clear(&answer);
    read_all(dial(s, "GET /stream HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                     "Accept-Encoding: gzip\r\n\r\n"),
             &answer);
    assert_non_null(strstr(answer.bytes, "Content-Encoding: gzip\r\n"));
    assert_true(answer.length < STREAM_BYTES / 100);
    text_clear(&answer);
    stop(s);
    assert_int_equal(closed_sources, 3);
}

static void reader_that_leaves_frees_the_source(void **state)
{
    http_server *s = start(1, 8, 1000000);
    int fd = dial(s, GET("/stream"));
    char some[100];

    (void)state;
    assert_true(recv(fd, some, sizeof some, 0) > 0);
    close(fd);
    stop(s);
    assert_int_equal(closed_sources, 1);
}

static void stopping_waits_and_then_cancels(void **state)
{
    http_server *s = start(1, 8, 5000000);
    int running_one = dial(s, GET("/work?ms=10000")), waiting;

    (void)state;
    wait_for_running(1);
    waiting = dial(s, GET("/work?ms=1"));
    usleep(50000);
    http_stop(s, 100000);
    http_free(s);
    assert_int_equal(cancelled, 1);
    assert_int_equal(finish(running_one, NULL), 422);
    assert_int_equal(finish(waiting, NULL), 503);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(worker_answers),
        cmocka_unit_test(cheap_requests_pass_slow_ones),
        cmocka_unit_test(full_queue_is_503),
        cmocka_unit_test(waiting_too_long_is_503),
        cmocka_unit_test(client_that_leaves_cancels),
        cmocka_unit_test(deadline_passes),
        cmocka_unit_test(sink_refuses_and_the_answer_comes),
        cmocka_unit_test(announced_size_is_checked),
        cmocka_unit_test(size_is_checked_on_the_byte_that_passes_it),
        cmocka_unit_test(long_answers_are_streamed),
        cmocka_unit_test(reader_that_leaves_frees_the_source),
        cmocka_unit_test(stopping_waits_and_then_cancels),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

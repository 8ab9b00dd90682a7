/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "server/jobs/jobs.h"
#include "server/routes/defer.h"
#include "server/routes/repeat.h"
#include "server/routes/routes.h"
#include "tests/fuzz/targets.h"
#include "tests/lib/evaluate.h"
#include "tests/lib/storing.h"

/* The whole server but for main, on a socket in the file system. */
static struct {
    config config;
    services parts;
    struct sockaddr_un address;
} server;

static http_options http_options_of(const char *address)
{
    return (http_options){.address = address,
                          .threads = 2,
                          .workers = 2,
                          .queue_max = 64,
                          .queue_us_max = 1000000,
                          .run_us_max = 200000,
                          .connections_max = 64,
                          .connections_soft_max = 60,
                          .connections_per_address_max = 60,
                          .header_bytes_max = 32768,
                          .headers_max = 50,
                          .header_us_max = 50000,
                          .body_us_max = 50000,
                          .idle_us_max = 1000000};
}

/* Small limits, so that no input is slow. */
static void make_parts(const char *path)
{
    services *s = &server.parts;
    storage_options options = storage_options_default(path);
    const auth_options who = {
        .data = path, .any_host = true, .allow_hosts = "", .allow_origins = ""};
    jobs_options put_aside = {.runner = defer_runner(s), .threads = 1, .jobs_max = 10};
    error err = {0};

    config_load_defaults(&server.config);
    server.config.work_max = 1000000;
    server.config.plan_bytes_max = 16 << 20;
    server.config.result_bytes_max = 1 << 20;
    options.names_max = 20;
    options.free_bytes_min = 0;
    s->config = &server.config;
    s->started_us = clock_us();
    s->storage = storage_open(&options, &err);
    s->auth = auth_open(&who, &err);
    target_check(s->storage != NULL && s->auth != NULL, "the parts can be opened");
    s->api_document = "{}";
    put_aside.storage = s->storage;
    put_aside.keep_us = 1000000;
    put_aside.owner_jobs_max = 10;
    s->jobs = jobs_open(&put_aside);
    s->repeats = repeats_new(s);
}

static void start(void)
{
    static char address[128]; /* the server goes on using it */
    char *path = scratch_new();
    error err = {0};

    log_set_level(LOG_ERROR + 1);
    signal(SIGPIPE, SIG_IGN);
    evaluate_init();
    make_parts(path);
    server.address.sun_family = AF_UNIX;
    snprintf(server.address.sun_path, sizeof server.address.sun_path, "%s/socket", path);
    snprintf(address, sizeof address, HTTP_UNIX "%s/socket", path);

    const http_options options = http_options_of(address);
    const http_app app = routes_app(&server.parts);

    server.parts.http = http_new(&options, &app, &err);
    target_check(server.parts.http != NULL, err.detail);
    jobs_start(server.parts.jobs);
    server.parts.ready = true;
    target_check(http_start(server.parts.http, &err), "the server starts");
}

/* Sends it all, ends, and reads what comes until the end. */
void target_http(const uint8_t *bytes, size_t n)
{
    const struct timeval most = {.tv_sec = 10};
    char room[4096];
    ssize_t got;
    int fd;

    if (server.parts.http == NULL)
        start();
    fd = socket(AF_UNIX, SOCK_STREAM, 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
    target_check(connect(fd, (const struct sockaddr *)&server.address, sizeof server.address) == 0,
                 "the server listens");
    for (size_t at = 0; at < n; at += (size_t)got) {
        got = send(fd, bytes + at, n - at, MSG_NOSIGNAL);
        if (got < 0 && errno == EINTR)
            got = 0;
        else if (got <= 0)
            break;
    }
    shutdown(fd, SHUT_WR);
    do
        got = recv(fd, room, sizeof room, 0);
    while (got > 0 || (got < 0 && errno == EINTR));
    target_check(got == 0 || errno == ECONNRESET, "the server ends every connection in time");
    close(fd);
}

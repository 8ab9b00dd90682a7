/* SPDX-License-Identifier: Apache-2.0 */
/* main -- from the command line to a server that runs until it is told to stop. */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "engine/engine.h"
#include "engine/lang/lang.h"
#include "engine/tensor/buffer.h"
#include "engine/tensor/large.h"
#include "server/config.h"
#include "server/maintain.h"
#include "server/manual.h"
#include "server/openapi/openapi.h"
#include "server/routes/defer.h"
#include "server/routes/repeat.h"
#include "server/routes/routes.h"
#include "server/version.h"

enum { EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_BUSY = 3, EXIT_INTERRUPTED = 130 };

static int fail(int code, const error *err)
{
    fprintf(stderr, "tensord: %s%s%s%s\n", err->detail,
            err->suggestion[0] == '\0' ? "" : "; did you mean ", err->suggestion,
            err->suggestion[0] == '\0' ? "" : "?");
    return code;
}

/* ---- Commands that only write ------------------------------------------------------- */

static int print(text *t)
{
    bool ok = fputs(t->bytes, stdout) >= 0 && fflush(stdout) == 0;

    text_clear(t);
    return ok ? EXIT_SUCCESS : EXIT_FAILED;
}

/* Writes what add adds to a file of the directory. */
static bool write_file(const char *directory, const char *name, void (*add)(text *to))
{
    char path[4096];
    text document;
    FILE *file;
    bool ok;

    snprintf(path, sizeof path, "%s/%s", directory, name);
    file = fopen(path, "we");
    if (file == NULL) {
        perror(path);
        return false;
    }
    text_init(&document);
    add(&document);
    ok = fputs(document.bytes, file) >= 0;
    text_clear(&document);
    return fclose(file) == 0 && ok;
}

static int write_api(const char *directory)
{
    ops_init();
    lang_init();
    return write_file(directory, "openapi.json", openapi_add) &&
                   write_file(directory, "operations.md", operations_add)
               ? EXIT_SUCCESS
               : EXIT_FAILED;
}

static int run_other_command(const config *c)
{
    text out;

    if (c->command == COMMAND_WRITE_API)
        return write_api(c->api_directory);
    text_init(&out);
    if (c->command == COMMAND_VERSION)
        text_add(&out, "tensord " TENSORD_VERSION "\n");
    else if (c->command == COMMAND_HELP)
        manual_add_help(&out);
    else if (c->command == COMMAND_MANUAL)
        manual_add(&out);
    else if (c->command == COMMAND_COMPLETION)
        completion_add(&out);
    else
        config_add_listing(c, &out);
    return print(&out);
}

/* ---- Listening ------------------------------------------------------------------------ */

/* Where --listen says: an address, perhaps in brackets, a colon and a port. */
typedef struct endpoint {
    char address[128];
    int port;
} endpoint;

static bool read_address(const char *said, endpoint *e, error *err)
{
    const char *colon = strrchr(said, ':');
    char *end;
    long port = colon == NULL ? -1 : strtol(colon + 1, &end, 10);
    size_t n = colon == NULL ? 0 : (size_t)(colon - said);

    if (n == 0 || n >= sizeof e->address || colon[1] == '\0' || *end != '\0' || port < 0 ||
        port > 65535)
        return error_set(err, ERR_VALUE,
                         "listen must be an address, a colon and a port, like "
                         "127.0.0.1:8750, not '%s'",
                         said);
    if (said[0] == '[' && said[n - 1] == ']') {
        said++;
        n -= 2;
    }
    memcpy(e->address, said, n);
    e->address[n] = '\0';
    e->port = (int)port;
    return true;
}

static bool is_unix(const char *address)
{
    return strncmp(address, HTTP_UNIX, strlen(HTTP_UNIX)) == 0;
}

static bool read_endpoint(const char *said, endpoint *e, error *err)
{
    if (!is_unix(said))
        return read_address(said, e, err);
    e->port = 0;
    if (said[strlen(HTTP_UNIX)] == '\0')
        return error_set(err, ERR_VALUE, "listen: unix: is followed by the path of a socket");
    return snprintf(e->address, sizeof e->address, "%s", said) < (int)sizeof e->address ||
           error_set(err, ERR_VALUE, "listen: the path of a socket has less than %zu bytes",
                     sizeof e->address - strlen(HTTP_UNIX));
}

/* What would let others in, or let others listen, is said by a setting or refused. */
static bool check_exposure(const config *c, const endpoint *e, error *err)
{
    const bool tls = c->tls_cert[0] != '\0';

    if (tls != (c->tls_key[0] != '\0'))
        return error_set(err, ERR_VALUE, "TLS needs both, tls-cert and tls-key");
    if (is_unix(e->address) || auth_is_loopback(e->address))
        return true;
    if (strcmp(c->auth, "none") == 0)
        return error_set(err, ERR_VALUE,
                         "auth none is for this machine only: with it, listen on 127.0.0.1, not %s",
                         e->address);
    return tls || c->behind[0] != '\0' ||
           error_set(err, ERR_VALUE,
                     "listening on %s, beyond this machine, tokens could be read on the way: give "
                     "tls-cert and tls-key, or say with behind which proxy speaks TLS",
                     e->address);
}

/* The text of a file of at most 1 MiB, in c's arena. NULL and ERR_VALUE. */
static const char *read_pem(const config *c, const char *path, error *err)
{
    enum { PEM_BYTES_MAX = 1 << 20 };
    FILE *file = fopen(path, "re");
    char *text;
    size_t n;

    if (file == NULL) {
        error_set(err, ERR_VALUE, "%s: %s", path, strerror(errno));
        return NULL;
    }
    text = arena_alloc(c->arena, PEM_BYTES_MAX + 1);
    n = fread(text, 1, PEM_BYTES_MAX, file);
    fclose(file);
    if (n > 0 && strstr(text, "-----BEGIN ") != NULL)
        return text;
    error_set(err, ERR_VALUE, "%s is no PEM file", path);
    return NULL;
}

static bool read_secrets(const config *c, http_options *o, error *err)
{
    if (c->tls_cert[0] == '\0')
        return true;
    o->tls_cert = read_pem(c, c->tls_cert, err);
    o->tls_key = o->tls_cert == NULL ? NULL : read_pem(c, c->tls_key, err);
    return o->tls_key != NULL;
}

static http_options http_options_of(const config *c, const endpoint *e)
{
    return (http_options){
        .address = e->address,
        .port = e->port,
        .threads = (int)c->http_threads,
        .workers = (int)c->evaluations_max,
        .queue_max = c->queue_max,
        .queue_us_max = c->queue_time_max,
        .run_us_max = c->time_max,
        .connections_max = c->connections_max,
        .connections_soft_max = c->connections_soft_max,
        .connections_per_address_max = c->connections_per_address_max,
        .header_bytes_max = c->header_bytes_max,
        .headers_max = c->headers_max,
        .header_us_max = c->header_time_max,
        .body_us_max = c->body_time_max,
        .idle_us_max = c->idle_time_max,
    };
}

/* ---- Signals ---------------------------------------------------------------------------- */

static pthread_t main_thread;

/* A library's thread that was there before main has not blocked the signal. */
static void pass_on(int number)
{
    pthread_kill(main_thread, number);
}

/* Signals are taken by waiting for them; every thread of ours is started with them blocked. */
static sigset_t block_signals(void)
{
    sigset_t set;

    main_thread = pthread_self();
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    signal(SIGINT, pass_on);
    signal(SIGTERM, pass_on);
    signal(SIGHUP, pass_on);
    signal(SIGPIPE, SIG_IGN);
    return set;
}

enum { IDLE_S = 5 }; /* after which freed memory that nobody came for goes back to the system */

static void stop_at_once(int number)
{
    (void)number;
    _exit(EXIT_INTERRUPTED);
}

/* Waits for the signal to stop, and looks after memory that nobody needs; the next interrupt
 * ends the process at once. SIGHUP has the tokens read again. */
static void wait_for_signal(const sigset_t *set, auth *a)
{
    const struct timespec look = {.tv_sec = IDLE_S};
    sigset_t interrupt;
    int number;

    while ((number = sigtimedwait(set, NULL, &look)) < 0 || number == SIGHUP) {
        if (number == SIGHUP)
            auth_reload(a);
        else
            large_drop_idle();
    }
    log_message(LOG_INFO, "stopping: %s", number == SIGINT ? "interrupted" : "terminated");
    signal(SIGINT, stop_at_once);
    sigemptyset(&interrupt);
    sigaddset(&interrupt, SIGINT);
    pthread_sigmask(SIG_UNBLOCK, &interrupt, NULL);
}

/* ---- Serving ------------------------------------------------------------------------------ */

/* Where the server can be asked. */
static const char *url_of(const config *c, const char *address, int port)
{
    const bool six = strchr(address, ':') != NULL;

    if (is_unix(address))
        return address;
    return arena_format(c->arena, "http%s://%s%s%s:%d", c->tls_cert[0] == '\0' ? "" : "s",
                        six ? "[" : "", address, six ? "]" : "", port);
}

/* What a browser on this machine calls an address; of all addresses, the loopback one. */
static const char *called_here(const char *address)
{
    if (strcmp(address, "0.0.0.0") == 0)
        return "127.0.0.1";
    return strcmp(address, "::") == 0 ? "::1" : address;
}

/* Adds the line with a link for browsers, if they need one; not to a journal, where others read
 * it (tensord login prints one). */
static bool add_login_line(const config *c, const char *url, text *to, error *err)
{
    text link;
    bool ok;

    if (is_unix(url) || strcmp(c->auth, "token") != 0 || getenv("JOURNAL_STREAM") != NULL)
        return true;
    text_init(&link);
    ok = auth_add_link(c->data, url, &link, err);
    if (ok)
        text_addf(to, "log in once with a browser, within ten minutes: %s\n", link.bytes);
    text_clear(&link);
    return ok;
}

/* Says where, to people and to tensord login. */
static bool announce(const services *s, const endpoint *e, error *err)
{
    const config *c = s->config;
    const int port = http_port(s->http);
    const char *url = url_of(c, called_here(e->address), port);
    text lines;
    bool ok;

    text_init(&lines);
    text_addf(&lines, "listening on %s\n", url_of(c, e->address, port));
    ok = maintain_note_url(c, url, err) && add_login_line(c, url, &lines, err);
    fputs(lines.bytes, stdout);
    fflush(stdout);
    text_clear(&lines);
    return ok;
}

/* Serves until told to stop; s has all parts but http. */
static int serve_with(services *s, auth *a, const endpoint *e, const sigset_t *signals)
{
    http_options options = http_options_of(s->config, e);
    http_app app = routes_app(s);
    error err = {0};

    engine_init((int)s->config->threads);
    engine_cache_limit(s->config->plan_cache_bytes);
    lang_init();
    s->http = read_secrets(s->config, &options, &err) ? http_new(&options, &app, &err) : NULL;
    if (s->http == NULL)
        return fail(EXIT_FAILED, &err);
    auth_set_port(a, http_port(s->http));
    jobs_start(s->jobs);
    s->ready = true;
    if (!http_start(s->http, &err)) {
        http_free(s->http);
        return fail(EXIT_FAILED, &err);
    }
    if (!announce(s, e, &err))
        log_message(LOG_ERROR, "%s", err.detail);
    wait_for_signal(signals, a);
    http_stop(s->http, s->config->drain_time);
    http_free(s->http);
    log_message(LOG_INFO, "stopped");
    return EXIT_SUCCESS;
}

static jobs *open_jobs(services *s)
{
    const jobs_options options = {
        .storage = s->storage,
        .runner = defer_runner(s),
        .threads = (int)s->config->jobs_running_max,
        .jobs_max = s->config->jobs_max,
        .keep_us = s->config->job_keep_time,
        .owner_jobs_max = s->config->jobs_per_token_max,
    };

    return jobs_open(&options);
}

/* Only whom the machine belongs to is told where the data are. */
static auth_options auth_options_of(const config *c, const endpoint *e)
{
    const bool local = auth_is_loopback(e->address) && c->behind[0] == '\0';

    return (auth_options){
        .data = c->data,
        .token = strcmp(c->auth, "token") == 0 && !is_unix(c->listen),
        .any_host = is_unix(c->listen),
        .tls = c->tls_cert[0] != '\0',
        .tells_path = local,
        .allow_hosts = c->allow_host,
        .allow_origins = c->allow_origin,
        .session_us = c->session_time,
        .failures_a_minute = c->auth_failures_per_minute_max,
        .requests_a_second = c->token_requests_per_second_max,
        .requests_burst = c->token_requests_burst_max,
    };
}

static int serve(const config *c)
{
    auth_options options;
    services s = {.config = c, .started_us = clock_us()};
    const sigset_t signals = block_signals();
    endpoint e;
    error err = {0};
    text document;
    auth *a;
    int code;

    umask(077);
    log_start();
    if (!read_endpoint(c->listen, &e, &err) || !check_exposure(c, &e, &err))
        return fail(EXIT_USAGE, &err);
    s.storage = maintain_open(c, &err);
    if (s.storage == NULL)
        return fail(err.kind == ERR_CONFLICT ? EXIT_BUSY : EXIT_FAILED, &err);
    options = auth_options_of(c, &e);
    a = auth_open(&options, &err);
    if (a == NULL) {
        storage_close(s.storage);
        return fail(EXIT_FAILED, &err);
    }
    text_init(&document);
    openapi_add(&document);
    s.api_document = document.bytes;
    s.auth = a;
    s.jobs = open_jobs(&s);
    s.repeats = repeats_new(&s);
    code = serve_with(&s, a, &e, &signals);
    jobs_close(s.jobs);
    repeats_free(s.repeats);
    text_clear(&document);
    auth_close(a);
    storage_close(s.storage);
    return code;
}

/* What the process cannot do any more, nor what it starts: gain rights, or leave the data in its
 * memory to a file when it crashes. */
static void give_up_rights(void)
{
    struct rlimit core;

    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (getrlimit(RLIMIT_CORE, &core) == 0) {
        core.rlim_cur = 0;
        setrlimit(RLIMIT_CORE, &core);
    }
}

/* Keeps what requests' graphs took for the next ones: to map it anew for each costs as much as
 * to plan it. Tensors have their own memory. */
static void keep_small_memory(void)
{
    enum { KEPT_BYTES = 16 << 20, MAPPED_BYTES = 1 << 20 };

    mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
    mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES);
}

int main(int argc, char **argv)
{
    config c;
    error err = {0};
    int code;

    if (!config_load(&c, argc, argv, &err)) {
        code = fail(EXIT_USAGE, &err);
    } else if (c.command > COMMAND_SERVE && c.command < COMMAND_MANUAL) {
        code = maintain(&c);
    } else if (c.command != COMMAND_SERVE) {
        code = run_other_command(&c);
    } else {
        log_set_level(log_level_of(c.log_level));
        keep_small_memory();
        give_up_rights();
        server_memory_set_limit(c.memory_bytes_max);
        if (geteuid() == 0)
            log_message(LOG_WARN, "running as root; a user of its own would be safer");
        code = serve(&c);
        log_stop();
    }
    config_clear(&c);
    return code;
}

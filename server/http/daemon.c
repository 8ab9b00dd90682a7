/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "server/http/gate.h"
#include "server/http/private.h"

/* A body up to this is read before a request is refused, so that the connection
 * can go on. */
enum { SMALL_BODY_BYTES = 1 << 20, POLL_US = 5000, LAST_ANSWERS_US = 1000000 };

/* ---- Headers ------------------------------------------------------------------------ */

typedef struct header_list {
    exchange *exchange;
    bool has_nul;
} header_list;

static enum MHD_Result take_header(void *state, enum MHD_ValueKind kind, const char *name,
                                   size_t name_length, const char *value, size_t value_length)
{
    header_list *list = state;
    arena *a = list->exchange->request.arena;

    (void)kind;
    if (value == NULL)
        value = "";
    list->has_nul |= strlen(name) != name_length || strlen(value) != value_length;
    http_pairs_add(&list->exchange->request.headers, a, arena_copy(a, name, strlen(name)),
                   arena_copy(a, value, strlen(value)));
    return MHD_YES;
}

static bool pass_gate(exchange *x, const char *method, const char *version, error *err)
{
    header_list list = {.exchange = x};
    http_request *r = &x->request;
    gate_input in = {.method = method,
                     .version = version,
                     .headers = &r->headers,
                     .headers_max = x->server->options.headers_max};

    MHD_get_connection_values_n(x->connection, MHD_HEADER_KIND, take_header, &list);
    in.has_nul = list.has_nul;
    r->method = arena_copy(r->arena, method, strlen(method));
    return gate_check(&in, &r->body_length, err);
}

/* ---- Admission ------------------------------------------------------------------------ */

static bool check_announced(const http_request *r, error *err)
{
    if (r->body_length == 0)
        return true;
    if (r->sink.feed == NULL)
        return error_set(err, ERR_REQUEST, "This route takes no body.");
    return r->body_length <= r->body_bytes_max ||
           error_set_limit(err, ERR_BODY_SIZE, r->body_bytes_max, r->body_length,
                           "The body has %" PRId64 " bytes, and the limit is %" PRId64 ".",
                           r->body_length, r->body_bytes_max);
}

static bool check_queue(exchange *x, error *err)
{
    return !x->request.on_worker || !pool_is_full(x->server->pool) ||
           error_set_limit(err, ERR_QUEUE, x->server->options.queue_max,
                           x->server->options.queue_max + 1,
                           "As many evaluations are waiting as the queue takes.");
}

/* What must hold before a connection may go on being used after a refusal. */
static bool check_connection(exchange *x, const char *method, const char *version, error *err)
{
    if (watch_too_many(x->server->watch, x->watched))
        return error_set(err, ERR_CONNECTIONS, "The server has as many connections as it takes.");
    if (!pass_gate(x, method, version, err) || !exchange_take_target(x, err))
        return false;
    return !x->server->stopping || error_set(err, ERR_STOPPING, "The server is stopping.");
}

static enum MHD_Result refuse_now(exchange *x, const error *err)
{
    x->keep = x->keep && x->request.body_length == 0;
    x->err = *err;
    exchange_run(x);
    return reply_send(x);
}

/* The first call for a request: all its headers are in. */
static enum MHD_Result begin(exchange *x, const char *method, const char *version)
{
    http_server *s = x->server;
    http_request *r = &x->request;
    error err = {0};
    bool can_wait;

    x->keep = check_connection(x, method, version, &err);
    if (!x->keep)
        return refuse_now(x, &err);
    x->admitted = true;
    s->active++;
    if (s->app.admit(s->app.context, r, &err) && check_announced(r, &err))
        check_queue(x, &err);
    can_wait = r->body_length >= 0 && r->body_length <= SMALL_BODY_BYTES &&
               http_header(r, "Expect") == NULL;
    if (error_is_set(&err) && !can_wait)
        return refuse_now(x, &err);
    x->err = err;
    x->stage = STAGE_BODY;
    watch_stage(s->watch, x->watched, x, STAGE_BODY);
    return MHD_YES;
}

/* ---- Running ---------------------------------------------------------------------------- */

/* Puts the connection to sleep and the request into the queue. Asleep first: a
 * worker may be done before this returns. */
static enum MHD_Result hand_to_worker(exchange *x)
{
    error err = {0};

    MHD_suspend_connection(x->connection);
    x->stage = STAGE_RUNNING;
    watch_stage(x->server->watch, x->watched, x, STAGE_RUNNING);
    if (!pool_put(x->server->pool, x, &err)) {
        answer_problem(&x->request, &err);
        x->stage = STAGE_ANSWERED;
        MHD_resume_connection(x->connection);
    }
    return MHD_YES;
}

static enum MHD_Result finish_body(exchange *x)
{
    body_end(x);
    if (x->request.on_worker && !error_is_set(&x->err))
        return x->request.try_first && exchange_try(x) ? reply_send(x) : hand_to_worker(x);
    x->request.deadline_us = clock_us() + x->server->options.run_us_max;
    exchange_run(x);
    return reply_send(x);
}

static enum MHD_Result take_body(exchange *x, const char *bytes, size_t *n)
{
    bool ok = body_take(x, bytes, *n);

    *n = 0;
    return ok ? MHD_YES : MHD_NO;
}

static enum MHD_Result on_request(void *state, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *bytes,
                                  size_t *n, void **con_cls)
{
    exchange *x = *con_cls;

    (void)state, (void)connection, (void)url;
    if (x == NULL)
        return MHD_NO;
    switch (x->stage) {
    case STAGE_HEADERS:
        return begin(x, method, version);
    case STAGE_BODY:
        return *n > 0 ? take_body(x, bytes, n) : finish_body(x);
    case STAGE_ANSWERED:
        return reply_send(x);
    case STAGE_RUNNING:
    case STAGE_SENDING:
        break;
    }
    return MHD_NO;
}

/* ---- What the library tells --------------------------------------------------------------- */

static watched *watched_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

    return info->socket_context;
}

/* A request line is here: the exchange begins. */
static void *on_target(void *state, const char *target, struct MHD_Connection *connection)
{
    http_server *s = state;
    exchange *x = exchange_new(s, target);

    s->requests++;
    x->connection = connection;
    x->watched = watched_of(connection);
    watch_stage(s->watch, x->watched, x, STAGE_HEADERS);
    return x;
}

/* The trace that the caller says the request belongs to: 00-<trace>-<span>-<flags>. */
static void add_trace(json_writer *w, const http_request *r)
{
    enum { TRACE = 32, SPAN = 16 };
    static const char hex[] = "0123456789abcdef";
    const char *said = http_header(r, "traceparent");
    char trace[TRACE + 1];

    if (said == NULL || strncmp(said, "00-", 3) != 0 || strspn(said + 3, hex) != TRACE ||
        said[3 + TRACE] != '-' || strspn(said + 4 + TRACE, hex) != SPAN)
        return;
    memcpy(trace, said + 3, TRACE);
    trace[TRACE] = '\0';
    json_string(w, "trace_id", trace);
}

static void log_exchange(const exchange *x, enum MHD_RequestTerminationCode how)
{
    const http_request *r = &x->request;
    log_line line;

    if (!log_begin(&line, x->answer.status >= 500 ? LOG_WARN : LOG_INFO, r->id, "request"))
        return;
    json_string(&line.json, "method", r->method);
    json_string(&line.json, "path", r->path);
    json_string(&line.json, "route", r->route);
    add_trace(&line.json, r);
    json_int(&line.json, "status", x->answer.status);
    json_milli(&line.json, "ms", (double)(clock_us() - x->begun_us) / 1000);
    json_int(&line.json, "bytes_in", x->body_bytes);
    json_int(&line.json, "bytes_out", x->sent_bytes);
    if (error_is_set(&x->err))
        json_string(&line.json, "code", error_info_of(x->err.kind)->code);
    if (how != MHD_REQUEST_TERMINATED_COMPLETED_OK)
        json_string(&line.json, "ended", "connection lost");
    log_end(&line);
}

/* A request is over, be it answered or given up at any stage. */
static void on_completed(void *state, struct MHD_Connection *connection, void **con_cls,
                         enum MHD_RequestTerminationCode how)
{
    http_server *s = state;
    exchange *x = *con_cls;

    (void)connection;
    *con_cls = NULL;
    if (x == NULL)
        return;
    watch_stage(s->watch, x->watched, NULL, STAGE_HEADERS);
    if (how != MHD_REQUEST_TERMINATED_COMPLETED_OK)
        watch_lost(s->watch, x->watched);
    s->bytes_out += x->sent_bytes;
    s->refused += x->answer.status >= 400;
    log_exchange(x, how);
    if (s->app.done != NULL)
        s->app.done(s->app.context, &x->request, x->answer.status, clock_us() - x->begun_us);
    if (x->admitted)
        s->active--;
    exchange_unref(x);
}

/* The path that the options say; NULL: an address of the network. */
static const char *unix_path(const http_options *o)
{
    const size_t n = strlen(HTTP_UNIX);

    return strncmp(o->address, HTTP_UNIX, n) == 0 ? o->address + n : NULL;
}

/* Whether who connects is the owner or root: the file's mode keeps others out, but it can be
 * changed, or the socket be handed on. */
static bool is_owner(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *fd =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct ucred peer;
    socklen_t size = sizeof peer;

    return getsockopt(fd->connect_fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
           (peer.uid == geteuid() || peer.uid == 0);
}

static void on_connection(void *state, struct MHD_Connection *connection, void **context,
                          enum MHD_ConnectionNotificationCode what)
{
    http_server *s = state;

    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        s->connections++;
        *context = watch_open(s->watch, connection);
        if (unix_path(&s->options) != NULL && !is_owner(connection))
            watch_cut(s->watch, *context, NULL);
    } else if (*context != NULL) {
        watch_close(s->watch, *context);
        *context = NULL;
    }
}

/* Targets are decoded by uri.c, never by the library. */
static size_t unescape_nothing(void *state, struct MHD_Connection *connection, char *text)
{
    (void)state, (void)connection;
    return strlen(text);
}

__attribute__((format(printf, 2, 0))) static void on_library_log(void *state, const char *format,
                                                                 va_list args)
{
    char message[512];

    (void)state;
    vsnprintf(message, sizeof message, format, args);
    message[strcspn(message, "\n")] = '\0';
    log_message(LOG_DEBUG, "libmicrohttpd: %s", message);
}

/* ---- Listening ------------------------------------------------------------------------------- */

static int listen_at(const struct addrinfo *where)
{
    int one = 1;
    int fd = socket(where->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (bind(fd, where->ai_addr, where->ai_addrlen) == 0 && listen(fd, SOMAXCONN) == 0)
        return fd;
    close(fd);
    return -1;
}

/* Removes what a server that is gone left at the path: a socket that nobody answers. */
static void remove_stale(const struct sockaddr_un *at)
{
    struct stat found;
    int fd;

    if (lstat(at->sun_path, &found) != 0 || !S_ISSOCK(found.st_mode))
        return;
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)(const void *)at, sizeof *at) != 0 &&
        errno == ECONNREFUSED)
        unlink(at->sun_path);
    if (fd >= 0)
        close(fd);
}

static int open_unix_socket(const char *path, error *err)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    mode_t mask;
    int fd;
    bool ok;

    if (snprintf(at.sun_path, sizeof at.sun_path, "%s", path) >= (int)sizeof at.sun_path) {
        error_set(err, ERR_VALUE, "listen: %s: the path is too long", path);
        return -1;
    }
    remove_stale(&at);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    mask = umask(0177);
    ok = fd >= 0 && bind(fd, (const struct sockaddr *)(const void *)&at, sizeof at) == 0 &&
         listen(fd, SOMAXCONN) == 0;
    umask(mask);
    if (ok)
        return fd;
    error_set(err, ERR_VALUE, "cannot listen on %s: %s", path, strerror(errno));
    if (fd >= 0)
        close(fd);
    return -1;
}

/* A socket that listens, or -1 with err set. */
static int open_socket(const http_options *o, error *err)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV | AI_PASSIVE};
    struct addrinfo *found = NULL;
    char port[8];
    int fd, failure;

    if (unix_path(o) != NULL)
        return open_unix_socket(unix_path(o), err);
    snprintf(port, sizeof port, "%d", o->port & 0xffff);
    failure = getaddrinfo(o->address, port, &hints, &found);
    if (failure != 0) {
        error_set(err, ERR_VALUE, "listen: %s: %s", o->address, gai_strerror(failure));
        return -1;
    }
    fd = listen_at(found);
    if (fd < 0)
        error_set(err, ERR_VALUE, "cannot listen on %s:%d: %s", o->address, o->port,
                  strerror(errno));
    freeaddrinfo(found);
    return fd;
}

static int port_of(int fd)
{
    struct sockaddr_storage address = {0};
    socklen_t size = sizeof address;

    getsockname(fd, (struct sockaddr *)(void *)&address, &size);
    if (address.ss_family == AF_UNIX)
        return 0;
    if (address.ss_family == AF_INET6)
        return ntohs(((struct sockaddr_in6 *)(void *)&address)->sin6_port);
    return ntohs(((struct sockaddr_in *)(void *)&address)->sin_port);
}

static struct MHD_Daemon *start_daemon(http_server *s, int fd)
{
    const http_options *o = &s->options;

    const bool tls = o->tls_cert != NULL;
    struct MHD_OptionItem secrets[] = {
        {MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)(uintptr_t)o->tls_cert},
        {MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)(uintptr_t)o->tls_key},
        {MHD_OPTION_HTTPS_PRIORITIES, 0, "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"},
        {MHD_OPTION_END, 0, NULL},
    };

    return MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG |
            (tls ? MHD_USE_TLS : 0),
        0, NULL, NULL, on_request, s, MHD_OPTION_EXTERNAL_LOGGER, on_library_log, NULL,
        MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_THREAD_POOL_SIZE, (unsigned)o->threads,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)o->connections_max,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)o->header_bytes_max,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)(o->idle_us_max / 1000000),
        MHD_OPTION_URI_LOG_CALLBACK, on_target, s, MHD_OPTION_UNESCAPE_CALLBACK, unescape_nothing,
        NULL, MHD_OPTION_NOTIFY_CONNECTION, on_connection, s, MHD_OPTION_NOTIFY_COMPLETED,
        on_completed, s, MHD_OPTION_ARRAY, tls ? secrets : secrets + 3, MHD_OPTION_END);
}

http_server *http_new(const http_options *options, const http_app *app, error *err)
{
    int fd = open_socket(options, err);
    http_server *s = fd < 0 ? NULL : calloc(1, sizeof *s);

    if (s == NULL)
        return NULL;
    s->options = *options;
    s->app = *app;
    s->listening = fd;
    s->port = port_of(fd);
    s->pool = pool_new(s);
    s->watch = watch_new(s);
    return s;
}

bool http_start(http_server *s, error *err)
{
    s->daemon = start_daemon(s, s->listening);
    return s->daemon != NULL || error_set(err, ERR_VALUE, "the HTTP library could not start");
}

int http_port(const http_server *s)
{
    return s->port;
}

http_counters http_count(http_server *s)
{
    http_counters c = {.connections = s->connections,
                       .requests = s->requests,
                       .bytes_in = s->bytes_in,
                       .bytes_out = s->bytes_out,
                       .refused = s->refused,
                       .open = watch_count(s->watch),
                       .active = s->active};

    pool_count(s->pool, &c.running, &c.queued);
    return c;
}

static void wait_for_requests(http_server *s, int64_t us)
{
    int64_t end = clock_us() + us;

    while (s->active > 0 && clock_us() < end)
        usleep(POLL_US);
}

/* Waits until no worker has a request: the library may not be stopped while a
 * connection sleeps. */
static void wait_for_workers(http_server *s)
{
    int64_t running = 1, queued = 1;

    pool_shut(s->pool);
    while (running + queued > 0) {
        watch_cancel_all(s->watch);
        usleep(POLL_US);
        pool_count(s->pool, &running, &queued);
    }
}

void http_stop(http_server *s, int64_t drain_us)
{
    s->stopping = true;
    MHD_quiesce_daemon(s->daemon);
    shutdown(s->listening, SHUT_RDWR); /* closed by http_free, when nobody polls it */
    wait_for_requests(s, drain_us);
    wait_for_workers(s);
    wait_for_requests(s, LAST_ANSWERS_US);
    MHD_stop_daemon(s->daemon);
}

void http_free(http_server *s)
{
    if (s == NULL)
        return;
    close(s->listening);
    if (unix_path(&s->options) != NULL)
        unlink(unix_path(&s->options));
    watch_free(s->watch);
    pool_free(s->pool);
    free(s);
}

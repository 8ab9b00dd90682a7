/* http -- connections, framing, bodies and answers.
 *
 * The one module that knows libmicrohttpd. It turns what clients send into
 * requests whose framing is beyond doubt, and what handlers answer into bytes; it
 * knows no route, no token and no tensor. For those it asks an http_app.
 *
 * The life of a request
 *   1. its headers arrive; the gate refuses what is not strict HTTP/1.1 or 1.0;
 *   2. app.admit looks at it and refuses it or says how to go on: which sink
 *      takes the body, and whether a worker or the connection's thread runs it;
 *   3. the body is fed to the sink while it arrives;
 *   4. app.handle answers it;
 *   5. the answer goes out, from memory or pulled piece by piece from a source.
 * A request that a worker runs costs no connection thread: its connection sleeps
 * until the answer is there. Requests wait for workers in one bounded queue. To wake a
 * worker costs more than a small request does, so the connection's thread may try such a
 * one first; what it cannot answer at once, a worker does from the beginning.
 *
 * Deadlines: headers and bodies must arrive in time as a whole, not only make
 * progress. A watchdog closes late connections, and cancels requests whose
 * client has left.
 *
 * Lifetimes: a request and its arena live until its answer is sent or given up.
 * Sinks and sources are closed exactly once, whatever happens.
 *
 * Threads: one at a time has a request; which one changes between the steps.
 *
 * Reading order: http.h, private.h, daemon.c, gate.c, uri.c, body.c, pool.c,
 * reply.c, watch.c. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <strings.h>
#include <sys/types.h>

#include "engine/base/arena.h"
#include "engine/base/error.h"
#include "engine/base/text.h"

/* ---- Requests ---------------------------------------------------------------- */

typedef struct http_pair {
    const char *name, *value;
} http_pair;

typedef struct http_pairs {
    http_pair *items;
    size_t count, room;
} http_pairs;

/* What takes a body while it arrives. feed gets the bytes in order, in pieces of
 * any size; end is called when there are no more. Either may refuse: the rest of
 * the body is then thrown away and the error is the answer. close releases the
 * state, after the handler or when the request is given up half-way. feed NULL:
 * the request takes no body. */
typedef struct http_sink {
    void *state;
    bool (*feed)(void *state, const char *bytes, size_t n, error *err);
    bool (*end)(void *state, error *err);
    void (*close)(void *state);
} http_sink;

/* Sees the bytes that the sink is fed. see NULL: nobody looks. */
typedef struct http_tap {
    void *state;
    void (*see)(void *state, const char *bytes, size_t n);
} http_tap;

/* Where the time of a request goes, for the header Server-Timing. */
typedef enum http_phase { PHASE_PARSE, PHASE_PLAN, PHASE_RUN, PHASE_ENCODE, PHASES } http_phase;

typedef struct http_request {
    arena *arena;
    const char *id;        /* of the header X-Request-Id */
    const char *method;    /* one of GET HEAD PUT POST PATCH DELETE OPTIONS */
    const char *target;    /* as sent */
    const char *path;      /* the same without the query */
    const char **segments; /* of the path, decoded; "/" has one, empty */
    int segment_count;
    http_pairs headers, query;
    int64_t body_length; /* announced; 0: no body; -1: chunked */

    /* What admit says. */
    http_sink sink;
    http_tap tap;
    int64_t body_bytes_max; /* ERR_BODY_SIZE on the byte that passes it */
    bool on_worker;
    bool try_first;       /* before a worker has it, the connection's thread tries: see trying */
    const char *route;    /* its pattern, for the log */
    const void *app_data; /* the app's own */

    /* For a handler that computes: stop soon if cancel is set or the clock
     * (clock_us) passes deadline_us, which the handler may bring forward. */
    atomic_int cancel;
    int64_t deadline_us;
    /* The connection's thread tries, and others wait for it: the handler takes little time or
     * returns false, with or without an error, having changed nothing. It is asked again then. */
    bool trying;
} http_request;

/* Whether two names of headers are the same, in any case. Most differ in their first letter. */
static inline bool http_same_name(const char *a, const char *b)
{
    return ((a[0] ^ b[0]) & 0x5f) == 0 && strcasecmp(a, b) == 0;
}

/* The value of a header, its name in any case; of a query parameter, decoded.
 * NULL if there is none. */
const char *http_header(const http_request *r, const char *name);
const char *http_query(const http_request *r, const char *name);

/* The integer that a query parameter is; *value stays as it is if there is none. False if it is
 * no integer of 64 bits: digits, and perhaps a minus before them. */
bool http_query_integer(const http_request *r, const char *name, int64_t *value);

/* The address of the peer, 16 bytes (of IPv4 the last four), valid as long as r. NULL if it has
 * none: it came by a socket of the file system, or earlier. */
const uint8_t *http_address(const http_request *r);

/* Adds a pair to a list in an arena; the strings are kept, not copied. */
void http_pairs_add(http_pairs *pairs, arena *a, const char *name, const char *value);

/* A sink that collects a body of at most bytes_max bytes in r's arena, for small
 * bodies: sets r->sink and r->body_bytes_max. What is collected is the text
 * returned, which is empty until then. */
text *http_collect(http_request *r, int64_t bytes_max);

/* Adds microseconds to a phase. */
void http_spent(http_request *r, http_phase phase, int64_t us);

/* ---- Requests that came earlier ------------------------------------------------ */

/* A request without a connection, of a method, target and headers that were taken in
 * before; the app admits and handles it, and nobody gets its answer. NULL and
 * ERR_TRANSPORT if the target is none. To be freed with http_recalled_free. */
http_request *http_recall(const char *id, const char *method, const char *target,
                          const http_pairs *headers, int64_t body_length, error *err);
void http_recalled_free(http_request *r);

/* ---- Answers ------------------------------------------------------------------ */

/* Where a long answer comes from. fill writes at most room bytes and returns how
 * many; 0 at the end; -1 to give up, which cuts the connection. It runs on a
 * connection thread and must not wait. close releases the state.
 *
 * A live source, one with ready, may return HTTP_LATER instead: the connection then
 * sleeps until ready, which is asked a few times in a second by a thread of http, says
 * that fill has something. It ends when the server stops. */
typedef struct http_source {
    void *state;
    ssize_t (*fill)(void *state, char *to, size_t room);
    void (*close)(void *state);
    bool (*ready)(void *state); /* NULL: it always has */
} http_source;

enum { HTTP_LATER = -2 };

/* Each sets the answer of a request; the last one wins. media is a media type.
 * Text of more than 1 KiB is compressed if the client likes that. */

/* The text, which is taken over and empty afterwards. */
void answer_text(http_request *r, int status, const char *media, text *body);
/* n bytes that live for ever or in the request's arena. */
void answer_bytes(http_request *r, int status, const char *media, const void *bytes, size_t n);
/* What the source gives: size bytes, or as many as come if size is -1. */
void answer_stream(http_request *r, int status, const char *media, int64_t size,
                   http_source source);
/* No body. */
void answer_empty(http_request *r, int status);
/* The error as application/problem+json; what a handler that returns false gets. */
void answer_problem(http_request *r, const error *err);

/* Adds the document of such an answer. */
void http_problem_add(text *to, const char *request_id, const error *err);

/* Sets a header of the answer, in place of one of that name; the strings are
 * copied. Kept when the answer becomes a problem. */
void answer_header(http_request *r, const char *name, const char *value);

/* The answer that was set, as far as it is in memory; borrowed until it is sent. False if it
 * comes from a source, or there is none. */
typedef struct http_answer {
    int status;
    const char *media; /* NULL: no body */
    const void *bytes;
    size_t n;
    const http_pairs *headers;
} http_answer;

bool http_answered(http_request *r, http_answer *result);

/* ---- The server --------------------------------------------------------------- */

typedef struct http_app {
    void *context;
    /* Looks at a request whose headers are in. False refuses it with err. */
    bool (*admit)(void *context, http_request *r, error *err);
    /* Answers a request whose body, if any, its sink has taken. False answers err. */
    bool (*handle)(void *context, http_request *r, error *err);
    /* A request is over, answered with status (0: not at all), so long after its line came. */
    void (*done)(void *context, const http_request *r, int status, int64_t us);
} http_app;

/* What an address begins with that is the path of a socket in the file system. Only the owner
 * may connect: the file has mode 0600, and who connects is asked for. */
#define HTTP_UNIX "unix:"

typedef struct http_options {
    const char *address;            /* to listen on, without the port */
    int port;                       /* 0: any that is free */
    const char *tls_cert, *tls_key; /* PEM; NULL: without TLS */
    int threads;                    /* that read and write */
    int workers;                    /* that run handlers */
    int64_t queue_max;              /* requests that wait for a worker */
    int64_t queue_us_max;
    int64_t run_us_max; /* the deadline of a request, from when its body is in */
    int64_t connections_max, connections_soft_max, connections_per_address_max;
    int64_t header_bytes_max, headers_max;
    int64_t header_us_max, body_us_max, idle_us_max;
} http_options;

/* What happened since the start, and what happens now. */
typedef struct http_counters {
    int64_t connections, requests, bytes_in, bytes_out; /* ever */
    int64_t refused;                                    /* answers of 400 and above */
    int64_t open, active, running, queued;              /* now */
} http_counters;

typedef struct http_server http_server;

/* A server that has its port but answers nothing yet. NULL and ERR_VALUE, saying
 * why, if it cannot listen there. */
http_server *http_new(const http_options *options, const http_app *app, error *err);

/* Starts answering, with threads of its own. False and ERR_VALUE if it cannot; the
 * server must then be freed with http_free. */
bool http_start(http_server *s, error *err);

/* The port it listens on. */
int http_port(const http_server *s);

http_counters http_count(http_server *s);

/* Listens no longer, answers what comes on open connections with 503, and waits
 * until no request is left, at most drain_us; then cancels those that are. The
 * server must then be freed. */
void http_stop(http_server *s, int64_t drain_us);

/* Frees a server that does not run. NULL is allowed. */
void http_free(http_server *s);

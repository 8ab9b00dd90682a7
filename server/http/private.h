/* private -- what the files of http share (private to http).
 *
 * An exchange is a request and all that belongs to it: the connection it came
 * on, how far it is, its answer. Its stages, in order:
 *
 *   HEADERS   the request line is here           ANSWERED  the answer is set
 *   BODY      the sink takes the body            SENDING   the library has it
 *   RUNNING   a worker has it, the connection sleeps
 *
 * An exchange is counted: the connection holds one reference, a streamed answer
 * another, because the library lets go of them in no promised order. */
#pragma once

#include <microhttpd.h>
#include <pthread.h>

#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "server/http/http.h"

typedef enum stage {
    STAGE_HEADERS,
    STAGE_BODY,
    STAGE_RUNNING,
    STAGE_ANSWERED,
    STAGE_SENDING
} stage;

typedef struct answer {
    int status; /* 0: not set */
    const char *media;
    text body;         /* owned; or */
    const void *bytes; /* borrowed, n of them; or */
    size_t n;
    http_source source; /* fill NULL: none */
    int64_t size;       /* of the source; -1: not known */
    http_pairs headers;
} answer;

typedef struct watched watched;
typedef struct pool pool;
typedef struct watch watch;

typedef struct exchange {
    http_request request; /* the first member: see exchange_of */
    http_server *server;
    struct MHD_Connection *connection;
    watched *watched; /* the connection, to the watchdog */
    _Atomic int references;
    stage stage;
    bool admitted; /* counted as active */
    bool keep;     /* the connection may be used again */
    int64_t begun_us, queued_us;
    int64_t spent_us[PHASES];
    int64_t body_bytes, thrown_bytes; /* received; of these, not fed */
    _Atomic int64_t sent_bytes;
    error err; /* of the sink or of admit; answered when the body is in */
    answer answer;
    bool asleep;           /* until the source is ready; guarded by the watchdog's lock */
    struct exchange *next; /* in the pool's queue */
} exchange;

struct http_server {
    http_options options;
    http_app app;
    struct MHD_Daemon *daemon;
    int listening, port; /* a socket; its port */
    pool *pool;
    watch *watch;
    atomic_bool stopping;
    _Atomic int64_t connections, requests, bytes_in, bytes_out, refused, active;
};

/* The exchange around a request that a handler was given. */
exchange *exchange_of(http_request *r);
const exchange *exchange_of_const(const http_request *r);

/* ---- exchange.c -------------------------------------------------------------- */

/* An exchange for a target that has just arrived, with one reference. */
exchange *exchange_new(http_server *s, const char *target);
/* Takes the target apart. ERR_TRANSPORT if it is none. */
bool exchange_take_target(exchange *x, error *err);
void exchange_ref(exchange *x);
void exchange_unref(exchange *x);

/* Runs the handler of the app and sets the answer, whatever happens. */
void exchange_run(exchange *x);

/* Lets the handler try on the connection's thread. False if the request is a worker's. */
bool exchange_try(exchange *x);

/* ---- body.c: the bytes of a body ------------------------------------------------ */

/* Takes a piece of the body. False if the connection must be cut now. */
bool body_take(exchange *x, const char *bytes, size_t n);

/* The body is complete: ends the sink. */
void body_end(exchange *x);

/* ---- pool.c: the threads that run handlers --------------------------------------- */

pool *pool_new(http_server *s);
/* Ends the threads, when nothing is queued any more, and frees the pool. */
void pool_free(pool *p);
/* Queues an exchange whose connection sleeps; a worker answers it and wakes the
 * connection. False and ERR_QUEUE if the queue is full, ERR_STOPPING if it is shut. */
bool pool_put(pool *p, exchange *x, error *err);
/* Whether the queue is full. */
bool pool_is_full(pool *p);
/* Answers those that have waited too long, or whose client has left. */
void pool_expire(pool *p);
/* Answers all that wait, and all that come from now on, with ERR_STOPPING. */
void pool_shut(pool *p);
void pool_count(pool *p, int64_t *running, int64_t *queued);

/* ---- reply.c: from answers to the library ------------------------------------------ */

/* Hands the answer of x to the library. */
enum MHD_Result reply_send(exchange *x);

/* Adds a whole problem answer with status line and headers, to be sent on a
 * socket past the library, before it is closed. */
void reply_add_raw(text *to, const char *request_id, const error *err);

/* ---- watch.c: the watchdog ---------------------------------------------------------- */

watch *watch_new(http_server *s);
void watch_free(watch *w);

/* A connection was opened, or is about to be closed. */
watched *watch_open(watch *w, struct MHD_Connection *connection);
void watch_close(watch *w, watched *c);

/* The address of the peer; NULL if it has none. */
const uint8_t *watch_address(const watched *c);

/* The connection is lost: it counts no longer, though the library may keep it for a while. */
void watch_lost(watch *w, watched *c);

/* The exchange x has reached the stage (NULL: the connection is idle). */
void watch_stage(watch *w, watched *c, exchange *x, stage stage);

/* Puts the connection of x, whose source has nothing yet, to sleep until it has. */
void watch_sleep(watch *w, exchange *x);

/* Whether the connection is one too many, and must be told so. */
bool watch_too_many(watch *w, const watched *c);

/* Sends bytes past the library and shuts the connection down. */
void watch_cut(watch *w, watched *c, const text *last_words);

/* Cancels every request. */
void watch_cancel_all(watch *w);
int64_t watch_count(watch *w);

/* ---- gzip.c ---------------------------------------------------------------------------- */

/* A source of what plain gives, compressed; it closes plain. quick: for long
 * answers. plain itself, if there is no memory for that. */
http_source gzip_source(http_source plain, bool quick);

/* Replaces the text by itself compressed. */
void gzip_text(text *t);

/* routes -- which address does what: the table of routes, and its reading.
 *
 * A route is one row in routes.c and one function in the file of its family.
 * Everything about it is in the row: what it takes and gives, the errors it can
 * give, whether it needs the token, and which thread runs it. Dispatch, the 404,
 * 405, 406 and 415, the API document and the page /docs follow from the table.
 *
 * The life of a request here: admission (Host, Origin, caller, route, media
 * types, query, then the row's open, which chooses the sink for the body), and
 * then, when the body is in, the row's handle.
 *
 * Reading order: routes.h, routes.c, dispatch.c, cors.h, negotiate.c, the families. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "engine/base/error.h"
#include "engine/base/text.h"
#include "server/auth/auth.h"
#include "server/config.h"
#include "server/http/http.h"
#include "storage/storage.h"

/* ---- What a handler sees ---------------------------------------------------------- */

typedef struct jobs jobs;
typedef struct job job;
typedef struct repeats repeats;
typedef struct repeat repeat;

/* The server's parts. Set up by main before the first request, then constant. */
typedef struct services {
    const config *config;
    auth *auth;
    http_server *http;
    storage *storage;
    jobs *jobs;
    repeats *repeats;
    const char *api_document; /* openapi.json */
    int64_t started_us;
    atomic_bool ready;
} services;

typedef struct route route;

/* Answers a request. False answers err. */
typedef bool route_handle(services *s, http_request *r, error *err);

/* What dispatch found out about a request; http_request.app_data points here. */
typedef struct route_match {
    const route *route;
    http_pairs captures;    /* of {name} in the pattern */
    const char *media;      /* the form of the answer that was negotiated */
    const char *body_media; /* of the body, without parameters; "" if there is none */
    route_handle *handle;   /* the row's, or what defers it */
    caller caller;          /* who asks */
    bool foreign;           /* a page of another origin, that may, asks */
    job *job;               /* that the request is done for; NULL: a caller waits */
    repeat *repeat;         /* its Idempotency-Key; NULL: none */
} route_match;

/* The part of the path that stands for {name} in the route's pattern. */
const char *route_capture(const http_request *r, const char *name);

/* The negotiated media type of the answer, one of the row's gives. */
const char *route_media(const http_request *r);

/* The media type of the body, one of the row's takes. */
const char *route_body_media(const http_request *r);

/* Who asks, or asked for the job. */
const caller *route_caller(const http_request *r);

/* What it says of who asks. */
credentials route_credentials(const http_request *r);

/* Says after which time the request may be tried again, if that is of use (not 0). */
void route_retry_after(http_request *r, int64_t wait_us);

/* The job that the request is done for, and whose answer its handler commits; NULL if a
 * caller waits for it. */
job *route_job(const http_request *r);

/* ---- Rows ---------------------------------------------------------------------------- */

/* Chooses what takes the body: sets r->sink, and r->body_bytes_max if the usual
 * limit of the body's media type is not the one. False refuses the request. */
typedef bool route_open(services *s, http_request *r, error *err);

typedef enum route_trait {
    ROUTE_PUBLIC = 1, /* needs no token */
    ROUTE_WORKER = 2, /* may take long: a worker runs it */
    ROUTE_PAGE = 4,   /* for people; not in the API document */
    ROUTE_DEFERS = 8, /* becomes a job if the caller prefers that */
    ROUTE_TRIED = 16, /* with a short body, the connection's thread tries before a worker */
} route_trait;

enum { ROUTE_ERRORS_MAX = 64, ROUTE_ALSO_MAX = 4 };

struct route {
    const char *method;  /* GET rows answer HEAD as well */
    const char *pattern; /* /v1/variables/{name} */
    route_handle *handle;
    route_open *open;          /* NULL: the route takes no body */
    unsigned traits;           /* of route_trait */
    unsigned scopes;           /* of which a token needs one; 0: what route_scopes says */
    const char *takes, *gives; /* media types, a space between; the first is usual */
    const char *takes_schema, *gives_schema; /* rows of openapi/schemas.def; or NULL */
    const char *query;                       /* names in params.def, a space between; or NULL */
    const char *headers;      /* names in headers.def that no trait tells of, likewise; or NULL */
    int status;               /* of success; 0: 200 */
    int also[ROUTE_ALSO_MAX]; /* other statuses that are no errors; ends with 0 */
    route_handle *check;      /* of one that defers, whether the caller may do what its body asks;
                                 answers nothing */
    error_kind errors[ROUTE_ERRORS_MAX]; /* besides those any route gives; ends with 0 */
    const char *summary;                 /* one sentence */
};

/* The scopes of which a token needs one for the row: what it says, or else read for GET and
 * write for others. 0: it needs no token. */
unsigned route_scopes(const route *row);

/* The table; *n rows. */
const route *routes_table(size_t *n);

/* A row of headers.def: a header of requests. */
typedef struct route_header {
    const char *name, *doc;
} route_header;

const route_header *route_headers(size_t *n);

/* Whether a row's requests are heard when they say something by this header, one of those rows. */
bool route_reads(const route *row, const char *header);

/* Whether it changes something, and takes an Idempotency-Key. */
bool route_is_kept(const route *row);

/* A row of params.def: a parameter of a path or a query. */
typedef struct route_param {
    const char *name, *schema, *doc;
} route_param;

/* The row of a parameter; NULL if there is none. */
const route_param *route_param_of(const char *name, size_t length);

/* ---- Reading the table ---------------------------------------------------------------- */

/* Whether a pattern fits a path; fills captures if so. */
bool route_fits(const char *pattern, const http_request *r, http_pairs *captures);

/* The row for a method and a path. NULL with ERR_NOT_FOUND, or ERR_METHOD and the
 * methods there are in allow. */
const route *route_find(const http_request *r, http_pairs *captures, text *allow, error *err);

/* The word of offered (a space between) that an Accept header (or NULL: anything)
 * likes best, the first if several; NULL if none. */
const char *route_negotiate(arena *a, const char *accept, const char *offered);

/* The Idempotency-Key of the request; NULL if it has none. */
repeat *route_repeat(const http_request *r);

/* Admits a request that was put aside with a job, and then, with its body fed to the sink,
 * runs its handler. False and err. */
bool route_recall(services *s, http_request *r, job *j, error *err);
bool route_run(services *s, http_request *r, error *err);

/* The application that http asks; context is the services. */
http_app routes_app(services *s);

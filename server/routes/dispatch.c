/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "engine/base/nearest.h"
#include "server/jobs/jobs.h"
#include "server/routes/cors.h"
#include "server/routes/defer.h"
#include "server/routes/figures.h"
#include "server/routes/repeat.h"
#include "server/routes/routes.h"

/* ---- Finding the row ----------------------------------------------------------------- */

/* The segment that text (behind a slash) begins with fits one of the path. */
static bool fits_segment(const char *text, size_t n, const http_request *r, int i,
                         http_pairs *captures)
{
    if (n >= 2 && text[0] == '{' && text[n - 1] == '}') {
        if (r->segments[i][0] == '\0')
            return false;
        http_pairs_add(captures, r->arena, arena_copy(r->arena, text + 1, n - 2), r->segments[i]);
        return true;
    }
    return strlen(r->segments[i]) == n && strncmp(text, r->segments[i], n) == 0;
}

bool route_fits(const char *pattern, const http_request *r, http_pairs *captures)
{
    int i = 0;

    captures->count = 0;
    for (const char *at = pattern; *at == '/'; i++) {
        size_t n = strcspn(at + 1, "/");

        if (i == r->segment_count || !fits_segment(at + 1, n, r, i, captures))
            return false;
        at += 1 + n;
    }
    return i == r->segment_count;
}

static bool answers(const route *row, const char *method)
{
    return strcmp(row->method, method) == 0 ||
           (strcmp(method, "HEAD") == 0 && strcmp(row->method, "GET") == 0);
}

static void allow_method(const route *row, text *allow)
{
    if (allow->length > 0)
        text_add(allow, ", ");
    text_add(allow, row->method);
    if (strcmp(row->method, "GET") == 0)
        text_add(allow, ", HEAD");
}

const route *route_find(const http_request *r, http_pairs *captures, text *allow, error *err)
{
    size_t n;
    const route *rows = routes_table(&n);

    for (size_t i = 0; i < n; i++) {
        if (!route_fits(rows[i].pattern, r, captures))
            continue;
        if (answers(&rows[i], r->method))
            return &rows[i];
        allow_method(&rows[i], allow);
    }
    if (allow->length > 0)
        error_set(err, ERR_METHOD, "%s takes %s, not %s.", r->path, allow->bytes, r->method);
    else
        error_set(err, ERR_NOT_FOUND, "There is no route %s; /docs lists those there are.",
                  r->path);
    return NULL;
}

/* ---- Admission ------------------------------------------------------------------------- */

unsigned route_scopes(const route *row)
{
    if ((row->traits & ROUTE_PUBLIC) != 0)
        return 0;
    if (row->scopes != 0)
        return row->scopes;
    return strcmp(row->method, "GET") == 0 ? SCOPE_READ : SCOPE_WRITE;
}

static bool is_safe(const http_request *r)
{
    return strcmp(r->method, "GET") == 0 || strcmp(r->method, "HEAD") == 0 ||
           strcmp(r->method, "OPTIONS") == 0;
}

static bool is_public(const route *row)
{
    return row != NULL && (row->traits & ROUTE_PUBLIC) != 0;
}

credentials route_credentials(const http_request *r)
{
    const route_match *match = r->app_data;

    return (credentials){.authorization = http_header(r, "Authorization"),
                         .cookie = http_header(r, "Cookie"),
                         .foreign = match->foreign,
                         .safe = is_safe(r),
                         .marked = http_header(r, "X-Tensord") != NULL,
                         .address = http_address(r)};
}

void route_retry_after(http_request *r, int64_t wait_us)
{
    if (wait_us > 0)
        answer_header(r, "Retry-After",
                      arena_format(r->arena, "%" PRId64, (wait_us + 999999) / 1000000));
}

/* From where. A link elsewhere may lead to a page of ours. */
static bool check_source(const services *s, http_request *r, route_match *match, error *err)
{
    const char *host = http_header(r, "Host"), *origin = http_header(r, "Origin");
    const bool followed = is_public(match->route) && is_safe(r);

    if (!auth_check_host(s->auth, host, err) ||
        !auth_check_origin(s->auth, host, origin,
                           followed ? NULL : http_header(r, "Sec-Fetch-Site"), &match->foreign,
                           err))
        return false;
    if (match->foreign)
        cors_allow(r, origin);
    return true;
}

static bool check_caller(const services *s, http_request *r, route_match *match, error *err)
{
    const credentials said = route_credentials(r);
    const route *row = match->route;
    int64_t wait_us = 0;
    bool ok = is_public(row) ||
              (auth_check_caller(s->auth, &said, &match->caller, &wait_us, err) &&
               (row == NULL || auth_check_scope(&match->caller, route_scopes(row), err)));

    route_retry_after(r, wait_us);
    return ok;
}

/* Whether list (a space between) has the n bytes at word as a word, by strncmp or strncasecmp. */
static bool has_word(const char *list, const char *word, size_t n,
                     int (*compare)(const char *, const char *, size_t))
{
    for (const char *at = list; at != NULL && *at != '\0';) {
        size_t length = strcspn(at, " ");

        if (length == n && compare(at, word, n) == 0)
            return true;
        at += length;
        at += *at == ' ';
    }
    return false;
}

/* Offers the word of a list that said was probably meant to be. */
static bool suggest_word(arena *a, const char *list, const char *said, error *err)
{
    nearest n = nearest_to(said, NEAREST_EDITS);

    for (const char *at = list; at != NULL && *at != '\0';) {
        size_t length = strcspn(at, " ");

        nearest_offer(&n, arena_copy(a, at, length));
        at += length;
        at += *at == ' ';
    }
    return error_suggest(err, n.word);
}

static bool check_query(const http_request *r, const route *row, error *err)
{
    for (size_t i = 0; i < r->query.count; i++) {
        const char *name = r->query.items[i].name;

        if (has_word(row->query, name, strlen(name), strncmp))
            continue;
        error_set(err, ERR_MEMBER, "The query has the parameter '%s', which %s does not take.",
                  name, row->pattern);
        return suggest_word(r->arena, row->query, name, err);
    }
    return true;
}

/* A condition that nobody looks at would be broken in silence. */
static bool check_conditions(const http_request *r, const route *row, error *err)
{
    static const char *const conditions[] = {"If-Match", "If-None-Match"};

    for (size_t i = 0; i < sizeof conditions / sizeof *conditions && !is_safe(r); i++)
        if (http_header(r, conditions[i]) != NULL && !route_reads(row, conditions[i]))
            return error_set(
                err, ERR_REQUEST,
                "%s %s is about no one thing that has an entity tag, so it takes no %s; leave "
                "it out.",
                row->method, row->pattern, conditions[i]);
    return true;
}

/* The media type that ?format= asks for; NULL if it is not said. */
static const char *asked_format(const http_request *r)
{
    static const http_pair formats[] = {
        {"json", "application/json"}, {"npy", "application/x-npy"},
        {"npz", "application/x-npz"}, {"raw", "application/octet-stream"},
        {"csv", "text/csv"},
    };
    const char *format = http_query(r, "format");

    if (format == NULL)
        return NULL;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (strcmp(formats[i].name, format) == 0)
            return formats[i].value;
    return format;
}

static bool choose_media(const http_request *r, route_match *match, error *err)
{
    const route *row = match->route;
    const char *format = asked_format(r);
    const char *accept = format != NULL ? format : http_header(r, "Accept");

    if (row->gives == NULL)
        return true;
    if (accept == NULL || accept != format || *format != '\0') /* format= is no form */
        match->media = route_negotiate(r->arena, accept, row->gives);
    return match->media != NULL ||
           error_set(err, ERR_ACCEPT, "%s gives %s, and '%.100s' was asked for.", row->pattern,
                     row->gives, accept);
}

/* Whether the parameters behind a media type leave the bytes what they are. */
static bool plain_parameters(const char *parameters)
{
    const char *charset = strcasestr(parameters, "charset=");

    if (charset == NULL)
        return true;
    charset += 8 + (charset[8] == '"');
    return strncasecmp(charset, "utf-8", 5) == 0 || strncasecmp(charset, "us-ascii", 8) == 0;
}

static bool check_encoding(const http_request *r, error *err)
{
    const char *encoding = http_header(r, "Content-Encoding");

    return encoding == NULL || strcasecmp(encoding, "identity") == 0 ||
           error_set(err, ERR_MEDIA_TYPE, "Compressed bodies are not taken.");
}

static bool check_body_media(const http_request *r, route_match *match, error *err)
{
    const route *row = match->route;
    const char *type = http_header(r, "Content-Type");
    size_t n = type == NULL ? 0 : strcspn(type, " \t;");

    match->body_media = "";
    if ((r->body_length == 0 && type == NULL) || row->open == NULL)
        return true;
    if (type == NULL)
        return error_set(err, ERR_MEDIA_TYPE, "Say what the body is: Content-Type may be %s.",
                         row->takes);
    if (!has_word(row->takes, type, n, strncasecmp) || !plain_parameters(type + n))
        return error_set(err, ERR_MEDIA_TYPE, "%s takes %s, and the Content-Type is '%.100s'.",
                         row->pattern, row->takes, type);
    match->body_media = arena_copy(r->arena, type, n);
    return check_encoding(r, err);
}

/* The usual limit of a body: JSON is parsed, anything else is only stored. */
static int64_t usual_body_bytes(const services *s, const route_match *match)
{
    return strcasecmp(match->body_media, "application/json") == 0 ? s->config->body_bytes_max
                                                                  : s->config->upload_bytes_max;
}

/* Whether the connection's thread tries first: what has a key is committed, and waits. */
static bool is_tried(const http_request *r, const route_match *match)
{
    enum { TRIED_BYTES_MAX = 4096 };

    return (match->route->traits & ROUTE_TRIED) != 0 && match->repeat == NULL &&
           r->body_length > 0 && r->body_length <= TRIED_BYTES_MAX;
}

static bool admit_to(services *s, http_request *r, route_match *match, error *err)
{
    const route *row = match->route;

    r->route = row->pattern;
    r->on_worker = (row->traits & ROUTE_WORKER) != 0;
    if (!check_query(r, row, err) || !check_conditions(r, row, err) ||
        !choose_media(r, match, err) || !check_body_media(r, match, err))
        return false;
    r->body_bytes_max = usual_body_bytes(s, match);
    match->handle = row->handle;
    if (match->job == NULL && !is_public(row) && !repeat_open(s, r, &match->repeat, err))
        return false;
    if (match->job == NULL && (row->traits & ROUTE_DEFERS) != 0 && defer_is_asked(r)) {
        match->handle = defer_handle;
        return defer_open(s, r, err);
    }
    r->try_first = is_tried(r, match);
    return row->open == NULL || row->open(s, r, err);
}

/* What is asked of a path by OPTIONS: which methods it takes. */
static bool admit_options(http_request *r, route_match *match, const char *allow)
{
    match->handle = cors_options;
    answer_header(r, "Allow", arena_format(r->arena, "%s, OPTIONS", allow));
    if (match->foreign)
        cors_preflight(r, allow);
    return true;
}

static bool admit_found(services *s, http_request *r, route_match *match, const char *allow,
                        const error *missing, error *err)
{
    if (!check_source(s, r, match, err))
        return false;
    if (strcmp(r->method, "OPTIONS") == 0 && allow[0] != '\0')
        return admit_options(r, match, allow);
    if (!check_caller(s, r, match, err))
        return false;
    if (match->route != NULL)
        return admit_to(s, r, match, err);
    *err = *missing;
    if (allow[0] != '\0')
        answer_header(r, "Allow", allow);
    return false;
}

static bool admit(void *context, http_request *r, error *err)
{
    route_match *match = arena_alloc(r->arena, sizeof *match);
    error missing = {0};
    text allow;
    bool ok;

    text_init(&allow);
    r->app_data = match;
    match->route = route_find(r, &match->captures, &allow, &missing);
    ok = admit_found(context, r, match, allow.length > 0 ? allow.bytes : "", &missing, err);
    text_clear(&allow);
    return ok;
}

bool route_recall(services *s, http_request *r, job *j, error *err)
{
    route_match *match = arena_alloc(r->arena, sizeof *match);
    text allow;

    text_init(&allow);
    r->app_data = match;
    match->job = j;
    match->route = route_find(r, &match->captures, &allow, err);
    text_clear(&allow);
    return match->route != NULL &&
           auth_find_caller(s->auth, job_asked(j)->owner, &match->caller, err) &&
           auth_check_scope(&match->caller, route_scopes(match->route), err) &&
           admit_to(s, r, match, err);
}

bool route_run(services *s, http_request *r, error *err)
{
    const route_match *match = r->app_data;

    return match->repeat == NULL ? match->handle(s, r, err)
                                 : repeat_handle(s, r, match->repeat, match->handle, err);
}

static bool handle(void *context, http_request *r, error *err)
{
    return route_run(context, r, err);
}

static void done(void *context, const http_request *r, int status, int64_t us)
{
    const route_match *match = r->app_data;

    (void)context;
    if (match != NULL && match->route != NULL)
        figures_count(match->route, status, us);
}

http_app routes_app(services *s)
{
    return (http_app){.context = s, .admit = admit, .handle = handle, .done = done};
}

/* ---- What handlers ask ------------------------------------------------------------------- */

static const route_match *match_of(const http_request *r)
{
    return r->app_data;
}

const char *route_capture(const http_request *r, const char *name)
{
    const http_pairs *captures = &match_of(r)->captures;

    for (size_t i = 0; i < captures->count; i++)
        if (strcmp(captures->items[i].name, name) == 0)
            return captures->items[i].value;
    return NULL;
}

const char *route_media(const http_request *r)
{
    return match_of(r)->media;
}

const char *route_body_media(const http_request *r)
{
    return match_of(r)->body_media;
}

repeat *route_repeat(const http_request *r)
{
    return match_of(r)->repeat;
}

const caller *route_caller(const http_request *r)
{
    return &match_of(r)->caller;
}

job *route_job(const http_request *r)
{
    return match_of(r)->job;
}

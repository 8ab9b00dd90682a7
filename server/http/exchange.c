/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "engine/base/number.h"
#include "engine/base/secret.h"
#include "server/http/private.h"
#include "server/http/uri.h"

exchange *exchange_of(http_request *r)
{
    return (exchange *)(void *)r;
}

const exchange *exchange_of_const(const http_request *r)
{
    return (const exchange *)(const void *)r;
}

exchange *exchange_new(http_server *s, const char *target)
{
    arena *a = arena_new();
    exchange *x = calloc(1, sizeof *x);
    char *id = arena_alloc(a, RANDOM_NAME_DIGITS + 1);

    if (x == NULL)
        abort();
    random_name(id);
    x->request.arena = a;
    x->request.id = id;
    x->request.deadline_us = INT64_MAX;
    x->server = s;
    x->references = 1;
    x->keep = true;
    x->request.target = arena_copy(a, target, strlen(target));
    x->begun_us = clock_us();
    text_init(&x->answer.body);
    return x;
}

bool exchange_take_target(exchange *x, error *err)
{
    http_request *r = &x->request;
    uri target;

    if (!uri_parse(r->arena, x->request.target, &target, err))
        return false;
    r->path = target.path;
    r->segments = target.segments;
    r->segment_count = target.segment_count;
    r->query = target.query;
    return true;
}

http_request *http_recall(const char *id, const char *method, const char *target,
                          const http_pairs *headers, int64_t body_length, error *err)
{
    exchange *x = exchange_new(NULL, target);
    http_request *r = &x->request;

    if (!exchange_take_target(x, err)) {
        exchange_unref(x);
        return NULL;
    }
    r->id = arena_copy(r->arena, id, strlen(id));
    r->method = arena_copy(r->arena, method, strlen(method));
    r->body_length = body_length;
    for (size_t i = 0; i < headers->count; i++)
        http_pairs_add(&r->headers, r->arena, headers->items[i].name, headers->items[i].value);
    return r;
}

void http_recalled_free(http_request *r)
{
    if (r != NULL)
        exchange_unref(exchange_of(r));
}

void exchange_ref(exchange *x)
{
    x->references++;
}

static void drop_answer(answer *a)
{
    text_clear(&a->body);
    if (a->source.close != NULL)
        a->source.close(a->source.state);
    a->source = (http_source){0};
    a->bytes = NULL;
    a->n = 0;
}

static void close_sink(exchange *x)
{
    if (x->request.sink.close != NULL)
        x->request.sink.close(x->request.sink.state);
    x->request.sink = (http_sink){0};
}

void exchange_unref(exchange *x)
{
    if (x == NULL || --x->references > 0)
        return;
    close_sink(x);
    drop_answer(&x->answer);
    arena_free(x->request.arena);
    free(x);
}

/* The handler is through, having begun at start. */
static void handled(exchange *x, int64_t start)
{
    close_sink(x);
    if (x->spent_us[PHASE_RUN] == 0)
        x->spent_us[PHASE_RUN] = clock_us() - start;
}

bool exchange_try(exchange *x)
{
    enum { TRY_US = 2000 };
    const http_app *app = &x->server->app;
    http_request *r = &x->request;
    const int64_t start = clock_us();
    int64_t spent_us[PHASES];
    error ignored = {0};

    memcpy(spent_us, x->spent_us, sizeof spent_us);
    r->deadline_us = start + TRY_US;
    r->trying = true;
    if (app->handle(app->context, r, &ignored) && x->answer.status != 0)
        handled(x, start);
    else
        memcpy(x->spent_us, spent_us, sizeof spent_us);
    r->trying = false;
    return x->answer.status != 0;
}

void exchange_run(exchange *x)
{
    http_server *s = x->server;
    http_request *r = &x->request;
    int64_t start = clock_us();
    error err = x->err;

    if (!error_is_set(&err) && !s->app.handle(s->app.context, r, &err) && !error_is_set(&err))
        error_set(&err, ERR_INTERNAL, "The handler gave no reason.");
    handled(x, start);
    if (!error_is_set(&err) && x->answer.status == 0)
        error_set(&err, ERR_INTERNAL, "The handler gave no answer.");
    x->err = err;
    if (error_is_set(&err))
        answer_problem(r, &err);
}

/* ---- What handlers ask ---------------------------------------------------------- */

void http_pairs_add(http_pairs *pairs, arena *a, const char *name, const char *value)
{
    pairs->items = arena_grow(a, pairs->items, pairs->count, &pairs->room, sizeof *pairs->items);
    pairs->items[pairs->count++] = (http_pair){name, value};
}

const char *http_header(const http_request *r, const char *name)
{
    for (size_t i = 0; i < r->headers.count; i++)
        if (http_same_name(r->headers.items[i].name, name))
            return r->headers.items[i].value;
    return NULL;
}

const char *http_query(const http_request *r, const char *name)
{
    for (size_t i = 0; i < r->query.count; i++)
        if (strcmp(r->query.items[i].name, name) == 0)
            return r->query.items[i].value;
    return NULL;
}

bool http_query_integer(const http_request *r, const char *name, int64_t *value)
{
    const char *said = http_query(r, name), *end;
    bool out_of_range;

    if (said == NULL)
        return true;
    end = said + strlen(said);
    return said != end && number_read_i64(said, end, value, &out_of_range) == end;
}

const uint8_t *http_address(const http_request *r)
{
    const exchange *x = exchange_of_const(r);

    return x->watched == NULL ? NULL : watch_address(x->watched);
}

void http_spent(http_request *r, http_phase phase, int64_t us)
{
    exchange_of(r)->spent_us[phase] += us;
}

/* ---- What handlers answer -------------------------------------------------------- */

static answer *new_answer(http_request *r, int status, const char *media)
{
    answer *a = &exchange_of(r)->answer;

    drop_answer(a);
    a->status = status;
    a->media = media;
    return a;
}

void answer_text(http_request *r, int status, const char *media, text *body)
{
    answer *a = new_answer(r, status, media);

    a->body = *body;
    text_init(body);
}

void answer_bytes(http_request *r, int status, const char *media, const void *bytes, size_t n)
{
    answer *a = new_answer(r, status, media);

    a->bytes = bytes;
    a->n = n;
}

void answer_stream(http_request *r, int status, const char *media, int64_t size, http_source source)
{
    answer *a = new_answer(r, status, media);

    a->source = source;
    a->size = size;
}

void answer_empty(http_request *r, int status)
{
    new_answer(r, status, NULL);
}

/* Whether the answer has a header already. */
static bool has_header(http_request *r, const char *name)
{
    const http_pairs *headers = &exchange_of(r)->answer.headers;

    for (size_t i = 0; i < headers->count; i++)
        if (strcasecmp(headers->items[i].name, name) == 0)
            return true;
    return false;
}

void answer_problem(http_request *r, const error *err)
{
    const error_info *info = error_info_of(err->kind);
    text body;

    text_init(&body);
    http_problem_add(&body, r->id, err);
    answer_text(r, info->status, "application/problem+json", &body);
    if (info->status == 401)
        answer_header(r, "WWW-Authenticate", "Bearer realm=\"tensord\"");
    if ((info->status == 503 || info->status == 429) && !has_header(r, "Retry-After"))
        answer_header(r, "Retry-After", "1");
}

bool http_answered(http_request *r, http_answer *result)
{
    const answer *a = &exchange_of(r)->answer;

    *result = (http_answer){.status = a->status,
                            .media = a->media,
                            .bytes = a->bytes != NULL ? a->bytes : a->body.bytes,
                            .n = a->bytes != NULL ? a->n : a->body.length,
                            .headers = &a->headers};
    return a->status != 0 && a->source.fill == NULL;
}

void answer_header(http_request *r, const char *name, const char *value)
{
    http_pairs *headers = &exchange_of(r)->answer.headers;

    value = arena_copy(r->arena, value, strlen(value));
    for (size_t i = 0; i < headers->count; i++) {
        if (http_same_name(headers->items[i].name, name)) {
            headers->items[i].value = value;
            return;
        }
    }
    http_pairs_add(headers, r->arena, arena_copy(r->arena, name, strlen(name)), value);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "engine/base/json.h"
#include "server/http/private.h"

enum { GZIP_BYTES_MIN = 1024, BLOCK_BYTES = 65536 };

/* ---- Problems --------------------------------------------------------------------- */

static void add_if_said(json_writer *w, const char *key, const char *value)
{
    if (value[0] != '\0')
        json_string(w, key, value);
}

static void add_position(json_writer *w, const error *err)
{
    if (err->line > 0) {
        json_int(w, "line", err->line);
        json_int(w, "column", err->column);
    }
    add_if_said(w, "caret", err->caret);
    add_if_said(w, "pointer", err->pointer);
    add_if_said(w, "node", err->node);
    add_if_said(w, "suggestion", err->suggestion);
    if (err->has_limit) {
        json_int(w, "limit", err->limit);
        json_int(w, "asked", err->asked);
    }
}

void http_problem_add(text *to, const char *request_id, const error *err)
{
    const error_info *info = error_info_of(err->kind);
    json_writer w = json_to(to, false);
    char type[64];

    snprintf(type, sizeof type, "/problems/%s", info->code);
    json_begin(&w, NULL, '{');
    json_string(&w, "type", type);
    json_string(&w, "title", info->title);
    json_int(&w, "status", info->status);
    json_string(&w, "detail", err->detail);
    json_string(&w, "code", info->code);
    json_string(&w, "request_id", request_id);
    json_bool(&w, "retryable", info->retryable);
    add_position(&w, err);
    json_end(&w, '}');
    text_add_char(to, '\n');
}

void reply_add_raw(text *to, const char *request_id, const error *err)
{
    unsigned status = (unsigned)error_info_of(err->kind)->status;
    text body;

    text_init(&body);
    http_problem_add(&body, request_id, err);
    text_addf(to,
              "HTTP/1.1 %u %s\r\nContent-Type: application/problem+json\r\nX-Request-Id: %s\r\n"
              "X-Content-Type-Options: nosniff\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n",
              status, MHD_get_reason_phrase_for(status), request_id, body.length);
    text_add_bytes(to, body.bytes, body.length);
    text_clear(&body);
}

/* ---- Compression ------------------------------------------------------------------- */

static const char *find_header(const answer *a, const char *name)
{
    for (size_t i = 0; i < a->headers.count; i++)
        if (http_same_name(a->headers.items[i].name, name))
            return a->headers.items[i].value;
    return NULL;
}

static bool is_textual(const char *media)
{
    return media != NULL &&
           (strncmp(media, "text/", 5) == 0 || strncmp(media, "application/json", 16) == 0 ||
            strncmp(media, "application/problem+json", 24) == 0 ||
            strncmp(media, "image/svg+xml", 13) == 0);
}

/* Whether an Accept-Encoding header takes gzip: names it, or *, not with q=0. */
static bool takes_gzip(const char *header)
{
    for (const char *at = header; at != NULL && *at != '\0';) {
        size_t n = strcspn(at, ",");
        const char *name = at + strspn(at, " \t");
        const char *q = strstr(name, "q=");
        bool named = strncasecmp(name, "gzip", 4) == 0 || *name == '*';

        if (named && !(q != NULL && q < at + n && strtod(q + 2, NULL) <= 0))
            return true;
        at += n;
        at += *at == ',';
    }
    return false;
}

/* A compressed answer is another representation: its ETag differs. */
static void mark_compressed(exchange *x)
{
    const char *etag = find_header(&x->answer, "ETag");
    size_t n = etag == NULL ? 0 : strlen(etag);

    answer_header(&x->request, "Content-Encoding", "gzip");
    if (n >= 2 && etag[n - 1] == '"')
        answer_header(&x->request, "ETag",
                      arena_format(x->request.arena, "%.*s-gzip\"", (int)n - 1, etag));
}

static void compress_answer(exchange *x)
{
    answer *a = &x->answer;

    if (!is_textual(a->media) || find_header(a, "Content-Encoding") != NULL ||
        a->source.ready != NULL)
        return;
    answer_header(&x->request, "Vary", "Accept, Accept-Encoding, Origin");
    if (!takes_gzip(http_header(&x->request, "Accept-Encoding")))
        return;
    if (a->source.fill != NULL) {
        a->source = gzip_source(a->source, true);
        a->size = -1;
        mark_compressed(x);
        return;
    }
    if (a->body.length + a->n < GZIP_BYTES_MIN)
        return;
    if (a->bytes != NULL)
        text_add_bytes(&a->body, a->bytes, a->n);
    a->bytes = NULL;
    gzip_text(&a->body);
    mark_compressed(x);
}

/* ---- Handing over -------------------------------------------------------------------- */

static ssize_t pull(void *state, uint64_t position, char *to, size_t room)
{
    exchange *x = state;
    ssize_t n =
        x->request.cancel != 0 ? -1 : x->answer.source.fill(x->answer.source.state, to, room);

    (void)position;
    if (n == HTTP_LATER && !x->server->stopping) {
        watch_sleep(x->server->watch, x);
        return 0;
    }
    if (n == HTTP_LATER)
        return MHD_CONTENT_READER_END_OF_STREAM;
    if (n < 0)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    if (n == 0)
        return MHD_CONTENT_READER_END_OF_STREAM;
    x->sent_bytes += n;
    return n;
}

static void release(void *state)
{
    exchange_unref(state);
}

/* The body of the answer as a response of the library. */
static struct MHD_Response *make_response(exchange *x)
{
    answer *a = &x->answer;

    if (a->source.fill != NULL) {
        uint64_t size = a->size < 0 ? MHD_SIZE_UNKNOWN : (uint64_t)a->size;

        exchange_ref(x);
        return MHD_create_response_from_callback(size, BLOCK_BYTES, pull, x, release);
    }
    if (a->bytes != NULL) {
        x->sent_bytes = (int64_t)a->n;
        return MHD_create_response_from_buffer(a->n, (void *)(uintptr_t)a->bytes,
                                               MHD_RESPMEM_PERSISTENT);
    }
    x->sent_bytes = (int64_t)a->body.length;
    return MHD_create_response_from_buffer(a->body.length, a->body.bytes, MHD_RESPMEM_PERSISTENT);
}

static void add_timing(exchange *x)
{
    static const char *const names[PHASES] = {"parse", "plan", "run", "encode"};
    bool streamed = x->answer.source.fill != NULL;
    text timing;

    text_init(&timing);
    for (int phase = 0; phase < PHASES - streamed; phase++) {
        text_add(&timing, phase == 0 ? "" : ", ");
        text_add(&timing, names[phase]);
        text_add(&timing, ";dur=");
        text_add_milli(&timing, (double)x->spent_us[phase] / 1000);
    }
    answer_header(&x->request, "Server-Timing", timing.bytes);
    text_clear(&timing);
}

/* Headers that every answer has, unless its handler said otherwise. */
static void add_usual_headers(exchange *x)
{
    static const http_pair usual[] = {
        {"Cache-Control", "no-store"},
        {"Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; sandbox"},
        {"Cross-Origin-Resource-Policy", "same-origin"},
        {"Referrer-Policy", "no-referrer"},
        {"Vary", "Accept, Origin"},
        {"X-Content-Type-Options", "nosniff"},
    };

    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        if (find_header(&x->answer, usual[i].name) == NULL)
            answer_header(&x->request, usual[i].name, usual[i].value);
    answer_header(&x->request, "X-Request-Id", x->request.id);
    if (x->answer.media != NULL)
        answer_header(&x->request, "Content-Type", x->answer.media);
    if (!x->keep || x->server->stopping)
        answer_header(&x->request, "Connection", "close");
    add_timing(x);
}

enum MHD_Result reply_send(exchange *x)
{
    struct MHD_Response *response;
    enum MHD_Result result;
    int64_t start = clock_us();

    compress_answer(x);
    if (x->answer.source.fill == NULL)
        x->spent_us[PHASE_ENCODE] += clock_us() - start;
    add_usual_headers(x);
    response = make_response(x);
    if (response == NULL)
        return MHD_NO;
    for (size_t i = 0; i < x->answer.headers.count; i++)
        MHD_add_response_header(response, x->answer.headers.items[i].name,
                                x->answer.headers.items[i].value);
    x->stage = STAGE_SENDING;
    watch_stage(x->server->watch, x->watched, x, STAGE_SENDING);
    result = MHD_queue_response(x->connection, (unsigned)x->answer.status, response);
    MHD_destroy_response(response);
    return result;
}

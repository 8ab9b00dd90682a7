/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that become jobs: they are put aside as they came, and done by the same handler
 * when their turn has come. */
#include <string.h>
#include <strings.h>

#include "engine/base/clock.h"
#include "server/routes/defer.h"
#include "server/routes/job_document.h"
#include "server/routes/repeat.h"

/* ---- Prefer ------------------------------------------------------------------------------ */

/* Whether a Prefer header has a preference, with a value (NULL: none). */
static bool prefers(const http_request *r, const char *name, const char *value)
{
    const char *at = http_header(r, "Prefer");
    const size_t n = strlen(name);

    while (at != NULL && *at != '\0') {
        const char *said = at + strspn(at, " \t,;");
        const char *behind = said + n;
        const size_t length = value == NULL ? 0 : strlen(value);

        at = said + strcspn(said, ",;");
        if (strncasecmp(said, name, n) != 0)
            continue;
        if (value == NULL && strcspn(said, " \t,;") == n)
            return true;
        if (value != NULL && *behind == '=' && strncasecmp(behind + 1, value, length) == 0 &&
            strcspn(behind + 1, " \t,;") == length)
            return true;
    }
    return false;
}

bool defer_is_asked(const http_request *r)
{
    return prefers(r, "respond-async", NULL);
}

/* ---- Taking in --------------------------------------------------------------------------- */

/* What takes the place of the row's sink. */
typedef struct putting {
    incoming *body; /* NULL: there is none */
    http_sink
        seen; /* the row's, which is fed too if the caller may not do all; feed NULL: it is not */
} putting;

static bool feed(void *state, const char *bytes, size_t n, error *err)
{
    const putting *p = state;

    return incoming_write(p->body, bytes, n, err) &&
           (p->seen.feed == NULL || p->seen.feed(p->seen.state, bytes, n, err));
}

static bool end(void *state, error *err)
{
    const putting *p = state;

    return p->seen.end == NULL || p->seen.end(p->seen.state, err);
}

static void close_body(void *state)
{
    const putting *p = state;

    incoming_free(p->body);
    if (p->seen.close != NULL)
        p->seen.close(p->seen.state);
}

static const route *row_of(const http_request *r)
{
    return ((const route_match *)r->app_data)->route;
}

/* One who may not write is told now that what he asks is to write, not when its turn has come: the
 * body is read as if it were done at once. */
static bool open_seen(services *s, http_request *r, putting *p, error *err)
{
    error none = {0};

    if (auth_check_scope(route_caller(r), SCOPE_WRITE, &none))
        return true;
    if (!row_of(r)->open(s, r, err))
        return false;
    p->seen = r->sink;
    return true;
}

static bool check_seen(services *s, http_request *r, const putting *p, error *err)
{
    const http_sink own = r->sink;
    bool ok;

    if (p->seen.feed == NULL)
        return true;
    r->sink = p->seen;
    ok = row_of(r)->check(s, r, err);
    r->sink = own;
    return ok;
}

bool defer_open(services *s, http_request *r, error *err)
{
    const shape flat = {.rank = 1, .length = {r->body_length}};
    putting *p = arena_alloc(r->arena, sizeof *p);

    r->on_worker = false; /* it is not computed now, and must not wait for what is */
    if (r->body_length < 0)
        return error_set(err, ERR_LENGTH_REQUIRED,
                         "A request that is to be answered later needs a Content-Length.");
    if (!open_seen(s, r, p, err))
        return false;
    r->sink = (http_sink){.state = p, .feed = feed, .end = end, .close = close_body};
    if (r->body_length == 0)
        return true;
    p->body = incoming_new(s->storage, DURABILITY_DISK, FORM_AUTO, DT_U8, &flat, err);
    return p->body != NULL;
}

/* The headers that say what a body is, and what is to be answered. */
static size_t kept_headers(const http_request *r, job_header *headers)
{
    static const char *const names[] = {"Content-Type", "Tensor-Dtype", "Tensor-Shape"};
    size_t count = 0;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (http_header(r, names[i]) != NULL)
            headers[count++] = (job_header){names[i], http_header(r, names[i])};
    headers[count++] = (job_header){"Accept", route_media(r)};
    return count;
}

static bool commit(void *context, txn *x, error *err)
{
    commit_result done;

    return repeat_commit(context, x, &done, err);
}

bool defer_handle(services *s, http_request *r, error *err)
{
    putting *p = r->sink.state;
    incoming *taken = p->body;
    job_header headers[4];
    const job_request asked = {.request_id = r->id,
                               .method = r->method,
                               .target = r->target,
                               .owner = route_caller(r)->id,
                               .headers = headers,
                               .header_count = kept_headers(r, headers),
                               .run_again = !prefers(r, "restart", "fail")};
    job *j;

    if (!check_seen(s, r, p, err) || (taken != NULL && !incoming_finish(taken, err)))
        return false;
    p->body = NULL;
    j = jobs_submit(s->jobs, &asked, taken, commit, r, err);
    if (j == NULL && err->kind == ERR_JOB_QUOTA)
        route_retry_after(r, jobs_quota_wait(s->jobs, asked.owner));
    if (j == NULL)
        return false;
    job_document_answer(s, r, 202, j);
    answer_header(r, "Location", arena_format(r->arena, "/v1/jobs/%s", job_id(j)));
    answer_header(r, "Preference-Applied",
                  asked.run_again ? "respond-async" : "respond-async, restart=fail");
    answer_header(r, "Retry-After", "1");
    job_unref(j);
    return true;
}

/* ---- Doing it ------------------------------------------------------------------------------ */

static http_request *recall(const job *j, int64_t length, error *err)
{
    const job_request *asked = job_asked(j);
    http_pairs headers = {0};
    http_request *r;
    arena *a = arena_new();

    for (size_t i = 0; i < asked->header_count; i++)
        http_pairs_add(&headers, a, asked->headers[i].name, asked->headers[i].value);
    r = http_recall(asked->request_id, asked->method, asked->target, &headers, length, err);
    arena_free(a);
    return r;
}

/* Feeds the body to the sink as if it came now. */
static bool feed_body(http_request *r, const tensor *body, error *err)
{
    const char *bytes = body->buf == NULL ? "" : tensor_bytes(body);

    return (body->buf == NULL ||
            r->sink.feed(r->sink.state, bytes, (size_t)tensor_nbytes(body), err)) &&
           (r->sink.end == NULL || r->sink.end(r->sink.state, err));
}

static bool run(void *context, job *j, error *err)
{
    services *s = context;
    tensor body = {0};
    error none = {0};
    http_request *r;
    bool ok;

    if (!job_body(j, &body, &none) && none.kind != ERR_NOT_FOUND) {
        *err = none;
        return false;
    }
    r = recall(j, body.buf == NULL ? 0 : tensor_nbytes(&body), err);
    ok = r != NULL;
    if (ok) {
        r->deadline_us = clock_us() + s->config->job_time_max;
        ok = route_recall(s, r, j, err) && feed_body(r, &body, err) && route_run(s, r, err);
    }
    http_recalled_free(r);
    if (body.buf != NULL)
        tensor_unref(&body);
    return ok;
}

static void refuse(void *context, const job *j, const error *why, text *to)
{
    (void)context;
    http_problem_add(to, job_asked(j)->request_id, why);
}

job_runner defer_runner(services *s)
{
    return (job_runner){.context = s, .run = run, .refuse = refuse};
}

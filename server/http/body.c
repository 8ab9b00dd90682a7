/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "server/http/private.h"

/* How much of a refused body is read and thrown away so that the client, which is
 * still sending, gets to read the answer. */
enum { THROWN_BYTES_MAX = 16 << 20 };

static bool check_size(exchange *x, error *err)
{
    int64_t most = x->request.body_bytes_max;

    return x->body_bytes <= most ||
           error_set_limit(err, ERR_BODY_SIZE, most, x->body_bytes,
                           "The body has more than %" PRId64 " bytes.", most);
}

static bool feed(exchange *x, const char *bytes, size_t n)
{
    int64_t start = clock_us();
    bool ok;

    if (x->request.tap.see != NULL)
        x->request.tap.see(x->request.tap.state, bytes, n);
    ok = check_size(x, &x->err) && x->request.sink.feed(x->request.sink.state, bytes, n, &x->err);

    x->spent_us[PHASE_PARSE] += clock_us() - start;
    if (!ok && !error_is_set(&x->err))
        error_set(&x->err, ERR_INTERNAL, "The body was refused without a reason.");
    return ok;
}

/* Answers past the library, which takes no answer in the middle of a body, and
 * ends the connection. */
static bool give_up(exchange *x)
{
    text last_words;

    text_init(&last_words);
    reply_add_raw(&last_words, x->request.id, &x->err);
    watch_cut(x->server->watch, x->watched, &last_words);
    text_clear(&last_words);
    return false;
}

bool body_take(exchange *x, const char *bytes, size_t n)
{
    x->body_bytes += (int64_t)n;
    x->server->bytes_in += (int64_t)n;
    watch_stage(x->server->watch, x->watched, x, STAGE_BODY);
    if (!error_is_set(&x->err) && x->request.sink.feed != NULL && feed(x, bytes, n))
        return true;
    if (!error_is_set(&x->err))
        error_set(&x->err, ERR_REQUEST, "This route takes no body.");
    x->thrown_bytes += (int64_t)n;
    return x->thrown_bytes <= THROWN_BYTES_MAX || give_up(x);
}

void body_end(exchange *x)
{
    http_sink *sink = &x->request.sink;
    int64_t start = clock_us();

    if (error_is_set(&x->err) || sink->end == NULL)
        return;
    if (!sink->end(sink->state, &x->err) && !error_is_set(&x->err))
        error_set(&x->err, ERR_INTERNAL, "The body was refused without a reason.");
    x->spent_us[PHASE_PARSE] += clock_us() - start;
}

/* ---- The sink for small bodies ----------------------------------------------------- */

static bool collect_feed(void *state, const char *bytes, size_t n, error *err)
{
    (void)err;
    text_add_bytes(state, bytes, n);
    return true;
}

static void collect_close(void *state)
{
    text_clear(state);
}

text *http_collect(http_request *r, int64_t bytes_max)
{
    text *t = arena_alloc(r->arena, sizeof *t);

    text_init(t);
    r->sink = (http_sink){.state = t, .feed = collect_feed, .close = collect_close};
    r->body_bytes_max = bytes_max;
    return t;
}

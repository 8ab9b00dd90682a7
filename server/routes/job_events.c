/* SPDX-License-Identifier: Apache-2.0 */
/* What happens to a job, as server-sent events. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "server/routes/handlers.h"
#include "server/routes/job_document.h"

enum { BEAT_US = 15000000, STAMP = 64 };

/* An event's id is what it tells: whoever has seen it need not be told again, not even
 * after a restart. */
typedef struct events {
    const services *services;
    job *job;
    char told[STAMP];
    job_state state; /* that was told */
    bool any, ended;
    int64_t beat_us; /* when something is to be sent, be it a comment */
    text pending;
    size_t at; /* in pending */
} events;

static void stamp(const job_status *s, char to[STAMP])
{
    snprintf(to, STAMP, "%s-%" PRId64 "-%d", job_state_name(s->state), s->steps_done,
             (int)(s->progress * 1000));
}

static bool has_news(const events *e)
{
    const job_status now = job_status_of(e->job);
    char id[STAMP];

    stamp(&now, id);
    return strcmp(id, e->told) != 0 || (job_state_is_last(now.state) && !e->ended);
}

static void tell(events *e)
{
    const job_status now = job_status_of(e->job);
    const bool news = !e->any || now.state != e->state;
    json_writer w = json_to(&e->pending, false);

    stamp(&now, e->told);
    e->state = now.state;
    e->any = true;
    e->ended = job_state_is_last(now.state);
    text_addf(&e->pending, "id: %s\nevent: %s\ndata: ", e->told, news ? "state" : "progress");
    job_document_add(e->services, e->job, &w);
    text_add(&e->pending, "\n\n");
}

static bool ready(void *state)
{
    const events *e = state;

    return e->at < e->pending.length || e->ended || clock_us() >= e->beat_us || has_news(e);
}

static void refill(events *e)
{
    e->pending.length = e->at = 0;
    if (e->ended)
        return;
    if (has_news(e))
        tell(e);
    else if (clock_us() >= e->beat_us)
        text_add(&e->pending, ":\n\n");
    if (e->pending.length > 0)
        e->beat_us = clock_us() + BEAT_US;
}

static ssize_t fill(void *state, char *to, size_t room)
{
    events *e = state;
    size_t n;

    if (e->at == e->pending.length)
        refill(e);
    n = e->pending.length - e->at;
    if (n == 0)
        return e->ended ? 0 : HTTP_LATER;
    n = n < room ? n : room;
    memcpy(to, e->pending.bytes + e->at, n);
    e->at += n;
    return (ssize_t)n;
}

static void close_events(void *state)
{
    events *e = state;

    text_clear(&e->pending);
    job_unref(e->job);
    free(e);
}

bool job_events(services *s, http_request *r, error *err)
{
    const char *seen = http_header(r, "Last-Event-ID");
    events *e = calloc(1, sizeof *e);
    job_status now;

    if (e == NULL)
        abort();
    e->job = job_of_path(s, r, err);
    if (e->job == NULL) {
        free(e);
        return false;
    }
    e->services = s;
    text_init(&e->pending);
    e->beat_us = clock_us() + BEAT_US;
    now = job_status_of(e->job);
    stamp(&now, e->told);
    if (seen != NULL && strcmp(seen, e->told) == 0 && job_state_is_last(now.state)) {
        close_events(e);
        answer_empty(r, 204); /* which tells an EventSource not to come again */
        return true;
    }
    if (seen == NULL || strcmp(seen, e->told) != 0)
        e->told[0] = '\0';
    answer_stream(r, 200, "text/event-stream", -1,
                  (http_source){.state = e, .fill = fill, .close = close_events, .ready = ready});
    return true;
}

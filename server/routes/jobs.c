/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs as their owners see them. */
#include <string.h>

#include "server/routes/handlers.h"
#include "server/routes/job_document.h"
#include "server/routes/outcome.h"
#include "server/routes/stored.h"

enum { CANCEL_WAIT_US = 200000 };

/* ---- The document -------------------------------------------------------------------------- */

static void add_time(json_writer *w, const char *key, int64_t date_us)
{
    if (date_us == 0)
        json_string(w, key, NULL);
    else
        stored_add_time(w, key, date_us);
}

/* The problem of a job that has one. */
static void add_problem(json_writer *w, job *j, const job_status *s)
{
    error ignored = {0};
    buffer *text = NULL;

    if (s->state == JOB_FAILED || s->state == JOB_CANCELLED)
        text = job_answer(j, &ignored);
    if (text == NULL) {
        json_string(w, "problem", NULL);
    } else {
        char *bytes = buffer_bytes(text);

        bytes[strcspn(bytes, "\n")] = '\0';
        json_raw(w, "problem", bytes);
    }
    buffer_unref(text);
}

void job_document_add(const services *s, job *j, json_writer *w)
{
    const job_status now = job_status_of(j);
    const job_request *asked = job_asked(j);

    json_begin(w, NULL, '{');
    json_string(w, "id", job_id(j));
    json_string(w, "state", job_state_name(now.state));
    json_milli(w, "progress", now.progress);
    json_int(w, "steps_done", now.steps_done);
    json_int(w, "steps", now.steps);
    json_int(w, "iterations", now.iterations);
    json_string(w, "method", asked->method);
    json_string(w, "target", asked->target);
    stored_add_time(w, "created", now.created_us);
    add_time(w, "started", now.started_us);
    add_time(w, "finished", now.finished_us);
    add_time(w, "expires", now.finished_us == 0 ? 0 : now.finished_us + s->config->job_keep_time);
    add_problem(w, j, &now);
    json_end(w, '}');
}

void job_document_answer(services *s, http_request *r, int status, job *j)
{
    text body;
    json_writer w = json_to(&body, false);

    text_init(&body);
    job_document_add(s, j, &w);
    text_add_char(&body, '\n');
    answer_text(r, status, "application/json", &body);
}

/* Whose jobs the caller sees; NULL: those of all. */
static const char *seen_owner(const http_request *r)
{
    return auth_sees_all_jobs(route_caller(r)) ? NULL : route_caller(r)->id;
}

job *job_of_path(services *s, const http_request *r, error *err)
{
    job *j = jobs_find(s->jobs, route_capture(r, "id"));
    const char *owner = seen_owner(r);

    if (j != NULL && (owner == NULL || strcmp(owner, job_asked(j)->owner) == 0))
        return j;
    job_unref(j);
    error_set(err, ERR_NOT_FOUND, "There is no job '%.40s'.", route_capture(r, "id"));
    return NULL;
}

/* ---- GET /v1/jobs/{id}, DELETE ----------------------------------------------------------------
 */

bool job_get(services *s, http_request *r, error *err)
{
    job *j = job_of_path(s, r, err);

    if (j == NULL)
        return false;
    job_document_answer(s, r, 200, j);
    job_unref(j);
    return true;
}

bool job_delete(services *s, http_request *r, error *err)
{
    job *j = job_of_path(s, r, err);
    const bool ok = j != NULL && job_cancel(j, CANCEL_WAIT_US, err);

    if (ok)
        answer_empty(r, 204);
    job_unref(j);
    return ok;
}

/* ---- GET /v1/jobs ------------------------------------------------------------------------------
 */

bool jobs_list_all(services *s, http_request *r, error *err)
{
    const char *before = http_query(r, "cursor");
    job **page;
    size_t limit = 0, count;
    text body;
    json_writer w = json_to(&body, false);

    if (!stored_limit(r, &limit, err))
        return false;
    if (before != NULL && !job_id_is_valid(before))
        return error_set(err, ERR_REQUEST, "cursor is the id of a job, not '%.40s'.", before);
    page = arena_array(r->arena, limit + 1, sizeof *page);
    count = jobs_list(s->jobs, seen_owner(r), before, page, limit + 1);
    text_init(&body);
    json_begin(&w, NULL, '{');
    json_begin(&w, "jobs", '[');
    for (size_t i = 0; i < count && i < limit; i++)
        job_document_add(s, page[i], &w);
    json_end(&w, ']');
    json_string(&w, "cursor", count > limit ? job_id(page[limit - 1]) : NULL);
    json_end(&w, '}');
    text_add_char(&body, '\n');
    answer_text(r, 200, "application/json", &body);
    if (count > limit)
        stored_link_next(r, "/v1/jobs", "", limit, job_id(page[limit - 1]));
    for (size_t i = 0; i < count; i++)
        job_unref(page[i]);
    return true;
}

/* ---- GET /v1/jobs/{id}/result -------------------------------------------------------------------
 */

static void release(outcome *o, int count)
{
    for (int i = 0; i < count; i++)
        tensor_unref(&o->tensors[i]);
}

/* The form that is asked for here, or else was when the job came. */
static wire_format result_format(const http_request *r, const job *j)
{
    const char *accept = http_header(r, "Accept");
    const job_request *asked = job_asked(j);

    if (http_query(r, "format") != NULL || (accept != NULL && strcmp(accept, "*/*") != 0))
        return answer_format(r);
    for (size_t i = 0; i < asked->header_count; i++)
        for (int f = 0; f < WIRE_FORMATS; f++)
            if (strcmp(asked->headers[i].name, "Accept") == 0 &&
                strcmp(asked->headers[i].value, wire_media_type((wire_format)f)) == 0)
                return (wire_format)f;
    return WIRE_JSON;
}

/* Answers as the request itself would have been. */
static bool answer_outcome(http_request *r, job *j, const char *said, error *err)
{
    outcome o;
    int found = 0;
    bool ok = outcome_read(said, r->arena, &o, err);

    while (ok && !o.dry_run && found < o.tensor_count) {
        ok = job_tensor(j, found, &o.tensors[found], err);
        found += ok;
    }
    ok = ok && outcome_answer(&o, r, result_format(r, j), err);
    release(&o, found);
    return ok;
}

static bool answer_ended(http_request *r, job *j, const job_status *s, error *err)
{
    buffer *said = job_answer(j, err);
    text problem;
    bool ok = said != NULL;

    if (ok && s->state == JOB_DONE) {
        ok = answer_outcome(r, j, buffer_bytes(said), err);
    } else if (ok) {
        text_init(&problem);
        text_add(&problem, buffer_bytes(said));
        answer_text(r, s->http_status, "application/problem+json", &problem);
    }
    buffer_unref(said);
    return ok;
}

bool job_result(services *s, http_request *r, error *err)
{
    job *j = job_of_path(s, r, err);
    bool ok = j != NULL;

    if (ok) {
        const job_status now = job_status_of(j);

        if (job_state_is_last(now.state)) {
            ok = answer_ended(r, j, &now, err);
        } else {
            job_document_answer(s, r, 202, j);
            answer_header(r, "Retry-After", "1");
        }
    }
    job_unref(j);
    return ok;
}

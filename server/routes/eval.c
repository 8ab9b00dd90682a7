/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/base/clock.h"
#include "server/routes/evaluation.h"
#include "server/routes/handlers.h"
#include "server/routes/stored.h"

/* ---- Reading ---------------------------------------------------------------------------- */

static bool not_yet(const char *member, error *err)
{
    error_set(err, ERR_NOT_IMPLEMENTED, "'%s' is not implemented.", member);
    return error_at_pointer(err, "/%s", member);
}

/* Brings the request's deadline forward, if it asks for that. */
static void set_deadline(http_request *r, int64_t timeout_ms)
{
    const int64_t now = clock_us();

    if (timeout_ms > 0 && timeout_ms < (r->deadline_us - now) / 1000)
        r->deadline_us = now + timeout_ms * 1000;
}

/* What both kinds of request ask for that is not there. */
static bool check_asked(evaluation *e, error *err)
{
    if (e->asked.trace)
        return not_yet("trace", err);
    set_deadline(e->request, e->asked.timeout_ms);
    return true;
}

static evaluation evaluation_new(services *s, http_request *r)
{
    return (evaluation){
        .services = s,
        .request = r,
        .job = route_job(r),
        .format = route_job(r) != NULL ? WIRE_JSON : answer_format(r), /* a job's: asked later */
        .started_us = clock_us(),
    };
}

/* ---- POST /v1/eval ------------------------------------------------------------------------- */

bool eval_open(services *s, http_request *r, error *err)
{
    return body_open(s, r, WIRE_EVAL_BODY, err);
}

static bool read_eval(evaluation *e, error *err)
{
    http_request *r = e->request;

    return wire_read_eval(body_root(r), http_query(r, "program"), r->arena, &e->asked, err);
}

bool eval_check(services *s, http_request *r, error *err)
{
    evaluation asked = evaluation_new(s, r);

    return read_eval(&asked, err) && evaluation_is_allowed(&asked, err);
}

bool eval_handle(services *s, http_request *r, error *err)
{
    evaluation asked = evaluation_new(s, r);

    return read_eval(&asked, err) && check_asked(&asked, err) &&
           (!r->trying || !evaluation_writes(&asked)) && evaluation_perform(&asked, err);
}

/* ---- POST /v1/graphs/{name}/run ------------------------------------------------------------ */

bool run_open(services *s, http_request *r, error *err)
{
    return body_open(s, r, WIRE_RUN_BODY, err);
}

bool run_check(services *s, http_request *r, error *err)
{
    evaluation asked = evaluation_new(s, r);

    return wire_read_run(body_root(r), r->arena, &asked.asked, err) &&
           evaluation_is_allowed(&asked, err);
}

bool run_handle(services *s, http_request *r, error *err)
{
    evaluation asked = evaluation_new(s, r);

    asked.stored_name = stored_name(r, err);
    return asked.stored_name != NULL && wire_read_run(body_root(r), r->arena, &asked.asked, err) &&
           check_asked(&asked, err) && evaluation_perform(&asked, err);
}

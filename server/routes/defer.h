/* defer -- requests that are answered later (private to routes).
 *
 * A route with the trait ROUTE_DEFERS whose caller prefers respond-async takes its body into
 * storage in place of its own sink, and answers 202 with a job. When the job's turn has come,
 * the same request goes through the same row, its body fed from storage; the row's handler
 * finds the job with route_job and commits its answer with it. */
#pragma once

#include "server/jobs/jobs.h"
#include "server/routes/routes.h"

/* Whether the caller prefers to be answered later. */
bool defer_is_asked(const http_request *r);

/* What takes the place of the row's. */
route_open defer_open;
route_handle defer_handle;

/* Who runs jobs; s lives longer than they. */
job_runner defer_runner(services *s);

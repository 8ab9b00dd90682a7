/* job_document -- jobs as JSON (private to routes). */
#pragma once

#include "engine/base/json.h"
#include "server/jobs/jobs.h"
#include "server/routes/routes.h"

/* Adds what is known of a job. */
void job_document_add(const services *s, job *j, json_writer *w);

/* Answers with it. */
void job_document_answer(services *s, http_request *r, int status, job *j);

/* The job that the path names, with a reference. NULL and ERR_NOT_FOUND if there is none, or none
 * that the caller may see. */
job *job_of_path(services *s, const http_request *r, error *err);

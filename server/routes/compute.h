/* compute -- small computations of the server's own, in its own language (private to routes). */
#pragma once

#include "server/routes/routes.h"
#include "server/wire/wire.h"

/* Evaluates a program for inputs and sets the first `count` of its results, each with a
 * reference. Limits, budget, deadline and cancellation are those of the request. */
bool compute(services *s, http_request *r, const char *program, const wire_inputs *inputs,
             budget *b, tensor *results, int count, error *err);

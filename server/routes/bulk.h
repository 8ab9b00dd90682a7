/* bulk -- several variables at once (private to routes). */
#pragma once

#include "server/routes/routes.h"

/* Answers with the variables whose names, with commas between, are given: from one snapshot,
 * as an npz file or a JSON object of tensors. */
bool bulk_get(services *s, http_request *r, const char *names, error *err);

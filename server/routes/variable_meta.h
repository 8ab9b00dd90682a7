/* variable_meta -- variables described (private to routes). */
#pragma once

#include "engine/base/json.h"
#include "server/routes/routes.h"
#include "storage/storage.h"

/* Adds the metadata of a variable as an object. with_attributes reads them too, which
 * may fail with ERR_INTEGRITY. */
bool variable_add_meta(services *s, const entry *e, bool with_attributes, json_writer *w,
                       error *err);

/* Answers with the metadata of what a commit stored under a name. */
bool variable_answer_stored(services *s, http_request *r, const char *name,
                            const commit_result *done, error *err);

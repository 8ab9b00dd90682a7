/* json -- JSON text, written piece by piece.
 *
 * The writer puts commas, quotes, escapes and, if asked, line breaks; the caller
 * keeps begin and end in pairs. A key is given inside an object and NULL inside
 * an array or for the outermost value.
 *
 *     json_writer w = json_to(&text, false);
 *     json_begin(&w, NULL, '{');
 *     json_string(&w, "name", "tensord");
 *     json_end(&w, '}');
 *
 * Only for answers and documents of a bounded size; tensor data have a streamed
 * encoder of their own. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "engine/base/text.h"

typedef struct json_writer {
    text *to;
    int depth;
    bool first;  /* nothing was written since the last begin */
    bool pretty; /* one member a line, indented by two */
} json_writer;

/* A writer that adds to the text. */
json_writer json_to(text *to, bool pretty);

/* Opens an object or array, bracket being { or [. */
void json_begin(json_writer *w, const char *key, char bracket);
/* Closes it, bracket being } or ]. */
void json_end(json_writer *w, char bracket);

/* A string; NULL is written as null. */
void json_string(json_writer *w, const char *key, const char *value);
void json_int(json_writer *w, const char *key, int64_t value);
void json_bool(json_writer *w, const char *key, bool value);
/* A number with three digits behind the point. */
void json_milli(json_writer *w, const char *key, double value);
/* A value that is JSON already. */
void json_raw(json_writer *w, const char *key, const char *json);

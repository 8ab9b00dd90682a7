/* uri -- the target of a request, taken apart strictly (private to http).
 *
 * A target is a path that begins with a slash, and perhaps a query. Segments are
 * cut before they are decoded; what decodes to a NUL, a control byte, a slash, a
 * backslash, a dot segment or bytes that are not UTF-8 is refused. */
#pragma once

#include <stdbool.h>

#include "engine/base/arena.h"
#include "engine/base/error.h"
#include "server/http/http.h"

enum { URI_SEGMENTS_MAX = 16, URI_QUERY_MAX = 64 };

typedef struct uri {
    const char *path;      /* as sent */
    const char **segments; /* decoded */
    int segment_count;
    http_pairs query; /* decoded; + is a space */
} uri;

/* Takes target apart in an arena. False and ERR_TRANSPORT, saying what is wrong. */
bool uri_parse(arena *a, const char *target, uri *result, error *err);

typedef enum uri_part { URI_PATH, URI_QUERY } uri_part;

/* The n bytes at text with %XX replaced, in an arena. NULL and ERR_TRANSPORT if
 * they are not well-formed. */
const char *uri_decode(arena *a, const char *text, size_t n, uri_part part, error *err);

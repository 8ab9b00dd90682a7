/* ranges -- parts of binary answers: the header Range (private to routes).
 *
 * One range of bytes is served, straight from the elements' memory, where they lie
 * densely. Several ranges, and what cannot be read as a range, are ignored, as the
 * standard allows: the whole is answered. */
#pragma once

#include "server/routes/routes.h"
#include "server/wire/wire.h"

/* Only of GET, and only while may is true (If-Range). Answers 206 with the range that is asked for
 * and sets *done; leaves *done if the whole is to be answered. False and ERR_RANGE if the range is
 * behind the end. */
bool ranges_answer(http_request *r, wire_format format, const tensor *t, bool may, bool *done,
                   error *err);

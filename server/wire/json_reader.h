/* json_reader -- a JSON body becomes a document, as it arrives.
 *
 * A strict reader of RFC 8259: UTF-8 is checked, duplicate keys, trailing bytes
 * and numbers out of range are refused, depth and sizes are bounded, and nothing
 * recurs. What makes it ours is that it knows where tensors may stand, so that
 * their numbers go to data.h (or base64.h) at once and only the small rest becomes
 * values. Every value is read in a context:
 *
 *   PLAIN   any JSON
 *   VALUE   a tensor may stand here: a bare number, boolean or list is one, and an
 *           object with "data", "base64" or "value" is a tensor object; strings,
 *           null and other objects stay values
 *   VALUES  an object whose members are VALUE
 *   ARGS    a list whose items are VALUE
 *
 * The root's context follows from the kind of document, "inputs", "feeds" and
 * "givens" of a request are VALUES, and a list called "args" is ARGS wherever it
 * stands in a request or graph. A tensor object is first an object like any other;
 * when it closes and has data, it is replaced by its tensor. */
#pragma once

#include "engine/base/arena.h"
#include "engine/base/error.h"
#include "server/wire/held.h"
#include "server/wire/reader.h"
#include "server/wire/value.h"

typedef struct json_reader json_reader;

/* A reader whose document lives in h->arena and whose tensors are in h, paid from
 * b. To be freed with json_reader_free. */
json_reader *json_reader_new(held *h, budget *b, wire_document document);
void json_reader_free(json_reader *r);

bool json_reader_feed(json_reader *r, const char *bytes, size_t n, error *err);

/* Ends the body; returns the document's root, or NULL. */
wire_value *json_reader_end(json_reader *r, error *err);

/* SPDX-License-Identifier: Apache-2.0 */
#include "server/routes/body.h"

#include <string.h>

static bool feed(void *state, const char *bytes, size_t n, error *err)
{
    return wire_reader_feed(((body *)state)->reader, bytes, n, err);
}

static bool end(void *state, error *err)
{
    return wire_reader_end(((body *)state)->reader, err);
}

static void close_body(void *state)
{
    wire_reader_free(((body *)state)->reader);
}

/* No body says what an empty object says. */
static bool open_empty(body *b, arena *a, wire_document document, error *err)
{
    const wire_reader_options options = {.format = WIRE_JSON, .document = document};

    if (document == WIRE_TENSOR_BODY)
        return error_set(err, ERR_LENGTH_REQUIRED, "The body is missing: a tensor is expected.");
    b->reader = wire_reader_new(a, &b->budget, &options, err);
    return b->reader != NULL && wire_reader_feed(b->reader, "{}", 2, err);
}

/* Whether a body of no bytes is a tensor: a raw one that has no elements. */
static bool is_empty_tensor(const wire_reader_options *o)
{
    return o->format == WIRE_RAW && o->hints.has_shape && shape_size(&o->hints.shape) == 0;
}

static bool open_reader(const http_request *r, body *b, wire_document document, error *err)
{
    wire_reader_options options = {.document = document, .length = r->body_length};
    const unsigned formats =
        WIRE_BIT(WIRE_JSON) | WIRE_BIT(WIRE_NPY) | WIRE_BIT(WIRE_NPZ) | WIRE_BIT(WIRE_RAW);

    if (*route_body_media(r) == '\0')
        return open_empty(b, r->arena, document, err);
    if (!wire_format_of_content(route_body_media(r), formats, &options.format, err) ||
        !wire_hints_parse(http_header(r, "Tensor-Dtype"), http_header(r, "Tensor-Shape"),
                          &options.hints, err))
        return false;
    if (r->body_length == 0 && !is_empty_tensor(&options))
        return open_empty(b, r->arena, document, err);
    b->reader = wire_reader_new(r->arena, &b->budget, &options, err);
    return b->reader != NULL;
}

bool body_open(services *s, http_request *r, wire_document document, error *err)
{
    body *b = arena_alloc(r->arena, sizeof *b);

    budget_init(&b->budget, s->config->plan_bytes_max);
    r->sink = (http_sink){.state = b, .feed = feed, .end = end, .close = close_body};
    return open_reader(r, b, document, err);
}

body *body_of(const http_request *r)
{
    return r->sink.state;
}

const wire_value *body_root(const http_request *r)
{
    return wire_reader_root(body_of(r)->reader);
}

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
    body *b = state;

    wire_reader_free(b->reader);
    incoming_free(b->incoming);
    b->incoming = NULL;
}

/* ---- Arrays that go to storage -----------------------------------------------------------------
 */

static bool open_incoming(void *context, dtype t, const shape *s, error *err)
{
    body *b = context;

    b->incoming = incoming_new(b->storage, b->durability, b->form, t, s, err);
    return b->incoming != NULL;
}

static bool write_incoming(void *context, const void *bytes, size_t n, error *err)
{
    return incoming_write(((body *)context)->incoming, bytes, n, err);
}

/* ---- Opening -----------------------------------------------------------------------------------
 */

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
    wire_reader_options options = {.document = document,
                                   .length = r->body_length,
                                   .taker = b->taker.open != NULL ? &b->taker : NULL};
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

static body *body_new(services *s, http_request *r)
{
    body *b = arena_alloc(r->arena, sizeof *b);

    budget_init(&b->budget, s->config->plan_bytes_max);
    r->sink = (http_sink){.state = b, .feed = feed, .end = end, .close = close_body};
    return b;
}

bool body_open(services *s, http_request *r, wire_document document, error *err)
{
    return open_reader(r, body_new(s, r), document, err);
}

bool body_open_stored(services *s, http_request *r, storage_form form, durability d, error *err)
{
    body *b = body_new(s, r);

    b->storage = s->storage;
    b->form = form;
    b->durability = d;
    if (form != FORM_INLINE && d != DURABILITY_MEMORY)
        b->taker = (array_taker){s->config->plan_bytes_max, open_incoming, write_incoming, b};
    return open_reader(r, b, WIRE_TENSOR_BODY, err);
}

body *body_of(const http_request *r)
{
    return r->sink.state;
}

const wire_value *body_root(const http_request *r)
{
    return wire_reader_root(body_of(r)->reader);
}

const wire_value *body_parse(http_request *r, const text *body, error *err)
{
    const wire_reader_options options = {.format = WIRE_JSON, .document = WIRE_PLAIN_BODY};
    const wire_value *root = NULL;
    budget nothing;
    wire_reader *reader;

    budget_init(&nothing, 0);
    reader = wire_reader_new(r->arena, &nothing, &options, err);
    if (reader != NULL && wire_reader_feed(reader, body->bytes, body->length, err) &&
        wire_reader_end(reader, err))
        root = wire_reader_root(reader);
    wire_reader_free(reader);
    return root;
}

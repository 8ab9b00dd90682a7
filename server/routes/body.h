/* body -- request bodies that become documents while they arrive (private to routes).
 *
 * A row's open calls body_open; its handler then finds the document with body_root.
 * Tensors of the body are paid from the request's budget, which goes on to pay for
 * what is computed, and lives as long as the request. */
#pragma once

#include "server/routes/routes.h"
#include "server/wire/wire.h"
#include "storage/storage.h"

typedef struct body {
    budget budget;
    wire_reader *reader;
    storage *storage; /* for an array that is taken */
    storage_form form;
    durability durability;
    array_taker taker;
    incoming *incoming; /* an array too large for memory, in storage already; NULL: none is. Given
                           up with the body, unless the handler takes it */
} body;

/* Makes the body of r a document of this kind, in the format of its media type. A
 * request without a body gives an empty object, where that is a document. */
bool body_open(services *s, http_request *r, wire_document document, error *err);

/* Likewise for a tensor that is to be stored in this way: one that is larger than a request's
 * memory, as npy or raw, goes to its file while it arrives. */
bool body_open_stored(services *s, http_request *r, storage_form form, durability d, error *err);

/* The body that body_open made. */
body *body_of(const http_request *r);
const wire_value *body_root(const http_request *r);

/* A body that was collected as text, read as JSON without tensors; its values live in the arena
 * of r. NULL and the errors of a JSON body. */
const wire_value *body_parse(http_request *r, const text *body, error *err);

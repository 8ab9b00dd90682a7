/* reader -- a request body becomes a document, as it arrives, in any format.
 *
 * Bytes come in pieces of any size; tensors are built while they come, in buffers
 * paid from the request's budget, and no body is ever held as text. Afterwards the
 * document (value.h) says the same whatever the format was:
 *
 *   document         JSON                          binary
 *   WIRE_TENSOR_BODY a tensor                      npy, raw: it; npz: its only member
 *   WIRE_TENSORS_BODY an object of tensors         npz: its members
 *   WIRE_EVAL_BODY   eval's request object         npz: request.json, "inputs" being
 *                                                  the other members; npy, raw: "x"
 *                                                  of "inputs"
 *   WIRE_RUN_BODY    run's request object          the same with "feeds"
 *   WIRE_GRAPH_BODY  an object with a graph        -
 *   WIRE_PLAIN_BODY  any JSON, without tensors     -
 *
 * Memory: the tensors' bytes, and for JSON at most WIRE_HEAP_MAX for the rest,
 * which itself may have at most WIRE_REST_MAX bytes of text.
 *
 * Threads: a reader belongs to one thread at a time. */
#pragma once

#include "engine/base/arena.h"
#include "engine/base/error.h"
#include "server/wire/array_reader.h"
#include "server/wire/format.h"
#include "server/wire/value.h"

enum {
    WIRE_REST_MAX = 8 << 20,   /* bytes of JSON outside tensor data */
    WIRE_HEAP_MAX = 256 << 20, /* bytes of memory that they become */
    WIRE_KEY_MAX = 256,        /* bytes of a member's name */
    WIRE_MEMBERS_MAX = 1000000 /* members and items outside tensor data */
};

typedef enum wire_document {
    WIRE_PLAIN_BODY,
    WIRE_TENSOR_BODY,
    WIRE_TENSORS_BODY,
    WIRE_EVAL_BODY,
    WIRE_RUN_BODY,
    WIRE_GRAPH_BODY
} wire_document;

typedef struct wire_reader_options {
    wire_format format;
    wire_document document;
    wire_hints hints;         /* of the headers; raw needs both */
    int64_t length;           /* of the body, as announced; -1 if it was not */
    const array_taker *taker; /* of npy and raw ones; NULL: nobody. Lives as long as the reader */
} wire_reader_options;

typedef struct wire_reader wire_reader;

/* A reader of one body, whose document lives in a and whose tensors are paid from
 * b. To be freed with wire_reader_free. NULL and ERR_LENGTH_REQUIRED, ERR_SIZE or
 * an error of buffer_new if a raw body cannot be taken, ERR_MEDIA_TYPE if the format
 * does not suit the document. */
wire_reader *wire_reader_new(arena *a, budget *b, const wire_reader_options *options, error *err);

/* Gives up the reader's references to its tensors. NULL is allowed. */
void wire_reader_free(wire_reader *r);

/* Takes the next n bytes. False and an error if the body cannot be right; the
 * error tells where (byte offset, JSON pointer). After an error, only free it. */
bool wire_reader_feed(wire_reader *r, const void *bytes, size_t n, error *err);

/* Says that the body is complete. False and an error if it is not. */
bool wire_reader_end(wire_reader *r, error *err);

/* The document, after wire_reader_end. Its values live in the arena, its tensors
 * until wire_reader_free. */
const wire_value *wire_reader_root(const wire_reader *r);

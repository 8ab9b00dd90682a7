/* data -- reads the numbers of a tensor from JSON text as it arrives.
 *
 * What it takes is one JSON value: a number, a boolean, one of the strings "NaN",
 * "Infinity", "-Infinity" (or these as bare words, as Python writes them), or
 * nested lists of such. It comes in pieces of any size, cut anywhere; elements go
 * straight into the bytes that become the tensor's, the text is never kept.
 *
 * The shape follows from the brackets: the first element says how deep all are,
 * the first list of each depth how long all are.
 *
 * The element type may be known before (data_begin), after (data_finish) or never.
 * Until it is, integers are collected as int64 (or uint64), and from the first
 * float on everything as float64. Reading that as a smaller float would round
 * twice; it shows only where the float64 lies on the border between two float32
 * values, and such elements are kept aside in both readings (patches). So the
 * order of a tensor object's members changes nothing, except that elements which
 * come before their type take eight bytes each until the object ends.
 *
 * Reading order: data.c (brackets and tokens), data_add.c (elements), data_run.c
 * (the same for plain numbers, fast, with plain.h), data_finish.c (types and shapes). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/error.h"
#include "engine/tensor/tensor.h"
#include "server/wire/grow.h"

enum { DATA_TOKEN_MAX = 1024, DATA_PATH_MAX = 160 };

typedef enum data_state {
    DATA_ITEM,          /* an item must come */
    DATA_ITEM_OR_CLOSE, /* after [ */
    DATA_COMMA_OR_CLOSE,
    DATA_DONE
} data_state;

typedef enum data_kind {
    KIND_INTEGER, /* int64, or uint64 if has_big */
    KIND_FLOAT,   /* float64 */
    KIND_DIRECT   /* elements of the type part */
} data_kind;

typedef struct data {
    data_state state;
    data_kind kind;
    dtype part;                   /* KIND_DIRECT: the type, or that of a complex type's parts */
    int depth_max;                /* of lists */
    int level;                    /* lists open */
    int rank;                     /* -1 until the first element or the end of an empty list */
    int64_t count[RANK_MAX + 1];  /* items so far of each open list; [0]: outside */
    int64_t length[RANK_MAX + 1]; /* items of every list of that depth; -1: unknown */
    bool has_bool, has_number, has_big, has_negative;
    int64_t elements;
    grow bytes;
    grow patches;
    bool in_token, in_string; /* text has the beginning of a token that was cut */
    size_t token_length;
    char token[DATA_TOKEN_MAX];
    char path[DATA_PATH_MAX]; /* of the fault: a JSON pointer from the data on */
} data;

/* What else is known of a tensor when its data has ended. */
typedef struct data_facts {
    bool has_dtype, has_shape;
    dtype dtype;
    shape shape;
} data_facts;

/* Prepares d, paying from b (or NULL); data_clear releases what it holds. */
void data_init(data *d, budget *b);
void data_clear(data *d);

/* Starts a tensor of the given element type, NULL if that is not known yet, with
 * lists at most depth_max deep. */
void data_begin(data *d, const dtype *known, int depth_max);

/* Reads on from text, which is the byte number offset of the body, to end or to
 * where the value ends (d->state is DATA_DONE then); returns the byte behind what
 * was read. NULL and ERR_JSON, ERR_JSON_DEPTH, ERR_JSON_LIMIT, ERR_SHAPE (ragged
 * lists), ERR_VALUE, ERR_OVERFLOW, or an error of budget_charge; for those that
 * concern an element d->path says where it is. */
const char *data_feed(data *d, const char *text, const char *end, size_t offset, error *err);

/* Says that no text follows; the value must be complete then. */
bool data_end(data *d, size_t offset, error *err);

/* Makes the tensor. False and ERR_VALUE, ERR_OVERFLOW (an element that the type
 * cannot hold), ERR_SHAPE, ERR_SIZE (a shape that does not fit the data). */
bool data_finish(data *d, const data_facts *facts, tensor *result, error *err);

/* Makes the weak scalar that a bare number or boolean is, of class class or, if
 * that is NULL, of the class it is written in. */
bool data_finish_weak(data *d, const dtype_class *class, tensor *result, error *err);

/* base64 -- the bytes of a tensor from a JSON string in base64, as it arrives.
 *
 * Standard alphabet with padding (RFC 4648, section 4), without line breaks. The
 * one escape that JSON writers use inside it, \/, is taken. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/error.h"
#include "server/wire/grow.h"

typedef struct base64 {
    grow *bytes;    /* where they go */
    uint32_t bits;  /* of the characters of a group so far */
    int characters; /* of the group: 0 to 3 */
    int padding;    /* = so far */
    bool escaped;   /* a backslash came */
    bool done;      /* the closing quote came */
} base64;

/* Starts behind the opening quote; the bytes are added to those of g. */
void base64_begin(base64 *b, grow *g);

/* Reads on from text, byte number offset of the body, to end or through the
 * closing quote (b->done then); returns the byte behind what was read. NULL and
 * ERR_JSON, or an error of budget_charge. */
const char *base64_feed(base64 *b, const char *text, const char *end, size_t offset, error *err);

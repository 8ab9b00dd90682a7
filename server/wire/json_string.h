/* json_string -- a JSON string, decoded as it arrives.
 *
 * Escapes become what they stand for, surrogates are paired, UTF-8 is checked
 * byte by byte (no overlong forms, no surrogates, nothing above U+10FFFF), and
 * U+0000 is refused, since names and programs end in one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/error.h"
#include "engine/base/text.h"

typedef struct json_string {
    text text;              /* what was decoded so far */
    bool escaped;           /* a backslash came */
    int hex;                /* digits of \u still to come */
    uint32_t code;          /* of the \u being read */
    uint32_t high;          /* a first surrogate that waits for the second, or 0 */
    int more;               /* bytes of a character still to come */
    unsigned char low, top; /* bounds of the next of them */
    bool done;              /* the closing quote came */
} json_string;

void json_string_init(json_string *s);
void json_string_clear(json_string *s);

/* Starts behind the opening quote. */
void json_string_begin(json_string *s);

/* Reads on from text, byte number offset of the body, to end or through the
 * closing quote (s->done then); returns the byte behind what was read, NULL and
 * ERR_JSON with the offset if the string is not valid. */
const char *json_string_feed(json_string *s, const char *text, const char *end, size_t offset,
                             error *err);

/* name -- what variables, graphs and inputs may be called.
 *
 * A letter of any script or an underscore, then letters, digits and
 * underscores, at most NAME_BYTES bytes of UTF-8 in normal form C; not a word
 * of the program language and not the name of an element type. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "engine/base/arena.h"
#include "engine/base/error.h"

enum { NAME_BYTES = 128 };

/* The name in normal form, in a. NULL and ERR_NAME, saying what is wrong, if
 * the bytes are no name. */
const char *name_normalise(arena *a, const char *bytes, size_t length, error *err);

/* Whether the word is kept by the language (Python's keywords and constants). */
bool name_is_keyword(const char *bytes, size_t length);

/* The bytes of the identifier that text (length bytes) begins with; 0 if it
 * begins with none. */
size_t name_scan(const char *text, size_t length);

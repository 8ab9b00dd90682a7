/* token -- the files that hold the local token (private to auth). */
#pragma once

#include <stdbool.h>

#include "engine/base/error.h"

enum { TOKEN_DIGITS = 64 }; /* 256 bits in hexadecimal */

/* Writes a file of mode 0600 under another name and moves it into place; what root writes is the
 * owner's of the directory. */
bool token_write_file(const char *path, const char *bytes, error *err);

/* Reads DATA/token into token, or makes it if there is none; sees to it that
 * DATA/curl says the same. err tells which file failed and why. */
bool token_load(const char *data, char token[TOKEN_DIGITS + 1], error *err);

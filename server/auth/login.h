/* login -- the one-time code in the link that lets a browser in (private to auth).
 *
 * The link carries a code, not the token: what stays in a browser's history, or on a screen, is
 * worth nothing once it was used, or ten minutes later. DATA/login holds the SHA-256 of the one
 * code there is and when it ends; who removes the file has used it. So another process of the
 * same user can make a code for a server that runs. */
#pragma once

#include <stdbool.h>

#include "engine/base/error.h"
#include "engine/base/secret.h"

/* Makes a code in the place of the one there was. ERR_VALUE if its file cannot be written. */
bool login_code_new(const char *data, char code[SHA256_DIGITS + 1], error *err);

/* Whether a digest is that of the code, which is used by that. */
bool login_code_use(const char *data, const uint8_t digest[SHA256_BYTES]);

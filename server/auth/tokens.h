/* tokens -- the tokens besides the local one: DATA/tokens, and who may do what with them.
 *
 * A line of the file is a token: its id, scopes, when it expires (microseconds since 1970; 0:
 * never), the SHA-256 of the token, a name for people, and, unless it is for all names, the
 * prefixes of those that it is for, with commas between. The token itself is shown once,
 * when it is made, and kept nowhere. The file is written anew and moved into place, so that
 * nobody reads half of it; a server looks at it again when it has changed.
 *
 * Threads: a list that was read is constant. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/error.h"
#include "engine/base/secret.h"
#include "engine/base/text.h"
#include "server/auth/auth.h"

enum { TOKEN_NAME_BYTES = 64 };

typedef struct token_row {
    caller caller;
    int64_t expires_us; /* 0: never */
    uint8_t digest[SHA256_BYTES];
    char name[TOKEN_NAME_BYTES + 1];
} token_row;

typedef struct token_list {
    token_row *rows; /* owned */
    size_t count;
} token_list;

/* Reads DATA/tokens; no file is no token. ERR_VALUE, saying which line is wrong. */
bool tokens_read(const char *data, token_list *list, error *err);
void tokens_clear(token_list *list);

/* The row with a digest that has not expired; NULL if there is none. Takes the same time
 * whichever it is. */
const token_row *tokens_find(const token_list *list, const uint8_t digest[SHA256_BYTES]);

/* The same by its id, which is no secret. */
const token_row *tokens_find_id(const token_list *list, const char *id);

typedef struct token_wanted {
    const char *name, *scopes, *prefixes; /* lists with commas between; no prefixes: all names */
    int64_t expires_us;                   /* since 1970; 0: never */
} token_wanted;

/* Makes a token and adds it to the file; its 64 digits go to token. ERR_VALUE
 * for a name that is taken or none, scopes that are not known, or prefixes that no name has. */
bool tokens_create(const char *data, const token_wanted *wanted, char token[SHA256_DIGITS + 1],
                   error *err);

/* Removes the token of a name or id. ERR_VALUE if there is none. */
bool tokens_revoke(const char *data, const char *name, error *err);

/* Adds a line for each. */
bool tokens_add_list(const char *data, text *to, error *err);

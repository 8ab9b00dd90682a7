/* sessions -- browsers that have logged in (private to auth).
 *
 * A session is 256 random bits that a browser keeps as a cookie; here, in memory alone, there is
 * their SHA-256, beside that of the token it stands for. So a session is worth what its token is
 * worth at the moment, and ends with it: revoked, expired or made anew. It ends, too, after a
 * time, when somebody logs out, and with the server. There is room for a fixed number; one more
 * takes the place of the one that ends first.
 *
 * Threads: one at a time; auth has a lock. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "engine/base/secret.h"

enum { SESSIONS = 256 };

typedef struct session {
    uint8_t digest[SHA256_BYTES], token[SHA256_BYTES];
    int64_t ends_us; /* by clock_us; 0: there is none */
} session;

typedef struct sessions {
    session items[SESSIONS];
} sessions;

/* Makes a session for the token with a digest; its secret's digits go to secret. */
void sessions_begin(sessions *s, const uint8_t token[SHA256_BYTES], int64_t ends_us,
                    char secret[SHA256_DIGITS + 1]);

/* The session of a secret; NULL if there is none. Takes the same time whichever it is. */
session *sessions_find(sessions *s, const char *secret, size_t n);

/* SPDX-License-Identifier: Apache-2.0 */
#include "server/auth/sessions.h"

#include <string.h>

#include "engine/base/clock.h"

void sessions_begin(sessions *s, const uint8_t token[SHA256_BYTES], int64_t ends_us,
                    char secret[SHA256_DIGITS + 1])
{
    session *made = s->items;

    for (int i = 1; i < SESSIONS; i++)
        if (s->items[i].ends_us < made->ends_us)
            made = &s->items[i];
    random_hex(secret, SHA256_BYTES);
    sha256(secret, SHA256_DIGITS, made->digest);
    memcpy(made->token, token, sizeof made->token);
    made->ends_us = ends_us;
}

session *sessions_find(sessions *s, const char *secret, size_t n)
{
    uint8_t digest[SHA256_BYTES];
    session *found = NULL;

    sha256(secret, n, digest);
    for (int i = 0; i < SESSIONS; i++)
        if (digest_equal(s->items[i].digest, digest))
            found = &s->items[i];
    return found != NULL && found->ends_us > clock_us() ? found : NULL;
}

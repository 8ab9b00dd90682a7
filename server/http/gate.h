/* gate -- whether a request's framing is beyond doubt (private to http).
 *
 * Two readers of one byte stream must never disagree about where a request ends
 * or whom it addresses. The library is lenient; so every request passes here
 * first: known method and version, one Host, at most one statement of the body's
 * length, header names that are tokens, values without control bytes, and no
 * header twice that means something once. After a refusal the connection is
 * closed.
 *
 * Bare line feeds and folded lines are hidden by the library and not seen here. */
#pragma once

#include "server/http/http.h"

typedef struct gate_input {
    const char *method, *version;
    const http_pairs *headers;
    bool has_nul; /* a NUL was seen in a name or a value */
    int64_t headers_max;
} gate_input;

/* Checks it all and finds the announced length of the body: 0 if there is none,
 * -1 if it is chunked. False and ERR_TRANSPORT, ERR_TRANSFER_ENCODING, ERR_METHOD,
 * ERR_EXPECTATION or ERR_HEADERS. */
bool gate_check(const gate_input *in, int64_t *body_length, error *err);

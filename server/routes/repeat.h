/* repeat -- requests that may be sent again (private to routes).
 *
 * A caller who does not know whether his request arrived sends it again with the same header
 * Idempotency-Key, and gets the first answer. Keys are kept in storage under hidden names:
 *
 *     .keys/H    H is the SHA-256 of the key; the text tells the request's fingerprint, the
 *                commit that it made, and the answer
 *
 * What a request commits has its key in the same transaction, so that it is never done twice,
 * whatever the server dies of. The answer, of up to 64 KiB, is added when it is known. If the
 * server ended in between, or the answer was longer, a repetition is told the commit alone.
 * A request that failed has changed nothing: its key is not kept, and the repetition is tried.
 *
 * The life of a key: repeat_open at admission, which lets the body be hashed while it comes;
 * repeat_handle in the place of the handler; repeat_commit where handlers commit. */
#pragma once

#include "server/routes/routes.h"

/* The keys that are kept; s lives longer. */
repeats *repeats_new(const services *s);
void repeats_free(repeats *rs);

/* Reads the key of a request that has one and is not safe; *result NULL: it has none.
 * ERR_REQUEST for a key that is none. */
bool repeat_open(services *s, http_request *r, repeat **result, error *err);

/* Answers as before if the request came before, and with its handler if not. ERR_KEY_REUSED,
 * ERR_KEY_BUSY, ERR_KEY_QUOTA, or the handler's error. */
bool repeat_handle(services *s, http_request *r, repeat *k, route_handle *handle, error *err);

/* Commits what a request asks, its key with it. */
bool repeat_commit(http_request *r, txn *x, commit_result *done, error *err);

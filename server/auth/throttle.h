/* throttle -- how often each of many may do something (private to auth).
 *
 * A bucket for each key, of which something is taken and which fills again with time. There is
 * room for a fixed number of keys, so that no caller can make it grow: where that is full, the
 * key that was not seen for longest gives way, and would begin with a full bucket again.
 *
 * Threads: all functions may be called by any. */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct throttle throttle;

/* Buckets of burst, into which so much comes in a minute. */
throttle *throttle_new(int64_t per_minute, int64_t burst);
void throttle_free(throttle *t);

/* Takes one from the bucket of a key of n bytes. 0, or the microseconds until there is one. */
int64_t throttle_take(throttle *t, const void *key, size_t n, int64_t now_us);

/* SPDX-License-Identifier: Apache-2.0 */
#include "server/auth/throttle.h"

#include <pthread.h>
#include <stdlib.h>

#include "engine/base/table.h"

enum { SLOTS = 1024, PROBES = 8, MINUTE_US = 60000000 };

typedef struct bucket {
    uint64_t key; /* its seeded hash; nobody can choose keys that collide */
    int64_t seen_us;
    double left;
} bucket;

struct throttle {
    pthread_mutex_t lock;
    double per_us, burst;
    bucket slots[SLOTS];
};

throttle *throttle_new(int64_t per_minute, int64_t burst)
{
    throttle *t = calloc(1, sizeof *t);

    if (t == NULL)
        abort();
    pthread_mutex_init(&t->lock, NULL);
    t->per_us = (double)per_minute / MINUTE_US;
    t->burst = (double)burst;
    return t;
}

void throttle_free(throttle *t)
{
    if (t == NULL)
        return;
    pthread_mutex_destroy(&t->lock);
    free(t);
}

/* The bucket of a key, filled up to now; a full one in the place of the oldest if it is new. */
static bucket *bucket_of(throttle *t, uint64_t key, int64_t now_us)
{
    bucket *oldest = NULL;

    for (uint64_t i = 0; i < PROBES; i++) {
        bucket *b = &t->slots[(key + i) % SLOTS];

        if (b->key == key && b->seen_us != 0) {
            b->left += (double)(now_us - b->seen_us) * t->per_us;
            b->left = b->left > t->burst ? t->burst : b->left;
            b->seen_us = now_us;
            return b;
        }
        if (oldest == NULL || b->seen_us < oldest->seen_us)
            oldest = b;
    }
    *oldest = (bucket){.key = key, .seen_us = now_us, .left = t->burst};
    return oldest;
}

int64_t throttle_take(throttle *t, const void *key, size_t n, int64_t now_us)
{
    int64_t wait_us = 0;
    bucket *b;

    pthread_mutex_lock(&t->lock);
    b = bucket_of(t, hash_bytes(key, n), now_us);
    if (b->left >= 1)
        b->left -= 1;
    else
        wait_us = (int64_t)((1 - b->left) / t->per_us) + 1;
    pthread_mutex_unlock(&t->lock);
    return wait_us;
}

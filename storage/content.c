/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "storage/slots.h"

enum { EVICTION_STEPS = 64 }; /* at one time, so that adding has a bounded cost */

/* ---- Life ---------------------------------------------------------------------- */

static bool take_quota(storage *s, int64_t n, error *err)
{
    const int64_t most = s->options.bytes_max;

    if (atomic_fetch_add(&s->bytes, n) + n <= most)
        return true;
    atomic_fetch_sub(&s->bytes, n);
    return error_set_limit(err, ERR_QUOTA, most, n,
                           "%" PRId64 " more bytes would pass the quota of %" PRId64, n, most);
}

bool content_check_quota(storage *s, int64_t n, error *err)
{
    if (!take_quota(s, n, err))
        return false;
    atomic_fetch_sub(&s->bytes, n);
    return true;
}

content *content_alloc(storage *s, dtype t, const shape *shape)
{
    content *c = calloc(1, sizeof *c + (size_t)shape->rank * sizeof *c->length);

    if (c == NULL)
        abort();
    c->references = 1;
    c->doomed = true;
    c->storage = s;
    c->dtype = t;
    c->rank = shape->rank;
    c->nbytes = shape_size(shape) * (int64_t)dtype_size(t);
    memcpy(c->length, shape->length, (size_t)shape->rank * sizeof *c->length);
    return c;
}

content *content_new(storage *s, dtype t, const shape *shape, error *err)
{
    /* LENGTH_MAX elements of 16 bytes are far from the end of int64_t. */
    if (!shape_check(shape, "storage", err) ||
        !take_quota(s, shape_size(shape) * (int64_t)dtype_size(t), err))
        return NULL;
    return content_alloc(s, t, shape);
}

/* Gives c the text; NULL, and c is gone, if there is no memory. */
static content *fill_with_text(content *c, const char *text, size_t n, error *err)
{
    buffer *bytes = c == NULL ? NULL : buffer_new(NULL, n + 1, err);

    if (bytes == NULL) {
        content_unref(c);
        return NULL;
    }
    memcpy(buffer_bytes(bytes), text, n);
    ((char *)buffer_bytes(bytes))[n] = '\0';
    content_cache_take(c, bytes);
    return c;
}

content *content_of_text(storage *s, const char *text, size_t n, error *err)
{
    const shape flat = {.rank = 1, .length = {(int64_t)n}};

    return fill_with_text(content_new(s, DT_U8, &flat, err), text, n, err);
}

content *content_of_receipt(storage *s, const char *text, size_t n, error *err)
{
    const shape flat = {.rank = 1, .length = {(int64_t)n}};

    atomic_fetch_add(&s->bytes, (int64_t)n);
    return fill_with_text(content_alloc(s, DT_U8, &flat), text, n, err);
}

content *content_ref(content *c)
{
    if (c != NULL)
        atomic_fetch_add_explicit(&c->references, 1, memory_order_relaxed);
    return c;
}

/* ---- The cache ------------------------------------------------------------------- */

/* Takes c out of the list of what may be forgotten, if it is there. With the lock. */
static void unlink_cached(content *c)
{
    storage *s = c->storage;

    if (!c->linked)
        return;
    *(c->newer != NULL ? &c->newer->older : &s->newest) = c->older;
    *(c->older != NULL ? &c->older->newer : &s->oldest) = c->newer;
    c->newer = c->older = NULL;
    c->linked = false;
    s->cached -= (int64_t)buffer_size(c->bytes);
}

static void link_newest(content *c)
{
    storage *s = c->storage;

    c->newer = NULL;
    c->older = s->newest;
    *(s->newest != NULL ? &s->newest->newer : &s->oldest) = c;
    s->newest = c;
    c->linked = true;
    s->cached += (int64_t)buffer_size(c->bytes);
}

/* Decides on the content that was linked for longest: what is only in memory
 * stays and is not asked again; what was used since the last look, or may not be
 * in the index yet, gets a second chance. */
static void evict_oldest(storage *s)
{
    content *oldest = s->oldest;

    unlink_cached(oldest);
    if (oldest->is_volatile)
        return;
    if (oldest->was_used || oldest->doomed) {
        oldest->was_used = false;
        link_newest(oldest);
        return;
    }
    buffer_unref(oldest->bytes);
    oldest->bytes = NULL;
}

static void evict(storage *s)
{
    for (int i = 0; i < EVICTION_STEPS && s->cached > s->options.cache_bytes_max; i++)
        evict_oldest(s);
}

void content_cache_take(content *c, buffer *bytes)
{
    storage *s = c->storage;

    pthread_mutex_lock(&s->cache_lock);
    if (c->bytes != NULL) { /* another thread was faster */
        buffer_unref(bytes);
    } else {
        c->bytes = bytes;
        link_newest(c);
        evict(s);
    }
    pthread_mutex_unlock(&s->cache_lock);
}

static buffer *cached_bytes(content *c)
{
    buffer *bytes = NULL;

    pthread_mutex_lock(&c->storage->cache_lock);
    if (c->bytes != NULL) {
        bytes = buffer_ref(c->bytes);
        c->was_used = true;
    }
    pthread_mutex_unlock(&c->storage->cache_lock);
    return bytes;
}

int64_t content_own_bytes(const content *c)
{
    return c->place != NULL || c->slots != NULL ? 0 : c->nbytes;
}

uint32_t content_number(const buffer *blob, int64_t i)
{
    const uint8_t *p = (const uint8_t *)buffer_bytes(blob) + 4 * i;

    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

void content_set_number(buffer *blob, int64_t i, uint32_t number)
{
    uint8_t *p = (uint8_t *)buffer_bytes(blob) + 4 * i;

    for (int k = 0; k < 4; k++)
        p[k] = (uint8_t)(number >> 8 * k);
}

int64_t content_chunks(const content *c)
{
    return c->nbytes / CHUNK_BYTES + (c->nbytes % CHUNK_BYTES != 0);
}

int64_t content_blob_bytes(const content *c)
{
    const int64_t numbers = content_chunks(c) * (int64_t)sizeof(uint32_t);

    if (c->place != NULL)
        return 0;
    return !c->in_file ? c->nbytes : c->slots == NULL ? numbers : 2 * numbers;
}

buffer *content_bytes(content *c, error *err)
{
    storage *s = c->storage;
    buffer *bytes = cached_bytes(c);

    if (bytes != NULL)
        return bytes;
    pthread_mutex_lock(&s->index_lock);
    bytes = index_read_blob(s->index, c->id, err);
    pthread_mutex_unlock(&s->index_lock);
    if (bytes == NULL)
        return NULL;
    if (buffer_size(bytes) != (size_t)content_blob_bytes(c) + 1) {
        buffer_unref(bytes);
        error_set(err, ERR_INTEGRITY, "blob %" PRId64 " of the index has the wrong size", c->id);
        return NULL;
    }
    content_cache_take(c, buffer_ref(bytes));
    return bytes;
}

void content_unref(content *c)
{
    storage *s;

    if (c == NULL || atomic_fetch_sub(&c->references, 1) > 1)
        return;
    s = c->storage;
    pthread_mutex_lock(&s->cache_lock);
    if (c->bytes != NULL) {
        unlink_cached(c);
        buffer_unref(c->bytes);
        c->bytes = NULL;
    }
    pthread_mutex_unlock(&s->cache_lock);
    atomic_fetch_sub(&s->bytes, content_own_bytes(c));
    free(c->place);
    c->place = NULL;
    free(c->verified);
    c->verified = NULL;
    if (c->doomed && (c->in_file || c->id != 0))
        storage_add_garbage(s, c);
    else
        content_free(c);
}

void content_free(content *c)
{
    slots_unref(c->slots);
    free(c->map);
    free(c);
}

void content_shape(const content *c, shape *result)
{
    result->rank = c->rank;
    memcpy(result->length, c->length, (size_t)c->rank * sizeof *c->length);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/tensor/buffer.h"

#include <inttypes.h>
#include <stdlib.h>

#include "engine/tensor/large.h"

struct buffer {
    _Atomic int references;
    void *bytes;
    size_t size;
    budget *budget;
    void (*release)(void *owner); /* NULL: the bytes are ours */
    void *owner;
    _Atomic bool lost;
};

static _Atomic int64_t memory_used;
static int64_t memory_limit = INT64_MAX;

/* ---- Who pays -------------------------------------------------------------- */

void server_memory_set_limit(int64_t bytes)
{
    memory_limit = bytes;
}

int64_t server_memory_used(void)
{
    return memory_used;
}

int64_t server_memory_limit(void)
{
    return memory_limit;
}

void budget_init(budget *b, int64_t limit)
{
    b->limit = limit;
    b->used = 0;
    b->peak = 0;
}

/* Adds bytes to *account if that stays within limit. */
static bool take(_Atomic int64_t *account, int64_t bytes, int64_t limit)
{
    int64_t used = atomic_load(account);

    do {
        if (bytes > limit - used)
            return false;
    } while (!atomic_compare_exchange_weak(account, &used, used + bytes));
    return true;
}

static void raise_peak(budget *b)
{
    int64_t used = b->used, peak = b->peak;

    while (used > peak && !atomic_compare_exchange_weak(&b->peak, &peak, used))
        continue;
}

static bool charge(budget *b, int64_t bytes, error *err)
{
    if (b != NULL && !take(&b->used, bytes, b->limit))
        return error_set_limit(err, ERR_PLAN_MEMORY, b->limit, bytes,
                               "the request needs %" PRId64
                               " more bytes, above its limit of %" PRId64,
                               bytes, b->limit);
    if (!take(&memory_used, bytes, memory_limit)) {
        if (b != NULL)
            atomic_fetch_sub(&b->used, bytes);
        return error_set_limit(err, ERR_MEMORY_BUSY, memory_limit, bytes,
                               "the server has no room for %" PRId64 " more bytes now", bytes);
    }
    if (b != NULL)
        raise_peak(b);
    return true;
}

/* What is kept of freed memory makes room for what is in use. */
static void make_room(void)
{
    if (large_kept() > memory_limit - memory_used)
        large_drop();
}

bool budget_charge(budget *b, int64_t bytes, error *err)
{
    if (!charge(b, bytes, err))
        return false;
    make_room();
    return true;
}

void budget_release(budget *b, int64_t bytes)
{
    if (b != NULL)
        atomic_fetch_sub(&b->used, bytes);
    atomic_fetch_sub(&memory_used, bytes);
}

/* ---- Life cycle ------------------------------------------------------------ */

int64_t buffer_cost(size_t size)
{
    return (int64_t)((size + BUFFER_ALIGN) / BUFFER_ALIGN * BUFFER_ALIGN);
}

/* Bytes for a buffer of this cost, and their release. */
static void *bytes_new(size_t cost)
{
    return cost >= LARGE_BYTES ? large_alloc(cost) : aligned_alloc(BUFFER_ALIGN, cost);
}

static void bytes_free(void *bytes, size_t cost)
{
    if (bytes != NULL && cost >= LARGE_BYTES)
        large_free(bytes, cost);
    else
        free(bytes);
}

buffer *buffer_new(budget *b, size_t size, error *err)
{
    const size_t cost = (size_t)buffer_cost(size);
    buffer *buf;
    void *bytes;

    if (size > (size_t)INT64_MAX / 2) {
        error_set(err, ERR_PLAN_MEMORY, "a tensor of %zu bytes is not possible", size);
        return NULL;
    }
    if (!charge(b, buffer_cost(size), err))
        return NULL;
    buf = malloc(sizeof *buf);
    bytes = bytes_new(cost);
    make_room(); /* now, since the bytes may be of what was kept */
    if (buf == NULL || bytes == NULL) {
        free(buf);
        bytes_free(bytes, cost);
        budget_release(b, buffer_cost(size));
        error_set(err, ERR_MEMORY_BUSY, "the machine has no room for %zu bytes now", size);
        return NULL;
    }
    *buf = (buffer){.references = 1, .bytes = bytes, .size = size, .budget = b};
    return buf;
}

buffer *buffer_new_foreign(void *bytes, size_t size, void (*release)(void *owner), void *owner)
{
    buffer *buf = malloc(sizeof *buf);

    if (buf == NULL)
        abort();
    *buf =
        (buffer){.references = 1, .bytes = bytes, .size = size, .release = release, .owner = owner};
    return buf;
}

buffer *buffer_ref(buffer *buf)
{
    atomic_fetch_add_explicit(&buf->references, 1, memory_order_relaxed);
    return buf;
}

void buffer_unref(buffer *buf)
{
    if (buf == NULL || atomic_fetch_sub(&buf->references, 1) > 1)
        return;
    if (buf->release != NULL)
        buf->release(buf->owner);
    else {
        bytes_free(buf->bytes, (size_t)buffer_cost(buf->size));
        budget_release(buf->budget, buffer_cost(buf->size));
    }
    free(buf);
}

/* ---- Contents -------------------------------------------------------------- */

void *buffer_bytes(const buffer *buf)
{
    return buf->bytes;
}

size_t buffer_size(const buffer *buf)
{
    return buf->size;
}

_Atomic bool *buffer_loss(buffer *buf)
{
    return &buf->lost;
}

bool buffer_is_lost(const buffer *buf)
{
    return buf->lost;
}

bool buffer_is_exclusive(const buffer *buf)
{
    return buf->release == NULL && atomic_load(&buf->references) == 1;
}

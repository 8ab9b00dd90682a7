/* buffer -- the bytes behind a tensor, shared by counting references.
 *
 * Life of a buffer: its maker fills it, then publishes it by passing it on.
 * From then on it is never written again, so any number of threads may read it
 * without a lock; the one exception is a sole owner (buffer_is_exclusive).
 *
 * Every buffer made here is paid for twice: from the budget of the request
 * that asked for it, and from the memory of the whole server.
 *
 * Invariants
 *   - its bytes are aligned to BUFFER_ALIGN and never NULL, even for size 0;
 *   - from size up to the next multiple of BUFFER_ALIGN there is readable
 *     memory, so that a vector kernel may load a whole last vector. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/error.h"

enum { BUFFER_ALIGN = 64 }; /* bytes: one cache line, one AVX-512 vector */

typedef struct buffer buffer;

/* ---- Who pays -------------------------------------------------------------- */

/* What one request may hold in buffers, and the most it ever held. Lives longer
 * than every buffer paid from it. Thread-safe once initialised. */
typedef struct budget {
    int64_t limit;        /* bytes */
    _Atomic int64_t used; /* bytes */
    _Atomic int64_t peak; /* bytes: the high-water mark of used */
} budget;

/* A budget of limit bytes, none used. */
void budget_init(budget *b, int64_t limit);

/* Takes bytes from the budget and the server's memory without making a buffer
 * (scratch, decoders). False and ERR_PLAN_MEMORY or ERR_MEMORY_BUSY if there is
 * not enough; nothing is taken then. */
bool budget_charge(budget *b, int64_t bytes, error *err);
void budget_release(budget *b, int64_t bytes);

/* Sets what all budgets together may take, in bytes; asked once at start. */
void server_memory_set_limit(int64_t bytes);
/* What all budgets hold now, and the limit, in bytes. */
int64_t server_memory_used(void);
int64_t server_memory_limit(void);

/* ---- Life cycle ------------------------------------------------------------ */

/* A buffer of size bytes, not cleared, holding one reference that the caller
 * owns, paid from b (which may be NULL for what belongs to no request). NULL and
 * an error of budget_charge otherwise. */
buffer *buffer_new(budget *b, size_t size, error *err);

/* A buffer around bytes that somebody else keeps (a mapped file): release(owner)
 * is called when the last reference goes. It costs no budget. The bytes must
 * keep the invariants above. */
buffer *buffer_new_foreign(void *bytes, size_t size, void (*release)(void *owner), void *owner);

/* Adds a reference and returns buf. Thread-safe. */
buffer *buffer_ref(buffer *buf);

/* Gives up one reference; frees the bytes with the last one. NULL is allowed.
 * Thread-safe. */
void buffer_unref(buffer *buf);

/* ---- Contents -------------------------------------------------------------- */

/* The bytes, valid while the caller holds a reference. Write to them only
 * before publishing, or as sole owner. */
void *buffer_bytes(const buffer *buf);

/* Size in bytes, as asked for in buffer_new(). */
size_t buffer_size(const buffer *buf);

/* What buffer_new takes from the budget for size bytes: size rounded up. */
int64_t buffer_cost(size_t size);

/* Where whoever keeps foreign bytes notes that some could not be read, and zeros stand in their
 * place; valid as long as the buffer. Whoever computed with them asks afterwards. */
_Atomic bool *buffer_loss(buffer *buf);
bool buffer_is_lost(const buffer *buf);

/* Whether the caller's reference is the only one and the bytes are ours, so
 * that a result may be computed in place. */
bool buffer_is_exclusive(const buffer *buf);

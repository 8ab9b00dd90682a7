/* grow -- bytes of a tensor whose size nobody knows yet.
 *
 * Small ones lie on the heap. Large ones lie in a mapping of their own, which
 * grows by moving page tables, not bytes, and becomes the tensor's buffer as it
 * is: reading a tensor never holds its bytes twice. What is mapped but not yet
 * written costs no memory; what is written is paid from the request's budget, in
 * steps of GROW_STEP. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "engine/base/error.h"
#include "engine/tensor/buffer.h"

enum { GROW_STEP = 1 << 20, GROW_SMALL = 1 << 16 }; /* bytes */

typedef struct grow {
    char *bytes;
    size_t size, limit; /* written; may be written before asking for more */
    size_t room;        /* of the heap block or the mapping */
    size_t paid;
    bool mapped;
    budget *budget;
} grow;

/* Nothing, to be paid from b (or NULL). */
void grow_init(grow *g, budget *b);

/* Frees the bytes; g is empty and may be used again. */
void grow_clear(grow *g);

/* Makes sure that n more bytes may be written at bytes + size. False and an error
 * of budget_charge if they cannot be paid. */
bool grow_reserve(grow *g, size_t n, error *err);

/* A buffer with the first size bytes, g being empty afterwards. NULL and an error
 * of buffer_new otherwise; g is as it was then. */
buffer *grow_take(grow *g, error *err);

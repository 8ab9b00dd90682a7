/* cursor -- a walk over the elements of a tensor in C order, however they lie. */
#pragma once

#include "engine/tensor/tensor.h"

typedef struct cursor {
    const tensor *tensor;
    bool contiguous;
    int64_t index[RANK_MAX]; /* of the next element */
    int64_t at;              /* where it lies, in elements from offset */
    int64_t left;            /* elements */
} cursor;

/* Starts at the first element of t, which must outlive the cursor. */
void cursor_init(cursor *c, const tensor *t);

/* Copies the next n elements, of which there must be as many, densely to to. */
void cursor_copy(cursor *c, int64_t n, void *to);

/* The next n elements, which are copied to scratch only if they do not lie
 * densely as it is. */
const void *cursor_next(cursor *c, int64_t n, void *scratch);

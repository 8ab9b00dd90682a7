/* slice -- NumPy's basic indexing, written in a query: ?slice=0:10,:,::2
 *
 * Items are separated by commas, each an integer (its axis goes away), a range
 * start:stop:step with any part left out, "..." (as many whole axes as are
 * missing) or None or newaxis (a new axis of length 1). Spaces, and brackets
 * around it all, are allowed; but not around integers alone, since that is a
 * list of indices to NumPy. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "engine/base/error.h"
#include "engine/tensor/tensor.h"

enum { SLICE_ITEMS_MAX = 2 * RANK_MAX };

typedef enum slice_kind { SLICE_INDEX, SLICE_RANGE, SLICE_ELLIPSIS, SLICE_NEW_AXIS } slice_kind;

typedef struct slice_item {
    slice_kind kind;
    bool has_start, has_stop;
    int64_t start, stop, step; /* SLICE_INDEX: start is the index */
} slice_item;

typedef struct slice {
    int count;
    slice_item items[SLICE_ITEMS_MAX];
} slice;

/* Reads the text; nothing, or spaces only, is the whole tensor. False and
 * ERR_INDEX, saying where it cannot be understood. */
bool slice_parse(const char *text, slice *result, error *err);

/* Makes result the part of t that s names: a view of the same buffer, without a
 * reference of its own. False and ERR_INDEX (an index out of range, too many
 * indices), ERR_SHAPE_INVALID (more than RANK_MAX axes). */
bool slice_apply(const slice *s, const tensor *t, tensor *result, error *err);

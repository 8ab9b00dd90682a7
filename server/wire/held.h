/* held -- the tensors that a reader has made, until it is freed. */
#pragma once

#include <stddef.h>

#include "engine/base/arena.h"
#include "engine/tensor/tensor.h"

typedef struct held {
    arena *arena;
    tensor **tensors;
    size_t count, room;
} held;

/* A new tensor without a buffer, to be filled in; its reference is given up by
 * held_clear. */
tensor *held_add(held *h);

void held_clear(held *h);

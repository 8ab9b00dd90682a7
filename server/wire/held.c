/* SPDX-License-Identifier: Apache-2.0 */
#include "server/wire/held.h"

tensor *held_add(held *h)
{
    h->tensors = arena_grow(h->arena, h->tensors, h->count, &h->room, sizeof *h->tensors);
    h->tensors[h->count] = arena_alloc(h->arena, sizeof **h->tensors);
    return h->tensors[h->count++];
}

void held_clear(held *h)
{
    for (size_t i = 0; i < h->count; i++)
        tensor_unref(h->tensors[i]);
    h->count = 0;
}

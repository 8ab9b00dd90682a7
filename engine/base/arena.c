/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/base/arena.h"

#include <stdalign.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 32 * 1024, ALIGN = alignof(max_align_t) };

typedef struct block {
    struct block *next;
    alignas(max_align_t) char bytes[];
} block;

struct arena {
    block *blocks; /* the newest first */
    char *free, *end;
    size_t bytes;
};

static _Noreturn void out_of_memory(size_t size)
{
    fprintf(stderr, "tensord: out of memory asking for %zu bytes\n", size);
    abort();
}

arena *arena_new(void)
{
    arena *a = calloc(1, sizeof *a);

    if (a == NULL)
        out_of_memory(sizeof *a);
    return a;
}

void arena_free(arena *a)
{
    if (a == NULL)
        return;
    for (block *b = a->blocks, *next; b != NULL; b = next) {
        next = b->next;
        free(b);
    }
    free(a);
}

/* A block with room for size bytes, put in front of the others. */
static block *add_block(arena *a, size_t size)
{
    block *b = size <= SIZE_MAX - sizeof *b ? calloc(1, sizeof *b + size) : NULL;

    if (b == NULL)
        out_of_memory(size);
    b->next = a->blocks;
    a->blocks = b;
    a->bytes += sizeof *b + size;
    return b;
}

void *arena_alloc(arena *a, size_t size)
{
    char *result;

    if (size > SIZE_MAX - ALIGN)
        out_of_memory(size);
    size = (size + ALIGN - 1) / ALIGN * ALIGN;
    if (size > BLOCK_BYTES / 4) /* a block of its own: the current one stays in use */
        return add_block(a, size)->bytes;
    if (size > (size_t)(a->end - a->free)) {
        a->free = add_block(a, BLOCK_BYTES)->bytes;
        a->end = a->free + BLOCK_BYTES;
    }
    result = a->free;
    a->free += size;
    return result;
}

void *arena_array(arena *a, size_t n, size_t size)
{
    size_t bytes;

    if (__builtin_mul_overflow(n, size, &bytes))
        out_of_memory(SIZE_MAX);
    return arena_alloc(a, bytes);
}

char *arena_copy(arena *a, const char *text, size_t n)
{
    char *copy = arena_alloc(a, n + 1);

    memcpy(copy, text, n);
    return copy;
}

char *arena_format(arena *a, const char *format, ...)
{
    va_list args;
    char *text;
    int n;

    va_start(args, format);
    n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    text = arena_alloc(a, (size_t)n + 1);
    va_start(args, format);
    vsnprintf(text, (size_t)n + 1, format, args);
    va_end(args);
    return text;
}

void *arena_grow(arena *a, void *array, size_t n, size_t *room, size_t size)
{
    void *larger;

    if (n < *room)
        return array;
    *room = n < 8 ? 16 : 2 * n;
    larger = arena_array(a, *room, size);
    if (n > 0)
        memcpy(larger, array, n * size);
    return larger;
}

size_t arena_bytes(const arena *a)
{
    return a->bytes;
}

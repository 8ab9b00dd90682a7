/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/base/arena.h"

#include <stdalign.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>

/* Blocks of the usual size are kept by each thread for its next arenas: a request makes
 * several, and uses little of each. Sanitizers are to see what is used after its end. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { KEPT_BLOCKS = 0 };
#else
enum { KEPT_BLOCKS = 8 };
#endif

enum { BLOCK_BYTES = 32 * 1024, ALIGN = alignof(max_align_t) };

typedef struct block {
    struct block *next;
    size_t size; /* of bytes */
    alignas(max_align_t) char bytes[];
} block;

/* Cleared blocks that a thread keeps until it ends. */
typedef struct kept {
    block *first;
    int count;
    bool known; /* to the thread's end */
} kept;

static _Thread_local kept spare;
static once_flag spare_once = ONCE_FLAG_INIT;
static tss_t spare_key;

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

/* ---- Blocks -------------------------------------------------------------------------- */

static void free_blocks(block *b)
{
    for (block *next; b != NULL; b = next) {
        next = b->next;
        free(b);
    }
}

static void free_spare(void *of)
{
    kept *k = of;

    free_blocks(k->first);
    *k = (kept){.count = KEPT_BLOCKS}; /* full: what comes after the end is freed */
}

static void make_key(void)
{
    if (tss_create(&spare_key, free_spare) != thrd_success)
        abort();
}

/* Keeps a block of which the first `used` bytes are not clear, or frees it. */
static void give_up_block(block *b, size_t used)
{
    if (b->size != BLOCK_BYTES || spare.count >= KEPT_BLOCKS) {
        free(b);
        return;
    }
    if (!spare.known) {
        call_once(&spare_once, make_key);
        spare.known = tss_set(spare_key, &spare) == thrd_success;
    }
    memset(b->bytes, 0, used);
    b->next = spare.first;
    spare.first = b;
    spare.count++;
}

/* A clear block of the usual size that was kept; NULL if there is none. */
static block *take_spare(void)
{
    block *b = spare.first;

    if (b != NULL) {
        spare.first = b->next;
        spare.count--;
    }
    return b;
}

/* ---- Arenas ---------------------------------------------------------------------------- */

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
        const bool current = a->end == b->bytes + b->size;

        next = b->next;
        give_up_block(b, current ? (size_t)(a->free - b->bytes) : b->size);
    }
    free(a);
}

/* A block with room for size bytes, put in front of the others. */
static block *add_block(arena *a, size_t size)
{
    block *b = size == BLOCK_BYTES ? take_spare() : NULL;

    if (b == NULL)
        b = size <= SIZE_MAX - sizeof *b ? calloc(1, sizeof *b + size) : NULL;
    if (b == NULL)
        out_of_memory(size);
    b->size = size;
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
    char small[128]; /* most are shorter, and are printed once */
    va_list args;
    char *text;
    int n;

    va_start(args, format);
    n = vsnprintf(small, sizeof small, format, args);
    va_end(args);
    if (n < (int)sizeof small)
        return arena_copy(a, small, (size_t)n);
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

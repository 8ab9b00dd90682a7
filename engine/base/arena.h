/* arena -- memory that is freed all at once.
 *
 * Everything one request needs besides tensor data is carved from one arena
 * and dies with it. What goes in is bounded at the gate (body size, node count,
 * program length), so running out of memory here is a fault of the process,
 * not of a request: allocation never returns NULL.
 *
 * Threads: an arena belongs to one thread at a time. */
#pragma once

#include <stddef.h>

typedef struct arena arena;

/* An empty arena, to be freed with arena_free. */
arena *arena_new(void);

/* Frees the arena and all that was allocated from it. NULL is allowed. */
void arena_free(arena *a);

/* size zeroed bytes, aligned for any type, living as long as the arena. */
void *arena_alloc(arena *a, size_t size);

/* n zeroed elements of size bytes each; the product is checked. */
void *arena_array(arena *a, size_t n, size_t size);

/* A copy of the first n bytes at text, with a NUL behind them. */
char *arena_copy(arena *a, const char *text, size_t n);

/* Formatted text. */
char *arena_format(arena *a, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* array of *room elements of size bytes, made at least twice as large and
 * copied if n elements fill it; *room follows. For lists that grow. */
void *arena_grow(arena *a, void *array, size_t n, size_t *room, size_t size);

/* Bytes taken from the system so far. */
size_t arena_bytes(const arena *a);

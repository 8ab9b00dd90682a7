/* table -- a map from text to pointers.
 *
 * Keys are copied into the table's arena; values are the caller's. The hash is
 * seeded once per process from the system's randomness, so nobody outside can
 * choose keys that collide. Entries keep the order in which they were added.
 *
 * Threads: any number may read a table that nobody changes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/arena.h"

typedef struct table_entry {
    const char *key; /* NUL-terminated */
    size_t length;
    void *value;
    uint64_t hash;
} table_entry;

typedef struct table {
    arena *arena;
    table_entry *entries; /* in the order of their adding */
    size_t count, room;
    uint32_t *slots; /* 1 + index of an entry; 0: free */
    size_t slot_count;
} table;

/* An empty table that takes its memory from a. */
void table_init(table *t, arena *a);

/* The value of a key, NULL if there is none. */
void *table_get(const table *t, const char *key);
void *table_get_bytes(const table *t, const char *key, size_t length);

/* Sets the value of a key; returns the one it had, or NULL. */
void *table_put(table *t, const char *key, void *value);
void *table_put_bytes(table *t, const char *key, size_t length, void *value);

/* The seeded hash that tables use, for other maps. */
uint64_t hash_bytes(const void *bytes, size_t length);

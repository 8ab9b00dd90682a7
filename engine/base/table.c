/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/base/table.h"

#include <pthread.h>
#include <string.h>
#include <sys/random.h>

static uint64_t seed[2];
static pthread_once_t seeded = PTHREAD_ONCE_INIT;

static void make_seed(void)
{
    if (getrandom(seed, sizeof seed, 0) != sizeof seed)
        seed[0] = 0x9e3779b97f4a7c15u;
}

static uint64_t rotate(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

static void mix(uint64_t v[4])
{
    v[0] += v[1];
    v[2] += v[3];
    v[1] = rotate(v[1], 13) ^ v[0];
    v[3] = rotate(v[3], 16) ^ v[2];
    v[0] = rotate(v[0], 32);
    v[2] += v[1];
    v[0] += v[3];
    v[1] = rotate(v[1], 17) ^ v[2];
    v[3] = rotate(v[3], 21) ^ v[0];
    v[2] = rotate(v[2], 32);
}

/* SipHash-1-3 (Aumasson and Bernstein, 2012). */
uint64_t hash_bytes(const void *bytes, size_t length)
{
    const unsigned char *p = bytes;
    uint64_t v[4], word = 0;
    size_t i = 0;

    pthread_once(&seeded, make_seed);
    v[0] = seed[0] ^ 0x736f6d6570736575u;
    v[1] = seed[1] ^ 0x646f72616e646f6du;
    v[2] = seed[0] ^ 0x6c7967656e657261u;
    v[3] = seed[1] ^ 0x7465646279746573u;
    for (; i + 8 <= length; i += 8) {
        memcpy(&word, p + i, 8);
        v[3] ^= word;
        mix(v);
        v[0] ^= word;
    }
    word = 0;
    memcpy(&word, p + i, length - i);
    word |= (uint64_t)length << 56;
    v[3] ^= word;
    mix(v);
    v[0] ^= word;
    v[2] ^= 0xff;
    for (int round = 0; round < 3; round++)
        mix(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

void table_init(table *t, arena *a)
{
    *t = (table){.arena = a};
}

static uint32_t *find_slot(const table *t, const char *key, size_t length, uint64_t hash)
{
    size_t at = hash & (t->slot_count - 1);

    while (t->slots[at] != 0) {
        const table_entry *e = &t->entries[t->slots[at] - 1];

        if (e->hash == hash && e->length == length && memcmp(e->key, key, length) == 0)
            break;
        at = (at + 1) & (t->slot_count - 1);
    }
    return &t->slots[at];
}

void *table_get_bytes(const table *t, const char *key, size_t length)
{
    uint32_t *slot;

    if (t->count == 0)
        return NULL;
    slot = find_slot(t, key, length, hash_bytes(key, length));
    return *slot == 0 ? NULL : t->entries[*slot - 1].value;
}

void *table_get(const table *t, const char *key)
{
    return table_get_bytes(t, key, strlen(key));
}

static void grow_slots(table *t)
{
    t->slot_count = t->slot_count == 0 ? 16 : 2 * t->slot_count;
    t->slots = arena_array(t->arena, t->slot_count, sizeof *t->slots);
    for (size_t i = 0; i < t->count; i++) {
        const table_entry *e = &t->entries[i];

        *find_slot(t, e->key, e->length, e->hash) = (uint32_t)i + 1;
    }
}

void *table_put_bytes(table *t, const char *key, size_t length, void *value)
{
    const uint64_t hash = hash_bytes(key, length);
    uint32_t *slot;
    void *old;

    if (2 * (t->count + 1) > t->slot_count)
        grow_slots(t);
    slot = find_slot(t, key, length, hash);
    if (*slot == 0) {
        t->entries = arena_grow(t->arena, t->entries, t->count, &t->room, sizeof *t->entries);
        t->entries[t->count++] =
            (table_entry){arena_copy(t->arena, key, length), length, value, hash};
        *slot = (uint32_t)t->count;
        return NULL;
    }
    old = t->entries[*slot - 1].value;
    t->entries[*slot - 1].value = value;
    return old;
}

void *table_put(table *t, const char *key, void *value)
{
    return table_put_bytes(t, key, strlen(key), value);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/base/crc32c.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

enum { SLICES = 8 };

static uint32_t tables[SLICES][256];
static pthread_once_t tables_made = PTHREAD_ONCE_INIT;

static void make_tables(void)
{
    const uint32_t polynomial = 0x82f63b78u;

    for (uint32_t i = 0; i < 256; i++) {
        uint32_t crc = i;

        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? polynomial : 0);
        tables[0][i] = crc;
    }
    for (uint32_t i = 0; i < 256; i++)
        for (int k = 1; k < SLICES; k++)
            tables[k][i] = tables[k - 1][i] >> 8 ^ tables[0][tables[k - 1][i] & 255];
}

/* Eight bytes a step, each through a table of its own. */
static uint32_t by_tables(uint32_t crc, const uint8_t *p, size_t n)
{
    pthread_once(&tables_made, make_tables);
    for (; n >= 8; n -= 8, p += 8) {
        uint32_t low = crc ^ ((uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
                              (uint32_t)p[3] << 24);

        crc = tables[7][low & 255] ^ tables[6][low >> 8 & 255] ^ tables[5][low >> 16 & 255] ^
              tables[4][low >> 24] ^ tables[3][p[4]] ^ tables[2][p[5]] ^ tables[1][p[6]] ^
              tables[0][p[7]];
    }
    for (; n > 0; n--, p++)
        crc = crc >> 8 ^ tables[0][(crc ^ *p) & 255];
    return crc;
}

#if defined(__x86_64__)
/* The processor's own instruction: 5.7 GB/s where the tables do 1.7. */
__attribute__((target("sse4.2"))) static uint32_t by_instruction(uint32_t crc, const uint8_t *p,
                                                                 size_t n)
{
    uint64_t wide = crc;

    for (; n >= 8; n -= 8, p += 8) {
        uint64_t word;

        memcpy(&word, p, sizeof word);
        wide = __builtin_ia32_crc32di(wide, word);
    }
    crc = (uint32_t)wide;
    for (; n > 0; n--, p++)
        crc = __builtin_ia32_crc32qi(crc, *p);
    return crc;
}

static bool has_instruction(void)
{
    return __builtin_cpu_supports("sse4.2") != 0;
}
#else
#define by_instruction by_tables

static bool has_instruction(void)
{
    return false;
}
#endif

uint32_t crc32c(uint32_t crc, const void *bytes, size_t n)
{
    return has_instruction() ? ~by_instruction(~crc, bytes, n) : ~by_tables(~crc, bytes, n);
}

uint32_t crc32c_by_tables(uint32_t crc, const void *bytes, size_t n)
{
    return ~by_tables(~crc, bytes, n);
}

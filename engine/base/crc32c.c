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
/* Bytes of each of three runs whose checksums are computed at once: the instruction takes three
 * cycles, and can begin every cycle. */
enum { RUN = 4096, RUNS = 3 };

static uint32_t behind_run[4][256]; /* by byte of a checksum: what it is behind RUN zeros */
static pthread_once_t run_made = PTHREAD_ONCE_INIT;

static void make_run(void)
{
    static const uint8_t zeros[RUN];

    for (int byte = 0; byte < 4; byte++)
        for (int bit = 0; bit < 8; bit++)
            behind_run[byte][1 << bit] = by_tables(1u << (8 * byte + bit), zeros, RUN);
    for (int byte = 0; byte < 4; byte++)
        for (int i = 1; i < 256; i++)
            behind_run[byte][i] =
                behind_run[byte][i & (i - 1)] ^ behind_run[byte][i & -i]; /* it is linear */
}

static uint32_t skip_run(uint32_t crc)
{
    return behind_run[0][crc & 255] ^ behind_run[1][crc >> 8 & 255] ^
           behind_run[2][crc >> 16 & 255] ^ behind_run[3][crc >> 24];
}

static uint64_t word_at(const uint8_t *p)
{
    uint64_t word;

    memcpy(&word, p, sizeof word);
    return word;
}

__attribute__((target("sse4.2"))) static uint32_t three_runs(uint32_t crc, const uint8_t *p)
{
    uint64_t first = crc, second = 0, third = 0;

    for (int i = 0; i < RUN; i += 8) {
        first = __builtin_ia32_crc32di(first, word_at(p + i));
        second = __builtin_ia32_crc32di(second, word_at(p + i + RUN));
        third = __builtin_ia32_crc32di(third, word_at(p + i + 2 * RUN));
    }
    return skip_run(skip_run((uint32_t)first) ^ (uint32_t)second) ^ (uint32_t)third;
}

/* The processor's own instruction: 5.7 GB/s alone, some 14 in three runs, where the tables do
 * 1.7. */
__attribute__((target("sse4.2"))) static uint32_t by_instruction(uint32_t crc, const uint8_t *p,
                                                                 size_t n)
{
    uint64_t wide;

    pthread_once(&run_made, make_run);
    for (; n >= RUNS * RUN; n -= RUNS * RUN, p += RUNS * RUN)
        crc = three_runs(crc, p);
    wide = crc;
    for (; n >= 8; n -= 8, p += 8)
        wide = __builtin_ia32_crc32di(wide, word_at(p));
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

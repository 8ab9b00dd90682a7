/* SPDX-License-Identifier: Apache-2.0 */
#include "server/wire/png.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static void put_number(uint8_t to[4], uint32_t n)
{
    for (int i = 0; i < 4; i++)
        to[i] = (uint8_t)(n >> (24 - 8 * i));
}

static void add_chunk(text *to, const char type[4], const void *bytes, size_t n)
{
    uint32_t crc = (uint32_t)crc32(0, (const uint8_t *)type, 4);
    uint8_t number[4];

    put_number(number, (uint32_t)n);
    text_add_bytes(to, (const char *)number, 4);
    text_add_bytes(to, type, 4);
    if (n > 0) {
        text_add_bytes(to, bytes, n);
        crc = (uint32_t)crc32(crc, bytes, (unsigned)n);
    }
    put_number(number, crc);
    text_add_bytes(to, (const char *)number, 4);
}

static void add_header(text *to, uint32_t width, uint32_t height, int channels)
{
    static const uint8_t signature[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    uint8_t header[13] = {[8] = 8, [9] = channels == 1 ? 0 : channels == 3 ? 2 : 6};

    put_number(header, width);
    put_number(header + 4, height);
    text_add_bytes(to, (const char *)signature, sizeof signature);
    add_chunk(to, "IHDR", header, sizeof header);
}

/* Rows as they are, each with the byte that says so, compressed. */
static bool add_pixels(text *to, const uint8_t *pixels, size_t row, uint32_t height)
{
    const uLong raw_size = (row + 1) * height;
    uLong size = compressBound(raw_size);
    uint8_t *raw = malloc(raw_size), *packed = malloc(size);
    bool ok = raw != NULL && packed != NULL;

    for (uint32_t y = 0; ok && y < height; y++) {
        raw[y * (row + 1)] = 0;
        memcpy(raw + y * (row + 1) + 1, pixels + y * row, row);
    }
    ok = ok && compress(packed, &size, raw, raw_size) == Z_OK;
    if (ok)
        add_chunk(to, "IDAT", packed, size);
    free(raw);
    free(packed);
    return ok;
}

bool png_add(text *to, const uint8_t *pixels, uint32_t width, uint32_t height, int channels)
{
    add_header(to, width, height, channels);
    if (!add_pixels(to, pixels, (size_t)width * (size_t)channels, height))
        return false;
    add_chunk(to, "IEND", NULL, 0);
    return true;
}

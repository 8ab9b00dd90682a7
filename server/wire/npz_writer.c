/* SPDX-License-Identifier: Apache-2.0 */
#include "server/wire/npz_writer.h"

#include <string.h>
#include <zlib.h>

#include "engine/tensor/npy.h"
#include "engine/tensor/resident.h"
#include "server/wire/cursor.h"

enum {
    VERSION = 45, /* of the format: 64-bit sizes */
    DATE = 0x21,  /* 1 January 1980: the same tensor gives the same bytes */
    BATCH_BYTES = 8192
};

#define WIDE UINT64_C(0xffffffff) /* says that the value has 64 bits, elsewhere */

void npz_writer_init(npz_writer *z)
{
    memset(z, 0, sizeof *z);
    text_init(&z->directory);
}

void npz_writer_clear(npz_writer *z)
{
    text_clear(&z->directory);
}

static void add(text *out, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        text_add_char(out, (char)(value >> 8 * i & 0xff));
}

static uint64_t narrow(uint64_t value)
{
    return value < WIDE ? value : WIDE;
}

/* crc, of what comes before, and of n bytes more, which may be of a mapped file. */
static uLong checksum_bytes(uLong crc, const unsigned char *bytes, size_t n)
{
    enum { PIECE_BYTES = 1 << 20 };

    for (size_t part; n > 0; bytes += part, n -= part) {
        part = n < PIECE_BYTES ? n : PIECE_BYTES;
        crc = crc32_z(crc, bytes, part);
        resident_check();
    }
    return crc;
}

/* The checksum of the .npy file of t. */
static uint64_t checksum(const tensor *t, const char *header, size_t length)
{
    const int64_t batch = BATCH_BYTES / 16;
    const size_t size = dtype_size(t->dtype);
    char scratch[BATCH_BYTES];
    uLong crc = crc32_z(0, (const unsigned char *)header, length);
    cursor c;

    if (tensor_is_contiguous(t))
        return checksum_bytes(crc, tensor_bytes(t), (size_t)tensor_nbytes(t));
    for (cursor_init(&c, t); c.left > 0;) {
        const int64_t n = c.left < batch ? c.left : batch;

        crc = crc32_z(crc, cursor_next(&c, n, scratch), (size_t)n * size);
    }
    return crc;
}

/* What a member's header and its directory entry have in common. */
static void add_common(text *out, uint64_t crc, uint64_t size, size_t name, size_t extra)
{
    add(out, VERSION, 2);
    add(out, 0x800, 2); /* names are UTF-8 */
    add(out, 0, 4);     /* stored; midnight */
    add(out, DATE, 2);
    add(out, crc, 4);
    add(out, narrow(size), 4);
    add(out, narrow(size), 4);
    add(out, name, 2);
    add(out, extra, 2);
}

static void add_name(text *out, const char *name)
{
    text_add(out, name);
    text_add(out, ".npy");
}

void npz_writer_member(npz_writer *z, const char *name, const tensor *t, text *out)
{
    char header[NPY_HEADER_ROOM];
    const size_t length = npy_header_write(header, t->dtype, &t->shape, NPY_ALIGN);
    const size_t name_bytes = strlen(name) + 4;
    const uint64_t size = length + (uint64_t)tensor_nbytes(t), crc = checksum(t, header, length);
    const bool is_wide = size >= WIDE, is_far = z->offset >= WIDE;
    const int words = 2 * is_wide + is_far;

    add(out, 0x04034b50, 4);
    add_common(out, crc, size, name_bytes, is_wide ? 20 : 0);
    add_name(out, name);
    if (is_wide) {
        add(out, 16 << 16 | 1, 4);
        add(out, size, 8);
        add(out, size, 8);
    }
    add(&z->directory, 0x02014b50, 4);
    add(&z->directory, VERSION, 2);
    add_common(&z->directory, crc, size, name_bytes, words > 0 ? (size_t)(4 + 8 * words) : 0);
    add(&z->directory, 0, 8); /* no comment, first disk, no attributes */
    add(&z->directory, 0, 2);
    add(&z->directory, narrow(z->offset), 4);
    add_name(&z->directory, name);
    if (words > 0)
        add(&z->directory, (uint64_t)words << 19 | 1, 4);
    for (int i = 0; is_wide && i < 2; i++)
        add(&z->directory, size, 8);
    if (is_far)
        add(&z->directory, z->offset, 8);
    z->offset += 30 + name_bytes + (is_wide ? 20 : 0) + size;
    z->members++;
}

/* The 64-bit end record and where it is. */
static void add_wide_end(const npz_writer *z, text *out)
{
    add(out, 0x06064b50, 4);
    add(out, 44, 8); /* bytes that follow */
    add(out, VERSION, 2);
    add(out, VERSION, 2);
    add(out, 0, 8); /* first disk */
    add(out, z->members, 8);
    add(out, z->members, 8);
    add(out, z->directory.length, 8);
    add(out, z->offset, 8);
    add(out, 0x07064b50, 4);
    add(out, 0, 4);
    add(out, z->offset + z->directory.length, 8);
    add(out, 1, 4); /* disks */
}

void npz_writer_end(npz_writer *z, text *out)
{
    const uint64_t members = z->members < 0xffff ? z->members : 0xffff;

    if (z->directory.length > 0)
        text_add_bytes(out, z->directory.bytes, z->directory.length);
    if (members == 0xffff || z->offset >= WIDE)
        add_wide_end(z, out);
    add(out, 0x06054b50, 4);
    add(out, 0, 4);
    add(out, members, 2);
    add(out, members, 2);
    add(out, z->directory.length, 4);
    add(out, narrow(z->offset), 4);
    add(out, 0, 2);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/base/crc32c.h"
#include "server/wire/array_reader.h"
#include "tests/fuzz/targets.h"

/* Reads the file in pieces; whether it was taken. */
static bool read_file(const uint8_t *bytes, size_t n, size_t piece, tensor *t, budget *b)
{
    array_reader a;
    error err = {0};
    bool ok = true;

    array_reader_init(&a, t, b, NULL, (int64_t)n);
    for (size_t at = 0; ok && at < n; at += piece)
        ok = array_reader_feed(&a, (const char *)bytes + at, piece < n - at ? piece : n - at, &err);
    ok = ok && array_reader_end(&a, &err);
    array_reader_clear(&a);
    return ok;
}

void target_npy(const uint8_t *bytes, size_t n)
{
    const size_t piece = n > 0 ? 1 + bytes[0] % 200 : 1, cut = n > 1 ? bytes[1] % n : 0;
    const uint8_t *file = bytes + (n > 2 ? 2 : n);
    const size_t length = (size_t)(bytes + n - file);
    tensor whole = {0}, pieces = {0};
    budget b;

    budget_init(&b, 16 << 20);
    target_check(read_file(file, length, length + 1, &whole, &b) ==
                     read_file(file, length, piece, &pieces, &b),
                 "a file is the same in pieces");
    tensor_unref(&whole);
    tensor_unref(&pieces);
    target_check(b.used == 0, "the budget is given back");
    target_check(crc32c(crc32c(0, bytes, cut), bytes + cut, n - cut) == crc32c(0, bytes, n) &&
                     crc32c(0, bytes, n) == crc32c_by_tables(0, bytes, n),
                 "a checksum is the same in pieces, and by tables");
}

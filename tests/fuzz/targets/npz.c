/* SPDX-License-Identifier: Apache-2.0 */
#include "server/wire/reader.h"
#include "tests/fuzz/targets.h"

/* Reads the file in pieces; whether it was taken. */
static bool read_file(const uint8_t *bytes, size_t n, size_t piece, wire_document document)
{
    const wire_reader_options o = {.format = WIRE_NPZ, .document = document, .length = (int64_t)n};
    arena *a = arena_new();
    error err = {0};
    wire_reader *r;
    budget b;
    bool ok;

    budget_init(&b, 16 << 20);
    r = wire_reader_new(a, &b, &o, &err);
    ok = r != NULL;
    for (size_t at = 0; ok && at < n; at += piece)
        ok = wire_reader_feed(r, bytes + at, piece < n - at ? piece : n - at, &err);
    ok = ok && wire_reader_end(r, &err);
    wire_reader_free(r);
    target_check(b.used == 0, "the budget is given back");
    arena_free(a);
    return ok;
}

void target_npz(const uint8_t *bytes, size_t n)
{
    static const wire_document documents[] = {WIRE_TENSORS_BODY, WIRE_EVAL_BODY, WIRE_TENSOR_BODY};
    const size_t piece = n > 0 ? 1 + bytes[0] : 1, skip = n > 1 ? 2 : n;
    const wire_document document = documents[n > 1 ? bytes[1] % 3 : 0];

    target_check(read_file(bytes + skip, n - skip, n + 1, document) ==
                     read_file(bytes + skip, n - skip, piece, document),
                 "a file is the same in pieces");
}

/* SPDX-License-Identifier: Apache-2.0 */
/* convert -- passes bodies through wire, for tests in other languages.
 *
 * Reads questions until standard input ends: a line "IN OUT BYTES", then the body. IN and OUT are
 * json, npy, npz or (OUT only) raw, csv. npz holds several tensors, the others one, which is called
 * x in npz. Each is answered by a line "ok BYTES" and the new body, or "refused BYTES" and code and
 * detail of what was wrong. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/wire/wire.h"

enum { PIECE = 4093 };

static wire_format format_of(const char *name)
{
    wire_format format;
    error err = {0};

    if (wire_format_choose(NULL, name, WIRE_BIT(WIRE_FORMATS) - 1, &format, &err))
        return format;
    fprintf(stderr, "%s\n", err.detail);
    exit(2);
}

/* Feeds the n bytes of the body, all of which are taken from standard input in any case. */
static bool read_body(wire_reader *r, size_t n, error *err)
{
    char piece[PIECE];
    bool ok = r != NULL;

    for (size_t part; n > 0; n -= part) {
        part = n < PIECE ? n : PIECE;
        if (fread(piece, 1, part, stdin) != part)
            exit(2);
        ok = ok && wire_reader_feed(r, piece, part, err);
    }
    return ok && wire_reader_end(r, err);
}

static void add_body(const wire_value *root, wire_format format, text *to)
{
    wire_writer *w = wire_writer_new(format);
    char piece[PIECE];
    size_t n;

    if (wire_type_of(root) == WIRE_TENSOR)
        wire_writer_tensor(w, "x", wire_tensor(root));
    for (const wire_value *m = wire_first(root); m != NULL; m = wire_next(m))
        wire_writer_tensor(w, wire_key(m), wire_tensor(m));
    while ((n = wire_writer_read(w, piece, sizeof piece)) > 0)
        text_add_bytes(to, piece, n);
    wire_writer_free(w);
}

static void convert(wire_format in, wire_format out, size_t n)
{
    const wire_reader_options o = {.format = in,
                                   .document =
                                       in == WIRE_NPZ ? WIRE_TENSORS_BODY : WIRE_TENSOR_BODY,
                                   .length = -1};
    arena *a = arena_new();
    error err = {0};
    wire_reader *r = wire_reader_new(a, NULL, &o, &err);
    const bool ok = read_body(r, n, &err);
    text answer;

    text_init(&answer);
    if (ok)
        add_body(wire_reader_root(r), out, &answer);
    else
        text_addf(&answer, "%s: %s\n", error_info_of(err.kind)->code, err.detail);
    printf("%s %zu\n", ok ? "ok" : "refused", answer.length);
    fwrite(answer.bytes, 1, answer.length, stdout);
    fflush(stdout);
    text_clear(&answer);
    wire_reader_free(r);
    arena_free(a);
}

int main(void)
{
    char in[8], out[8];
    size_t n;

    while (scanf("%7s %7s %zu", in, out, &n) == 3 && getchar() == '\n')
        convert(format_of(in), format_of(out), n);
    return 0;
}

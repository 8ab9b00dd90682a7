/* SPDX-License-Identifier: Apache-2.0 */
/* convert -- passes a body through wire, for tests in other languages.
 *
 *     convert IN OUT < body > answer
 *
 * IN and OUT are json, npy, npz or (OUT only) raw, csv. npz holds several tensors,
 * the others one, which is called x in npz. A body that is refused gives its code
 * and detail on stderr and the exit status 1. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/wire/wire.h"

static wire_format format_of(const char *name)
{
    wire_format format;
    error err = {0};

    if (wire_format_choose(NULL, name, WIRE_BIT(WIRE_FORMATS) - 1, &format, &err))
        return format;
    fprintf(stderr, "%s\n", err.detail);
    exit(2);
}

static bool read_all(wire_reader *r, error *err)
{
    char piece[4093];
    size_t n;

    while ((n = fread(piece, 1, sizeof piece, stdin)) > 0)
        if (!wire_reader_feed(r, piece, n, err))
            return false;
    return wire_reader_end(r, err);
}

static void write_all(const wire_value *root, wire_format format)
{
    wire_writer *w = wire_writer_new(format);
    char piece[4093];
    size_t n;

    if (wire_type_of(root) == WIRE_TENSOR)
        wire_writer_tensor(w, "x", wire_tensor(root));
    for (const wire_value *m = wire_first(root); m != NULL; m = wire_next(m))
        wire_writer_tensor(w, wire_key(m), wire_tensor(m));
    while ((n = wire_writer_read(w, piece, sizeof piece)) > 0)
        fwrite(piece, 1, n, stdout);
    wire_writer_free(w);
}

int main(int argc, char **argv)
{
    const wire_format in = argc == 3 ? format_of(argv[1]) : WIRE_FORMATS;
    const wire_reader_options o = {.format = in,
                                   .document =
                                       in == WIRE_NPZ ? WIRE_TENSORS_BODY : WIRE_TENSOR_BODY,
                                   .length = -1};
    arena *a = arena_new();
    error err = {0};
    wire_reader *r;
    bool ok;

    if (argc != 3)
        return 2;
    r = wire_reader_new(a, NULL, &o, &err);
    ok = r != NULL && read_all(r, &err);
    if (ok)
        write_all(wire_reader_root(r), format_of(argv[2]));
    else
        fprintf(stderr, "%s: %s\n", error_info_of(err.kind)->code, err.detail);
    wire_reader_free(r);
    arena_free(a);
    return ok ? 0 : 1;
}

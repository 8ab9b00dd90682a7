/* bodies -- what the tests of server/wire share: reading a body in pieces of any
 * kind, and saying what was read in one line. */
#pragma once

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/text.h"
#include "server/wire/element.h"
#include "server/wire/reader.h"

enum { WHOLE, BYTES, PIECES, CUTS };

static inline void describe_tensor(text *out, const tensor *t)
{
    const size_t n = (size_t)tensor_size(t), size = dtype_size(dtype_real(t->dtype));
    const size_t parts = dtype_size(t->dtype) / size;
    char shown[SHAPE_TEXT_MAX], *bytes = malloc(n * size * parts + 1);

    tensor_copy_dense(t, bytes);
    text_addf(out, "%s%s%s:", t->weak ? "weak " : "", dtype_name(t->dtype),
              shape_print(&t->shape, shown));
    for (size_t i = 0; i < n * parts; i++) {
        char number[ELEMENT_TEXT_MAX];
        const char *end = element_printer_of(dtype_real(t->dtype), true)(bytes + i * size, number);

        text_addf(out, " %.*s", (int)(end - number), number);
    }
    free(bytes);
}

/* The document as text: JSON, with tensors in angle brackets. */
static inline void describe(text *out, const wire_value *root)
{
    const wire_value *v = root;

    for (;;) {
        const wire_type type = wire_type_of(v);

        if (wire_key(v) != NULL)
            text_addf(out, "%s=", wire_key(v));
        if (type == WIRE_NULL)
            text_add(out, "null");
        else if (type == WIRE_BOOL)
            text_add(out, wire_bool(v) ? "true" : "false");
        else if (type == WIRE_INTEGER)
            text_addf(out, "%" PRId64, wire_integer(v));
        else if (type == WIRE_REAL)
            text_addf(out, "r%.17g", wire_real(v));
        else if (type == WIRE_STRING)
            text_add_json(out, wire_string(v, NULL));
        else if (type == WIRE_TENSOR) {
            text_add_char(out, '<');
            describe_tensor(out, wire_tensor(v));
            text_add_char(out, '>');
        } else
            text_add_char(out, type == WIRE_LIST ? '[' : '{');
        if (wire_count(v) > 0) {
            v = wire_first(v);
            continue;
        }
        if (type == WIRE_LIST || type == WIRE_OBJECT)
            text_add_char(out, type == WIRE_LIST ? ']' : '}');
        while (v != root && wire_next(v) == NULL) {
            v = wire_parent(v);
            text_add_char(out, wire_type_of(v) == WIRE_LIST ? ']' : '}');
        }
        if (v == root)
            return;
        v = wire_next(v);
        text_add_char(out, ' ');
    }
}

/* Feeds n bytes: all at once, one by one, in random pieces, or cut once at cut. */
static inline bool feed(wire_reader *r, const char *bytes, size_t n, int how, size_t cut,
                        error *err)
{
    size_t at = 0;

    while (at < n) {
        size_t piece = how == WHOLE   ? n
                       : how == BYTES ? 1
                       : how == CUTS  ? (at < cut ? cut : n)
                                      : 1 + (size_t)rand() % 17;
        char *copy;

        piece = piece < n - at ? piece : n - at;
        copy = malloc(piece); /* so that reading beyond it is noticed */
        memcpy(copy, bytes + at, piece);
        at += piece;
        if (!wire_reader_feed(r, copy, piece, err)) {
            free(copy);
            return false;
        }
        free(copy);
    }
    return wire_reader_end(r, err);
}

/* What is read, described in out; false and err if it is refused. */
static inline bool read_body(const wire_reader_options *o, const char *bytes, size_t n, int how,
                             size_t cut, text *out, error *err)
{
    arena *a = arena_new();
    budget b;
    bool ok;

    budget_init(&b, INT64_C(1) << 30);
    wire_reader *r = wire_reader_new(a, &b, o, err);

    ok = r != NULL && feed(r, bytes, n, how, cut, err);
    if (ok)
        describe(out, wire_reader_root(r));
    wire_reader_free(r);
    if (b.used != 0) {
        fprintf(stderr, "%" PRId64 " bytes of the budget are not given back\n", (int64_t)b.used);
        abort();
    }
    arena_free(a);
    return ok;
}

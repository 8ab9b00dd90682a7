/* writer -- an answer in any format, made while it is sent.
 *
 * An answer is a row of parts: text that is given, and tensors. It is pulled out in
 * pieces of any size, and nothing but the piece at hand is ever built: a tensor of
 * any size costs a few kilobytes. Tensors may lie anyhow (strides); they are kept
 * by reference until they are sent.
 *
 * In JSON a tensor is an object with dtype, shape and data, its numbers in the
 * shortest form that reads back to the same bits; the text between tensors is the
 * caller's. A tensor without elements has "data": [] whatever its shape. The
 * binary formats take tensors only: npy, raw and csv one, npz any number.
 *
 * Threads: a writer belongs to one thread at a time. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "engine/tensor/tensor.h"
#include "server/wire/format.h"

typedef struct wire_writer wire_writer;

/* ---- Life cycle ------------------------------------------------------------------ */

/* An empty answer; to be freed with wire_writer_free, read to its end or not. */
wire_writer *wire_writer_new(wire_format format);
void wire_writer_free(wire_writer *w);

/* ---- What it says ---------------------------------------------------------------- */

/* Whether the format can say a tensor of this shape; false and ERR_ACCEPT if not
 * (csv takes at most two axes). To be asked before the answer's status is sent. */
bool wire_writer_takes(wire_format format, const shape *s, error *err);

/* Adds text to a JSON answer; it is copied. */
void wire_writer_text(wire_writer *w, const char *text);
void wire_writer_text_bytes(wire_writer *w, const char *bytes, size_t n);

/* Adds a tensor, with one more reference to it. name is its name in an npz file,
 * which must not be given twice; other formats ignore it. (npz: takes the time of
 * a checksum over the elements.) */
void wire_writer_tensor(wire_writer *w, const char *name, const tensor *t);

/* Whether every tensor could be read so far; see buffer_is_lost. */
bool wire_writer_is_sound(const wire_writer *w);

/* ---- Sending --------------------------------------------------------------------- */

/* The bytes of the whole answer, or -1 if that shows only as it is sent (numbers
 * as text). Nothing may be added from now on. */
int64_t wire_writer_length(wire_writer *w);

/* Writes the next n bytes to to, fewer only at the end; returns how many, 0 when
 * all is said. Nothing may be added from now on. */
size_t wire_writer_read(wire_writer *w, void *to, size_t n);

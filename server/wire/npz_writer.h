/* npz_writer -- the zip file around the .npy files of an answer.
 *
 * Members are stored, with their checksum and size before them, so that a reader
 * may start at the front. Sizes and offsets are written with 64 bits where they
 * need them, as NumPy does it. */
#pragma once

#include "engine/base/text.h"
#include "engine/tensor/tensor.h"

typedef struct npz_writer {
    text directory;  /* entries so far */
    uint64_t offset; /* where the next member begins */
    uint64_t members;
} npz_writer;

void npz_writer_init(npz_writer *z);
void npz_writer_clear(npz_writer *z);

/* Adds the header of member name.npy to out; the .npy file of t must follow. */
void npz_writer_member(npz_writer *z, const char *name, const tensor *t, text *out);

/* Adds the directory, with which the file ends. */
void npz_writer_end(npz_writer *z, text *out);

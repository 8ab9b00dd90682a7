/* npy -- the header of a .npy file: what NumPy writes before an array's bytes.
 *
 * A file is a magic word, a version, the length of the header, the header, and
 * the elements. The header is a Python dictionary of exactly three members,
 *
 *     {'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }
 *
 * padded with spaces to end in a newline. It is read by a strict grammar, never
 * evaluated. Versions 1.0, 2.0 and 3.0 are read (they differ in the width of the
 * length and in the encoding of text that cannot occur here); 1.0 is written.
 * Objects and structured types are refused: the first would run code, the second
 * are not tensors. A bfloat16 array is stored as <V2, which NumPy opens as raw
 * pairs of bytes, so reading one back takes a hint from who knows better.
 *
 * Storage and wire both stand on this; neither the elements nor a file is
 * touched here. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "engine/base/error.h"
#include "engine/tensor/dtype.h"
#include "engine/tensor/shape.h"

enum {
    NPY_PREFIX = 12,          /* bytes after which the length of any header is known */
    NPY_HEADER_MAX = 1 << 16, /* bytes of a header that is read */
    NPY_HEADER_ROOM = 4096,   /* bytes that any header that is written fits in */
    NPY_ALIGN = 64,           /* of the data, as NumPy does it */
    NPY_ALIGN_PAGE = 4096     /* of the data, for files that are mapped */
};

typedef struct npy_header {
    dtype dtype;
    bool swapped; /* the elements are big-endian */
    bool fortran; /* the first axis runs fastest */
    shape shape;
    size_t length; /* bytes before the first element */
} npy_header;

/* How many bytes stand before the first element of the file that begins with
 * these n bytes, at least NPY_PREFIX of them (or the whole file, if that is
 * shorter). False and ERR_NPY if it is no .npy file or the header is too long. */
bool npy_header_length(const void *bytes, size_t n, size_t *length, error *err);

/* Reads the header, its length bytes as npy_header_length says. hint is the
 * element type that somebody knows the array to have, or NULL; only DT_BF16 makes
 * a difference. False and ERR_NPY, ERR_SHAPE_INVALID otherwise. */
bool npy_header_parse(const void *bytes, size_t length, const dtype *hint, npy_header *result,
                      error *err);

/* Writes the header of a little-endian array in C order to to, such that the
 * data begins at a multiple of align (NPY_ALIGN or NPY_ALIGN_PAGE); returns its
 * length. */
size_t npy_header_write(char to[NPY_HEADER_ROOM], dtype t, const shape *s, size_t align);

/* Puts n elements of type t into the machine's order of bytes, in place. */
void npy_swap_bytes(void *bytes, int64_t n, dtype t);

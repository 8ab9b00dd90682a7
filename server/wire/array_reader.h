/* array_reader -- one tensor from its bytes, as they arrive: npy, or raw.
 *
 * The size is known before the first element, so the bytes go straight where they
 * stay. Big-endian elements are turned in place at the end; an array in Fortran
 * order stays as it is and gets strides that say so. */
#pragma once

#include "engine/base/text.h"
#include "engine/tensor/npy.h"
#include "engine/tensor/tensor.h"

/* Who takes the elements of an array of more than so many bytes, piece by piece, in the place of
 * a tensor; they are little-endian and in C order. */
typedef struct array_taker {
    int64_t above_bytes;
    bool (*open)(void *context, dtype t, const shape *s, error *err);
    bool (*write)(void *context, const void *bytes, size_t n, error *err);
    void *context;
} array_taker;

typedef struct array_reader {
    const array_taker *taker; /* NULL: all become tensors */
    bool taken;               /* the tensor has a type and no buffer */
    budget *budget;
    const dtype *hint; /* of bfloat16, or NULL */
    int64_t announced; /* bytes of header and elements together; -1: not known */
    text head;         /* the header so far */
    bool has_header;
    npy_header header;
    tensor *tensor;   /* to be filled in */
    size_t size, got; /* bytes of elements: all, and so far */
} array_reader;

/* Starts a .npy file; hint must live as long as the reader. array_reader_clear
 * releases what is held besides the tensor. */
void array_reader_init(array_reader *a, tensor *t, budget *b, const dtype *hint, int64_t announced);
void array_reader_clear(array_reader *a);

/* Says that no header comes, and the elements are of type t and shape s. False
 * and ERR_SIZE, ERR_SHAPE_INVALID or an error of buffer_new. */
bool array_reader_begin_raw(array_reader *a, dtype t, const shape *s, error *err);

/* Takes the next n bytes. False and ERR_NPY, ERR_SIZE if they are too many, or an
 * error of buffer_new. */
bool array_reader_feed(array_reader *a, const char *bytes, size_t n, error *err);

/* Ends the array; the tensor is complete then. */
bool array_reader_end(array_reader *a, error *err);

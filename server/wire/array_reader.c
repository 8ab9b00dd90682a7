/* SPDX-License-Identifier: Apache-2.0 */
#include "server/wire/array_reader.h"

#include <inttypes.h>
#include <string.h>

void array_reader_init(array_reader *a, tensor *t, budget *b, const dtype *hint, int64_t announced)
{
    *a = (array_reader){.tensor = t, .budget = b, .hint = hint, .announced = announced};
    text_init(&a->head);
}

void array_reader_clear(array_reader *a)
{
    text_clear(&a->head);
}

static bool wrong_size(const array_reader *a, int64_t found, error *err)
{
    char shown[SHAPE_TEXT_MAX];

    return error_set(err, ERR_SIZE, "%s of shape %s has %zu bytes, the body has %s%" PRId64,
                     dtype_name(a->header.dtype), shape_print(&a->header.shape, shown), a->size,
                     found > (int64_t)a->got && a->announced < 0 ? "at least " : "", found);
}

/* Whether the elements go to the taker, as they come. */
static bool is_taken(const array_reader *a)
{
    const npy_header *h = &a->header;

    return a->taker != NULL && a->size > (size_t)a->taker->above_bytes && !h->swapped &&
           !h->fortran && h->dtype != DT_BOOL; /* whose bytes are made 0 and 1 at the end */
}

/* Makes the tensor, when type and shape are known; nothing is allocated for a
 * size that was announced differently. */
static bool begin_elements(array_reader *a, error *err)
{
    const npy_header *h = &a->header;

    if (__builtin_mul_overflow((size_t)shape_size(&h->shape), dtype_size(h->dtype), &a->size))
        return error_set(err, ERR_SHAPE_INVALID, "the array is larger than any memory");
    if (a->announced >= 0 && (uint64_t)a->announced != h->length + a->size)
        return wrong_size(a, a->announced - (int64_t)h->length, err);
    a->has_header = true;
    a->taken = is_taken(a);
    if (a->taken) {
        *a->tensor = (tensor){.dtype = h->dtype, .shape = h->shape};
        return a->taker->open(a->taker->context, h->dtype, &h->shape, err);
    }
    return tensor_new(a->tensor, a->budget, h->dtype, &h->shape, err);
}

bool array_reader_begin_raw(array_reader *a, dtype t, const shape *s, error *err)
{
    a->header = (npy_header){.dtype = t, .shape = *s};
    return shape_check(s, "Tensor-Shape", err) && begin_elements(a, err);
}

/* Takes header bytes up to a total of want; returns how many. */
static size_t take_head(array_reader *a, const char *bytes, size_t n, size_t want)
{
    const size_t missing = want > a->head.length ? want - a->head.length : 0;
    const size_t taken = n < missing ? n : missing;

    text_add_bytes(&a->head, bytes, taken);
    return taken;
}

/* Takes the part of the bytes that belongs to the header; *taken is its size. */
static bool feed_header(array_reader *a, const char *bytes, size_t n, size_t *taken, error *err)
{
    size_t length;

    *taken = take_head(a, bytes, n, NPY_PREFIX);
    if (a->head.length < NPY_PREFIX)
        return true;
    if (!npy_header_length(a->head.bytes, a->head.length, &length, err))
        return false;
    *taken += take_head(a, bytes + *taken, n - *taken, length);
    if (a->head.length < length)
        return true;
    return npy_header_parse(a->head.bytes, a->head.length, a->hint, &a->header, err) &&
           begin_elements(a, err);
}

bool array_reader_feed(array_reader *a, const char *bytes, size_t n, error *err)
{
    size_t taken = 0;

    if (!a->has_header && !feed_header(a, bytes, n, &taken, err))
        return false;
    bytes += taken;
    n -= taken;
    if (n == 0)
        return true;
    if (n > a->size - a->got)
        return wrong_size(a, (int64_t)(a->got + n), err);
    if (!a->taken)
        memcpy((char *)buffer_bytes(a->tensor->buf) + a->got, bytes, n);
    a->got += n;
    return !a->taken || a->taker->write(a->taker->context, bytes, n, err);
}

/* Strides of an array whose first axis runs fastest. */
static void set_fortran_strides(tensor *t)
{
    int64_t step = 1;

    for (int i = 0; i < t->shape.rank; i++) {
        t->strides[i] = step;
        step *= t->shape.length[i] > 0 ? t->shape.length[i] : 1;
    }
}

static void normalise_bools(unsigned char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        bytes[i] = bytes[i] != 0;
}

bool array_reader_end(array_reader *a, error *err)
{
    tensor *t = a->tensor;

    if (!a->has_header)
        return error_set(err, ERR_NPY, "npy: the file ends in its header, after %zu bytes",
                         a->head.length);
    if (a->got < a->size)
        return wrong_size(a, (int64_t)a->got, err);
    if (a->taken)
        return true;
    if (a->header.swapped)
        npy_swap_bytes(buffer_bytes(t->buf), tensor_size(t), t->dtype);
    if (t->dtype == DT_BOOL)
        normalise_bools(buffer_bytes(t->buf), a->size);
    if (a->header.fortran)
        set_fortran_strides(t);
    return true;
}

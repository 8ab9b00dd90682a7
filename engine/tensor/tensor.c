/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/tensor/tensor.h"

#include <string.h>

#include "engine/tensor/resident.h"

bool tensor_new(tensor *t, budget *b, dtype dtype, const shape *s, error *err)
{
    buffer *buf = buffer_new(b, (size_t)shape_size(s) * dtype_size(dtype), err);

    if (buf == NULL)
        return false;
    tensor_wrap_take(t, buf, dtype, s);
    return true;
}

void tensor_wrap_take(tensor *t, buffer *buf, dtype dtype, const shape *s)
{
    t->buf = buf;
    t->dtype = dtype;
    t->weak = false;
    t->offset = 0;
    t->shape = *s;
    shape_strides(s, t->strides);
}

void tensor_ref(const tensor *t)
{
    buffer_ref(t->buf);
}

void tensor_unref(tensor *t)
{
    buffer_unref(t->buf);
    t->buf = NULL;
}

void *tensor_bytes(const tensor *t)
{
    return (char *)buffer_bytes(t->buf) + t->offset * (int64_t)dtype_size(t->dtype);
}

int64_t tensor_size(const tensor *t)
{
    return shape_size(&t->shape);
}

int64_t tensor_nbytes(const tensor *t)
{
    return tensor_size(t) * (int64_t)dtype_size(t->dtype);
}

bool tensor_is_contiguous(const tensor *t)
{
    int64_t step = 1;

    if (tensor_size(t) == 0)
        return true;
    for (int i = t->shape.rank - 1; i >= 0; i--) {
        if (t->shape.length[i] != 1 && t->strides[i] != step)
            return false;
        step *= t->shape.length[i];
    }
    return true;
}

/* Copies n elements of size bytes that lie step bytes apart, of a mapped file perhaps. */
static void copy_run(char *to, const char *from, int64_t n, int64_t step, size_t size)
{
    enum { PIECE = 512 };

    if (step == (int64_t)size) {
        memcpy(to, from, (size_t)n * size);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        if (i % PIECE == 0)
            resident_check();
        memcpy(to + (size_t)i * size, from + i * step, size);
    }
}

/* Steps index, all axes but the last, to the next in C order; false at the end. */
static bool next_run(int64_t index[RANK_MAX], const shape *s)
{
    for (int i = s->rank - 2; i >= 0; i--) {
        if (++index[i] < s->length[i])
            return true;
        index[i] = 0;
    }
    return false;
}

tensor tensor_element(const tensor *t, int64_t i)
{
    tensor result = *t;

    result.offset += i * t->strides[0];
    result.shape.rank--;
    memmove(result.shape.length, t->shape.length + 1,
            (size_t)result.shape.rank * sizeof *t->shape.length);
    memmove(result.strides, t->strides + 1, (size_t)result.shape.rank * sizeof *t->strides);
    return result;
}

void tensor_copy_dense(const tensor *t, void *to)
{
    const size_t size = dtype_size(t->dtype);
    const int last = t->shape.rank - 1;
    const int64_t n = last < 0 ? 1 : t->shape.length[last];
    const int64_t step = last < 0 ? (int64_t)size : t->strides[last] * (int64_t)size;
    int64_t index[RANK_MAX] = {0};
    char *out = to;

    if (tensor_is_contiguous(t)) {
        memcpy(to, tensor_bytes(t), (size_t)tensor_nbytes(t));
        return;
    }
    do {
        int64_t at = 0;

        for (int i = 0; i < last; i++)
            at += index[i] * t->strides[i];
        copy_run(out, (char *)tensor_bytes(t) + at * (int64_t)size, n, step, size);
        out += (size_t)n * size;
    } while (next_run(index, &t->shape));
}

bool tensor_dense(const tensor *t, budget *b, tensor *result, error *err)
{
    if (tensor_is_contiguous(t)) {
        *result = *t;
        shape_strides(&t->shape, result->strides);
        tensor_ref(result);
        return true;
    }
    if (!tensor_new(result, b, t->dtype, &t->shape, err))
        return false;
    result->weak = t->weak;
    tensor_copy_dense(t, buffer_bytes(result->buf));
    return true;
}

bool tensor_matrix(const tensor *t, bool *turned, int64_t *width)
{
    const int last = t->shape.rank - 1;
    const int64_t columns = last >= 0 ? t->shape.length[last] : 1;
    const int64_t rows = last > 0 ? t->shape.length[last - 1] : 1;
    const int64_t column = columns > 1 ? t->strides[last] : 1;
    const int64_t row = rows > 1 ? t->strides[last - 1] : columns;

    *turned = !(column == 1 && row >= columns);
    if (!*turned)
        *width = row;
    else
        *width = columns > 1 ? column : rows;
    return !*turned || ((rows <= 1 || row == 1) && *width >= rows && last > 0);
}

/* tensor -- elements of one type, arranged by shape and strides in a buffer.
 *
 * A tensor is a value: it may be copied with =, but only tensor_ref and
 * tensor_unref change how long its buffer lives. Strides count elements, may be
 * zero (broadcast) or negative (flipped); offset is the element where index
 * (0, .., 0) stands.
 *
 * Invariants: every element that the shape can name lies inside the buffer. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "engine/base/error.h"
#include "engine/tensor/buffer.h"
#include "engine/tensor/dtype.h"
#include "engine/tensor/shape.h"

typedef struct tensor {
    buffer *buf;
    dtype dtype;
    bool weak;      /* a bare number: its kind counts, its width does not */
    int64_t offset; /* elements */
    shape shape;
    int64_t strides[RANK_MAX]; /* elements */
} tensor;

/* A contiguous tensor in C order with a new, uncleared buffer paid from b. The
 * shape must be known and checked. False and an error of buffer_new otherwise. */
bool tensor_new(tensor *t, budget *b, dtype dtype, const shape *s, error *err);

/* A contiguous tensor in C order over buf, whose reference it takes over. */
void tensor_wrap_take(tensor *t, buffer *buf, dtype dtype, const shape *s);

/* Adds, and gives up, a reference to the buffer. Unref of a tensor whose buf is
 * NULL does nothing; after it buf is NULL. */
void tensor_ref(const tensor *t);
void tensor_unref(tensor *t);

/* The first byte of element (0, .., 0). */
void *tensor_bytes(const tensor *t);

/* The number of elements, and their bytes if they were stored densely. */
int64_t tensor_size(const tensor *t);
int64_t tensor_nbytes(const tensor *t);

/* Whether the elements lie densely in C order. */
bool tensor_is_contiguous(const tensor *t);

/* Element i of t along axis 0, without a reference of its own. */
tensor tensor_element(const tensor *t, int64_t i);

/* Copies the elements densely in C order to the bytes at to. */
void tensor_copy_dense(const tensor *t, void *to);

/* A dense tensor with the same elements: t itself with one more reference, or a
 * copy paid from b. */
bool tensor_dense(const tensor *t, budget *b, tensor *result, error *err);

/* Whether the last two axes are a matrix as libraries of linear algebra take it: rows of
 * elements side by side, or, turned, columns; width: elements from one row (column) to the
 * next. Other axes may lie anyhow; a vector must be dense, and is one row. */
bool tensor_matrix(const tensor *t, bool *turned, int64_t *width);

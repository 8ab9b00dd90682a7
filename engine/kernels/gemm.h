/* gemm -- products of dense matrices, for every element type.
 *
 * float32, float64 and complex products are OpenBLAS's, called with one thread:
 * the executor cuts large products into panels itself. Halves are made floats block
 * by block, which OpenBLAS multiplies; sums are floats, rounded once. The others are
 * plain loops: integers wrap, bool is or-of-and. The only place that knows cblas. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "engine/tensor/dtype.h"

/* A factor: its rows lie width elements apart, or, if it is turned, its columns do. */
typedef struct factor {
    const void *elements;
    int64_t width;
    bool turned;
} factor;

/* c[m, n] = a[m, k] b[k, n], c dense; with add, this is added to what c has. k may be 0. Half
 * types cannot add: their sums are rounded once. */
void gemm(dtype t, int64_t m, int64_t n, int64_t k, const factor *a, const factor *b, bool add,
          void *c);

/* Tells OpenBLAS to use one thread, and which processor this is if it does not know;
 * called once at start, before any product. */
void gemm_init(void);

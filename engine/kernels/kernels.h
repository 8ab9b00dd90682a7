/* kernels -- loops over runs of elements.
 *
 * A kernel sees counts and pointers; it knows no graphs, no errors, no threads.
 * All operands are dense runs. The number of elements is a multiple of LANES
 * and the memory behind a run reaches that far: callers pad. So every element is
 * computed by the same vector code, and its value does not depend on where it
 * stands. out is the same as an input, element for element, or disjoint.
 *
 * Reading order: kernels.h, vecmath.h, elementwise.tmpl.h, reduce.tmpl.h, cast.c,
 * gemm.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/tensor/dtype.h"

enum { LANES = 16, REDUCE_LANES = 32 };

/* Computes n elements, n a multiple of LANES (any n where a kernel reports). */
typedef void kernel_fn(size_t n, void *out, const void *const in[]);

/* ---- What happened ---------------------------------------------------------------- */

/* What the kernels that this thread ran met since it was cleared. Only what no
 * result shows: integers have no NaN. */
enum { KERNEL_DIVIDE = 1, KERNEL_NEGATIVE_POWER = 2 };
extern _Thread_local unsigned kernel_flags;

/* ---- Casts -------------------------------------------------------------------- */

/* The kernel that casts from one type to another (NumPy's astype), never NULL.
 * Floats to integers truncate; what does not fit gives what NumPy gives on x86. */
kernel_fn *kernel_cast(dtype from, dtype to);

/* Rounds floats to the precision of a half type, staying floats. */
kernel_fn *kernel_round(dtype half);

/* ---- Reductions ------------------------------------------------------------------- */

/* Folding elements with an associative operation, by the type computed in. */
typedef struct fold_def {
    kernel_fn *combine[DT_COUNT]; /* element by element: partial results of columns */
    /* Folds n elements, any number, into REDUCE_LANES partial results, asking for as many bytes
     * from `next` on. */
    void (*lanes[DT_COUNT])(size_t n, void *partial, const void *in, const char *next);
    /* Combines the partial results into one, in a fixed tree. */
    void (*fold[DT_COUNT])(const void *partial, void *out);
} fold_def;

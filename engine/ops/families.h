/* families -- the tables that together are the registry. Private to ops. */
#pragma once

#include "engine/ops/op.h"

typedef struct op_family {
    op_def *rows; /* written once, by ops_init, which derives the parameters */
    size_t count;
} op_family;

extern const op_family elementwise_family, casting_family, reduction_family, movement_family,
    indexing_family, joining_family, creation_family, random_family, linalg_family,
    definition_family, control_family, form_family, dataflow_family;

/* Reads op->signature into op->params. The signature is ours: a fault in it stops
 * the process with a message. */
void op_read_signature(op_def *op);

/* Gives the rows of some functions kernels that are faster on this machine. */
void op_take_quick(op_def *op);

/* Gives division of short integers kernels that are vector code. */
void op_take_division(op_def *op);

/* ---- Rules that several families share ----------------------------------------- */

/* ERR_DTYPE saying that op does not take these types. */
bool op_refuse_dtypes(const op_call *call, error *err);

/* The axes that an attribute of kind PARAM_AXES names, as a flag per axis. */
bool op_axes(const op_call *call, const attr *axes, int rank, bool reduced[RANK_MAX], error *err);

/* The lengths that an attribute of kind PARAM_INTS gives, LENGTH_UNKNOWN where it is
 * computed; checked to be a shape. */
bool op_shape_attr(const op_call *call, const attr *lengths, shape *result, error *err);
/* The same with the length at `hole` left open, if that is not negative. */
bool op_shape_with_hole(const op_call *call, const attr *lengths, int hole, shape *result,
                        error *err);

/* Adds the elements of `from` to those of `to`, which has the same shape and type; `to`
 * may have strides of 0. */
bool op_add_elements(op_run *run, const tensor *from, const tensor *to, error *err);

/* A cast_fn: every input to the type of the first output. */
void op_cast_to_result(const op_call *call, const type *outputs, dtype *casts);

/* Fills the one output in chunks with numbers of type `made`, which fill(context, first, n,
 * values) gives for elements from first on; they are cast to the output's type. */
typedef void fill_fn(const void *context, int64_t first, int64_t n, void *values);
bool op_fill(op_run *run, dtype made, fill_fn *fill, const void *context, error *err);
/* The block of an operation that only fills: any row can be made alone. */
int64_t op_fill_block(const op_call *call);

/* Copies the elements densely to the bytes at to, asking on the way whether to stop. */
bool op_copy(op_run *run, const tensor *from, void *to, error *err);

/* index -- what x[key] selects: NumPy's indexing, basic and advanced.
 *
 * A key is read against the shape it indexes. Integers and slices select a view
 * (the basic part). Tensors of integers, and masks, select along axes of that view;
 * their broadcast shape replaces those axes, in place if they stand side by side,
 * else in front. Integers count as advanced once there is any tensor. */
#pragma once

#include "engine/ops/op.h"

typedef struct index_view {
    shape shape;               /* after the basic part, axes of tensors left whole */
    int64_t strides[RANK_MAX]; /* in units of the source's strides: see source */
    int source[RANK_MAX];      /* the axis of the indexed tensor, -1 for a new axis */
    int64_t start[RANK_MAX];   /* first element along it */
    int64_t step[RANK_MAX];
    int fixed_count; /* integers: axis fixed_axis[i] at fixed_at[i] */
    int fixed_axis[RANK_MAX];
    int64_t fixed_at[RANK_MAX];
    bool is_selected[RANK_MAX]; /* whether a tensor selects along this axis */
    int tensor_count;           /* tensors, with the axis each selects along (a mask */
    int operand[RANK_MAX];      /* of rank k: the first of k axes) */
    int tensor_axis[RANK_MAX];
    int position; /* where the tensors' axes go among those not selected */
} index_view;

/* Reads a key against the type of what it indexes and, for INDEX_TENSOR items, the
 * types of the call's inputs. ERR_INDEX naming who, the axis and the index. */
bool index_read(const op_call *call, const attr *key, index_view *view, error *err);

/* The view's tensor: shape, strides and offset from those of t. */
void index_apply(const index_view *view, const tensor *t, tensor *result);

/* The shape that x[key] has; LENGTH_UNKNOWN where a mask decides. */
bool index_shape(const op_call *call, const index_view *view, shape *result, error *err);

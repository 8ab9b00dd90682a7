/* shape -- the lengths of a tensor's axes, and the arithmetic on them.
 *
 * A length is a count of elements, or LENGTH_UNKNOWN where a graph does not know
 * it before it runs; tensors have known lengths only. Every product is checked:
 * a size that cannot be is an error, never a small number. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/arena.h"
#include "engine/base/error.h"

enum { RANK_MAX = 64, LENGTH_UNKNOWN = -1 };
#define LENGTH_MAX ((int64_t)1 << 48) /* of one axis, and elements in all */

typedef struct shape {
    int rank;
    int64_t length[RANK_MAX];
} shape;

/* The shape of a scalar: rank 0, one element. */
extern const shape shape_scalar;

/* Whether every length is known. */
bool shape_is_known(const shape *s);

/* The number of elements of a known shape that passed shape_check. */
int64_t shape_size(const shape *s);

/* Checks rank, lengths and size: each length and the product of those that are
 * not zero must be at most LENGTH_MAX. ERR_SHAPE_INVALID naming who otherwise. */
bool shape_check(const shape *s, const char *who, error *err);

/* Whether two shapes are the same, unknown lengths being equal to each other. */
bool shape_equal(const shape *a, const shape *b);

/* Broadcasts b into result (NumPy's rules: aligned right, 1 stretches, also to
 * 0). An unknown length meets a known one above 1 as that, and 1 or an unknown
 * one as unknown. False, without an error, if the shapes do not fit; *axis is
 * then the axis, counted from the right, where they differ. */
bool shape_broadcast(shape *result, const shape *b, int *axis);

/* The axis that text calls axis, counted from the end if negative, for a tensor
 * of this rank. False and ERR_AXIS naming who if it is out of range. */
bool shape_axis(int64_t axis, int rank, const char *who, int *result, error *err);

/* Strides, in units of elements, of a contiguous tensor in C order. */
void shape_strides(const shape *s, int64_t strides[RANK_MAX]);

/* Text such as [2, 3], unknown lengths as "?"; in a. */
const char *shape_text(const shape *s, arena *a);

enum { SHAPE_TEXT_MAX = 128 };
/* The same, shortened to fit a message. Returns to. */
const char *shape_print(const shape *s, char to[SHAPE_TEXT_MAX]);

/* SPDX-License-Identifier: Apache-2.0 */
/* Operations defined by others, in our own language. They need no kernel and no
 * gradient: both follow from the definition. */
#include "engine/ops/families.h"

static op_def rows[] = {
    {
        .name = "zeros",
        .aliases = "zero",
        .family = "Creation",
        .signature = "shape: ints, dtype: dtype = float64",
        .lower = "broadcast_to(astype(0, dtype), shape)",
        .doc = "Tensor of zeros.",
        .example = "zeros((2,))",
        .gives = "[0.0, 0.0]",
    },
    {
        .name = "ones",
        .aliases = "one",
        .family = "Creation",
        .signature = "shape: ints, dtype: dtype = float64",
        .lower = "broadcast_to(astype(1, dtype), shape)",
        .doc = "Tensor of ones.",
        .example = "ones((2,))",
        .gives = "[1.0, 1.0]",
    },
    {
        .name = "full",
        .aliases = "fill",
        .family = "Creation",
        .signature = "shape: ints, fill_value, dtype: dtype = None",
        .lower = "broadcast_to(astype(fill_value, dtype), shape)",
        .doc = "Tensor filled with one value.",
        .example = "full((2,), 7)",
        .gives = "[7, 7]",
    },
    {
        .name = "zeros_like",
        .family = "Creation",
        .signature = "x, dtype: dtype = None",
        .lower = "broadcast_to(astype(0, x.dtype if dtype is None else dtype), x.shape)",
        .doc = "Tensor of zeros with the shape and type of another.",
        .example = "zeros_like([1, 2])",
        .gives = "[0, 0]",
    },
    {
        .name = "ones_like",
        .family = "Creation",
        .signature = "x, dtype: dtype = None",
        .lower = "broadcast_to(astype(1, x.dtype if dtype is None else dtype), x.shape)",
        .doc = "Tensor of ones with the shape and type of another.",
        .example = "ones_like([1, 2])",
        .gives = "[1, 1]",
    },
    {
        .name = "full_like",
        .family = "Creation",
        .signature = "x, fill_value, dtype: dtype = None",
        .lower = "broadcast_to(astype(fill_value, x.dtype if dtype is None else dtype), x.shape)",
        .doc = "Tensor filled with one value, with the shape and type of another.",
        .example = "full_like([1, 2], 7)",
        .gives = "[7, 7]",
    },
    {
        .name = "divmod",
        .family = "Elementwise",
        .signature = "x, y",
        .outputs = 2,
        .lower = "(floor_divide(x, y), remainder(x, y))",
        .doc = "Floor quotient and remainder.",
        .example = "divmod([7, -7], 2)",
        .gives = "([3, -4], [1, 1])",
    },
    {
        .name = "clip",
        .aliases = "clip_by_value",
        .family = "Elementwise",
        .signature = "x, min = None, max = None",
        .lower = "low = x if min is None else maximum(x, min)\n"
                 "return low if max is None else minimum(low, max)",
        .traits = OP_LIMITS,
        .doc = "The number, or the limit that it passes.",
        .example = "clip([1, 5, 9], 2, 6)",
        .gives = "[2, 5, 6]",
    },
    {
        .name = "dot",
        .family = "Linear algebra",
        .signature = "x, y",
        .lower = "multiply(x, y) if x.ndim == 0 or y.ndim == 0 else "
                 "matmul(x, y) if x.ndim < 3 and y.ndim < 3 else "
                 "tensordot(x, y, ([-1], [-1 if y.ndim == 1 else -2]))",
        .doc = "NumPy's dot: products of vectors and matrices; the last axis of x with the last "
               "but one of y.",
        .example = "dot([1, 2], [3, 4])",
        .gives = "11",
    },
    {
        .name = "var",
        .aliases = "reduce_variance",
        .family = "Reductions",
        .signature = "x, axis: axes = None, ddof: int = 0, keepdims: bool = False",
        .lower = "w = astype(x, float32) if x.dtype == float16 or x.dtype == bfloat16 else x\n"
                 "d = w - mean(w, axis=axis, keepdims=True)\n"
                 "s = sum(real(d * conj(d)), axis=axis, keepdims=keepdims)\n"
                 "n = size(x) / maximum(size(s), 1) - ddof\n"
                 "v = s / astype(maximum(n, 0), s.dtype)\n"
                 "return astype(v, x.dtype) if x.dtype == float16 or x.dtype == bfloat16 else v",
        .doc = "Variance of the elements along axes: mean squared distance from the mean.",
        .example = "var([1, 2, 6])",
        .gives = "4.666666666666667",
    },
    {
        .name = "std",
        .aliases = "reduce_std",
        .family = "Reductions",
        .signature = "x, axis: axes = None, ddof: int = 0, keepdims: bool = False",
        .lower = "sqrt(var(x, axis=axis, ddof=ddof, keepdims=keepdims))",
        .doc = "Standard deviation of the elements along axes: root of the variance.",
        .example = "std([1, 2, 3, 4, 5])",
        .gives = "1.4142135623730951",
    },
    {
        .name = "softmax",
        .family = "Neural building blocks",
        .signature = "x, axis: axes = -1",
        .lower = "w = x * 1.0\n"
                 "e = exp(w - stop_gradient(max(w, axis=axis, keepdims=True)))\n"
                 "return e / sum(e, axis=axis, keepdims=True)",
        .doc = "e^x divided by its sum along axes, without overflow.",
        .example = "softmax([0.0, 0.0])",
        .gives = "[0.5, 0.5]",
    },
    {
        .name = "log_softmax",
        .family = "Neural building blocks",
        .signature = "x, axis: axes = -1",
        .lower = "w = x * 1.0\n"
                 "d = w - stop_gradient(max(w, axis=axis, keepdims=True))\n"
                 "return d - log(sum(exp(d), axis=axis, keepdims=True))",
        .doc = "Logarithm of softmax, without overflow or underflow.",
        .example = "log_softmax([0.0, 1000.0])",
        .gives = "[-1000.0, 0.0]",
    },
    {
        .name = "logsumexp",
        .aliases = "reduce_logsumexp",
        .family = "Reductions",
        .signature = "x, axis: axes = None, keepdims: bool = False",
        .lower = "w = x * 1.0\n"
                 "m = stop_gradient(max(w, axis=axis, keepdims=True))\n"
                 "c = where(isfinite(m), m, 0)\n"
                 "s = log(sum(exp(w - c), axis=axis, keepdims=keepdims))\n"
                 "return s + sum(c, axis=axis, keepdims=keepdims)",
        .doc = "Logarithm of the sum of e^x along axes, without overflow.",
        .example = "logsumexp([1000.0, 1000.0])",
        .gives = "1000.6931471805599",
    },
};

const op_family definition_family = {rows, sizeof rows / sizeof *rows};

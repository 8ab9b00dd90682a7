# SPDX-License-Identifier: Apache-2.0
"""What is compared with PyTorch: the same functions in our language and in torch's.

Left out, since the conventions differ or torch has no derivative there:
  - fmax, fmin and clip where two arguments are equal: torch takes one side, we the middle of
    both (maximum, max and their like agree, and are here with equal elements);
  - hypot at (0, 0) and std of equal elements, where torch gives NaN, or 0 by decision;
  - expm1, log1p and hypot of complex numbers, which torch 1.13 does not differentiate;
  - random draws, whose numbers are not torch's.
Debian's torch.dot of complex vectors gives 0, so they are written as sums; torch.prod without an axis
has no second derivative where there are zeros, so it goes along axes."""
import torch
from torch.nn import functional as nn

from by_torch import Case

MORE = "value gradient second jvp jacobian hessian"
CASES = []


def case(name, text, function, asked="value gradient second", **inputs):
    CASES.append(Case(name, text, function, asked, **inputs))


# ---- Elementwise -------------------------------------------------------------------------------

UNARY = [
    ("negative", torch.neg, "real"), ("positive", torch.positive, "real"), ("absolute", torch.abs, "nonzero"),
    ("sign", torch.sign, "nonzero"), ("exp", torch.exp, "real"), ("expm1", torch.expm1, "real"),
    ("log", torch.log, "positive"), ("log1p", torch.log1p, "unit"), ("log2", torch.log2, "positive"),
    ("log10", torch.log10, "positive"), ("sqrt", torch.sqrt, "positive"), ("square", torch.square, "real"),
    ("reciprocal", torch.reciprocal, "nonzero"), ("sin", torch.sin, "real"), ("cos", torch.cos, "real"),
    ("tan", torch.tan, "unit"), ("tanh", torch.tanh, "real"), ("sigmoid", torch.sigmoid, "real"),
    ("relu", torch.relu, "nonzero"), ("floor", torch.floor, "unit"), ("ceil", torch.ceil, "unit"),
    ("trunc", torch.trunc, "nonzero"), ("rint", torch.round, "unit"), ("conjugate", torch.conj, "real"),
    ("real", torch.real, "real"), ("stop_gradient", torch.detach, "real"),
]
for name, function, kind in UNARY:
    case(name, f"{name}(x)", function, MORE, x=f"{kind} m n")
    case(f"{name} of a number", f"{name}(x)", function, x=kind)

COMPLEX_UNARY = [
    ("negative", torch.neg), ("conjugate", torch.conj), ("real", torch.real), ("imag", torch.imag),
    ("absolute", torch.abs), ("sign", torch.sgn), ("exp", torch.exp), ("log", torch.log), ("log2", torch.log2),
    ("log10", torch.log10), ("sqrt", torch.sqrt), ("square", torch.square), ("reciprocal", torch.reciprocal),
    ("sin", torch.sin), ("cos", torch.cos), ("tan", torch.tan), ("tanh", torch.tanh), ("sigmoid", torch.sigmoid),
]
for name, function in COMPLEX_UNARY:
    case(f"complex {name}", f"{name}(z)", function, "value gradient second jvp", z="complex m n")

# Shapes of two arguments: in every way that one is stretched to the other.
BROADCAST = ["m n|m n", "m n|n", "n|m n", "m n|", "|m n", "|", "m 1|1 n", "m n|m 1", "k m n|m 1",
             "1|m n", "k 1 n|m 1", "k m n|k 1 1", "1 1|n", "0 n|1 n", "0|1", "k 0|"]
for shapes in BROADCAST:
    a, b = shapes.split("|")
    for name, function in (("add", torch.add), ("multiply", torch.mul), ("divide", torch.div)):
        case(f"{name} [{shapes}]", f"{name}(x, y)", function, x=f"real {a}", y=f"nonzero {b}")
    case(f"power [{shapes}]", "x ** y", torch.pow, x=f"positive {a}", y=f"real {b}")
    case(f"maximum [{shapes}]", "maximum(x, y)", torch.maximum, "value gradient", x=f"real {a}", y=f"real {b}")
    case(f"where [{shapes}]", "where(p, x * y, y)", lambda p, x, y: torch.where(p, x * y, y),
         p=f"bool {a}", x=f"real {b}", y=f"real {a}")

BINARY = [
    ("subtract", torch.sub, "real", "real"), ("remainder", torch.remainder, "real", "nonzero"),
    ("arctan2", torch.atan2, "nonzero", "nonzero"), ("hypot", torch.hypot, "nonzero", "nonzero"),
    ("minimum", torch.minimum, "real", "real"), ("fmax", torch.fmax, "real", "real"),
    ("fmin", torch.fmin, "real", "real"), ("power", torch.pow, "positive", "real"),
    ("true_divide", torch.div, "real", "nonzero"),
]
for name, function, a, b in BINARY:
    case(f"{name}", f"{name}(x, y)", function, MORE, x=f"{a} m", y=f"{b} m")
    case(f"{name} [m 1|n]", f"{name}(x, y)", function, x=f"{a} m 1", y=f"{b} n")

for sign, function in (("+", torch.add), ("-", torch.sub), ("*", torch.mul), ("/", torch.div), ("**", torch.pow)):
    for a, b in (("complex m n", "complex n"), ("complex m", "nonzero m"), ("nonzero m 1", "complex n")):
        case(f"complex x {sign} y, {a}, {b}", f"x {sign} y", function, "value gradient second jvp", x=a, y=b)

case("divmod", "q, r = divmod(x, y)\nreturn q * y + r * x",
     lambda x, y: torch.div(x, y, rounding_mode="floor").detach() * y + torch.remainder(x, y) * x,
     x="real m n", y="nonzero n")
case("clip", "clip(x, -0.5, 0.75)", lambda x: torch.clamp(x, -0.5, 0.75), MORE, x="real m n")
case("clip by arrays", "clip(x * x, low, high)", lambda x, low, high: torch.clamp(x * x, low, high),
     x="real m n", low="unit n", high="positive m 1")
case("clip below", "clip(x, 0.1)", lambda x: torch.clamp(x, 0.1), x="real m n")
case("maximum of equal numbers", "maximum(x, y)", torch.maximum, x=[1.0, 2.0, -3.0], y=[1.0, 5.0, -3.0])
case("minimum of equal numbers", "minimum(x, y)", torch.minimum, x=[1.0, 2.0, -3.0], y=[1.0, 1.0, -3.0])
case("absolute at 0", "abs(x)", torch.abs, x=[0.0, -0.0, 1.5])
case("relu at 0", "relu(x)", torch.relu, x=[0.0, -0.0, 1.5])
case("sqrt at 0", "sqrt(x)", torch.sqrt, "value gradient", x=[0.0, 4.0])
case("log at 0", "log(x)", torch.log, "value gradient", x=[0.0, 4.0])
case("power with whole exponents", "x ** y", torch.pow, "value gradient",
     x=[-2.0, 0.0, 0.0, 3.0], y=[2.0, 2.0, 1.0, -1.0])
case("x ** 2 at 0", "x ** 2", lambda x: x ** 2, MORE, x=[0.0, -1.5])
case("x ** 3", "x ** 3", lambda x: x ** 3, MORE, x=[0.0, -1.5, 2.0])
case("x ** -2", "x ** -2", lambda x: x ** -2, MORE, x="nonzero n")
case("x ** 0.5", "x ** 0.5", lambda x: x ** 0.5, x="positive n")
case("2 ** x", "2 ** x", lambda x: 2 ** x, MORE, x="real n")
case("sigmoid in extremes", "sigmoid(x)", torch.sigmoid, "value gradient", x=[-800.0, -40.0, 0.5, 800.0])
case("tanh in extremes", "tanh(x)", torch.tanh, "value gradient", x=[-400.0, -20.0, 20.0, 400.0])
case("tanh of a product", "tanh(x * y + 1) / (1 + x * x)", lambda x, y: torch.tanh(x * y + 1) / (1 + x * x),
     MORE, x="real m", y="real m")
case("x used often", "x * sin(x) + x / (1 + x * x) - x", lambda x: x * torch.sin(x) + x / (1 + x * x) - x,
     MORE, x="real n")
case("stop_gradient of a factor", "stop_gradient(x * x) * x", lambda x: (x * x).detach() * x, MORE, x="real n")
case("astype complex", "astype(x, complex128) * (1 + 2j)", lambda x: x.to(torch.complex128) * (1 + 2j), x="real n")
case("astype float32", "astype(astype(x, float32), float64) * x", lambda x: x.float().double() * x,
     "value", x="real n")
case("full", "full((2, 3), x) * y", lambda x, y: x.expand(2, 3) * y, x="real", y="real 2 3")
case("full_like", "full_like(y, x) * y", lambda x, y: x.expand(y.shape) * y, x="real", y="real m n")
case("zeros_like", "zeros_like(x) + x", lambda x: torch.zeros_like(x) + x, x="real m n")
case("ones_like", "ones_like(x) * x + x", lambda x: torch.ones_like(x) * x + x, x="real m n")

# ---- Complex numbers as wholes -------------------------------------------------------------------

COMPLEX = "value gradient second jvp"
case("|z|^2", "real(z * conj(z))", lambda z: torch.real(z * torch.conj(z)), COMPLEX, z="complex m n")
case("real of z^2 w", "real(z * z * w)", lambda z, w: torch.real(z * z * w), COMPLEX, z="complex n", w="complex n")
case("z from parts", "a + 1j * b", lambda a, b: torch.complex(a, b), a="real n", b="real n")
case("|exp z|", "abs(exp(z) + x)", lambda z, x: torch.abs(torch.exp(z) + x), COMPLEX, z="complex n", x="real n")
case("complex sum", "sum(z, axis=0)", lambda z: z.sum(0), COMPLEX, z="complex m n")
case("complex mean", "mean(z)", torch.mean, COMPLEX, z="complex m n")
case("complex prod", "prod(z, axis=1)", lambda z: z.prod(1), COMPLEX, z="complex m n")
case("complex cumsum", "cumsum(z, axis=1)", lambda z: z.cumsum(1), COMPLEX, z="complex m n")
case("complex indices", "z[[0, 2, 0]]", lambda z: z[[0, 2, 0]], COMPLEX, z="complex 3")
case("complex matmul", "matmul(z, w)", torch.matmul, COMPLEX, z="complex m n", w="complex n k")
case("complex and real matmul", "z @ w", lambda z, w: z @ w.to(torch.complex128), COMPLEX, z="complex m n", w="real n k")
case("complex dot", "z @ w", lambda z, w: (z * w).sum(), COMPLEX, z="complex n", w="complex n")
case("hermitian form", "real(conj(z) @ (a @ z))", lambda z, a: torch.real((torch.conj(z) * (a @ z)).sum()), COMPLEX,
     z="complex n", a="complex n n")
case("complex where", "where(p, z, w * z)", lambda p, z, w: torch.where(p, z, w * z), COMPLEX,
     p="bool n", z="complex n", w="complex n")

# ---- Reductions ----------------------------------------------------------------------------------

AXES = [("", None), (", axis=0", 0), (", axis=-1", -1), (", axis=(0, 2)", (0, 2)), (", axis=(-1, 1)", (-1, 1)),
        (", axis=1, keepdims=True", 1), (", axis=(0, 1, 2), keepdims=True", (0, 1, 2))]


def along(function):
    """The function of torch with axes that may be none, which are all."""
    def reduced(x, axes, keep):
        return function(x, dim=tuple(range(x.ndim)) if axes is None else axes, keepdim=keep)
    return reduced


def product(x, axes, keep):
    axes = tuple(range(x.ndim)) if axes is None else axes if isinstance(axes, tuple) else (axes,)
    for axis in sorted((a % x.ndim for a in axes), reverse=True):
        x = torch.prod(x, axis, keepdim=keep)
    return x


REDUCTIONS = [
    ("sum", along(torch.sum)), ("mean", along(torch.mean)), ("max", along(torch.amax)), ("min", along(torch.amin)),
    ("prod", product), ("logsumexp", along(torch.logsumexp)),
    ("var", along(lambda x, dim, keepdim: torch.var(x, dim, unbiased=False, keepdim=keepdim))),
    ("std", along(lambda x, dim, keepdim: torch.std(x, dim, unbiased=False, keepdim=keepdim))),
]
for name, function in REDUCTIONS:
    for text, axes in AXES:
        # Lengths of three and more, since the deviation of one number or of two has corners.
        case(f"{name}{text}", f"{name}(x{text})",
             lambda x, function=function, axes=axes, keep="keepdims" in text: function(x, axes, keep), x="real 3 3 3")
    case(f"{name} of a vector", f"{name}(x)", lambda x, function=function: function(x, None, False), MORE, x="real 4")

case("sum without axes", "sum(x, axis=()) * x", lambda x: x * x, x="real m n")
case("sum of nothing", "sum(x)", torch.sum, x="real 0 n")
case("sum along nothing", "sum(x, axis=0)", lambda x: x.sum(0), x="real 0 n")
case("prod of nothing", "prod(x, axis=0)", lambda x: x.prod(0), x="real 0 n")
case("max along nothing else", "max(x, axis=1)", lambda x: x.amax(1), x="real 0 3")
case("sum of a number", "sum(x)", torch.sum, x="real")
case("var with ddof", "var(x, axis=1, ddof=1)", lambda x: torch.var(x, 1, unbiased=True), MORE, x="real 2 3")
case("std with ddof", "std(x, ddof=1)", lambda x: torch.std(x, unbiased=True), MORE, x="real 4")
case("max with equal elements", "max(x, axis=1)", lambda x: x.amax(1), x=[[1.0, 3.0, 3.0], [2.0, 2.0, 2.0]])
case("min with equal elements", "min(x)", lambda x: x.amin(), x=[[1.0, 3.0, 1.0], [2.0, 1.0, 2.0]])
case("prod with a zero", "prod(x)", lambda x: x.prod(0), MORE, x=[2.0, 0.0, -3.0])
case("prod with two zeros", "prod(x)", lambda x: x.prod(0), MORE, x=[2.0, 0.0, -3.0, 0.0])
case("prod with three zeros", "prod(x)", lambda x: x.prod(0), MORE, x=[0.0, 0.0, -3.0, 0.0])
case("prod with zeros along an axis", "prod(x, axis=1)", lambda x: x.prod(1), MORE,
     x=[[1.0, 2.0, 3.0], [0.0, 2.0, 4.0], [0.0, 0.0, 5.0]])
case("cumsum", "cumsum(x)", lambda x: x.flatten().cumsum(0), MORE, x="real m n")
case("cumsum, axis=0", "cumsum(x * x, axis=0)", lambda x: (x * x).cumsum(0), x="real m n")
case("cumsum, axis=-1", "cumsum(sin(x), axis=-1)", lambda x: torch.sin(x).cumsum(-1), x="real k m n")
case("sum of squares", "sum(x * x)", lambda x: (x * x).sum(), MORE, x="real m n")
case("norm", "sqrt(sum(x * x))", lambda x: torch.sqrt((x * x).sum()), MORE, x="real n")
case("sum_to", "sum_to(x * x, y) * y", lambda x, y: (x * x).sum(0) * y, x="real m n", y="real n")
case("standardised", "(x - mean(x, axis=0)) / (std(x, axis=0) + 0.1)",
     lambda x: (x - x.mean(0)) / (x.std(0, unbiased=False) + 0.1), x="real 4 3")
case("softplus of sums", "log1p(exp(sum(x, axis=1)))", lambda x: torch.log1p(torch.exp(x.sum(1))), MORE, x="real m n")

# ---- Movement --------------------------------------------------------------------------------------

SQUARES = "value gradient second"
case("reshape", "reshape(x * x, (3, 4))", lambda x: (x * x).reshape(3, 4), x="real 2 6")
case("reshape to -1", "x.reshape(-1, 2) * y", lambda x, y: x.reshape(-1, 2) * y, x="real 2 6", y="real 2")
case("ravel", "ravel(x.T) * y", lambda x, y: x.T.flatten() * y, x="real 2 3", y="real 6")
case("transpose", "transpose(x) * y", lambda x, y: x.permute(2, 1, 0) * y, x="real k m n", y="real n m k")
case("transpose with axes", "transpose(x, (1, 2, 0)) * y", lambda x, y: x.permute(1, 2, 0) * y, x="real k m n", y="real k")
case("untranspose", "untranspose(x, (1, 2, 0)) ** 2", lambda x: x.permute(2, 0, 1) ** 2, x="real k m n")
case("swapaxes", "swapaxes(x, 0, -1) ** 2", lambda x: x.swapaxes(0, -1) ** 2, x="real k m n")
case("mT", "x.mT * y", lambda x, y: x.mT * y, x="real k m n", y="real n m")
case("expand_dims", "expand_dims(x, (0, 2)) * y", lambda x, y: x[None, :, None] * y, x="real m", y="real n")
case("squeeze", "squeeze(x) * y", lambda x, y: x[0, :, 0] * y, x="real 1 3 1", y="real 3")
case("squeeze an axis", "squeeze(x, axis=2) * y", lambda x, y: x.squeeze(2) * y, x="real 1 m 1", y="real m")
case("broadcast_to", "broadcast_to(x, (2, 3)) * y", lambda x, y: x.expand(2, 3) * y, x="real 3", y="real 2 3")
case("broadcast_to many", "broadcast_to(x, (4, 2, 3)) ** 2", lambda x: x.expand(4, 2, 3) ** 2, x="real 2 1")
case("spread", "spread(x, y, axis=1) * y", lambda x, y: x[:, None] * y, x="real m", y="real m n")
case("flip", "flip(x) * y", lambda x, y: x.flip(0, 1) * y, x="real m n", y="real n")
case("flip an axis", "flip(x, axis=1) * x", lambda x: x.flip(1) * x, x="real m n")

# ---- Indices ---------------------------------------------------------------------------------------

# torch has no negative steps, so they are flips.
INDEXED = [
    ("x[1]", lambda x: x[1], "4 3"), ("x[-1, 0]", lambda x: x[-1, 0], "4 3"), ("x[1:3]", lambda x: x[1:3], "4 3"),
    ("x[:, ::2]", lambda x: x[:, ::2], "2 5"), ("x[::-1]", lambda x: x.flip(0), "m n"),
    ("x[3:0:-2]", lambda x: x[[3, 1]], "4 3"), ("x[:, ::-2]", lambda x: x.flip(1)[:, ::2], "m n"),
    ("x[-2:]", lambda x: x[-2:], "m n"), ("x[2:2]", lambda x: x[2:2], "4 3"), ("x[..., 0]", lambda x: x[..., 0], "k m n"),
    ("x[None, :, None]", lambda x: x[None, :, None], "m n"), ("x[0, ..., ::-1]", lambda x: x[0].flip(-1), "k m n"),
    ("x[[0, 0, 2]]", lambda x: x[[0, 0, 2]], "3 n"), ("x[[-1, 0, -1, -1]]", lambda x: x[[-1, 0, -1, -1]], "3 n"),
    ("x[:, [1, 1]]", lambda x: x[:, [1, 1]], "m 3"), ("x[[[0, 1], [1, 1]]]", lambda x: x[torch.tensor([[0, 1], [1, 1]])], "2 3"),
    ("x[[0, 1, 1], [2, 0, 0]]", lambda x: x[[0, 1, 1], [2, 0, 0]], "2 3"),
    ("x[[0, 1], :, [2, 2]]", lambda x: torch.stack([x[0, :, 2], x[1, :, 2]]), "2 m 3"),
    ("x[1:, [0, 0, 1]]", lambda x: x[1:][:, [0, 0, 1]], "3 2"), ("x[x > 0]", lambda x: x[x > 0], "m n"),
    ("x[x.sum(axis=1) > -9]", lambda x: x[x.sum(1) > -9], "m n"), ("x[[]]", lambda x: x[[]], "m n"),
]
for text, function, lengths in INDEXED:
    case(text, f"{text} ** 2 * sum(x)", lambda x, function=function: function(x) ** 2 * x.sum(), x=f"real {lengths}")

case("index by an input", "x[i] * y", lambda x, i, y: x[i] * y, x="real 3 n", i="below3 p", y="real p n")
case("rows by classes", "x[arange(4), i]", lambda x, i: x[torch.arange(4), i], x="real 4 3", i="below3 4")


def assigned(x, key, v):
    y = x.clone()
    y[key] = v
    return y


case("setitem of a row", "y = x * x\ny[1] = v\nreturn y * x", lambda x, v: assigned(x * x, 1, v) * x,
     x="real 3 2", v="real 2")
case("getitem and setitem by name", "setitem(x * x, (getitem(x, key='0'),), key='1')",
     lambda x: assigned(x * x, 1, x[0]), x="real 3 2")
case("setitem of a slice", "y = x * x\ny[1:, 0] = v\nreturn y * x",
     lambda x, v: assigned(x * x, (slice(1, None), 0), v) * x, x="real 3 2", v="real")
case("setitem backwards", "y = x * x\ny[::-1] = v\nreturn y * sum(v)",
     lambda x, v: v.flip(0) * v.sum(), x="real n", v="real n")
case("setitem by places", "y = x * x\ny[[0, 2]] = v\nreturn y ** 2", lambda x, v: assigned(x * x, [0, 2], v) ** 2,
     x="real 3 2", v="real 2 2")
case("setitem of the same place", "y = x * x\ny[[1, 1]] = v\nreturn y ** 2",
     lambda x, v: assigned(x * x, 1, v[1]) ** 2, x="real 3", v="real 2")
case("setitem by a mask", "y = x * 1\ny[x < 0] = 2.0\nreturn y ** 2", lambda x: torch.where(x < 0, 2.0, x) ** 2, x="real m n")
case("x[0] *= 3", "y = x * x\ny[0] *= 3\nreturn y * x", lambda x: assigned(x * x, 0, 3 * x[0] * x[0]) * x, x="real 3 2")
case("index_add", "index_add(x, [0, 2, 0], v, key='$1') ** 2",
     lambda x, v: x.index_add(0, torch.tensor([0, 2, 0]), v) ** 2, x="real 3 2", v="real 3 2")
case("index_add of a slice", "index_add(x, (v,), key='1:') * x", lambda x, v: assigned(x, slice(1, None), x[1:] + v) * x,
     x="real 3 2", v="real 2 2")

# ---- Joining ---------------------------------------------------------------------------------------

case("concatenate", "concatenate([x, y]) ** 2", lambda x, y: torch.cat([x, y]) ** 2, x="real m n", y="real k n")
case("concatenate, axis=1", "concatenate([x, y, x], axis=1) ** 2", lambda x, y: torch.cat([x, y, x], 1) ** 2,
     x="real m n", y="real m k")
case("concatenate, axis=-1", "concatenate([x * y, y], axis=-1) ** 2", lambda x, y: torch.cat([x * y, y], -1) ** 2,
     x="real k m n", y="real k m n")
case("concatenate with nothing", "concatenate([x, y]) ** 2", lambda x, y: torch.cat([x, y]) ** 2,
     x="real m n", y="real 0 n")
case("concatenate without an axis", "concatenate([x, y, x * y], axis=None) ** 2",
     lambda x, y: torch.cat([x.flatten(), y.flatten(), (x * y).flatten()]) ** 2, MORE, x="real m n", y="real")
case("stack", "stack([x, y, x]) ** 2", lambda x, y: torch.stack([x, y, x]) ** 2, x="real m n", y="real m n")
case("stack, axis=-1", "stack([x, y], axis=-1) @ [2.0, 3.0] * x", lambda x, y: (2 * x + 3 * y) * x, x="real m n", y="real m n")
case("list of numbers", "[x, x * y, y ** 2]", lambda x, y: torch.stack([x, x * y, y ** 2]), MORE, x="real", y="real")
case("unstack", "a, b = unstack(x, axis=1)\nreturn a * b", lambda x: x[:, 0] * x[:, 1], x="real m 2")

# ---- Products --------------------------------------------------------------------------------------

RANKS = ["n|n", "n|n p", "m n|n", "m n|n p", "k m n|n p", "m n|k n p", "k m n|k n p", "n|k n p", "k m n|n",
         "k 1 m n|l n p", "1 m n|k n p", "m 0|0 n", "0 m|m n", "1 1|1 n", "k 1 m n|1 l n p", "l k n|l 1 n p"]
for shapes in RANKS:
    a, b = shapes.split("|")
    if shapes in ("k m n|n", "n|k n p", "l k n|l 1 n p"):
        b = {"l k n|l 1 n p": "1 n p"}.get(shapes, b)
    case(f"matmul [{a}|{b}]", "x @ y", torch.matmul, x=f"real {a}", y=f"real {b}")
case("matmul with itself", "x @ x", lambda x: x @ x, MORE, x="real m m")
case("matmul with its transpose", "x @ x.T", lambda x: x @ x.T, MORE, x="real m n")
case("quadratic form", "x @ a @ x", lambda x, a: x @ a @ x, MORE, x="real n", a="real n n")
case("chain of matrices", "a @ b @ c_ @ v", lambda a, b, c_, v: a @ b @ c_ @ v,
     a="real m n", b="real n p", c_="real p k", v="real k")
case("dot of vectors", "dot(x, y)", torch.dot, MORE, x="real n", y="real n")
case("dot with a number", "dot(x, y)", torch.mul, x="real", y="real m n")
case("dot of matrices", "dot(x, y)", torch.matmul, x="real m n", y="real n p")
case("dot of ranks 3 and 3", "dot(x, y)", lambda x, y: torch.tensordot(x, y, ([-1], [-2])), x="real k m n", y="real l n p")
case("dot of ranks 3 and 1", "dot(x, y)", torch.matmul, x="real k m n", y="real n")
TENSORDOT = [("2", 2, "k m n", "m n p"), ("1", 1, "k m", "m n"), ("0", 0, "m", "n"),
             ("([0, 1], [1, 0])", ([0, 1], [1, 0]), "m n k", "n m"), ("([2], [0])", ([2], [0]), "k m n", "n p")]
for text, axes, a, b in TENSORDOT:
    case(f"tensordot, axes={text}", f"tensordot(x, y, {text})",
         lambda x, y, axes=axes: torch.tensordot(x, y, axes), x=f"real {a}", y=f"real {b}")
case("tensordot_x", "tensordot_x(c_, y, 1)", lambda c_, y: c_ @ y.T, c_="real m p", y="real n p")
case("tensordot_y", "tensordot_y(x, c_, 1)", lambda x, c_: x.T @ c_, x="real m n", c_="real m p")
case("outer", "x[:, None] * y", lambda x, y: torch.outer(x, y), MORE, x="real m", y="real n")
case("trace", "sum(x * eye(3))", torch.trace, MORE, x="real 3 3")
case("least squares", "mean((a @ w - y) ** 2)", lambda a, w, y: ((a @ w - y) ** 2).mean(), MORE, a="real m n", w="real n", y="real m")

# ---- Building blocks of networks -------------------------------------------------------------------

for axis in (-1, 0, 1):
    case(f"softmax, axis={axis}", f"softmax(x, axis={axis})", lambda x, axis=axis: torch.softmax(x, axis), x="real k m n")
    case(f"log_softmax, axis={axis}", f"log_softmax(x, axis={axis})",
         lambda x, axis=axis: torch.log_softmax(x, axis), x="real k m n")
case("softmax of a vector", "softmax(x)", lambda x: torch.softmax(x, 0), MORE, x="real n")
case("log_softmax of a vector", "log_softmax(x)", lambda x: torch.log_softmax(x, 0), MORE, x="real n")
case("softmax of large numbers", "softmax(x)", lambda x: torch.softmax(x, 0), x=[1000.0, 999.0, -1000.0])
case("log of softmax", "log(softmax(x))", lambda x: torch.log_softmax(x, -1), x="real m n")
case("softmax by hand", "exp(x) / sum(exp(x), axis=-1, keepdims=True)", lambda x: torch.softmax(x, -1), x="real m n")
case("logsumexp by hand", "log(sum(exp(x), axis=0))", lambda x: torch.logsumexp(x, 0), x="real m n")
case("logsumexp of large numbers", "logsumexp(x)", lambda x: torch.logsumexp(x, 0), x=[1000.0, 999.0, -1000.0])
case("sigmoid by hand", "1 / (1 + exp(-x))", torch.sigmoid, MORE, x="real n")
case("log of sigmoid", "log(sigmoid(x))", nn.logsigmoid, MORE, x="real n")
case("log of sigmoid in extremes", "log(sigmoid(x))", nn.logsigmoid, "value gradient", x=[-700.0, -40.0, 40.0, 700.0])
case("log of sigmoid by hand", "log(1 / (1 + exp(-x)))", nn.logsigmoid, "value gradient", x="large n")
case("sigmoid by hand in extremes", "1 / (1 + exp(-x))", torch.sigmoid, "value gradient", x=[-800.0, -40.0, 0.5, 800.0])
case("log of sigmoid by hand in extremes", "log(1 / (1 + exp(-x)))", nn.logsigmoid, "value gradient",
     x=[-800.0, -40.0, 40.0, 800.0])
case("log of softmax by hand in extremes", "log(exp(x) / sum(exp(x), axis=-1, keepdims=True))",
     lambda x: torch.log_softmax(x, -1), "value", x=[[1000.0, 1.0], [-1000.0, -2000.0]])
case("softplus", "log(1 + exp(x))", nn.softplus, MORE, x="unit n")
case("log1p of x", "log(1 + x)", torch.log1p, x="unit n")
case("silu", "x * sigmoid(x)", nn.silu, MORE, x="real n")
case("elu", "where(x > 0, x, expm1(x))", nn.elu, x="nonzero n")
case("cross entropy by sigmoid", "-mean(t * log(sigmoid(x)) + (1 - t) * log(1 - sigmoid(x)))",
     nn.binary_cross_entropy_with_logits, "value gradient", x="real m n", t="positive m n")
case("cross entropy", "-mean(log_softmax(x)[arange(4), t])", nn.cross_entropy, MORE, x="real 4 3", t="below3 4")
case("Huber loss", "d = abs(x - y)\nreturn mean(where(d < 1, 0.5 * d * d, d - 0.5))", nn.huber_loss, x="real n", y="real n")


def normalised(x, w, b):
    return nn.layer_norm(x, (4,), w, b)


case("layer norm", "m = mean(x, axis=-1, keepdims=True)\nreturn (x - m) / sqrt(var(x, axis=-1, keepdims=True) + 1e-5) * w + b",
     normalised, x="real k 4", w="real 4", b="real 4")
case("two layers", "-mean(log_softmax(tanh(x @ w1 + b1) @ w2 + b2)[arange(4), t])",
     lambda x, w1, b1, w2, b2, t: nn.cross_entropy(torch.tanh(x @ w1 + b1) @ w2 + b2, t),
     x="real 4 n", w1="real n p", b1="real p", w2="real p 3", b2="real 3", t="below3 4")
case("two layers with relu", "sum((relu(x @ w1 + b1) @ w2 - y) ** 2)",
     lambda x, w1, b1, w2, y: ((torch.relu(x @ w1 + b1) @ w2 - y) ** 2).sum(),
     x="real m n", w1="real n p", b1="real p", w2="real p k", y="real m k")
case("attention", "q, k, v = x @ wq, x @ wk, x @ wv\nreturn softmax(q @ k.mT / 2.0) @ v",
     lambda x, wq, wk, wv: torch.softmax((x @ wq) @ (x @ wk).mT / 2.0, -1) @ (x @ wv),
     x="real k m n", wq="real n p", wk="real n p", wv="real n p")


def masked_attention(q, k, v):
    later = torch.ones(3, 3).triu(1) > 0
    return torch.softmax((q @ k.mT).masked_fill(later, -1e9), -1) @ v


case("masked attention", "i = arange(3)\nreturn softmax(where(i > i[:, None], -1e9, q @ k.mT)) @ v", masked_attention,
     q="real l 3 n", k="real l 3 n", v="real l 3 n")

# ---- Choices and loops -------------------------------------------------------------------------------


def scanned(f, carry, xs):
    ys = []
    for x in xs:
        carry, y = f(carry, x)
        ys.append(y)
    return carry, torch.stack(ys)


def repeated(n, f, v):
    for i in range(n):
        v = f(i, v)
    return v


def grown(x, limit):
    v = x
    while v.abs().sum() < limit:
        v = v * x + v
    return v


case("cond, true", "cond(sum(x * x) >= 0, lambda: x ** 2, lambda: x)", lambda x: x ** 2, MORE, x="real n")
case("cond, false", "cond(sum(x * x) < 0, lambda: x ** 2, lambda: sin(x))", torch.sin, MORE, x="real n")
case("cond by a value", "x ** 3 if sum(x) > 0 else x ** 2", lambda x: x ** 3 if x.sum() > 0 else x ** 2, x="real n")
case("case", "case([(sum(x) > 1, lambda: x * x), (sum(x) > 0, lambda: exp(x))], default=lambda: 3 * x)",
     lambda x: x * x if x.sum() > 1 else torch.exp(x) if x.sum() > 0 else 3 * x, x="real n")
case("while_loop", "while_loop(lambda v: sum(abs(v)) < 40, lambda v: v * x + v, x)",
     lambda x: grown(x, 40), x="positive n")
case("while_loop with a counter", "while_loop(lambda i, v: i < 4, lambda i, v: (i + 1, sin(v) * w), (0, x))[1]",
     lambda x, w: repeated(4, lambda i, v: torch.sin(v) * w, x), MORE, x="real", w="real")
case("while_loop that does not run", "while_loop(lambda v: sum(v * v) < 0, lambda v: v * x, x)", lambda x: x * 1, x="real n")
case("parts as branches", "cond(sum(x * x) >= 0, lambda: x[1:], lambda: x[:3])", lambda x: x[1:], x="real 4")
case("part of a choice", "cond(sum(x * x) >= 0, lambda: x * x, lambda: x)[None, :0:-1]", lambda x: (x * x)[1:].flip(0)[None],
     MORE, x="real 4")
case("part of a loop's value", "fori_loop(0, 3, lambda i, v: v * x, x)[::-2]", lambda x: (x ** 4).flip(0)[::2], x="real n")
case("loop that does not run on a part", "while_loop(lambda v: sum(v * v) < 0, lambda v: v * 2, x[1:])", lambda x: x[1:] * 1,
     x="real 4 n")
case("fori_loop", "fori_loop(0, 5, lambda i, v: v * x + i, x)", lambda x: repeated(5, lambda i, v: v * x + i, x),
     MORE, x="unit n")
case("fori_loop with matrices", "fori_loop(0, 3, lambda i, v: tanh(a @ v), x)",
     lambda a, x: repeated(3, lambda i, v: torch.tanh(a @ v), x), a="real m m", x="real m k")
case("fori_loop in a fori_loop", "fori_loop(0, 3, lambda i, v: fori_loop(0, 2, lambda k, w: w * x + k, v) + x, x)",
     lambda x: repeated(3, lambda i, v: repeated(2, lambda k, w: w * x + k, v) + x, x), x="unit n")
case("Newton's method", "fori_loop(0, 5, lambda i, v: 0.5 * (v + x / v), 1.0 + 0 * x)",
     lambda x: repeated(5, lambda i, v: 0.5 * (v + x / v), 1.0 + 0 * x), MORE, x="positive n")
case("scan, carry", "scan(lambda c, x: (c * x + sin(c), c), h, xs)[0]",
     lambda h, xs: scanned(lambda c, x: (c * x + torch.sin(c), c), h, xs)[0], MORE, h="real", xs="real 4")
case("scan, ys", "scan(lambda c, x: (c * x + x, c * c), h, xs)[1]",
     lambda h, xs: scanned(lambda c, x: (c * x + x, c * c), h, xs)[1], MORE, h="real", xs="real 4")
case("running product by scan", "scan(lambda c, x: (c * x, c * x), ones(3), xs)[1]", lambda xs: torch.cumprod(xs, 0), xs="real p 3")
case("running product with zeros", "scan(lambda c, x: (c * x, c * x), 1.0, xs)[1]", lambda xs: torch.cumprod(xs, 0),
     xs=[2.0, 0.0, 3.0, 0.0, 5.0])
case("recurrent network", "h, ys = scan(lambda h, x: (tanh(x @ w + h @ u + b), h @ h), zeros(4), xs)\nreturn concatenate([h, ys])",
     lambda xs, w, u, b: torch.cat(scanned(lambda h, x: (torch.tanh(x @ w + h @ u + b), h @ h), torch.zeros_like(b), xs)),
     xs="real m n", w="real n 4", u="real 4 4", b="real 4")
case("map", "map(lambda x: x * sum(x), xs)", lambda xs: torch.stack([x * x.sum() for x in xs]), xs="real m n")
case("map with a weight", "map(lambda x: (w @ x) ** 2, xs)", lambda w, xs: (xs @ w) ** 2, MORE, w="real n", xs="real m n")
case("gradient in a loop", "fori_loop(0, 3, lambda i, w: w - 0.1 * grad(lambda v: sum((a @ v - y) ** 2), w), w)",
     lambda a, y, w: repeated(3, lambda i, w: w - 0.2 * a.T @ (a @ w - y), w), a="real m n", y="real m", w="real n")

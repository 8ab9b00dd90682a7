# SPDX-License-Identifier: Apache-2.0
"""Cases whose results PyTorch computes: inputs drawn by a generator, the program for the
server, and the same with torch's own derivatives.

What is asked of f(x, w), for an incoming gradient c of f's shape and tangents of x's and w's:

    value      f(x, w)
    gradient   vjp(f, (x, w), c)
    second     the gradient of the sum of g^2 + g^3 for all parts g of that gradient (the sum of
               squares alone is constant for hypot, the sum of cubes for a softmax of two)
    jvp        jvp(f, (x, w), tangents)
    jacobian   of f, for x and w
    hessian    of sum(c * f), for all pairs of x and w
"""
import zlib

import numpy as np
import torch

from values import tensor_object

LENGTHS = {"k": 2, "l": 3, "m": 2, "n": 3, "p": 4}
REAL, COMPLEX, BOOL = "float64", "complex128", "bool"


class Case:
    """text is an expression of our language, or the body of a function; function is the same
    in torch, with all inputs as arguments. An input is written as "kind lengths", such as
    "positive m n" (see draw), or given as an array; bools and integers are not differentiated.
    asked are the words above."""

    def __init__(self, name, text, function, asked="value gradient second", **inputs):
        self.name, self.text, self.function = name, text, function
        self.asked, self.inputs = asked.split(), inputs


# ---- Inputs --------------------------------------------------------------------------------


def draw(spec, lengths, rng, decimals):
    """The array that an input's text describes, rounded so that tables stay short."""
    if not isinstance(spec, str):
        return np.array(spec)
    words = spec.split()
    kind = words.pop(0) if words and len(words[0]) > 1 else "real"
    shape = tuple(lengths[w] if w in lengths else int(w) for w in words)
    if kind == "bool":
        return rng.random(shape) < 0.5
    if kind.startswith("below"):
        return rng.integers(0, int(kind[len("below"):]), shape)
    if kind == "complex":
        return drawn_complex(shape, rng, decimals)
    return np.round(DRAWN[kind](rng, shape), decimals)


DRAWN = {
    "real": lambda rng, shape: rng.normal(size=shape),
    "positive": lambda rng, shape: rng.uniform(0.3, 2.5, shape),
    "unit": lambda rng, shape: rng.uniform(-0.9, 0.9, shape),
    "nonzero": lambda rng, shape: rng.uniform(0.3, 2.0, shape) * rng.choice([-1.0, 1.0], shape),
    "large": lambda rng, shape: rng.uniform(-60, 60, shape),
}


def drawn_complex(shape, rng, decimals):
    """Complex numbers that are away from zero and from the cuts along the real axis."""
    part = [np.round(DRAWN["nonzero"](rng, shape), decimals) for _ in range(2)]
    return part[0] + 1j * part[1]


def seed_of(name):
    return zlib.crc32(name.encode())


# ---- The program -----------------------------------------------------------------------------


def program_of(case, wrt):
    names = ", ".join(wrt)
    at = f"({names},)"
    body = case.text.strip().split("\n")
    if len(body) == 1:
        body = ["return " + body[0]]
    lines = [f"def f({names}):", *("    " + line for line in body)]
    results = {
        "value": f"f({names})",
        "gradient": f"vjp(f, {at}, c)",
        "second": f"grad(powers, {at})",
        "jvp": f"jvp(f, {at}, ({', '.join('t_' + n for n in wrt)},))",
        "jacobian": f"jacobian(f, {at})",
        "hessian": f"hessian(total, {at})",
    }
    if "second" in case.asked:
        parts = ", ".join(f"ravel({part}(g[{i}]))" for i in range(len(wrt)) for part in ("real", "imag"))
        lines += [f"def powers({names}):",
                  f"    g = vjp(f, {at}, c)",
                  f"    g = concatenate([{parts}])",
                  "    return sum(g ** 2 + g ** 3)"]
    if "hessian" in case.asked:
        lines += [f"def total({names}):", f"    return sum(c * f({names}))"]
    lines += [f"{asked}_ = {results[asked]}" for asked in case.asked]
    lines.append(", ".join(items(asked, wrt) for asked in case.asked) + ",")
    return "\n".join(lines)


def items(asked, wrt):
    """The items of one thing asked for, written out."""
    every = range(len(wrt))
    if asked in ("value", "jvp"):
        return asked + "_"
    if asked == "hessian":
        return ", ".join(f"hessian_[{i}][{j}]" for i in every for j in every)
    return ", ".join(f"{asked}_[{i}]" for i in every)


# ---- What torch gives --------------------------------------------------------------------------


def derivatives(y, xs, seed, create_graph=False):
    """torch's gradients; zeros where y does not depend on an x. Those of complex numbers, and
    incoming ones, are the conjugates of torch's, as ours and JAX's are."""
    if not y.requires_grad:
        return [torch.zeros_like(x) for x in xs]
    found = torch.autograd.grad(y, xs, None if seed is None else torch.conj(seed), create_graph=create_graph,
                                retain_graph=True, allow_unused=True)
    return [torch.zeros_like(x) if g is None else torch.conj(g) for x, g in zip(xs, found)]


def powers_of(gradients):
    return sum((part ** 2 + part ** 3).sum() for g in gradients for part in ((g.real, g.imag) if g.is_complex() else (g,)))


def jvp_by_torch(f, xs, tangents):
    """Forward along the tangents: the derivative, for the incoming gradient, of the gradient
    (which is linear in it)."""
    y = f(*xs)
    seed = torch.zeros_like(y, requires_grad=True)
    gradients = derivatives(y, xs, seed, create_graph=True)
    along = sum(torch.real(g * t).sum() for g, t in zip(gradients, tangents))
    return derivatives(along, [seed], None)[0]


def by_torch(case, wrt, arrays, c, tangents):
    """{label: array} of everything asked for."""
    given = {n: torch.tensor(a, requires_grad=n in wrt) for n, a in arrays.items()}
    xs = tuple(given[n] for n in wrt)
    seed = torch.tensor(c)

    def f(*values):
        return case.function(*{**given, **dict(zip(wrt, values))}.values())

    y = f(*xs)
    gradients = derivatives(y, xs, seed, create_graph=True)
    results = {}
    for asked in case.asked:
        if asked == "value":
            results["value"] = y
        elif asked == "gradient":
            results.update((f"gradient {n}", g) for n, g in zip(wrt, gradients))
        elif asked == "second":
            second = derivatives(powers_of(gradients), xs, None)
            results.update((f"second {n}", g) for n, g in zip(wrt, second))
        elif asked == "jvp":
            results["jvp"] = jvp_by_torch(f, xs, [torch.tensor(t) for t in tangents])
        elif asked == "jacobian":
            blocks = torch.autograd.functional.jacobian(f, xs)
            results.update((f"jacobian {n}", b) for n, b in zip(wrt, blocks))
        elif asked == "hessian":
            blocks = torch.autograd.functional.hessian(lambda *v: (seed * f(*v)).sum(), xs)
            results.update((f"hessian {a} {b}", blocks[i][j])
                           for i, a in enumerate(wrt) for j, b in enumerate(wrt))
    return {label: array_of(r) for label, r in results.items()}


def array_of(tensor):
    """The numbers, also of what torch keeps as a zero without memory or a delayed conjugate."""
    return (torch.zeros_like(tensor) + tensor.detach()).resolve_conj().numpy()


def solved(case, lengths, rng, decimals):
    """The case as values.compare takes it, with torch's results."""
    arrays = {n: draw(spec, lengths, rng, decimals) for n, spec in case.inputs.items()}
    wrt = [n for n, a in arrays.items() if a.dtype.kind in "fc"]
    with torch.no_grad():
        y = case.function(*(torch.tensor(a) for a in arrays.values()))
    kind = "complex" if y.is_complex() else "real"
    c = draw(" ".join([kind, *map(str, y.shape)]), lengths, rng, decimals)
    tangents = [draw(" ".join(["complex" if arrays[n].dtype.kind == "c" else "real",
                               *map(str, arrays[n].shape)]), lengths, rng, decimals) for n in wrt]
    inputs = {**arrays, "c": c}
    if "jvp" in case.asked:
        inputs.update(("t_" + n, t) for n, t in zip(wrt, tangents))
    return {
        "name": case.name,
        "program": program_of(case, wrt),
        "inputs": {n: tensor_object(a) for n, a in inputs.items()},
        "results": {n: tensor_object(r) for n, r in by_torch(case, wrt, arrays, c, tangents).items()},
    }

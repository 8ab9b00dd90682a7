# SPDX-License-Identifier: Apache-2.0
"""The works of rows.def in the languages of the peers that are installed.

peers() gives {name: (set_threads, {work: function})}; a work is a row's name without its
type, a function takes the row's arrays. NumPy has one thread for all of them."""


def numpy_works():
    import numpy as np

    def softmax(a):
        e = np.exp(a - a.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    def layer_norm(a):
        return (a - a.mean(axis=1, keepdims=True)) / np.sqrt(a.var(axis=1, keepdims=True) + a.dtype.type(1e-5))

    return lambda threads: None, lambda a: a, {
        "chain": lambda a, b, c, d: 2 * a + 3 * b * np.sin(c) - np.exp(d),
        "bell": lambda a, b, c: c * np.exp(-(a - b) ** 2),
        "root": lambda a, b, c: np.sqrt(a * a + b * b) / (1 + np.log(c)),
        "tanh": lambda a, b, c: np.tanh(a * b + c),
        "multiply_add": lambda a, b, c: a * b + c,
        "outer": lambda a, b: a + b,
        "sum": lambda a: a.sum(),
        "sum_rows": lambda a: a.sum(axis=1),
        "sum_columns": lambda a: a.sum(axis=0),
        "dot": lambda a, b: (a * b).sum(),
        "softmax": softmax,
        "layer_norm": layer_norm,
        "variance": lambda a: a.var(axis=1),
    }


def numexpr_works():
    import numexpr as ne

    def run(text):
        names = "abcd"
        return lambda *arrays: ne.evaluate(text, dict(zip(names, arrays)))

    return ne.set_num_threads, lambda a: a, {
        "chain": run("2*a + 3*b*sin(c) - exp(d)"),
        "bell": run("c * exp(-(a - b)**2)"),
        "root": run("sqrt(a*a + b*b) / (1 + log(c))"),
        "tanh": run("tanh(a*b + c)"),
        "multiply_add": run("a*b + c"),
        "outer": run("a + b"),
        "sum": run("sum(a)"),
        "sum_rows": run("sum(a, axis=1)"),
        "sum_columns": run("sum(a, axis=0)"),
        "dot": run("sum(a * b)"),
    }


def torch_works():
    import torch

    return torch.set_num_threads, torch.from_numpy, {
        "chain": lambda a, b, c, d: 2 * a + 3 * b * torch.sin(c) - torch.exp(d),
        "bell": lambda a, b, c: c * torch.exp(-(a - b) ** 2),
        "root": lambda a, b, c: torch.sqrt(a * a + b * b) / (1 + torch.log(c)),
        "tanh": lambda a, b, c: torch.tanh(a * b + c),
        "multiply_add": lambda a, b, c: torch.addcmul(c, a, b),
        "outer": lambda a, b: a + b,
        "sum": lambda a: a.sum(),
        "sum_rows": lambda a: a.sum(1),
        "sum_columns": lambda a: a.sum(0),
        "dot": lambda a, b: torch.dot(a, b),
        "softmax": lambda a: torch.softmax(a, 1),
        "layer_norm": lambda a: torch.nn.functional.layer_norm(a, a.shape[1:]),
        "variance": lambda a: a.var(1, unbiased=False),
    }


def numba_works():
    import math

    import numba
    import numpy as np

    @numba.njit(parallel=True)
    def chain(a, b, c, d):
        out = np.empty_like(a)
        for i in numba.prange(a.size):
            out[i] = 2 * a[i] + 3 * b[i] * math.sin(c[i]) - math.exp(d[i])
        return out

    @numba.njit(parallel=True)
    def multiply_add(a, b, c):
        out = np.empty_like(a)
        for i in numba.prange(a.size):
            out[i] = a[i] * b[i] + c[i]
        return out

    return numba.set_num_threads, lambda a: a, {"chain": chain, "multiply_add": multiply_add}


def peers():
    found = {}
    for name, works in [("numpy", numpy_works), ("numexpr", numexpr_works), ("torch", torch_works),
                        ("numba", numba_works)]:
        try:
            found[name] = works()
        except ImportError:
            pass
    return found

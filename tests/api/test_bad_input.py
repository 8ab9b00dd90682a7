#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Bad requests, a few hundred of them. Each has an expected status and code; the answer
must be well-formed problem+json, and the server must still answer right afterwards.

A case is (name, status, code, request). Most are rows of the tables below, from which the
requests are made: a program, an inputs object, a graph, a body, an address."""
import io
import json
import os
import struct
import sys
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))
from server import Server  # noqa: E402

JSON = {"Content-Type": "application/json"}
NPY = {"Content-Type": "application/x-npy"}
NPZ = {"Content-Type": "application/x-npz"}
RAW = {"Content-Type": "application/octet-stream"}


def evaluation(**members):
    return "POST", "/v1/eval", JSON, json.dumps(members).encode()


def body(data, headers=JSON, target="/v1/eval", method="POST"):
    return method, target, headers, data if isinstance(data, bytes) else data.encode()


# ---- Programs: (status, code, text), with x = [1, 2, 3] and m = [[1, 2], [3, 4]] ---------------

PROGRAMS = [
    # No programs.
    (400, "syntax-error", "x +"), (400, "syntax-error", "(x"), (400, "syntax-error", "x)"),
    (400, "syntax-error", "[1, 2"), (400, "syntax-error", "x = = 2"), (400, "syntax-error", "1 2"),
    (400, "syntax-error", "x y"), (400, "syntax-error", "def"), (400, "syntax-error", "lambda"),
    (400, "syntax-error", "def f(x) return x"), (400, "syntax-error", "x = 'abc"),
    (400, "syntax-error", "'''abc"), (400, "syntax-error", "x ? y"), (400, "syntax-error", "x $ y"),
    (400, "syntax-error", "x[1"), (400, "syntax-error", "f(x=1, 2)"), (400, "syntax-error", "1 = x"),
    (400, "syntax-error", "for i in x: i"), (400, "syntax-error", "while True: x"),
    (400, "syntax-error", "import os"), (400, "syntax-error", "from os import path"),
    (400, "syntax-error", "if x: 1"), (400, "syntax-error", "[i for i in x]"),
    (400, "syntax-error", "class A: pass"), (400, "syntax-error", "try: x"),
    (400, "syntax-error", "with x: y"), (400, "syntax-error", "x = 1e"),
    (400, "syntax-error", "0x"), (400, "syntax-error", "1__0"), (400, "syntax-error", "x.1"),
    (400, "syntax-error", "  x\n y"), (400, "syntax-error", "return x"),
    (400, "syntax-error", "(" * 100000), (400, "syntax-error", "[" * 1000000),
    (400, "syntax-error", "-" * 1000000 + "1"), (400, "syntax-error", "f(" * 100000),
    (400, "syntax-error", "x[" * 100000), (400, "syntax-error", "lambda: " * 100000 + "1"),
    (400, "json-invalid", "\x00"), (400, "syntax-error", "x\u2028y"), (400, "syntax-error", "{1: 2}"),
    # Unknown things.
    (422, "unknown-name", "y"), (422, "unknown-name", "x + nothing"),
    (422, "unknown-op", "nothing(x)"), (422, "unknown-op", "summ(x)"),
    (422, "unknown-op", "np.nothing(x)"), (422, "unknown-op", "linalg.svdd(m)"),
    (422, "unknown-name", "del y\n1"), (422, "unknown-name", "del x\nx"),
    (422, "unknown-attr", "sum(x, axes=0)"), (422, "unknown-attr", "exp(x, base=2)"),
    # Arguments.
    (422, "argument-error", "exp()"), (422, "argument-error", "exp(x, x)"),
    (422, "argument-error", "add(x)"), (422, "argument-error", "add(x, x, x)"),
    (422, "argument-error", "sum(x, x=x)"), (422, "argument-error", "exp('a')"),
    (422, "argument-error", "x('a')"), (422, "argument-error", "exp(exp)"),
    (422, "argument-error", "(lambda a: a)()"), (422, "argument-error", "(lambda a: a)(1, 2)"),
    (422, "argument-error", "cond(True, 1, 2)"), (422, "argument-error", "exp + 1"),
    (422, "dtype-invalid", "astype(x, 'int7')"), (422, "dtype-invalid", "zeros(2, dtype='foo')"),
    # Shapes.
    (422, "shape-mismatch", "x + [1, 2]"), (422, "shape-mismatch", "m @ x"),
    (422, "shape-mismatch", "ones((2, 3)) @ ones((2, 3))"), (422, "shape-mismatch", "m * ones((3, 2))"),
    (422, "shape-mismatch", "concatenate([m, ones((2, 2, 2))])"),
    (422, "shape-mismatch", "stack([x, m])"), (422, "shape-mismatch", "where(x > 1, m, 0)"),
    (422, "shape-mismatch", "broadcast_to(x, (2, 2))"), (422, "shape-mismatch", "x @ 2"),
    (422, "shape-mismatch", "x.reshape(2, 2)"), (422, "shape-mismatch", "x.reshape(-1, 2)"),
    (422, "shape-mismatch", "tensordot(x, m, 1)"), (422, "shape-mismatch", "y = x\ny[0:2] = [1, 2, 3]"),
    (422, "value-error", "[[1, 2], [3]]"), (422, "value-error", "[[1], 2]"),
    # Absurd sizes.
    (422, "shape-invalid", "zeros((1000000, 1000000, 1000))"),
    (422, "shape-invalid", "zeros((4294967296, 4294967296))"),
    (422, "shape-invalid", "ones((2**62, 4))"), (422, "shape-invalid", "zeros(2**63 - 1)"),
    (422, "shape-invalid", "zeros((0, 2**60, 2**60))"), (422, "shape-invalid", "zeros(-1)"),
    (422, "shape-invalid", "zeros((1,) * 65)"), (422, "shape-invalid", "eye(2**40)"),
    (422, "shape-invalid", "arange(1e300)"), (422, "result-too-large", "ones((20000, 20000))"),
    (422, "result-too-large", "arange(200000000)"),
    (422, "memory-plan-too-large", "y = arange(1e9)\n(y + y[::-1]).sum()"),
    (422, "memory-plan-too-large", "y = ones((40000, 40000)) + arange(40000)\n(y @ y).sum()"),
    (422, "work-too-large", "y = rand((8000, 8000)) + 0.5\n(y @ y).sum()"),
    (422, "shape-invalid", "y = x\n" + "y = concatenate([y, y])\n" * 60 + "y.sum()"),
    (422, "shape-invalid", "y = x\n" + "y = y[..., None] + y\n" * 65),
    (422, "graph-too-large", "y = x\n" + "y = y + x\n" * 12000),
    (422, "graph-too-large", "y = " + " + ".join(["x"] * 15000)),
    (422, "graph-too-large", "x" + " " * (1 << 20) + "+ 1"),
    # Recursion and growth in time.
    (422, "value-error", "f = lambda a: f(a)\nf(x)"),
    (422, "value-error", "def f(a): return g(a)\ndef g(a): return f(a)\nf(x)"),
    # Element types.
    (422, "dtype-mismatch", "x.astype('float32') & x"), (422, "dtype-mismatch", "~(x / 2)"),
    (422, "dtype-mismatch", "x / 1 << 2"), (422, "dtype-mismatch", "(x * 1j) // 2"),
    (422, "dtype-mismatch", "floor(x * 1j)"), (422, "dtype-mismatch", "arctan2(x * 1j, x)"),
    (422, "overflow-error", "x.astype('uint8') + 300"), (422, "overflow-error", "x.astype('int8') - 129"),
    (422, "overflow-error", "2 ** 100"), (422, "overflow-error", "99999999999999999999999999"),
    (422, "overflow-error", "1 << 200"),
    # Indices and axes.
    (422, "index-error", "x[3]"), (422, "index-error", "x[-4]"), (422, "index-error", "x[0, 0]"),
    (422, "index-error", "x[1.5]"), (422, "index-error", "x[..., ...]"),
    (422, "index-error", "x[[5]]"), (422, "index-error", "x[[True, False]]"),
    (422, "index-error", "m[[0, 1], [0, 1, 2]]"), (422, "value-error", "x[::0]"),
    (422, "index-error", "x['a']"), (422, "axis-error", "x.sum(axis=1)"),
    (422, "axis-error", "m.sum(axis=(0, 0))"), (422, "axis-error", "m.sum(axis=-3)"),
    (422, "axis-error", "m.transpose((0, 0))"), (422, "axis-error", "x.squeeze(axis=4)"),
    (422, "axis-error", "concatenate([x, x], axis=1)"), (422, "axis-error", "expand_dims(x, 5)"),
    # Values.
    (422, "value-error", "max(zeros(0))"), (422, "value-error", "argmax(zeros((0, 3)), axis=0)"),
    (422, "value-error", "m.squeeze(axis=0)"), (422, "value-error", "arange(0, 1, 0)"),
    (422, "value-error", "x ** -1"), (422, "value-error", "a, b = x"), (422, "value-error", "a, b, c, d = x"),
]

# ---- The small language: (status, code, text) -----------------------------------------------------

SMALL = [
    (400, "syntax-error", "x = [1,2"), (400, "syntax-error", "x = 1 +"), (400, "syntax-error", "= 2"),
    (400, "syntax-error", "1 == 2"), (400, "syntax-error", "x = [1,[2]"), (400, "syntax-error", "1 ** 2"),
    (422, "unknown-name", "y"), (422, "unknown-op", "foo([1])"),
    (422, "shape-mismatch", "[1,2] + [1,2,3]"), (422, "shape-mismatch", "[1,2] * [1,2,3]"),
    (422, "shape-mismatch", "2 * [1]"), (422, "shape-mismatch", "[1] * 2"),
    (422, "index-error", "slice([1,2,3], [1], [5])"), (422, "shape-mismatch", "reshape([1,2,3], [2,2])"),
    (400, "syntax-error", "[" * 100000), (400, "syntax-error", "(" * 100000),
    (400, "syntax-error", "-" * 300000 + "1"), (422, "shape-invalid", "zero((1000000, 1000000, 1000))"),
]

# ---- Inputs: (status, code, JSON text of "x") -------------------------------------------------------

INPUTS = [
    (422, "shape-mismatch", "[[1, 2], [3]]"), (422, "shape-mismatch", "[1, [2]]"),
    (422, "shape-mismatch", "[[1], 2]"), (422, "shape-mismatch", "[[], [1]]"),
    (422, "size-mismatch", '{"shape": [2], "data": [1, 2, 3]}'),
    (422, "size-mismatch", '{"shape": [2, 2], "data": [1, 2, 3]}'),
    (422, "shape-mismatch", '{"shape": [4], "data": [[1, 2], [3, 4]]}'),
    (422, "shape-invalid", '{"shape": [-1], "data": []}'),
    (422, "shape-invalid", '{"shape": [4294967296, 4294967296], "data": []}'),
    (422, "shape-invalid", '{"shape": [0, 4611686018427387904, 4], "data": []}'),
    (400, "request-invalid", '{"shape": [1.5], "data": [1]}'),
    (400, "request-invalid", '{"shape": 3, "data": [1, 2, 3]}'),
    (400, "request-invalid", '{"shape": ["a"], "data": [1]}'),
    (422, "shape-invalid", '{"shape": [' + ", ".join(["1"] * 65) + '], "data": [1]}'),
    (422, "dtype-invalid", '{"dtype": "int7", "data": [1]}'),
    (422, "dtype-invalid", '{"dtype": ">f8", "data": [1]}'),
    (400, "request-invalid", '{"dtype": 8, "data": [1]}'),
    (422, "value-error", '{"dtype": "int8", "data": [2.5]}'),
    (422, "overflow-error", '{"dtype": "int8", "data": [300]}'),
    (422, "overflow-error", '{"dtype": "uint8", "data": [-1]}'),
    (422, "overflow-error", '{"dtype": "float32", "data": [1e300]}'),
    (422, "overflow-error", '{"dtype": "bool", "data": [2]}'),
    (422, "value-error", '{"dtype": "int64", "data": ["NaN"]}'),
    (400, "unknown-member", '{"dtype": "int8", "data": [1], "shap": [1]}'),
    (400, "request-invalid", '{"data": [1], "base64": "AAAA", "dtype": "int8", "shape": [3]}'),
    (400, "request-invalid", '{"base64": "AAAA"}'), (400, "request-invalid", '"text"'),
    (400, "request-invalid", "null"), (400, "request-invalid", "{}"),
    (400, "request-invalid", '{"value": 1}'), (422, "value-error", '{"weak": "int9", "value": 1}'),
    (422, "size-mismatch", '{"dtype": "int32", "shape": [1], "base64": "AAAA"}'),
    (400, "json-invalid", '{"dtype": "int8", "shape": [3], "base64": "A*AA"}'),
    (422, "value-error", '[1, null]'), (422, "value-error", '[1, "x"]'), (422, "value-error", '[{}]'),
    (400, "json-invalid", "[1, 2"), (400, "json-invalid", "[1,, 2]"), (400, "json-invalid", "[01]"),
    (400, "json-invalid", "[.5]"), (400, "json-invalid", "[1.]"), (400, "json-invalid", "[+1]"),
    (400, "json-invalid", "[1e]"), (400, "json-invalid", "[0x10]"), (400, "json-invalid", "[inf]"),
    (400, "json-invalid", "[nan]"), (400, "json-invalid", "[--1]"), (400, "json-invalid", "[1 2]"),
]

# ---- Bodies that are no eval request: (status, code, bytes) ------------------------------------------

BODIES = [
    (400, "json-invalid", b"{"), (400, "json-invalid", b"nonsense"), (400, "json-invalid", b"{'program': '1'}"),
    (400, "json-invalid", b'{"program": "1"} x'), (400, "json-invalid", b'{"program": "1",}'),
    (400, "json-invalid", b'{"program" "1"}'), (400, "json-invalid", b'{"program": "1", "program": "2"}'),
    (400, "json-invalid", b'{"program": "\x01"}'), (400, "json-invalid", b'{"program": "\xff"}'),
    (400, "json-invalid", b'{"program": "\\ud800"}'), (400, "json-invalid", b'{"program": "\\x"}'),
    (400, "json-invalid", b'{"program": "1'), (400, "json-invalid", b'{"seed": NaN, "program": "1"}'),
    (400, "json-invalid", b'{"program": tru}'), (400, "json-invalid", b"\xef\xbb\xbf{}"),
    (400, "json-invalid", b'{"seed": 1e999, "program": "1"}'),
    (400, "json-too-deep", b"[" * 1000000), (400, "json-too-deep", b'{"a":' * 1000000),
    (400, "json-too-deep", b'{"inputs": {"x": ' + b"[" * 1000000),
    (400, "json-too-deep", b'{"graph": {"nodes": {"a": {"op": "exp", "args": ' + b"[" * 1000000),
    (400, "request-invalid", b"[]"), (400, "request-invalid", b"1"), (400, "request-invalid", b"null"),
    (400, "request-invalid", b"{}"), (400, "request-invalid", b'{"program": 1}'),
    (400, "request-invalid", b'{"program": "1", "graph": {}}'), (400, "request-invalid", b'{"graph": []}'),
    (400, "unknown-member", b'{"program": "1", "progam": "2"}'),
    (400, "request-invalid", b'{"program": "1", "inputs": []}'),
    (400, "request-invalid", b'{"program": "1", "outputs": "x"}'),
    (400, "request-invalid", b'{"program": "1", "outputs": [1]}'),
    (400, "name-invalid", b'{"program": "1", "outputs": ["a b"]}'),
    (400, "name-invalid", b'{"program": "1", "outputs": ["x:y"]}'),
    (422, "unknown-name", b'{"program": "y = 1", "outputs": ["z"]}'),
    (422, "unknown-name", b'{"program": "y = 1", "store": ["z"]}'),
    (422, "unknown-name", b'{"program": "1", "delete": ["z"]}'),
    (400, "request-invalid", b'{"program": "y = 1", "outputs": ["y", "y"]}'),
    (400, "request-invalid", b'{"program": "y = 1", "store": ["y", "y"]}'),
    (400, "request-invalid", b'{"program": "y = 1", "store": "some"}'),
    (400, "name-invalid", b'{"program": "y = 1", "store": {"int8": "y"}}'),
    (400, "name-invalid", b'{"program": "1", "inputs": {"a-b": 1}}'),
    (400, "name-invalid", b'{"program": "1", "inputs": {"for": 1}}'),
    (400, "name-invalid", b'{"program": "1", "inputs": {"' + b"n" * 129 + b'": 1}}'),
    (400, "request-invalid", b'{"program": "1", "dialect": "basic"}'),
    (400, "request-invalid", b'{"program": "1", "timeout_ms": 0}'),
    (400, "request-invalid", b'{"program": "1", "timeout_ms": "1"}'),
    (400, "request-invalid", b'{"program": "1", "seed": -1}'),
    (400, "request-invalid", b'{"program": "1", "dry_run": 1}'),
    (400, "request-invalid", b'{"program": "1", "durability": "maybe"}'),
    (400, "request-invalid", b'{"program": "1", "isolation": "none"}'),
    (422, "argument-error", b'{"program": "f = lambda: 1", "outputs": ["f"]}'),
    (422, "index-error", b'{"program": "q = (1, 2)", "outputs": ["q:2"]}'),
    (422, "unknown-name", b'{"program": "\xc3\xbc = 1", "outputs": ["u"]}'),
]

# ---- Graphs: (status, code, graph) -------------------------------------------------------------------


def node(op, *args, **attrs):
    return {"op": op, "args": list(args), "attrs": attrs}


def chain(n):
    """n nodes, each of the one before, in an order that is the wrong way round."""
    return {"nodes": {f"n{i}": node("exp", f"n{i - 1}") for i in range(n, 0, -1)}}


GRAPHS = [
    (422, "graph-cycle", {"nodes": {"a": node("exp", "a")}}),
    (422, "graph-cycle", {"nodes": {"a": node("exp", "b"), "b": node("exp", "a")}}),
    (422, "graph-cycle", {"nodes": {"a": node("exp", node("exp", "a"))}}),
    (422, "graph-cycle", {"nodes": {"a": node("zeros", shape=[{"ref": "b"}]), "b": node("size", "a")}}),
    (422, "graph-cycle", {"nodes": {"a": node("cond", True, true_fn={"outputs": ["a"]},
                                              false_fn={"outputs": ["a"]})}}),
    (422, "graph-cycle", {"nodes": {**chain(9000)["nodes"], "n0": node("exp", "n9000")}}),
    (422, "graph-too-large", {"nodes": {**chain(20000)["nodes"], "n0": node("exp", [1.0])}}),
    (422, "unknown-op", {"nodes": {"a": node("expp", 1)}}), (422, "unknown-op", {"nodes": {"a": node("", 1)}}),
    (422, "unknown-op", {"nodes": {"a": node("input")}}),
    (422, "unknown-name", {"nodes": {"a": node("exp", "b")}}),
    (422, "unknown-name", {"outputs": ["b"]}), (422, "unknown-name", {"inputs": {"b": {}}, "outputs": ["b"]}),
    (422, "unknown-attr", {"nodes": {"a": node("sum", [1], axes=0)}}),
    (422, "unknown-attr", {"nodes": {"a": node("exp", 1, x=1)}}),
    (400, "unknown-member", {"nodes": {"a": {"op": "exp", "arg": [1]}}}),
    (400, "unknown-member", {"node": {}}),
    (400, "unknown-member", {"inputs": {"x": {"type": "int8"}}, "outputs": []}),
    (400, "request-invalid", {"nodes": []}), (400, "request-invalid", {"nodes": {"a": 1}}),
    (400, "request-invalid", {"nodes": {"a": {}}}), (400, "request-invalid", {"nodes": {"a": {"op": 1}}}),
    (400, "request-invalid", {"nodes": {"a": {"op": "exp", "args": "x"}}}),
    (400, "request-invalid", {"nodes": {"a": {"op": "exp", "args": [{"a": 1}]}}}),
    (400, "request-invalid", {"nodes": {"a": {"op": "exp", "args": [1], "attrs": []}}}),
    (400, "request-invalid", {"outputs": "a"}), (400, "request-invalid", {"outputs": [1]}),
    (400, "request-invalid", {"inputs": []}), (400, "request-invalid", {"inputs": {"x": 1}}),
    (400, "request-invalid", {"inputs": {"x": {"shape": [1.5]}}}),
    (422, "shape-invalid", {"inputs": {"x": {"shape": [-2]}}}),
    (422, "dtype-invalid", {"inputs": {"x": {"dtype": "int7"}}}),
    (400, "name-invalid", {"nodes": {"a b": node("exp", 1)}}),
    (400, "name-invalid", {"nodes": {"": node("exp", 1)}}),
    (400, "name-invalid", {"nodes": {"a": node("exp", "")}}),
    (400, "name-invalid", {"nodes": {"a": node("exp", "b:")}}),
    (400, "name-invalid", {"nodes": {"a": node("exp", "b:-1")}}),
    (400, "name-invalid", {"nodes": {"a": node("exp", "b:99999999999")}}),
    (400, "request-invalid", {"inputs": {"a": {}}, "nodes": {"a": node("exp", 1)}}),
    (422, "argument-error", {"nodes": {"a": node("exp", [1.0]), "b": node("exp", "a:1")}}),
    (422, "argument-error", {"nodes": {"a": node("exp")}}), (422, "argument-error", {"nodes": {"a": node("exp", 1, 2)}}),
    (422, "argument-error", {"nodes": {"a": node("exp", None)}}),
    (422, "argument-error", {"nodes": {"a": node("reshape", [1, 2])}}),
    (422, "argument-error", {"nodes": {"a": node("reshape", [1, 2], shape="x")}}),
    (422, "argument-error", {"nodes": {"a": node("reshape", [1, 2], shape=[[1], [2]])}}),
    (422, "argument-error", {"nodes": {"a": node("reshape", [1, 2], shape=[[[1]]])}}),
    (422, "argument-error", {"nodes": {"a": node("sum", [1], keepdims="yes")}}),
    (422, "argument-error", {"nodes": {"a": node("sum", [1], axis=0.5)}}),
    (422, "argument-error", {"nodes": {"b": node("exp", 1), "a": node("sum", [1], axis={"ref": "b:7"})}}),
    (422, "argument-error", {"nodes": {"b": node("exp", [1.0]), "a": node("zeros", shape={"ref": "b"})}}),
    (422, "dtype-invalid", {"nodes": {"a": node("zeros", shape=[2], dtype="int7")}}),
    (422, "index-error", {"nodes": {"a": node("getitem", [1, 2], key="5")}}),
    (422, "index-error", {"nodes": {"a": node("getitem", [1, 2], key="x")}}),
    (422, "index-error", {"nodes": {"a": node("getitem", [1, 2], key="$1")}}),
    (422, "index-error", {"nodes": {"a": node("getitem", [1, 2], key="$0")}}),
    (422, "index-error", {"nodes": {"a": node("getitem", [1, 2], key="1:2:3:4")}}),
    (422, "index-error", {"nodes": {"a": node("getitem", [1, 2], key="99999999999999999999")}}),
    (422, "index-error", {"nodes": {"a": node("getitem", [1, 2], key=",".join(["None"] * 200))}}),
    (422, "index-error", {"nodes": {"a": node("setitem", [1, 2], [0], key="$2")}}),
    (400, "request-invalid", {"nodes": {"a": node("getitem", [1, 2], key=1)}}),
    (422, "argument-error", {"nodes": {"a": node("cond", True)}}),
    (422, "argument-error", {"nodes": {"a": node("cond", True, true_fn={}, false_fn={})}}),
    (400, "request-invalid", {"nodes": {"a": node("cond", True, true_fn=1, false_fn=2)}}),
    (400, "unknown-member", {"nodes": {"a": node("cond", True, true_fn={"input": {}}, false_fn={})}}),
    (422, "shape-mismatch", {"nodes": {"p": node("constant", [True]), "a": node(
        "cond", "p", true_fn={"outputs": ["p"]}, false_fn={"outputs": ["p"]})}}),
    (422, "argument-error", {"nodes": {"c": node("constant")}}),
    (422, "argument-error", {"nodes": {"c": node("constant", "d"), "d": node("constant", 1)}}),
    (422, "shape-mismatch", {"nodes": {"a": node("add", [1, 2], [1, 2, 3])}}),
    (422, "shape-invalid", {"nodes": {"a": node("zeros", shape=[4294967296, 4294967296])}}),
    (422, "overflow-error", {"nodes": {"a": node("add", {"dtype": "uint8", "data": [1]}, 300)}}),
]

# ---- Files ----------------------------------------------------------------------------------------------


def npy(head, data=b"", version=b"\x01\x00", magic=b"\x93NUMPY", pad=True):
    head = head.encode()
    if pad:
        head = head + b" " * (-(len(head) + 11) % 64) + b"\n"
    return magic + version + struct.pack("<H", len(head)) + head + data


def npz(**members):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in members.items():
            archive.writestr(name.replace("__", "."), data)
    return file.getvalue()


GOOD = npy("{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }", b"\0" * 16)


def head(descr="'<f8'", fortran="False", shape="(2,)", more=""):
    return "{'descr': %s, 'fortran_order': %s, 'shape': %s, %s}" % (descr, fortran, shape, more)


NPYS = [
    (400, "npy-invalid", b"\x93NUMPY"), (400, "npy-invalid", b"NUMPY" * 10),
    (400, "npy-invalid", npy(head(), b"\0" * 16, version=b"\x09\x00")),
    (422, "size-mismatch", npy(head(), b"\0" * 15)), (422, "size-mismatch", npy(head(), b"\0" * 17)),
    (400, "npy-invalid", GOOD[:60]), (400, "npy-invalid", npy("{}")), (400, "npy-invalid", npy("nonsense")),
    (400, "npy-invalid", npy(head(descr="'|O'"), b"\0" * 16)),
    (400, "npy-invalid", npy(head(descr="[('a', '<f8')]"), b"\0" * 16)),
    (400, "npy-invalid", npy(head(descr="'<f7'"), b"\0" * 16)),
    (400, "npy-invalid", npy(head(fortran="Maybe"), b"\0" * 16)),
    (400, "npy-invalid", npy(head(shape="(-2,)"), b"\0" * 16)),
    (400, "npy-invalid", npy(head(shape="2"), b"\0" * 16)),
    (400, "npy-invalid", npy(head(shape="(__import__('os'),)"), b"\0" * 16)),
    (400, "npy-invalid", npy(head(more="'x': 1"), b"\0" * 16)),
    (422, "shape-invalid", npy(head(shape="(4294967296, 4294967296)"))),
    (422, "shape-invalid", npy(head(shape="(0, 4611686018427387904, 4)"))),
    (422, "size-mismatch", npy(head(shape="(1000000, 1000000)"))),
]

NPZS = [
    (400, "npy-invalid", b"PK"), (400, "npy-invalid", b"not a zip file" * 10),
    (400, "npy-invalid", npz(x__npy=GOOD)[:100]), (400, "npy-invalid", npz(x__npy=b"junk" * 30)),
    (400, "npy-invalid", npz(x__npy=GOOD, readme__txt=b"hello")),
    (400, "json-invalid", npz(x__npy=GOOD, request__json=b"{")),
    (400, "unknown-member", npz(x__npy=GOOD, request__json=b'{"programme": "x"}')),
    (400, "npy-invalid", npz(x__npy=GOOD, request__json=b'{"program": "x", "inputs": {"x": 1}}')),
    (400, "request-invalid", npz(x__npy=GOOD)),
]


def raw(dtype, shape):
    return {**RAW, **({"Tensor-Dtype": dtype} if dtype else {}), **({"Tensor-Shape": shape} if shape else {})}


RAWS = [
    (411, "length-required", raw(None, "2"), b"\0" * 16), (411, "length-required", raw("float64", None), b"\0" * 16),
    (422, "dtype-invalid", raw("int7", "2"), b"\0" * 16), (422, "shape-invalid", raw("int8", "2,x"), b"\0" * 16),
    (422, "shape-invalid", raw("int8", "-2"), b"\0" * 2), (422, "size-mismatch", raw("float64", "2"), b"\0" * 15),
    (422, "size-mismatch", raw("float64", "2"), b"\0" * 17),
    (422, "shape-invalid", raw("float64", "4294967296,4294967296"), b"\0" * 16),
    (422, "size-mismatch", raw("float64", "1000000,1000000"), b"\0" * 16),
]

# ---- Other addresses: (status, code, method, address, headers, body) --------------------------------------

OTHERS = [
    (404, "not-found", "GET", "/nowhere", {}, None), (404, "not-found", "GET", "/v1/eval/x", {}, None),
    (405, "method-not-allowed", "GET", "/v1/eval", {}, None),
    (405, "method-not-allowed", "POST", "/v1/ops", JSON, b"{}"),
    (415, "media-type", "POST", "/v1/eval", {"Content-Type": "text/plain"}, b"1"),
    (415, "media-type", "POST", "/v1/eval", {"Content-Type": "application/x-www-form-urlencoded"}, b"a=1"),
    (415, "media-type", "POST", "/v1/eval", {"Content-Type": "application/json; charset=latin1"}, b"{}"),
    (415, "media-type", "POST", "/v1/eval", {**JSON, "Content-Encoding": "gzip"}, b"{}"),
    (406, "not-acceptable", "POST", "/v1/eval", {**JSON, "Accept": "image/png"}, b'{"program": "1"}'),
    (406, "not-acceptable", "POST", "/v1/eval?format=xml", JSON, b'{"program": "1"}'),
    (406, "not-acceptable", "POST", "/v1/eval?format=npy", JSON, b'{"program": "1, 2"}'),
    (406, "not-acceptable", "POST", "/v1/eval?format=npy", JSON, b'{"program": "x = 1"}'),
    (406, "not-acceptable", "POST", "/v1/eval?format=npy", JSON, b'{"program": "1", "dry_run": true}'),
    (406, "not-acceptable", "POST", "/v1/eval?format=csv", JSON, b'{"program": "zeros((2, 2, 2))"}'),
    (400, "request-invalid", "POST", "/v1/eval?format=npz", JSON, b'{"program": "result = 1\\n2", "outputs": ["result"]}'),
    (400, "unknown-member", "POST", "/v1/eval?programm=1", JSON, b"{}"),
    (400, "request-invalid", "POST", "/v1/eval?program=1", JSON, b'{"program": "1"}'),
    (401, "unauthorized", "POST", "/v1/eval", {**JSON, "Authorization": "Bearer x"}, b'{"program": "1"}'),
    (404, "not-found", "GET", "/v1/ops/nothing", {}, None),
    (400, "unknown-member", "GET", "/v1/ops?query=x", {}, None),
    (404, "not-found", "GET", "/v1/variables/nothing", {}, None),
    (404, "not-found", "GET", "/v1/variables/nothing/meta", {}, None),
    (404, "not-found", "DELETE", "/v1/variables/nothing", {}, None),
    (404, "not-found", "PUT", "/v1/variables/nothing/attributes", JSON, b"{}"),
    (400, "request-invalid", "PUT", "/v1/variables/kept/attributes", JSON, b"[]"),
    (400, "json-invalid", "PUT", "/v1/variables/kept/attributes", JSON, b"{"),
    (413, "body-too-large", "PUT", "/v1/variables/kept/attributes", JSON, b'{"a": "' + b"x" * 70000 + b'"}'),
    (400, "name-invalid", "PUT", "/v1/variables/a-b", JSON, b"1"),
    (400, "name-invalid", "PUT", "/v1/variables/1a", JSON, b"1"),
    (400, "name-invalid", "PUT", "/v1/variables/lambda", JSON, b"1"),
    (400, "name-invalid", "PUT", "/v1/variables/float64", JSON, b"1"),
    (400, "name-invalid", "PUT", "/v1/variables/" + "n" * 129, JSON, b"1"),
    (411, "length-required", "PUT", "/v1/variables/a", {}, None),
    (400, "request-invalid", "PUT", "/v1/variables/a", JSON, b'{"x": 1}'),
    (400, "request-invalid", "PUT", "/v1/variables/a", JSON, b'"text"'),
    (400, "request-invalid", "PUT", "/v1/variables/a?storage=tape", JSON, b"1"),
    (400, "request-invalid", "PUT", "/v1/variables/a?durability=maybe", JSON, b"1"),
    (412, "precondition-failed", "PUT", "/v1/variables/kept", {**JSON, "If-None-Match": "*"}, b"1"),
    (412, "precondition-failed", "PUT", "/v1/variables/kept", {**JSON, "If-Match": '"x"'}, b"1"),
    (412, "precondition-failed", "PUT", "/v1/variables/a", {**JSON, "If-Match": "*"}, b"1"),
    (412, "precondition-failed", "DELETE", "/v1/variables/kept", {"If-Match": '"x"'}, None),
    (422, "index-error", "GET", "/v1/variables/kept?slice=7", {}, None),
    (422, "index-error", "GET", "/v1/variables/kept?slice=0,0,0", {}, None),
    (422, "index-error", "GET", "/v1/variables/kept?slice=a", {}, None),
    (422, "index-error", "GET", "/v1/variables/kept?slice=1:2:3:4", {}, None),
    (422, "index-error", "GET", "/v1/variables/kept?slice=::0", {}, None),
    (422, "index-error", "GET", "/v1/variables/kept?slice=...,...", {}, None),
    (422, "index-error", "GET", "/v1/variables/kept?slice=99999999999999999999", {}, None),
    (416, "range-invalid", "GET", "/v1/variables/kept?format=raw", {"Range": "bytes=1000-"}, None),
    (400, "request-invalid", "GET", "/v1/variables?limit=0", {}, None),
    (400, "request-invalid", "GET", "/v1/variables?limit=abc", {}, None),
    (400, "request-invalid", "GET", "/v1/variables?limit=99999999999999999999", {}, None),
]

TIMES = [
    (422, "time-limit", evaluation(program="y = arange(1e8)\n(sin(y) * cos(y)).sum()", timeout_ms=1)),
    (422, "time-limit", evaluation(program="y = rand((3000, 3000)) + 0.5\n(y @ y @ y).sum()", timeout_ms=5)),
    (422, "time-limit", evaluation(program="y = arange(5e7)\ncumsum(y).sum()", timeout_ms=5)),
    (422, "time-limit", evaluation(program="nonzero(rand((8000, 8000)))[0].sum()", timeout_ms=5)),
    (501, "not-implemented", evaluation(program="1", trace=True)),
    (422, "unknown-name", evaluation(program="1", givens={"x": 1})),
]

KNOWN = {"x": [1, 2, 3], "m": [[1, 2], [3, 4]]}


def cases():
    """Every case as (name, status, code, (method, address, headers, body))."""
    for status, code, text in PROGRAMS:
        yield "program " + text, status, code, evaluation(program=text, inputs=KNOWN)
    for status, code, text in SMALL:
        yield "small " + text, status, code, evaluation(program=text, dialect="tensor")
    for status, code, text in INPUTS:
        yield "input " + text, status, code, body('{"program": "x", "inputs": {"x": ' + text + "}}")
    for status, code, data in BODIES:
        yield "body " + data[:80].decode("latin-1"), status, code, body(data)
    for status, code, graph in GRAPHS:
        yield "graph " + json.dumps(graph), status, code, evaluation(graph=graph)
    for status, code, data in NPYS:
        yield "npy " + repr(data[:150]), status, code, body(data, NPY, "/v1/eval?program=x")
        yield "stored npy " + repr(data[:150]), status, code, body(data, NPY, "/v1/variables/a", "PUT")
    for status, code, data in NPZS:
        yield "npz " + repr(data[-120:]), status, code, body(data, NPZ)
    for status, code, headers, data in RAWS:
        yield f"raw {headers}", status, code, body(data, headers, "/v1/variables/a", "PUT")
    for status, code, *request in OTHERS:
        yield " ".join(map(str, request[:3])), status, code, tuple(request)
    for status, code, request in TIMES:
        yield "time " + request[3].decode(), status, code, request


def fault_of(answer, status, code):
    """What is wrong with an answer; None if nothing is."""
    got, headers, data = answer
    if headers.get("Content-Type") != "application/problem+json":
        return f"{got}, {headers.get('Content-Type')}: {data[:200]!r}"
    problem = json.loads(data)
    for member, kind in (("type", str), ("title", str), ("status", int), ("detail", str),
                         ("code", str), ("request_id", str), ("retryable", bool)):
        if not isinstance(problem.get(member), kind):
            return f"the member {member} is {problem.get(member)!r}"
    if problem["status"] != got or problem["type"] != "/problems/" + problem["code"]:
        return f"status or type do not agree: {problem}"
    if (got, problem["code"]) != (status, code):
        return f"{got} {problem['code']} ({problem['detail'][:150]}), not {status} {code}"
    return None


def still_well(server):
    status, answer = server.eval("[1, 2] + 1")
    return status == 200 and answer["result"]["data"] == [2, 3]


def run_case(server, status, code, request):
    method, target, headers, data = request
    fault = fault_of(server.request(method, target, data, headers), status, code)
    if fault is None and not still_well(server):
        return "the server is not well afterwards"
    return fault


def main():
    passed = failed = 0
    with Server() as server:
        server.json("PUT", "/v1/variables/kept", [[1, 2], [3, 4]])
        for name, status, code, request in cases():
            try:
                fault = run_case(server, status, code, request)
            except Exception as exception:  # a broken connection is a failure like any
                fault = repr(exception)
            name = name.replace("\n", "\\n").replace("\x00", "\\0")[:100]
            print(f"FAIL {name}: {fault}" if fault else f"ok {name}")
            passed += fault is None
            failed += fault is not None
        if server.stop() != 0:
            print("FAIL the server did not end well")
            failed += 1
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Passes NumPy's own files through wire and compares what comes back.

Prints one line per failure and, last, how many passed and failed.
"""
import io
import json
import os
import subprocess
import sys

import numpy as np

TOOL = os.environ.get("BUILD", "build") + "/tests/server/wire/tool_convert"
DTYPES = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
          "float16", "float32", "float64", "complex64", "complex128"]
SHAPES = [(), (1,), (7,), (0,), (3, 4), (2, 0, 3), (2, 3, 4, 5), (1000, 3)]
passed = failed = 0
tool = subprocess.Popen([TOOL], stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def check(ok, what):
    global passed, failed
    passed, failed = passed + ok, failed + (not ok)
    if not ok:
        print("FAILED", what)


def convert(source, target, body):
    """The body in another format; a text that says why if it is refused."""
    tool.stdin.write(b"%s %s %d\n" % (source.encode(), target.encode(), len(body)) + body)
    tool.stdin.flush()
    verdict, size = tool.stdout.readline().split()
    answer = tool.stdout.read(int(size))
    return answer if verdict == b"ok" else answer.decode()


def random_array(rng, dtype, shape):
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    return np.frombuffer(rng.bytes(size), dtype).reshape(shape)


def same(a, b):
    return (isinstance(b, np.ndarray) and a.dtype == b.dtype and a.shape == b.shape
            and a.tobytes() == b.tobytes())


def load(body):
    return np.load(io.BytesIO(body)) if isinstance(body, bytes) else body


def npy(array, version=None):
    body = io.BytesIO()
    np.lib.format.write_array(body, array, version=version)
    return body.getvalue()


def from_json(text, dtype, shape):
    if not isinstance(text, bytes):
        return text
    answer = json.loads(text)
    kind = np.dtype(dtype)
    if kind.kind == "c":
        part = np.array(answer["data"], "f%d" % (kind.itemsize // 2))
        return part.reshape(shape + (2,)).view(kind).reshape(shape)
    if kind.kind in "biu":
        return np.array(answer["data"], kind).reshape(shape)
    return np.array(answer["data"]).astype(kind).reshape(shape)


class Unseekable(io.RawIOBase):
    """A file as a socket is one: zipfile writes sizes behind the members."""

    def __init__(self):
        self.body = b""

    def writable(self):
        return True

    def write(self, data):
        self.body += bytes(data)
        return len(data)


def check_npy(rng):
    for dtype in DTYPES:
        for shape in SHAPES:
            array = random_array(rng, dtype, shape)
            for order in "CF":
                for swap in False, True:
                    sent = np.array(array, order=order)
                    if swap:
                        sent = sent.astype(sent.dtype.newbyteorder(">"))
                    for version in (1, 0), (2, 0), (3, 0):
                        back = load(convert("npy", "npy", npy(sent, version)))
                        check(same(array, back), f"npy {dtype} {shape} {order} {swap} {version}")
            back = from_json(convert("npy", "json", npy(array)), dtype, shape)
            check(isinstance(back, np.ndarray) and back.dtype == array.dtype
                  and np.array_equal(back, array, equal_nan=np.dtype(dtype).kind in "fc"),
                  f"json out {dtype} {shape}: {back}")


def check_npz(rng):
    arrays = {f"{d}_{len(s)}": random_array(rng, d, s) for d in DTYPES for s in SHAPES[:5]}
    for save in np.savez, np.savez_compressed:
        for target in io.BytesIO(), Unseekable():
            save(target, **arrays)
            body = target.getvalue() if isinstance(target, io.BytesIO) else target.body
            back = load(convert("npz", "npz", body))
            check(not isinstance(back, str) and sorted(back.files) == sorted(arrays)
                  and all(same(arrays[k], back[k]) for k in arrays),
                  f"npz {save.__name__} {type(target).__name__} {back}")


def check_json(rng):
    for _ in range(200):
        array = rng.standard_normal(50) * 10.0 ** rng.integers(-300, 300, 50)
        text = json.dumps(array.tolist()).encode()
        check(same(array, load(convert("json", "npy", text))), "json in float64")
        single = array.astype("f4")
        single = single[np.isfinite(single)]
        for text in (json.dumps({"dtype": "float32", "data": [float(str(x)) for x in single]}),
                     json.dumps({"data": [float(str(x)) for x in single], "dtype": "float32"})):
            check(same(single, load(convert("json", "npy", text.encode()))), "json in float32")


def check_refusals():
    for array in (np.array([object()]), np.array(["text"]), np.array([1], "M8[s]"),
                  np.zeros(2, [("a", "f8"), ("b", "i4")]), np.zeros(2, "f16")):
        body = io.BytesIO()
        np.save(body, array, allow_pickle=True)
        said = convert("npy", "npy", body.getvalue())
        check(isinstance(said, str) and said.startswith("npy-invalid"), f"{array.dtype}: {said}")


def main():
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 20240607
    print("seed", seed)
    rng = np.random.default_rng(seed)
    check_npy(rng)
    check_npz(rng)
    check_json(rng)
    check_refusals()
    tool.stdin.close()
    check(tool.wait() == 0, "the tool ends well")
    print(f"{passed} passed, {failed} failed")
    return failed > 0


sys.exit(main())

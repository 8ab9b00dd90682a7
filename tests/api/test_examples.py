#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Sends the requests of api-spec/examples/*.http to a server, one for each file, and
compares the answers with what the files say. The form is told in their README.md."""
import ast
import filecmp
import glob
import io
import json
import math
import os
import re
import struct
import subprocess
import sys
import tempfile
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EXAMPLES = os.path.join(ROOT, "api-spec", "examples")
sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))
from server import Server  # noqa: E402

NPY_CODES = {"|b1": "?", "|i1": "b", "|u1": "B", "<i2": "h", "<u2": "H", "<i4": "i", "<u4": "I",
             "<i8": "q", "<u8": "Q", "<f2": "e", "<f4": "f", "<f8": "d", "<c16": "dd", "<c8": "ff"}
NPY_NAMES = {"|b1": "bool", "|i1": "int8", "|u1": "uint8", "<i2": "int16", "<u2": "uint16",
             "<i4": "int32", "<u4": "uint32", "<i8": "int64", "<u8": "uint64", "<f2": "float16",
             "<f4": "float32", "<f8": "float64", "<c8": "complex64", "<c16": "complex128"}


class Example:
    """One request and what is expected of its answer."""

    def __init__(self, title, text):
        lines = text.split("\n")
        self.title = title
        self.checks = [l[len("# =>"):].strip() for l in lines if l.startswith("# =>")]
        lines = [l for l in lines if not l.startswith("#")]
        while lines and not lines[0].strip():
            lines.pop(0)
        self.method, self.target = lines[0].split(None, 1)
        blank = lines.index("") if "" in lines else len(lines)
        self.headers = [l.split(":", 1) for l in lines[1:blank]]
        self.body = "\n".join(lines[blank:]).strip()


def read_examples(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    parts = re.split(r"(?m)^### *(.*)$", text)
    return [Example(title, body) for title, body in zip(parts[1::2], parts[2::2])]


def nested(flat, shape):
    if not shape:
        return flat[0]
    step = len(flat) // shape[0] if shape[0] else 0
    return [nested(flat[i * step:(i + 1) * step], shape[1:]) for i in range(shape[0])]


def read_npy(data):
    """The tensor object that a .npy file holds."""
    assert data[:8] == b"\x93NUMPY\x01\x00", "not a .npy file of version 1.0"
    length = struct.unpack("<H", data[8:10])[0]
    head = ast.literal_eval(data[10:10 + length].decode("latin-1"))
    assert (10 + length) % 64 == 0 and not head["fortran_order"]
    count = math.prod(head["shape"])
    code = NPY_CODES[head["descr"]]
    flat = list(struct.unpack("<" + code * count, data[10 + length:]))
    if len(code) == 2:
        flat = [[flat[i], flat[i + 1]] for i in range(0, len(flat), 2)]
    return {"dtype": NPY_NAMES[head["descr"]], "shape": list(head["shape"]),
            "data": nested(flat, list(head["shape"]))}


def same(a, b):
    """Equality that tells 1 from 1.0 and from true."""
    if type(a) is not type(b):
        return False
    if isinstance(a, list):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    return a == b


def close(a, b, tolerance):
    if isinstance(a, list):
        return len(a) == len(b) and all(close(x, y, tolerance) for x, y in zip(a, b))
    return abs(a - b) <= tolerance * max(abs(b), 1e-300)


def member(document, path):
    for step in path.split("."):
        document = document[int(step)] if isinstance(document, list) else document[step]
    return document


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def value(self, path):
        head, _, rest = path.partition(".")
        if head == "npy":
            whole = read_npy(self.body)
        elif head == "npz":
            archive = zipfile.ZipFile(io.BytesIO(self.body))
            name, _, rest = rest.partition(".")
            whole = read_npy(archive.read(name + ".npy"))
        else:
            whole, rest = json.loads(self.body), path
        return member(whole, rest) if rest else whole


def check_member(answer, path, operator, text):
    value = answer.value(path)
    if operator == "=":
        return same(value, json.loads(text)), value
    if operator == ":":
        return json.loads(text) in value, value
    numbers, tolerance = text.rsplit(None, 1)
    return close(value, json.loads(numbers), float(tolerance)), value


def check(answer, text):
    """Checks one line; (whether it holds, what there is instead)."""
    if text.isdigit():
        return answer.status == int(text), (answer.status, answer.body[:300])
    found = re.match(r"header (\S+) = (.*)$", text)
    if found:
        value = answer.headers.get(found[1])
        return value == found[2], value
    found = re.match(r"body = (.*)$", text)
    if found:
        with open(os.path.join(EXAMPLES, found[1]), "rb") as file:
            return answer.body == file.read(), answer.body[:100]
    found = re.match(r"text ([=:]) (.*)$", text)
    if found:
        body, expected = answer.body.decode(), json.loads(found[2])
        return (body == expected if found[1] == "=" else expected in body), body[:3000]
    if text == "body is empty":
        return answer.body == b"", answer.body[:100]
    found = re.match(r"(\S+) ([=~:]) (.*)$", text)
    try:
        return check_member(answer, found[1], found[2], found[3])
    except (KeyError, IndexError, TypeError, ValueError, AssertionError) as fault:
        return False, repr(fault) + " in " + repr(answer.body[:300])


def send(server, example, etag):
    def fill(text):
        return text.strip().replace("{{token}}", server.token).replace("{{etag}}", etag).replace(
            "{{host}}", "")
    body = example.body.encode() or None
    if example.body.startswith("< "):
        with open(os.path.join(EXAMPLES, example.body[2:].strip()), "rb") as file:
            body = file.read()
    headers = {fill(name): fill(value) for name, value in example.headers}
    return Answer(*server.request(example.method, fill(example.target), body, headers))


def run_file(path):
    """The faults of a file's examples, by their titles."""
    results = []
    etag = ""
    with Server() as server:
        for example in read_examples(path):
            answer = send(server, example, etag)
            etag = answer.headers.get("ETag", etag)
            faults = [f"{line}: there is {value!r}" for line, (ok, value) in
                      ((line, check(answer, line)) for line in example.checks) if not ok]
            if not example.checks:
                faults = ["nothing is expected of it"]
            results.append((example.title, faults))
    return results


def generated_files():
    """Whatever a recipe writes is what is there."""
    with tempfile.TemporaryDirectory() as directory:
        for recipe in glob.glob(os.path.join(EXAMPLES, "*.py")):
            subprocess.run(["/usr/bin/python3", recipe, directory], check=True)
        return [name + " is not what its recipe writes" for name in os.listdir(directory)
                if not filecmp.cmp(os.path.join(directory, name), os.path.join(EXAMPLES, name),
                                   shallow=False)]


def main():
    passed = failed = 0
    results = [("generated files are fresh", generated_files())]
    for path in sorted(glob.glob(os.path.join(EXAMPLES, "*.http"))):
        name = os.path.basename(path)
        results += [(f"{name}: {title}", faults) for title, faults in run_file(path)]
    for name, faults in results:
        print(f"FAIL {name}: {'; '.join(faults)}" if faults else f"ok {name}")
        passed += not faults
        failed += bool(faults)
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())

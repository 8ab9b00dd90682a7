#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""PATCH of slices and append, beside NumPy; readers see one version while others write."""
import http.client
import io
import json
import os
import random
import sys
import threading
import time
import urllib.parse

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))
from server import Report, Server  # noqa: E402

SEED = int(sys.argv[1]) if len(sys.argv) > 1 else int(time.time()) % 1000000
BINARY = {"Content-Type": "application/x-npy"}


def npy(value):
    out = io.BytesIO()
    np.save(out, value)
    return out.getvalue()


def put(server, name, value, **query):
    return server.request("PUT", "/v1/variables/%s?%s" % (name, urllib.parse.urlencode(query)), npy(value), BINARY)


def get(server, name):
    status, _, data = server.request("GET", "/v1/variables/%s?format=npy" % name)
    return np.load(io.BytesIO(data)) if status == 200 else None


def patch(server, name, key, value, headers=BINARY):
    body = npy(value) if headers is BINARY else value
    return server.request("PATCH", "/v1/variables/%s?%s" % (name, urllib.parse.urlencode({"slice": key})), body, headers)


def append(server, name, value, axis=0):
    return server.request("POST", "/v1/variables/%s/append?axis=%d" % (name, axis), npy(value), BINARY)


def random_item(n):
    kind = random.randrange(5)
    if kind == 0 and n > 0:
        return str(random.randrange(-n, n))
    if kind == 1:
        return ":"
    ends = [random.choice(["", str(random.randrange(-n - 1, n + 2))]) for _ in range(2)]
    step = random.choice(["", "", ":2", ":3", ":-1", ":-2"])
    return ends[0] + ":" + ends[1] + step


def random_key(shape):
    items = [random_item(n) for n in shape[:random.randrange(len(shape) + 1)]]
    if random.random() < 0.3:
        items.insert(random.randrange(len(items) + 1), "...")
    if random.random() < 0.2:
        items.insert(random.randrange(len(items) + 1), "None")
    return ",".join(items)


def any_slice_is_written_as_numpy_does(report):
    random.seed(SEED)
    rng = np.random.default_rng(SEED)
    with Server() as server:
        for i in range(150):
            rank = random.randrange(4)
            large = i % 5 == 0 and rank > 0
            shape = tuple(random.randrange(1, 5) for _ in range(rank))
            if large:
                shape = shape[:-1] + (random.randrange(200000, 400000) // int(np.prod(shape[:-1], dtype=int)),)
            kind = random.choice(["float64", "int32", "float32", "complex64", "uint8", "bool"])
            value = np.array(rng.random(shape) * 100, dtype=kind)
            put(server, "x", value)
            key = random_key(shape)
            index = eval("np.s_[%s]" % key) if key else ...
            try:
                part = np.asarray(value[index])
            except IndexError:  # an item behind ... fell on another axis
                status, _, data = patch(server, "x", key, np.zeros((), kind))
                report.check(status == 422, f"seed {SEED}: {kind} {shape} [{key}]: {status} {data[:300]}")
                continue
            new = np.array(rng.random(part.shape) * 100, dtype=kind)
            if part.ndim and random.random() < 0.3:
                new = new[:1] if part.shape[0] else new
            value[index] = new
            status, _, data = patch(server, "x", key, np.array(new))
            ok = status == 200 and np.array_equal(get(server, "x"), value)
            report.check(ok, f"seed {SEED}: {kind} {shape} [{key}] = {new.shape}: {status} {data[:300]}")
            meta = json.loads(server.request("GET", "/v1/variables/x/meta")[2])
            report.check(meta["storage"] == ("memmap" if value.nbytes > 65536 else "inline"), f"{meta}")


def any_axis_grows_as_numpy_does(report):
    rng = np.random.default_rng(SEED)
    with Server() as server:
        for shape, axis in (((3,), 0), ((2, 3), 0), ((2, 3), 1), ((2, 3, 4), -1), ((0, 3), 0), ((700, 300), 0),
                            ((700, 300), 1), ((2, 1000, 200), 1), ((400000,), 0)):
            value = rng.random(shape)
            put(server, "x", value)
            for n in (1, 5, 0, 1000):
                more = list(shape)
                more[axis] = n
                more = rng.random(more)
                value = np.concatenate([value, more], axis=axis)
                status, _, data = append(server, "x", more, axis)
                report.check(status == 200 and np.array_equal(get(server, "x"), value), f"{shape} {axis} {n}: {status} {data[:300]}")
        put(server, "x", np.zeros((2, 3)))
        report.check(append(server, "x", np.ones(3))[0] == 200, "one row without its axis")
        report.check(np.array_equal(get(server, "x"), [[0, 0, 0], [0, 0, 0], [1, 1, 1]]), "the row")
        for value, axis, code in ((np.ones(4), 0, "shape-mismatch"), (np.ones((2, 2)), 0, "shape-mismatch"),
                                  (np.ones(3), 2, "axis-error"), (np.ones(3) * 1j, 0, "dtype-mismatch")):
            status, _, data = append(server, "x", value, axis)
            report.check(status == 422 and json.loads(data)["code"] == code, f"{value} {axis}: {status} {data}")
        put(server, "scalar", np.array(1.0))
        report.check(append(server, "scalar", np.ones(1))[0] == 422, "a scalar")


def values_take_the_variables_type(report):
    JSON = {"Content-Type": "application/json"}
    with Server() as server:
        for kind, body, expected in (("float32", "0.1", np.float32(0.1)), ("int8", "5", 5), ("float64", "7", 7.0),
                                     ("int16", "3.0", 3), ("bool", "1", True), ("complex128", "[[1, 2]]", None),
                                     ("bfloat16", "1.5", None)):
            server.json("PUT", "/v1/variables/x", {"dtype": kind, "shape": [2], "data": [0, 0] if kind != "complex128" else [[0, 0], [0, 0]]})
            status, _, data = patch(server, "x", "1", body, JSON) if kind != "complex128" else \
                patch(server, "x", "1", '{"dtype": "complex128", "shape": [], "data": [1, 2]}', JSON)
            report.check(status == 200 and json.loads(data)["dtype"] == kind, f"{kind}: {status} {data}")
            if expected is not None:
                report.check(get(server, "x")[1] == expected, f"{kind}: {get(server, 'x')}")
        for kind, body in (("int8", "300"), ("int8", "2.5"), ("bool", "2"), ("uint8", "-1")):
            server.json("PUT", "/v1/variables/x", {"dtype": kind, "shape": [2], "data": [0, 0]})
            status, _, data = patch(server, "x", "1", body, JSON)
            report.check(status == 422 and json.loads(data)["code"] == "overflow-error", f"{kind} {body}: {status} {data}")


def what_cannot_be_is_refused(report):
    with Server() as server:
        put(server, "x", np.zeros((2, 3)))
        tag = server.request("GET", "/v1/variables/x")[1]["ETag"]
        for key, value, status, code in (("5", 1.0, 422, "index-error"), (":,:,:", 1.0, 422, "index-error"),
                                         ("0", np.ones(2), 422, "shape-mismatch"), ("[0,1]", 1.0, 422, "index-error")):
            answer = patch(server, "x", key, np.array(value))
            report.check(answer[0] == status and json.loads(answer[2])["code"] == code, f"{key}: {answer[0]} {answer[2]}")
        report.check(patch(server, "none", "0", np.array(1.0))[0] == 404, "no such name")
        server.json("PUT", "/v1/graphs/g", {"program": "1 + 1"})
        report.check(patch(server, "g", "0", np.array(1.0))[0] == 404, "a graph")
        report.check(patch(server, "x", "0", npy(np.array(1.0)), {**BINARY, "If-Match": '"other"'})[0] == 412, "If-Match")
        report.check(patch(server, "x", "0", npy(np.array(1.0)), {**BINARY, "If-Match": tag})[0] == 200, "If-Match")
        report.check(json.loads(server.request("GET", "/v1/variables/x/meta")[2])["version"] == 2, "versions")


def damage_is_not_hidden_by_a_change(report):
    with Server() as server:
        put(server, "x", np.arange(12000000, dtype="float64"))  # 92 MiB: verified where it is read
        file = os.path.join(server.data, json.loads(server.request("GET", "/v1/variables/x/meta")[2])["file"])
        os.chmod(file, 0o600)
        with open(file, "r+b") as f:
            f.seek(4096 + (50 << 20) + 17)
            f.write(b"\xff")
        status, _, data = patch(server, "x", str((50 << 20) // 8 + 100), np.array(1.0))
        report.check(status == 500 and json.loads(data)["code"] == "integrity-error", f"a damaged chunk: {status} {data}")
        status, _, data = patch(server, "x", "0", np.array(-1.0))
        report.check(status == 500 and json.loads(data)["code"] == "integrity-error",
                     f"an array that was found damaged: {status} {data}")
        server.stop()
        server.start()
        report.check(patch(server, "x", "0", np.array(-1.0))[0] == 200, "another chunk")
        status, _, data = server.request("GET", "/v1/variables/x?format=raw&slice=0:2")
        report.check(data == np.array([-1.0, 1.0]).tobytes(), "the change")
        status, _, data = server.request("GET", "/v1/variables/x?format=raw&slice=6553600:6553700")
        report.check(status == 500, f"the damage is still seen: {status}")


def readers_see_one_version(report):
    with Server() as server:
        put(server, "x", np.zeros(300000))
        stop, seen, torn = threading.Event(), set(), []

        def read():
            reader = Server.__new__(Server)
            reader.port, reader.token, reader.connection = server.port, server.token, None
            while not stop.is_set():
                value = get(reader, "x")
                seen.add(float(value[0]))
                if not (value == value[0]).all():
                    torn.append(value)

        readers = [threading.Thread(target=read) for _ in range(2)]
        for t in readers:
            t.start()
        for i in range(1, 40):
            report.check(patch(server, "x", "::-1", np.array(float(i)))[0] == 200, "a write")
        stop.set()
        for t in readers:
            t.join()
        report.check(not torn and len(seen) > 2, f"{len(torn)} torn, {len(seen)} versions seen")


def changes_at_the_same_time_are_all_made(report):
    with Server() as server:
        put(server, "x", np.zeros(100000))
        put(server, "log", np.zeros(0))
        failures = []

        def write(k):
            writer = Server.__new__(Server)
            writer.port, writer.token, writer.connection = server.port, server.token, None
            for i in range(20):
                if patch(writer, "x", "%d::4" % k, np.array(float(i + 1)))[0] != 200:
                    failures.append(i)
                if append(writer, "log", np.array([k * 100.0 + i]))[0] != 200:
                    failures.append(i)

        writers = [threading.Thread(target=write, args=(k,)) for k in range(4)]
        for t in writers:
            t.start()
        for t in writers:
            t.join()
        log = get(server, "log")
        report.check(not failures and (get(server, "x") == 20).all(), f"failures {failures}")
        report.check(sorted(log) == sorted(k * 100.0 + i for k in range(4) for i in range(20)), "appended")
        report.check(all([v for v in log if v // 100 == k] == [k * 100.0 + i for i in range(20)] for k in range(4)),
                     "the order of each writer")


def appended_elements_survive_kills(report):
    with Server() as server:
        put(server, "log", np.zeros(30000))  # a file
        acknowledged, n = 30000, 30000
        for turn in range(10):
            stop = time.time() + random.uniform(0.05, 0.3)
            threading.Timer(stop - time.time(), server.process.kill).start()
            try:
                while True:
                    n = acknowledged + 100
                    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
                    connection.request("POST", "/v1/variables/log/append", npy(np.arange(acknowledged, n, dtype=float)),
                                       {**BINARY, "Authorization": "Bearer " + server.token})
                    if connection.getresponse().status == 200:
                        acknowledged = n
                    connection.close()
            except OSError:
                pass
            except Exception as e:  # the connection is cut in the middle of an answer
                report.check(type(e).__module__ == "http.client", repr(e))
            server.kill()
            server.start()
            found = get(server, "log")
            expected = np.concatenate([np.zeros(30000), np.arange(30000, len(found), dtype=float)])
            report.check(len(found) in (acknowledged, n) and np.array_equal(found, expected),
                         "turn %d: %d elements, %d acknowledged" % (turn, len(found), acknowledged))
            acknowledged = len(found)
        report.check(acknowledged > 31000, "%d elements" % acknowledged)


def main():
    print("note: seed", SEED)
    report = Report()
    for test in (any_slice_is_written_as_numpy_does, any_axis_grows_as_numpy_does, values_take_the_variables_type,
                 what_cannot_be_is_refused, damage_is_not_hidden_by_a_change, readers_see_one_version,
                 changes_at_the_same_time_are_all_made, appended_elements_survive_kills):
        test(report)
    return report.end()


sys.exit(main())

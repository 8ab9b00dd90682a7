#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Existing files as variables: read where they lie, below the allowed directories alone."""
import io
import json
import os
import shutil
import sys
import tempfile
import time

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))
from server import Report, Server  # noqa: E402


def attach(server, name, path, **members):
    return server.json("POST", "/v1/variables/%s/attach" % name, {"path": path, **members})


def get(server, name, query=""):
    status, _, data = server.request("GET", "/v1/variables/%s?format=npy%s" % (name, query))
    return np.load(io.BytesIO(data)) if status == 200 else (status, json.loads(data)["code"])


def npy_files_of_every_kind(report, server, root):
    for i, value in enumerate((np.arange(6.0), np.arange(24, dtype="int16").reshape(2, 3, 4), np.array(5.5), np.zeros((0, 3)),
                               np.asfortranarray(np.arange(12, dtype="float32").reshape(3, 4)), np.array([True, False]),
                               np.arange(300000, dtype="complex128"), np.arange(1 << 17, dtype="uint8"))):
        path = os.path.join(root, "a%d.npy" % i)
        np.save(path, value)
        status, meta = attach(server, "a%d" % i, path)
        report.check(status == 201 and meta["file"] == path and meta["attached"]["mode"] == "r", f"{i}: {status} {meta}")
        report.check(meta["strides"] == list(value.strides) or value.size == 0, f"{i}: strides {meta['strides']} {value.strides}")
        found = get(server, "a%d" % i)
        report.check(isinstance(found, np.ndarray) and found.dtype == value.dtype and np.array_equal(found, value), f"{i}: {found}")
    answer = server.eval("a4 @ a4.T, a6.sum(), a1[1, ::2, -1]")[1]["result"]
    expected = np.arange(12).reshape(3, 4)
    report.check(answer[0]["data"] == (expected @ expected.T).tolist(), f"{answer[0]}")
    report.check(answer[2]["data"] == [15, 23], f"{answer[2]}")
    report.check(np.array_equal(get(server, "a4", "&slice=1:,::-1"), np.arange(12).reshape(3, 4)[1:, ::-1]), "a slice")


def raw_files(report, server, root):
    path = os.path.join(root, "raw.bin")
    value = np.arange(1000, dtype="<i4")
    value.tofile(path)
    report.check(attach(server, "raw", path)[1]["code"] == "npy-invalid", "a raw file without its type")
    status, meta = attach(server, "raw", path, dtype="int32", shape=[10, 5], offset=400, order="F")
    report.check(status == 201 and np.array_equal(get(server, "raw"), value[100:150].reshape(10, 5, order="F")), f"{meta}")
    for members, code in (({"shape": [1001]}, "size-mismatch"), ({"shape": [10], "offset": 3}, "value-error"),
                          ({"shape": [10], "offset": -4}, "value-error"), ({"shape": [-1]}, "shape-invalid"),
                          ({"shape": [2 ** 60, 2 ** 60]}, "shape-invalid"), ({"shape": [1], "offset": 2 ** 62}, "size-mismatch"),
                          ({"shape": [1], "order": "X"}, "request-invalid"), ({"shape": [1], "mode": "r+"}, "request-invalid"),
                          ({"shape": [1], "what": 1}, "unknown-member")):
        status, answer = attach(server, "bad", path, dtype="int32", **members)
        report.check(answer["code"] == code, f"{members}: {status} {answer}")
    big = os.path.join(root, "big.npy")
    np.save(big, np.arange(3, dtype=">f8"))
    report.check(attach(server, "bad", big)[1]["code"] == "dtype-mismatch", "big-endian")


def only_below_the_roots(report, server, root, outside):
    np.save(os.path.join(outside, "secret.npy"), np.arange(3))
    os.symlink(os.path.join(outside, "secret.npy"), os.path.join(root, "link.npy"))
    os.symlink(outside, os.path.join(root, "away"))
    np.save(os.path.join(root, "twice.npy"), np.arange(3))
    os.link(os.path.join(root, "twice.npy"), os.path.join(root, "other.npy"))
    os.mkfifo(os.path.join(root, "pipe"))
    sibling = root + "x"
    os.mkdir(sibling)
    np.save(os.path.join(sibling, "a.npy"), np.arange(3))
    for path in (os.path.join(outside, "secret.npy"), os.path.join(root, "link.npy"), os.path.join(root, "away", "secret.npy"),
                 os.path.join(root, "..", os.path.basename(outside), "secret.npy"), os.path.join(sibling, "a.npy"),
                 os.path.join(root, "twice.npy"), os.path.join(root, "pipe"), root, "/etc/passwd", "a0.npy", ""):
        status, answer = attach(server, "bad", path, dtype="uint8", shape=[1])
        report.check(status == 403, f"{path}: {status} {answer}")
    report.check(attach(server, "bad", os.path.join(root, "none.npy"))[0] == 404, "a file that is not there")
    shutil.rmtree(sibling)


def changes_make_a_copy_or_are_refused(report, server, root):
    path = os.path.join(root, "c.npy")
    value = np.asfortranarray(np.arange(20000.0).reshape(100, 200))
    np.save(path, value)
    attach(server, "r", path)
    attach(server, "c", path, mode="c")
    before = open(path, "rb").read()
    status, answer = server.json("PATCH", "/v1/variables/r?slice=0", 1.0)
    report.check(status == 422 and "mode c" in answer["detail"], f"{status} {answer}")
    status, answer = server.json("PATCH", "/v1/variables/c?slice=3,::2", -1.0)
    value[3, ::2] = -1
    report.check(status == 200 and "attached" not in answer and np.array_equal(get(server, "c"), value), f"{status} {answer}")
    report.check(open(path, "rb").read() == before, "the file was written")
    report.check(server.json("POST", "/v1/variables/r/append", [0.0] * 200)[0] == 422, "append to r")
    report.check(server.eval("r = r + 1", store=["r"])[0] == 200, "a new value in its place")
    report.check(server.request("DELETE", "/v1/variables/r")[0] == 204 and open(path, "rb").read() == before, "DELETE")


def a_file_that_changed_is_refused(report, server, root):
    path = os.path.join(root, "d.npy")
    np.save(path, np.arange(5.0))
    attach(server, "d", path)
    time.sleep(0.02)
    np.save(path, np.arange(5.0) + 1)
    report.check(get(server, "d") == (500, "integrity-error"), "after a change")
    report.check(attach(server, "d", path)[0] == 200 and np.array_equal(get(server, "d"), np.arange(5.0) + 1), "attached again")
    os.remove(path)
    report.check(get(server, "d") == (500, "integrity-error"), "after it was removed")


def main():
    report = Report()
    root, outside = tempfile.mkdtemp(prefix="tensord-root-"), tempfile.mkdtemp(prefix="tensord-outside-")
    try:
        with Server("--attach-root", root) as server:
            npy_files_of_every_kind(report, server, root)
            raw_files(report, server, root)
            only_below_the_roots(report, server, root, outside)
            changes_make_a_copy_or_are_refused(report, server, root)
            a_file_that_changed_is_refused(report, server, root)
            for end in (server.stop, server.kill):
                end()
                server.start()
                report.check(np.array_equal(get(server, "a1"), np.arange(24).reshape(2, 3, 4)), "after " + end.__name__)
            bytes_kept = server.json("GET", "/v1/info")[1]["storage"]["bytes"]
            report.check(bytes_kept < 1000000, f"{bytes_kept} bytes count, though the files are not ours")
            server.stop()
            server.arguments = ()
            server.start()
            report.check(get(server, "a1") == (500, "integrity-error"), "without the root")
    finally:
        shutil.rmtree(root)
        shutil.rmtree(outside)
    return report.end()


sys.exit(main())

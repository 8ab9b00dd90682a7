#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Chunked arrays over HTTP: any request does with them what it does with others; changes are small."""
import io
import os
import sys
import time

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from server import Report, Server  # noqa: E402

NPY = {"Content-Type": "application/x-npy"}
MIB = 1 << 20


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def on_disk(data):
    files = [os.path.join(d, f) for d, _, names in os.walk(os.path.join(data, "arrays")) for f in names]
    return sum(os.stat(f).st_blocks * 512 // MIB for f in files if f.endswith(".slots"))


def main():
    report = Report()
    model = np.arange(3000 * 500, dtype="f4").reshape(3000, 500)  # 5.7 MiB
    with Server() as server:
        def get(path=""):
            status, _, data = server.request("GET", "/v1/variables/x?format=npy" + path)
            return np.load(io.BytesIO(data)) if status == 200 else data

        def same(what):
            found = get()
            report.check(np.array_equal(found, model) and found.dtype == model.dtype, what)

        status, _, data = server.request("PUT", "/v1/variables/x?storage=chunked", npy(model), NPY)
        report.check(status == 201, f"PUT: {status} {data}")
        meta = server.json("GET", "/v1/variables/x/meta")[1]
        report.check(meta["storage"] == "chunked" and meta["file"] is None and meta["nbytes"] == model.nbytes, f"{meta}")
        same("as it was put")
        held = server.json("GET", "/v1/variables/x/meta")[1]["version"]
        model[1000:1100] = 7
        status, _, data = server.request("PATCH", "/v1/variables/x?slice=1000:1100", npy(np.float32(7)), NPY)
        report.check(status == 200, f"PATCH: {status} {data}")
        same("a row of it changed")
        model[:, 3] = -1
        server.request("PATCH", "/v1/variables/x?slice=:,3", npy(np.float32(-1)), NPY)
        same("a column of it changed")
        more = np.ones((700, 500), "f4")
        model = np.concatenate([model, more])
        server.request("POST", "/v1/variables/x/append", npy(more), NPY)
        same("grown")
        model = np.concatenate([model, np.zeros((3700, 2), "f4")], axis=1)
        server.request("POST", "/v1/variables/x/append?axis=1", npy(np.zeros((3700, 2), "f4")), NPY)
        same("grown sideways")
        report.check(np.array_equal(get("&slice=5:9,::7"), model[5:9, ::7]), "a slice")
        answer = server.eval("x.sum(axis=0)[:2], x[1050, 5]")[1]["result"]
        report.check(np.allclose(answer[0]["data"], model.sum(axis=0, dtype="f8")[:2], rtol=1e-5) and answer[1]["data"] == 7,
                     f"computed with: {answer}")
        meta = server.json("GET", "/v1/variables/x/meta")[1]
        report.check(meta["storage"] == "chunked" and meta["version"] == held + 4, f"its form stays: {meta}")
        for _ in range(100):
            if on_disk(server.data) == 8:
                break
            time.sleep(0.05)
        report.check(on_disk(server.data) == 8, f"{on_disk(server.data)} MiB for {model.nbytes}")
        server.kill()
        server.start()
        same("after a kill")
        server.request("PUT", "/v1/variables/x?storage=chunked&durability=memory", npy(model), NPY)
        meta = server.json("GET", "/v1/variables/x/meta")[1]
        report.check(meta["storage"] == "memory", f"what is in memory is in no chunks: {meta}")
        server.request("PUT", "/v1/variables/x", npy(model), NPY)
        meta = server.json("GET", "/v1/variables/x/meta")[1]
        report.check(meta["storage"] == "memmap", f"auto chooses no chunks: {meta}")
        status, answer = server.json("PUT", "/v1/variables/x?storage=chunk", 1)
        report.check(status == 400 and "chunked" in answer["detail"], f"no such form: {answer}")
    return report.end()


sys.exit(main())

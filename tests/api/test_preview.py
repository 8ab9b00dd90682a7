#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Previews are bounded, and true to the elements: beside NumPy."""
import io
import json
import os
import struct
import sys
import zlib

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))
from server import Report, Server  # noqa: E402


def put(server, name, value):
    out = io.BytesIO()
    np.save(out, value)
    return server.request("PUT", "/v1/variables/" + name, out.getvalue(), {"Content-Type": "application/x-npy"})


def preview(server, name, query):
    status, answer = server.json("GET", "/v1/variables/%s/preview?%s" % (name, query))
    return answer if status == 200 else (status, answer["code"])


def cells(n, most):
    """The cell of each of n elements."""
    return np.arange(n) * min(n, most) // n


def lines(report, server, rng):
    for n, most in ((10, 500), (1000, 7), (1, 5), (2500000, 100)):
        value = rng.normal(size=n)
        put(server, "x", value)
        p = preview(server, "x", "kind=line&max=%d" % most)
        where = cells(n, most)
        starts = [int(np.argmax(where == i)) for i in range(min(n, most))]
        report.check(p["x"] == starts, f"{n} {most}: {p['x'][:5]} {starts[:5]}")
        for key, of in (("low", np.min), ("high", np.max), ("values", np.mean)):
            expected = [of(value[where == i]) for i in range(min(n, most))]
            report.check(np.allclose(p[key], expected, rtol=1e-9), f"{n} {most}: {key}")
        report.check(np.isclose(p["min"], value.min()) and np.isclose(p["mean"], value.mean()), f"{n}: all")


def heatmaps(report, server, rng):
    for shape, most in (((5, 4), 100), ((37, 50), 10), ((3, 1000), 20), ((2, 3, 40, 30), 8)):
        value = rng.random(shape).astype("float32")
        put(server, "x", value)
        p = preview(server, "x", "kind=heatmap&max=%d" % most)
        plane = value.reshape((-1,) + shape[-2:])[0].astype(float)
        rows, columns = cells(shape[-2], most), cells(shape[-1], most)
        expected = [[plane[rows == i][:, columns == k].mean() for k in range(columns[-1] + 1)] for i in range(rows[-1] + 1)]
        report.check(np.allclose(p["values"], expected), f"{shape} {most}")
        report.check(p["rows"] == len(expected) and p["columns"] == len(expected[0]), f"{shape}: {p['rows']} {p['columns']}")


def histograms(report, server, rng):
    value = rng.normal(size=100000)
    put(server, "x", value)
    p = preview(server, "x", "kind=histogram&max=20")
    counts, edges = np.histogram(value, 20)
    report.check(np.allclose(p["edges"], edges) and sum(p["counts"]) == 100000, "edges")
    report.check(np.abs(np.array(p["counts"]) - counts).max() <= 1, f"{p['counts']} {counts}")
    put(server, "x", np.array([1, np.nan, 2, np.inf, -np.inf, np.nan, 3.0]))
    p = preview(server, "x", "kind=histogram&max=2")
    report.check(p["counts"] == [1, 2] and p["nan"] == 2 and p["inf"] == 2, f"{p}")
    put(server, "x", np.full(5, 7))
    report.check(sum(preview(server, "x", "kind=histogram")["counts"]) == 5, "all the same")
    put(server, "x", np.zeros(0))
    report.check(sum(preview(server, "x", "kind=histogram")["counts"]) == 0, "nothing")


def tables(report, server, rng):
    value = np.arange(5000).reshape(2, 50, 50)
    put(server, "x", value)
    p = preview(server, "x", "kind=table&max=4")
    report.check(p["values"]["data"] == value[:1, :4, :4].tolist() and p["whole"] is False, f"{p}")
    report.check(preview(server, "x", "kind=table&max=2&slice=1,-3:,::-1")["values"]["data"] == value[1, -3:, ::-1][:2, :2].tolist(), "a slice")
    put(server, "x", np.array([1 + 2j]))
    report.check(preview(server, "x", "")["values"]["data"] == [[1.0, 2.0]], "complex")
    put(server, "x", np.array(True))
    p = preview(server, "x", "kind=table")
    report.check(p["values"]["data"] is True and p["whole"], f"{p}")


def decode(png):
    """(channels, rows of pixels) of a PNG without filters."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    at, data = 8, b""
    while at < len(png):
        n, kind = struct.unpack(">I4s", png[at:at + 8])
        body = png[at + 8:at + 8 + n]
        assert zlib.crc32(kind + body) == struct.unpack(">I", png[at + 8 + n:at + 12 + n])[0]
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", body[:10])
        elif kind == b"IDAT":
            data += body
        at += 12 + n
    channels = {0: 1, 2: 3, 6: 4}[colour]
    raw = np.frombuffer(zlib.decompress(data), "uint8").reshape(height, 1 + width * channels)
    assert (raw[:, 0] == 0).all() and depth == 8
    return raw[:, 1:].reshape(height, width, channels)


def images(report, server, rng):
    for shape in ((20, 30), (20, 30, 3), (5, 7, 4)):
        value = rng.integers(0, 256, shape).astype("uint8")
        put(server, "x", value)
        status, headers, body = server.request("GET", "/v1/variables/x/preview?kind=image")
        report.check(status == 200 and headers["Content-Type"] == "image/png", f"{status} {headers}")
        report.check(np.array_equal(decode(body), value.reshape(shape if len(shape) == 3 else shape + (1,))), f"{shape}")
    put(server, "x", np.linspace(-1, 1, 10000).reshape(100, 100))
    small = decode(server.request("GET", "/v1/variables/x/preview?max=10", None, {"Accept": "image/png"})[2])
    report.check(small.shape == (10, 10, 1) and small[0, 0] < 20 and small[-1, -1] > 235, "scaled")
    put(server, "x", np.zeros((0, 5)))
    report.check(preview(server, "x", "kind=image")[0] == 422, "an empty picture")


def main():
    report = Report()
    rng = np.random.default_rng(3)
    with Server() as server:
        for test in (lines, heatmaps, histograms, tables, images):
            test(report, server, rng)
        for query, status in (("kind=pie", 400), ("kind=line&max=0", 400), ("kind=line&max=99999", 400), ("max=x", 400), ("slice=9,9,9", 422)):
            report.check(preview(server, "x", query)[0] == status, query)
        report.check(preview(server, "none", "")[0] == 404, "no such name")
    return report.end()


sys.exit(main())

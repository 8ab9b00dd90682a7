# SPDX-License-Identifier: Apache-2.0
"""An array of ten times the memory budget: what streams, what is refused, and how much memory that takes."""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from server import Report, Server  # noqa: E402

SANITIZED = "-san" in os.environ.get("BUILD", "")  # shadow memory is not ours, and it is slow
BUDGET, SLACK = 64 << 20, 64 << 20
TIMES = 3 if SANITIZED else 10
WIDTH = 16
ROWS = TIMES * BUDGET // 8 // WIDTH
BLOCK = 1 << 16  # rows that are compared at a time


BASE = (np.arange(BLOCK * WIDTH) * 7919 % 10007 / 64.0 - 50).reshape(-1, WIDTH)


def values(first, end):
    """Some rows of x, all of one block: sums of some of them are exact."""
    return BASE[first % BLOCK:(end - 1) % BLOCK + 1] + first // BLOCK % 7


def blocks():
    for first in range(0, ROWS, BLOCK):
        end = min(ROWS, first + BLOCK)
        yield first, end, values(first, end)


def put_x(data):
    """Stores x with a server that has room for it."""
    with Server(data=data) as server:
        status, _, answer = server.request("PUT", "/v1/variables/x", (x.tobytes() for _, _, x in blocks()), {
            "Content-Type": "application/octet-stream", "Tensor-Dtype": "float64",
            "Tensor-Shape": "%d,%d" % (ROWS, WIDTH), "Content-Length": str(ROWS * WIDTH * 8)})
        assert status == 201, answer


def peak_bytes(server):
    """The most memory that the server ever had resident."""
    with open("/proc/%d/status" % server.process.pid) as f:
        return next(int(line.split()[1]) * 1024 for line in f if line.startswith("VmHWM"))


def check_memory(report, server, what):
    peak = peak_bytes(server)
    report.check(SANITIZED or peak <= BUDGET + SLACK, "%s took %.1f MiB" % (what, peak / 2**20))


def reductions():
    """Programs and what they give."""
    total = np.zeros(WIDTH)
    least, most, square = np.inf, -np.inf, np.zeros((WIDTH, WIDTH))
    for _, _, x in blocks():
        total += x.sum(axis=0)
        least, most = min(least, x.min()), max(most, x.max())
        square += x.T @ x
    return {
        "x.sum()": total.sum(), "(2*x + 1).sum()": (2 * total + ROWS).sum(),
        "x.mean()": total.sum() / (ROWS * WIDTH), "x.min(), x.max()": None,
        "x.min()": least, "x.max()": most,
        "x.sum(axis=0)": total, "(x * 2).sum(axis=0)": 2 * total, "x.mean(axis=0)": total / ROWS,
        "x[:, 3].sum()": total[3], "x[::1000, 5].sum()": None,
        "x.T @ x": square, "sum(x.reshape(-1) @ x.reshape(-1))": np.trace(square),
        "argmax(x)": None, "(x > 0).sum()": None, "var(x, axis=0)": np.diag(square) / ROWS - (total / ROWS) ** 2,
    }


def check_reductions(report, server):
    for program, expected in reductions().items():
        status, answer = server.eval(program)
        ok = report.check(status == 200, "%s: %d %s" % (program, status, answer))
        if ok and expected is not None:
            report.check(np.allclose(answer["result"]["data"], expected, rtol=1e-11), "%s gives %s, not %s" % (
                program, answer["result"]["data"], expected))
        check_memory(report, server, program)


def check_parts(report, server):
    """A part is answered without the rest."""
    status, _, data = server.request("GET", "/v1/variables/x?slice=5:7", None, {"Accept": "application/octet-stream"})
    report.check(status == 200 and data == values(5, 7).tobytes(), "a slice: %d" % status)
    status, _, data = server.request("GET", "/v1/variables/x", None, {
        "Accept": "application/octet-stream", "Range": "bytes=128-383"})
    report.check(status == 206 and data == values(1, 3).tobytes(), "a range: %d" % status)


def main():
    report = Report()
    with Server() as first:  # for its directory
        data = first.data
        first.stop()
        put_x(data)
        with Server("--memory-bytes-max", str(BUDGET), data=data) as server:
            check_reductions(report, server)
            check_parts(report, server)
    return report.end()


sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
"""A stored array of ten times the memory budget: how fast it is read, beside a loop of read() over the same
file, and how much of it is resident."""
import os
import statistics
import sys
import time

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from server import Server  # noqa: E402

BUDGET, SLACK, TIMES = 64 << 20, 64 << 20, 10
BYTES = TIMES * BUDGET
LEAST = 0.8  # of the rate of the loop
# What is run, what is stored of it, and how many bytes it reads.
PROGRAMS = [("(2*x + 1).sum()", [], BYTES), ("x.max()", [], BYTES), ("x.mean(axis=0)", [], BYTES),
            ("y = 2*x + 1", ["y"], BYTES)]


def put_x(data):
    block = (np.arange(1 << 17) * 7919 % 10007 / 64.0).tobytes()
    with Server(data=data) as server:
        status, _, answer = server.request("PUT", "/v1/variables/x", (block for _ in range(BYTES >> 20)), {
            "Content-Type": "application/octet-stream", "Tensor-Dtype": "float64",
            "Tensor-Shape": "%d,1024" % (BYTES >> 13), "Content-Length": str(BYTES)})
        assert status == 201, answer
        return os.path.join(data, server.json("GET", "/v1/variables/x/meta")[1]["file"])


def seconds(function):
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def read_all(path):
    piece = bytearray(1 << 20)
    with open(path, "rb", buffering=0) as f:
        while f.readinto(piece):
            pass


def copy_all(path):
    """What a program by hand would do for a stored result, at best: read, write, sync."""
    piece = memoryview(bytearray(1 << 20))
    with open(path, "rb", buffering=0) as f, open(path + ".copy", "wb", buffering=0) as to:
        while n := f.readinto(piece):
            to.write(piece[:n])
        os.fdatasync(to.fileno())
    os.unlink(path + ".copy")


def evaluate(server, program, store):
    status, answer = server.eval(program, store=store)
    assert status == 200, answer


def peak_bytes(server):
    with open("/proc/%d/status" % server.process.pid) as f:
        return next(int(line.split()[1]) * 1024 for line in f if line.startswith("VmHWM"))


def row(server, path, program, store, size, turns):
    """The first evaluation after the start checks checksums; the others and the loops take turns."""
    first, times, loops = seconds(lambda: evaluate(server, program, store)), [], []
    for _ in range(min(turns, 3) if store else turns):
        loops.append(seconds(lambda: (copy_all if store else read_all)(path)))
        times.append(seconds(lambda: evaluate(server, program, store)))
    rate, loop = size / statistics.median(times), size / statistics.median(loops)
    peak = peak_bytes(server)
    passes = peak <= BUDGET + SLACK and rate >= LEAST * loop
    return "| S9 | `%s`%s | %.1f | %.1f | %.1f | %.2f | %.0f | %s |" % (
        program, ", stored" if store else "", size / first / 1e9, rate / 1e9, loop / 1e9, rate / loop, peak / 2**20,
        "pass" if passes else "MISSES")


def table_of_streaming(turns):
    lines = ["| target | program, x of %d MiB, budget %d MiB | GB/s at first | GB/s | by hand GB/s | ratio | "
             "resident MiB | |" % (BYTES >> 20, BUDGET >> 20), "|---|---|---|---|---|---|---|---|"]
    with Server() as first:  # for its directory
        first.stop()
        path = put_x(first.data)
        for program, store, size in PROGRAMS:
            with Server("--memory-bytes-max", str(BUDGET), data=first.data) as server:
                lines.append(row(server, path, program, store, size, turns))
    return lines


if __name__ == "__main__":
    print("\n".join(table_of_streaming(5)))

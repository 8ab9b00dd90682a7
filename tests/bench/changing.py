# SPDX-License-Identifier: Apache-2.0
"""Changing 1 MiB of a stored array of 1 GiB, over HTTP: in chunks, and in a plain file; and how long
readers of 1 MiB of it wait meanwhile.

    changing.py [TURNS]"""
import os
import statistics
import sys
import threading
import time

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from server import Server  # noqa: E402

LENGTH, PART = 1 << 27, 1 << 17  # float64: 1 GiB, 1 MiB


def raw(n):
    return {"Content-Type": "application/octet-stream", "Tensor-Dtype": "float64", "Tensor-Shape": "[%d]" % n}


def timed(server, *request):
    start = time.perf_counter()
    status, _, data = server.request(*request)
    if status not in (200, 201):
        raise RuntimeError(data)
    return (time.perf_counter() - start) * 1e3


def times_of(server, turns, offset):
    """ms of changes at places all over the array, beginning offset elements into a chunk."""
    part = np.ones(PART).tobytes()
    places = [(i * 37 % (LENGTH // PART - 1)) * PART + offset for i in range(turns)]
    return [timed(server, "PATCH", "/v1/variables/x?slice=%d:%d" % (at, at + PART), part, raw(PART)) for at in places]


def reads(server, n):
    return [timed(server, "GET", "/v1/variables/x?format=raw&slice=5000000:%d" % (5000000 + PART)) for _ in range(n)]


def reads_beside(server, n):
    """ms of reads on a connection of their own, while changes come one after the other."""
    done, found = [], []

    def change():
        while not done:
            times_of(server, 5, 0)

    reader = Server.__new__(Server)
    reader.__dict__.update(server.__dict__, connection=None)
    thread = threading.Thread(target=change)
    thread.start()
    try:
        found = reads(reader, n)
    finally:
        done.append(True)
        thread.join()
    return found


def table_of_changes(turns):
    """Median (and greatest) ms."""
    lines = ["| target | 1 MiB of 1 GiB | ms, median | most |", "|---|---|---|---|"]

    def row(what, times):
        lines.append("| S13 | %s | %.1f | %.1f |" % (what, statistics.median(times), max(times)))

    with Server() as server:
        for form, n in (("chunked", 4 * turns), ("memmap", 2)):
            timed(server, "PUT", "/v1/variables/x?storage=" + form, np.arange(LENGTH, dtype="f8").tobytes(), raw(LENGTH))
            row("PATCH, %s" % form, times_of(server, n, 0))
            if form == "chunked":
                row("PATCH across two chunks", times_of(server, n, 999))
                row("GET", reads(server, 10 * turns))
                row("GET beside PATCH after PATCH", reads_beside(server, 10 * turns))
    return lines


if __name__ == "__main__":
    print("\n".join(table_of_changes(int(sys.argv[1]) if len(sys.argv) > 1 else 7)))

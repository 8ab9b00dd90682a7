# SPDX-License-Identifier: Apache-2.0
"""S7: a million float64 as JSON, in and out; S8: 80 MB as npy, in and out, beside libmicrohttpd alone
that takes and gives the same bytes.

JSON is measured by the server's processor time, npy by the clock: there the kernel does the work."""
import http.client
import io
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
os.environ.setdefault("TENSORD", os.environ.get("BUILD", "build") + "/tensord")
sys.path[:0] = [HERE, os.path.join(HERE, "..", "lib")]
from bare import Bare, processor_s  # noqa: E402
from server import Server  # noqa: E402

COUNT, IN_MB_S, OUT_MB_S, PYTHON, NODE, MEMORY_MB = 10**6, 1000, 500, 8, 5, 16
NPY_COUNT, NPY_GB_S, NPY_SHARE = 10**7, 2.5, 0.70
NODE_SCRIPT = """const t = require("fs").readFileSync(0, "utf8"); let s = process.hrtime.bigint();
const x = JSON.parse(t); const m = process.hrtime.bigint(); JSON.stringify(x);
console.log(Number(m - s) / 1e6, Number(process.hrtime.bigint() - m) / 1e6)"""


def cost_s(server, repeats, *request):
    """Processor time of one request."""
    before = processor_s(server.process)
    for _ in range(repeats):
        status, _, data = server.request(*request)
        if status >= 300:
            raise RuntimeError(data[:500])
    return (processor_s(server.process) - before) / repeats


def peak_mb(server):
    with open("/proc/%d/status" % server.process.pid) as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmHWM")) / 1024


def python_s(text):
    start = time.process_time()
    values = json.loads(text)
    middle = time.process_time()
    json.dumps(values)
    return middle - start, time.process_time() - middle


def node_s(text):
    """What node needs to read and to write; None without node."""
    try:
        out = subprocess.run(["node", "-e", NODE_SCRIPT], input=text, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    return [float(ms) / 1e3 for ms in out.split()]


def json_rows(turns):
    text = json.dumps((np.random.default_rng(1).normal(size=COUNT) * 100).tolist())
    megabytes = len(text) / 1e6
    header = {"Content-Type": "application/json"}
    with Server() as server:
        server.request("PUT", "/v1/variables/x", text, header)
        before = peak_mb(server)
        body = '{"program": "x + 1", "inputs": {"x": %s}}' % text
        server.request("POST", "/v1/eval", body, header)
        grown = peak_mb(server) - before
        into = '{"program": "x[0]", "inputs": {"x": %s}}' % text
        times = {"in": [], "out": []}
        for _ in range(turns):
            times["in"].append(cost_s(server, 3, "POST", "/v1/eval", into, header))
            times["out"].append(cost_s(server, 3, "GET", "/v1/variables/x"))
    python, node = python_s(text), node_s(text)
    for k, (way, least) in enumerate((("in", IN_MB_S), ("out", OUT_MB_S))):
        s = statistics.median(times[way])
        others = "python's json %.0f x" % (python[k] / s) + (", node %.1f x" % (node[k] / s) if node else "")
        ok = megabytes / s >= least and python[k] / s >= PYTHON and (not node or node[k] / s >= NODE)
        yield "| S7 | JSON %s, %.0f MB | %.0f MB/s a core | %s | %s |" % (
            way, megabytes, megabytes / s, others, "pass" if ok else "MISSES")
    # x comes, x + 1 is made: both are tensors
    yield "| S7 | memory of x + 1 | %.0f MB above its tensors | | %s |" % (
        grown - 2 * 8 * COUNT / 2**20, "pass" if grown <= 2 * 8 * COUNT / 2**20 + MEMORY_MB else "MISSES")


def exchange_s(port, path, body, into, headers):
    """Wall time to send the body and to have the answer in memory."""
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    c.blocksize = 1 << 20
    c.connect()
    start = time.perf_counter()
    c.request("POST", path, body, headers)
    answer = c.getresponse()
    at = 0
    while at < len(into) and (n := answer.readinto(memoryview(into)[at:])):
        at += n
    took = time.perf_counter() - start
    c.close()
    if answer.status != 200 or at < len(into):
        raise RuntimeError("%d, %d bytes" % (answer.status, at))
    return took


def npy_rows(turns):
    file = io.BytesIO()
    np.save(file, np.random.default_rng(2).normal(size=NPY_COUNT))
    body = file.getvalue()
    into = bytearray(len(body))
    with tempfile.TemporaryDirectory() as directory, Server() as server:
        headers = {"Content-Type": "application/x-npy", "Accept": "application/x-npy",
                   "Authorization": "Bearer " + server.token}
        bare = Bare({"Content-Type": "application/x-npy"}, body, directory, 2)
        times = {"server": [], "bare": []}
        for _ in range(turns + 1):
            times["server"].append(exchange_s(server.port, "/v1/eval?program=x", body, into, headers))
            times["bare"].append(exchange_s(bare.port, "/", body, into, headers))
        bare.stop()
    server_s, bare_s = (statistics.median(times[who][1:]) for who in ("server", "bare"))
    rate = 2 * len(body) / server_s / 1e9
    yield "| S8 | npy in and out, %.0f MB each | %.2f GB/s | %.0f %% of libmicrohttpd alone | %s |" % (
        len(body) / 1e6, rate, bare_s / server_s * 100,
        "pass" if rate >= NPY_GB_S and bare_s / server_s >= NPY_SHARE else "MISSES")


def table_of_transfers(turns):
    return ["| target | what | rate | others | |", "|---|---|---|---|---|", *json_rows(turns), *npy_rows(turns)]


if __name__ == "__main__":
    print("\n".join(table_of_transfers(int(sys.argv[1]) if len(sys.argv) > 1 else 7)))

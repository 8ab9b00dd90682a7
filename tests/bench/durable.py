# SPDX-License-Identifier: Apache-2.0
"""S10: durable small writes by one and by 32 clients, and reads beside them; S11: how soon a server
answers, empty and with many names; S12: what a name, a node and a client more cost.

The load is wrk's; without wrk there is no S10."""
import io
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
os.environ.setdefault("TENSORD", os.environ.get("BUILD", "build") + "/tensord")
sys.path[:0] = [HERE, os.path.join(HERE, "..", "lib")]
from server import Server  # noqa: E402

GAIN, READS, EMPTY_MS, NAMED_MS, NAMES, NODE_US = 8, 1.2, 50, 500, 100000, 10
NODES = [10, 100, 1000, 10000]
NAME_COUNTS = [10, 1000, 100000]
CLIENTS = [1, 4, 16, 64]
POINTS = {}  # what was measured of S12, for the picture: title -> [(how many, cost)]


def lua(directory, name, server, lines):
    path = os.path.join(directory, name + ".lua")
    with open(path, "w") as f:
        f.write("wrk.headers['Authorization'] = 'Bearer %s'\nwrk.headers['Content-Type'] = 'application/json'\n%s\n" % (
            server.token, lines))
    return path


def wrk(server, path, script, connections, seconds):
    return subprocess.Popen(["wrk", "-t1", "-c%d" % connections, "-d%ds" % seconds, "--latency", "-s", script,
                             "http://127.0.0.1:%d%s" % (server.port, path)], stdout=subprocess.PIPE, text=True)


def result(process):
    """(requests/s, p99 in ms) of a load that ends."""
    out = process.communicate()[0]
    if "Non-2xx" in out:
        raise RuntimeError(out)
    number, unit = re.search(r"99%\s+([\d.]+)(us|ms|s)", out).groups()
    return (float(re.search(r"Requests/sec:\s+([\d.]+)", out).group(1)),
            float(number) * {"us": 1e-3, "ms": 1, "s": 1e3}[unit])


def write_rows(turns):
    if shutil.which("wrk") is None:
        yield "| S10 | durable writes | not measured: wrk is not installed | | |"
        return
    one, many, idle, beside = [], [], [], []
    with tempfile.TemporaryDirectory() as directory, Server() as server:
        server.json("PUT", "/v1/variables/kept", [1.5, 2.5])
        put = lua(directory, "put", server, "local n = 0\nrequest = function()\n  n = n %% 1000 + 1\n  return wrk.format("
                  "'PUT', '/v1/variables/v' .. n, nil, '[' .. n .. '.5]')\nend".replace("%%", "%"))
        get = lua(directory, "get", server, "")
        for _ in range(turns):
            one.append(result(wrk(server, "/", put, 1, 2))[0])
            many.append(result(wrk(server, "/", put, 32, 2))[0])
            idle.append(result(wrk(server, "/v1/variables/kept", get, 2, 2))[1])
            writing = wrk(server, "/", put, 32, 3)
            time.sleep(0.5)
            beside.append(result(wrk(server, "/v1/variables/kept", get, 2, 2))[1])
            result(writing)
    one, many, idle, beside = map(statistics.median, (one, many, idle, beside))
    yield "| S10 | durable writes, 32 clients | %.0f/s | %.0f/s one by one: %.1f x | %s |" % (
        many, one, many / one, "pass" if many >= GAIN * one else "MISSES")
    yield "| S10 | reads beside them, p99 | %.2f ms | %.2f ms without: %.1f x | %s |" % (
        beside, idle, beside / idle, "pass" if beside <= READS * idle else "MISSES")


def fill(server, first, last):
    """Stores names, some ten thousand with one request."""
    value = io.BytesIO()
    np.save(value, np.arange(3.0))
    for start in range(first, last, 10000):
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w") as z:
            for i in range(start, min(start + 10000, last)):
                z.writestr("name_%d.npy" % i, value.getvalue())
        status, _, answer = server.request("PUT", "/v1/variables", file.getvalue(), {"Content-Type": "application/x-npz"})
        if status >= 300:
            raise RuntimeError(answer[:500])


def start_ms(server):
    """Stops a server and starts it anew: ms until it answers."""
    server.stop()
    server.log.close()
    start = time.perf_counter()
    server.start()
    while server.request("GET", "/readyz")[0] != 200:
        time.sleep(0.001)
    return (time.perf_counter() - start) * 1e3


def read_us(server, name):
    times = []
    for _ in range(200):
        start = time.perf_counter()
        server.request("GET", "/v1/variables/" + name)
        times.append((time.perf_counter() - start) * 1e6)
    return statistics.median(times)


def name_rows(turns):
    reads, before = [], 0
    with Server() as server:
        empty = statistics.median(start_ms(server) for _ in range(turns))
        for count in NAME_COUNTS:
            fill(server, before, count)
            before = count
            reads.append(read_us(server, "name_7"))
        named = statistics.median(start_ms(server) for _ in range(turns))
    yield "| S11 | start, empty | %.0f ms | | %s |" % (empty, "pass" if empty <= EMPTY_MS else "MISSES")
    yield "| S11 | start, %d names | %.0f ms | | %s |" % (NAMES, named, "pass" if named <= NAMED_MS else "MISSES")
    POINTS["a read beside names, us"] = list(zip(NAME_COUNTS, reads))
    yield "| S12 | a read beside %s names | %s us | | %s |" % (
        ", ".join(map(str, NAME_COUNTS)), ", ".join("%.0f" % r for r in reads),
        "pass" if reads[-1] <= 2 * reads[0] else "MISSES")


def plan_us(server, nodes):
    """Planning time a node of a program that was not seen before."""
    times = []
    for turn in range(7):
        lines = ["x = %r + y" % (turn + 0.25)] + ["x = %s(x) * 0.5 + %d" % (("sin", "exp", "tanh")[i % 3], i) for i in range(nodes // 3)]
        body = {"program": "\n".join(lines + ["x"]), "inputs": {"y": [1.0, 2.0]}, "dry_run": True}
        status, headers, data = server.request("POST", "/v1/eval", json.dumps(body), {"Content-Type": "application/json"})
        if status != 200:
            raise RuntimeError(data[:500])
        times.append(float(re.search(r"plan;dur=([\d.]+)", headers["Server-Timing"]).group(1)) * 1e3 / nodes)
    return statistics.median(times)


def node_rows():
    with Server("--graph-nodes-max", "100000") as server:
        times = [plan_us(server, n) for n in NODES]
    POINTS["planning, us a node"] = list(zip(NODES, times))
    yield "| S12 | planning %s nodes | %s us a node | | %s |" % (
        ", ".join(map(str, NODES)), ", ".join("%.1f" % t for t in times), "pass" if max(times[1:]) <= NODE_US else "MISSES")


def client_rows():
    if shutil.which("wrk") is None:
        return
    with tempfile.TemporaryDirectory() as directory, Server() as server:
        ask = lua(directory, "ask", server, "wrk.method = 'POST'\nwrk.body = '{\"program\": \"2*x+1\", \"inputs\": {\"x\": [1.5]}}'")
        rates = [result(wrk(server, "/v1/eval", ask, c, 2))[0] for c in CLIENTS]
    POINTS["a tiny request of clients, us of a server"] = [(c, 1e6 / r) for c, r in zip(CLIENTS, rates)]
    yield "| S12 | tiny requests of %s clients | %s/s | | %s |" % (
        ", ".join(map(str, CLIENTS)), ", ".join("%.0f" % r for r in rates), "pass" if rates[-1] >= 0.8 * max(rates) else "MISSES")


def table_of_durability(turns):
    turns = min(turns, 5)
    return ["| target | what | | beside | |", "|---|---|---|---|---|", *write_rows(turns), *name_rows(turns), *node_rows(),
            *client_rows()]


if __name__ == "__main__":
    print("\n".join(table_of_durability(int(sys.argv[1]) if len(sys.argv) > 1 else 5)))

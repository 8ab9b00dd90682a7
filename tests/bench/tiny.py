# SPDX-License-Identifier: Apache-2.0
"""S6: a tiny evaluation, 2*x+1 of a scalar, beside libmicrohttpd alone giving the same bytes
(bare.c), in turns. The load is wrk's; without wrk nothing is measured.

The target is about requests a second, of which the load takes its part of the machine; the processor
time of a request, which is shown as well, is what the server's own share of it is. A lonely client's
time is the median over one connection."""
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.environ.get("BUILD", "build")
os.environ.setdefault("TENSORD", BUILD + "/tensord")
sys.path[:0] = [HERE, os.path.join(HERE, "..", "lib")]
from bare import Bare, processor_s  # noqa: E402
from server import Server  # noqa: E402

THREADS = 2
BODY = json.dumps({"program": "2*x+1", "inputs": {"x": 10000.5}})
JSON = {"Content-Type": "application/json"}
SHARE, LONELY_US, BESIDE = 0.70, 40, 5


def script(directory, token, body=BODY, name="request"):
    """What wrk sends: another number each time, of as many digits, if the body has one of 10000."""
    before, found, after = body.partition("10000")
    path = os.path.join(directory, name + ".lua")
    with open(path, "w") as f:
        f.write("wrk.method = 'POST'\n")
        for name, value in {**JSON, "Authorization": "Bearer " + token}.items():
            f.write("wrk.headers['%s'] = '%s'\n" % (name, value))
        if not found:
            f.write("wrk.body = '%s'\n" % body)
            return path
        f.write("local n = 0\nrequest = function()\n  n = n %% 80000 + 1\n"
                "  return wrk.format(nil, nil, nil, '%s' .. 10000 + n .. '%s')\nend\n" % (before, after))
    return path


def load(who, connections, lua, seconds=2):
    """(requests/s, us of processor time a request, median us)."""
    before = processor_s(who.process)
    out = subprocess.run(["wrk", "-t1", "-c%d" % connections, "-d%d" % seconds, "--latency", "-s", lua,
                          "http://127.0.0.1:%d/v1/eval" % who.port], capture_output=True, text=True, check=True).stdout
    if "Non-2xx" in out:
        raise RuntimeError(out)
    count = int(re.search(r"(\d+) requests in", out).group(1))
    number, unit = re.search(r"50%\s+([\d.]+)(us|ms|s)", out).groups()
    return (float(re.search(r"Requests/sec:\s+([\d.]+)", out).group(1)),
            (processor_s(who.process) - before) / count * 1e6,
            float(number) * {"us": 1, "ms": 1e3, "s": 1e6}[unit])


def p99_us(server, lua):
    out = subprocess.run(["wrk", "-t1", "-c1", "-d2", "--latency", "-s", lua, "http://127.0.0.1:%d/v1/eval" % server.port],
                         capture_output=True, text=True, check=True).stdout
    number, unit = re.search(r"99%\s+([\d.]+)(us|ms|s)", out).groups()
    return float(number) * {"us": 1, "ms": 1e3, "s": 1e6}[unit]


def fairness(turns):
    """p99 of the tiny request alone, and while two clients have large evaluations done, one after the other."""
    alone, beside = [], []
    large = json.dumps({"program": "exp(sin(broadcast_to(arange(5000), (20000, 5000)))).sum()"})
    with tempfile.TemporaryDirectory() as directory, Server() as server:
        lua = script(directory, server.token)
        for _ in range(turns):
            alone.append(p99_us(server, lua))
            busy = [subprocess.Popen(["wrk", "-t1", "-c1", "-d4", "-s", script(directory, server.token, large, str(k)),
                                      "--timeout", "30", "http://127.0.0.1:%d/v1/eval" % server.port],
                                     stdout=subprocess.DEVNULL) for k in range(2)]
            time.sleep(0.5)
            beside.append(p99_us(server, lua))
            for b in busy:
                b.wait()
    return statistics.median(alone), statistics.median(beside)


def measure(turns):
    """Medians of load's three numbers, by (who, connections)."""
    with tempfile.TemporaryDirectory() as directory, \
            Server("--http-threads", str(THREADS), "--log-level", "info") as server:
        _, headers, body = server.request("POST", "/v1/eval", BODY, JSON)
        bare, lua = Bare(headers, body, directory, THREADS), script(directory, server.token)
        taken = {}
        for _ in range(turns):
            for connections in (32, 1):
                for name, who in (("server", server), ("bare", bare)):
                    taken.setdefault((name, connections), []).append(load(who, connections, lua))
        bare.stop()
    return {key: tuple(map(statistics.median, zip(*runs))) for key, runs in taken.items()}


def table_of_requests(turns):
    if shutil.which("wrk") is None:
        return ["| target | what | |", "|---|---|---|", "| S6 | tiny requests | not measured: wrk is not installed |"]
    m = measure(turns)
    alone, beside = fairness(min(turns, 5))
    share = m["server", 32][0] / m["bare", 32][0]
    of_core = m["bare", 32][1] / m["server", 32][1]
    lonely = m["server", 1][2]
    return ["| target | connections | server | libmicrohttpd alone | | |", "|---|---|---|---|---|---|",
            "| S6 | 32 | %.0f/s, %.1f us of a core | %.0f/s, %.1f us | %.0f %% of the rate, %.0f %% by processor time | %s |" % (
                m["server", 32][0], m["server", 32][1], m["bare", 32][0], m["bare", 32][1], share * 100, of_core * 100,
                "pass" if share >= SHARE else "MISSES"),
            "| S6 | 1 | median %.0f us | median %.0f us | %.1f x | %s |" % (
                lonely, m["bare", 1][2], lonely / m["bare", 1][2], "pass" if lonely <= LONELY_US else "MISSES"),
            "| fair | 1, beside large evaluations | p99 %.0f us | p99 %.0f us alone | %.1f x | %s |" % (
                beside, alone, beside / alone, "pass" if beside <= BESIDE * alone else "MISSES")]


if __name__ == "__main__":
    print("\n".join(table_of_requests(int(sys.argv[1]) if len(sys.argv) > 1 else 7)))

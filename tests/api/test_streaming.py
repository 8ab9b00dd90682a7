# SPDX-License-Identifier: Apache-2.0
"""An array of ten times the memory budget: what streams, what is refused, and how much memory that takes."""
import http.client
import io
import itertools
import json
import os
import sys
import threading
import time

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


def put_x(server):
    """Puts x as an .npy file, which is larger than all memory that the server has for it."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (ROWS, WIDTH)})
    header = header.getvalue()
    pieces = itertools.chain([header], (x.tobytes() for _, _, x in blocks()))
    return server.request("PUT", "/v1/variables/x", pieces, {
        "Content-Type": "application/x-npy", "Content-Length": str(len(header) + ROWS * WIDTH * 8)})


def check_put(report, server):
    status, _, answer = put_x(server)
    report.check(status == 201, "PUT: %d %s" % (status, answer[:300]))
    check_memory(report, server, "PUT")
    broken = {"Authorization": "Bearer " + server.token, "Content-Type": "application/octet-stream",
              "Tensor-Dtype": "float64", "Tensor-Shape": str(ROWS * WIDTH), "Content-Length": str(ROWS * WIDTH * 8)}
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    connection.putrequest("PUT", "/v1/variables/z")
    for name, value in broken.items():
        connection.putheader(name, value)
    connection.endheaders(bytes(1 << 20))
    connection.close()
    report.check(soon(lambda: len(files(server.data)) == 1), "what was broken off is there")
    report.check(server.request("GET", "/v1/variables/z")[0] == 404, "z is there")


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
        "(x * 2).sum(axis=0)": 2 * total, "x.mean(axis=1).sum()": total.sum() / WIDTH,
        "x[:, 3].sum()": total[3], "x[::1000, 5].sum()": None,
        "x.T @ x": square, "sum(x.reshape(-1) @ x.reshape(-1))": np.trace(square),
        "argmax(x)": None, "(x > 0).sum()": None,
        "var(x)": np.trace(square) / (ROWS * WIDTH) - (total.sum() / (ROWS * WIDTH)) ** 2,
    }


def check_reductions(report, server):
    for program, expected in reductions().items():
        status, answer = server.eval(program)
        ok = report.check(status == 200, "%s: %d %s" % (program, status, answer))
        if ok and expected is not None:
            report.check(np.allclose(answer["result"]["data"], expected, rtol=1e-11), "%s gives %s, not %s" % (
                program, answer["result"]["data"], expected))
        check_memory(report, server, program)


def softened(x):
    return np.maximum(x @ np.full((WIDTH, 4), 0.5), 0)


def stored():
    """Programs that store y, and y's rows from x's, the sum of all rows before them given."""
    means = sum(x.sum(axis=0) for _, _, x in blocks()) / ROWS
    whole = sum(np.exp(x / 50).sum() for _, _, x in blocks())
    return {
        "y = 2*x + 1": lambda x, _: 2 * x + 1,
        "y = cumsum(x)": lambda x, before: before + np.cumsum(x.reshape(-1)),
        "w = zeros((%d, 4)) + 0.5; y = relu(x @ w); y.sum(axis=0)" % WIDTH: lambda x, _: softened(x),
        "y = astype(x - x.mean(axis=0), float32)": lambda x, _: (x - means).astype(np.float32),
        "e = exp(x / 50); y = astype(e / e.sum() * 1e9, float32)":
            lambda x, _: (np.exp(x / 50) / whole * 1e9).astype(np.float32),
        "y = astype(softmax(x), float32)":
            lambda x, _: (np.exp(x) / np.exp(x).sum(axis=1, keepdims=True)).astype(np.float32),
    }


def same_rows(made, expected):
    """Whether an array has the rows that are expected, in some blocks."""
    width, before = made.size // ROWS, 0
    for k, (first, end, x) in enumerate(blocks()):
        if (k % 5 == 0 or end == ROWS) and not np.allclose(
                made.reshape(-1)[first * width:end * width], expected(x, before).reshape(-1),
                rtol=2e-6 if made.dtype == np.float32 else 1e-12):
            return False
        before += x.sum()
    return True


def check_stores(report, server):
    for program, expected in stored().items():
        status, answer = server.eval(program, store=["y"])
        if not report.check(status == 200, "%s: %d %s" % (program, status, answer)):
            continue
        file = os.path.join(server.data, server.json("GET", "/v1/variables/y/meta")[1]["file"])
        report.check(same_rows(np.load(file, mmap_mode="r"), expected), "%s stored something else" % program)
        report.check(server.request("DELETE", "/v1/variables/y")[0] in (200, 204), "y stays")
        check_memory(report, server, program)


def check_refusals(report, server):
    """What cannot stream is refused before anything runs, and says which operation and what to do."""
    for program, why in (("y = concatenate([x, x])", "concatenate does not stream"),
                         ("y = flip(cumsum(flip(x)))", "cumsum"), ("x * 2", "it is answered")):
        status, answer = server.eval(program, **({"store": ["y"]} if "y" in program else {}))
        report.check(status == 422 and answer["code"] == "memory-plan-too-large", "%s: %s" % (program, answer))
        report.check(why in answer["detail"] and "slices" in answer["detail"], "%s: %s" % (program, answer))
        status, answer = server.eval(program, dry_run=True, **({"store": ["y"]} if "y" in program else {}))
        report.check(status == 422, "%s, dry: %s" % (program, answer))
    status, answer = server.eval("y = 2*x + 1", store=["y"], dry_run=True)
    report.check(status == 200 and answer["stats"]["peak_bytes"] < BUDGET // 4, "a dry run: %s" % answer)
    report.check(server.request("GET", "/v1/variables/y")[0] == 404, "a refused program stored something")


def files(data):
    return sorted(name for _, _, names in os.walk(os.path.join(data, "arrays")) for name in names)


def soon(condition):
    """Whether a condition holds within some seconds."""
    for _ in range(500):
        if condition():
            return True
        time.sleep(0.01)
    return False


SLOW = "y = tanh(sin(x) * cos(x) + exp(x / 99)) ** 1.5 + x"


def check_ends(report, server):
    """One that is stopped on the way ends at once and leaves nothing."""
    report.check(soon(lambda: len(files(server.data)) == 1), "x is not all that is there: %s" % files(server.data))
    before = files(server.data)
    start = time.time()
    status, answer = server.eval(SLOW, store=["y"], timeout_ms=150)
    late = time.time() - start - 0.15
    report.check(answer["code"] == "time-limit", "in time: %d %s" % (status, answer))
    print("note: a store that ran out of time was answered %.0f ms after that" % (late * 1000))
    report.check(late < (30 if SANITIZED else 1), "it ended %.3f s late" % late)
    report.check(soon(lambda: files(server.data) == before), "it left a file")
    status, job = server.json("POST", "/v1/eval", {"program": SLOW, "store": ["y"]}, {"Prefer": "respond-async"})
    report.check(soon(lambda: len(files(server.data)) > 1), "the job made no file")
    start = time.time()
    server.request("DELETE", "/v1/jobs/" + job["id"])
    report.check(soon(lambda: files(server.data) == before), "a cancelled job left a file")
    print("note: a cancelled one had taken its file away after %.0f ms" % (1000 * (time.time() - start)))
    report.check(server.request("GET", "/v1/variables/y")[0] == 404, "what was stopped stored something")


def check_kill(report, server):
    """After SIGKILL on the way nothing is there of it."""
    before = files(server.data)
    thread = threading.Thread(target=lambda: ask_and_lose(server.port, server.token))
    thread.start()
    report.check(soon(lambda: len(files(server.data)) > len(before)), "there was no file to leave behind")
    server.kill()
    thread.join()
    server.start()
    report.check(server.request("GET", "/v1/variables/y")[0] == 404, "half a store is there")
    report.check(files(server.data) == before, "a stray file is there")


def ask_and_lose(port, token):
    connection = http.client.HTTPConnection("127.0.0.1", port)
    try:
        connection.request("POST", "/v1/eval", json.dumps({"program": SLOW, "store": ["y"]}), {
            "Authorization": "Bearer " + token, "Content-Type": "application/json"})
        connection.getresponse()
    except (OSError, http.client.HTTPException):
        pass


def check_budget(report, server):
    """Many at once share the budget: some are told to come again, memory stays within it."""
    statuses = []

    def ask():
        connection = http.client.HTTPConnection("127.0.0.1", server.port)
        for _ in range(6):
            connection.request("POST", "/v1/eval", json.dumps({"program": "a = zeros(4000000) + 1\n(cumsum(a) * a).sum()"}), {
                "Authorization": "Bearer " + server.token, "Content-Type": "application/json"})
            answer = connection.getresponse()
            answer.read()
            statuses.append(answer.status)

    threads = [threading.Thread(target=ask) for _ in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    report.check(set(statuses) <= {200, 503} and 200 in statuses, "answers %s" % sorted(set(statuses)))
    check_memory(report, server, "many at once")


def check_answers(report, server):
    """A part is answered without the rest, the whole without holding it."""
    raw = {"Accept": "application/octet-stream"}
    status, _, data = server.request("GET", "/v1/variables/x?slice=5:7", None, raw)
    report.check(status == 200 and data == values(5, 7).tobytes(), "a slice: %d" % status)
    status, _, data = server.request("GET", "/v1/variables/x", None, {**raw, "Range": "bytes=128-383"})
    report.check(status == 206 and data == values(1, 3).tobytes(), "a range: %d" % status)
    status, _, data = server.request("GET", "/v1/variables/x?slice=:,3", None, raw)
    report.check(status == 200 and len(data) == ROWS * 8, "a column: %d" % status)
    check_memory(report, server, "parts")
    for headers in ({"Accept": "application/x-npz"}, {**raw, "Range": "bytes=8-"}):
        status, _, data = server.request("GET", "/v1/variables/x", None, headers)
        report.check(status in (200, 206) and len(data) >= ROWS * WIDTH * 8 - 8, "%s: %d" % (headers, status))
        check_memory(report, server, "%s" % headers)
    report.check(server.request("GET", "/v1/variables/x/preview")[0] == 200, "no preview")
    check_memory(report, server, "a preview")


def main():
    report = Report()
    with Server("--memory-bytes-max", str(BUDGET)) as server:
        for check in (check_put, check_reductions, check_answers, check_stores, check_refusals, check_ends,
                      check_budget, check_kill):
            check(report, server)
    return report.end()


sys.exit(main())

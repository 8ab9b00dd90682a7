#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Every limit of /v1/limits, asked for below, at and above it.

A row of the table LIMITS names a limit, the flags that make it small, and the function that asks;
a limit that /v1/limits has and LIMITS has not is a failure. What is above is answered with the
status and code that /v1/limits says, and with the limit and what was asked, where the answer is
ours: what the library or the end of a connection says has neither."""
import json
import os
import socket
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "lib"))
from server import TENSORD, Report, Server  # noqa: E402

JSON = {"Content-Type": "application/json"}
SLOWER = 4 if "-san" in TENSORD else 1
report = Report()


class Asking:
    """A server with one small limit, and what is asked of it."""

    def __init__(self, name, *flags):
        self.name = name
        self.server = Server(*flags)
        self.row = self.server.json("GET", "/v1/limits")[1]["limits"][name]
        self.limit = self.row["value"]

    def check(self, ok, what):
        report.check(ok, f"{self.name}: {what}")

    def passes(self, answer, what, status=200):
        self.check(answer[0] == status, f"{what}: {answer}")

    def refused(self, answer, what, asked=None, code=None):
        """The answer says which limit it is, and if asked is given, what was asked."""
        status, problem = answer
        self.check((status, problem.get("code")) == (self.row["status"], self.row["code"]) if code is None
                   else (status, problem.get("code")) == code, f"{what}: {answer}")
        if asked is not None:
            self.check(problem.get("limit") == self.limit and problem.get("asked") == asked,
                       f"{what}: limit {problem.get('limit')}, asked {problem.get('asked')}")

    def body(self, data, target="/v1/eval", method="POST", headers=JSON):
        status, _, answer = self.server.request(method, target, data, headers)
        return status, json.loads(answer) if answer else {}

    def raw(self, n, name="a"):
        return self.body(b"x" * n, "/v1/variables/" + name, "PUT",
                         {"Content-Type": "application/octet-stream", "Tensor-Dtype": "int8", "Tensor-Shape": str(n)})

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.server.port), 20)

    def get(self, sock, headers=b""):
        """Sends GET /healthz on a connection; the status of what comes, 0 if it ends."""
        sock.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n%s\r\n" % (self.server.port, headers))
        return status_of(sock)

    def hang_up(self):
        """Ends the connection on which the limits were asked for."""
        self.server.connection.close()
        self.server.connection = None
        time.sleep(0.3)

    def token(self, name):
        """A token beside the local one."""
        done = subprocess.run([TENSORD, "token", "create", name, "--data", self.server.data], capture_output=True, text=True,
                              timeout=30, check=True)
        self.server.process.send_signal(1)
        time.sleep(0.3)
        return {"Authorization": "Bearer " + done.stdout.split()[0]}


def status_of(sock):
    try:
        data = sock.recv(65536)
    except OSError:
        return 0
    return int(data.split()[1]) if data else 0


def waiting(program, n):
    """Starts n evaluations of a program, each with a connection of its own; how to wait for them."""
    def start(asking):
        answers = []

        def ask():
            with socket.create_connection(("127.0.0.1", asking.server.port), 600) as sock:
                body = json.dumps({"program": program}).encode()
                sock.sendall(b"POST /v1/eval HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nAuthorization: Bearer %s\r\nConnection: close\r\n"
                             b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n"
                             % (asking.server.port, asking.server.token.encode(), len(body)) + body)
                data = b""
                while piece := sock.recv(65536):
                    data += piece
                answers.append((int(data.split()[1]), data))
        threads = [threading.Thread(target=ask) for _ in range(n)]
        for t in threads:
            t.start()
            time.sleep(0.1)
        return threads, answers
    return start


SLOW = "y = rand((500, 500))\nfori_loop(0, 1200, lambda i, v: sin(v) * 1.5, y).sum()"

# ---- Connections ----------------------------------------------------------------------------------


def connections_soft(a):
    a.hang_up()
    socks = [a.connect() for _ in range(a.limit)]
    a.check(a.get(socks[0]) == 200, "below")
    a.check(a.get(socks[-1]) == 200, "at")
    socks.append(a.connect())
    time.sleep(0.1)
    a.check(a.get(socks[-1]) == a.row["status"], "above")
    for sock in socks:
        sock.close()


def connections(a):
    """Above the hard limit the library ends the connection without an answer, or lets it wait."""
    a.hang_up()
    socks = [a.connect() for _ in range(a.limit)]
    a.check(a.get(socks[0]) == 200, "below")
    a.check(a.get(socks[-1]) == 200, "at")
    socks.append(a.connect())
    socks[-1].settimeout(2)
    a.check(a.get(socks[-1]) == 0, "above")
    for sock in socks:
        sock.close()


def connections_per_address(a):
    """Of this machine's own addresses loopback is not limited; the others are like anybody's."""
    host = subprocess.run(["hostname", "-I"], capture_output=True, text=True, timeout=10, check=False).stdout.split()
    outer = [h for h in host if ":" not in h and not h.startswith("127.")]
    if not outer:
        print("note: no address but loopback: connections_per_address_max is not asked for")
        return
    socks = [socket.create_connection((outer[0], a.server.port), 20) for _ in range(a.limit)]
    a.check(a.get(socks[0]) == 200, "below")
    a.check(a.get(socks[-1]) == 200, "at")
    socks.append(socket.create_connection((outer[0], a.server.port), 20))
    a.check(a.get(socks[-1]) == a.row["status"], "above")
    for sock in socks:
        sock.close()


def header_bytes(a):
    """The library's memory for a connection, in which the line and the fields are."""
    for n, expected, what in ((a.limit // 2, 200, "below"), (a.limit - 2048, 200, "at, as far as it is usable"),
                              (a.limit, 431, "above")):
        with a.connect() as sock:
            a.check(a.get(sock, b"X-Long: " + b"a" * n + b"\r\n") == expected, what)


def headers(a):
    sent = a.server.request("GET", "/healthz", None, {})  # what http.client adds is not known: count by answers
    a.check(sent[0] == 200, "none")
    for n, status in ((a.limit - 2, 200), (a.limit - 1, 200), (a.limit, 431)):  # Host is one
        with a.connect() as sock:
            a.check(a.get(sock, b"".join(b"X-%d: v\r\n" % i for i in range(n))) == status, f"{n + 1} headers")
    answer = a.body(None, "/healthz", "GET", {f"X-{i}": "v" for i in range(a.limit)})
    a.refused(answer, "above", answer[1].get("asked", 0) if answer[1].get("asked", 0) > a.limit else -1)


def late(a, first, rest, seconds):
    """Sends the rest of a request so late; the status."""
    with a.connect() as sock:
        sock.sendall(first)
        time.sleep(seconds)
        try:
            sock.sendall(rest)
        except OSError:
            return 0
        return status_of(sock)


def header_time(a):
    first, rest = b"GET /healthz HTTP/1.1\r\n", b"Host: 127.0.0.1:%d\r\n\r\n" % a.server.port
    a.check(late(a, first, rest, 0.3) == 200, "below")
    a.check(late(a, first, rest, 2.5) in (408, 0), "above")


def body_time(a):
    head = b"POST /v1/eval HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n" \
           b"Content-Length: 16\r\n\r\n" % (a.server.port, a.server.token.encode())
    a.check(late(a, head, b'{"program": "1"}', 0.3) == 200, "below")
    a.check(late(a, head, b'{"program": "1"}', 4) in (408, 0), "above")


def idle_time(a):
    with a.connect() as sock:
        a.check(a.get(sock) == 200, "the first")
        time.sleep(0.3)
        a.check(a.get(sock) == 200, "below")
        time.sleep(4)
        try:
            a.check(a.get(sock) == 0, "above: the connection is closed")
        except OSError:
            pass


# ---- Callers --------------------------------------------------------------------------------------


def auth_failures(a):
    wrong = {"Authorization": "Bearer " + "0" * 64}
    for i in range(a.limit):
        status, answer = a.body(None, "/v1/info", "GET", wrong)
        a.check((status, answer["code"]) == (401, "unauthorized"), f"wrong token {i + 1}: {answer}")
    a.refused(a.body(None, "/v1/info", "GET", wrong), "above")
    a.passes(a.server.json("GET", "/v1/info"), "a right token")


def token_burst(a):
    headers = a.token("fast")
    for i in range(a.limit):
        a.passes(a.body(None, "/v1/dtypes", "GET", headers), f"request {i + 1}")
    a.refused(a.body(None, "/v1/dtypes", "GET", headers), "above")


def token_rate(a):
    """After the burst, one a second."""
    headers = a.token("steady")
    a.passes(a.body(None, "/v1/dtypes", "GET", headers), "at")
    a.refused(a.body(None, "/v1/dtypes", "GET", headers), "above")
    time.sleep(1.3 / a.limit)
    a.passes(a.body(None, "/v1/dtypes", "GET", headers), "below, a second later")


# ---- Bodies ---------------------------------------------------------------------------------------


def around(a, ask, below, at, above, asked=None, status=200, code=None):
    """Asks for three sizes."""
    a.passes(ask(below), f"below, {below}", status)
    a.passes(ask(at), f"at, {at}", status)
    a.refused(ask(above), f"above, {above}", asked, code)


def padded(n):
    return b'{"program": "1"' + b" " * (n - 16) + b"}"


def body_bytes(a):
    around(a, lambda n: a.body(padded(n)), a.limit - 1, a.limit, a.limit + 1, a.limit + 1)


def upload_bytes(a):
    a.raw(1)
    around(a, a.raw, a.limit - 1, a.limit, a.limit + 1, a.limit + 1)


def unknown(text):
    """A member that eval does not have: read as any JSON, and then refused with 400 unknown-member."""
    return b'{"what": ' + text + b"}"


def json_depth(a):
    around(a, lambda n: a.body(unknown(b"[" * (n - 1) + b"]" * (n - 1))), a.limit - 1, a.limit, a.limit + 1, a.limit + 1, 400)
    a.check(a.body(unknown(b"[]"))[1]["code"] == "unknown-member", "below it is another error")


def json_key(a):
    around(a, lambda n: a.body(b'{"' + b"k" * n + b'": 1}'), a.limit - 1, a.limit, a.limit + 1, a.limit + 1, 400)


def json_members(a):
    """The object, its member, and the elements of its list."""
    def ask(n):
        return a.body(unknown(b"[" + b"0," * (n - 3) + b"0]"))
    for n in (a.limit - 1, a.limit):
        a.check(ask(n)[1]["code"] == "unknown-member", f"{n} values")
    a.refused(ask(a.limit + 1), "above", a.limit + 1)


def json_heap(a):
    """Each element of args may become a tensor, which takes a kilobyte."""
    def ask(n):
        return a.body(b'{"args": [0' + b",0" * n + b"]}")
    a.check(ask(100000)[1]["code"] == "unknown-member", "below")
    a.refused(ask(300000), "above", a.limit + 1)


# ---- Evaluation -----------------------------------------------------------------------------------


def evaluations(a):
    """One at a time: the second waits, and has its turn."""
    threads, answers = waiting(SLOW, 2)(a)
    for t in threads:
        t.join()
    a.check([s for s, _ in answers] == [200, 200], f"{answers}")
    a.check(a.server.json("GET", "/v1/info")[1]["machine"].get("evaluations_max", a.limit) == a.limit, "at most one runs")


def queue(a):
    threads, answers = waiting(SLOW, 1 + a.limit + 1)(a)
    for t in threads:
        t.join()
    codes = sorted(s for s, _ in answers)
    a.check(codes == [200] * (1 + a.limit) + [a.row["status"]], f"{codes}")
    refused = [d for s, d in answers if s != 200]
    a.check(refused and b'"code":"%s"' % a.row["code"].encode() in refused[0] and b"etry-After" in refused[0], f"{refused}")


def queue_time(a):
    threads, answers = waiting(SLOW, 2)(a)
    for t in threads:
        t.join()
    codes = sorted(s for s, _ in answers)
    a.check(codes == [200, a.row["status"]], f"{codes}")
    a.check(any(b'"code":"%s"' % a.row["code"].encode() in d for _, d in answers), "the code")


def time_max(a):
    a.passes(a.server.eval("1 + 1"), "below")
    a.refused(a.server.eval("while_loop(lambda i: i < 1000000, lambda i: i + 1, 0)"), "above")


def work(a):
    """Of a sum of n whole numbers: the plan says how much it is."""
    def ask(n):
        return a.server.eval("(x * 2).sum()", inputs={"x": [1] * n})
    one = ask(16)[1]["stats"]["work"] / 16
    n = int(a.limit / one)
    around(a, ask, n - 1, n, n + 1, (n + 1) * one)


def result_bytes(a):
    around(a, lambda n: a.server.eval(f"ones({n // 8})"), a.limit - 8, a.limit, a.limit + 8, a.limit + 8)


def plan_bytes(a):
    """The most that passes is within the limit, and a little more is not."""
    def ask(n):
        return a.server.eval(f"y = cumsum(arange({n}))\ny[::-1].sum()")
    low, high = 16, 100000
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if ask(middle)[0] == 200 else (low, middle)
    peak = ask(low)[1]["stats"]["peak_bytes"]
    a.check(a.limit - 64 <= peak <= a.limit, f"at: {peak} bytes")
    a.passes(ask(low - 8), "below")
    status, problem = ask(high)
    a.refused((status, problem), "above", problem.get("asked"))
    a.check(a.limit < problem["asked"] <= a.limit + 128, f"asked {problem.get('asked')}")


def memory(a):
    """What one request plans is held to it as well; while others have it, it is said to be in use."""
    def ask(n):
        return a.server.eval(f"y = rand(({n >> 11}, 128))\nfori_loop(0, 3, lambda i, v: sin(v[::-1]) + v, y).sum()")
    a.passes(ask(a.limit // 8), "below")
    status, problem = ask(2 * a.limit)
    a.check((status, problem.get("code")) == (422, "memory-plan-too-large") and problem["limit"] == a.limit, f"{problem}")
    big = "y = rand((%d, 128))\nfori_loop(0, 60, lambda i, v: sin(v[::-1]) + v, y).sum()" % (a.limit >> 12)
    threads, answers = waiting(big, 3)(a)
    for t in threads:
        t.join()
    refused = [json.loads(d.split(b"\r\n\r\n", 1)[1]) for s, d in answers if s == a.row["status"]]
    a.check(any(s == 200 for s, _ in answers) and refused and all(p["code"] == a.row["code"] for p in refused),
            f"{[s for s, _ in answers]} {[d[-400:] for _, d in answers]}")
    a.passes(ask(a.limit // 8), "afterwards")


def graph_nodes(a):
    """Operations; what they begin with is not counted."""
    def ask(n):
        return a.server.eval("x = 1.5\n" + "x = sin(x)\n" * n + "x")
    around(a, ask, a.limit - 1, a.limit, a.limit + 1, a.limit + 1)


def loop_iterations(a):
    for loop in ("while_loop(lambda i: i < %d, lambda i: i + 1, 0)", "fori_loop(0, %d, lambda i, v: v + 1, 0)",
                 "scan(lambda c, e: (c + e, c), 0, arange(%d))[0]"):
        around(a, lambda n: a.server.eval(loop % n), a.limit - 1, a.limit, a.limit + 1, a.limit + 1)


def rank(a):
    for ask in (lambda n: a.server.eval(f"zeros((1,) * {n})"),
                lambda n: a.server.eval("x", inputs={"x": {"shape": [1] * n, "data": [1]}})):
        around(a, ask, a.limit - 1, a.limit, a.limit + 1, a.limit + 1)


def elements(a):
    for ask in (lambda n: a.server.eval(f"broadcast_to(1, ({n},))[0]"),
                lambda n: a.server.eval("x", inputs={"x": {"dtype": "int8", "shape": [0, n], "data": []}}) if n <= a.limit else
                a.server.eval("x", inputs={"x": {"dtype": "int8", "shape": [n], "data": []}})):
        around(a, ask, a.limit - 1, a.limit, a.limit + 1, a.limit + 1)


# ---- Requests that are sent again -----------------------------------------------------------------


def put(a, name, key=None, **more):
    return a.server.json("PUT", "/v1/variables/" + name, 1, {"Idempotency-Key": key, **more} if key else more)


def idempotency_keys(a):
    for i in range(a.limit):
        a.passes(put(a, f"v{i}", f"key{i}"), f"key {i + 1}", 201)
    a.refused(put(a, "more", "one more"), "above")
    a.passes(put(a, "v0", "key0"), "a known key", 201)


def idempotency_keep(a):
    a.passes(put(a, "x", "k"), "the first", 201)
    a.passes(put(a, "x", "k"), "below: the first answer", 201)
    time.sleep(a.limit / 1e6 + 1.5)
    a.passes(put(a, "x", "k"), "above: done anew", 200)


def idempotency_answer(a):
    """A longer answer cannot be given twice; what it did is done once all the same."""
    def ask(n, key):
        return a.body(json.dumps({"program": "y = 1\nx", "inputs": {"x": [1] * n}, "store": ["y"]}).encode(), "/v1/eval", "POST",
                      {**JSON, "Idempotency-Key": key})
    for n, key in ((1000, "short"), (7000, "almost")):
        first = ask(n, key)
        a.passes(first, "the first")
        a.check(ask(n, key) == first, f"{n} elements: the same answer")
    first = ask(60000, "long")
    a.passes(first, "a long answer")
    again = ask(60000, "long")
    a.check(again[1].get("commit") == first[1]["commit"] or again[1].get("code") == a.row["code"], f"again: {str(again)[:300]}")


# ---- Jobs -----------------------------------------------------------------------------------------


def submit(a, program="1", headers=None):
    return a.server.json("POST", "/v1/eval", {"program": program}, {"Prefer": "respond-async", **(headers or {})})


def ended(a, job):
    for _ in range(400):
        state = a.server.json("GET", "/v1/jobs/" + job["id"])[1].get("state")
        if state not in ("queued", "running"):
            return state
        time.sleep(0.05)
    return "late"


def result(a, job):
    return a.server.json("GET", "/v1/jobs/" + job["id"] + "/result")


def jobs(a):
    for i in range(a.limit):
        a.passes(submit(a, SLOW), f"job {i + 1}", 202)
    a.refused(submit(a, SLOW), "above", a.limit + 1)


def jobs_per_token(a):
    headers = a.token("worker")
    for i in range(a.limit):
        a.passes(submit(a, SLOW, headers), f"job {i + 1}", 202)
    a.refused(submit(a, SLOW, headers), "above", a.limit + 1)
    a.passes(submit(a), "the local token has no such limit", 202)


def job_time(a):
    _, short = submit(a)
    _, long = submit(a, "while_loop(lambda i: i < 1000000, lambda i: i + 1, 0)")
    a.check(ended(a, short) == "done" and result(a, short)[0] == 200, "below")
    a.check(ended(a, long) == "failed", "above")
    a.refused(result(a, long), "above")


def job_work(a):
    _, little = submit(a, "1 + 1")
    _, much = submit(a, "(arange(100000) * 2).sum()")
    a.check(ended(a, little) == "done", "below")
    a.check(ended(a, much) == "failed", "above")
    a.refused(result(a, much), "above", result(a, much)[1].get("asked"))


def job_keep(a):
    _, job = submit(a)
    a.check(ended(a, job) == "done", "it ends")
    a.passes(result(a, job), "below")
    time.sleep(a.limit / 1e6 + 1.5)
    status, problem = result(a, job)
    a.check((status, problem.get("code")) in ((410, "gone"), (404, "not-found")), f"above: {status} {problem}")


def jobs_running(a):
    """One at a time: the second is put aside until the first has ended."""
    first, second = submit(a, SLOW)[1], submit(a, SLOW)[1]
    states = set()
    for _ in range(3000):
        now = [a.server.json("GET", "/v1/jobs/" + j["id"])[1]["state"] for j in (first, second)]
        states.add(tuple(now))
        if now[1] == "done":
            break
        time.sleep(0.02)
    a.check(("running", "running") not in states and ("done", "done") in states, f"{states}")


# ---- Storage --------------------------------------------------------------------------------------


def name_bytes(a):
    around(a, lambda n: put(a, "n" * n), a.limit - 1, a.limit, a.limit + 1, None, 201)
    a.refused(put(a, "n" * (a.limit + 1)), "above", a.limit + 1)


def put_notebook(a, cells=1, source=5, title="", name="n"):
    document = {"title": title, "cells": [{"id": str(i), "kind": "code", "source": "x" * source} for i in range(cells)]}
    return a.body(json.dumps(document).encode(), "/v1/notebooks/" + name, "PUT")


def notebooks(a):
    for i in range(a.limit):
        a.passes(put_notebook(a, name=f"n{i}"), f"notebook {i + 1}", 201)
    a.refused(put_notebook(a, name="more"), "above", a.limit + 1)
    a.passes(put_notebook(a, name="n0"), "a known name")


def notebook_bytes(a):
    rest = len(json.dumps({"title": "", "cells": []}))
    a.passes(put_notebook(a, 0, title="x" * (a.limit - rest - 1)), "below", 201)
    a.passes(put_notebook(a, 0, title="x" * (a.limit - rest)), "at")
    a.refused(put_notebook(a, 0, title="x" * (a.limit - rest + 1)), "above", a.limit + 1)


def notebook_cells(a):
    a.passes(put_notebook(a, a.limit - 1), "below", 201)
    a.passes(put_notebook(a, a.limit), "at")
    a.refused(put_notebook(a, a.limit + 1), "above", a.limit + 1)


def notebook_source(a):
    a.passes(put_notebook(a, source=a.limit - 1), "below", 201)
    a.passes(put_notebook(a, source=a.limit), "at")
    a.refused(put_notebook(a, source=a.limit + 1), "above", a.limit + 1)


def variables(a):
    for i in range(a.limit):
        a.passes(put(a, f"v{i}"), f"name {i + 1}", 201)
    a.refused(put(a, "more"), "above", a.limit + 1)
    a.passes(put(a, "v0"), "a known name")


def data_bytes(a):
    a.passes(a.raw(a.limit // 2), "below", 201)
    a.server.request("DELETE", "/v1/variables/a")
    time.sleep(0.5)
    answer = a.raw(a.limit + 1)
    a.refused(answer, "above", answer[1].get("asked"))
    a.check(answer[1].get("asked", 0) > a.limit, f"{answer}")
    a.passes(a.raw(1000), "afterwards", 201)


def free_bytes(a):
    """A small disk, if one can be mounted: 5 % of it stay free."""
    small = os.path.join(a.server.data, "small")
    os.mkdir(small)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "none", small], capture_output=True, timeout=20,
                      check=False).returncode != 0:
        print("note: no disk can be mounted: free_bytes_min is tried by tests/storage/test_faults.c alone")
        return
    try:
        os.mkdir(os.path.join(small, "data"))
        server, a.server = a.server, Server("--free-bytes-min", "1 GiB", data=os.path.join(small, "data"))
        try:
            a.passes(a.raw(4 << 20), "below", 201)
            status, problem = a.raw(12 << 20, "b")
            a.refused((status, problem), "above")
            a.check(problem.get("limit", 1 << 40) < (12 << 20) <= problem.get("asked", 0), f"{problem}")
        finally:
            a.server.stop()
            a.server = server
    finally:
        subprocess.run(["umount", small], timeout=20, check=True)


# ---- The table: limit, flags, who asks ------------------------------------------------------------

LIMITS = {
    "connections_max": (("--connections-max", "12", "--connections-soft-max", "12"), connections),
    "connections_soft_max": (("--connections-soft-max", "6"), connections_soft),
    "connections_per_address_max": (("--connections-per-address-max", "4", "--listen", "0.0.0.0:0", "--behind", "a test"),
                                    connections_per_address),
    "header_bytes_max": (("--header-bytes-max", "20 KiB"), header_bytes),
    "headers_max": (("--headers-max", "20"), headers),
    "header_time_max": (("--header-time-max", "1 s"), header_time),
    "body_time_max": (("--body-time-max", "1 s"), body_time),
    "idle_time_max": (("--idle-time-max", "1 s"), idle_time),
    "auth_failures_per_minute_max": (("--auth-failures-per-minute-max", "3"), auth_failures),
    "token_requests_per_second_max": (("--token-requests-per-second-max", "1", "--token-requests-burst-max", "1"), token_rate),
    "token_requests_burst_max": (("--token-requests-per-second-max", "1", "--token-requests-burst-max", "5"), token_burst),
    "body_bytes_max": (("--body-bytes-max", "2000"), body_bytes),
    "upload_bytes_max": (("--upload-bytes-max", "2000"), upload_bytes),
    "envelope_bytes_max": ((), body_bytes),
    "json_heap_bytes_max": ((), json_heap),
    "json_depth_max": ((), json_depth),
    "json_key_bytes_max": ((), json_key),
    "json_members_max": ((), json_members),
    "evaluations_max": (("--evaluations-max", "1", "--queue-time-max", "10 min", "--time-max", "10 min"), evaluations),
    "queue_max": (("--evaluations-max", "1", "--queue-max", "1", "--queue-time-max", "10 min", "--time-max", "10 min"),
                  queue),
    "queue_time_max": (("--evaluations-max", "1", "--queue-time-max", "50 ms", "--time-max", "10 min"), queue_time),
    "time_max": (("--time-max", "300 ms"), time_max),
    "work_max": (("--work-max", "1000"), work),
    "result_bytes_max": (("--result-bytes-max", "1024"), result_bytes),
    "plan_bytes_max": (("--plan-bytes-max", "65536"), plan_bytes),
    "memory_bytes_max": (("--memory-bytes-max", "64 MiB"), memory),
    "graph_nodes_max": (("--graph-nodes-max", "10"), graph_nodes),
    "loop_iterations_max": (("--loop-iterations-max", "10"), loop_iterations),
    "rank_max": ((), rank),
    "elements_max": ((), elements),
    "idempotency_keys_max": (("--idempotency-keys-max", "3"), idempotency_keys),
    "idempotency_keep_time": (("--idempotency-keep-time", "1 s"), idempotency_keep),
    "idempotency_answer_bytes_max": ((), idempotency_answer),
    "jobs_max": (("--jobs-max", "3"), jobs),
    "jobs_per_token_max": (("--jobs-per-token-max", "2"), jobs_per_token),
    "job_time_max": (("--job-time-max", "300 ms"), job_time),
    "job_work_max": (("--job-work-max", "1000"), job_work),
    "job_keep_time": (("--job-keep-time", "1 s"), job_keep),
    "jobs_running_max": (("--jobs-running-max", "1"), jobs_running),
    "notebooks_max": (("--notebooks-max", "2"), notebooks),
    "notebook_bytes_max": (("--notebook-bytes-max", "2000"), notebook_bytes),
    "notebook_cells_max": (("--notebook-cells-max", "3"), notebook_cells),
    "notebook_source_bytes_max": (("--notebook-source-bytes-max", "20"), notebook_source),
    "name_bytes_max": ((), name_bytes),
    "variables_max": (("--variables-max", "3"), variables),
    "data_bytes_max": (("--data-bytes-max", "1 MiB"), data_bytes),
    "free_bytes_min": ((), free_bytes),
}


def documented(limits, page):
    """The page for people is made from the same rows."""
    for name, row in limits.items():
        report.check(name in page and row["doc"] in page.replace("&#39;", "'"), f"/docs does not tell of {name}")


def main():
    with Server() as server:
        limits = server.json("GET", "/v1/limits")[1]["limits"]
        documented(limits, server.request("GET", "/docs")[2].decode())
    report.check(list(limits) == list(LIMITS), f"only one has {set(limits) ^ set(LIMITS)}")
    for name in sys.argv[1:] or LIMITS:
        flags, ask = LIMITS[name]
        asking = Asking(name, *flags)
        with asking.server:
            try:
                ask(asking)
            except Exception as exception:  # a broken connection is a failure like any
                asking.check(False, repr(exception))
    return report.end()


if __name__ == "__main__":
    sys.exit(main())

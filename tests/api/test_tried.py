# SPDX-License-Identifier: Apache-2.0
"""Small evaluations are answered by the connection's thread: no worker need be free. What is
not small, or touches what is stored, waits for a worker. Runs alone."""
import http.client
import json
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from server import Report, Server  # noqa: E402

report = Report()
FOREVER = "while_loop(lambda i: i >= 0, lambda i: (i + 1) % 7, 1)"


def send(s, program, headers=None, **members):
    """A connection of its own, on which the answer will come."""
    connection = http.client.HTTPConnection("127.0.0.1", s.port, timeout=60)
    connection.request("POST", "/v1/eval", json.dumps({"program": program, **members}),
                       {"Authorization": "Bearer " + s.token, "Content-Type": "application/json", **(headers or {})})
    return connection


def ask(s, program, headers=None, **members):
    """(status, answer)"""
    connection = send(s, program, headers, **members)
    answer = connection.getresponse()
    document = json.loads(answer.read())
    connection.close()
    return answer.status, document


def running(s):
    return s.json("GET", "/v1/info")[1]["counters"]["evaluations_running"]


SMALL = [
    ("2*x+1", {"inputs": {"x": 3.5}}, 8.0),
    ("x.sum()", {"inputs": {"x": [1, 2, 3]}}, 6),
    ("while_loop(lambda i: i < 5, lambda i: i + 1, 0)", {}, 5),
    ("f = lambda x: x * x; f(3)", {}, 9),
]
LARGE = [
    ("sum(ones((1000, 1000)))", {}),
    ("while_loop(lambda i: i < 5000, lambda i: i + 1, 0)", {}),
    ("; ".join("x%d = %d" % (i, i) for i in range(2000)), {}),
    (" + ".join("x" for _ in range(100)), {"inputs": {"x": [1.5]}}),
    ("x = 1", {"store": {"kept": "x"}}),
    ("1 + 1", {"delete": ["v"]}),
    ("v + 1", {}),
    ("g(1)", {}),
    ("2 + 2", {"headers": {"Idempotency-Key": "two"}}),
]

with Server("--evaluations-max", "1", "--queue-time-max", "200ms", "--loop-iterations-max", "1000000000000") as s:
    report.check(s.eval("v = 1.5", store={"v": "v"})[0] == 200, "a variable is stored")
    report.check(s.json("PUT", "/v1/graphs/g", {"program": "x + 1", "inputs": {"x": {"dtype": "int64", "shape": []}}})[0] in (200, 201),
                 "a graph is stored")
    for program, members, value in SMALL:
        report.check(ask(s, program, **members)[1]["result"]["data"] == value, program)
    for program, members in LARGE[:4]:
        report.check(ask(s, program, **members)[0] == 200, "alone: " + program[:40])
    report.check(ask(s, "v + 1")[1]["result"]["data"] == 2.5, "a variable is read")
    report.check(ask(s, "g(1)")[1]["result"]["data"] == 2, "a graph is called")
    report.check(ask(s, "1 +")[1]["code"] == "syntax-error", "errors are the worker's")
    report.check(ask(s, "nothing + 1")[1]["code"] == "unknown-name", "unknown names are, too")

    long = send(s, FOREVER)
    end = time.monotonic() + 10
    while running(s) == 0 and time.monotonic() < end:
        time.sleep(0.01)
    for program, members, value in SMALL:
        status, answer = ask(s, program, **members)
        report.check(status == 200 and answer["result"]["data"] == value, "no worker is free: " + program)
    for program, members in LARGE:
        status, answer = ask(s, program, **members)
        report.check(answer.get("code") == "queue-timeout", "waits for a worker: %s: %s" % (program[:40], answer))
    report.check(running(s) == 1, "the long one ran all the time")
    plans = s.json("GET", "/v1/info")[1]["plans"]
    for k in range(5):
        ask(s, "x * 2 + 1", inputs={"x": [k, 2]})
    after = s.json("GET", "/v1/info")[1]["plans"]
    report.check((after["hits"] - plans["hits"], after["made"] - plans["made"]) == (4, 1), "a plan is used again")
    long.close()
    while running(s) > 0:
        time.sleep(0.01)
    report.check(ask(s, "v + 1")[1]["result"]["data"] == 2.5, "nothing was deleted")

sys.exit(report.end())

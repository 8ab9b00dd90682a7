# SPDX-License-Identifier: Apache-2.0
"""How far a job says it is: never back, and at half time about half, but for loops whose length nobody knows.

A machine that does other things as well may spoil one look, so each program has five. Runs alone."""
import json
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from server import Report, Server  # noqa: E402

# One operation that takes long, several, rows in bands, loops whose rounds are known.
PROGRAMS = ["exp(sin(broadcast_to(arange(10**4), (20000, 10**4)))).sum()", "(ones((3000, 3000)) @ ones((3000, 3000)))[0, 0]",
            "softmax(ones((10000, 20000)) * arange(20000)).sum()", "random_normal((3 * 10**7,))[0]",
            "fori_loop(0, 3000, lambda i, v: v * 0.5 + 1, zeros(10**6)).sum()",
            "scan(lambda c, x: (c + exp(x).sum(), c), 0.0, broadcast_to(arange(5000) / 5000, (40000, 5000)))[0]"]
NEAR, TRIES = 0.1, 5


def watch(server, program):
    """[(seconds since it began to run, progress)] and how long it ran."""
    job = json.loads(server.request("POST", "/v1/eval", json.dumps({"program": program}),
                                    {"Content-Type": "application/json", "Prefer": "respond-async"})[2])
    seen, begun, state = [], None, "queued"
    while state in ("queued", "running"):
        now = server.json("GET", "/v1/jobs/" + job["id"])[1]
        state = now["state"]
        if state == "running":
            begun = begun or time.monotonic()
            seen.append((time.monotonic() - begun, now["progress"]))
        time.sleep(0.005)
    return seen, time.monotonic() - (begun or time.monotonic()), now


def loops_of_unknown_length_are_counted(report, server):
    """They come closer to the end of their share without ever being there, and their rounds are told."""
    rounds = 30000
    program = ("while_loop(lambda i, v: i < %d, lambda i, v: (i + 1, v * 0.5 + 1), (0, zeros(10**4)))[1].sum()"
               " + fori_loop(0, 1000, lambda i, v: v + while_loop(lambda k: k < 3, lambda k: k + 1, 0), 0)" % rounds)
    job = server.json("POST", "/v1/eval", {"program": program}, {"Prefer": "respond-async"})[1]["id"]
    seen = []
    while not seen or seen[-1]["state"] in ("queued", "running"):
        seen.append(server.json("GET", "/v1/jobs/" + job)[1])
        time.sleep(0.01)
    report.check(seen[-1]["state"] == "done" and seen[-1]["progress"] == 1, f"{seen[-1]}")
    report.check(seen[-1]["iterations"] >= rounds, f"{seen[-1]}")
    for one in seen[:-1]:
        report.check(one["iterations"] >= rounds or one["progress"] < 0.99, f"further than it can know: {one}")
    numbers = [(one["iterations"], one["progress"]) for one in seen]
    report.check(numbers == sorted(numbers) and len(set(numbers)) > 4, f"{numbers}")
    server.stop()
    server.start()
    report.check(server.json("GET", "/v1/jobs/" + job)[1]["iterations"] == seen[-1]["iterations"], "after a restart")


def main():
    report = Report()
    halves = []
    with Server() as server:
        loops_of_unknown_length_are_counted(report, server)
        for program in PROGRAMS:
            for _ in range(TRIES):
                seen, took, end = watch(server, program)
                report.check(end["state"] == "done" and end["progress"] == 1, f"{program}: {end}")
                report.check(all(a[1] <= b[1] for a, b in zip(seen, seen[1:])), f"{program} went back")
                half = min(seen, key=lambda s: abs(s[0] - took / 2))[1] if seen else 0
                if abs(half - 0.5) <= NEAR:
                    break
            halves.append(half)
            report.check(abs(half - 0.5) <= NEAR, f"{program}: {half} at half of {took:.2f} s")
    print("note: at half time %s were done" % ", ".join("%.2f" % h for h in halves))
    return report.end()


sys.exit(main())

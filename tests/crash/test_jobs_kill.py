#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""SIGKILL while jobs come and run: each that was accepted is done, and done once.

Each job adds one to a stored number, and stores an array of it; clients submit them until
the server is killed. At the end the number is that of the jobs: those that were accepted,
and perhaps some whose answer was never seen.

    test_jobs_kill.py [SEED]
"""
import http.client
import json
import os
import random
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from server import Report, Server  # noqa: E402

SEED = int(sys.argv[1]) if len(sys.argv) > 1 else int(time.time()) % 1000000
ROUNDS, CLIENTS = 8, 2
PROGRAM = "n = n + 1\nbig = zeros(20000) + n\nn"


class Client(threading.Thread):
    """Submits jobs until the server is gone."""

    def __init__(self, server):
        super().__init__()
        self.server, self.sent, self.accepted = server, 0, []

    def run(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)
        body = json.dumps({"program": PROGRAM, "store": ["n", "big"]})
        try:
            while True:
                self.sent += 1
                connection.request("POST", "/v1/eval", body, {
                    "Authorization": "Bearer " + self.server.token, "Content-Type": "application/json",
                    "Prefer": "respond-async"})
                answer = connection.getresponse()
                data = json.loads(answer.read())
                if answer.status != 202:
                    raise RuntimeError(data)
                self.accepted.append(data["id"])
        except (OSError, http.client.HTTPException):
            pass


def wait_for_all(server, report, turn):
    """Waits until no job is left to do; returns the states of all by their ids."""
    for _ in range(3000):
        jobs, cursor = [], None
        while True:
            page = server.json("GET", "/v1/jobs?limit=1000" + ("&cursor=" + cursor if cursor else ""))[1]
            jobs += page["jobs"]
            cursor = page["cursor"]
            if cursor is None:
                break
        if all(j["state"] not in ("queued", "running") for j in jobs):
            return {j["id"]: j for j in jobs}
        time.sleep(0.02)
    report.check(False, "turn %d: jobs are not done" % turn)
    return {}


def main():
    print("note: seed", SEED)
    random.seed(SEED)
    report = Report()
    accepted, sent = set(), 0
    with Server("--jobs-running-max", "1", "--jobs-max", "100000") as server:
        server.json("PUT", "/v1/variables/n", 0)
        for turn in range(ROUNDS):
            clients = [Client(server) for _ in range(CLIENTS)]
            for c in clients:
                c.start()
            time.sleep(random.uniform(0.02, 0.5))
            server.kill()
            for c in clients:
                c.join()
                accepted.update(c.accepted)
                sent += c.sent
            server.start()
            if turn % 3 == 2:
                server.kill()  # once more, while it catches up
                server.start()
            jobs = wait_for_all(server, report, turn)
            states = {jobs[j]["state"] if j in jobs else "lost" for j in accepted}
            report.check(states <= {"done"}, "turn %d: accepted jobs are %s" % (turn, states))
            n = server.eval("n, big[0], big[-1]")[1]["result"]
            n = [t["data"] for t in n]
            report.check(n[0] == len(jobs) and n[0] == n[1] == n[2] and len(accepted) <= n[0] <= sent,
                         "turn %d: %s of %d jobs, %d accepted, %d sent" % (turn, n, len(jobs), len(accepted), sent))
            results = sorted(json.loads(server.request("GET", "/v1/jobs/%s/result" % j)[2])["result"]["data"]
                             for j in jobs)
            report.check(results == list(range(1, len(jobs) + 1)), "turn %d: some results came twice" % turn)
        report.check(len(accepted) > ROUNDS, "only %d jobs were accepted" % len(accepted))
    print("note: %d kills, %d jobs accepted" % (ROUNDS + ROUNDS // 3, len(accepted)))
    return report.end()


sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
"""SIGKILL in the middle of writes over HTTP: what was answered is there, nothing is torn.

Clients store pairs of variables in one evaluation each, a small one and a large one that
is a file, both of the same number; the server is killed at a random moment; after the
restart each pair must be whole, and at least as new as the last answer.

    test_http_kill.py [SEED]
"""
import http.client
import io
import json
import os
import random
import sys
import threading
import time

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from server import Report, Server  # noqa: E402

SEED = int(sys.argv[1]) if __name__ == "__main__" and len(sys.argv) > 1 else int(time.time()) % 1000000
ROUNDS, CLIENTS = 25, 3


class Client(threading.Thread):
    """Stores pairs until the server is gone."""

    def __init__(self, server, name, first):
        super().__init__()
        self.server, self.name, self.sent, self.answered = server, name, first, None

    def run(self):
        program = "%s_small = [k, k + 1]\n%s_large = zeros(20000) + k" % (self.name, self.name)
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)
        try:
            while True:
                self.sent += 1
                body = json.dumps({"program": program, "inputs": {"k": self.sent}, "store": "all"})
                connection.request("POST", "/v1/eval", body, {
                    "Authorization": "Bearer " + self.server.token, "Content-Type": "application/json"})
                answer = connection.getresponse()
                data = answer.read()
                if answer.status != 200:
                    raise RuntimeError(data)
                self.answered = self.sent
        except (OSError, http.client.HTTPException):
            pass


class Counter(threading.Thread):
    """Adds one, again and again, each time with a key of its own; the last request, whose answer
    the kill took, is sent once more afterwards."""

    def __init__(self, server):
        super().__init__()
        self.server, self.keys = server, 0

    def add(self, connection):
        connection.request("POST", "/v1/eval", '{"program": "count = count + 1\\ncount", "store": ["count"]}', {
            "Authorization": "Bearer " + self.server.token, "Content-Type": "application/json",
            "Idempotency-Key": "add %d" % self.keys})
        answer = connection.getresponse()
        return answer.status, answer.read()

    def run(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)
        try:
            while True:
                self.keys += 1
                status, data = self.add(connection)
                if status != 200:
                    raise RuntimeError(data)
        except (OSError, http.client.HTTPException):
            pass

    def again(self, report):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)
        for _ in range(2):
            status, data = self.add(connection)
            report.check(status == 200, "key %d again: %d %s" % (self.keys, status, data))
        found = self.server.eval("count")[1]["result"]["data"]
        report.check(found == self.keys, "%d keys have added %d" % (self.keys, found))


def stored(server, name):
    status, _, data = server.request("GET", "/v1/variables/%s?format=npy" % name)
    return np.load(io.BytesIO(data)) if status == 200 else None


def run(report, turns, server, end=Server.kill):
    """Lets clients write and end(server) end it, for each of the turns; how many, and how many writes were answered."""
    last, acknowledged, turn = {}, 0, 0
    server.json("PUT", "/v1/variables/count", 0)
    counter = Counter(server)
    for turn in turns:
        clients = [Client(server, "c%d" % i, turn * 100000) for i in range(CLIENTS)]
        keys = counter.keys
        counter = Counter(server)
        counter.keys = keys
        for c in clients + [counter]:
            c.start()
        time.sleep(random.uniform(0.02, 0.4))
        end(server)
        for c in clients + [counter]:
            c.join()
        server.start()
        counter.again(report)
        for c in clients:
            if c.answered is not None:
                last[c.name] = c.answered
                acknowledged += c.answered - turn * 100000
            small, large = stored(server, c.name + "_small"), stored(server, c.name + "_large")
            if small is None and large is None:
                report.check(c.name not in last, "turn %d: %s is lost" % (turn, c.name))
                continue
            whole = small is not None and large is not None and large.shape == (20000,) and \
                bool(np.all(large == small[0])) and small[1] == small[0] + 1
            report.check(whole, "turn %d: %s is torn" % (turn, c.name))
            report.check(whole and last.get(c.name, 0) <= small[0] <= max(c.sent, last.get(c.name, 0)),
                         "turn %d: %s is %s, answered %s, sent %s" % (
                             turn, c.name, small, last.get(c.name), c.sent))
    return turn + 1, acknowledged


def main():
    print("note: seed", SEED)
    random.seed(SEED)
    report = Report()
    with Server() as server:
        kills, acknowledged = run(report, range(ROUNDS), server)
    report.check(acknowledged > kills, "only %d writes were answered" % acknowledged)
    print("note: %d kills, %d answered writes" % (kills, acknowledged))
    return report.end()


if __name__ == "__main__":
    sys.exit(main())

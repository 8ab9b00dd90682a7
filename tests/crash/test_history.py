#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What clients saw is what one after the other would have given, kills included.

Clients read, store and change names, several at once; the server is killed now and then, and what was
not answered is sent again with its Idempotency-Key. Every answer tells its commit or its snapshot; so
the history is put in that order and gone through beside a model: each read must be the model's state
at its snapshot, each change that of the state just before its commit, and what began after another had
been answered must not come before it.

    test_history.py [SEED]      HISTORY_SECONDS=20 is how long"""
import bisect
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
SECONDS = float(os.environ.get("HISTORY_SECONDS", "20"))
CLIENTS, NAMES = 8, ["n%d" % i for i in range(10)]


class Operation:
    """A request and what came of it: reads at a snapshot, or writes at a commit."""

    def __init__(self, method, path, body, names):
        self.method, self.path, self.body, self.names = method, path, json.dumps(body), names
        self.key = "%032x" % random.getrandbits(128)
        self.start, self.end, self.answer = time.monotonic(), None, None


ISOLATION = ["serializable"]


def draw(unique):
    """Any operation: a read of some names, a value for one, a change of two that reads both, a swap,
    a change of one that reads another."""
    kind, a, b = random.random(), *random.sample(NAMES, 2)
    if kind < 0.4:
        names = random.sample(NAMES, 4)
        return Operation("POST", "/v1/eval", {"program": ", ".join(names)}, names)
    if kind < 0.6:
        return Operation("PUT", "/v1/variables/" + a, unique, [a])
    programs = {0.78: f"{a} = {a} + 1\n{b} = {b} - 1", 0.88: f"t = {a}\n{a} = {b} + 0\n{b} = t + 0", 1: f"{a} = {b} + 2"}
    most = next(k for k in programs if kind < k)
    return Operation("POST", "/v1/eval", {"program": programs[most] + f"\n{a}, {b}", "store": [a, b] if most < 1 else [a],
                                          "isolation": ISOLATION[0]}, [a, b])


class Client(threading.Thread):
    def __init__(self, world, number):
        super().__init__()
        self.world, self.number, self.count, self.done = world, number, 0, []

    def send(self, operation):
        """Until there is an answer, whatever happens to the server."""
        while True:
            port, token = self.world.address
            try:
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
                self.talk(connection, operation, token)
                return connection
            except (OSError, http.client.HTTPException):
                time.sleep(0.02)

    @staticmethod
    def talk(connection, operation, token):
        connection.request(operation.method, operation.path, operation.body, {
            "Authorization": "Bearer " + token, "Content-Type": "application/json", "Idempotency-Key": operation.key})
        answer = connection.getresponse()
        data = json.loads(answer.read())
        operation.end, operation.answer = time.monotonic(), data
        operation.status, operation.commit = answer.status, answer.headers.get("Tensord-Commit")
        operation.commit = int(operation.commit or data.get("commit") or 0)

    def run(self):
        connection = None
        while not self.world.over:
            self.count += 1
            operation = draw(self.number * 10 ** 9 + self.count * 1000)
            try:
                if connection is None:
                    raise OSError
                self.talk(connection, operation, self.world.address[1])
            except (OSError, http.client.HTTPException):
                connection = self.send(operation)
            self.done.append(operation)


class World:
    over, address = False, None


def run(server, seconds):
    world = World()
    world.address = server.port, server.token
    clients = [Client(world, i + 1) for i in range(CLIENTS)]
    for c in clients:
        c.start()
    kills, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(random.uniform(0.3, 2.5))
        server.kill()
        server.start()
        world.address = server.port, server.token
        kills += 1
    world.over = True
    for c in clients:
        c.join()
    return kills, [o for c in clients for o in c.done]


def values(operation):
    return [t["data"] for t in operation.answer["result"]]


def apply(operation, state):
    """What the operation makes of the names it writes, from the state before it."""
    body, names = json.loads(operation.body), operation.names
    if operation.method == "PUT":
        return {names[0]: body}
    a, b = (state[n] for n in names)
    if len(body["store"]) == 1:
        return {names[0]: b + 2, names[1]: b}
    return {names[0]: a + 1, names[1]: b - 1} if "+ 1" in body["program"] else {names[0]: b, names[1]: a}


def check(history, first, report):
    changes = sorted((o for o in history if o.commit and o.status < 300), key=lambda o: o.commit)
    commits = [first] + [o.commit for o in changes]
    report.check(len(set(commits)) == len(commits), "a number of a commit came twice")
    state, states = {n: 0 for n in NAMES}, []
    states.append(dict(state))
    for o in changes:
        written = apply(o, state)
        state.update(written)
        states.append(dict(state))
        if "result" in o.answer:  # a repetition may be told the commit alone
            report.check(values(o) == [written[n] for n in o.names],
                         f"commit {o.commit}: {values(o)} instead of {written}")
    reads = [o for o in history if not o.commit and o.status < 300]
    for o in reads:
        then = states[bisect.bisect_right(commits, o.answer["snapshot"]) - 1]
        report.check(values(o) == [then[n] for n in o.names],
                     f"snapshot {o.answer['snapshot']}: {values(o)} instead of {[then[n] for n in o.names]}")
    return len(changes), len(reads), state


def check_time(history, report):
    """No operation is ordered before one that had been answered when it began."""
    place = lambda o: o.commit or o.answer["snapshot"]
    ended, latest, i = sorted((o for o in history if o.status < 300), key=lambda o: o.end), -1, 0
    for o in sorted((o for o in history if o.status < 300), key=lambda o: o.start):
        while i < len(ended) and ended[i].end < o.start:
            latest, i = max(latest, place(ended[i])), i + 1
        report.check(place(o) >= latest + bool(o.commit), f"{o.path} at {place(o)} began after {latest} was answered")


def weaker_isolation_is_found(report):
    """The check can fail: changes that rest on what others change are no history of one after the other."""
    ISOLATION[0], faults = "snapshot", Report()
    faults.check = lambda ok, what: setattr(faults, "failed", faults.failed + (not ok))
    with Server() as server:
        first = server.eval("\n".join(n + " = 0" for n in NAMES), store="all")[1]["commit"]
        check(run(server, 3)[1], first, faults)
    report.check(faults.failed > 0, "changes that rest on what is gone are not found")


def main():
    print("note: seed", SEED)
    random.seed(SEED)
    report = Report()
    with Server() as server:
        first = server.eval("\n".join(n + " = 0" for n in NAMES), store="all")[1]["commit"]
        kills, history = run(server, SECONDS)
        odd = [o for o in history if o.status >= 300 and o.status not in (409, 503)]
        report.check(not odd, f"{len(odd)} odd answers, such as {odd and odd[0].answer}")
        changes, reads, state = check(history, first, report)
        check_time(history, report)
        now = [t["data"] for t in server.eval(", ".join(NAMES))[1]["result"]]
        report.check(now == [state[n] for n in NAMES], f"at the end: {now} instead of {state}")
    weaker_isolation_is_found(report)
    report.check(changes > 20 * SECONDS and kills > SECONDS / 5, f"{changes} changes, {kills} kills")
    print(f"note: {changes} changes, {reads} reads, {len(history) - changes - reads} refused, {kills} kills")
    return report.end()


sys.exit(main())

#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Idempotency-Key: what is sent again is done once, and answered as at first."""
import json
import os
import sys
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))
from server import Report, Server  # noqa: E402

JSON = {"Content-Type": "application/json"}
ADD = {"program": "n = n + 1\nn", "store": ["n"]}


def send(server, key, document=None, method="POST", path="/v1/eval", **headers):
    body = None if document is None else json.dumps(document)
    status, answer, data = server.request(method, path, body, {**JSON, "Idempotency-Key": key, **headers})
    return status, answer, data


def number(server):
    return server.eval("n")[1]["result"]["data"]


def told_apart(first, again):
    """Whether the second answer is the first one, and says so."""
    names = ("ETag", "Tensord-Commit", "Tensord-Snapshot", "Location", "Content-Type")
    return first[0] == again[0] and first[2] == again[2] and "Idempotent-Replayed" not in first[1] and \
        again[1]["Idempotent-Replayed"] == "true" and all(first[1][n] == again[1][n] for n in names)


def every_unsafe_method_is_done_once(report):
    with Server() as server:
        requests = [
            ("PUT", "/v1/variables/n", 0, {}),
            ("POST", "/v1/eval", ADD, {}),
            ("POST", "/v1/eval?format=npy", {"program": "n * 1.5"}, {}),
            ("PUT", "/v1/variables/n/attributes", {"unit": "m"}, {}),
            ("PUT", "/v1/graphs/g", {"program": "x + 1", "inputs": {"x": "dscalar"}}, {}),
            ("POST", "/v1/graphs/g/run", {"feeds": {"x": 1.0}}, {}),
            ("POST", "/v1/eval", ADD, {"Prefer": "respond-async"}),
            ("DELETE", "/v1/graphs/g", None, {}),
            ("DELETE", "/v1/variables/n", None, {}),
        ]
        for i, (method, path, document, headers) in enumerate(requests):
            first = send(server, "k%d" % i, document, method, path, **headers)
            report.check(first[0] in (200, 201, 202, 204), f"{method} {path}: {first[0]} {first[2]}")
            again = send(server, "k%d" % i, document, method, path, **headers)
            report.check(told_apart(first, again), f"{method} {path}: {again[0]} {again[2]} {again[1]}")
        report.check(len(server.json("GET", "/v1/jobs")[1]["jobs"]) == 1, "two jobs")


def keys_survive_restarts(report):
    with Server() as server:
        send(server, "put", 0, "PUT", "/v1/variables/n")
        first = send(server, "a", ADD)
        for end in (server.stop, server.kill):
            end()
            server.start()
            report.check(told_apart(first, send(server, "a", ADD)), "after " + end.__name__)
            report.check(number(server) == 1, "it was done again")


def another_request_is_refused(report):
    with Server() as server:
        send(server, "put", 0, "PUT", "/v1/variables/n")
        send(server, "a", ADD)
        for document, path, headers in (({**ADD, "seed": 1}, "/v1/eval", {}), (ADD, "/v1/eval?format=npy", {}),
                                        (ADD, "/v1/eval", {"Prefer": "respond-async"})):
            status, _, data = send(server, "a", document, path=path, **headers)
            report.check(status == 409 and json.loads(data)["code"] == "idempotency-key-reused", f"{status} {data}")
        status, _, data = send(server, "x" * 256, ADD)
        report.check(status == 400, f"a long key: {status} {data}")
        report.check(number(server) == 1, "something was done")


def what_failed_is_tried_again(report):
    with Server() as server:
        status, _, _ = send(server, "a", ADD)
        report.check(status == 422, f"{status}")
        server.json("PUT", "/v1/variables/n", 5)
        status, headers, data = send(server, "a", ADD)
        report.check(status == 200 and "Idempotent-Replayed" not in headers, f"{status} {data}")
        report.check(number(server) == 6, "the second try")


def long_answers_are_told_by_their_commit(report):
    with Server() as server:
        document = {"program": "y = arange(100000)\ny", "store": ["y"]}
        status, headers, _ = send(server, "a", document)
        again = send(server, "a", document)
        answer = json.loads(again[2])
        report.check(again[0] == 200 and answer == {"commit": int(headers["Tensord-Commit"]), "replayed": True},
                     f"{again[0]} {again[2]}")
        report.check(json.loads(server.request("GET", "/v1/variables/y/meta")[2])["version"] == 1, "done again")


def one_at_a_time(report):
    with Server() as server:
        slow = {"program": "n = sum(fori_loop(0, 200000, lambda i, v: v + 1.0, zeros(100)))", "store": ["n"]}
        answers = []

        def one():
            import http.client
            c = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
            c.request("POST", "/v1/eval", json.dumps(slow), {
                **JSON, "Authorization": "Bearer " + server.token, "Idempotency-Key": "a"})
            r = c.getresponse()
            answers.append((r.status, r.read()))

        threads = [threading.Thread(target=one) for _ in range(2)]
        threads[0].start()
        time.sleep(0.1)
        threads[1].start()
        for t in threads:
            t.join()
        codes = sorted(status for status, _ in answers)
        busy = [json.loads(data) for status, data in answers if status == 409]
        report.check(codes == [200, 409] and busy[0]["code"] == "idempotency-key-busy" and busy[0]["retryable"],
                     f"{answers}")
        report.check(send(server, "a", slow)[1]["Idempotent-Replayed"] == "true", "afterwards")


def keys_expire_and_are_limited(report):
    with Server("--idempotency-keep-time", "2 s", "--idempotency-keys-max", "3") as server:
        server.json("PUT", "/v1/variables/n", 0)
        for i in range(3):
            report.check(send(server, "k%d" % i, ADD)[0] == 200, "below the limit")
        status, _, data = send(server, "k3", ADD)
        report.check(status == 429 and json.loads(data)["code"] == "idempotency-key-quota", f"{status} {data}")
        time.sleep(2.2)
        server.stop()
        server.start()
        report.check(send(server, "k0", ADD)[0] == 200 and number(server) == 4, "after its time a key is new")
        report.check(send(server, "k0", ADD)[1]["Idempotent-Replayed"] == "true", "and kept anew")
        report.check(send(server, "k3", ADD)[0] == 200, "the old ones do not count")


def main():
    report = Report()
    for test in (every_unsafe_method_is_done_once, keys_survive_restarts, another_request_is_refused,
                 what_failed_is_tried_again, long_answers_are_told_by_their_commit, one_at_a_time,
                 keys_expire_and_are_limited):
        test(report)
    return report.end()


sys.exit(main())

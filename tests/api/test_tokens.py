#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tokens for others: what each scope may do, beside a running server."""
import json
import os
import re
import stat
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))
from server import TENSORD, Report, Server  # noqa: E402

JSON = {"Content-Type": "application/json"}


def tensord(server, *words):
    p = subprocess.run([TENSORD, "token", *words, "--data", server.data], capture_output=True, text=True, timeout=60)
    return p.returncode, p.stdout.strip(), p.stderr


def ask(server, token, method, path, document=None, **headers):
    body = None if document is None else json.dumps(document)
    status, _, data = server.request(method, path, body, {**JSON, "Authorization": "Bearer " + token, **headers})
    return status, json.loads(data) if data[:1] == b"{" else data


def matrix(report, server):
    """Every route with a scope, tried with a token of each scope."""
    requests = {
        "read": [("GET", "/v1/variables/x", None), ("GET", "/v1/variables", None), ("GET", "/v1/info", None),
                 ("GET", "/metrics", None), ("GET", "/v1/jobs", None), ("GET", "/v1/graphs/g", None),
                 ("GET", "/v1/variables/x/preview", None), ("GET", "/v1/variables?names=x", None)],
        "eval": [("POST", "/v1/eval", {"program": "x + 1"}), ("POST", "/v1/graphs/g/run", {"feeds": {"a": 1}})],
        "write": [("PUT", "/v1/variables/x", 1), ("PUT", "/v1/variables", {"y": 1}), ("PATCH", "/v1/variables/v?slice=0", 2),
                  ("POST", "/v1/variables/v/append", [1]), ("PUT", "/v1/variables/x/attributes", {}),
                  ("PUT", "/v1/graphs/g", {"program": "a + 1", "inputs": {"a": "lscalar"}}), ("DELETE", "/v1/variables/y", None)],
        "admin": [("POST", "/v1/variables/z/attach", {"path": "/nowhere"})],
    }
    for scope in requests:
        code, token, errors = tensord(server, "create", "only-" + scope, scope)
        report.check(code == 0 and re.fullmatch("[0-9a-f]{64}", token), f"{scope}: {code} {token} {errors}")
        for needed, list_of in requests.items():
            for method, path, document in list_of:
                status, answer = ask(server, token, method, path, document)
                allowed = status != 403 or "attach-root" in str(answer)
                report.check(allowed == (needed == scope), f"{scope}: {method} {path}: {status} {answer}")
                report.check(allowed or answer["code"] == "forbidden", f"{scope}: {method} {path}: {answer}")


def evaluations_store_with_write_alone(report, server):
    token, both = tensord(server, "create", "e", "eval")[1], tensord(server, "create", "ew", "eval,write")[1]
    for document in ({"program": "k = 1", "store": ["k"]}, {"program": "k = 1", "store": "all"}, {"program": "1", "delete": ["x"]}):
        status, answer = ask(server, token, "POST", "/v1/eval", document)
        report.check(status == 403 and "write" in answer["detail"], f"{document}: {status} {answer}")
        job = ask(server, token, "POST", "/v1/eval", document, Prefer="respond-async")[1]["id"]
        for _ in range(100):
            state = server.json("GET", "/v1/jobs/" + job)[1]
            if state["state"] in ("done", "failed"):
                break
            time.sleep(0.02)
        report.check(state["state"] == "failed" and state["problem"]["code"] == "forbidden", f"{state}")
    report.check(ask(server, token, "POST", "/v1/graphs/g/run", {"feeds": {"a": 1}, "store": {"k": "a"}})[0] == 403, "run")
    report.check(ask(server, both, "POST", "/v1/eval", {"program": "k = 1", "store": ["k"]})[0] == 200, "with write")


def tokens_come_and_go(report, server):
    code, token, _ = tensord(server, "create", "guest", "read", "30")
    report.check(ask(server, token, "GET", "/v1/info")[0] == 200, "at once")
    code, listed, _ = tensord(server, "list")
    report.check("guest" in listed and "expires" in listed and token not in listed, listed)
    path = os.path.join(server.data, "tokens")
    report.check(stat.S_IMODE(os.stat(path).st_mode) == 0o600 and token not in open(path).read(), "the file")
    report.check(tensord(server, "create", "guest")[0] == 1, "a name twice")
    report.check(tensord(server, "create", "other", "read,all")[0] == 1, "an unknown scope")
    report.check(tensord(server, "create", "a b")[0] == 1 and tensord(server, "revoke", "nobody")[0] == 1, "names")
    server.stop()
    server.start()
    report.check(ask(server, token, "GET", "/v1/info")[0] == 200, "after a restart")
    report.check(tensord(server, "revoke", "guest")[0] == 0, "revoke")
    status, answer = ask(server, token, "GET", "/v1/info")
    report.check(status == 401 and answer["code"] == "unauthorized", f"revoked: {status}")
    token = tensord(server, "create", "late", "read", "1")[1]
    lines = open(path).read().splitlines()
    with open(path + ".new", "w") as f:
        f.write("\n".join(re.sub(r" (\d{10,}) ", " 1000000 ", line) if line.endswith(" late") else line for line in lines) + "\n")
    os.rename(path + ".new", path)
    report.check(ask(server, token, "GET", "/v1/info")[0] == 401, "expired")
    report.check(ask(server, server.token, "GET", "/v1/info")[0] == 200, "the local token")
    with open(path, "a") as f:
        f.write("nonsense\n")
    report.check(ask(server, server.token, "GET", "/v1/info")[0] == 200, "the local token, with a broken file")
    os.remove(path)


def each_token_has_keys_of_its_own(report, server):
    one, two = (tensord(server, "create", n, "eval,write")[1] for n in ("one", "two"))
    server.json("PUT", "/v1/variables/n", 0)
    for token in (one, two, one):
        ask(server, token, "POST", "/v1/eval", {"program": "n = n + 1", "store": ["n"]}, **{"Idempotency-Key": "k"})
    report.check(server.eval("n")[1]["result"]["data"] == 2, f"{server.eval('n')}")


def main():
    report = Report()
    with Server() as server:
        server.eval("x = 1\nv = [1, 2]", store="all")
        server.json("PUT", "/v1/graphs/g", {"program": "a + 1", "inputs": {"a": "lscalar"}})
        for test in (matrix, evaluations_store_with_write_alone, tokens_come_and_go, each_token_has_keys_of_its_own):
            test(report, server)
    return report.end()


sys.exit(main())

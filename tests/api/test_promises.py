# SPDX-License-Identifier: Apache-2.0
"""What an answer to a write tells, and what isolation keeps apart."""
import http.client
import json
import os
import subprocess
import sys
import tempfile
import threading

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from server import TENSORD, Report, Server  # noqa: E402

JSON = {"Content-Type": "application/json"}
WRITES = [("PUT", "/v1/variables/a", [1.0, 2.0]), ("PATCH", "/v1/variables/a?slice=0", 5.0), ("POST", "/v1/variables/a/append", [3.0]),
          ("PUT", "/v1/variables/a/attributes", {"unit": "m"}), ("PUT", "/v1/variables", {"b": [1]}),
          ("PUT", "/v1/graphs/g", {"program": "x + 1", "inputs": {"x": "dvector"}}), ("PUT", "/v1/notebooks/n", {"cells": []}),
          ("POST", "/v1/eval", {"program": "c = 1", "store": ["c"]}), ("DELETE", "/v1/variables/a", None), ("DELETE", "/v1/graphs/g", None)]


def check_told(report, server):
    for level in ("disk", "process", None):
        for method, path, document in WRITES:
            if path == "/v1/eval":
                document = dict(document, **({"durability": level} if level else {}))
            elif level:
                path += ("&" if "?" in path else "?") + "durability=" + level
            status, headers, data = server.request(method, path, None if document is None else json.dumps(document), JSON)
            where = f"{method} {path}: {status} {data[:200]}"
            report.check(status in (200, 201, 204), where)
            report.check(headers.get("Tensord-Durability") == (level or "disk"), f"durability: {where} {headers}")
            report.check(int(headers["Tensord-Commit"]) > int(headers["Tensord-Snapshot"]) >= 0, f"commit, snapshot: {where}")
    answer = server.eval("c = 2", store=["c"], durability="process")[1]
    report.check(answer["durability"] == "process" and answer["commit"] == answer["snapshot"] + 1, f"{answer}")


def count_up(server, isolation, answers):
    """Adds one, ten times, on a connection of its own."""
    c = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    for _ in range(10):
        c.request("POST", "/v1/eval", json.dumps({"program": "n = n + 1", "store": ["n"], "isolation": isolation}),
                  {**JSON, "Authorization": "Bearer " + server.token})
        answer = c.getresponse()
        answer.read()
        answers.append(answer.status)


def check_isolation(report, server):
    for isolation in ("serializable", "snapshot"):
        server.json("PUT", "/v1/variables/n", 0)
        answers = []
        threads = [threading.Thread(target=count_up, args=(server, isolation, answers)) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        n = server.json("GET", "/v1/variables/n")[1]["data"]
        report.check(set(answers) <= {200, 409} and answers.count(200) == n, f"{isolation}: {n} after {answers.count(200)} of {len(answers)}")


def check_small(report, server):
    server.json("PUT", "/v1/variables/p", [1.0, 2.0])
    status, answer = server.json("PATCH", "/v1/variables/p", 0)
    report.check(status == 400 and "slice" in answer["detail"], f"a part must be said: {answer}")
    report.check(server.json("GET", "/v1/variables/p")[1]["data"] == [1.0, 2.0], "nothing was written")
    report.check(server.json("PATCH", "/v1/variables/p?slice=...", 0)[0] == 200, "all of it")
    path = os.path.join(server.root, "f.npy")
    np.save(path, np.arange(4.0))
    status, headers, _ = server.request("POST", "/v1/variables/at/attach", json.dumps({"path": path}), JSON)
    report.check(status == 201 and headers["Location"] == "/v1/variables/at", f"{status} {headers}")


def command(*words):
    return subprocess.run([TENSORD, *words], capture_output=True, text=True, timeout=60)


def check_commands(report, server):
    server.stop()
    done = command("check", "--data", server.data)
    report.check(done.returncode == 0, f"what is attached is checked too: {done.stdout} {done.stderr}")
    with open(os.path.join(server.root, "f.npy"), "ab") as f:
        f.write(b"more")
    done = command("check", "--data", server.data)
    report.check(done.returncode == 1 and "at" in done.stdout + done.stderr, f"a changed one is told: {done.stdout} {done.stderr}")
    done = command("token", "list", "--data", "/nonexistent/place")
    report.check(done.returncode != 0 and "/nonexistent/place" in done.stderr, f"{done}")
    done = command("serve", "--listen", "unix:", "--data", server.data)
    report.check(done.returncode == 2 and "path of a socket" in done.stderr, f"{done}")
    done = command("sevre")
    report.check(done.returncode == 2 and "neither a command nor a flag" in done.stderr, f"{done}")
    server.start()


def main():
    report = Report()
    with tempfile.TemporaryDirectory() as root, Server("--attach-root", root) as server:
        server.root = root
        check_told(report, server)
        check_isolation(report, server)
        check_small(report, server)
        check_commands(report, server)
    return report.end()


sys.exit(main())

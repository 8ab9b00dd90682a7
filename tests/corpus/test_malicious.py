#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Requests that mean harm, all of tests/corpus/malicious against one server.

Each has one status and one code. The answer must be a well-formed problem that tells nothing of
the server's inside, must come in time, and must not have cost more memory than it says; after
each group the server computes as before. Arguments: the groups to run, all by default."""
import collections
import json
import os
import re
import shutil
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "lib"))
import corpus  # noqa: E402
import forms  # noqa: E402
from server import TENSORD, Report, Server  # noqa: E402

SANITIZED = "-san" in TENSORD
SLOWER = 20 if SANITIZED else 1
ITERATIONS = 10000  # of a loop: so many end in time under the sanitizers too
MOST_MS = 5000  # of a case that says nothing else
RISE_MAX = 384 << 20  # bytes that memory may have risen by at its highest, over a group: half more
# than reading one JSON body may take
# Only a fault speaks of these: paths, addresses, lines of source files.
INSIDE = re.compile(r"(?<![\w.])/(?:root|home|tmp|usr|var|proc|sys|etc|work)/|\b0x[0-9a-f]{7,}|\w\.(?:c|h|cc|def):\d")


def memory(process, what):
    """VmRSS or VmHWM of the server, in bytes."""
    with open(f"/proc/{process.pid}/status", encoding="ascii") as status:
        return int(re.search(what + r":\s+(\d+) kB", status.read()).group(1)) << 10


def reset_peak(process):
    with open(f"/proc/{process.pid}/clear_refs", "w", encoding="ascii") as file:
        file.write("5")


class Roots:
    """An allowed directory and one beside it, with files that should not be attached."""

    def __init__(self):
        self.top = tempfile.mkdtemp(prefix="tensord-corpus-")
        self.root, self.out = os.path.join(self.top, "root"), os.path.join(self.top, "root-but-not")
        for path in (self.root, self.out):
            os.makedirs(os.path.join(path, "sub"))
            with open(os.path.join(path, "a.bin"), "wb") as file:
                file.write(bytes(64))
        inside = os.path.join(self.root, "a.bin")
        with open(os.path.join(self.root, "bools.bin"), "wb") as file:
            file.write(bytes([0, 1]) * 10000 + bytes([2, 255]))
        os.symlink(os.path.join(self.out, "a.bin"), os.path.join(self.root, "link-out"))
        os.symlink(inside, os.path.join(self.root, "link-in"))
        os.symlink(self.out, os.path.join(self.root, "folder-out"))
        os.symlink("loop", os.path.join(self.root, "loop"))
        shutil.copy(inside, os.path.join(self.root, "one"))
        os.link(os.path.join(self.root, "one"), os.path.join(self.root, "two"))
        os.mkfifo(os.path.join(self.root, "fifo"))
        os.close(os.open(os.path.join(self.root, "empty.npy"), os.O_CREAT | os.O_WRONLY))
        with open(os.path.join(self.root, "text.npy"), "w", encoding="ascii") as file:
            file.write("this is no array\n" * 10)

    def fill(self, data):
        return data and data.replace(b"@ROOT", self.root.encode()).replace(b"@OUT", self.out.encode())


def fault_of(case, answer, sent, kept):
    """What is wrong with an answer; None if nothing is. kept: the data directory, where a 401 says
    that the token is."""
    status, headers, data = answer
    text = data.decode("utf-8", "replace")
    if case.code is None:
        return None if status == case.status else f"{status}, not {case.status}: {text[:200]}"
    if headers.get("Content-Type") != "application/problem+json":
        return f"{status}, {headers.get('Content-Type')}: {text[:200]}"
    problem = json.loads(data)
    if (status, problem["code"]) != (case.status, case.code):
        return f"{status} {problem['code']} ({problem['detail'][:200]}), not {case.status} {case.code}"
    for member, kind in (("type", str), ("title", str), ("status", int), ("detail", str), ("code", str),
                         ("request_id", str), ("retryable", bool)):
        if not isinstance(problem.get(member), kind):
            return f"the member {member} is {problem.get(member)!r}"
    if problem["status"] != status or problem["type"] != "/problems/" + problem["code"]:
        return f"status or type do not agree: {problem}"
    inside = INSIDE.search(text.replace(kept, ""))
    return f"tells of the inside: {text[:300]}" if inside and inside.group() not in sent else None


def still_well(server):
    status, answer = server.eval("[1, 2] + 1")
    return status == 200 and answer["result"]["data"] == [2, 3] and server.request("GET", "/healthz")[0] == 200


def run_case(server, roots, case):
    """What went wrong; None if nothing did."""
    method, target, headers, data = case.request()
    data = roots.fill(data)
    start = time.monotonic()
    answer = server.request(method, target, data, headers)
    took_ms = (time.monotonic() - start) * 1000
    fault = fault_of(case, answer, target + repr(headers) + (data or b"").decode("latin-1"), server.data)
    if fault is None and took_ms > (case.most_ms or MOST_MS) * SLOWER:
        fault = f"took {took_ms:.0f} ms"
    return fault


def run_group(report, server, roots, name, cases):
    before = memory(server.process, "VmRSS")
    reset_peak(server.process)
    for case in cases:
        try:
            fault = run_case(server, roots, case)
        except Exception as exception:  # a broken connection is a failure like any
            fault = repr(exception)
        report.check(fault is None, f"{case}: {fault}")
    report.check(still_well(server), f"{name}: the server is not well afterwards")
    rise = memory(server.process, "VmHWM") - before
    report.check(SANITIZED or rise < RISE_MAX, f"{name}: the memory rose by {rise >> 20} MiB")


def prepare(server):
    """What the cases find stored."""
    server.json("PUT", "/v1/variables/kept", [[1, 2], [3, 4]])
    server.json("PUT", "/v1/variables/bad", 1)
    server.json("PUT", "/v1/graphs/bad_graph", {"program": "1"})
    server.json("PUT", "/v1/graphs/kept_graph", {"program": "y = x + 1", "inputs": {"x": {"shape": [2]}}})
    server.json("PUT", "/v1/variables/seen", 1, {"Idempotency-Key": "seen"})


def main():
    report, roots, groups = Report(), Roots(), corpus.read("malicious", forms)
    for name, cases in groups.items():
        twice = [text for text, n in collections.Counter((c.form, c.text) for c in cases).items() if n > 1]
        report.check(not twice, f"{name}: twice: {twice}")
    try:
        with Server("--attach-root", roots.root, "--loop-iterations-max", str(ITERATIONS)) as server:
            prepare(server)
            for name in sys.argv[1:] or groups:
                run_group(report, server, roots, name, groups[name])
            report.check(server.stop() == 0, "the server did not end well")
    finally:
        shutil.rmtree(roots.top)
    print(f"note: {sum(map(len, groups.values()))} cases in {len(groups)} groups")
    return report.end()


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""tensord check, backup, restore, compact."""
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))
from server import TENSORD, Report, Server  # noqa: E402


def tensord(*words):
    """(exit code, output, errors) of a command."""
    p = subprocess.run([TENSORD, *words], capture_output=True, text=True, timeout=120)
    return p.returncode, p.stdout, p.stderr


def arrays(data):
    return sorted(os.path.join(d, f) for d, _, files in os.walk(os.path.join(data, "arrays")) for f in files)


def flip(path, at):
    with open(path, "r+b") as f:
        f.seek(at)
        byte = f.read(1)
        f.seek(at)
        f.write(bytes([byte[0] ^ 1]))


def main():
    report = Report()
    place = tempfile.mkdtemp(prefix="tensord-care-")
    copy, back, none = (os.path.join(place, n) for n in ("copy", "back", "none"))
    try:
        with Server() as server:
            server.eval("small = [1, 2]\nbig = arange(3000000) * 1.0\nother = zeros(20000)", store="all")
            server.json("PUT", "/v1/graphs/g", {"program": "x + 1", "inputs": {"x": "dscalar"}})
            job = server.json("POST", "/v1/eval", {"program": "arange(20000)"}, {"Prefer": "respond-async"})[1]["id"]
            code, _, errors = tensord("check", "--data", server.data)
            report.check(code == 3 and "in use" in errors, f"while it is served: {code} {errors}")
            server.stop()
            code, out, errors = tensord("check", "--data", server.data)
            report.check(code == 0 and " 0 damaged" in out, f"check: {code} {out} {errors}")
            code, out, errors = tensord("backup", copy, "--data", server.data)
            report.check(code == 0, f"backup: {code} {errors}")
            report.check(all(os.stat(f).st_nlink == 2 for f in arrays(copy)), "arrays are hard links")
            report.check(not os.path.exists(os.path.join(copy, "token")), "the token is no data")
            report.check(tensord("backup", copy, "--data", server.data)[0] != 0, "over an older one")
            server.start()
            server.eval("big = big + 1", store=["big"])
            server.request("DELETE", "/v1/variables/small")
            server.stop()
            code, out, errors = tensord("restore", copy, "--data", back)
            report.check(code == 0 and " 0 damaged" in out, f"restore: {code} {out} {errors}")
            report.check(tensord("restore", copy, "--data", back)[0] != 0, "over existing data")
            with Server(data=back) as restored:
                answer = restored.eval("big[-1], small, g(1.0)")[1]
                report.check([t["data"] for t in answer["result"]] == [2999999.0, [1, 2], 2.0], f"{answer}")
                report.check(restored.request("GET", "/v1/jobs/%s/result" % job)[0] == 200, "the result of a job")
            before = os.path.getsize(os.path.join(server.data, "index.db"))
            server.start()
            for i in range(30):
                server.eval("\n".join("v%d = zeros(8000) + %d" % (k, i) for k in range(10)), store="all")
            server.eval("1", delete=["v%d" % k for k in range(10)])
            server.stop()
            grown = os.path.getsize(os.path.join(server.data, "index.db"))
            code, out, errors = tensord("compact", "--data", server.data)
            compact = os.path.getsize(os.path.join(server.data, "index.db"))
            report.check(code == 0 and compact < grown / 2, f"compact: {code} {before} {grown} {compact} {errors}")
            big = max(arrays(server.data), key=os.path.getsize)
            flip(big, 4096 + (2 << 20) + 5)
            code, out, _ = tensord("check", "--data", server.data)
            report.check(code == 1 and out.count("damaged: ") == 1 and "big" in out and " 1 damaged" in out, f"{code} {out}")
            server.start()
            report.check(server.eval("other.sum()")[0] == 200, "the others are served")
            report.check(server.eval("big.sum()")[1]["code"] == "integrity-error", "the damaged one is not")
            server.stop()
            os.remove(big)
            code, out, _ = tensord("check", "--data", server.data)
            report.check(code == 1 and "big" in out, f"a lost file: {code} {out}")
        report.check(tensord("check", "--data", none)[0] != 0 and not os.path.exists(none), "no data")
        report.check(tensord("backup", "--data", none)[0] == 2, "backup without a directory")
        report.check(tensord("chekc")[0] == 2, "no such command")
    finally:
        shutil.rmtree(place)
    return report.end()


sys.exit(main())

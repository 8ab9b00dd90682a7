#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Older versions of variables, with --history."""
import json
import os
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))
from server import Report, Server  # noqa: E402


def put(server, name, value, query=""):
    return server.json("PUT", "/v1/variables/%s%s" % (name, query), value)


def versions(server, name, query=""):
    return [v["version"] for v in server.json("GET", "/v1/variables/%s/versions%s" % (name, query))[1]["versions"]]


def value(server, name, version):
    status, answer = server.json("GET", "/v1/variables/%s?version=%d" % (name, version))
    return answer["data"] if status == 200 else status


def files(server):
    return sum(len(f) for _, _, f in os.walk(os.path.join(server.data, "arrays")))


def files_become(server, count):
    """Whether there come to be so many array files: they are removed a little later."""
    for _ in range(50):
        if files(server) == count:
            return True
        time.sleep(0.1)
    return False


def main():
    report = Report()
    with Server("--history", "3") as server:
        for i in range(1, 7):
            put(server, "x", [i, i])
            server.eval("big = zeros(20000) + %d" % i, store=["big"])
        for end in (None, server.stop, server.kill):
            if end is not None:
                end()
                server.start()
            report.check(versions(server, "x") == [6, 5, 4, 3], f"{versions(server, 'x')}")
            report.check([value(server, "x", v) for v in range(1, 8)] == [404, 404, [3, 3], [4, 4], [5, 5], [6, 6], 404], "values")
            report.check(value(server, "big", 4)[:2] == [4.0, 4.0], "a file")
            report.check(files_become(server, 4), f"{files(server)} files")
        listed = server.json("GET", "/v1/variables")[1]
        report.check(listed["count"] == 2 and [v["name"] for v in listed["variables"]] == ["big", "x"], f"{listed}")
        tags = {server.request("GET", "/v1/variables/x?version=%d" % v)[1]["ETag"] for v in (3, 4, 5, 6)}
        report.check(len(tags) == 4, f"{tags}")
        old = server.request("GET", "/v1/variables/x?version=4&slice=0&format=raw")
        report.check(old[0] == 200 and old[2] == (4).to_bytes(8, "little"), "a slice of an older one")
        server.json("PUT", "/v1/variables/x/attributes", {"unit": "m"})
        report.check(versions(server, "x") == [6, 5, 4, 3], "attributes are no version")
        server.json("PATCH", "/v1/variables/x?slice=0", 70)
        report.check(value(server, "x", 7) == [70, 6] and value(server, "x", 6) == [6, 6], "a patch")
        page = server.json("GET", "/v1/variables/x/versions?limit=2")[1]
        report.check([v["version"] for v in page["versions"]] == [7, 6] and page["cursor"] == "6", f"{page}")
        report.check(versions(server, "x", "?limit=2&cursor=6") == [5, 4], "the next page")
        for cursor in ("zz", "0", "-1", "6x", ""):
            status, problem = server.json("GET", "/v1/variables/x/versions?cursor=" + cursor)
            report.check(status == 400 and problem["code"] == "request-invalid", f"cursor={cursor}: {status}")
        for query, status in (("version=0", 400), ("version=x", 400), ("version=99", 404)):
            report.check(server.json("GET", "/v1/variables/x?" + query)[0] == status, query)
        server.request("DELETE", "/v1/variables/big")
        report.check(files_become(server, 0), f"{files(server)} files after DELETE")
        put(server, "big", 1)
        report.check(versions(server, "big") == [1], "a name anew")
        put(server, "x", 1, "?durability=memory")
        put(server, "x", 2)
        report.check(versions(server, "x") == [9], f"what was in memory alone is not kept: {versions(server, 'x')}")
        put(server, "x", 3)
        server.stop()
        server.arguments = ()
        server.start()
        report.check(versions(server, "x") == [10, 9], "without --history they are still there")
        put(server, "x", 4)
        report.check(versions(server, "x") == [11], "until there is a new one")
    return report.end()


sys.exit(main())

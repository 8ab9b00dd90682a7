#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A disk that is really full: what writes is refused with 507 and nothing changes, reads and deletions
go on, and once there is room again so do writes. On a small disk that the server fills itself, and on
a large one that somebody else fills, down to the last block, where the ballast is what deletions need.

Needs to mount: it is skipped, loudly, where that is refused."""
import base64
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from disk import Disk  # noqa: E402
from server import Report, Server  # noqa: E402

MIB = 1 << 20
BYTES = {"Content-Type": "application/octet-stream", "Tensor-Dtype": "uint8"}
report = Report()


def put(server, name, n, form="auto"):
    status, _, data = server.request("PUT", "/v1/variables/%s?storage=%s" % (name, form), bytes(n),
                                     {**BYTES, "Tensor-Shape": "[%d]" % n})
    return status, data


def refused(status, data, what):
    report.check(status == 507 and b'"disk-full"' in data, f"{what}: {status} {data[-300:]}")


def state(server):
    listed = server.json("GET", "/v1/variables")[1]
    return listed["snapshot"], [(v["name"], v["version"]) for v in listed["variables"]]


def everything_that_writes_is_refused(server, where):
    before = state(server)
    refused(*put(server, "new", 8 * MIB), where + ": PUT")
    refused(*put(server, "new", 8 * MIB, "chunked"), where + ": PUT, chunked")
    refused(*put(server, "small", 60000), where + ": PUT, inline")
    refused(*server.request("PATCH", "/v1/variables/large?slice=0:3", b"abc", {**BYTES, "Tensor-Shape": "[3]"})[::2],
            where + ": PATCH")
    refused(*server.request("PATCH", "/v1/variables/chunks?slice=0:3", b"abc", {**BYTES, "Tensor-Shape": "[3]"})[::2],
            where + ": PATCH, chunked")
    refused(*server.request("POST", "/v1/variables/large/append", b"abc", {**BYTES, "Tensor-Shape": "[3]"})[::2],
            where + ": append")
    body = b'{"program": "a = zeros(1000000)\\nb = a + 1", "store": "all"}'
    refused(*server.request("POST", "/v1/eval", body, {"Content-Type": "application/json"})[::2], where + ": eval, store")
    refused(*server.request("POST", "/v1/eval", b'{"program": "1", "inputs": {"x": {"dtype": "uint8", "shape": [75000], '
                            b'"base64": "' + base64.b64encode(bytes(75000)) + b'"}}}',
                            {"Content-Type": "application/json", "Prefer": "respond-async"})[::2], where + ": a job")
    report.check(state(server) == before, f"{where}: the state has changed: {before} {state(server)}")


def reads_go_on(server, where):
    status, _, data = server.request("GET", "/v1/variables/large?format=raw")
    report.check(status == 200 and data == bytes(8 * MIB), f"{where}: GET {status}")
    report.check(server.eval("chunks.sum()")[1]["result"]["data"] == 0, f"{where}: eval")
    report.check(server.request("GET", "/healthz")[0] == 200, f"{where}: health")
    report.check(server.process.poll() is None, f"{where}: the server has ended")


def writes_go_on(server, where):
    for _ in range(100): # what was deleted is given back in a moment
        status, data = put(server, "again", 8 * MIB)
        if status == 201:
            break
        time.sleep(0.05)
    report.check(status == 201, f"{where}: PUT {status} {data[-300:]}")
    status, answer = server.eval("x = arange(10)", store=["x"])
    report.check(status == 200 and answer["commit"] > 0, f"{where}: {answer}")


def fill(server):
    report.check(put(server, "large", 8 * MIB)[0] == 201 and put(server, "chunks", 3 * MIB, "chunked")[0] == 201, "filling")


def filled_by_the_server():
    with Disk("tmpfs", 64 * MIB) as path:
        if path is None:
            return print("note: SKIPPED: cannot mount; a full disk was not tried")
        with Server(data=path) as server:
            fill(server)
            count = 0
            while put(server, "f%d" % count, 4 * MIB)[0] == 201:
                count += 1
            size = MIB
            while size > 1000: # to the floor, in ever smaller pieces
                while put(server, "g%d" % count, size)[0] == 201:
                    count += 1
                size //= 2
            report.check(count > 8, f"{count} arrays fit")
            everything_that_writes_is_refused(server, "own")
            reads_go_on(server, "own")
            for name in ("f0", "f1", "f2"):
                report.check(server.request("DELETE", "/v1/variables/" + name)[0] == 204, "own: DELETE " + name)
            writes_go_on(server, "own")
            server.kill()
            server.start()
            reads_go_on(server, "own, after a kill")


def fill_with_others(path):
    """Files of others up to the last block; they cost nothing where blocks are only set aside."""
    paths, size = [], 1 << 30
    while size >= 4096:
        name = os.path.join(path, "other-%d" % len(paths))
        fd = os.open(name, os.O_WRONLY | os.O_CREAT)
        try:
            os.posix_fallocate(fd, 0, size)
            paths.append(name)
        except OSError:
            os.close(fd)
            fd = -1
            os.remove(name)
            size //= 2
        if fd >= 0:
            os.close(fd)
    return paths


def filled_by_others():
    with Disk("ext4", 12 << 30) as path:
        if path is None:
            return print("note: SKIPPED: cannot mount; a disk filled by others was not tried")
        data = os.path.join(path, "data")
        os.mkdir(data)
        with Server(data=data) as server:
            fill(server)
            for i in range(30):
                put(server, "v%d" % i, 50000)
            ballast = os.path.join(data, "ballast")
            report.check(os.path.exists(ballast) and os.stat(ballast).st_blocks * 512 >= 64 * MIB, "a ballast")
            others = fill_with_others(path)
            report.check(os.statvfs(path).f_bavail < 16, "the disk is full")
            everything_that_writes_is_refused(server, "others")
            reads_go_on(server, "others")
            for name in ["v%d" % i for i in range(30)] + ["chunks"]:
                status = server.request("DELETE", "/v1/variables/" + name)[0]
                report.check(status == 204, f"others: DELETE {name} {status}")
            put(server, "chunks", 3 * MIB, "chunked")
            for name in others:
                os.remove(name)
            writes_go_on(server, "others")
            for _ in range(60):
                if os.path.exists(ballast):
                    break
                time.sleep(0.1)
            report.check(os.path.exists(ballast), "the ballast is made anew")


def main():
    filled_by_the_server()
    filled_by_others()
    return report.end()


sys.exit(main())

#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Files that are damaged or made shorter under a running server: the array fails alone."""
import json
import os
import socket
import sys
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))
from server import Report, Server  # noqa: E402


def file_of(server, name):
    return os.path.join(server.data, json.loads(server.request("GET", "/v1/variables/%s/meta" % name)[2])["file"])


def a_file_that_shrinks_while_it_is_computed_with(report):
    with Server("--time-max", "300 s") as server:
        server.eval("x = arange(2000000) * 1.0\ny = arange(20000)", store="all")
        answers = []
        thread = threading.Thread(target=lambda: answers.append(
            server.eval("fori_loop(0, 2000, lambda i, v: v + sum(x * i), 0.0)")))
        thread.start()
        time.sleep(0.4)
        os.truncate(file_of(Server_view(server), "x"), 5000)
        thread.join()
        status, answer = answers[0]
        report.check(status == 500 and answer["code"] == "integrity-error", f"computing: {status} {str(answer)[:300]}")
        report.check(told(server) == (1, ["variable x"]), f"{told(server)}")
        report.check(server.eval("y.sum()")[0] == 200, "another array")
        status, answer = server.eval("x.sum()")
        report.check(status == 500 and answer["code"] == "integrity-error", f"afterwards: {status} {answer}")


class Server_view(Server):
    """The same server on a connection of its own."""

    def __init__(self, server):
        self.port, self.token, self.data, self.connection = server.port, server.token, server.data, None


def a_file_that_shrinks_while_it_is_sent(report):
    with Server() as server:
        server.eval("x = arange(8000000) * 1.0", store="all")
        file = file_of(server, "x")
        with socket.create_connection(("127.0.0.1", server.port)) as s:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
            s.sendall(("GET /v1/variables/x?format=raw HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nAuthorization: Bearer %s\r\n\r\n"
                       % (server.port, server.token)).encode())
            got = len(s.recv(1000))
            os.truncate(file, 20000000)
            s.settimeout(20)
            try:
                while True:
                    piece = s.recv(1 << 20)
                    if not piece:
                        break
                    got += len(piece)
            except OSError:
                pass
        report.check(got < 40000000, "%d bytes came of a file of 20 MB" % got)
        report.check(server.eval("1 + 1")[0] == 200, "the server is alive")


def told(server):
    """How many are counted as damaged, and the names that the log has, each as often as there."""
    with open(server.log.name) as f:
        lines = [json.loads(line)["message"] for line in f if line.startswith("{")]
    metrics = server.request("GET", "/metrics")[2].decode()
    counted = int(next(line for line in metrics.splitlines() if line.startswith("tensord_storage_damaged")).split()[1])
    return counted, [m.split(":")[1].strip() for m in lines if m.startswith("damaged: ")]


def what_is_damaged_is_told_once(report):
    """Bits of a file, and a file that is missing."""
    with Server() as server:
        server.eval("x = arange(100000)\ny = x + 1\nsound = x + 2", store="all")
        report.check(told(server) == (0, []), f"of sound data: {told(server)}")
        x, y = file_of(server, "x"), file_of(server, "y")
        server.stop()
        os.remove(y)
        with open(x, "r+b") as f:
            f.seek(300000)
            f.write(b"damage")
        server.start()
        report.check(told(server) == (1, ["variable y"]), f"at the start: {told(server)}")
        for _ in range(2):
            for name in ("x", "y", "sound"):
                status = server.eval(name + ".sum()")[0]
                report.check(status == (200 if name == "sound" else 500), f"{name}: {status}")
        report.check(told(server) == (2, ["variable y", "variable x"]), f"after use: {told(server)}")
        report.check(server.json("GET", "/v1/info")[1]["storage"]["damaged"] == 2, "/v1/info")


def flipped_bits_are_found(report):
    with Server() as server:
        server.eval("x = arange(100000)\ny = x + 1", store="all")
        file = file_of(server, "x")
        server.stop()
        with open(file, "r+b") as f:
            f.seek(300000)
            byte = f.read(1)
            f.seek(300000)
            f.write(bytes([byte[0] ^ 4]))
        server.start()
        status, answer = server.eval("x.sum()")
        report.check(status == 500 and answer["code"] == "integrity-error" and "x" in answer["detail"], f"{status} {answer}")
        report.check(server.eval("y.sum()")[1]["result"]["data"] == 5000050000, "the other array")
        report.check(server.request("PUT", "/v1/variables/x", b"[1]", {"Content-Type": "application/json"})[0] == 200,
                     "a new value in its place")
        report.check(server.eval("x")[1]["result"]["data"] == [1], "which is sound")


def main():
    report = Report()
    for test in (a_file_that_shrinks_while_it_is_computed_with, a_file_that_shrinks_while_it_is_sent,
                 flipped_bits_are_found, what_is_damaged_is_told_once):
        test(report)
    return report.end()


sys.exit(main())

#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Listening on a socket of the file system: for the owner, without a token."""
import http.client
import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))
from server import TENSORD, Report  # noqa: E402


class Connection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=30)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(30)
        self.sock.connect(self.path)


def start(data, path):
    p = subprocess.Popen([TENSORD, "serve", "--data", data, "--listen", "unix:" + path], stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL, text=True)
    return p, p.stdout.readline()


def evaluate(path, headers=None):
    c = Connection(path)
    c.request("POST", "/v1/eval", '{"program": "1 + 1"}', {"Content-Type": "application/json", **(headers or {})})
    answer = c.getresponse()
    return answer.status, json.loads(answer.read())


def main():
    report = Report()
    place = tempfile.mkdtemp(prefix="tensord-unix-")
    path, data = os.path.join(place, "socket"), os.path.join(place, "data")
    try:
        for end in (signal.SIGKILL, signal.SIGTERM):
            p, line = start(data, path)
            report.check(line == "listening on unix:%s\n" % path, line)
            report.check(stat.S_IMODE(os.stat(path).st_mode) == 0o600, "the mode of the socket")
            for headers in ({}, {"Host": "anything"}, {"Authorization": "Bearer wrong"}):
                status, answer = evaluate(path, headers)
                report.check(status == 200 and answer["result"]["data"] == 2, f"{headers}: {status} {answer}")
            status, answer = evaluate(path, {"Origin": "http://evil.example"})
            report.check(status == 403, f"a page of elsewhere: {status}")
            again = subprocess.run([TENSORD, "serve", "--data", data + "2", "--listen", "unix:" + path],
                                   capture_output=True, text=True, timeout=20)
            report.check(again.returncode == 1 and "cannot listen" in again.stderr, f"where one listens: {again}")
            report.check(evaluate(path)[0] == 200, "the first one goes on")
            p.send_signal(end)
            p.wait(timeout=30)
            report.check(os.path.exists(path) == (end == signal.SIGKILL), "the socket after %s" % end)
        with open(path, "w") as f:
            f.write("a file")
        p, line = start(data, path)
        p.wait(timeout=20)
        report.check(p.returncode == 1 and open(path).read() == "a file", "a file is in the place")
    finally:
        shutil.rmtree(place)
    return report.end()


sys.exit(main())

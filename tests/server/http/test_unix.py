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


STRANGER = """
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.settimeout(30)
s.connect(sys.argv[1])
try:
    s.sendall(b"PUT /v1/variables/taken HTTP/1.1\\r\\nHost: x\\r\\nContent-Type: application/json\\r\\nContent-Length: 1\\r\\n\\r\\n1")
    print("sent", flush=True)
    print(len(s.recv(1000)))
except OSError:
    print(0)
"""


def another_user_is_not_answered(report, place, path, server):
    """Even if the socket lets him connect, and all that he says is there before the server looks."""
    if os.geteuid() != 0:
        print("SKIPPED: another user on the socket (only root can be one)")
        return
    os.chmod(place, 0o755)
    os.chmod(path, 0o666)
    for user, answered in ((65534, False), (0, True)):
        server.send_signal(signal.SIGSTOP)
        p = subprocess.Popen(["/usr/bin/python3", "-c", STRANGER, path], user=user, stdout=subprocess.PIPE, text=True)
        report.check(p.stdout.readline() == "sent\n", f"user {user} could not send")
        server.send_signal(signal.SIGCONT)
        said = p.stdout.read()
        report.check(p.wait(timeout=60) == 0 and (int(said) > 0) == answered, f"user {user}: {said}")
        c = Connection(path)
        c.request("GET", "/v1/variables/taken")
        report.check((c.getresponse().status == 200) == answered, f"what user {user} asked for")
    os.chmod(path, 0o600)


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
            if end == signal.SIGKILL:
                another_user_is_not_answered(report, place, path, p)
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

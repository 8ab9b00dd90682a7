# SPDX-License-Identifier: Apache-2.0
"""A server for tests: started on a free port with a data directory of its own."""
import http.client
import json
import os
import shutil
import signal
import subprocess
import tempfile

TENSORD = os.environ.get("TENSORD", "build/tensord")


class Server:
    """Starts tensord; use as a context manager. Arguments are added to its command line."""

    def __init__(self, *arguments, data=None):
        self.own_data = data is None
        self.data = data or tempfile.mkdtemp(prefix="tensord-test-")
        self.arguments = arguments
        self.start()

    def start(self):
        command = [TENSORD, "serve", "--data", self.data, "--listen", "127.0.0.1:0", *self.arguments]
        self.log = open(os.path.join(self.data, "log"), "ab")
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.log)
        line = self.process.stdout.readline().decode()
        if not line.startswith("listening on "):
            raise RuntimeError("the server did not start: " + line)
        self.port = int(line.rsplit(":", 1)[1])
        with open(os.path.join(self.data, "token")) as f:
            self.token = f.read().strip()
        self.connection = None

    def request(self, method, path, body=None, headers=None):
        """(status, headers, body) of one request on a kept connection."""
        all_headers = {"Authorization": "Bearer " + self.token, **(headers or {})}
        for attempt in (1, 2):
            if self.connection is None:
                self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
            try:
                self.connection.request(method, path, body, all_headers)
                answer = self.connection.getresponse()
                return answer.status, answer.headers, answer.read()
            except (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError):
                self.connection.close()
                self.connection = None
                if attempt == 2:
                    raise

    def json(self, method, path, document=None, headers=None):
        """(status, answer) of a request with JSON both ways."""
        body = None if document is None else json.dumps(document)
        status, _, data = self.request(method, path, body,
                                       {"Content-Type": "application/json", **(headers or {})})
        return status, json.loads(data) if data else None

    def eval(self, program, **members):
        return self.json("POST", "/v1/eval", {"program": program, **members})

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.connection = None

    def stop(self):
        """Stops it as a person would; returns the exit code."""
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(timeout=60)
        self.process.stdout.close()
        return code

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.stop()
        self.log.close()
        if self.process.returncode not in (0, -signal.SIGKILL):
            with open(os.path.join(self.data, "log")) as f:
                print("the server ended with %d:\n%s" % (self.process.returncode, f.read()[-3000:]))
        if self.own_data:
            shutil.rmtree(self.data, ignore_errors=True)


class Report:
    """Counts what passed and failed, names what failed, and says so at the end."""

    def __init__(self):
        self.passed = self.failed = 0

    def check(self, ok, what):
        if ok:
            self.passed += 1
        else:
            self.failed += 1
            if self.failed <= int(os.environ.get("SHOW", "50")):
                print("FAIL", what)
        return ok

    def end(self):
        print("%d passed, %d failed" % (self.passed, self.failed))
        return 1 if self.failed else 0

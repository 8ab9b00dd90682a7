# SPDX-License-Identifier: Apache-2.0
"""A tensord of its own for a test: on a free port, with a data directory that is
gone afterwards.

    with Server() as server:
        answer = server.request("POST", "/v1/eval", {"program": "1 + 2"})
        answer.status, answer.json, answer.headers["content-type"], answer.body

TENSORD names the program (default build/tensord)."""
import http.client
import json
import os
import shutil
import subprocess
import tempfile

TENSORD = os.environ.get("TENSORD", "build/tensord")


class Answer:
    def __init__(self, status, headers, body):
        self.status = status
        self.headers = headers
        self.body = body

    @property
    def json(self):
        return json.loads(self.body)


class Server:
    def __init__(self, *flags, data=None):
        self.flags = flags
        self.data = data or tempfile.mkdtemp(prefix="tensord-test-")
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            [TENSORD, "serve", "--data", self.data, "--listen", "127.0.0.1:0",
             "--log-level", "error", *self.flags], stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        if not line.startswith("listening on "):
            raise RuntimeError("the server did not start: " + line)
        self.port = int(line.rsplit(":", 1)[1])
        with open(os.path.join(self.data, "token"), encoding="ascii") as file:
            self.token = file.read().strip()
        self.connection = None

    def stop(self):
        """Stops the server as an operator would; its exit code."""
        if self.connection is not None:
            self.connection.close()
            self.connection = None
        self.process.terminate()
        code = self.process.wait(40)
        self.process.stdout.close()
        return code

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.connection = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.stop()
        shutil.rmtree(self.data, ignore_errors=True)

    def alive(self):
        return self.process.poll() is None

    def request(self, method, target, body=None, headers=None, timeout=60):
        """body: bytes or text as they are, anything else as JSON."""
        headers = {"Authorization": "Bearer " + self.token, **(headers or {})}
        if isinstance(body, str):
            body = body.encode()
        elif body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        if body is not None and not any(k.lower() == "content-type" for k in headers):
            headers["Content-Type"] = "application/json"
        for attempt in (1, 2):
            if self.connection is None:
                self.connection = http.client.HTTPConnection("127.0.0.1", self.port)
            self.connection.timeout = timeout
            if self.connection.sock is not None:
                self.connection.sock.settimeout(timeout)
            try:
                self.connection.request(method, target, body, headers)
                response = self.connection.getresponse()
                content = response.read()
                break
            except (http.client.HTTPException, ConnectionError):
                self.connection.close()
                self.connection = None
                if attempt == 2 or not self.alive():
                    raise
        answer = Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, content)
        if answer.headers.get("connection") == "close":
            self.connection.close()
            self.connection = None
        return answer

    def evaluate(self, program, **members):
        return self.request("POST", "/v1/eval", {"program": program, **members})

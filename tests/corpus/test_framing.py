#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Broken HTTP, sent by raw sockets: every case has an expected answer, and after
each the server must still be well.

TENSORD names the program (default build/tensord). The cases are the texts in tests/corpus/framing,
and functions here that talk by themselves. An answer is (status, code), where code None is a body
that is no problem of ours, or "close": an end without an answer. After an answer that ends the
connection nothing more may come, whatever the client has sent behind."""
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import corpus  # noqa: E402
import framing_forms  # noqa: E402
from framing_forms import get  # noqa: E402

TENSORD = os.environ.get("TENSORD", "build/tensord")
CLOSE = "close"


class Server:
    """A tensord on a free port, with short deadlines."""

    def __init__(self, *flags):
        self.data = tempfile.mkdtemp(prefix="tensord-test-")
        self.process = subprocess.Popen(
            [TENSORD, "serve", "--data", self.data, "--listen", "127.0.0.1:0",
             "--header-time-max", "1 s", "--body-time-max", "1 s", "--log-level", "error", *flags],
            stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        self.port = int(line.rsplit(":", 1)[1])
        with open(os.path.join(self.data, "token"), encoding="ascii") as file:
            self.token = file.read().strip()
        self.host = f"127.0.0.1:{self.port}"

    def stop(self):
        self.process.terminate()
        code = self.process.wait(20)
        shutil.rmtree(self.data)
        return code

    def connect(self, timeout=6):
        return socket.create_connection(("127.0.0.1", self.port), timeout)

    def fill(self, data):
        """Puts host, token and port where a case says @H, @T and @P."""
        return data.replace(b"@H", self.host.encode()).replace(b"@T", self.token.encode()) \
            .replace(b"@P", str(self.port).encode()) \
            .replace(b"@P", str(self.port).encode())


def read_answer(sock):
    """(status, headers, body) of the next answer; None if the connection ends before."""
    data = b""
    try:
        while b"\r\n\r\n" not in data:
            piece = sock.recv(65536)
            if not piece:
                return None
            data += piece
        head, body = data.split(b"\r\n\r\n", 1)
        status = int(head.split()[1])
        headers = {k.strip().lower(): v.strip()
                   for k, v in (l.split(":", 1) for l in head.decode("latin-1").split("\r\n")[1:])}
        length = int(headers.get("content-length", 0))
        while len(body) < length:
            piece = sock.recv(65536)
            if not piece:
                break
            body += piece
        return status, headers, body
    except (ConnectionError, socket.timeout):
        return None


def code_of(answer):
    if answer is None:
        return CLOSE
    status, headers, body = answer
    if headers.get("content-type") == "application/problem+json":
        problem = json.loads(body)
        assert problem["status"] == status, "the member status differs from the status line"
        assert problem["type"] == "/problems/" + problem["code"]
        return status, problem["code"]
    return status, None


def send(server, data, shut=False):
    """The answer to these bytes. Two answers are a fault, unless the first leaves the connection open."""
    with server.connect() as sock:
        try:
            sock.sendall(server.fill(data))
            if shut:
                sock.shutdown(socket.SHUT_WR)
        except ConnectionError:
            pass
        answer = read_answer(sock)
        if answer is not None and answer[1].get("connection", "").lower() == "close" and answer[0] >= 400:
            assert read_answer(sock) is None, "a second answer came"
        return code_of(answer)


# ---- Cases that talk by themselves ---------------------------------------------


def slow_headers(server):
    with server.connect() as sock:
        start = time.monotonic()
        sock.sendall(server.fill(b"GET /v1/info HTTP/1.1\r\nHost: @H\r\n"))
        try:
            for i in range(40):
                sock.sendall(b"X-%d: y\r\n" % i)
                time.sleep(0.1)
        except ConnectionError:
            pass
        assert time.monotonic() - start < 3, "the server waited too long"
        return code_of(read_answer(sock))


def silent(server):
    with server.connect() as sock:
        start = time.monotonic()
        answer = code_of(read_answer(sock))
        assert time.monotonic() - start < 3, "the server waited too long"
        return answer


def slow_body(server):
    with server.connect() as sock:
        start = time.monotonic()
        sock.sendall(server.fill(b"POST /healthz HTTP/1.1\r\nHost: @H\r\n"
                                 b"Content-Length: 100\r\n\r\n"))
        try:
            for _ in range(40):
                sock.sendall(b"x")
                time.sleep(0.1)
        except ConnectionError:
            pass
        assert time.monotonic() - start < 4, "the server waited too long"
        return code_of(read_answer(sock))


def byte_by_byte(server):
    with server.connect() as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in server.fill(b"GET /healthz HTTP/1.1\r\nHost: @H\r\n\r\n"):
            sock.sendall(bytes([byte]))
        return code_of(read_answer(sock))


def nothing_after_a_refusal(server):
    """What follows a refused request must not be served."""
    with server.connect() as sock:
        sock.sendall(server.fill(
            b"POST /healthz HTTP/1.1\r\nHost: @H\r\nContent-Length: 3\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
            b"GET /healthz HTTP/1.1\r\nHost: @H\r\n\r\n"))
        first = code_of(read_answer(sock))
        assert read_answer(sock) is None, "a second answer came"
        return first


def pipelined(server):
    with server.connect() as sock:
        sock.sendall(server.fill(b"GET /healthz HTTP/1.1\r\nHost: @H\r\n\r\n") * 3)
        data = b""
        while data.count(b"ok\n") < 3:
            piece = sock.recv(65536)
            assert piece, "the connection ended early"
            data += piece
        return 200, None


def kept_after_small_refusal(server):
    with server.connect() as sock:
        sock.sendall(server.fill(b"POST /nope HTTP/1.1\r\nHost: @H\r\nAuthorization: Bearer @T\r\n"
                                 b"Content-Length: 4\r\n\r\nabcd"))
        first = code_of(read_answer(sock))
        sock.sendall(server.fill(b"GET /healthz HTTP/1.1\r\nHost: @H\r\n\r\n"))
        assert code_of(read_answer(sock)) == (200, None), "the connection was not kept"
        return first


def reset_in_headers(server):
    sock = server.connect()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    sock.sendall(server.fill(b"GET /v1/info HTTP/1.1\r\nHost: @H\r\nX-"))
    sock.close()
    return CLOSE


def reset_in_body(server):
    sock = server.connect()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    sock.sendall(server.fill(b"POST /healthz HTTP/1.1\r\nHost: @H\r\nContent-Length: 99\r\n\r\nx"))
    sock.close()
    return CLOSE


def endless_chunks(server):
    """A refused body without end is cut, and does not fill the memory."""
    with server.connect() as sock:
        sock.sendall(server.fill(b"POST /nope HTTP/1.1\r\nHost: @H\r\nAuthorization: Bearer @T\r\n"
                                 b"Transfer-Encoding: chunked\r\n\r\n"))
        try:
            for _ in range(2000):
                sock.sendall(b"10000\r\n" + b"x" * 65536 + b"\r\n")
        except ConnectionError:
            return CLOSE
        return code_of(read_answer(sock))


def head(server):
    with server.connect() as sock:
        sock.sendall(server.fill(b"HEAD /healthz HTTP/1.1\r\nHost: @H\r\nConnection: close\r\n\r\n"))
        data = b""
        while piece := sock.recv(65536):
            data += piece
        assert data.endswith(b"\r\n\r\n"), "a HEAD answer has a body"
        assert b"Content-Length: 3" in data
        return int(data.split()[1]), None


def million_chunks(_):
    """A body of one-byte chunks: Triton CVE-2025-23310 took stack for each. They take a while."""
    body = b'{"program": "1' + b" " * 1000000 + b'"}'
    server = Server("--body-time-max", "120 s")
    with server.connect(120) as sock:
        sock.sendall(server.fill(b"POST /v1/eval HTTP/1.1\r\nHost: @H\r\nAuthorization: Bearer @T\r\n"
                                 b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"))
        sock.sendall(b"".join(b"1\r\n%c\r\n" % byte for byte in body) + b"0\r\n\r\n")
        answer = code_of(read_answer(sock))
    check_health(server)
    assert server.stop() == 0
    return answer


def slow_chunks(server):
    """Chunks that come one by one, each in time, and never end."""
    with server.connect() as sock:
        start = time.monotonic()
        sock.sendall(server.fill(b"POST /v1/eval HTTP/1.1\r\nHost: @H\r\nAuthorization: Bearer @T\r\n"
                                 b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"))
        try:
            for _ in range(40):
                sock.sendall(b"1\r\n \r\n")
                time.sleep(0.1)
        except ConnectionError:
            pass
        assert time.monotonic() - start < 4, "the server waited too long"
        return code_of(read_answer(sock))


def continue_is_said(server):
    """A body that is welcome is asked for, and then read."""
    body = b'{"program": "1"}'
    with server.connect() as sock:
        sock.sendall(server.fill(b"POST /v1/eval HTTP/1.1\r\nHost: @H\r\nAuthorization: Bearer @T\r\n"
                                 b"Content-Type: application/json\r\nContent-Length: %d\r\n"
                                 b"Expect: 100-continue\r\n\r\n" % len(body)))
        assert sock.recv(25) == b"HTTP/1.1 100 Continue\r\n\r\n"
        sock.sendall(body)
        return code_of(read_answer(sock))


def expect_continue(server):
    with server.connect() as sock:
        sock.sendall(server.fill(b"POST /nope HTTP/1.1\r\nHost: @H\r\nAuthorization: Bearer @T\r\n"
                                 b"Content-Length: 100\r\nExpect: 100-continue\r\n\r\n"))
        return code_of(read_answer(sock))


def allow_header(server):
    with server.connect() as sock:
        sock.sendall(server.fill(b"DELETE /v1/info HTTP/1.1\r\nHost: @H\r\n"
                                 b"Authorization: Bearer @T\r\n\r\n"))
        answer = read_answer(sock)
        assert answer[1]["allow"] == "GET, HEAD", answer[1]
        return code_of(answer)


def many_connections(server):
    """Above the soft limit there is an answer, and afterwards room again."""
    socks = [server.connect() for _ in range(226)]
    try:
        time.sleep(0.2)
        socks[-1].sendall(server.fill(b"GET /healthz HTTP/1.1\r\nHost: @H\r\n\r\n"))
        answer = read_answer(socks[-1])
        assert answer is None or "retry-after" in answer[1]
        return code_of(answer)
    finally:
        for sock in socks:
            sock.close()
        time.sleep(0.2)


# ---- The table ---------------------------------------------------------------------

OK = {(200, None)}

# Cases that talk by themselves; the others are the texts in tests/corpus/framing. What may come back is a set
# where it depends on who is faster.
TALKS = [
    ("byte_by_byte", byte_by_byte, OK),
    ("pipelined_requests", pipelined, OK),
    ("head_has_no_body", head, OK),
    ("million_chunks", million_chunks, OK),
    ("allow_is_said", allow_header, {(405, "method-not-allowed")}),
    ("kept_after_small_refusal", kept_after_small_refusal, {(404, "not-found")}),
    ("expect_is_answered_at_once", expect_continue, {(404, "not-found")}),
    ("continue_is_said", continue_is_said, OK),
    ("endless_refused_body", endless_chunks, {(404, "not-found"), CLOSE}),
    ("nothing_after_a_refusal", nothing_after_a_refusal, {(400, "transport-invalid")}),
    ("slow_headers", slow_headers, {(408, "request-timeout"), CLOSE}),
    ("slow_body", slow_body, {(408, "request-timeout"), CLOSE}),
    ("slow_chunks", slow_chunks, {(408, "request-timeout"), CLOSE}),
    ("silent_connection", silent, {CLOSE}),
    ("reset_in_headers", reset_in_headers, {CLOSE}),
    ("reset_in_body", reset_in_body, {CLOSE}),
    ("many_connections", many_connections, {(503, "too-many-connections")}),
]


def check_health(server):
    answer = send(server, get(b"/healthz"))
    assert answer == (200, None), f"afterwards /healthz gave {answer}"
    assert server.process.poll() is None, "the server has ended"


def texts():
    """(name, bytes, what must come back, whether the client then ends) of each text of the corpus."""
    for cases in corpus.read("framing", framing_forms).values():
        for case in cases:
            expected = CLOSE if case.status is None else (case.status, case.code)
            late = {(408, "request-timeout")} if case.form == "cut" else set()  # or its end is seen first
            yield str(case), case.request(), {expected} | late, case.form == "cut"


def run_case(server, name, request, expected, shut=False):
    try:
        got = request(server) if callable(request) else send(server, request, shut)
        assert got in expected, f"got {got}, expected {sorted(map(str, expected))}"
        check_health(server)
    except (AssertionError, OSError, ValueError) as why:
        print(f"FAIL {name}: {why}", flush=True)
        return False
    print(f"ok {name}", flush=True)
    return True


def start_up_cases():
    """What the command line refuses, by exit code."""
    def ends_with(code, *arguments):
        done = subprocess.run([TENSORD, *arguments], capture_output=True, text=True, timeout=20)
        assert done.returncode == code, f"exit code {done.returncode}: {done.stderr}"
        return done

    def unknown_flag():
        assert "did you mean --listen" in ends_with(2, "serve", "--lisen", "x").stderr

    def open_to_the_network():
        ends_with(2, "serve", "--auth", "none", "--listen", "0.0.0.0:0")

    def data_in_use():
        server = Server()
        ends_with(3, "serve", "--data", server.data, "--listen", "127.0.0.1:0")
        assert server.stop() == 0

    def one_token_file():
        server = Server()
        mode = os.stat(os.path.join(server.data, "token")).st_mode & 0o777
        server.stop()
        assert mode == 0o600, oct(mode)

    def auth_none():
        server = Server("--auth", "none")
        got = send(server, get(b"/v1/info"))
        evil = send(server, get(b"/v1/info", b"Origin: http://evil.example\r\n"))
        server.stop()
        assert got == (200, None), got
        assert evil == (403, "origin-not-allowed"), evil

    def allowed_host():
        server = Server("--allow-host", "tensors.example")
        got = send(server, get(b"/healthz", host=b"Host: tensors.example\r\n"))
        server.stop()
        assert got == (200, None), got

    def listing_names_sources():
        out = ends_with(0, "--print-config", "--threads", "3").stdout
        assert re.search(r"^threads += 3 +# flag$", out, re.M), out

    return [unknown_flag, open_to_the_network, data_in_use, one_token_file, auth_none,
            allowed_host, listing_names_sources]


def run_start_up(case):
    try:
        case()
    except (AssertionError, OSError, ValueError) as why:
        print(f"FAIL {case.__name__}: {why}", flush=True)
        return False
    print(f"ok {case.__name__}", flush=True)
    return True


def main():
    results = [run_start_up(case) for case in start_up_cases()]
    server = Server()
    cases = list(texts()) + TALKS
    results += [run_case(server, *case) for case in cases]
    results.append(run_case(server, "everything_at_once", everything_at_once, {(200, None)}))
    code = server.stop()
    print(f"note: {len(cases)} cases")
    print("ok clean_stop" if code == 0 else f"FAIL clean_stop: exit code {code}")
    results.append(code == 0)
    failed = results.count(False)
    print(f"{len(results) - failed} passed, {failed} failed")
    return 1 if failed else 0


def everything_at_once(server):
    """The plain cases again, from eight threads."""
    def work(offset):
        for _, request, *_ in list(texts())[offset::8]:
            try:
                send(server, request, True)
            except (AssertionError, OSError):
                pass  # said above already

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return send(server, get(b"/healthz"))


if __name__ == "__main__":
    sys.exit(main())

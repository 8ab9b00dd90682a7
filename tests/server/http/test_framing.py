#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Broken HTTP, sent by raw sockets: every case has an expected answer, and after
each the server must still be well.

TENSORD names the program (default build/tensord). A case is a row of CASES:
name, the bytes to send (or a function that talks by itself), and what may come
back: a set of (status, code), where code None stands for any body, and "close"
for an end without an answer."""
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
        """Puts port and token where a case says @H and @T."""
        return data.replace(b"@H", self.host.encode()).replace(b"@T", self.token.encode())


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
    with server.connect() as sock:
        try:
            sock.sendall(server.fill(data))
            if shut:
                sock.shutdown(socket.SHUT_WR)
        except ConnectionError:
            pass
        return code_of(read_answer(sock))


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


def pipelined_after_refusal(server):
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


def get(target, headers=b"", method=b"GET", version=b"HTTP/1.1", host=b"Host: @H\r\n"):
    return method + b" " + target + b" " + version + b"\r\n" + host + headers + b"\r\n"


AUTH = b"Authorization: Bearer @T\r\n"
BAD = {(400, "transport-invalid")}
BAD_OR_LIBRARY = {(400, "transport-invalid"), (400, None), CLOSE}
OK = {(200, None)}

CASES = [
    # what must work
    ("plain_get", get(b"/healthz"), OK),
    ("with_token", get(b"/v1/info", AUTH), OK),
    ("version_1_0", get(b"/healthz", version=b"HTTP/1.0"), OK),
    ("localhost_name", get(b"/healthz", host=b"Host: localhost:@P\r\n"), OK),
    ("byte_by_byte", byte_by_byte, OK),
    ("pipelined_requests", pipelined, OK),
    ("head_has_no_body", head, OK),
    ("half_closed_client", get(b"/healthz"), OK | {CLOSE}, True),
    ("obs_text_in_value", get(b"/healthz", b"X-Name: caf\xc3\xa9\r\n"), OK),
    ("encoded_path", get(b"/%68ealthz"), OK),
    ("same_origin", get(b"/v1/info", AUTH + b"Origin: http://@H\r\n"), OK),
    ("accept_with_quality", get(b"/v1/info", AUTH + b"Accept: text/html, application/*;q=0.5\r\n"),
     OK),
    # who and where
    ("no_token", get(b"/v1/info"), {(401, "unauthorized")}),
    ("wrong_token", get(b"/v1/info", b"Authorization: Bearer " + b"0" * 64 + b"\r\n"),
     {(401, "unauthorized")}),
    ("token_as_basic", get(b"/v1/info", b"Authorization: Basic @T\r\n"), {(401, "unauthorized")}),
    ("token_cut_short", get(b"/v1/info", b"Authorization: Bearer abc\r\n"),
     {(401, "unauthorized")}),
    ("two_authorizations", get(b"/v1/info", AUTH + AUTH), BAD),
    ("foreign_host", get(b"/healthz", host=b"Host: evil.example\r\n"),
     {(403, "host-not-allowed")}),
    ("foreign_port", get(b"/healthz", host=b"Host: 127.0.0.1:1\r\n"), {(403, "host-not-allowed")}),
    ("rebinding_suffix", get(b"/healthz", host=b"Host: 127.0.0.1.evil.example:@P\r\n"),
     {(403, "host-not-allowed")}),
    ("foreign_origin", get(b"/v1/info", AUTH + b"Origin: http://evil.example\r\n"),
     {(403, "origin-not-allowed")}),
    ("null_origin", get(b"/healthz", b"Origin: null\r\n"), {(403, "origin-not-allowed")}),
    ("cross_site_fetch", get(b"/v1/info", AUTH + b"Sec-Fetch-Site: cross-site\r\n"),
     {(403, "origin-not-allowed")}),
    # Host
    ("no_host", get(b"/healthz", host=b""), BAD),
    ("two_hosts", get(b"/healthz", b"Host: @H\r\n"), BAD),
    ("two_hosts_in_other_case", get(b"/healthz", b"hOST: evil.example\r\n"), BAD),
    ("empty_host", get(b"/healthz", host=b"Host:\r\n"), BAD),
    ("host_list", get(b"/healthz", host=b"Host: @H, evil.example\r\n"), BAD),
    ("host_with_user", get(b"/healthz", host=b"Host: a@@H\r\n"), BAD),
    ("no_host_1_0", get(b"/healthz", host=b"", version=b"HTTP/1.0"), BAD),
    # the body's length
    ("length_and_chunked", get(b"/healthz", b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n",
                               b"POST") + b"0\r\n\r\n", BAD),
    ("chunked_and_length", get(b"/healthz", b"Transfer-Encoding: chunked\r\nContent-Length: 3\r\n",
                               b"POST") + b"0\r\n\r\n", BAD),
    ("two_lengths", get(b"/healthz", b"Content-Length: 3\r\nContent-Length: 3\r\n", b"POST")
     + b"abc", BAD),
    ("two_unequal_lengths", get(b"/healthz", b"Content-Length: 3\r\nContent-Length: 30\r\n",
                                b"POST") + b"abc", BAD),
    ("length_list", get(b"/healthz", b"Content-Length: 3, 3\r\n", b"POST") + b"abc",
     BAD_OR_LIBRARY),
    ("negative_length", get(b"/healthz", b"Content-Length: -1\r\n", b"POST"), BAD_OR_LIBRARY),
    ("signed_length", get(b"/healthz", b"Content-Length: +3\r\n", b"POST") + b"abc",
     BAD_OR_LIBRARY),
    ("hex_length", get(b"/healthz", b"Content-Length: 0x3\r\n", b"POST") + b"abc", BAD_OR_LIBRARY),
    ("empty_length", get(b"/healthz", b"Content-Length:\r\n", b"POST"), BAD_OR_LIBRARY),
    ("length_beyond_64_bits", get(b"/healthz", b"Content-Length: 99999999999999999999999\r\n",
                                  b"POST"), BAD_OR_LIBRARY | {(413, None)}),
    ("encoding_gzip", get(b"/healthz", b"Transfer-Encoding: gzip\r\n", b"POST"),
     {(501, "transfer-encoding")}),
    ("encoding_gzip_chunked", get(b"/healthz", b"Transfer-Encoding: gzip, chunked\r\n", b"POST")
     + b"0\r\n\r\n", {(501, "transfer-encoding")}),
    ("encoding_identity", get(b"/healthz", b"Transfer-Encoding: identity\r\n", b"POST"),
     {(501, "transfer-encoding")}),
    ("encoding_misspelt", get(b"/healthz", b"Transfer-Encoding: xchunked\r\n", b"POST"),
     {(501, "transfer-encoding")}),
    ("encoding_with_tab", get(b"/healthz", b"Transfer-Encoding:\tchunked\r\n", b"GET")
     + b"0\r\n\r\n", {(400, "request-invalid"), (501, "transfer-encoding")}),
    ("two_encodings", get(b"/healthz", b"Transfer-Encoding: chunked\r\n" * 2, b"POST")
     + b"0\r\n\r\n", BAD),
    ("chunked_1_0", get(b"/healthz", b"Transfer-Encoding: chunked\r\n", b"POST", b"HTTP/1.0")
     + b"0\r\n\r\n", BAD),
    ("bad_chunk_size", get(b"/nope", AUTH + b"Transfer-Encoding: chunked\r\n", b"POST")
     + b"zz\r\nabc\r\n", {(404, "not-found"), (400, None), CLOSE}),
    ("huge_chunk_size", get(b"/nope", AUTH + b"Transfer-Encoding: chunked\r\n", b"POST")
     + b"ffffffffffffffffffff\r\nabc\r\n", {(404, "not-found"), (400, None), CLOSE}),
    ("body_where_none_is_taken", get(b"/healthz", b"Content-Length: 3\r\n") + b"abc",
     {(400, "request-invalid")}),
    ("huge_announced_body", get(b"/healthz", b"Content-Length: 5000000000\r\n"),
     {(400, "request-invalid")}),
    ("post_to_get_route", get(b"/v1/info", AUTH + b"Content-Length: 3\r\n", b"POST") + b"abc",
     {(405, "method-not-allowed")}),
    ("allow_is_said", allow_header, {(405, "method-not-allowed")}),
    ("kept_after_small_refusal", kept_after_small_refusal, {(404, "not-found")}),
    ("expect_is_answered_at_once", expect_continue, {(404, "not-found")}),
    ("unknown_expectation", get(b"/healthz", b"Expect: magic\r\n"), {(417, "expectation-failed")}),
    ("endless_refused_body", endless_chunks, {(404, "not-found"), CLOSE}),
    ("nothing_after_a_refusal", pipelined_after_refusal, BAD),
    # header fields
    ("space_before_colon", get(b"/healthz", b"X-Name : v\r\n"), BAD_OR_LIBRARY),
    ("space_before_colon_of_length", get(b"/healthz", b"Content-Length : 3\r\n", b"POST") + b"abc",
     BAD_OR_LIBRARY),
    ("space_before_name", get(b"/healthz", b" X-Name: v\r\n", host=b"Host: @H\r\nA: b\r\n"),
     BAD_OR_LIBRARY | OK),
    ("no_colon", get(b"/healthz", b"nonsense\r\n"), BAD_OR_LIBRARY),
    ("empty_name", get(b"/healthz", b": v\r\n"), BAD_OR_LIBRARY | OK),
    ("name_with_parentheses", get(b"/healthz", b"X(1): v\r\n"), BAD_OR_LIBRARY),
    ("name_with_high_byte", get(b"/healthz", b"X\xff: v\r\n"), BAD_OR_LIBRARY),
    ("control_byte_in_value", get(b"/healthz", b"X-Name: a\x01b\r\n"), BAD_OR_LIBRARY),
    ("escape_in_value", get(b"/healthz", b"X-Name: \x1b[31m\r\n"), BAD_OR_LIBRARY),
    ("delete_in_value", get(b"/healthz", b"X-Name: a\x7fb\r\n"), BAD_OR_LIBRARY),
    ("bare_return_in_value", get(b"/healthz", b"X-Name: a\rb\r\n"), BAD_OR_LIBRARY),
    ("nul_in_value", get(b"/healthz", b"X-Name: a\0b\r\n"), BAD_OR_LIBRARY | OK),
    ("too_many_headers", get(b"/healthz", b"".join(b"X-%d: v\r\n" % i for i in range(150))),
     {(431, "headers-too-many")}),
    ("headers_over_32_KiB", get(b"/healthz", b"X-Long: " + b"a" * 40000 + b"\r\n"),
     {(431, None), (414, None), CLOSE}),
    # the request line
    ("lower_case_method", get(b"/healthz", method=b"get"), {(405, "method-not-allowed")}),
    ("unknown_method", get(b"/healthz", method=b"BREW"), {(405, "method-not-allowed")}),
    ("trace", get(b"/healthz", method=b"TRACE"), {(405, "method-not-allowed")}),
    ("connect", get(b"127.0.0.1:1", method=b"CONNECT"), {(405, "method-not-allowed")} | BAD),
    ("options_star", get(b"*", method=b"OPTIONS"), {(405, "method-not-allowed")} | BAD),
    ("tab_in_method", b"GET\t/healthz HTTP/1.1\r\nHost: @H\r\n\r\n",
     BAD_OR_LIBRARY | {(405, "method-not-allowed")}),
    ("version_1_9", get(b"/healthz", version=b"HTTP/1.9"), BAD_OR_LIBRARY),
    ("version_2_0", get(b"/healthz", version=b"HTTP/2.0"), BAD_OR_LIBRARY | {(505, None)}),
    ("version_lower_case", get(b"/healthz", version=b"http/1.1"), BAD_OR_LIBRARY),
    ("no_version", b"GET /healthz\r\nHost: @H\r\n\r\n", BAD_OR_LIBRARY),
    ("http_2_preface", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
     BAD_OR_LIBRARY | {(405, "method-not-allowed"), (505, None)}),
    ("tls_hello", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 300,
     BAD_OR_LIBRARY | {(405, "method-not-allowed")}),
    ("garbage", bytes(range(256)) * 4 + b"\r\n\r\n", BAD_OR_LIBRARY | {(405, "method-not-allowed")}),
    ("only_line_ends", b"\r\n" * 200, {CLOSE, (400, None)}),
    # the target
    ("absolute_form", get(b"http://127.0.0.1/healthz"), BAD),
    ("no_slash", get(b"healthz"), BAD),
    ("dot_segments", get(b"/v1/../healthz"), BAD),
    ("encoded_dot_segments", get(b"/v1/%2e%2e/healthz"), BAD),
    ("encoded_slash", get(b"/v1%2finfo", AUTH), BAD),
    ("double_encoded_dots", get(b"/v1/%252e%252e/healthz", AUTH), {(404, "not-found")}),
    ("backslash", get(b"/v1\\info", AUTH), BAD),
    ("encoded_nul", get(b"/healthz%00", AUTH), BAD),
    ("encoded_line_end", get(b"/healthz%0d%0aX:y", AUTH), BAD),
    ("bad_percent", get(b"/healthz%zz", AUTH), BAD),
    ("cut_percent", get(b"/healthz%4", AUTH), BAD),
    ("percent_at_end", get(b"/healthz%", AUTH), BAD),
    ("invalid_utf8", get(b"/%ff", AUTH), BAD),
    ("overlong_utf8", get(b"/%c0%af", AUTH), BAD),
    ("surrogate", get(b"/%ed%a0%80", AUTH), BAD),
    ("raw_high_byte", get(b"/\xc3\xa9", AUTH), BAD),
    ("fragment", get(b"/healthz#x", AUTH), BAD),
    ("many_segments", get(b"/a" * 100, AUTH), BAD),
    ("long_target", get(b"/" + b"a" * 40000, AUTH), {(414, None), (431, None), CLOSE}),
    ("double_slash", get(b"//healthz", AUTH), {(404, "not-found")}),
    ("trailing_slash", get(b"/healthz/", AUTH), {(404, "not-found")}),
    ("query_parameter_twice", get(b"/healthz?a=1&a=2"), {(400, "request-invalid")}),
    ("unknown_query_parameter", get(b"/healthz?fromat=json"), {(400, "unknown-member")}),
    ("nul_in_query", get(b"/healthz?a=%00"), BAD),
    ("many_query_parameters", get(b"/healthz?" + b"&".join(b"a%d=1" % i for i in range(100))),
     BAD),
    # media
    ("not_acceptable", get(b"/v1/info", AUTH + b"Accept: image/png\r\n"),
     {(406, "not-acceptable")}),
    ("not_acceptable_by_q_0", get(b"/v1/info", AUTH + b"Accept: application/json;q=0\r\n"),
     {(406, "not-acceptable")}),
    # time and tearing
    ("slow_headers", slow_headers, {(408, "request-timeout"), CLOSE}),
    ("slow_body", slow_body, {(408, "request-timeout"), CLOSE}),
    ("silent_connection", silent, {CLOSE}),
    ("cut_request_line", b"GET /hea", {CLOSE}, True),
    ("cut_headers", b"GET /healthz HTTP/1.1\r\nHost: @H\r\nX-",
     {CLOSE, (408, "request-timeout")}, True),
    ("cut_body", get(b"/nope", AUTH + b"Content-Length: 100\r\n", b"POST") + b"abc",
     {CLOSE, (404, "not-found"), (408, "request-timeout")}, True),
    ("reset_in_headers", reset_in_headers, {CLOSE}),
    ("reset_in_body", reset_in_body, {CLOSE}),
    ("many_connections", many_connections, {(503, "too-many-connections")}),
]


def check_health(server):
    answer = send(server, get(b"/healthz"))
    assert answer == (200, None), f"afterwards /healthz gave {answer}"
    assert server.process.poll() is None, "the server has ended"


def run_case(server, name, request, expected, shut=False):
    try:
        if callable(request):
            got = request(server)
        else:
            got = send(server, request.replace(b"@P", str(server.port).encode()), shut)
        assert got in expected, f"got {got}, expected one of {sorted(map(str, expected))}"
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
    results += [run_case(server, *case) for case in CASES]
    results.append(run_case(server, "everything_at_once", everything_at_once, {(200, None)}))
    code = server.stop()
    print("ok clean_stop" if code == 0 else f"FAIL clean_stop: exit code {code}")
    results.append(code == 0)
    failed = results.count(False)
    print(f"{len(results) - failed} passed, {failed} failed")
    return 1 if failed else 0


def everything_at_once(server):
    """The plain cases again, from eight threads."""
    def work(offset):
        for name, request, *_ in CASES[offset::8]:
            if not callable(request):
                send(server, request.replace(b"@P", str(server.port).encode()), True)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return send(server, get(b"/healthz"))


if __name__ == "__main__":
    sys.exit(main())

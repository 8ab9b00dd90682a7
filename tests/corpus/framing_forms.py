# SPDX-License-Identifier: Apache-2.0
"""What the texts of the framing corpus become: the bytes of a connection. In texts, but not in
expressions, \\r \\n \\t \\0 \\xHH and \\\\ are bytes. @H is the server's host and port, @P its port,
@T the token."""
import re

END = b"\r\n"
HOST = b"Host: @H\r\n"
AUTH = b"Authorization: Bearer @T\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"
NAMED = {b"r": b"\r", b"n": b"\n", b"t": b"\t", b"0": b"\0", b"\\": b"\\"}


def as_bytes(text):
    """A text with its escapes; an expression as it is."""
    if isinstance(text, bytes):
        return text
    return re.sub(rb"\\(x[0-9a-fA-F]{2}|.)", lambda m: NAMED.get(m[1]) or bytes.fromhex(m[1][1:].decode()),
                  text.encode())


def get(target, headers=b"", method=b"GET", version=b"HTTP/1.1", host=HOST):
    """A whole request without a body."""
    return method + b" " + target + b" " + version + END + host + headers + END


def numbered(n, name=b"X-%d"):
    """n headers."""
    return b"".join(name % i + b": v\r\n" for i in range(n))


def form_bytes(text):
    """All of it."""
    return as_bytes(text)


def form_line(text):
    """The request line."""
    return as_bytes(text) + END + HOST + END


def form_target(text):
    """The address of a GET with a token."""
    return get(as_bytes(text), AUTH)


def form_host(text):
    """What stands where the header Host does."""
    return get(b"/healthz", host=as_bytes(text) + END)


def form_header(text):
    """A header of GET /healthz, or several."""
    return get(b"/healthz", as_bytes(text) + END)


def form_info(text):
    """A header of GET /v1/info, which asks for a token."""
    return get(b"/v1/info", as_bytes(text) + END)


def form_post(text):
    """The last headers, the empty line and the body of a POST to where none is taken."""
    return b"POST /healthz HTTP/1.1\r\n" + HOST + as_bytes(text)


def form_eval(text):
    """The last headers, the empty line and the body of an evaluation."""
    return b"POST /v1/eval HTTP/1.1\r\n" + HOST + AUTH + b"Content-Type: application/json\r\n" + as_bytes(text)


def form_nowhere(text):
    """The last headers, the empty line and the body of a POST that finds no route."""
    return b"POST /nope HTTP/1.1\r\n" + HOST + AUTH + as_bytes(text)


def form_cut(text):
    """All of it, and then the client has said everything."""
    return as_bytes(text)

#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Whether a wrong token's refusal takes longer the more of it is right: Welch's t of two kinds of wrong tokens, sent in turn.

    python3 tests/bench/token_timing.py [COUNT]

|t| stays below 4.5 or so if nothing is told. It is a measurement, not a test: a busy machine widens both."""
import math
import os
import random
import socket
import statistics
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from server import Server  # noqa: E402


def refusal_us(s, port, token):
    request = b"GET /v1/info HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nAuthorization: Bearer %s\r\n\r\n" % (port, token.encode())
    start = time.perf_counter_ns()
    s.sendall(request)
    answer = s.recv(65536)
    took = (time.perf_counter_ns() - start) / 1000
    assert answer.startswith(b"HTTP/1.1 401"), answer[:100]
    return took


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20000
    with Server("--auth-failures-per-minute-max", "1000000000", "--log-level", "error") as server:
        near = server.token[:-1] + ("0" if server.token[-1] != "0" else "1")
        far = "".join("%x" % (15 - int(digit, 16)) for digit in server.token)
        times = {near: [], far: []}
        with socket.create_connection(("127.0.0.1", server.port)) as s:
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for _ in range(count):
                for token in random.sample((near, far), 2):  # in no order that would be measured
                    times[token].append(refusal_us(s, server.port, token))
    cut = sorted(times[near] + times[far])[int(count * 2 * 0.95)]  # what the scheduler did
    kept = [[t for t in times[token] if t < cut] for token in (near, far)]
    (a, b), (va, vb) = map(statistics.mean, kept), map(statistics.variance, kept)
    t = (a - b) / math.sqrt(va / len(kept[0]) + vb / len(kept[1]))
    print("all but the last digit right: %.2f us; none right: %.2f us; t = %.2f (n = %d)" % (a, b, t, count))


main()

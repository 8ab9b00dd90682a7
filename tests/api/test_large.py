# SPDX-License-Identifier: Apache-2.0
"""A JSON tensor of 100 MB passes through within its tensor's bytes and 16 MiB, both ways."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from server import Report, Server  # noqa: E402

COUNT, SLACK = 5_300_000, 16 << 20
SANITIZED = "-san" in os.environ.get("BUILD", "")  # shadow memory is not ours


def peak_bytes(server):
    """The most memory that the server ever had resident."""
    with open("/proc/%d/status" % server.process.pid) as f:
        return next(int(line.split()[1]) * 1024 for line in f if line.startswith("VmHWM"))


def main():
    report = Report()
    part = ",".join("%.17g" % (0.1 + i * 1.2345678901234e-5) for i in range(100_000))
    body = "[" + ",".join([part] * (COUNT // 100_000)) + "]"
    tensor_bytes = COUNT // 100_000 * 100_000 * 8
    report.check(len(body) > 99e6, "the body has only %d bytes" % len(body))
    json_type = {"Content-Type": "application/json"}
    with Server() as server:
        server.eval("1 + 1")
        before = peak_bytes(server)
        status, _, data = server.request("PUT", "/v1/variables/x", body, json_type)
        grown = peak_bytes(server) - before
        report.check(status == 201, "PUT: %d %s" % (status, data[:200]))
        print("note: PUT of %d MB took %.1f MiB above the tensor's %.1f" % (
            len(body) // 1000000, (grown - tensor_bytes) / 2**20, tensor_bytes / 2**20))
        report.check(SANITIZED or grown <= tensor_bytes + SLACK, "PUT took %d bytes" % grown)
        status, _, data = server.request("GET", "/v1/variables/x")
        report.check(status == 200 and len(data) > len(body) // 2, "GET: %d" % status)
        grown = peak_bytes(server) - before
        # The stored array is a mapped file: its pages may be resident beside nothing else.
        report.check(SANITIZED or grown <= 2 * tensor_bytes + SLACK, "GET took %d bytes" % grown)
        envelope = '{"program": "x.sum()", "inputs": {"x": %s}}' % body
        status, _, data = server.request("POST", "/v1/eval", envelope, json_type)
        report.check(status == 200 and b'"shape":[]' in data, "eval: %d %s" % (status, data[:200]))
    return report.end()


sys.exit(main())

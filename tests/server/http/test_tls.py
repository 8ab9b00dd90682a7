#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""TLS, and what is refused at the start because others could listen."""
import http.client
import json
import os
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import threading

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))
from server import TENSORD, Report, Server  # noqa: E402


class TlsServer(Server):
    """A server that speaks TLS with the certificate in a directory."""

    def __init__(self, place):
        self.context = ssl.create_default_context(cafile=os.path.join(place, "cert.pem"))
        super().__init__("--tls-cert", os.path.join(place, "cert.pem"), "--tls-key", os.path.join(place, "key.pem"))

    def request(self, method, path, body=None, headers=None):
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=60, context=self.context)
        connection.request(method, path, body, {"Authorization": "Bearer " + self.token, **(headers or {})})
        answer = connection.getresponse()
        result = answer.status, answer.headers, answer.read()
        connection.close()
        return result


def refused(*words):
    """The exit code and errors of a server that does not start."""
    data = tempfile.mkdtemp(prefix="tensord-tls-")
    p = subprocess.run([TENSORD, "serve", "--data", data, *words], capture_output=True, text=True, timeout=20)
    shutil.rmtree(data)
    return p.returncode, p.stderr


def unsafe_starts(report, place):
    cert, key = os.path.join(place, "cert.pem"), os.path.join(place, "key.pem")
    for words, code, said in ((("--listen", "0.0.0.0:0"), 2, "tls-cert"), (("--listen", "[::]:0"), 2, "tls-cert"),
                              (("--tls-cert", cert), 2, "both"), (("--tls-key", key), 2, "both"),
                              (("--tls-cert", cert, "--tls-key", "/nowhere"), 1, "nowhere"),
                              (("--tls-cert", key, "--tls-key", "/etc/passwd"), 1, "PEM"),
                              (("--listen", "0.0.0.0:0", "--auth", "none", "--tls-cert", cert, "--tls-key", key), 2, "auth none")):
        found, errors = refused(*words)
        report.check(found == code and said in errors, f"{words}: {found} {errors}")
    with Server("--listen", "0.0.0.0:0", "--behind", "nginx", "--allow-host", "tensor.example") as server:
        report.check(server.eval("1 + 1")[0] == 200, "behind a proxy")
        line = server.process.stdout.readline().decode()
        report.check("http://127.0.0.1:%d/#token=" % server.port in line, f"a link that works here: {line}")
        public = {"Host": "tensor.example", "Origin": "https://tensor.example"}
        cookie = server.request("POST", "/v1/login", None, public)[1]["Set-Cookie"]
        report.check("; Secure" in cookie, f"a cookie for a proxy's TLS: {cookie}")


def requests(report, server):
    report.check(server.eval("arange(5).sum()")[1]["result"]["data"] == 10, "an evaluation")
    server.eval("x = arange(2000000)", store=["x"])
    report.check(len(server.request("GET", "/v1/variables/x?format=raw")[2]) == 16000000, "a large answer")
    body = bytes(8 * 1000000)
    status = server.request("PUT", "/v1/variables/y", body, {
        "Content-Type": "application/octet-stream", "Tensor-Dtype": "float64", "Tensor-Shape": "1000000"})[0]
    report.check(status == 201, f"a large body: {status}")
    answers = []
    threads = [threading.Thread(target=lambda: answers.append(server.eval("sum(fori_loop(0, 20000, lambda i, v: v + 1.0, zeros(10)))")))
               for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    report.check([a[1]["result"]["data"] for a in answers] == [200000.0] * 8, "many at once, on workers")
    job = server.json("POST", "/v1/eval", {"program": "1"}, {"Prefer": "respond-async"})[1]["id"]
    stream = server.request("GET", "/v1/jobs/%s/events" % job)[2]
    report.check(b'"state":"done"' in stream, "a stream that sleeps")
    origin = "https://127.0.0.1:%d" % server.port
    report.check(server.request("GET", "/v1/info", None, {"Origin": origin})[0] == 200, "its own pages")
    report.check("; Secure" in server.request("POST", "/v1/login", None, {"Origin": origin})[1]["Set-Cookie"], "its cookies")
    report.check(server.request("GET", "/v1/info", None, {"Origin": origin.replace("https", "http")})[0] == 403, "http pages")


def others(report, server):
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as s:
        s.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        try:
            report.check(not s.recv(100).startswith(b"HTTP"), "plain HTTP is answered")
        except OSError:
            report.check(True, "")
    old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
    old.minimum_version = ssl.TLSVersion.TLSv1
    old.maximum_version = ssl.TLSVersion.TLSv1_1
    old.set_ciphers("ALL:@SECLEVEL=0")
    try:
        with socket.create_connection(("127.0.0.1", server.port), timeout=10) as s, old.wrap_socket(s):
            report.check(False, "TLS 1.1 is spoken")
    except (ssl.SSLError, OSError):
        report.check(True, "")
    report.check(server.request("GET", "/healthz")[0] == 200, "afterwards")


def main():
    report = Report()
    place = tempfile.mkdtemp(prefix="tensord-tls-")
    try:
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                        "-keyout", os.path.join(place, "key.pem"), "-out", os.path.join(place, "cert.pem"), "-days", "2",
                        "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"],
                       check=True, capture_output=True)
        unsafe_starts(report, place)
        with TlsServer(place) as server:
            requests(report, server)
            others(report, server)
    finally:
        shutil.rmtree(place)
    return report.end()


sys.exit(main())

#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Browsers as HTTP sees them: logging in and out, and pages of other origins."""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))
from server import TENSORD, Report, Server  # noqa: E402

JSON = {"Content-Type": "application/json"}
APP = "https://app.example"


def tensord(server, *words):
    return subprocess.run([TENSORD, *words, "--data", server.data], capture_output=True, text=True, timeout=60)


def code_of(line):
    return re.search("#token=([0-9a-f]{64})$", line.strip()).group(1)


def log_in(server, bearer, **headers):
    status, found, data = server.request("POST", "/v1/login", None, {"Authorization": "Bearer " + bearer, **headers})
    return status, found["Set-Cookie"] or json.loads(data)["code"]


def by_cookie(server, cookie, method="GET", path="/v1/info", document=None, **headers):
    body = None if document is None else json.dumps(document)
    return server.request(method, path, body, {"Authorization": "", "Cookie": cookie, **(JSON if body else {}), **headers})


def a_link_is_swapped_once_for_a_cookie(report, server):
    first = code_of(server.process.stdout.readline().decode())
    printed = tensord(server, "login").stdout
    report.check(printed.startswith("http://127.0.0.1:%d/#token=" % server.port), printed)
    code = code_of(printed)
    report.check(log_in(server, first) == (401, "unauthorized"), "the link before the last one")
    report.check(server.request("GET", "/v1/info", None, {"Authorization": "Bearer " + code})[0] == 401, "a code is no token")
    status, cookie = log_in(server, code)
    report.check(status == 204 and re.fullmatch("tensord-%d=[0-9a-f]{64}; Path=/; Max-Age=86400; HttpOnly; SameSite=Strict"
                                                % server.port, cookie), f"{status} {cookie}")
    report.check(log_in(server, code) == (401, "unauthorized"), "the same link again")
    cookie = cookie.split(";")[0]
    report.check(by_cookie(server, cookie)[0] == 200, "by cookie")
    report.check(by_cookie(server, "a=1; %s; b=2" % cookie)[0] == 200, "among others")
    status, _, data = by_cookie(server, cookie, "POST", "/v1/eval", {"program": "1 + 1"}, **{"X-Tensord": "1"})
    report.check(status == 200 and json.loads(data)["result"]["data"] == 2, "an evaluation")
    kept = os.listdir(server.data)
    secret = cookie.split("=")[1].encode()
    files = [os.path.join(server.data, name) for name in kept if os.path.isfile(os.path.join(server.data, name))]
    report.check(not any(secret in open(f, "rb").read() for f in files), "the cookie is in no file")
    status, found, _ = by_cookie(server, cookie, "POST", "/v1/logout", **{"X-Tensord": "1"})
    report.check(status == 204 and "Max-Age=0" in found["Set-Cookie"], f"{found}")
    report.check(by_cookie(server, cookie)[0] == 401, "after logging out")


def a_journal_gets_no_link(report):
    os.environ["JOURNAL_STREAM"] = "8:1"
    with Server() as server:
        del os.environ["JOURNAL_STREAM"]
        report.check(not os.path.exists(os.path.join(server.data, "login")), "a link was made")
        report.check(code_of(tensord(server, "login").stdout) != "", "tensord login")
        server.process.send_signal(signal.SIGTERM)
        report.check(server.process.stdout.read() == b"", "a line was written")
        server.process.wait(timeout=60)
        done = tensord(server, "login")
        report.check(done.returncode == 1 and "no server runs here" in done.stderr and done.stdout == "",
                     f"a link to a server that was stopped: {done}")


def a_code_ends_after_ten_minutes(report, server):
    code = code_of(tensord(server, "login").stdout)
    path = os.path.join(server.data, "login")
    digest, ends = open(path).read().split()
    report.check(code not in digest and 590e6 < int(ends) - time.time() * 1e6 <= 600e6, f"{ends}")
    report.check(os.stat(path).st_mode & 0o777 == 0o600, "its file")
    with open(path, "w") as f:
        f.write("%s %d\n" % (digest, time.time() * 1e6 - 1))
    report.check(log_in(server, code)[0] == 401, "too late")


def a_session_ends_with_its_token(report, server):
    token = tensord(server, "token", "create", "guest", "read").stdout.strip()
    cookie = log_in(server, token)[1].split(";")[0]
    report.check(by_cookie(server, cookie)[0] == 200, "by a token's session")
    status, _, data = by_cookie(server, cookie, "PUT", "/v1/variables/x", 1, **{"X-Tensord": "1"})
    report.check(status == 403 and json.loads(data)["code"] == "forbidden", "it has the scopes of the token")
    tensord(server, "token", "revoke", "guest")
    report.check(by_cookie(server, cookie)[0] == 401, "revoked")


def a_session_is_not_kept_with_an_idempotency_key(report, server):
    code = code_of(tensord(server, "login").stdout)
    key = {"Idempotency-Key": "k"}
    report.check(log_in(server, code, **key)[0] == 204 and log_in(server, code, **key)[0] == 401, "sent again")
    server.stop()
    secrets = server.token.encode(), code.encode()
    with open(os.path.join(server.data, "log"), "rb") as f:
        log = f.read()
    report.check(not any(secret in log for secret in secrets) and b"Bearer" not in log, "secrets are in the log")
    server.start()


def pages_bring_one_script_of_their_own(report, server):
    for path in ("/", "/docs", "/problems/internal"):
        status, found, data = server.request("GET", path, None, {"Authorization": ""})
        policy = dict((part.split() + [""])[:2] for part in found["Content-Security-Policy"].split(";"))
        report.check(status == 200 and policy["default-src"] == "'none'" and policy["script-src"] == "'self'"
                     and policy["frame-ancestors"] == "'none'" and policy["form-action"] == "'none'", f"{path}: {policy}")
        page = data.decode()
        report.check(not re.search(r"<script(?! src=\"/page.js\" defer></script>)|\son\w+=|javascript:|<style|\sstyle=", page), path)
        report.check(server.token not in page, "the token is in a page")
    script = server.request("GET", "/page.js", None, {"Authorization": ""})[2].decode()
    report.check(not re.search("innerHTML|document.write|eval|insertAdjacent|localStorage|cookie", script), "the script")
    for path in ("/problems/%3Cscript%3Ealert(1)%3C%2Fscript%3E", "/v1/%3Cscript%3E", "/v1/variables/%3Cscript%3E"):
        found = server.request("GET", path)[1]
        report.check(found["Content-Type"] == "application/problem+json", f"{path}: {found}")


def pages_of_the_list_may_use_a_token(report, server):
    status, found, _ = server.request("GET", "/v1/info", None, {"Origin": APP})
    report.check(status == 200 and found["Access-Control-Allow-Origin"] == APP and "Origin" in found["Vary"], f"{found}")
    exposed = found["Access-Control-Expose-Headers"].split(", ")
    for name in ("ETag", "Tensord-Commit", "Tensord-Snapshot", "Tensor-Dtype", "Tensor-Shape", "Location", "X-Request-Id",
                 "Server-Timing"):
        report.check(name in exposed, name)
    report.check("Access-Control-Allow-Credentials" not in found, "credentials")
    status, found, _ = server.request("GET", "/v1/nowhere", None, {"Origin": APP})
    report.check(status == 404 and found["Access-Control-Allow-Origin"] == APP, "an error that the page may read")
    status, found, _ = server.request("GET", "/v1/info", None, {"Origin": APP, "Authorization": ""})
    report.check(status == 401 and found["Access-Control-Allow-Origin"] == APP, "without a token")
    cookie = log_in(server, server.token)[1].split(";")[0]
    report.check(by_cookie(server, cookie, Origin=APP, **{"X-Tensord": "1"})[0] == 401, "a cookie from another origin")
    report.check(server.request("POST", "/v1/login", None, {"Origin": APP})[0] == 403, "logging in from another origin")


def a_preflight_is_answered_for_pages_of_the_list(report, server):
    asks = {"Authorization": "", "Origin": APP, "Access-Control-Request-Method": "PUT",
            "Access-Control-Request-Headers": "authorization,content-type"}
    status, found, _ = server.request("OPTIONS", "/v1/variables/x", None, asks)
    report.check(status == 204 and found["Access-Control-Allow-Origin"] == APP, f"{status} {found}")
    report.check({"GET", "PUT", "PATCH", "DELETE"} <= set(found["Access-Control-Allow-Methods"].split(", ")), f"{found}")
    headers = {h.lower() for h in found["Access-Control-Allow-Headers"].split(", ")}
    report.check({"authorization", "content-type", "if-match", "idempotency-key", "prefer"} <= headers, f"{headers}")
    report.check("x-tensord" not in headers, "the header of cookies is not for pages elsewhere")
    report.check("Access-Control-Allow-Credentials" not in found and "*" not in str(found.values()), f"{found}")
    report.check("Access-Control-Allow-Private-Network" not in found, "what was not asked for")
    network = {"Access-Control-Request-Private-Network": "true"}
    found = server.request("OPTIONS", "/v1/variables/x", None, {**asks, **network})[1]
    report.check(found["Access-Control-Allow-Private-Network"] == "true", "from the internet to this machine")
    asks.update(network)
    for origin in ("http://app.example", APP + ".evil", APP + ":8443", "https://APP.example", "null", "*", APP + "/"):
        status, found, _ = server.request("OPTIONS", "/v1/variables/x", None, {**asks, "Origin": origin})
        report.check(status == 403 and not any(key.startswith("Access-Control") for key in found), f"{origin}: {status}")
    status, found, _ = server.request("OPTIONS", "/v1/variables/x", None, {"Authorization": ""})
    report.check(status == 204 and "OPTIONS" in found["Allow"] and "Access-Control-Allow-Methods" not in found, f"{found}")
    report.check(server.request("OPTIONS", "/v1/nowhere", None, asks)[0] in (401, 404), "of nothing")


def what_is_no_origin_is_refused_at_the_start(report):
    for origin in ("*", "null", "app.example", "https://app.example/", "https://*.example"):
        with tempfile.TemporaryDirectory(prefix="tensord-test-") as data:
            p = subprocess.run([TENSORD, "serve", "--data", data, "--listen", "127.0.0.1:0", "--allow-origin", origin],
                               capture_output=True, text=True, timeout=20)
        report.check(p.returncode != 0 and "allow-origin" in p.stderr, f"{origin}: {p}")


def main():
    report = Report()
    with Server("--auth-failures-per-minute-max", "1000", "--allow-origin", APP, "--allow-origin", "http://other.example:1") as server:
        for test in (a_link_is_swapped_once_for_a_cookie, a_code_ends_after_ten_minutes, a_session_ends_with_its_token,
                     a_session_is_not_kept_with_an_idempotency_key, pages_bring_one_script_of_their_own,
                     pages_of_the_list_may_use_a_token, a_preflight_is_answered_for_pages_of_the_list):
            test(report, server)
    a_journal_gets_no_link(report)
    what_is_no_origin_is_refused_at_the_start(report)
    return report.end()


sys.exit(main())

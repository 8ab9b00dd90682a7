#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Who may do what: every route of the API document, tried by every kind of caller and in every mode.

The routes, their scopes and the bodies they take are read from /openapi.json, so that a new route is tried as it comes."""
import http.client
import json
import os
import socket
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))
from server import TENSORD, Report, Server  # noqa: E402

SCOPES = ("read", "eval", "write", "admin")
FREE = ("--auth-failures-per-minute-max", "1000000", "--token-requests-burst-max", "1000000")
FILL = {"{name}": "x", "{op}": "add", "{id}": "0" * 24, "{code}": "internal"}


class Route:
    def __init__(self, path, method, row):
        self.pattern, self.method = path, method.upper()
        self.public = row.get("security") == []
        self.scopes = set(row["x-scopes"].split(",")) - {""}
        self.takes = next(iter(row["requestBody"]["content"])) if "requestBody" in row else None
        self.target = path
        for key, value in FILL.items():
            self.target = self.target.replace(key, value)

    def __str__(self):
        return "%s %s" % (self.method, self.pattern)

    def request(self, **headers):
        """What is sent; the body is nothing that a route would take, so that nothing is changed."""
        if self.takes is not None:
            headers.setdefault("Content-Type", self.takes)
        return self.method, self.target, "" if self.takes is None else "{", headers


def routes_of(server):
    paths = json.loads(server.request("GET", "/openapi.json")[2])["paths"]
    return [Route(path, method, row) for path, rows in paths.items() for method, row in rows.items()]


def tensord(server, *words):
    p = subprocess.run([TENSORD, "token", *words, "--data", server.data], capture_output=True, text=True, timeout=60, check=True)
    return p.stdout.strip()


def send(server, route, authorization, **headers):
    """(status, code): code is that of a problem."""
    method, target, body, all_headers = route.request(Authorization=authorization, **headers)
    if target.endswith("/events"):
        all_headers["Connection"] = "close"
    status, _, data = server.request(method, target, body or None, all_headers)
    return status, json.loads(data)["code"] if data[:1] == b"{" and status >= 400 else None


def is_let_in(answer):
    return answer[1] not in ("unauthorized", "forbidden", "host-not-allowed", "origin-not-allowed", "header-missing",
                             "auth-throttled", "rate-limited")


def callers(server):
    """Each kind of caller: the header, and the scopes that it has (None: nobody)."""
    found = {"nobody": ("", None), "wrong": ("Bearer " + "0" * 64, None), "basic": ("Basic " + server.token, None),
             "short": ("Bearer " + server.token[:63], None), "local": ("Bearer " + server.token, set(SCOPES))}
    for scope in SCOPES:
        found[scope] = "Bearer " + tensord(server, "create", "m-" + scope, scope), {scope}
    found["all"] = "Bearer " + tensord(server, "create", "m-all", ",".join(SCOPES)), set(SCOPES)
    found["revoked"] = "Bearer " + tensord(server, "create", "m-gone", ",".join(SCOPES)), None
    tensord(server, "revoke", "m-gone")
    return found


def every_route_asks_for_one_of_its_scopes(report, server, routes):
    for who, (authorization, scopes) in callers(server).items():
        for route in routes:
            answer = send(server, route, authorization)
            if route.pattern == "/v1/login":
                expected = {204} if scopes is not None else {401}
            elif route.public or (scopes is not None and scopes & route.scopes):
                expected = None
            else:
                expected = {401} if scopes is None else {403}
            ok = is_let_in(answer) if expected is None else answer[0] in expected
            report.check(ok, f"{who}: {route}: {answer}, not {expected or 'let in'}")


def every_route_refuses_foreign_hosts_and_pages(report, server, routes):
    token = "Bearer " + server.token
    for route in routes:
        for host in ("evil.example", "127.0.0.1:1", "localhost.evil.example:%d" % server.port):
            answer = send(server, route, token, Host=host)
            report.check(answer == (403, "host-not-allowed"), f"{route} by {host}: {answer}")
        for origin in ("http://evil.example", "null", "http://127.0.0.1:1", "https://127.0.0.1:%d" % server.port):
            answer = send(server, route, token, Origin=origin)
            report.check(answer == (403, "origin-not-allowed"), f"{route} from {origin}: {answer}")
        for site in ("cross-site", "same-site"):
            answer = send(server, route, token, **{"Sec-Fetch-Site": site})
            followed = route.public and route.method == "GET"
            report.check(is_let_in(answer) if followed else answer == (403, "origin-not-allowed"), f"{route} {site}: {answer}")
        answer = send(server, route, token, Origin="http://127.0.0.1:%d" % server.port)
        report.check(is_let_in(answer), f"{route} from its own page: {answer}")


def every_body_of_a_form_is_415(report, server, routes):
    """What a page elsewhere can send without asking first."""
    for route in routes:
        for form in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
            if route.takes is not None:
                answer = send(server, route, "Bearer " + server.token, **{"Content-Type": form})
                report.check(answer == (415, "media-type"), f"{route} {form}: {answer}")


def every_change_by_cookie_needs_the_header(report, server, routes):
    _, headers, _ = server.request("POST", "/v1/login")
    cookie = headers["Set-Cookie"].split(";")[0]
    own = "http://127.0.0.1:%d" % server.port
    for route in sorted(routes, key=lambda route: route.pattern == "/v1/logout"):
        if route.pattern == "/v1/login":
            continue
        safe = route.public or route.method == "GET"
        answer = send(server, route, "", Cookie=cookie)
        report.check(is_let_in(answer) if safe else answer == (403, "header-missing"), f"{route} by cookie: {answer}")
        answer = send(server, route, "", Cookie=cookie, Origin="http://evil.example", **{"X-Tensord": "1"})
        report.check(answer == (403, "origin-not-allowed"), f"{route} by cookie from elsewhere: {answer}")
        answer = send(server, route, "", Cookie="tensord-%d=%s" % (server.port, "0" * 64), **{"X-Tensord": "1"})
        report.check(is_let_in(answer) if route.public else answer[0] == 401, f"{route} by a wrong cookie: {answer}")
        answer = send(server, route, "", Cookie=cookie, Origin=own, **{"X-Tensord": "1"})
        report.check(is_let_in(answer), f"{route} by cookie as pages do: {answer}")
    report.check(send(server, Route("/v1/info", "get", {"x-scopes": "read"}), "", Cookie=cookie)[0] == 401, "after logging out")


def every_answer_keeps_browsers_safe(report, server, routes):
    """Whatever is answered, refused or not: it is of the type it says, in no frame, runs no script and is kept by nobody."""
    for route in routes:
        for authorization in ("Bearer " + server.token, "Bearer <script>alert(1)</script>"):
            method, target, body, headers = route.request(Authorization=authorization)
            status, found, _ = server.request(method, target, body or None, headers)
            policy, media = found["Content-Security-Policy"], found["Content-Type"] or ""
            ok = "default-src 'none'" in policy and "frame-ancestors 'none'" in policy and "unsafe" not in policy
            ok &= found["X-Content-Type-Options"] == "nosniff" and found["Referrer-Policy"] == "no-referrer"
            ok &= found["Cross-Origin-Resource-Policy"] == "same-origin" and "Origin" in found["Vary"]
            ok &= not any(key.startswith("Access-Control") for key in found)
            ok &= media.startswith("text/html") == (route.pattern == "/problems/{code}")
            ok &= media.startswith("text/html") or ("sandbox" in policy and "self" not in policy)
            report.check(ok, f"{route} {status}: {found}")


def every_route_is_open_with_none_but_for_pages_elsewhere(report, routes):
    with Server("--auth", "none") as server:
        for route in routes:
            if route.pattern != "/v1/login":
                report.check(is_let_in(send(server, route, "")), f"none: {route}")
        every_route_refuses_foreign_hosts_and_pages(report, server, routes)
        every_body_of_a_form_is_415(report, server, routes)


class UnixServer(Server):
    """A server on a socket of the file system, asked by that."""

    def start(self):
        self.path = os.path.join(self.data, "socket")
        self.log = open(os.path.join(self.data, "log"), "ab")
        self.process = subprocess.Popen([TENSORD, "serve", "--data", self.data, "--listen", "unix:" + self.path],
                                        stdout=subprocess.PIPE, stderr=self.log)
        self.process.stdout.readline()
        self.token, self.port, self.connection = "", 0, None

    def request(self, method, path, body=None, headers=None):
        connection = http.client.HTTPConnection("localhost", timeout=60)
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.connect(self.path)
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        return answer.status, answer.headers, data


def every_route_is_open_to_the_owner_by_a_socket_of_the_file_system(report, routes):
    with UnixServer() as server:
        for route in routes:
            if route.pattern == "/v1/login":
                continue
            report.check(is_let_in(send(server, route, "")), f"unix: {route}")
            report.check(send(server, route, "", Origin="http://evil.example") == (403, "origin-not-allowed"), f"unix, a page: {route}")


def main():
    report = Report()
    with Server(*FREE) as server:
        routes = routes_of(server)
        report.check(len(routes) > 30 and all(route.public == (not route.scopes) for route in routes), "the routes")
        report.check(all(route.scopes <= set(SCOPES) for route in routes), "the scopes")
        for test in (every_route_asks_for_one_of_its_scopes, every_route_refuses_foreign_hosts_and_pages,
                     every_body_of_a_form_is_415, every_answer_keeps_browsers_safe, every_change_by_cookie_needs_the_header):
            test(report, server, routes)
    every_route_is_open_with_none_but_for_pages_elsewhere(report, routes)
    every_route_is_open_to_the_owner_by_a_socket_of_the_file_system(report, routes)
    return report.end()


sys.exit(main())

#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The API document says which headers are heard and which answers there are; here they are."""
import json
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))
from server import Report, Server  # noqa: E402

BODIES = {
    "put /v1/variables/{name}": 1, "patch /v1/variables/{name}": 1, "post /v1/variables/{name}/append": [1.0],
    "post /v1/variables/{name}/attach": {"path": "/nowhere"}, "put /v1/variables/{name}/attributes": {}, "put /v1/variables": {"y": 1},
    "put /v1/graphs/{name}": {"program": "y = a * 2.0; y", "inputs": {"a": "dscalar"}},
    "post /v1/graphs/{name}/run": {"feeds": {"a": 1.0}}, "post /v1/graphs/{name}/grad": {"of": "y", "wrt": ["a"], "as": "x_grad"},
    "put /v1/notebooks/{name}": {"title": "x", "cells": []}, "post /v1/eval": {"program": "1"},
}


def operations(server):
    for path, methods in json.loads(server.request("GET", "/openapi.json")[2])["paths"].items():
        for method, operation in methods.items():
            yield method, path, operation


def headers_of(operation):
    return {p["name"] for p in operation["parameters"] if p["in"] == "header"}


def ask(server, method, path, name, headers):
    body = BODIES.get("%s %s" % (method, path))
    said = {"Content-Type": "application/json"} if body is not None else {}
    status, found, data = server.request(method.upper(), path.replace("{name}", name), None if body is None else json.dumps(body),
                                         {**said, **headers})
    return status, found, data


def name_of(path):
    return {"graphs": "f", "notebooks": "n"}.get(path.split("/")[2] if path.count("/") > 1 else "", "v")


def fill(server):
    server.json("PUT", "/v1/variables/v", {"dtype": "float64", "shape": [3], "data": [1, 2, 3]})
    server.json("PUT", "/v1/graphs/f", BODIES["put /v1/graphs/{name}"])
    server.json("PUT", "/v1/notebooks/n", BODIES["put /v1/notebooks/{name}"])


def conditions_are_kept_or_refused(report, server):
    """412 where the document lists it; elsewhere what changes something refuses the header."""
    heard = 0
    for method, path, operation in operations(server):
        if path == "/v1/jobs/{id}" or path.endswith("/attach"):  # needs a job; an --attach-root
            continue
        listed = "If-Match" in headers_of(operation)
        report.check(listed == ("412" in operation["responses"]), f"{method} {path}: 412 and If-Match go together")
        status, _, data = ask(server, method, path, name_of(path), {"If-Match": '"other"'})
        if listed:
            heard += 1
            report.check(status == 412, f"{method} {path}: {status} {data[:300]}")
        elif method != "get":
            report.check(status == 400 and b"If-Match" in data, f"{method} {path}: {status} {data[:300]}")
    report.check(heard >= 11, f"{heard} operations hear If-Match")


def what_is_known_is_not_sent_again(report, server):
    heard = 0
    for method, path, operation in operations(server):
        listed = method == "get" and "If-None-Match" in headers_of(operation)
        report.check(listed == ("304" in operation["responses"]), f"{method} {path}: 304 and If-None-Match go together")
        if listed:
            heard += 1
            tag = ask(server, method, path, name_of(path), {})[1]["ETag"]
            status, _, data = ask(server, method, path, name_of(path), {"If-None-Match": tag})
            report.check((status, data) == (304, b""), f"{path}: {status}")
    report.check(heard == 3, f"{heard} operations hear If-None-Match")


def other_answers_are_listed(report, server):
    """Every status that is no error, where it comes and where the document says so."""
    found = {(m, p): set(o["responses"]) for m, p, o in operations(server)}
    part = server.request("GET", "/v1/variables/v?format=raw", None, {"Range": "bytes=0-7"})
    report.check(part[0] == 206 and "206" in found["get", "/v1/variables/{name}"], f"{part[0]}")
    for kind, path in (("w1", "/v1/variables/{name}"), ("w2", "/v1/graphs/{name}"), ("w3", "/v1/notebooks/{name}")):
        status = ask(server, "put", path, kind, {})[0]
        report.check(status == 201 and {"200", "201"} <= found["put", path], f"put {path}: {status} {found['put', path]}")
    for path in ("/v1/eval", "/v1/graphs/{name}/run"):
        status, headers, _ = ask(server, "post", path, "f", {"Prefer": "respond-async"})
        report.check(status == 202 and "202" in found["post", path], f"post {path}: {status}")
    report.check("202" in found["get", "/v1/jobs/{id}/result"] and "204" in found["get", "/v1/jobs/{id}/events"], "jobs")


def headers_are_listed(report, server):
    for method, path, operation in operations(server):
        headers = headers_of(operation)
        changes = method != "get" and operation["x-scopes"] != ""
        report.check(("Idempotency-Key" in headers) == ("X-Tensord" in headers) == changes, f"{method} {path}: {headers}")
        report.check(("Prefer" in headers) == (path in ("/v1/eval", "/v1/graphs/{name}/run")), f"{method} {path}: {headers}")
        raw = "application/octet-stream" in operation.get("requestBody", {}).get("content", {})
        report.check(({"Tensor-Dtype", "Tensor-Shape"} <= headers) == raw, f"{method} {path}: {headers}")


def main():
    report = Report()
    with Server() as server:
        fill(server)
        for test in (conditions_are_kept_or_refused, what_is_known_is_not_sent_again, other_answers_are_listed, headers_are_listed):
            test(report, server)
    return report.end()


sys.exit(main())

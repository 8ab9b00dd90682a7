# SPDX-License-Identifier: Apache-2.0
"""Notebooks: put, got, listed and removed; checked, never run; names and limits."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from server import TENSORD, Report, Server  # noqa: E402

CELLS = [{"id": "a", "kind": "markdown", "source": "# Heat <script>"},
         {"id": "b", "kind": "code", "source": "x = arange(4) ** 2\nx", "view": {"kind": "line"}}]
NOTEBOOK = {"title": "Heat", "cells": CELLS}
LIMITS = ("--notebooks-max", "3", "--notebook-cells-max", "4", "--notebook-source-bytes-max", "100", "--notebook-bytes-max", "2 KiB")
# What is wrong, the code and where.
WRONG = [([], 400, "request-invalid", ""), ({}, 400, "request-invalid", ""), ({"cells": {}}, 400, "request-invalid", "/cells"),
         ({"cells": [1]}, 400, "request-invalid", "/cells/0"), ({"cells": [{}]}, 400, "request-invalid", "/cells/0"),
         ({"cells": [], "titel": "x"}, 400, "unknown-member", "/titel"), ({"cells": [], "title": 1}, 400, "request-invalid", "/title"),
         ({"cells": [{**CELLS[0], "kind": "html"}]}, 400, "request-invalid", "/cells/0/kind"),
         ({"cells": [{**CELLS[0], "output": "x"}]}, 400, "unknown-member", "/cells/0/output"),
         ({"cells": [{**CELLS[0], "view": []}]}, 400, "request-invalid", "/cells/0/view"),
         ({"cells": [CELLS[0], CELLS[0]]}, 400, "request-invalid", "/cells/1/id")]


def cells(n, size=5):
    return {"cells": [{"id": str(i), "kind": "code", "source": "x" * size} for i in range(n)]}


def put(server, name, document, headers=None, query=""):
    status, headers, data = server.request("PUT", "/v1/notebooks/" + name + query, json.dumps(document),
                                           {"Content-Type": "application/json", **(headers or {})})
    return status, headers, json.loads(data)


def names(server, query=""):
    return [n["name"] for n in server.json("GET", "/v1/notebooks" + query)[1]["notebooks"]]


def check_life(report, server):
    status, headers, meta = put(server, "heat", NOTEBOOK)
    report.check(status == 201 and meta["name"] == "heat" and headers["Location"] == "/v1/notebooks/heat", f"{status} {meta}")
    report.check(int(headers["Tensord-Commit"]) == meta["commit"], "the commit")
    tag = headers["ETag"]
    status, headers, data = server.request("GET", "/v1/notebooks/heat")
    report.check(status == 200 and json.loads(data) == NOTEBOOK and headers["ETag"] == tag, f"{status} {data}")
    report.check(server.request("GET", "/v1/notebooks/heat", None, {"If-None-Match": tag})[0] == 304, "known")
    report.check(server.json("PUT", "/v1/variables/heat", [1.0])[0] == 201, "a variable may have the name")
    report.check(server.json("GET", "/v1/variables/x")[0] == 404, "nothing was run")
    report.check(put(server, "heat", cells(1), {"If-Match": '"other"'})[0] == 412, "another state")
    report.check(put(server, "heat", cells(1), {"If-None-Match": "*"})[0] == 412, "it exists")
    status, headers, _ = put(server, "heat", cells(1), {"If-Match": tag})
    report.check(status == 200 and headers["ETag"] != tag, "replaced")
    report.check(put(server, "heat", cells(2), {"If-Match": tag})[0] == 412, "the old tag")
    server.kill()
    server.start()
    report.check(server.json("GET", "/v1/notebooks/heat")[1] == cells(1), "it survives")
    first = put(server, "again", cells(1), {"Idempotency-Key": "k1"})
    report.check(put(server, "again", cells(1), {"Idempotency-Key": "k1"})[2] == first[2], "sent again")
    report.check(names(server) == ["again", "heat"] and names(server, "?prefix=h") == ["heat"], f"{names(server)}")
    page = server.request("GET", "/v1/notebooks?limit=1")
    report.check(json.loads(page[2])["cursor"] == "again" and 'rel="next"' in page[1]["Link"], "pages")
    report.check(names(server, "?limit=1&cursor=again") == ["heat"], "the next page")
    report.check(server.request("DELETE", "/v1/notebooks/again", None, {"If-Match": '"x"'})[0] == 412, "kept")
    report.check(server.request("DELETE", "/v1/notebooks/again")[0] == 204, "removed")
    status, _, data = server.request("GET", "/v1/notebooks/again")
    report.check(status == 404 and json.loads(data)["code"] == "not-found", f"{data}")
    report.check(server.json("DELETE", "/v1/notebooks/again")[0] == 404, "removed twice")


def check_wrong(report, server):
    for document, status, code, pointer in WRONG:
        found, _, answer = put(server, "wrong", document)
        report.check((found, answer.get("code"), answer.get("pointer", "")) == (status, code, pointer), f"{document}: {answer}")
    for name, code in (("1x", "name-invalid"), ("lambda", "name-invalid")):
        report.check(put(server, name, NOTEBOOK)[2]["code"] == code, name)
    report.check(names(server) == ["heat"], f"{names(server)}")


def check_limits(report, server):
    for document, status, code in ((cells(4), 200, None), (cells(5), 413, "notebook-too-large"), (cells(1, 100), 200, None),
                                   (cells(1, 101), 413, "notebook-too-large"),
                                   ({"title": "x" * 3000, "cells": []}, 413, "body-too-large")):
        found, _, answer = put(server, "heat", document)
        report.check(found == status and answer.get("code") == code, f"{status}: {answer}")
    report.check([put(server, n, cells(1))[0] for n in "abc"] == [201, 201, 507], "as many as may be")
    report.check(put(server, "a", cells(2))[0] == 200, "one that is there may change")


def check_prefixes(report, server):
    token = subprocess.run([TENSORD, "token", "create", "lab", "--prefix", "lab_", "--data", server.data],
                           capture_output=True, text=True, check=True).stdout.strip()
    mine = {"Authorization": "Bearer " + token}
    server.request("DELETE", "/v1/notebooks/b")
    report.check(put(server, "lab_1", NOTEBOOK, mine)[0] == 201, "its own name")
    status, _, data = server.request("GET", "/v1/notebooks", None, mine)
    report.check([n["name"] for n in json.loads(data)["notebooks"]] == ["lab_1"], f"{data}")
    report.check(server.request("GET", "/v1/notebooks/heat", None, mine)[0] == 404, "another's cannot be read")
    report.check(put(server, "heat", NOTEBOOK, mine)[0] == 403, "another's cannot be written")
    report.check(server.request("DELETE", "/v1/notebooks/heat", None, mine)[0] == 403, "another's cannot be removed")


def main():
    report = Report()
    with Server(*LIMITS) as server:
        check_life(report, server)
        check_wrong(report, server)
        check_limits(report, server)
        check_prefixes(report, server)
    return report.end()


sys.exit(main())

#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tokens for others: what each scope may do, beside a running server."""
import json
import os
import re
import signal
import stat
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))
from server import TENSORD, Report, Server  # noqa: E402

JSON = {"Content-Type": "application/json"}


def tensord(server, *words):
    p = subprocess.run([TENSORD, "token", *words, "--data", server.data], capture_output=True, text=True, timeout=60)
    return p.returncode, p.stdout.strip(), p.stderr


def ask(server, token, method, path, document=None, **headers):
    body = None if document is None else json.dumps(document)
    status, _, data = server.request(method, path, body, {**JSON, "Authorization": "Bearer " + token, **headers})
    return status, json.loads(data) if data[:1] == b"{" else data


def matrix(report, server):
    """Every route with a scope, tried with a token of each scope."""
    requests = {
        "read": [("GET", "/v1/variables/x", None), ("GET", "/v1/variables", None), ("GET", "/v1/info", None),
                 ("GET", "/metrics", None), ("GET", "/v1/graphs/g", None),
                 ("GET", "/v1/variables/x/preview", None), ("GET", "/v1/variables?names=x", None)],
        "eval": [("POST", "/v1/eval", {"program": "x + 1"}), ("POST", "/v1/graphs/g/run", {"feeds": {"a": 1}})],
        "write": [("PUT", "/v1/variables/x", 1), ("PUT", "/v1/variables", {"y": 1}), ("PATCH", "/v1/variables/v?slice=0", 2),
                  ("POST", "/v1/variables/v/append", [1]), ("PUT", "/v1/variables/x/attributes", {}),
                  ("PUT", "/v1/graphs/g", {"program": "a + 1", "inputs": {"a": "lscalar"}}), ("DELETE", "/v1/variables/y", None)],
        "admin": [("POST", "/v1/variables/z/attach", {"path": "/nowhere"})],
    }
    for scope in requests:
        code, token, errors = tensord(server, "create", "only-" + scope, scope)
        report.check(code == 0 and re.fullmatch("[0-9a-f]{64}", token), f"{scope}: {code} {token} {errors}")
        for needed, list_of in requests.items():
            for method, path, document in list_of:
                status, answer = ask(server, token, method, path, document)
                allowed = status != 403 or "attach-root" in str(answer)
                report.check(allowed == (needed == scope), f"{scope}: {method} {path}: {status} {answer}")
                report.check(allowed or answer["code"] == "forbidden", f"{scope}: {method} {path}: {answer}")


def evaluations_store_with_write_alone(report, server):
    token, both = tensord(server, "create", "e", "eval")[1], tensord(server, "create", "ew", "eval,write")[1]
    for document in ({"program": "k = 1", "store": ["k"]}, {"program": "k = 1", "store": "all"}, {"program": "1", "delete": ["x"]}):
        status, answer = ask(server, token, "POST", "/v1/eval", document)
        report.check(status == 403 and "write" in answer["detail"], f"{document}: {status} {answer}")
        status, answer = ask(server, token, "POST", "/v1/eval", document, Prefer="respond-async")
        report.check(status == 403 and answer["code"] == "forbidden", f"{document}, as a job: {status} {answer}")
    for prefer in ("", "respond-async"):
        for more in ({"store": {"k": "a"}}, {"updates": {"x": "a"}}):
            status = ask(server, token, "POST", "/v1/graphs/g/run", {"feeds": {"a": 1}, **more}, Prefer=prefer)[0]
            report.check(status == 403, f"run {prefer} {more}: {status}")
    report.check(server.json("GET", "/v1/jobs")[1]["jobs"] == [], "what was refused became a job")
    job = ask(server, token, "POST", "/v1/eval", {"program": "sum(y)", "inputs": {"y": list(range(30000))}}, Prefer="respond-async")[1]["id"]
    report.check(ended(server, job)["state"] == "done", "a job that stores nothing")
    status, answer = ask(server, token, "POST", "/v1/eval", {"programme": "1"}, Prefer="respond-async")
    report.check(status == 400 and answer["code"] == "unknown-member", f"one that cannot be read: {status} {answer}")
    report.check(ask(server, both, "POST", "/v1/eval", {"program": "k = 1", "store": ["k"]})[0] == 200, "with write")


def tokens_come_and_go(report, server):
    code, token, _ = tensord(server, "create", "guest", "read", "--expires", "30d")
    report.check(ask(server, token, "GET", "/v1/info")[0] == 200, "at once")
    code, listed, _ = tensord(server, "list")
    report.check("guest" in listed and "expires" in listed and token not in listed, listed)
    path = os.path.join(server.data, "tokens")
    report.check(stat.S_IMODE(os.stat(path).st_mode) == 0o600 and token not in open(path).read(), "the file")
    report.check(tensord(server, "create", "guest")[0] == 1, "a name twice")
    report.check(tensord(server, "create", "other", "read,all")[0] == 1, "an unknown scope")
    for bad in (["--expires", "30"], ["--expires", "0d"], ["--expires", "-1d"], ["--expires", "99999d"], ["--prefix", "1x"],
                ["--prefix", "a-b"], ["--prefix", "x" * 256], ["--prefix", ".jobs"], ["--prefix", "e\u0301"]):
        report.check(tensord(server, "create", "other", "read", *bad)[0] == 1, f"{bad}")
    report.check(tensord(server, "create", "a b")[0] == 1 and tensord(server, "revoke", "nobody")[0] == 1, "names")
    server.stop()
    server.start()
    report.check(ask(server, token, "GET", "/v1/info")[0] == 200, "after a restart")
    report.check(tensord(server, "revoke", "guest")[0] == 0, "revoke")
    status, answer = ask(server, token, "GET", "/v1/info")
    report.check(status == 401 and answer["code"] == "unauthorized", f"revoked: {status}")
    token = tensord(server, "create", "late", "read", "--expires", "12h")[1]
    lines = open(path).read().splitlines()
    with open(path + ".new", "w") as f:
        f.write("\n".join(re.sub(r" (\d{10,}) ", " 1000000 ", line) if line.endswith(" late") else line for line in lines) + "\n")
    os.rename(path + ".new", path)
    report.check(ask(server, token, "GET", "/v1/info")[0] == 401, "expired")
    report.check(ask(server, server.token, "GET", "/v1/info")[0] == 200, "the local token")
    with open(path, "a") as f:
        f.write("nonsense\n")
    report.check(ask(server, server.token, "GET", "/v1/info")[0] == 200, "the local token, with a broken file")
    os.remove(path)


def each_token_has_keys_of_its_own(report, server):
    one, two = (tensord(server, "create", n, "eval,write")[1] for n in ("one", "two"))
    server.json("PUT", "/v1/variables/n", 0)
    for token in (one, two, one):
        ask(server, token, "POST", "/v1/eval", {"program": "n = n + 1", "store": ["n"]}, **{"Idempotency-Key": "k"})
    report.check(server.eval("n")[1]["result"]["data"] == 2, f"{server.eval('n')}")


def tokens_are_read_again_when_told(report, server):
    """SIGHUP: a local token that was removed is made anew, and what the old one let in is out."""
    old = server.token
    guest = tensord(server, "create", "stays", "read")[1]
    os.remove(os.path.join(server.data, "token"))
    server.process.send_signal(signal.SIGHUP)
    for _ in range(200):
        if os.path.exists(os.path.join(server.data, "token")) and ask(server, old, "GET", "/v1/info")[0] == 401:
            break
        time.sleep(0.02)
    with open(os.path.join(server.data, "token")) as f:
        server.token = f.read().strip()
    report.check(server.token != old and ask(server, old, "GET", "/v1/info")[0] in (401, 429), "the old one")
    report.check(ask(server, server.token, "GET", "/v1/info")[0] == 200, "the new one")
    report.check(ask(server, guest, "GET", "/v1/info")[0] == 200, "others stay")


OTHERS = ("secret", "lab", "label")


def requests_for(name):
    """Everything that could tell whether there is a name."""
    reads = [("GET", path % name, None) for path in (
        "/v1/variables/%s", "/v1/variables/%s/meta", "/v1/variables/%s/versions", "/v1/variables/%s/preview",
        "/v1/variables/%s/attributes", "/v1/variables?names=lab_a,%s", "/v1/variables/%s?version=1", "/v1/graphs/%s",
        "/v1/variables?prefix=%s", "/v1/graphs?prefix=%s", "/v1/variables?cursor=%s", "/v1/graphs?cursor=%s")]
    programs = [name, name + " + lab_a", "sum(%s)" % name, "del %s" % name, "%s(1)" % name, name[:-1], name + "x"]
    reads += [("POST", "/v1/eval", {"program": program}) for program in programs]
    reads += [("POST", "/v1/graphs/%s/run" % name, {}), ("POST", "/v1/graphs/%s/grad" % name, {"of": "a", "wrt": ["a"]}),
              ("POST", "/v1/eval", {"graph": {"nodes": {"h": {"op": "negative", "args": [name]}}, "outputs": ["h"]}})]
    writes = [("PUT", "/v1/variables/%s", 1), ("PATCH", "/v1/variables/%s?slice=...", 1), ("POST", "/v1/variables/%s/append", [1]),
              ("DELETE", "/v1/variables/%s", None), ("PUT", "/v1/variables/%s/attributes", {}),
              ("PUT", "/v1/graphs/%s", {"program": "1"}), ("DELETE", "/v1/graphs/%s", None)]
    writes = [(method, path % name, document) for method, path, document in writes]
    writes += [("PUT", "/v1/variables", {"lab_new": 1, name: 1}),
               ("POST", "/v1/graphs/lab_f/grad", {"of": "y", "wrt": ["a"], "as": name})]
    writes += [("POST", "/v1/eval", document) for document in (
        {"program": name + " = 1", "store": [name]}, {"program": name + " = 1", "store": "all"}, {"program": "1", "delete": [name]},
        {"program": "a = 1", "store": {name: "a"}})]
    writes += [("POST", "/v1/graphs/lab_f/run", {"feeds": {"a": 1}, "updates": {name: "y"}})]
    return reads, writes


def what_is_told(server, token):
    told = {}
    for name in OTHERS:
        for kind, requests in zip(("read", "write"), requests_for(name)):
            for request in requests:
                one = kind == "write" and request[1] not in ("/v1/eval", "/v1/variables", "/v1/graphs/lab_f/run")
                for condition in ({}, {"If-None-Match": "*"}, {"If-Match": "*"}) if one else ({},):
                    status, answer = ask(server, token, *request, **condition)
                    kept = {k: v for k, v in answer.items() if k not in ("request_id", "snapshot", "stats")}
                    told[kind, str(request), str(condition)] = status, kept
    return told


def a_prefix_hides_and_keeps_all_other_names(report, server):
    """In routes, lists, counts, programs, stored graphs, suggestions and conditions: nothing that a token for lab_ and
    exp_ is told depends on whether there are other names, and it changes none of them."""
    token = tensord(server, "create", "lab", "read,eval,write,admin", "--prefix", "lab_", "--prefix", "exp_")[1]
    report.check("names lab_,exp_" in tensord(server, "list")[1], "the list of tokens")
    server.eval("lab_a = 1\nexp_b = 2", store="all")
    server.json("PUT", "/v1/graphs/lab_f", {"program": "y = a * 2.0; y", "inputs": {"a": "dscalar"}})
    before = what_is_told(server, token)
    server.eval("\n".join("%s = 41" % name for name in OTHERS), store="all")
    after = what_is_told(server, token)
    for key in before:
        report.check(before[key] == after[key], f"{key}: {before[key]} {after[key]}")
        status, answer = after[key]
        if key[0] == "write":
            report.check(status == 403 and "lab_" in answer["detail"] and "exp_" in answer["detail"], f"{key}: {status} {answer}")
        else:
            report.check(status in (404, 422) or "cursor" in answer, f"{key}: {status} {answer}")
    for name in OTHERS:
        report.check(server.eval(name)[1]["result"]["data"] == 41, f"{name} is what it was")
        server.json("DELETE", "/v1/variables/" + name)
        server.json("PUT", "/v1/graphs/" + name, {"program": "a + 1", "inputs": {"a": "lscalar"}})
    graphs = what_is_told(server, token)
    for key in before:
        report.check(before[key] == graphs[key], f"with graphs: {key}: {before[key]} {graphs[key]}")
    report.check(ask(server, token, "GET", "/v1/variables/lab_new")[0] == 404, "what was refused stored nothing")

    server.eval("secret2 = 41", store="all")
    server.json("PUT", "/v1/graphs/lab_uses", {"program": "a + secret2", "inputs": {"a": "lscalar"}})
    status, answer = ask(server, token, "POST", "/v1/graphs/lab_uses/run", {"feeds": {"a": 1}})
    report.check(status == 422 and answer["code"] == "unknown-name", f"a graph of somebody else's reads no more: {answer}")
    listed = ask(server, token, "GET", "/v1/variables")[1]
    report.check([v["name"] for v in listed["variables"]] == ["exp_b", "lab_a"] and listed["count"] == 2, f"{listed}")
    listed = ask(server, token, "GET", "/v1/graphs")[1]
    report.check([v["name"] for v in listed["graphs"]] == ["lab_f", "lab_uses"] and listed["count"] == 2, f"{listed}")
    status, answer = ask(server, token, "POST", "/v1/eval", {"program": "lab_c = lab_a + exp_b", "store": ["lab_c"]})
    report.check(status == 200 and server.eval("lab_c")[1]["result"]["data"] == 3, f"its own: {answer}")
    for method, path, document in (("POST", "/v1/eval", {"program": "1"}), ("PUT", "/v1/variables", {"lab_c": 1}),
                                   ("POST", "/v1/graphs/lab_f/run", {"feeds": {"a": 1}})):
        status, answer = ask(server, token, method, path, document, **{"If-Match": "*"})
        report.check(status == 400 and "If-Match" in answer["detail"], f"a condition on {path}: {status} {answer}")
    job = ask(server, token, "POST", "/v1/eval", {"program": "q = 1", "store": ["q"]}, Prefer="respond-async")[1]["id"]
    report.check(ended(server, job)["problem"]["code"] == "forbidden", "in a job")
    job = ask(server, token, "POST", "/v1/eval", {"program": "secret2"}, Prefer="respond-async")[1]["id"]
    report.check(ended(server, job)["problem"]["code"] == "unknown-name", "read in a job")


def ended(server, job):
    for _ in range(500):
        state = server.json("GET", "/v1/jobs/" + job)[1]
        if state["state"] in ("done", "failed", "cancelled"):
            return state
        time.sleep(0.02)
    return state


def jobs_are_their_tokens(report, server):
    """Seen and cancelled by their own token, by one with admin for all names, and by the local one."""
    one, two, admin = (tensord(server, "create", n, s)[1]
                       for n, s in (("j1", "read,eval"), ("j2", "read,eval"), ("j3", "read,eval,admin")))
    bound = tensord(server, "create", "j4", "read,eval,admin", "--prefix", "x")[1]
    job = ask(server, one, "POST", "/v1/eval", {"program": "1 + 1"}, Prefer="respond-async")[1]["id"]
    report.check(ended(server, job)["state"] == "done", "done")
    for token, sees in ((one, True), (two, False), (admin, True), (bound, False), (server.token, True)):
        report.check((job in str(ask(server, token, "GET", "/v1/jobs")[1])) == sees, f"the list: {sees}")
        for method, path in (("GET", ""), ("GET", "/result"), ("GET", "/events")):
            status = ask(server, token, method, "/v1/jobs/" + job + path)[0]
            report.check(status == (200 if sees else 404), f"{path} {sees}: {status}")
    report.check(ask(server, two, "DELETE", "/v1/jobs/" + job)[0] == 404, "cancelled by another")
    report.check(ask(server, one, "DELETE", "/v1/jobs/" + job)[0] == 204, "cancelled by its own")


def each_token_has_a_quota_of_jobs(report, server):
    token, other = tensord(server, "create", "q1", "eval,read")[1], tensord(server, "create", "q2", "eval,read")[1]
    statuses = [ask(server, token, "POST", "/v1/eval", {"program": "1"}, Prefer="respond-async") for _ in range(4)]
    report.check([s for s, _ in statuses] == [202, 202, 202, 429] and statuses[3][1]["code"] == "job-quota", f"{statuses}")
    report.check(ask(server, other, "POST", "/v1/eval", {"program": "1"}, Prefer="respond-async")[0] == 202, "another token")
    for _ in range(5):
        report.check(server.json("POST", "/v1/eval", {"program": "1"}, {"Prefer": "respond-async"})[0] == 202, "the local one")
    first = statuses[0][1]["id"]
    report.check(ended(server, first)["state"] == "done" and ask(server, token, "DELETE", "/v1/jobs/" + first)[0] == 204, "delete")
    report.check(ask(server, token, "POST", "/v1/eval", {"program": "1"}, Prefer="respond-async")[0] == 202, "room again")


def jobs_of_a_revoked_token_are_refused_at_their_turn(report, server):
    token = tensord(server, "create", "gone", "eval,read")[1]
    slow = "fori_loop(0, 1000000, lambda i, v: v * 0.5 + 1, zeros(2000)).max()"
    first = server.json("POST", "/v1/eval", {"program": slow}, {"Prefer": "respond-async"})[1]["id"]
    job = ask(server, token, "POST", "/v1/eval", {"program": "2"}, Prefer="respond-async")[1]["id"]
    report.check(server.json("GET", "/v1/jobs/" + job)[1]["state"] == "queued", "it waits")
    tensord(server, "revoke", "gone")
    server.json("DELETE", "/v1/jobs/" + first)
    state = ended(server, job)
    report.check(state["state"] == "failed" and state["problem"]["code"] == "unauthorized", f"{state}")


def a_token_that_asks_too_often_is_told_when_to_come_back(report, server):
    token, other = tensord(server, "create", "r1", "read")[1], tensord(server, "create", "r2", "read")[1]
    answers = [server.request("GET", "/v1/info", None, {"Authorization": "Bearer " + token}) for _ in range(30)]
    refused = [(h, json.loads(b)) for s, h, b in answers if s == 429]
    report.check(answers[0][0] == 200 and 5 <= len(refused) <= 20, f"{len(refused)} of 30")
    report.check(refused and refused[0][1]["code"] == "rate-limited" and refused[0][0]["Retry-After"] == "1", f"{refused[:1]}")
    report.check(ask(server, other, "GET", "/v1/info")[0] == 200, "another token")
    report.check({server.json("GET", "/v1/info")[0] for _ in range(50)} == {200}, "the local one is not counted")
    time.sleep(1.1)
    report.check(ask(server, token, "GET", "/v1/info")[0] == 200, "later")


def an_address_with_wrong_tokens_is_throttled_and_a_right_one_taken(report, server):
    wrong = {"Authorization": "Bearer " + "0" * 64}
    answers = [server.request("GET", "/v1/info", None, wrong) for _ in range(6)]
    report.check([a[0] for a in answers] == [401, 401, 401, 429, 429, 429], f"{[a[0] for a in answers]}")
    report.check(json.loads(answers[3][2])["code"] == "auth-throttled" and 1 <= int(answers[3][1]["Retry-After"]) <= 21,
                 f"{answers[3]}")
    report.check(server.request("GET", "/v1/info", None, {"Authorization": ""})[0] == 401, "none at all is no try")
    report.check(server.request("POST", "/v1/login", None, wrong)[0] == 429, "logging in is one")
    report.check(server.json("GET", "/v1/info")[0] == 200, "the right one")


FREE = ("--auth-failures-per-minute-max", "1000000")


def main():
    report = Report()
    with Server(*FREE) as server:
        server.eval("x = 1\nv = [1, 2]", store="all")
        server.json("PUT", "/v1/graphs/g", {"program": "a + 1", "inputs": {"a": "lscalar"}})
        for test in (matrix, evaluations_store_with_write_alone, tokens_come_and_go, each_token_has_keys_of_its_own,
                     tokens_are_read_again_when_told, jobs_are_their_tokens, jobs_of_a_revoked_token_are_refused_at_their_turn):
            test(report, server)
    with Server(*FREE, "--token-requests-burst-max", "100000") as server:
        a_prefix_hides_and_keeps_all_other_names(report, server)
    with Server("--auth-failures-per-minute-max", "3", "--token-requests-per-second-max", "1", "--token-requests-burst-max", "15",
                "--jobs-per-token-max", "3") as server:
        for test in (each_token_has_a_quota_of_jobs, a_token_that_asks_too_often_is_told_when_to_come_back,
                     an_address_with_wrong_tokens_is_throttled_and_a_right_one_taken):
            test(report, server)
    return report.end()


sys.exit(main())

#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Stored graphs over HTTP: what the examples do not show."""
import io
import json
import os
import stat
import sys
import tempfile
import threading
import time

import numpy

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))
from server import Report, Server  # noqa: E402

report = Report()


def program(text, **inputs):
    return {"program": text, "inputs": inputs}


def put(server, name, document, **headers):
    return server.json("PUT", "/v1/graphs/" + name, document, headers)


def run(server, name, **members):
    return server.json("POST", "/v1/graphs/%s/run" % name, members)


def view(server, name, query):
    status, headers, body = server.request("GET", "/v1/graphs/%s?%s" % (name, query))
    return status, headers, body.decode()


def check_code(answer, status, code, what):
    report.check(answer[0] == status and answer[1].get("code") == code, (what, answer))


def graphs_survive_a_restart():
    with tempfile.TemporaryDirectory() as data:
        with Server(data=data) as server:
            put(server, "f", program("x * 3", x="dscalar"))
            put(server, "f", program("x * 4", x="dscalar"))
            before = view(server, "f", "view=json")
        with Server(data=data) as server:
            after = view(server, "f", "view=json")
            report.check(before[2] == after[2] and before[1]["ETag"] == after[1]["ETag"], after)
            report.check(run(server, "f", feeds={"x": 2})[1]["result"]["data"] == 8.0, "run after")
            report.check(server.eval("f(5)")[1]["result"]["data"] == 20.0, "call after")
            report.check(put(server, "f", program("x"))[0] == 422, "x is unknown")
            report.check(put(server, "f", program("x", x="dscalar"))[1]["version"] == 3, "version")


def updates_are_atomic_and_serial():
    """Each run adds one to both of two variables; none is lost, and they never differ."""
    threads, times = 4, 25
    with Server() as server:
        server.json("PUT", "/v1/variables/a", 0)
        server.json("PUT", "/v1/variables/b", [0, 0])
        put(server, "count", program("a1 = a + 1\nb1 = b + 1\na1, b1"))
        failures = []

        def work():
            own = Server.__new__(Server)
            own.port, own.token, own.connection = server.port, server.token, None
            done = 0
            while done < times:
                status, answer = own.json("POST", "/v1/graphs/count/run",
                                          {"updates": {"a": "a1", "b": "b1"}})
                if status == 200:
                    done += 1
                    a, b = answer["result"]
                    if b["data"] != [a["data"]] * 2:
                        failures.append(answer)
                elif status != 409:
                    failures.append(answer)
                    return

        workers = [threading.Thread(target=work) for _ in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        report.check(failures == [], failures[:1])
        total = server.eval("a, b[0], b[1]")[1]["result"]
        report.check([x["data"] for x in total] == [threads * times] * 3, total)
        check_code(run(server, "count", updates={"a": "a1", "b": "nothing"}), 422, "unknown-name",
                   "an update that cannot be")
        check_code(run(server, "count", updates={"a": "a1"},
                       givens={"a1": 2.5}), 422, "dtype-mismatch", "a given of a wider type")
        report.check(server.eval("a")[1]["result"]["data"] == threads * times, "nothing was kept")


def updates_keep_the_element_type():
    with Server() as server:
        server.json("PUT", "/v1/variables/w", {"dtype": "float32", "shape": [2], "data": [1, 2]})
        put(server, "u", program("half = w / 2\nwide = w * float64(2)\ncount = 7\nhalf"))
        report.check(run(server, "u", updates={"w": "count"})[0] == 200, "a bare number fits")
        check_code(run(server, "u", updates={"w": "wide"}), 422, "dtype-mismatch", "float64 does not")
        check_code(run(server, "u", updates={"w": "half"}, store={"w": "half"}), 400,
                   "request-invalid", "stored and updated")
        report.check(run(server, "u", updates={"new": "half"})[1]["stored"] == {"new": {"version": 1}},
                     "a new variable")


def options_are_those_of_eval():
    with Server() as server:
        put(server, "f", program("y = x * 2\nz = y + 1\nz", x="dvector"))
        status, answer = run(server, "f", feeds={"x": [1, 2]}, dry_run=True)
        report.check(status == 200 and answer["result"] == {"dtype": "float64", "shape": [2]}, answer)
        status, answer = run(server, "f", feeds={"x": [1, 2]}, store={"kept": "y"})
        report.check(answer["stored"] == {"kept": {"version": 1}}, answer)
        status, answer = run(server, "f", feeds={"x": [1, 2]}, store=["z"], delete=["kept"])
        report.check(answer["deleted"] == ["kept"], answer)
        check_code(run(server, "f", feed={"x": 1}), 400, "unknown-member", "feed")
        check_code(run(server, "g"), 404, "not-found", "no such graph")
        check_code(run(server, "f", feeds={"x": [1]}, fetches=["w"]), 422, "unknown-name", "fetch")
        check_code(run(server, "f", feeds={"x": [1], "v": 2}), 422, "unknown-name", "feed of nothing")
        check_code(run(server, "f", feeds={"x": [1]}, givens={"y": "z"}), 422, "graph-cycle", "cycle")
        check_code(run(server, "f", feeds={"y": [[1]]}), 422, "shape-mismatch", "rank of a node")
        check_code(run(server, "f", feeds={"y": [1j.imag, "a"]}), 422, "value-error", "no number")
        body = io.BytesIO()
        numpy.savez(body, x=numpy.array([1.0, 2.0]))
        status, _, data = server.request(
            "POST", "/v1/graphs/f/run?format=npz", body.getvalue(), {"Content-Type": "application/x-npz"})
        report.check(status == 200 and numpy.load(io.BytesIO(data))["result"].tolist() == [3.0, 5.0],
                     (status, data[:200]))
        request = json.dumps({"feeds": {"x": [1]}, "fetches": ["y", "z"]})
        status, _, data = server.request("POST", "/v1/graphs/f/run?format=npz", request,
                                         {"Content-Type": "application/json"})
        report.check(sorted(numpy.load(io.BytesIO(data)).files) == ["y", "z"], data[:200])
        request = json.dumps({"feeds": {"x": [1]}, "fetches": ["y"]})
        status, _, data = server.request("POST", "/v1/graphs/f/run?format=npy", request,
                                         {"Content-Type": "application/json"})
        report.check(numpy.load(io.BytesIO(data)).tolist() == [2.0], data[:200])


def eval_has_givens():
    with Server() as server:
        report.check(server.eval("y = x + 1\ny * 2", inputs={"x": 1}, givens={"y": 10})[1]["result"]
                     ["data"] == 20, "a value")
        report.check(server.eval("y = x + 1\nz = x * 5\ny * 2", inputs={"x": [1.5]},
                                 givens={"y": "z"})[1]["result"]["data"] == [15.0], "a node")
        check_code(server.eval("y = 1 + [1]\ny", givens={"y": {"op": "exp"}}), 400,
                   "request-invalid", "an object")


def preconditions_hold():
    with Server() as server:
        f = program("x", x="dscalar")
        report.check(put(server, "f", f, **{"If-None-Match": "*"})[0] == 201, "new")
        check_code(put(server, "f", f, **{"If-None-Match": "*"}), 412, "precondition-failed", "old")
        _, headers, _ = view(server, "f", "view=json")
        tag = headers["ETag"]
        status, _, body = server.request("GET", "/v1/graphs/f", None, {"If-None-Match": tag})
        report.check(status == 304 and body == b"", status)
        report.check(put(server, "f", f, **{"If-Match": tag})[0] == 200, "same")
        check_code(put(server, "f", f, **{"If-Match": tag}), 412, "precondition-failed", "other")
        check_code(server.json("DELETE", "/v1/graphs/f", None, {"If-Match": tag}), 412,
                   "precondition-failed", "delete")
        report.check(server.json("DELETE", "/v1/graphs/f")[0] == 204, "deleted")
        check_code(server.json("DELETE", "/v1/graphs/f"), 404, "not-found", "twice")
        check_code(server.json("GET", "/v1/variables/f"), 404, "not-found", "no variable")


def bad_graphs_are_refused():
    declared = {"x": "dmatrix"}
    cases = [
        (400, "request-invalid", {}),
        (400, "request-invalid", {"program": "1", "graph": {}}),
        (400, "unknown-member", {"program": "1", "input": {}}),
        (400, "request-invalid", {"graph": {"nodes": {}}, "inputs": declared}),
        (400, "syntax-error", {"program": "1 +"}),
        (422, "dtype-invalid", program("x", x="dmatrices")),
        (422, "dtype-invalid", program("x", x={"dtype": "real", "shape": []})),
        (422, "shape-invalid", program("x", x={"dtype": "float64"})),
        (422, "shape-invalid", program("x", x={"shape": [-1]})),
        (400, "request-invalid", program("x", x={"shape": [1.5]})),
        (400, "request-invalid", program("x", x={"shape": [1], "broadcastable": [True]})),
        (400, "request-invalid", program("x", x={"broadcastable": [1]})),
        (400, "request-invalid", program("x", x=3)),
        (400, "unknown-member", program("x", x={"type": "float64"})),
        (400, "name-invalid", {"program": "1", "inputs": {"a b": "dscalar"}}),
        (422, "unknown-name", {"program": "x", "inputs": declared, "params": ["y"]}),
        (422, "unknown-name", {"program": "x", "inputs": declared, "outputs": ["y"]}),
        (422, "dtype-mismatch", program("x & 1", x="dscalar")),
        (422, "graph-cycle", {"graph": {"nodes": {"a": {"op": "exp", "args": ["a"]}}}}),
        (422, "unknown-op", {"graph": {"nodes": {"a": {"op": "nothing", "args": [1]}}}}),
        (422, "unknown-name", {"graph": {"inputs": declared, "outputs": ["y"]}}),
        (400, "json-invalid", '{"program": '),
    ]
    with Server() as server:
        for status, code, document in cases:
            body = document if isinstance(document, str) else json.dumps(document)
            got, _, data = server.request("PUT", "/v1/graphs/f", body,
                                          {"Content-Type": "application/json"})
            check_code((got, json.loads(data)), status, code, document)
        check_code(server.json("PUT", "/v1/graphs/f"), 411, "length-required", "no body")
        check_code(put(server, "lambda", program("1")), 400, "name-invalid", "a keyword")
        check_code(server.json("GET", "/v1/graphs/f"), 404, "not-found", "nothing was stored")


def broken_dependencies_are_told():
    with Server() as server:
        server.json("PUT", "/v1/variables/w", [1.0])
        put(server, "inner", program("x * w", x="dvector"))
        put(server, "outer", program("inner(x) + 1", x="dvector"))
        report.check(server.eval("outer([2])")[1]["result"]["data"] == [3.0], "whole")
        server.json("DELETE", "/v1/variables/w")
        status, answer = server.eval("outer([2])")
        report.check(status == 422 and "in the stored graph 'outer'" in answer["detail"] and
                     "'inner'" in answer["detail"], answer)
        report.check(server.eval("1 + outer([2])")[1]["column"] == 5, "its place in the program")
        server.json("DELETE", "/v1/graphs/inner")
        check_code(run(server, "outer", feeds={"x": [1]}), 422, "unknown-op", "inner is gone")


def feeds_reach_what_is_called():
    with Server() as server:
        server.json("PUT", "/v1/variables/w", [1.0])
        put(server, "inner", program("x * w", x="dvector"))
        status, answer = put(server, "outer", program("inner(x) + 1", x="dvector"))
        report.check(sorted(answer["inputs"]) == ["w", "x"], answer)
        report.check(run(server, "outer", feeds={"x": [2], "w": [5]})[1]["result"]["data"] == [11.0],
                     "w is fed")
        report.check(server.eval("outer([2], w=[7])")[1]["result"]["data"] == [15.0], "w is given")
        report.check(server.eval("w = [9]\nouter([2])")[1]["result"]["data"] == [3.0],
                     "a program's names are its own")
        report.check(server.eval("outer([2])", inputs={"w": [9]})[1]["result"]["data"] == [3.0],
                     "and a request's inputs")


def growth_is_bounded():
    with Server() as server:
        put(server, "g0", program("x + x", x="dscalar"))
        status = 201
        for i in range(1, 40):
            status, answer = put(server, "g%d" % i, program("g%d(g%d(x))" % (i - 1, i - 1), x="dscalar"))
            if status != 201:
                break
        report.check(status == 422 and answer["code"] == "graph-too-large", (i, answer))
        put(server, "h0", program("x + 1", x="dscalar"))
        for i in range(1, 40):
            status, answer = put(server, "h%d" % i, program("h%d(x)" % (i - 1), x="dscalar"))
            if status != 201:
                break
        report.check(status == 422 and answer["code"] == "graph-too-large" and i == 32, (i, answer))
        doubling = "\n".join(["x = x + x"] * 60) + "\nx"
        put(server, "d", program(doubling, x="dscalar"))
        for name in ("apply", "debug", "pretty", "latex", "dot", "dot&style=structure", "rewrites",
                     "pretty&optimized=true"):
            start = time.time()
            status, _, text = view(server, "d", "view=" + name)
            report.check(status == 200 and len(text) < 100000 and time.time() - start < 1,
                         (name, status, len(text)))
        report.check(run(server, "d", feeds={"x": 1})[1]["result"]["data"] == 2.0 ** 60, "doubled")


def views_say_the_same():
    """apply's owners and clients lead back and forth; optimised and not give the same."""
    with Server() as server:
        put(server, "f", program("q, r = divmod(x, y)\nz = q @ r.T\nwhere(z > 0, z * 1, -(-z))[0].sum()",
                                 x="dmatrix", y={"dtype": "float64", "shape": [1]}))
        for optimized in ("false", "true"):
            graph = json.loads(view(server, "f", "view=apply&optimized=" + optimized)[2])
            variables, applies = graph["variables"], graph["applies"]
            for v in variables:
                if v["owner"] is not None:
                    report.check(applies[v["owner"]]["outputs"][v["index"]] == v["id"], v)
                for client, position in v["clients"]:
                    uses = graph["outputs"] if client == "output" else applies[client]["inputs"]
                    report.check(uses[position] == v["id"], v)
            for a in applies:
                for position, i in enumerate(a["inputs"]):
                    report.check([a["id"], position] in variables[i]["clients"], a)
        status, _, text = view(server, "f", "view=json&optimized=true")
        put(server, "g", json.loads(text))
        feeds = {"x": [[7, -3.5], [2, 9]], "y": [2.5]}
        report.check(run(server, "f", feeds=feeds)[1]["result"] == run(server, "g", feeds=feeds)[1]["result"],
                     text)
        for query in ("view=nothing", "optimized=maybe", "style=round"):
            report.check(view(server, "f", query)[0] == 400, query)
        status, headers, _ = server.request("GET", "/v1/graphs/f", None, {"Accept": "text/vnd.graphviz"})
        report.check(headers["Content-Type"].startswith("text/vnd.graphviz"), headers)


def a_branch_that_is_not_taken_does_not_fail():
    """In programs, in graphs and in stored ones; the same branch does fail when it is taken."""
    wrong = {"nodes": {"r": {"op": "getitem", "args": ["x", "i"], "attrs": {"key": "$1"}}}, "outputs": ["r"]}
    right = {"nodes": {"r": {"op": "getitem", "args": ["x", 0], "attrs": {"key": "$1"}}}, "outputs": ["r"]}
    graph = {"inputs": {"x": "dvector", "p": {"dtype": "bool", "shape": []}, "i": {"dtype": "int64", "shape": []}},
             "nodes": {"c": {"op": "cond", "args": ["p"], "attrs": {"true_fn": wrong, "false_fn": right}}},
             "outputs": ["c"]}
    words = "cond(p, lambda: x[i], lambda: x[0])"
    inputs = {"x": [5.0, 6.0], "i": 9}
    with Server() as server:
        put(server, "f", {"graph": graph})
        put(server, "g", program(words, x="dvector", p={"dtype": "bool", "shape": []},
                                 i={"dtype": "int64", "shape": []}))
        for taken in (False, True):
            feeds = {**inputs, "p": taken}
            answers = [server.eval(words, inputs=feeds), server.eval("x[i] if p else x[0]", inputs=feeds),
                       server.eval("case([(p, lambda: x[i])], default=lambda: x[0])", inputs=feeds),
                       server.json("POST", "/v1/eval", {"graph": graph, "inputs": feeds}),
                       run(server, "f", feeds=feeds), run(server, "g", feeds=feeds),
                       server.eval("g(p, x, i)", inputs=feeds),
                       server.eval(words, inputs=feeds, optimize=False)]
            for answer in answers:
                if taken:
                    check_code(answer, 422, "index-error", "the branch is taken")
                else:
                    report.check(answer[0] == 200 and answer[1]["result"]["data"] == 5.0, answer)


def fake_dot(directory, script):
    path = os.path.join(directory, "dot")
    with open(path, "w") as file:
        file.write("#!/bin/sh\n" + script)
    os.chmod(path, stat.S_IRWXU)


def pictures_are_laid_out_by_dot():
    path = os.environ["PATH"]
    with tempfile.TemporaryDirectory() as directory:
        try:
            os.environ["PATH"] = directory
            with Server() as server:
                put(server, "f", program("x * 2", x="dscalar"))
                status, _, text = view(server, "f", "view=svg")
                report.check(status == 501 and "install" in text, text)
                fake_dot(directory, 'echo "<svg>$1"; /bin/cat; echo "</svg>"\n')
                status, headers, text = view(server, "f", "view=svg")
                report.check(status == 200 and headers["Content-Type"] == "image/svg+xml" and
                             text.startswith("<svg>-Tsvg\ndigraph") and "multiply" in text, text)
                fake_dot(directory, "exit 3\n")
                report.check(view(server, "f", "view=svg")[0] == 500, "it fails")
                fake_dot(directory, "/bin/cat /dev/zero\n")
                status, _, text = view(server, "f", "view=svg")
                report.check(status == 422 and "result-too-large" in text, text)
                fake_dot(directory, "exec /bin/sleep 60\n")
                start = time.time()
                status, _, text = view(server, "f", "view=svg")
                report.check(status == 422 and "time-limit" in text and time.time() - start < 15, text)
        finally:
            os.environ["PATH"] = path


NET = program("def layer(h, w, b):\n    return tanh(h @ w + b)\nh = layer(x, w, b)\n"
              "loss = ((h - y) ** 2).mean()\nloss",
              x={"shape": [None, 3]}, y={"shape": [None, 2]}, w={"shape": [3, 2]}, b={"shape": [2]})


def grad(server, name, of, wrt, **members):
    return server.json("POST", "/v1/graphs/%s/grad" % name, {"of": of, "wrt": wrt, **members})


def values(answer):
    results = answer[1].get("result")
    results = results if isinstance(results, list) else [results]
    return [numpy.array(r["data"]) for r in results if r]


def close(a, b):
    return len(a) == len(b) and all(numpy.allclose(x, y, rtol=1e-14, atol=0) for x, y in zip(a, b))


def gradients_are_graphs():
    """They equal those of a program, and can be stored, called, shown and differentiated."""
    feeds = {"x": [[1., 2, 3], [4, 5, 6]], "y": [[0., 1], [1, 0]], "w": [[.1, .2], [.3, .4], [.5, .6]], "b": [0., .1]}
    with Server() as server:
        put(server, "net", NET)
        status, answer = grad(server, "net", "loss", ["w", "b"], **{"as": "net_grad"})
        report.check(status == 200 and answer["stored"] == {"net_grad": {"version": 1}}, answer)
        report.check(answer["graph"]["outputs"] == ["grad_w", "grad_b"], answer)
        report.check(list(answer["graph"]["inputs"]) == ["x", "w", "b", "y"], answer["graph"]["inputs"])
        told = server.eval("grad(lambda w, b: ((tanh(x @ w + b) - y) ** 2).mean(), (w, b))", inputs=feeds)
        ran = run(server, "net_grad", feeds=feeds)
        report.check(close(values(told), values(ran)), (told, ran))
        report.check(list(ran[1]["outputs"]) == ["grad_w", "grad_b"], ran)
        called = server.eval("net_grad(x, w, b, y)", inputs=feeds)
        report.check(close(values(told), values(called)), called)
        for query in ("pretty", "dot", "apply", "latex", "debug", "pretty&optimized=true"):
            report.check(view(server, "net_grad", "view=" + query)[0] == 200, query)
        # What is differentiated does not change when what it called does.
        put(server, "net", program("x", x="dscalar"))
        report.check(close(values(told), values(run(server, "net_grad", feeds=feeds))), "stands by itself")
        # Second derivatives, by the gradient's own text and with respect to a node.
        put(server, "cube", program("s = x * x\ne = s * x\ne", x="dscalar"))
        status, answer = grad(server, "cube", "e", ["x"], **{"as": "slope"})
        status, answer = grad(server, "slope", answer["graph"]["outputs"][0], ["x"], **{"as": "bend"})
        report.check(run(server, "bend", feeds={"x": 5.0})[1]["result"]["data"] == 30.0, answer)
        status, answer = grad(server, "cube", "e", ["s", "x", "x"], **{"as": "parts"})
        report.check([float(v) for v in values(run(server, "parts", feeds={"x": 5.0}))] == [5.0, 75.0, 75.0], answer)


def gradients_of_loops_and_variables():
    with Server() as server:
        graph = {"inputs": {"x": "dvector"}, "nodes": {"q": {"op": "divmod", "args": ["x", 2.0]},
                                                       "e": {"op": "sum", "args": ["q:1"]}}, "outputs": ["e", "e"]}
        put(server, "parts", {"graph": graph})
        status, answer = grad(server, "parts", "e", ["q:1"])
        report.check(status == 200 and answer["graph"]["outputs"] == ["grad_q_1"], answer)
        twice = run(server, "parts", feeds={"x": [3.0]})
        report.check([v.tolist() for v in values(twice)] == [1.0, 1.0] and list(twice[1]["outputs"]) == ["e"], twice)
        server.json("PUT", "/v1/variables/v", {"data": [1.0, 2.0]})
        put(server, "q", program("s = scan(lambda c, t: (c * v.sum() + t, c), 1.0, xs)[0]\ns", xs="dvector"))
        status, answer = grad(server, "q", "s", ["v"], **{"as": "qg"})
        told = server.eval("grad(lambda w: scan(lambda c, t: (c * w.sum() + t, c), 1.0, [1., 2., 3.])[0], v)")
        report.check(close(values(told), values(run(server, "qg", feeds={"xs": [1.0, 2.0, 3.0]}))), (told, answer))
        put(server, "f", program("def half(z):\n    return z / 2\n"
                                 "e = scan(lambda c, t: (c + half(t * v).sum(), None), 0.0, xs)[0]\ne", xs="dvector"))
        report.check(grad(server, "f", "e", ["v"], **{"as": "fg"})[0] == 200, "a function of the program in a loop")
        report.check(values(run(server, "fg", feeds={"xs": [1.0, 2.0]}))[0].tolist() == [1.5, 1.5], "its gradient")


def gradients_are_repeated_by_their_key():
    """What keeps the first answer is hidden, and no name that was stored."""
    with Server() as server:
        put(server, "net", NET)
        for _ in range(2):
            status, _, body = server.request("POST", "/v1/graphs/net/grad",
                                             json.dumps({"of": "loss", "wrt": ["w"], "as": "g"}),
                                             {"Content-Type": "application/json", "Idempotency-Key": "k"})
            report.check(status == 200 and json.loads(body)["stored"] == {"g": {"version": 1}}, body[-300:])


def bare_numbers_and_updates_must_fit():
    with Server() as server:
        put(server, "small", program("x + 1", x={"dtype": "uint8", "shape": []}))
        report.check(run(server, "small", feeds={"x": 254})[1]["result"]["data"] == 255, "254 fits")
        for x in (-1, 256, 10**10):
            check_code(run(server, "small", feeds={"x": x}), 422, "overflow-error", x)
        check_code(server.eval("small(300)"), 422, "overflow-error", "a call")
        server.json("PUT", "/v1/variables/w", {"data": [1.0, 2.0]})
        put(server, "step", program("s = w.sum()\nn = w * 2\nn", w={"shape": [2]}))
        check_code(run(server, "step", updates={"w": "s"}), 422, "shape-mismatch", "w keeps its shape")
        report.check(run(server, "step", updates={"w": "n"})[0] == 200, "w * 2 fits")
        report.check(server.eval("w")[1]["result"]["data"] == [2.0, 4.0], "updated once")


def types_have_theanos_names():
    with Server() as server:
        for name, dtype, shape in (("vector", "float64", [None]), ("irow", "int32", [1, None]),
                                   ("zscalar", "complex128", []), ("ftensor5", "float32", [None] * 5),
                                   ("tensor7", "float64", [None] * 7), ("col", "float64", [None, 1])):
            answer = put(server, "t", program("x", x=name))[1]
            report.check(answer["inputs"]["x"] == {"dtype": dtype, "shape": shape}, (name, answer))
        for name in ("dtensor8", "float64", "", "d", "xvector", "dVector"):
            check_code(put(server, "t", program("x", x=name)), 422, "dtype-invalid", name)


def optimised_views_need_no_lengths():
    with Server() as server:
        for text, shown in (("log(1 + x)", "log1p(x)"), ("1 / (1 + exp(-x))", "sigmoid(x)"), ("x ** 2", "square(x)")):
            put(server, "t", program(text, x="dvector"))
            report.check(view(server, "t", "view=pretty&optimized=true")[2].strip() == shown, shown)


def jacobians_are_stored_without_lengths():
    with Server() as server:
        put(server, "j", program("jacobian(lambda y: y * y, x)", x={"shape": ["n"]}))
        put(server, "h", program("hessian(lambda y: (y ** 3).sum(), x)", x={"shape": [None]}))
        for x in ([1.0, 2.0, 3.0], [5.0]):
            report.check(values(run(server, "j", feeds={"x": x}))[0].tolist() == numpy.diag(2 * numpy.array(x)).tolist(), x)
            report.check(values(run(server, "h", feeds={"x": x}))[0].tolist() == numpy.diag(6 * numpy.array(x)).tolist(), x)


def gradients_that_cannot_be_are_refused():
    with Server() as server:
        put(server, "net", NET)
        put(server, "two", program("e = (a + b).sum()\ni = n * 2\ne", a="dvector", b="dvector", c="dvector", n="iscalar"))
        server.json("PUT", "/v1/variables/taken", 1.0)
        for answer, code, says in (
                (grad(server, "net", "h", ["w"]), "shape-mismatch", "'h' has shape [?, 2]"),
                (grad(server, "net", "los", ["w"]), "unknown-name", "did you mean loss"),
                (grad(server, "net", "loss", ["w", "bb"]), "unknown-name", "'bb'"),
                (grad(server, "net", "loss", []), "request-invalid", "'wrt'"),
                (grad(server, "net", "loss", ["w"], at="g"), "unknown-member", "'at'"),
                (grad(server, "nett", "loss", ["w"]), "not-found", "There is no graph 'nett'"),
                (grad(server, "two", "e", ["c"]), "value-error", "depends on 'c'"),
                (grad(server, "two", "e", ["n"]), "dtype-mismatch", ""),
                (grad(server, "two", "i", ["n"]), "dtype-mismatch", ""),
                (grad(server, "net", "loss", ["w"], **{"as": "taken"}), "name-taken", "variable"),
                (grad(server, "net", "loss", ["w"], **{"as": "9x"}), "name-invalid", "")):
            report.check(answer[1].get("code") == code and says in answer[1].get("detail", ""), answer)
        report.check(grad(server, "net", "los", ["w"])[1]["pointer"] == "/of", "pointer")
        report.check(grad(server, "net", "loss", ["w", "bb"])[1]["pointer"] == "/wrt/1", "pointer")
        status, headers, _ = server.request("POST", "/v1/graphs/net/grad",
                                            json.dumps({"of": "loss", "wrt": ["w"], "as": "net"}),
                                            {"Content-Type": "application/json", "If-None-Match": "*"})
        report.check(status == 412, "a condition on the name that is stored")


def texts_are_kept_as_sent():
    with Server() as server:
        body = '{ "program" : "x + \\"a\\\\\\" b\\"  if False else x",\n "inputs": {"x": "dscalar"} }'
        server.request("PUT", "/v1/graphs/f", body, {"Content-Type": "application/json"})
        report.check(view(server, "f", "view=json")[2] ==
                     '{"program":"x + \\"a\\\\\\" b\\"  if False else x","inputs":{"x":"dscalar"}}\n',
                     view(server, "f", "view=json")[2])
        body = '{"graph": {"nodes": {"c": {"op": "add", "args": [[NaN, -Infinity, 1e5], 2]}}, "outputs": ["c"]}}'
        status, _, _ = server.request("PUT", "/v1/graphs/g", body, {"Content-Type": "application/json"})
        text = view(server, "g", "view=json")[2]
        report.check(status == 201 and '"args":[["NaN","-Infinity",1e5],2]' in text, text)
        report.check(run(server, "g")[1]["result"]["data"] == ["NaN", "-Infinity", 100002.0], text)


def main():
    for test in (graphs_survive_a_restart, updates_are_atomic_and_serial, updates_keep_the_element_type,
                 options_are_those_of_eval, eval_has_givens, preconditions_hold, bad_graphs_are_refused,
                 broken_dependencies_are_told,
                 feeds_reach_what_is_called, growth_is_bounded, views_say_the_same,
                 a_branch_that_is_not_taken_does_not_fail, pictures_are_laid_out_by_dot,
                 gradients_are_graphs, gradients_of_loops_and_variables, gradients_that_cannot_be_are_refused, gradients_are_repeated_by_their_key,
                 bare_numbers_and_updates_must_fit, jacobians_are_stored_without_lengths,
                 types_have_theanos_names, optimised_views_need_no_lengths, texts_are_kept_as_sent):
        test()
    return report.end()


if __name__ == "__main__":
    sys.exit(main())

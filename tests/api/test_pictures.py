#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Views of stored graphs: functions, fusion and what is written in place; pictures by Graphviz."""
import json
import os
import re
import sys
import threading
import time
import xml.etree.ElementTree

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))
from server import Report, Server  # noqa: E402

report = Report()

MATRIX = {"dtype": "float64", "shape": ["n", 4]}
SQUARE = {"dtype": "float64", "shape": [4, 4]}
GRAPHS = {
    "plain": ("h = x @ w\ny = sin(h) * 2 + x\nsum(y * exp(h + 1), axis=0), tanh(h)",
              {"x": MATRIX, "w": SQUARE}),
    "loop": ("y = x * 2 + 1\nscan(lambda c, r: (sin(c * r + y[0]) * c, c + 1), x[0], x)[1]", {"x": MATRIX}),
    "choice": ("y = x * 2 + 1\ncond(q > 0, lambda: y * y + x, lambda: x)", {"x": MATRIX, "q": "dscalar"}),
    "nested": ("map(lambda r: cond(r[0] > 0, lambda: exp(r) * 2, lambda: while_loop("
               "lambda i, v: i < 3, lambda i, v: (i + 1, v * r), (0, r))[1]), x)", {"x": MATRIX}),
    "decided": ("y = x[x > 0] * 2 + 1\nsin(y) + cos(y)", {"x": "dvector"}),
    "known": ("y = x * 2 + 1\nz = y @ y\nz = z + y\nsum(z * z)", {"x": SQUARE}),
}


def put(server, name, text, inputs):
    answer = server.json("PUT", "/v1/graphs/" + name, {"program": text, "inputs": inputs})
    return report.check(answer[0] in (200, 201), answer)


def view(server, name, query):
    status, _, body = server.request("GET", "/v1/graphs/%s?view=%s" % (name, query))
    return body.decode() if report.check(status == 200, (name, query, body[:300])) else ""


def start(*arguments):
    server = Server(*arguments)
    for name, (text, inputs) in GRAPHS.items():
        put(server, name, text, inputs)
    return server


# ---- How it will run ------------------------------------------------------------------------

def phases(server, name):
    answer = json.loads(view(server, name, "rewrites"))
    fuse = [e for e in answer["rewrites"] if e["phase"] == "fuse"]
    over = [(e["before"], e["after"]) for e in answer["rewrites"] if e["phase"] == "in-place"]
    order = [e["phase"] for e in answer["rewrites"]]
    tail = order[len(order) - len(fuse) - len(over):]
    report.check(set(tail) <= {"fuse", "in-place"}, order)
    return fuse, over, answer.get("assumed")


def rewrites_tell_of_the_plan():
    with start() as server:
        fuse, over, assumed = phases(server, "plain")
        report.check([e["operations"] for e in fuse] ==
                     [["sin", "multiply", "add", "add", "exp", "multiply", "sum"]], fuse)
        report.check(over == [("x @ w", "tanh(x @ w)")], over)
        report.check("equal" in assumed, assumed)
        fuse, over, assumed = phases(server, "known")
        report.check(len(fuse) == 2 and fuse[0]["operations"] == ["multiply", "add"] and assumed is None,
                     (fuse, assumed))
        fuse, over, assumed = phases(server, "loop")
        report.check([e["operations"] for e in fuse] ==
                     [["multiply", "add"], ["multiply", "add", "sin", "multiply"]], fuse)
        fuse, over, assumed = phases(server, "decided")
        report.check([e["operations"] for e in fuse] == [["multiply", "add", "sin", "cos", "add"]], fuse)
        report.check(over == [] and "when it runs" in assumed, assumed)


def the_plan_is_that_of_the_run():
    """What views call fused is what the statistics of a run count."""
    with start() as server:
        feeds = {"x": [[0.1 * i + j for i in range(4)] for j in range(4)]}
        status, answer = server.json("POST", "/v1/graphs/known/run", {"feeds": feeds})
        fuse, _, _ = phases(server, "known")
        fused = sum(len(e["operations"]) for e in fuse)
        report.check(status == 200 and answer["stats"]["fused"] == fused, (answer, fuse))


def optimised_views_show_the_plan():
    with start() as server:
        text = view(server, "plain", "debug&optimized=true")
        report.check(len(re.findall(r" fused 1$", text, re.M)) == 7, text)
        matmul = re.search(r"Matmul \[id (\w)\]", text).group(1)
        report.check(re.search(r"tanh.* in place of \[id %s\]" % matmul, text) is not None, text)
        report.check("fused" not in view(server, "plain", "debug"), "as written")
        text = view(server, "plain", "dot&optimized=true")
        boxes = re.findall(r'subgraph cluster_pass1 { label="fused 1"; [^}]*', text)
        report.check(len(boxes) == 1 and len(re.findall(r" n\d+;", boxes[0])) == 7, text)
        report.check(text.count("class=\"in-place\"") == 1, text)
        report.check("cluster" not in view(server, "plain", "dot"), "as written")


def functions_are_shown():
    with start() as server:
        report.check(view(server, "choice", "pretty") ==
                     "cond(q > 0, true_fn=lambda: y * y + x, false_fn=lambda: x) where y = x * 2 + 1\n",
                     view(server, "choice", "pretty"))
        report.check("f=lambda c, r: (sin(c * r + y[0]) * c, c + 1)" in view(server, "loop", "pretty"),
                     view(server, "loop", "pretty"))
        report.check("\\lambda c, r .\\, " in view(server, "loop", "latex"), view(server, "loop", "latex"))
        text = view(server, "nested", "debug")
        report.check("\n  Cond{" in text and "\n    While" in text, text)
        text = view(server, "nested", "dot")
        report.check(text.count("class=\"function\"") == 5, text)
        for name in GRAPHS:
            for query in ("pretty", "latex", "debug", "dot", "dot&style=structure"):
                for optimized in ("false", "true"):
                    text = view(server, name, "%s&optimized=%s" % (query, optimized))
                    report.check(len(text) > 10 and "\x01" not in text, text)


def long_chains_of_choices_are_shown():
    """Each within reach of the next: nothing may recur along them."""
    with Server() as server:
        lines = ["y = x"] + ["y = cond(q > %d, lambda: y + 1, lambda: x)" % i for i in range(2000)] + ["y"]
        put(server, "long", "\n".join(lines), {"x": "dvector", "q": "dscalar"})
        for query in ("pretty", "latex", "debug", "dot", "rewrites"):
            begin = time.time()
            text = view(server, "long", query + "&optimized=true")
            report.check(len(text) < 20 << 20 and time.time() - begin < 20, (query, len(text)))


# ---- Pictures -------------------------------------------------------------------------------

SVG = "{http://www.w3.org/2000/svg}"


def titles(root, kind):
    return sorted(g.find(SVG + "title").text for g in root.iter(SVG + "g")
                  if kind in g.get("class", "").split())


def check_picture(server, name, query=""):
    """The picture is XML, has the nodes and edges of the text, and nothing that runs."""
    dot = view(server, name, "dot" + query)
    svg = view(server, name, "svg" + query)
    root = xml.etree.ElementTree.fromstring(svg)
    nodes = sorted(re.findall(r"^  (\w+) \[label=", dot, re.M))
    edges = sorted(re.findall(r"^  (\w+ -> \w+) \[label=", dot, re.M))
    report.check(root.tag == SVG + "svg" and titles(root, "node") == nodes, (name, query, nodes))
    report.check(titles(root, "edge") == [e.replace(" ", "") for e in edges], (name, query, edges))
    tags = {e.tag.replace(SVG, "") for e in root.iter()}
    report.check(tags <= {"svg", "g", "title", "text", "polygon", "path", "ellipse", "polyline"}, tags)
    attributes = {a for e in root.iter() for a in e.attrib}
    report.check(not any(a.startswith("on") or "href" in a for a in attributes), attributes)
    return root


def pictures_have_the_nodes_of_the_text():
    with start() as server:
        for name in GRAPHS:
            for query in ("", "&optimized=true", "&style=structure"):
                check_picture(server, name, query)
        root = check_picture(server, "nested", "&optimized=true")
        report.check(len(titles(root, "function")) == 5, titles(root, "function"))
        root = check_picture(server, "plain", "&optimized=true")
        report.check(titles(root, "fused") == ["cluster_pass1"], titles(root, "fused"))
        report.check(len(titles(root, "in-place")) == 1, "in place")


def hostile_names_stay_names():
    names = ['"]; evil [label="x', "<script>alert(1)</script>", "a\\", "\\N", "a\\\"b", "--><b>", "]]>",
             "<b>x</b>", "a\nb", "&lt;", "größe", "变量", "x" * 200, "#1", "$0", "${x}", "%s%n", "\x01" + "0"]
    with Server() as server:
        taken = 0
        for name in names:
            graph = {"inputs": {"x": "dvector"},
                     "nodes": {name: {"op": "exp", "args": ["x"]},
                               "out": {"op": "sum", "args": [name]}}, "outputs": [name, "out"]}
            status, answer = server.json("PUT", "/v1/graphs/hostile", {"graph": graph})
            if status in (200, 201):
                taken += 1
                for query in ("", "&optimized=true", "&style=structure"):
                    check_picture(server, "hostile", query)
            else:
                report.check(status in (400, 422), (name, answer))
        report.check(taken >= 2, "names of letters are taken")
        for text in names:
            literal = json.dumps(text)
            status, _ = server.json("PUT", "/v1/graphs/hostile", {"graph": {
                "inputs": {"x": {"dtype": "float64", "shape": [3]}},
                "nodes": {"a": {"op": "sum", "args": ["x"], "attrs": {"dtype": text}}}, "outputs": ["a"]}})
            report.check(status in (400, 422), literal)


def large_graphs_do_not_hold_up_the_server():
    """10,000 nodes are too many for Graphviz: it is stopped, and others are answered meanwhile."""
    with Server("--http-threads", "2") as server:
        put(server, "large", "\n".join(["y = x"] + ["y = sin(y) * x"] * 4900 + ["y"]), {"x": "dvector"})
        answers = []

        def ask():
            own = Server.__new__(Server)
            own.port, own.token, own.connection = server.port, server.token, None
            answers.append(own.request("GET", "/v1/graphs/large?view=svg"))

        asking = threading.Thread(target=ask)
        begin = time.time()
        asking.start()
        while asking.is_alive():
            at = time.time()
            status, answer = server.eval("1 + 1")
            report.check(status == 200 and time.time() - at < 2, (answer, time.time() - at))
            time.sleep(0.5)
        asking.join()
        status, _, body = answers[0]
        problem = json.loads(body)
        report.check(status == 422 and problem["code"] == "time-limit" and "view=dot" in problem["detail"],
                     problem)
        report.check(time.time() - begin < 15, time.time() - begin)


def main():
    for test in (rewrites_tell_of_the_plan, the_plan_is_that_of_the_run, optimised_views_show_the_plan,
                 functions_are_shown, long_chains_of_choices_are_shown, pictures_have_the_nodes_of_the_text,
                 hostile_names_stay_names, large_graphs_do_not_hold_up_the_server):
        test()
    return report.end()


if __name__ == "__main__":
    sys.exit(main())

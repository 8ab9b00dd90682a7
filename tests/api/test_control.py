#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Control flow in graph JSON: sub-graphs with parameters, and dataflow nodes (switch, merge,
enter, leave, next_iteration) that become loops and choices."""
import os
import random
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))
from server import Report, Server  # noqa: E402

report = Report()


def node(op, *args, **attrs):
    return {"op": op, "args": list(args), **({"attrs": attrs} if attrs else {})}


def function(params, nodes, *outputs):
    return {"params": params, "nodes": nodes, "outputs": list(outputs)}


class Graphs:
    """Evaluates graphs and compares what they give."""

    def __init__(self, server):
        self.server = server

    def eval(self, nodes, outputs, **members):
        document = {"graph": {"nodes": nodes, "outputs": outputs}, **members}
        return self.server.json("POST", "/v1/eval", document)

    def gives(self, nodes, outputs, *values):
        status, answer = self.eval(nodes, outputs)
        results = answer.get("result")
        results = results if isinstance(results, list) else [results]
        report.check(status == 200 and [r["data"] for r in results] == list(values),
                     (answer, values, nodes, outputs))

    def fails(self, nodes, outputs, code, at, says=""):
        status, answer = self.eval(nodes, outputs)
        report.check(answer.get("code") == code and answer.get("pointer", "").endswith(at)
                     and says in answer.get("detail", ""), (answer, code, at, nodes))


# ---- Sub-graphs with parameters ------------------------------------------------------------

DOUBLE = {"y": node("multiply", "v", 2)}


def loops(g):
    body = function(["i", "v"], {"j": node("add", "i", 1), "w": node("multiply", "v", 2)}, "j", "w")
    ends = function(["i", "v"], {"p": node("less", "i", 5)}, "p")
    loop = node("while_loop", 0, 1.5, cond_fn=ends, body_fn=body)
    g.gives({"y": loop}, ["y", "y:1"], 5, 48.0)
    loop["attrs"]["limit"] = 3
    g.fails({"y": loop}, ["y"], "loop-limit", "")
    step = function(["c", "x"], {"n": node("add", "c", "x")}, "n", "n")
    g.gives({"y": node("scan", 0, [1, 2, 3], f=step)}, ["y", "y:1"], 6, [1, 3, 6])
    g.gives({"y": node("scan", [1, 2, 3], f=function(["x"], {}, "x"), carries=0)}, ["y"], [1, 2, 3])
    pair = function(["a", "b"], {"s": node("add", "a", "b"), "m": node("multiply", "a", "b")}, "s", "m")
    g.gives({"y": node("map", [1, 2], [3, 4], f=pair)}, ["y", "y:1"], [4, 6], [3, 8])
    fold = function(["i", "v"], DOUBLE, "y")
    g.gives({"y": node("fori_loop", 0, 5, 1, body_fn=fold)}, ["y"], 32)
    n = node("sum", [2, 3])
    g.gives({"n": n, "y": node("fori_loop", 0, "n", 1, body_fn=fold)}, ["y"], 32)
    # A variable takes the type that the body gives it, as in programs.
    g.gives({"y": node("fori_loop", 0, 2, 1, body_fn=function(["i", "v"], {"y": node("multiply", "v", 0.5)}, "y"))},
            ["y"], 0.25)


def choices(g):
    def constant(x):
        return {"nodes": {"a": node("constant", x)}, "outputs": ["a"]}

    for x, value in ((5, 1), (1, 2), (-5, 3)):
        preds = [node("greater", x, 3), node("greater", x, 0)]
        case = node("case", *preds, fns=[constant(1), constant(2)], default=constant(3))
        g.gives({"y": case}, ["y"], value)
    fails = {"nodes": {"b": node("count_up_to", 7, limit=3)}, "outputs": ["b"]}
    for take, other in (("true_fn", "false_fn"), ("false_fn", "true_fn")):
        p = node("constant", take == "true_fn")
        g.gives({"p": p, "y": node("cond", "p", **{take: constant(1), other: fails})}, ["y"], 1)
    g.fails({"y": node("cond", True, 3, true_fn=constant(1), false_fn=constant(2))}, ["y"],
            "argument-error", "/y", "cond takes 1 argument, got 2")
    g.fails({"y": node("case", True, fns=[], default=constant(3))}, ["y"], "argument-error", "/fns")


def growing_variables(g):
    grow = function(["v"], {"w": node("concatenate", "v", "v")}, "w")
    small = function(["v"], {"p": node("less", node("size", "v"), 5)}, "p")
    loop = node("while_loop", [1.0], cond_fn=small, body_fn=grow)
    g.fails({"y": loop}, ["y"], "shape-mismatch", "/y", "shape_invariants")
    loop["attrs"]["shape_invariants"] = [[None]]
    g.gives({"y": loop}, ["y"], [1.0] * 8)
    for wrong, code in (([[3]], "shape-mismatch"), ([[None, 1]], "shape-mismatch"), ([], "argument-error"),
                        ([["n"]], "argument-error"), (5, "argument-error")):
        loop["attrs"]["shape_invariants"] = wrong
        g.fails({"y": loop}, ["y"], code, "")


def derivatives(g):
    square = function(["w"], {"a": node("square", "w"), "s": node("sum", "a")}, "s")
    w = node("constant", [1.0, 2.0])
    g.gives({"w": w, "y": node("grad", "w", f=square)}, ["y"], [2.0, 4.0])
    g.gives({"w": w, "y": node("value_and_grad", "w", f=square)}, ["y", "y:1"], 5.0, [2.0, 4.0])
    g.gives({"w": w, "y": node("hessian", "w", f=square)}, ["y"], [[2.0, 0.0], [0.0, 2.0]])
    rows = function(["w"], {"a": node("square", "w")}, "a")
    g.gives({"w": w, "y": node("vjp", "w", [1.0, 10.0], f=rows)}, ["y"], [2.0, 40.0])
    g.gives({"w": w, "y": node("jvp", "w", [1.0, 10.0], f=rows)}, ["y"], [2.0, 40.0])
    # A grad of a function that uses what is around it: x * w, for x.
    outer = {"w": w, "y": node("grad", 3.0, f=function(["x"], {"p": node("multiply", "x", "w"),
                                                              "s": node("sum", "p")}, "s"))}
    g.gives(outer, ["y"], 3.0)


def parameters_are_checked(g):
    def scan(f, *args):
        return {"y": node("scan", *(args or (0, [1, 2, 3])), f=f)}

    add = {"n": node("add", "c", "x")}
    g.fails(scan(function(["c"], {"n": node("add", "c", "c")}, "n")), ["y"], "argument-error", "/f",
            "1 parameter (params), and is called with 2")
    g.fails(scan(function(["c", "x"], {"n": node("add", "c", "xx")}, "n")), ["y"], "unknown-name", "/args/1")
    g.fails(scan(function(["c", "c"], add, "n")), ["y"], "request-invalid", "/params/1", "twice")
    g.fails(scan(function(["c", 5], add, "n")), ["y"], "request-invalid", "/params/1")
    g.fails(scan(function(["c", "x"], add)), ["y"], "argument-error", "/f", "1 to 64 outputs")
    g.fails({"y": node("scan", 0, [1, 2])}, ["y"], "argument-error", "/y", "needs the attribute 'f'")
    g.fails(scan(5), ["y"], "request-invalid", "/f")
    typed = {"inputs": {"c": {"shape": []}, "x": {"dtype": "int64", "shape": []}}, "nodes": add, "outputs": ["n"]}
    g.gives(scan(typed, 0.5, [1, 2]), ["y"], 3.5)
    typed["inputs"]["x"] = "ivector"
    g.fails(scan(typed), ["y"], "shape-mismatch", "/f", "'x' is declared as int32 [?]")
    typed["params"] = ["c"]
    g.fails(scan(typed), ["y"], "request-invalid", "/inputs/x", "not among the sub-graph's params")
    g.fails({"y": node("map", [1], f=function(["v"], {"z": node("add", "y", "v")}, "z"))}, ["y"],
            "graph-cycle", "/y")


# ---- Dataflow nodes ---------------------------------------------------------------------------

CHOICE = {"s": node("switch", "x", "p"), "t": node("multiply", "s:1", 10), "f": node("add", "s:0", 1),
          "m": node("merge", "f", "t")}

LOOP = {"ei": node("enter", 0, frame_name="L"), "ex": node("enter", 1.0, frame_name="L"),
        "mi": node("merge", "ei", "ni"), "mx": node("merge", "ex", "nx"),
        "c": node("less", "mi", 5), "lc": node("loop_cond", "c"),
        "si": node("switch", "mi", "lc"), "sx": node("switch", "mx", "lc"),
        "i2": node("add", "si:1", 1), "x2": node("multiply", "sx:1", 2),
        "ni": node("next_iteration", "i2"), "nx": node("next_iteration", "x2"),
        "oi": node("leave", "si"), "ox": node("exit", "sx:0")}

# The sum of j + 1 over all j < i < 4.
NEST = {"ei": node("enter", 0, frame_name="O"), "ea": node("enter", 0, frame_name="O"),
        "mi": node("merge", "ei", "ni"), "ma": node("merge", "ea", "na"), "c": node("less", "mi", 4),
        "si": node("switch", "mi", "c"), "sa": node("switch", "ma", "c"),
        "ej": node("enter", 0, frame_name="I"), "eb": node("enter", "sa:1", frame_name="I"),
        "lim": node("enter", "si:1", frame_name="I", is_constant=True),
        "mj": node("merge", "ej", "nj"), "mb": node("merge", "eb", "nb"), "cj": node("less", "mj", "lim"),
        "sj": node("switch", "mj", "cj"), "sb": node("switch", "mb", "cj"),
        "j2": node("add", "sj:1", 1), "b2": node("add", "sb:1", "j2"), "nj": node("next_iteration", "j2"),
        "nb": node("next_iteration", "b2"), "lb": node("leave", "sb"), "i2": node("add", "si:1", 1),
        "ni": node("next_iteration", "i2"), "na": node("next_iteration", "lb"), "oa": node("leave", "sa")}

# How many steps Collatz' sequence takes from 27 to 1: a choice in a loop.
COLLATZ = {"en": node("enter", 27), "ek": node("enter", 0), "mn": node("merge", "en", "nn"),
           "mk": node("merge", "ek", "nk"), "c": node("not_equal", "mn", 1), "sn": node("switch", "mn", "c"),
           "sk": node("switch", "mk", "c"), "even": node("equal", node("remainder", "sn:1", 2), 0),
           "w": node("switch", "sn:1", "even"), "half": node("floor_divide", "w:1", 2),
           "triple": node("add", node("multiply", "w:0", 3), 1), "mm": node("merge", "half", "triple"),
           "nn": node("next_iteration", "mm"), "nk": node("next_iteration", node("add", "sk:1", 1)),
           "steps": node("leave", "sk")}


def shuffled(nodes, seed):
    items = list(nodes.items())
    random.Random(seed).shuffle(items)
    return dict(items)


def dataflow_choices(g):
    for p, value, which in ((True, [10.0, 20.0], 1), (False, [2.0, 3.0], 0)):
        g.gives({"x": node("constant", [1.0, 2.0]), "p": node("constant", p), **CHOICE}, ["m", "m:1"], value, which)
    fails = {"x": node("constant", 5), "s": node("switch", "x", "p"),
             "bad": node("count_up_to", "s:1", limit=3), "m": node("merge", "s:0", "bad")}
    g.gives({"p": node("constant", False), **fails}, ["m"], 5)
    g.fails({"p": node("constant", True), **fails}, ["m"], "out-of-range", "")
    for p in (True, False):
        for q in (True, False):
            nested = {"p": node("constant", p), "q": node("constant", q), "x": node("constant", 3.0),
                      "s": node("switch", "x", "p"), "u": node("switch", "s:1", "q"),
                      "a": node("add", "u:1", 100), "b": node("add", "u:0", 200), "m": node("merge", "a", "b"),
                      "z": node("multiply", "m", 2), "r": node("merge", "z", "s:0")}
            g.gives(shuffled(nested, 1), ["r"], (206.0 if q else 406.0) if p else 3.0)
    # Two choices of one predicate in a row, and a third beside the first, with a node in all.
    for p, values in ((True, [9.0, 18.0, -9.0]), (False, [3.0, 3.0, 3.0])):
        row = {"p": node("constant", p), "x": node("constant", 3.0), "s": node("switch", "x", "p"),
               "big": node("square", "s:1"), "m1": node("merge", "s:0", "big"),
               "s2": node("switch", "m1", "p"), "t": node("add", "s2:1", "big"),
               "m2": node("merge", "t", "s2:0"), "m3": node("merge", node("negative", "big"), "s:0")}
        for seed in range(5):
            g.gives(shuffled(row, seed), ["m1", "m2", "m3"], *values)


def dataflow_loops(g):
    for seed in range(5):
        g.gives(shuffled(LOOP, seed), ["oi", "ox"], 5, 32.0)
        g.gives(shuffled(NEST, seed), ["oa"], 10)
        g.gives(shuffled(COLLATZ, seed), ["steps"], 111)
    for p, value in ((True, 192.0), (False, 3.0)):  # a loop in a branch
        g.gives({"p": node("constant", p), "x": node("constant", 3.0), "s": node("switch", "x", "p"),
                 "e": node("enter", "s:1"), "m": node("merge", "e", "n"), "c": node("less", "m", 100.0),
                 "sw": node("switch", "m", "c"), "n": node("next_iteration", node("multiply", "sw:1", 2.0)),
                 "l": node("leave", "sw"), "r": node("merge", "s:0", "l")}, ["r"], value)
    # The gradient of w ** 8, squared three times in a loop.
    inner = {"e": node("enter", "w"), "ei": node("enter", 0), "m": node("merge", "e", "n"),
             "mi": node("merge", "ei", "ni"), "c": node("less", "mi", 3), "s": node("switch", "m", "c"),
             "si": node("switch", "mi", "c"), "n": node("next_iteration", node("multiply", "s:1", "s:1")),
             "ni": node("next_iteration", node("add", "si:1", 1)), "l": node("leave", "s")}
    g.gives({"y": node("grad", 1.5, f=function(["w"], inner, "l"))}, ["y"], 8 * 1.5**7)


def dataflow_is_stored_as_it_is(server):
    """As a stored graph: fetched from, shown as cond and while_loop, called, differentiated."""
    graph = {"inputs": {"x": "dscalar", "p": {"dtype": "bool", "shape": []}}, "nodes": CHOICE, "outputs": ["m"]}
    report.check(server.json("PUT", "/v1/graphs/choose", {"graph": graph})[0] == 201, "put")
    status, answer = server.json("POST", "/v1/graphs/choose/run", {"feeds": {"x": 2.0, "p": True}, "fetches": ["m", "m:1"]})
    report.check(status == 200 and answer["outputs"]["m"]["data"] == 20.0, answer)
    report.check(server.eval("choose(2.0, False)")[1]["result"]["data"] == 3.0, "call")
    report.check(server.eval("grad(lambda x: choose(x, True), 2.0)")[1]["result"]["data"] == 10.0, "grad")
    status, answer = server.json("POST", "/v1/graphs/choose/run", {"feeds": {"x": 2.0, "p": True}, "fetches": ["t"]})
    report.check(status == 422 and "merge" in answer["detail"], answer)
    status, _, body = server.request("GET", "/v1/graphs/choose?view=apply")
    report.check(status == 200 and b'"cond"' in body and b'"switch"' not in body, body)


def dataflow_faults(g):
    x = {"x": node("constant", 1), "p": node("constant", True), "s": node("switch", "x", "p")}
    g.fails({**x, "y": node("add", "s:1", 1)}, ["y"], "argument-error", "/y", "merge or leave")
    g.fails(x, ["s"], "argument-error", "/s", "merge or leave")
    g.gives({**x, "y": node("add", "s:1", 1), "z": node("exp", "y"), "m": node("merge", "s:0", "s:1")}, ["m"], 1)
    g.fails({**x, "y": node("add", "s:1", 1), "z": node("exp", "y"), "m": node("merge", "s:0", "s:1")}, ["z"],
            "argument-error", "/z", "merge or leave")
    g.fails({**x, "m": node("merge", "x", "x")}, ["m"], "argument-error", "/m", "each side")
    g.fails({**x, "m": node("merge", "s:0", "s:1", "x")}, ["m"], "argument-error", "/m", "2 arguments")
    g.fails({"y": node("leave", 1)}, ["y"], "argument-error", "/y", "output 0")
    g.fails({"y": node("next_iteration", 1)}, ["y"], "argument-error", "/y", "enter")
    g.fails({"y": node("enter", 1, frame_name=5)}, ["y"], "argument-error", "/frame_name", "text")
    g.fails({"y": node("enter", 1, frame="f")}, ["y"], "unknown-attr", "/frame")
    g.fails({"y": node("enter")}, ["y"], "argument-error", "/y")
    changes = {"i2": (node("add", "mi", 1), "output 1 of their switches"),
               "x2": (node("multiply", "sx:0", 2), "output 0 of a loop's switch is for leave"),
               "c": (node("less", "si:1", 5), "computed from its merges"),
               "oi": (node("add", "si:1", 1), "inside a loop"),
               "sx": (node("switch", "mx", "c2"), "same predicate")}
    for name, (instead, says) in changes.items():
        g.fails({**LOOP, "c2": node("less", "mi", 6), name: instead}, ["oi"], "argument-error", "", says)
    lacking = {k: v for k, v in LOOP.items() if k not in ("sx", "ox")}
    g.fails({**lacking, "x2": node("multiply", "mx", 2)}, ["oi"], "argument-error", "/mx", "needs a switch")
    for names in (("loop_cond", "loop_cond"), ("enter", "enter"), ("next_iteration", "enter")):
        cycle = {"a": node(names[0], "b"), "b": node(names[1], "a"), "s": node("switch", 1, "a")}
        status, answer = g.eval({**cycle, "m": node("merge", "s:0", "s:1")}, ["m"])
        report.check(status == 422, (cycle, answer))


# ---- Any choices within each other, compared with Python ------------------------------------------

class Writer:
    """Writes a random expression as dataflow nodes, and computes it."""

    def __init__(self, rng):
        self.rng, self.nodes = rng, {}

    def add(self, op, *args):
        name = "n%d" % len(self.nodes)
        self.nodes[name] = node(op, *args)
        return name

    def inside(self, scope, pred, side):
        """The values of a scope as they are on one side of a switch, each by its own."""
        return [(self.add("switch", ref, pred) + ":%d" % side, value) for ref, value in scope]

    def value(self, scope, depth):
        kind = self.rng.choice(["leaf", "add", "multiply", "choice", "choice"]) if depth > 0 else "leaf"
        if kind == "leaf":
            return self.rng.choice(scope)
        if kind in ("add", "multiply"):
            (a, x), (b, y) = self.value(scope, depth - 1), self.value(scope, depth - 1)
            return self.add(kind, a, b), x + y if kind == "add" else x * y
        (p, test), bound = self.value(scope, depth - 2), self.rng.randint(-3, 3)
        taken = test > bound
        pred = self.add("greater", p, bound)
        t = self.value(self.inside(scope, pred, 1), depth - 1)
        f = self.value(self.inside(scope, pred, 0), depth - 1)
        order = [t[0], f[0]] if self.rng.random() < 0.5 else [f[0], t[0]]
        return self.add("merge", *order), t[1] if taken else f[1]


def random_choices(g):
    for seed in range(60):
        rng = random.Random(seed)
        w = Writer(rng)
        scope = [(w.add("constant", x), x) for x in (2, -1, 3)]
        result, value = w.value(scope, 6)
        if abs(value) < 2**62:
            g.gives(shuffled(w.nodes, seed), [result], value)


def large_graphs_are_refused_or_done(g):
    """Many choices in a row and many within each other take a bounded time."""
    chain, last = {"p": node("constant", True), "v0": node("constant", 1)}, "v0"
    for i in range(1, 1500):
        chain["s%d" % i] = node("switch", last, "p")
        chain["a%d" % i] = node("add", "s%d:1" % i, 1)
        chain["v%d" % i] = node("merge", "a%d" % i, "s%d:0" % i)
        last = "v%d" % i
    g.gives(chain, [last], 1500)
    status, answer = g.eval({"s%d" % i: node("switch", 1, True) for i in range(12000)}, [])
    report.check(answer.get("code") == "graph-too-large", answer)


with Server() as server:
    graphs = Graphs(server)
    for test in (loops, choices, growing_variables, derivatives, parameters_are_checked, dataflow_choices,
                 dataflow_loops, dataflow_faults, random_choices, large_graphs_are_refused_or_done):
        test(graphs)
    dataflow_is_stored_as_it_is(server)
sys.exit(report.end())

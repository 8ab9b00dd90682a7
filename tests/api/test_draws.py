#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A request's seed reaches every random draw that names none, wherever it stands."""
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))
from server import Report, Server  # noqa: E402

report = Report()

STORED = {
    "noise": {"program": "random_normal((3,))"},
    "twice": {"program": "noise() * 100 + noise()"},
    "own": {"program": "random_normal((3,), seed=4)"},
    "chosen": {"program": "cond(x > 0, lambda: noise(), lambda: random_uniform((3,)) + 50)",
               "inputs": {"x": "dscalar"}},
    "looped": {"program": "scan(lambda c, t: (c + noise(), c), zeros(3), x)[1]",
               "inputs": {"x": "dvector"}},
    "large": {"program": "random_normal((300000,))"},
    "written": {"graph": {"nodes": {"a": {"op": "random_normal", "attrs": {"shape": [3]}},
                                    "b": {"op": "noise"},
                                    "c": {"op": "add", "args": ["a", "b"]}},
                          "outputs": ["a", "b", "c"]}},
}
CALLS = ["noise()", "noise(), noise()", "twice()", "chosen(1.0), chosen(-1.0)", "looped([1.0, 2.0])",
         "large().sum(), noise()", "written()", "rand((3,)), noise(), random_normal((3,))",
         "cond(True, lambda: noise(), lambda: twice())", "map(lambda x: noise() * x, [1.0, 2.0])",
         "def f(x): return x * noise()\nf(2.0), f(2.0)"]


def start(*arguments):
    server = Server(*arguments)
    for name, document in STORED.items():
        answer = server.json("PUT", "/v1/graphs/" + name, document)
        report.check(answer[0] == 201, answer)
    return server


def data(answer):
    """All that an answer gives, without types."""
    status, body = answer
    if not report.check(status == 200, body):
        return None
    result = body["result"]
    return [x["data"] for x in result] if isinstance(result, list) else [result["data"]]


def all_draws(server, seed, **members):
    drawn = [data(server.eval(call, seed=seed, **members)) for call in CALLS]
    drawn += [data(server.json("POST", "/v1/graphs/%s/run" % name, {"seed": seed, **members}))
              for name in ("noise", "twice", "written")]
    graph = {"nodes": {"a": {"op": "twice"}, "b": {"op": "random_uniform", "attrs": {"shape": [2]}}},
             "outputs": ["a", "b"]}
    drawn.append(data(server.json("POST", "/v1/eval", {"graph": graph, "seed": seed})))
    return drawn


def the_same_seed_draws_the_same():
    """On every run, for any number of threads, optimised or not."""
    with start("--threads", "1") as one, start("--threads", "4") as four:
        first = all_draws(one, 11)
        report.check(all_draws(one, 11) == first, "again")
        report.check(all_draws(four, 11) == first, "with four threads")
        report.check(all_draws(one, 11, optimize=False) == first, "not optimised")
        other = all_draws(one, 1200)
        report.check(all(a != b for a, b in zip(first, other)), "another seed")


def calls_draw_different_values():
    with start() as server:
        for seed in ({}, {"seed": 3}):
            values = data(server.eval("noise(), noise(), random_normal((3,)), twice(), twice()", **seed))
            report.check(len({str(v) for v in values}) == 5, values)
            values = data(server.eval("own(), own(), random_normal((3,), seed=4)", **seed))
            report.check(values[0] == values[1] == values[2], values)
        a, b, c = data(server.json("POST", "/v1/graphs/written/run", {"seed": 8}))
        report.check(a != b and [x + y for x, y in zip(a, b)] == c, (a, b, c))
        report.check(data(server.eval("noise()")) != data(server.eval("noise()")), "without a seed")


def gradients_see_what_was_drawn():
    with start() as server:
        drawn, found = data(server.eval("noise(), grad(lambda x: sum(x * noise()), ones(3))", seed=6))
        report.check(drawn != found, "two calls")
        value, found = data(server.eval(
            "value_and_grad(lambda x: sum(scan(lambda c, t: (c * noise(), None), x, [1.0])[0]), ones(3))",
            seed=6))
        report.check(abs(value - sum(found)) < 1e-12, (value, found))


def main():
    for test in (the_same_seed_draws_the_same, calls_draw_different_values,
                 gradients_see_what_was_drawn):
        test()
    return report.end()


if __name__ == "__main__":
    sys.exit(main())

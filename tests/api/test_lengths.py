#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Named lengths: where they come out, and which graphs they rule out when they are stored."""
import json
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))
from server import Report, Server  # noqa: E402

report = Report()


def typed(*shape):
    return {"dtype": "float64", "shape": list(shape)}


def put(server, text, inputs, name="g"):
    return server.json("PUT", "/v1/graphs/" + name, {"program": text, "inputs": inputs})


def output_shapes(answer):
    return [o["type"]["shape"] for o in answer[1]["outputs"]]


def names_come_out_of_all_outputs():
    cases = [
        ("x * 2", {"x": typed("n", 3)}, [["n", 3]]),
        ("divmod(x, 2)", {"x": typed("n", "m")}, [["n", "m"], ["n", "m"]]),
        ("x @ w", {"x": typed("n", "k"), "w": typed("k", "m")}, [["n", "m"]]),
        ("x @ w", {"x": typed("n", "k"), "w": typed(5, 3)}, [["n", 3]]),
        ("x.T, x.sum(axis=0), x[:, None]", {"x": typed("n", "m")}, [["m", "n"], ["m"], ["n", 1, "m"]]),
        ("scan(lambda c, r: (c + r, c * 2), x[0], x)", {"x": typed("n", "m")}, [["m"], ["n", "m"]]),
        ("map(lambda r: r * y, x)", {"x": typed("n"), "y": typed("m", 2)}, [["n", "m", 2]]),
        ("cond(q > 0, lambda: x * 2, lambda: x)", {"x": typed("n", 3), "q": typed()}, [["n", 3]]),
        ("cond(q > 0, lambda: (x, y), lambda: (x * 2, y * 2))",
         {"x": typed("n"), "y": typed("m"), "q": typed()}, [["n"], ["m"]]),
        ("while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v * 2), (0, x))[1]", {"x": typed("n")}, [["n"]]),
        ("fori_loop(0, 3, lambda i, v: v * 2, x)", {"x": typed("n", "m")}, [["n", "m"]]),
        # what cannot be told in one place is no obstacle in others
        ("x + y, x * 2, y.sum(axis=0)", {"x": typed("n"), "y": typed("m")}, [[None], ["n"], []]),
        ("x + ones(5), x * 2", {"x": typed("n")}, [[5], ["n"]]),
        ("p, q = inner(x)\nr, s = inner(x.T)\np, q, s", {"x": typed("n", "m")}, [["n", "m"], ["n"], ["m"]]),
    ]
    with Server() as server:
        put(server, "a * 2, a.sum(axis=1)", {"a": typed("rows", None)}, "inner")
        for text, inputs, shapes in cases:
            answer = put(server, text, inputs)
            got = output_shapes(answer) if answer[0] in (200, 201) else answer
            report.check(got == shapes, (text, got, shapes))


def views_show_them_inside():
    with Server() as server:
        put(server, "scan(lambda c, r: (c + r * y, exp(r)), x[0], x)[1]",
            {"x": typed("n", "m"), "y": typed("m")})
        status, _, body = server.request("GET", "/v1/graphs/g?view=dot")
        report.check(status == 200 and body.decode().count("float64 [m]") >= 6 and
                     "[?" not in body.decode(), body.decode())
        put(server, "a * 2", {"a": typed("rows", None)}, "inner")
        put(server, "inner(x) + 1", {"x": typed("n", "m")})
        for query in ("view=dot&expand=true", "view=dot&optimized=true", "view=dot"):
            _, _, body = server.request("GET", "/v1/graphs/g?" + query)
            report.check("[n, m]" in body.decode() and "?" not in body.decode(), (query, body.decode()))


REFUSED = [
    ("x @ v, x @ w", {"x": typed(2, "n"), "v": typed(5, 3), "w": typed(4, 3)}, "n", 5, 4),
    ("(x @ v).sum() + (y + w).sum()", {"x": typed("n"), "y": typed("n"), "v": typed(5), "w": typed(4)}, "n", 5, 4),
    ("y = x + a\nx + b\nx @ c", {"x": typed("n"), "a": typed(5), "b": typed(5), "c": typed(4)}, "n", 5, 4),
    ("x + a, x + b, x @ c", {"x": typed("n"), "a": typed(5), "b": typed(4), "c": typed(3)}, "n", 1, 3),
    ("concatenate([x, a], axis=1), x.T @ b", {"x": typed("n", "m"), "a": typed(5, 2), "b": typed(4, 3)}, "n", 5, 4),
    ("scan(lambda c, r: (c + r @ w, None), 0.0, x)[0], x @ v",
     {"x": typed("k", "n"), "w": typed(5), "v": typed(4)}, "n", 5, 4),
    ("h = x * 2\nh @ v, sin(h) @ w", {"x": typed(2, "n"), "v": typed(7, 3), "w": typed(6, 3)}, "n", 7, 6),
]

TAKEN = [
    ("x + a, x + b", {"x": typed("n"), "a": typed(5), "b": typed(4)}, {"x": [1.0], "a": [0.0] * 5, "b": [0.0] * 4}),
    ("x + a, x + b, x @ c", {"x": typed("n"), "a": typed(5), "b": typed(4), "c": typed(1)},
     {"x": [1.0], "a": [0.0] * 5, "b": [0.0] * 4, "c": [2.0]}),
    ("x @ v, x + v", {"x": typed("n"), "v": typed(5)}, {"x": [1.0] * 5, "v": [0.0] * 5}),
    ("x + y", {"x": typed("n"), "y": typed("m")}, {"x": [1.0], "y": [1.0, 2.0]}),
    ("reshape(x, (2, 3)), x + a", {"x": typed("n"), "a": typed(6)}, {"x": [1.0] * 6, "a": [1.0] * 6}),
    ("reshape(x, (4, -1)), x[:, :5].sum()", {"x": typed("n", 6)}, {"x": [[1.0] * 6] * 2}),
    ("concatenate([x, a]) + b", {"x": typed("n"), "a": typed(2), "b": typed(5)},
     {"x": [1.0] * 3, "a": [1.0] * 2, "b": [1.0] * 5}),
    ("concatenate([x, x]) + b", {"x": typed("n"), "b": typed(6)}, {"x": [1.0] * 3, "b": [1.0] * 6}),
    ("x[2:] + b, x[:4] @ b", {"x": typed("n"), "b": typed(4)}, {"x": [1.0] * 6, "b": [1.0] * 4}),
    ("x @ w, y @ w", {"x": typed("n"), "y": typed("m"), "w": typed(5)}, {"x": [1.0] * 5, "y": [1.0] * 5, "w": [1.0] * 5}),
    ("outer = x[:, None] * y\nouter @ w", {"x": typed("n"), "y": typed("n"), "w": typed(3)},
     {"x": [1.0] * 3, "y": [1.0] * 3, "w": [1.0] * 3}),
    ("cond(q > 0, lambda: x + a, lambda: a)", {"x": typed("n"), "a": typed(5), "q": typed()},
     {"x": [1.0] * 5, "a": [1.0] * 5, "q": 1.0}),
    ("where(x > 0, x, a), x.sum()", {"x": typed("n"), "a": typed(1009)}, {"x": [1.0], "a": [2.0] * 1009}),
    ("(x @ w) * 2", {"x": typed("n", 1009), "w": typed(1009)}, {"x": [[1.0] * 1009] * 2, "w": [2.0] * 1009}),
]


def what_cannot_be_is_refused():
    with Server() as server:
        for text, inputs, name, first, second in REFUSED:
            status, answer = put(server, text, inputs)
            detail = answer.get("detail", "")
            report.check(status == 422 and answer["code"] == "shape-mismatch" and "'%s'" % name in detail and
                         "%d in" % first in detail and "%d in" % second in detail, (text, answer))


def nothing_that_runs_is_refused():
    with Server() as server:
        for text, inputs, feeds in TAKEN:
            answer = put(server, text, inputs)
            if report.check(answer[0] in (200, 201), (text, answer)):
                answer = server.json("POST", "/v1/graphs/g/run", {"feeds": feeds})
                report.check(answer[0] == 200, (text, answer))


def main():
    for test in (names_come_out_of_all_outputs, views_show_them_inside, what_cannot_be_is_refused,
                 nothing_that_runs_is_refused):
        test()
    return report.end()


if __name__ == "__main__":
    sys.exit(main())

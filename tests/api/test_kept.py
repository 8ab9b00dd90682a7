# SPDX-License-Identifier: Apache-2.0
"""A small program that comes again with other numbers is built and planned once. It gives, bit for
bit, what it gives when it is built anew: an evaluation with a seed always is."""
import json
import math
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from server import Report, Server  # noqa: E402

report = Report()
NUMBERS = [3, 2.5, 0, -0.0, 1, 2, -7, 1e300, 0.5, True, 2 ** 63, {"weak": "float", "value": "NaN"},
           {"weak": "complex", "value": [1, 2.5]}, 300, 4, 5, 6.25, 1e-9, 2.0000001]
PROGRAMS = [
    ("2*x+1", {}), ("x**2.5 + x*1", {}), ("a ** x", {}), ("a * x + x", {}), ("x > 3", {}),
    ("x if x > 3 else -x", {}), ("where(x > 3, a, x)", {}), ("a / x", {}), ("a // x", {}), ("h * x", {}),
    ("i8 + x", {}), ("i8 < x", {}), ("clip(i8, -5, x)", {}), ("zeros(x)", {}), ("a[x]", {}), ("roll(a, x)", {}),
    ("reshape(a, (x, 2))", {}), ("arange(x).sum()", {}), ("print('x is', x, a); x + 1", {}),
    ("y = x * 2; z = y + a; (y, z)", {"outputs": ["y", "z"]}), ("x.astype('float32') * a", {}),
    ("float32(1.1) * x", {}), ("e * x + pi", {}), ("sum(a) * x", {}), ("f = lambda t: t * x; f(a) + f(2)", {}),
    ("s = 0\nfor k in range(x):\n    s = s + k * a\ns", {}), ("cond(x > 3, lambda: a + x, lambda: a - x)", {}),
    ("log(exp(x))", {}), ("x + nothing", {}), ("constant(x, dtype='int8')", {}), ("grad(lambda t: t ** x)(2.0)", {}),
]
INPUTS = {"a": [1.5, -2, 4, 0], "h": {"dtype": "float32", "shape": [2], "data": [0.1, 7]},
          "i8": {"dtype": "int8", "shape": [3], "data": [1, -3, 100]}}


def gist(answer):
    """What an answer says, but for what differs from one evaluation to the next."""
    status, document = answer
    for name in ("stats", "request_id", "snapshot"):
        document.pop(name, None)
    return status, json.dumps(document)


def compare(s, program, members):
    for turn in range(3):
        for x in NUMBERS:
            inputs = {"x": x, **INPUTS}
            got = gist(s.eval(program, inputs=inputs, **members))
            expected = gist(s.eval(program, inputs=inputs, seed=1, **members))
            report.check(got == expected, "%s of %s, turn %d: %s, not %s" % (program, x, turn, got, expected))


def plans(s):
    return s.json("GET", "/v1/info")[1]["plans"]


with Server() as s:
    for program, members in PROGRAMS:
        compare(s, program, members)

    before = plans(s)
    for k in range(50):
        s.eval("7*x - 5", inputs={"x": 10.25 + k})
    after = plans(s)
    report.check(after["made"] - before["made"] == 1, "one plan is made for all numbers")
    report.check(after["hits"] - before["hits"] == 49, "it is used from the second on")

    def value(program, **inputs):
        return s.eval(program, inputs=inputs)[1]["result"]["data"]

    for _ in range(3):
        report.check(abs(value("e * x", x=100.5) - math.e * 100.5) < 1e-9, "e is a number")
    report.check(s.eval("e = 2.0", store={"e": "e"})[0] == 200, "e is stored")
    for k in range(3):
        report.check(value("e * x", x=100.5) == 201, "e is what is stored")
    report.check(s.json("DELETE", "/v1/variables/e")[0] == 204, "e is deleted")
    report.check(abs(value("e * x", x=100.5) - math.e * 100.5) < 1e-9, "e is a number again")

sys.exit(report.end())

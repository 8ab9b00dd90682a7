# SPDX-License-Identifier: Apache-2.0
"""Values, gradients, second derivatives, jacobians and hessians are those that PyTorch gave
for the same inputs, which values.json records (see record_values.py)."""
import json
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
from server import Report, Server  # noqa: E402
from values import compare  # noqa: E402

CASES_MIN = 250
WITHOUT = {"Random", "Dataflow"}  # values that are not torch's; nodes of which cond and while_loop are made


def missing(server, cases):
    """(families with differentiable operations of which no case has one, operations in no case),
    by the names in the programs."""
    used = set(re.findall(r"[A-Za-z_]\w*", " ".join(case["program"] for case in cases)))
    _, answer = server.json("GET", "/v1/ops")
    rows = [op for op in answer["ops"] if op["differentiable"] and op["family"] not in WITHOUT]
    found = {op["name"]: op["family"] for op in rows if used & {op["name"], *op["aliases"]}}
    return ({op["family"] for op in rows} - set(found.values()),
            [op["name"] for op in rows if op["name"] not in found])


def main():
    report = Report()
    with open(os.path.join(HERE, "values.json")) as file:
        table = json.load(file)
    cases = table["cases"]
    report.check(len(cases) >= CASES_MIN, f"{len(cases)} cases are in the table")
    print("source:", table["source"])
    with Server() as server:
        for case in cases:
            compare(server, case, report)
        families, operations = missing(server, cases)
    report.check(not families, f"no case for the families {families}")
    if operations:
        print("note: not compared with torch:", " ".join(operations))
    return report.end()


if __name__ == "__main__":
    sys.exit(main())

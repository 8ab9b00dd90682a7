# SPDX-License-Identifier: Apache-2.0
"""Every operation and loop is stopped in the middle, and how late it stops is printed.

The operations are those of /v1/ops: each belongs to a family whose members are alike, has a program
here, or is one that computes nothing; a new operation that is none of these fails the test. A program
that ends before its time has come is given more to do. Bounds are wide, for busy machines. Runs alone.
"""
import http.client
import json
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from server import Report, Server  # noqa: E402

TIMEOUT_MS, MEDIAN_MS, LATEST_MS = 60, 100, 1500
PROMISED_MS = 100

# Of about n elements, s*s of them; x + y has n. Loops go round at most `rounds` times.
WHOLE = """n = %d
s = int(sqrt(n))
rounds = 900000
x = 1.5 + arange(n // 5000).reshape(-1, 1) %% 7 / 7
y = 1 + arange(5000) %% 3 / 3
%s"""
PROGRAMS = {
    "astype": "(x + y).astype(float32).sum()", "where": "where(x > 2, x, y).sum()", "clip": "clip(x + y, 3, 4).sum()",
    "divmod": "q, r = divmod(x, y)\n(q + r).sum()", "sum_to": "sum_to(x + y, ones((1, 1)))", "cumsum": "cumsum(x + y)[-1]",
    "spread": "spread(ones(n), zeros((n, 5)), axis=1).sum()", "reshape": "(x + y).T.reshape(-1)[0]",
    "ravel": "(x + y).T.ravel()[0]", "getitem": "arange(n)[arange(n)[::-1]][0]",
    "setitem": "z = zeros(n)\nz[arange(n)] = 1.5\nz[0]", "index_add": "index_add(zeros(5), [arange(n) % 5, ones(n)], key='$1')",
    "nonzero": "nonzero(x + y)[0].sum()", "concatenate": "concatenate([x + y, x * y])[0]", "stack": "stack([x + y, x * y])[0, 0]",
    "arange": "arange(n)[0]", "linspace": "linspace(0, 1, n)[0]", "eye": "eye(s)[0, 0]",
    "softmax": "softmax(x + y).sum()", "log_softmax": "log_softmax(x + y).sum()",
    "matmul": "(ones((s, 1500)) @ ones((1500, s)))[0, 0]", "dot": "dot(ones((s, 1500)), ones((1500, s)))[0, 0]",
    "tensordot": "tensordot(ones((s, 1500)), ones((1500, s)), 1)[0, 0]",
    "tensordot_x": "tensordot_x(ones((s, 3000)), ones((2000, 3000)), 1)[0, 0]",
    "tensordot_y": "tensordot_y(ones((s, 2000)), ones((s, 3000)), 1)[0, 0]",
    "cond": "cond(x[0, 0] > 0, lambda: exp(x + y).sum(), lambda: 0.0)",
    "case": "case([(x[0, 0] > 0, lambda: exp(x + y).sum())], default=lambda: 0.0)",
    "while_loop": "while_loop(lambda i: i < rounds, lambda i: i + 1, 0)", "scan": "scan(lambda c, v: (c + v, c), 0.0, zeros(rounds))[0]",
    "fori_loop": "fori_loop(0, rounds, lambda i, v: v * 0.5 + 1, zeros(100)).sum()",
    "map": "map(lambda v: exp(v).sum(), zeros((rounds, 100))).sum()",
    "count_up_to": "while_loop(lambda i: count_up_to(i, rounds)[0] < rounds - 1, lambda i: i + 1, 0)",
    "group": "group(exp(x + y).sum(), sin(x + y).sum())",
    "grad": "grad(lambda v: (exp(v) * sin(v)).sum(), x + y).sum()", "value_and_grad": "value_and_grad(lambda v: exp(v).sum(), x + y)[0]",
    "jacobian": "jacobian(lambda v: exp(v), ones(s)).sum()", "hessian": "hessian(lambda v: (v**3).sum(), ones(s)).sum()",
    "vjp": "vjp(lambda v: exp(v), x + y, x + y).sum()", "jvp": "jvp(lambda v: exp(v), x + y, x + y).sum()",
}
# A loop of graph JSON is made of all of them.
DATAFLOW = {"enter", "merge", "loop_cond", "switch", "next_iteration", "leave"}
LOOP = {"nodes": {"e": {"op": "enter", "args": [0]}, "m": {"op": "merge", "args": ["e", "n"]},
                  "c": {"op": "loop_cond", "args": [{"op": "less", "args": ["m", 10**6]}]},
                  "s": {"op": "switch", "args": ["m", "c"]}, "i": {"op": "add", "args": ["s:1", 1]},
                  "n": {"op": "next_iteration", "args": ["i"]}, "l": {"op": "leave", "args": ["s:0"]}}, "outputs": ["l"]}
NOTHING = {  # other strides, shapes, or constants that are made when somebody reads them
    "positive", "stop_gradient", "transpose", "untranspose", "swapaxes", "expand_dims", "squeeze", "broadcast_to", "flip", "real",
    "ensure_shape", "shape", "size", "ndim", "zeros", "ones", "full", "zeros_like", "ones_like", "full_like", "constant"}


def program_of(op):
    """What does n elements' work of it, "" if nothing is known; None if it does none."""
    name, operands = op["name"], [a for a in op["args"] if a["required"]]
    if name in NOTHING:
        return None
    if name in PROGRAMS:
        return PROGRAMS[name]
    if op["family"] == "Elementwise":
        cast = "" if "float64" in operands[0]["dtypes"] else ".astype(int64)"
        arguments = ["x" + cast, "y" + cast] if len(operands) > 1 else ["(x + y)" + cast]
        return "%s(%s).sum()" % (name, ", ".join(arguments))
    if op["family"] == "Reductions":
        return "%s(%s)" % (name, "isnan(x + y)" if name in ("any", "all") else "x + y")
    return "%s((n,)).sum()" % name if op["family"] == "Random" else ""


def late_ms(server, members):
    """How late it was stopped; None if it ended before. The rest of an answer that was neither."""
    start = time.monotonic()
    status, answer = server.json("POST", "/v1/eval", dict(members, timeout_ms=TIMEOUT_MS))
    late = (time.monotonic() - start) * 1000 - TIMEOUT_MS
    if status == 200:
        return None, ""
    return late, "" if answer.get("code") == "time-limit" else json.dumps(answer)


def stop_op(report, server, op):
    name = op["name"]
    if name in DATAFLOW:
        late, rest = late_ms(server, {"graph": LOOP})
        report.check(late is not None and not rest, f"{name}: {late} {rest}")
        return late
    program = program_of(op)
    report.check(program != "", f"{name}: say what is to be stopped")
    for n in (6 * 10**7, 4 * 10**8, 3 * 10**9) if program else ():
        late, rest = late_ms(server, {"program": WHOLE % (n, program)})
        if late is not None:
            report.check(not rest, f"{name}: {rest}")
            report.check(late < LATEST_MS, f"{name} was stopped {late:.0f} ms late")
            return late
    report.check(program is None, f"{name} was never stopped:\n{program}")
    return None


def stop_all(report, server):
    lates = {op["name"]: stop_op(report, server, op) for op in server.json("GET", "/v1/ops")[1]["ops"]}
    known = sorted((late, name) for name, late in lates.items() if late is not None)
    p99 = known[int(len(known) * 0.99)]
    print("note: %d operations stopped; half within %.0f ms of their time, 99 %% within %.0f (%s); %d ms are promised" % (
        len(known), known[len(known) // 2][0], p99[0], p99[1], PROMISED_MS))
    report.check(len(known) > 100, "most operations are stopped")
    report.check(known[len(known) // 2][0] < MEDIAN_MS, f"half are {known[len(known) // 2]} late")


def idle_after(server, start):
    """ms until nothing runs and no memory is held."""
    while time.monotonic() - start < 10:
        info = server.json("GET", "/v1/info")[1]
        if info["counters"]["evaluations_running"] == 0 and info["machine"]["memory_bytes"] < 1 << 20:
            break
        time.sleep(0.005)
    return (time.monotonic() - start) * 1000


def stop_by_leaving(report, server, program):
    c = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    c.request("POST", "/v1/eval", json.dumps({"program": program, "store": ["r"]}),
              {"Authorization": "Bearer " + server.token, "Content-Type": "application/json"})
    time.sleep(0.3)
    c.close()
    late = idle_after(server, time.monotonic())
    report.check(late < LATEST_MS, f"{program}: runs {late:.0f} ms after its client left")
    report.check(server.request("GET", "/v1/variables/r")[0] == 404, "nothing is stored")
    return late


def stop_job(report, server, program):
    job = json.loads(server.request("POST", "/v1/eval", json.dumps({"program": program, "store": ["r"]}),
                                    {"Content-Type": "application/json", "Prefer": "respond-async"})[2])
    while server.json("GET", "/v1/jobs/" + job["id"])[1]["state"] == "queued":
        time.sleep(0.01)
    time.sleep(0.2)
    start = time.monotonic()
    server.request("DELETE", "/v1/jobs/" + job["id"])
    while server.json("GET", "/v1/jobs/" + job["id"])[1].get("state") == "running":
        time.sleep(0.005)
    late = idle_after(server, start)
    report.check(late < LATEST_MS, f"{program}: runs {late:.0f} ms after its job was deleted")
    report.check(server.request("GET", "/v1/variables/r")[0] == 404, "nothing is stored")
    return late


def main():
    report = Report()
    with Server() as server:
        stop_all(report, server)
        slow = ["r = exp(sin(arange(3 * 10**9))).sum()", "r = while_loop(lambda i: i < 10**6, lambda i: i + 1, 0)",
                "r = ones((9000, 9000)) @ ones((9000, 9000))"]
        for name, stop in (("their clients left", stop_by_leaving), ("their jobs were deleted", stop_job)):
            print("note: ended %s ms after %s" % (", ".join("%.0f" % stop(report, server, p) for p in slow), name))
    return report.end()


sys.exit(main())

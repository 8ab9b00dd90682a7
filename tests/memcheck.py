#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Valgrind looks on: tests in C, and a server that is asked for some of everything. No byte may be read that nobody
wrote or that is not ours, and nothing may be left that nobody can reach any more.

    memcheck.py [WORD ..]        only what has one of these words in its name
    memcheck.py --list           the programs that must be built

Tests in which processes are killed, time is measured or every call fails in turn are left out."""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import server as testing  # noqa: E402

BUILD = os.environ.get("BUILD", "build")
FAULTY = 99
VALGRIND = ["valgrind", "-q", "--error-exitcode=%d" % FAULTY, "--leak-check=full", "--errors-for-leak-kinds=definite",
            "--show-leak-kinds=definite", "--num-callers=25"]
# An OpenBLAS that knows no wider vectors than valgrind does; tests that ask for less than usual.
ENVIRONMENT = {**os.environ, "OPENBLAS_CORETYPE": "Nehalem", "OPENBLAS_NUM_THREADS": "1", "MEMCHECK": "1"}
PROGRAMS = (
    "storage/test_chunked", "storage/test_storage", "storage/test_open", "storage/test_names",
    *("server/wire/test_" + t for t in ("binary_reader", "format", "graph_json", "json_reader", "request", "slice", "writer")),
    *("engine/lang/test_" + t for t in ("build", "dialect_tensor", "errors", "print", "show")),
    "engine/plan/test_peak", "engine/plan/test_shared",
    "engine/graph/test_build", "engine/graph/test_define", "engine/tensor/test_npy",
)
report = testing.Report()


def run_program(name):
    done = subprocess.run([*VALGRIND, "%s/tests/%s" % (BUILD, name)], capture_output=True, text=True, env=ENVIRONMENT, timeout=900)
    report.check(done.returncode == 0, "%s: exit %d\n%s%s" % (name, done.returncode, done.stdout[-2000:], done.stderr[-4000:]))


# ---- A server ----------------------------------------------------------------------------------------------

def wrapper(directory):
    """A tensord that valgrind looks on at."""
    path = os.path.join(directory, "tensord")
    with open(path, "w") as f:
        f.write("#!/bin/sh\nexec %s %s \"$@\"\n" % (" ".join(VALGRIND), os.path.abspath(testing.TENSORD)))
    os.chmod(path, 0o755)
    return path


def ask(server):
    """Some of everything: what is taken, computed, kept, described and refused."""
    def answers(status, method, path, document=None, **headers):
        found, answer = server.json(method, path, document, headers)
        report.check(found == status, f"{method} {path} {document}: {found} {answer}")
        return answer

    x = {"dtype": "float32", "shape": [2, 3], "data": [[1, 2, 3], [4, 5, 6]]}
    answers(201, "PUT", "/v1/variables/x", x)
    answers(201, "PUT", "/v1/variables/chunks?storage=chunked", [0.5] * 300)
    answers(200, "PATCH", "/v1/variables/chunks?slice=1:3", [7, 8])
    answers(200, "POST", "/v1/variables/chunks/append", [9.5])
    for program in ("softmax(x, axis=1)", "grad(lambda v: sum(v ** 2), x)", "fori_loop(0, 9, lambda i, v: v * 0.5 + i, x)",
                    "y = x.T\nprint(y)\nx[x > 2]", "rand(4)", "x.reshape(3, 2).astype('float16') / 3", "x @ x.T",
                    "cumsum(arange(90000) * 1.0)[-1]"):
        answers(200, "POST", "/v1/eval", {"program": program, "store": "all"})
    for program in ("1 +", "x + [1, 2]", "nothing", "zeros((9, 9), axis=1)", "ones(10 ** 12).sum()"):
        answers(400 if program == "1 +" else 422, "POST", "/v1/eval", {"program": program})
    answers(201, "PUT", "/v1/graphs/g", {"program": "y = a * 2.0; y", "inputs": {"a": "dscalar"}})
    answers(200, "POST", "/v1/graphs/g/run", {"feeds": {"a": 3.0}})
    answers(200, "POST", "/v1/graphs/g/grad", {"of": "y", "wrt": ["a"]})
    for view in ("apply", "debug", "latex", "dot", "rewrites"):
        report.check(server.request("GET", "/v1/graphs/g?optimized=true&view=" + view)[0] == 200, "view " + view)
    for path in ("x?format=npy", "x?format=npz", "x?format=csv", "x/preview?kind=histogram", "x/meta", "x/versions"):
        report.check(server.request("GET", "/v1/variables/" + path)[0] == 200, "GET " + path)
    job = answers(202, "POST", "/v1/eval", {"program": "z = x + 1", "store": ["z"]}, Prefer="respond-async")["id"]
    report.check(b'"done"' in server.request("GET", "/v1/jobs/%s/events" % job)[2], "events")
    answers(204, "DELETE", "/v1/jobs/" + job)
    answers(200, "PUT", "/v1/variables/x", x, **{"Idempotency-Key": "k"})
    answers(200, "PUT", "/v1/variables/x", x, **{"Idempotency-Key": "k"})
    answers(204, "DELETE", "/v1/variables/x")
    for path in ("/v1/info", "/metrics", "/v1/ops?q=sum", "/v1/limits", "/openapi.json", "/", "/docs", "/problems/not-found"):
        report.check(server.request("GET", path)[0] == 200, "GET " + path)
    report.check(server.request("POST", "/v1/eval", b'{"program": ', {"Content-Type": "application/json"})[0] == 400, "half a body")


def run_server():
    with tempfile.TemporaryDirectory(prefix="tensord-memcheck-") as place:
        testing.TENSORD = wrapper(place)
        os.environ.update(ENVIRONMENT)
        with testing.Server("--time-max", "600 s", "--queue-time-max", "600 s") as server:
            ask(server)
            server.stop()
            server.start()  # with data
            report.check(server.eval("sum(z)")[0] == 200, "after a restart")
            code = server.stop()
            with open(server.log.name) as f:
                said = "".join(line for line in f if not line.startswith("{"))
            report.check(code == 0 and said == "", "the server: exit %d\n%s" % (code, said[-6000:]))


def main(words):
    if words == ["--list"]:
        print(*("%s/tests/%s" % (BUILD, name) for name in PROGRAMS))
        return 0
    names = [*PROGRAMS, "tensord"]
    names = [n for n in names if not words or any(w in n for w in words)]
    for name in names:
        run_server() if name == "tensord" else run_program(name)
    print(f"note: memcheck: {len(names)} programs")
    return report.end()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Jobs: requests that are answered later, exactly as they would have been at once."""
import io
import json
import os
import socket
import sys
import time

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))
from server import Report, Server  # noqa: E402

LATER = {"Prefer": "respond-async"}
LONG = "fori_loop(0, 900000, lambda i, v: v + 1.0, zeros(2000))"


def submit(server, document, path="/v1/eval", **headers):
    status, answer = server.json("POST", path, document, {**LATER, **headers})
    if status != 202:
        raise RuntimeError("%d %s" % (status, answer))
    return answer["id"]


def wait(server, job, *states):
    states = states or ("done", "failed", "cancelled")
    for _ in range(2000):
        answer = server.json("GET", "/v1/jobs/" + job)[1]
        if answer["state"] in states:
            return answer
        time.sleep(0.01)
    raise RuntimeError("job %s stays %s" % (job, answer))


def result(server, job, suffix="", **headers):
    return server.request("GET", "/v1/jobs/%s/result%s" % (job, suffix), None, headers)


def files_become(server, count):
    """Whether there come to be so many array files: they are removed a little later."""
    for _ in range(50):
        found = sum(len(files) for _, _, files in os.walk(os.path.join(server.data, "arrays")))
        if found == count:
            return True
        time.sleep(0.1)
    return False


def without_times(answer):
    answer["stats"].pop("elapsed_ms")
    return answer


def answers_are_those_of_the_synchronous_call(report):
    requests = [
        {"program": "x * 2", "inputs": {"x": [[1, 2], [3, 4]]}},
        {"program": "print(1 + 1)\ny = arange(3)\ny, y.sum()", "outputs": ["y"]},
        {"program": "y = arange(100000) * 0.5", "outputs": ["y"]},
        {"program": "y = 1"},
        {"program": "arange(10)", "dry_run": True},
        {"program": "[1, 2] + [1, 2, 3]"},
        {"program": "unknown + 1"},
        {"programme": "1"},
        {"program": "arange(10 ** 10)"},
    ]
    with Server() as server:
        for request in requests:
            status, at_once = server.json("POST", "/v1/eval", request)
            job = submit(server, request)
            state = wait(server, job)
            later_status, _, body = result(server, job)
            later = json.loads(body)
            if status == 200:
                without_times(at_once), without_times(later)
                at_once["snapshot"] = later["snapshot"]
            else:
                at_once["request_id"] = later["request_id"]
                report.check(state["problem"] == later, f"{request}: problem {state['problem']}")
            report.check((status, at_once) == (later_status, later), f"{request}: {later_status} {later}")
            report.check(state["state"] == ("done" if status == 200 else "failed"), f"{request}: {state}")
            report.check(state["progress"] == 1 or status != 200, f"{request}: {state}")


def results_come_in_any_form(report):
    with Server() as server:
        job = submit(server, {"program": "y = arange(4.0)\ny.reshape(2, 2)"})
        wait(server, job)
        value = np.arange(4.0).reshape(2, 2)
        body = result(server, job, "?format=npy")[2]
        report.check(np.array_equal(np.load(io.BytesIO(body)), value), "npy by ?format=")
        body = result(server, job, Accept="application/x-npz")[2]
        report.check(np.array_equal(np.load(io.BytesIO(body))["result"], value), "npz by Accept")
        status, headers, body = result(server, job, "?format=raw")
        report.check(body == value.tobytes() and headers["Tensor-Shape"] == "2,2", "raw")
        report.check(result(server, job, "?format=csv")[0] == 200, "csv")
        job = submit(server, {"program": "1, 2"}, Accept="application/x-npz")
        wait(server, job)
        body = result(server, job)[2]
        report.check(np.load(io.BytesIO(body))["result_1"] == 2, "the form that was asked at first")
        report.check(result(server, job, "?format=npy")[0] == 406, "two tensors in npy")


def bodies_may_be_binary(report):
    with Server() as server:
        x = np.arange(60000.0)
        body = io.BytesIO()
        np.save(body, x)
        status, headers, _ = server.request("POST", "/v1/eval?program=x%2Bx", body.getvalue(),
                                            {**LATER, "Content-Type": "application/x-npy"})
        job = headers["Location"].rsplit("/", 1)[1]
        wait(server, job)
        report.check(np.array_equal(np.load(io.BytesIO(result(server, job, "?format=npy")[2])), x + x),
                     "an npy body")
        status, headers, _ = server.request("POST", "/v1/eval?program=x-1", x.tobytes(), {
            **LATER, "Content-Type": "application/octet-stream", "Tensor-Dtype": "float64",
            "Tensor-Shape": "300,200"})
        job = headers["Location"].rsplit("/", 1)[1]
        wait(server, job)
        report.check(result(server, job, "?format=raw")[2] == (x - 1).tobytes(), "a raw body")
        report.check(files_become(server, 2), "results alone should be left in files")


def stored_graphs_run_later(report):
    with Server() as server:
        server.json("PUT", "/v1/graphs/f", {"program": "w_new = w + x\nw_new * 2", "inputs": {"x": "dscalar", "w": "dscalar"}})
        server.json("PUT", "/v1/variables/w", 1.0)
        job = submit(server, {"feeds": {"x": 5.0}, "updates": {"w": "w_new"}}, "/v1/graphs/f/run")
        state = wait(server, job)
        answer = json.loads(result(server, job)[2])
        report.check(answer["result"]["data"] == 12.0 and answer["stored"] == {"w": {"version": 2}}, f"{state} {answer}")
        status, headers, _ = server.request("GET", "/v1/variables/w")
        report.check('-%d.' % answer["commit"] in headers["ETag"], f"{answer['commit']} {headers['ETag']}")


def headers_of_the_answer_tell_where_it_is(report):
    with Server() as server:
        status, headers, body = server.request("POST", "/v1/eval", b'{"program": "1"}', {
            **LATER, "Content-Type": "application/json"})
        answer = json.loads(body)
        report.check(status == 202 and headers["Location"] == "/v1/jobs/" + answer["id"], f"{headers}")
        report.check(headers["Preference-Applied"] == "respond-async", f"{headers}")
        report.check(answer["state"] in ("queued", "running", "done"), f"{answer}")
        report.check(server.json("POST", "/v1/eval", {"program": "1"}, {"Prefer": "wait=5, return=minimal"})[0] == 200,
                     "other preferences")
        for said, applied in (("restart=fail", "respond-async, restart=fail"), ("restart=bogus", "respond-async"), ("wait=3", "respond-async")):
            headers = server.request("POST", "/v1/eval", b'{"program": "1"}', {
                "Prefer": "respond-async, " + said, "Content-Type": "application/json"})[1]
            report.check(headers["Preference-Applied"] == applied, f"{said}: {headers['Preference-Applied']}")
        report.check(server.json("GET", "/v1/jobs/nothing")[0] == 404, "an unknown job")
        for cursor in ("zz", "0", answer["id"] + "0", answer["id"][:-1], "", answer["id"].upper()[:-1] + "G"):
            status, problem = server.json("GET", "/v1/jobs?cursor=" + cursor)
            report.check(status == 400 and problem["code"] == "request-invalid", f"cursor={cursor}: {status} {problem}")
        report.check(server.json("POST", "/v1/eval", {"program": "1"}, {**LATER, "Accept": "text/html"})[0] == 406,
                     "a form that there is not")


def a_running_job_tells_how_far_it_is_and_stops(report):
    with Server() as server:
        job = submit(server, {"program": "y = " + LONG, "store": ["y"]})
        wait(server, job, "running")
        seen = []
        for _ in range(6):
            time.sleep(0.1)
            seen.append(server.json("GET", "/v1/jobs/" + job)[1]["progress"])
        report.check(0 < seen[-1] < 1 and seen == sorted(seen) and seen[0] < seen[-1], f"progress {seen}")
        status, headers, body = result(server, job)
        report.check(status == 202 and json.loads(body)["state"] == "running", f"while it runs: {status} {body}")
        before = time.time()
        report.check(server.request("DELETE", "/v1/jobs/" + job)[0] == 204, "DELETE")
        state = wait(server, job, "cancelled")
        report.check(time.time() - before < 0.5, "it took %.3f s to stop" % (time.time() - before))
        report.check(state["problem"]["code"] == "cancelled", f"{state}")
        report.check(result(server, job)[0] == 422, "the result of a cancelled job")
        report.check(server.request("GET", "/v1/variables/y")[0] == 404, "a cancelled job stored something")
        report.check(server.request("DELETE", "/v1/jobs/" + job)[0] == 204, "DELETE again")
        for method, path in (("GET", ""), ("GET", "/result"), ("GET", "/events"), ("DELETE", "")):
            report.check(server.request(method, "/v1/jobs/" + job + path)[0] == 404, f"{method} {path} of a job that was removed")
        report.check(server.json("GET", "/v1/jobs")[1]["jobs"] == [], "the list without it")
        server.stop()
        server.start()
        report.check(server.request("GET", "/v1/jobs/" + job)[0] == 404, "it is back after a restart")


def one_after_the_other(report):
    with Server("--jobs-running-max", "1", "--jobs-max", "5") as server:
        first = submit(server, {"program": LONG})
        wait(server, first, "running")
        others = [submit(server, {"program": "%d" % i}) for i in range(4)]
        status, headers, body = server.request("POST", "/v1/eval", b'{"program": "1"}', {**LATER, "Content-Type": "application/json"})
        report.check(status == 429 and json.loads(body)["code"] == "job-quota", f"{status} {body}")
        report.check(headers["Retry-After"] == "86400", f"none has ended, and results are kept for a day: {headers['Retry-After']}")
        states = [j["state"] for j in server.json("GET", "/v1/jobs")[1]["jobs"]]
        report.check(states == ["queued"] * 4 + ["running"], f"{states}")
        server.request("DELETE", "/v1/jobs/" + others[1])
        report.check(server.json("GET", "/v1/jobs/" + others[1])[1]["state"] == "cancelled", "a queued one")
        server.request("DELETE", "/v1/jobs/" + first)
        ends = [wait(server, j)["state"] for j in others]
        report.check(ends == ["done", "cancelled", "done", "done"], f"{ends}")
        page = server.json("GET", "/v1/jobs?limit=2")[1]
        ids = [j["id"] for j in page["jobs"]]
        ids += [j["id"] for j in server.json("GET", "/v1/jobs?cursor=" + page["cursor"])[1]["jobs"]]
        report.check(ids == list(reversed([first] + others)), f"{ids}")


def jobs_survive_a_restart(report):
    with Server("--jobs-running-max", "1") as server:
        done = submit(server, {"program": "y = arange(20000)\ny.sum()", "store": ["y"]})
        wait(server, done)
        before = json.loads(result(server, done)[2])
        for end in (server.stop, server.kill):
            again = submit(server, {"program": "z = sum(fori_loop(0, 200000, lambda i, v: v + 1.0, zeros(100)))", "store": ["z"]})
            wait(server, again, "running")
            once = submit(server, {"program": LONG}, Prefer="respond-async, restart=fail")
            end()
            server.start()
            report.check(json.loads(result(server, done)[2]) == before, "a result after " + end.__name__)
            state = wait(server, again)
            report.check(state["state"] == "done", f"{state}")
            report.check(server.eval("z")[1]["result"]["data"] == 2e7, "what it stored")
            wait(server, once, "running")
            end()
            server.start()
            state = wait(server, once)
            report.check(state["state"] == "failed" and state["problem"]["code"] == "job-interrupted", f"{state}")
            report.check(result(server, once)[0] == 500, "the result of an interrupted job")


def results_expire(report):
    with Server("--job-keep-time", "2 s") as server:
        job = submit(server, {"program": "arange(100000)"})
        wait(server, job)
        report.check(result(server, job)[0] == 200, "before")
        time.sleep(3)
        status, _, body = result(server, job)
        report.check(status == 410 and json.loads(body)["code"] == "gone", f"{status} {body}")
        report.check(files_become(server, 0), "files are left")
        time.sleep(2.5)
        report.check(server.json("GET", "/v1/jobs/" + job)[0] == 404, "after that")


def read_events(server, job, seconds, headers=""):
    """What comes on the stream until it ends, or for some seconds; and the status."""
    with socket.create_connection(("127.0.0.1", server.port)) as s:
        s.settimeout(seconds)
        s.sendall(("GET /v1/jobs/%s/events HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nAuthorization: Bearer %s\r\n"
                   "Accept-Encoding: gzip\r\n%sConnection: close\r\n\r\n"
                   % (job, server.port, server.token, headers)).encode())
        data = b""
        try:
            while True:
                piece = s.recv(65536)
                if not piece:
                    break
                data += piece
        except socket.timeout:
            pass
    return data.decode()


def events_tell_what_happens(report):
    with Server() as server:
        job = submit(server, {"program": "fori_loop(0, 300000, lambda i, v: v + 1.0, zeros(1000))"})
        wait(server, job, "running")
        stream = read_events(server, job, 20)
        report.check("text/event-stream" in stream and "gzip" not in stream, stream[:600])
        lines = [line for line in stream.split("\n") if line.startswith("data: ")]
        states = [json.loads(line[6:])["state"] for line in lines]
        progress = [json.loads(line[6:])["progress"] for line in lines]
        report.check(states[0] == "running" and states[-1] == "done" and len(states) > 4, f"{states}")
        report.check(progress == sorted(progress) and progress[-1] == 1, f"{progress}")
        last = [line[4:].strip() for line in stream.split("\n") if line.startswith("id: ")][-1]
        again = read_events(server, job, 5, "Last-Event-ID: %s\r\n" % last)
        report.check(again.startswith("HTTP/1.1 204"), again[:200])
        from_before = read_events(server, job, 5, "Last-Event-ID: running-1-3\r\n")
        report.check("event: state" in from_before and '"state":"done"' in from_before, from_before)


def listeners_that_leave_are_noticed(report):
    with Server("--connections-max", "40", "--connections-soft-max", "20") as server:
        job = submit(server, {"program": LONG})
        for _ in range(60):
            read_events(server, job, 0.02)
        time.sleep(0.5)
        counters = server.json("GET", "/v1/info")[1]["counters"]
        report.check(counters["connections_open"] <= 3, f"{counters}")
        sockets = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(3)]
        for s in sockets:
            s.sendall(("GET /v1/jobs/%s/events HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nAuthorization: Bearer %s\r\n\r\n"
                       % (job, server.port, server.token)).encode())
        time.sleep(0.2)
        before = time.time()
        report.check(server.stop() == 0 and time.time() - before < 5,
                     "stopping with listeners took %.1f s" % (time.time() - before))
        for s in sockets:
            s.close()


def main():
    report = Report()
    for test in (answers_are_those_of_the_synchronous_call, results_come_in_any_form, bodies_may_be_binary,
                 stored_graphs_run_later, headers_of_the_answer_tell_where_it_is,
                 a_running_job_tells_how_far_it_is_and_stops, one_after_the_other, jobs_survive_a_restart,
                 results_expire, events_tell_what_happens, listeners_that_leave_are_noticed):
        test(report)
    return report.end()


sys.exit(main())

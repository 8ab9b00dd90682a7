#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What the server counts of itself: /v1/info and /metrics say the same, and it is true."""
import json
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))
from server import Report, Server  # noqa: E402

SAMPLE = re.compile(r'^([a-z_]+)(\{(?:[a-z]+="[^"\\]*",?)*\})? (-?[0-9.e+-]+)$')


def read(server):
    status, headers, body = server.request("GET", "/metrics")
    samples, types = {}, {}
    for line in body.decode().splitlines():
        if line.startswith("# TYPE "):
            types[line.split()[2]] = line.split()[3]
        elif not line.startswith("# HELP "):
            m = SAMPLE.match(line)
            if m is None:
                raise ValueError(line)
            samples[m.group(1) + (m.group(2) or "")] = float(m.group(3))
    return status, headers, samples, types


def main():
    report = Report()
    with Server() as server:
        for i in range(5):
            server.eval("1 + %d" % i)
        server.eval("1 +")
        server.eval("x = 1", store=["x"])
        server.json("POST", "/v1/eval", {"program": "1"}, {"Prefer": "respond-async"})
        status, headers, samples, types = read(server)
        report.check(status == 200 and headers["Content-Type"].startswith("text/plain; version=0.0.4"), f"{headers}")
        route = '{method="POST",route="/v1/eval",status="%s"}'
        report.check(samples["tensord_answers_total" + route % "2xx"] == 7, f"{samples}")
        report.check(samples["tensord_answers_total" + route % "4xx"] == 1, "refused ones")
        buckets = [v for k, v in samples.items() if k.startswith('tensord_answer_seconds_bucket{method="POST",route="/v1/eval"')]
        count = samples['tensord_answer_seconds_count{method="POST",route="/v1/eval"}']
        report.check(buckets == sorted(buckets) and buckets[-1] == count == 8, f"{buckets} {count}")
        report.check(types["tensord_answer_seconds"] == "histogram", f"{types}")
        report.check(samples["tensord_jobs_submitted_total"] == 1 and samples["tensord_storage_variables"] == 1, "figures")
        report.check(samples["tensord_storage_writable"] == 1, "a flag")
        info = server.json("GET", "/v1/info")[1]
        for group in ("machine", "storage", "plans", "counters", "jobs"):
            for key, value in info[group].items():
                if isinstance(value, str):
                    continue
                name = "tensord_%s_%s" % (group, key)
                report.check(name in samples or name + "_total" in samples, f"{name} is not in /metrics")
        names = {re.sub(r"_(bucket|sum|count)$", "", k.split("{")[0]) for k in samples}
        report.check(names == set(types), f"{names ^ set(types)}")
        anonymous = server.request("GET", "/metrics", None, {"Authorization": ""})
        report.check(anonymous[0] == 401, "without the token")
        trace = "4bf92f3577b34da6a3ce929d0e0e4736"
        for header in ("00-%s-00f067aa0ba902b7-01" % trace, 'x"%s' % trace):
            server.request("GET", "/healthz", None, {"traceparent": header})
        server.stop()
        with open(os.path.join(server.data, "log")) as f:
            traced = [json.loads(line) for line in f if trace in line]
        report.check(len(traced) == 1 and traced[0]["trace_id"] == trace, f"{traced}")
    return report.end()


sys.exit(main())

#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Variables under the conditions that examples do not show: restarts, writers at the same
time, arrays in files, pages, ranges, conditions."""
import http.client
import io
import json
import os
import struct
import sys
import threading
import time
import urllib.parse
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))
from server import Report, Server  # noqa: E402

JSON = {"Content-Type": "application/json"}


def put(server, name, value, **headers):
    return server.request("PUT", "/v1/variables/" + urllib.parse.quote(name), json.dumps(value),
                          {**JSON, **headers})


def get(server, address, **headers):
    return server.request("GET", "/v1/variables/" + address, None, headers)


def everything_is_there_after_a_restart(report):
    with Server() as server:
        put(server, "small", [[1, 2], [3, 4]])
        server.eval("big = arange(100000) * 0.5", store=["big"])
        server.eval("x = 1", store={"memory_only": "x"}, durability="memory")
        put(server, "ünï", True)
        tag = get(server, "small")[1]["ETag"]
        for end in (server.stop, server.kill):
            end()
            server.start()
            status, answer = server.eval("small.sum(), big[-1], ünï, big.shape")
            values = [t["data"] for t in answer.get("result", [])]
            report.check(values == [10, 49999.5, True, [100000]], f"after {end.__name__}: {answer}")
            report.check(get(server, "small")[1]["ETag"] == tag, "the ETag changed by a restart")
            report.check(get(server, "memory_only")[0] == 404, "a volatile name came back")


def large_values_are_npy_files(report):
    with Server() as server:
        server.eval("big = arange(100000) * 0.5", store=["big"])
        meta = json.loads(get(server, "big/meta")[2])
        report.check(meta["storage"] == "memmap" and meta["nbytes"] == 800000, f"meta: {meta}")
        with open(os.path.join(server.data, meta["file"]), "rb") as file:
            data = file.read()
        report.check(data[:8] == b"\x93NUMPY\x01\x00" and len(data) == 4096 + 800000,
                     "the file is no .npy file with its data at 4096")
        report.check(struct.unpack("<d", data[-8:])[0] == 49999.5, "the last element is another")
        raw = get(server, "big?slice=::-2&format=raw")[2]
        report.check(struct.unpack("<2d", raw[:16]) == (49999.5, 49998.5), "a strided slice")
        part = get(server, "big?format=npy", Range="bytes=-16")
        report.check(part[0] == 206 and struct.unpack("<2d", part[2]) == (49999.0, 49999.5),
                     "the last two elements by a range")
        with_if_range = get(server, "big?format=raw", **{"Range": "bytes=0-7", "If-Range": '"x"'})
        report.check(with_if_range[0] == 200, "If-Range with another tag gives the whole")


def writers_at_the_same_time_lose_nothing(report):
    """Each evaluation reads what it changes, and is done again if it was overtaken."""
    with Server() as server:
        put(server, "counter", 0)
        done, refused = [], []

        def work():
            connection = http.client.HTTPConnection("127.0.0.1", server.port)
            headers = {**JSON, "Authorization": "Bearer " + server.token}
            body = json.dumps({"program": "counter = counter + 1", "store": ["counter"]})
            for _ in range(25):
                connection.request("POST", "/v1/eval", body, headers)
                answer = connection.getresponse()
                answer.read()
                (done if answer.status == 200 else refused).append(answer.status)
            connection.close()

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        value = json.loads(get(server, "counter")[2])["data"]
        report.check(value == len(done), f"{len(done)} increments gave {value}")
        report.check(all(status == 409 for status in refused), f"refused with {set(refused)}")
        report.check(len(done) >= 25, f"only {len(done)} increments were done")


def what_one_request_stores_is_visible_together(report):
    with Server() as server:
        server.eval("a = 0; b = 0", store=["a", "b"])
        stop = []

        def write():
            other = Server.__new__(Server)
            other.__dict__.update(server.__dict__, connection=None)
            for i in range(1, 60):
                other.eval(f"a = {i}; b = -{i}", store=["a", "b"])
            stop.append(True)

        writer = threading.Thread(target=write)
        writer.start()
        torn = 0
        while not stop:
            torn += server.eval("a + b")[1]["result"]["data"] != 0
        writer.join()
        report.check(torn == 0, f"{torn} readers saw half of a commit")


def pages_have_every_name_once(report):
    with Server() as server:
        names = [f"v{i:03}" for i in range(57)]
        server.eval("; ".join(f"{name} = {i}" for i, name in enumerate(names)), store="all")
        seen, cursor = [], ""
        while cursor is not None:
            address = "/v1/variables?limit=10&prefix=v" + (f"&cursor={cursor}" if cursor else "")
            page = server.json("GET", address)[1]
            seen += [v["name"] for v in page["variables"]]
            cursor = page["cursor"]
        report.check(seen == names, f"pages gave {len(seen)} names")


def conditions_hold(report):
    with Server() as server:
        created = put(server, "x", 1, **{"If-None-Match": "*"})
        report.check(created[0] == 201, "If-None-Match: * on a new name")
        tag = created[1]["ETag"]
        report.check(put(server, "x", 2, **{"If-Match": tag})[0] == 200, "If-Match with the tag")
        report.check(put(server, "x", 3, **{"If-Match": tag})[0] == 412, "If-Match with an old tag")
        new = get(server, "x?format=npy")[1]["ETag"]
        report.check(put(server, "x", 3, **{"If-Match": f'"a", {new}'})[0] == 200,
                     "If-Match with a tag of another form, in a list")
        server.request("DELETE", "/v1/variables/x")
        put(server, "x", 3)
        report.check(get(server, "x")[1]["ETag"] not in (tag, new), "a tag came again")
        tag = get(server, "x")[1]["ETag"]
        report.check(get(server, "x", **{"If-None-Match": tag})[0] == 304, "304 for the same form")
        report.check(get(server, "x?format=npy", **{"If-None-Match": tag})[0] == 200,
                     "200 for another form")
        head = server.request("HEAD", "/v1/variables/x?format=npy")
        report.check(head[0] == 200 and head[1]["Content-Length"] == "136" and head[2] == b"",
                     f"HEAD: {dict(head[1])}")


def reading_goes_on_while_somebody_writes(report):
    with Server() as server:
        server.eval("big = rand((1000, 1000)) * 1.5", store=["big"])
        sums = {server.eval("big.sum()")[1]["result"]["data"]}
        for _ in range(3):
            server.eval("big = big + 1", store=["big"])
            sums.add(server.eval("big.sum()")[1]["result"]["data"])
        report.check(len(sums) == 4, f"sums: {sums}")
        arrays = sum(len(files) for _, _, files in os.walk(os.path.join(server.data, "arrays")))
        report.check(arrays <= 2, f"{arrays} array files are left of one variable")


def a_client_that_leaves_stops_its_evaluation(report):
    with Server() as server:
        body = json.dumps({"program": "x = arange(2e8)\n" + "x = sin(x)\n" * 20 + "x.sum()"})
        connection = http.client.HTTPConnection("127.0.0.1", server.port)
        connection.request("POST", "/v1/eval", body,
                           {**JSON, "Authorization": "Bearer " + server.token})
        time.sleep(0.5)
        running = server.json("GET", "/v1/info")[1]["counters"]["evaluations_running"]
        connection.close()
        limit = time.monotonic() + 3
        while time.monotonic() < limit:
            if server.json("GET", "/v1/info")[1]["counters"]["evaluations_running"] == 0:
                break
            time.sleep(0.02)
        report.check(running == 1, f"{running} evaluations were running")
        report.check(time.monotonic() < limit, "the evaluation went on without its client")


def reads_rest_on_conditions(report):
    with Server() as server:
        put(server, "x", list(range(100)))
        tag = get(server, "x?format=raw")[1]["ETag"]
        put(server, "y", 1)
        other = get(server, "y?format=raw")[1]["ETag"]
        report.check(get(server, "x?format=raw", **{"If-Match": tag})[0] == 200, "If-Match")
        report.check(get(server, "x?format=raw", **{"If-Match": other})[0] == 412, "If-Match of another state")
        report.check(get(server, "x?format=raw", **{"Range": "bytes=0-7", "If-Range": tag})[0] == 206, "If-Range")
        report.check(get(server, "x?format=raw", **{"Range": "bytes=0-7", "If-Range": other})[0] == 200,
                     "If-Range of another state")
        report.check(get(server, "x?format=raw", **{"Range": "bytes=0-7", "If-Range": "W/" + tag})[0] == 200,
                     "a weak tag holds for no range")
        npy = get(server, "x?format=npy")[1]["ETag"]
        report.check(get(server, "x?format=raw", **{"Range": "bytes=0-7", "If-Range": npy})[0] == 200,
                     "the tag of another form")
        status, headers, _ = server.request("HEAD", "/v1/variables/x?format=raw", None, {"Range": "bytes=0-7"})
        report.check(status == 200 and headers["Content-Length"] == "800", f"HEAD with Range: {status} {headers}")


def counts_are_those_of_the_prefix(report):
    with Server() as server:
        server.eval("\n".join("a%d = %d\nb%d = %d" % (i, i, i, i) for i in range(30)) + "\nc = 1", store="all")
        for prefix, count in (("", 61), ("a", 30), ("a1", 11), ("c", 1), ("d", 0)):
            answer = server.json("GET", "/v1/variables?limit=5&prefix=" + prefix)[1]
            report.check(answer["count"] == count and len(answer["variables"]) == min(5, count), f"{prefix}: {answer['count']}")
        server.json("PUT", "/v1/graphs/ga", {"program": "1"})
        server.json("PUT", "/v1/graphs/gb", {"program": "1"})
        report.check(server.json("GET", "/v1/graphs?prefix=ga")[1]["count"] == 1, "graphs")


def odd_tensors_come_back(report):
    with Server() as server:
        for shape, data in (("", b"\0" * 8), ("0", b""), ("0,3", b""), ("2,0,4", b"")):
            status, _, answer = server.request("PUT", "/v1/variables/x", data, {
                "Content-Type": "application/octet-stream", "Tensor-Dtype": "float64", "Tensor-Shape": shape})
            report.check(status in (200, 201), f"[{shape}]: {status} {answer}")
            status, headers, found = get(server, "x?format=raw")
            again = server.request("PUT", "/v1/variables/again", found, {
                "Content-Type": headers["Content-Type"], "Tensor-Dtype": headers["Tensor-Dtype"],
                "Tensor-Shape": headers["Tensor-Shape"]})
            report.check(again[0] in (200, 201), f"[{shape}] as it came: {again[2]}")
            report.check(status == 200 and found == data and headers["Tensor-Shape"] == (shape or "()"), f"[{shape}]: {status} {headers}")
        status, _, answer = server.request("PUT", "/v1/variables/x", b"", {
            "Content-Type": "application/octet-stream", "Tensor-Dtype": "float64", "Tensor-Shape": "1"})
        report.check(status in (411, 422), f"no bytes for an element: {status} {answer}")
        put(server, "name", [1, 2])
        names = zipfile.ZipFile(io.BytesIO(get(server, "name?format=npz")[2])).namelist()
        report.check(names == ["name.npy"], f"{names}")


def several_at_once(report):
    with Server() as server:
        archive = io.BytesIO()
        with zipfile.ZipFile(archive, "w") as z:
            for name, data in (("a", struct.pack("<3d", 1, 2, 3)), ("b", struct.pack("<3d", 4, 5, 6))):
                header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }"
                header += b" " * (117 - len(header)) + b"\n"
                z.writestr(name + ".npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + header + data)
        status, headers, body = server.request("PUT", "/v1/variables", archive.getvalue(), {"Content-Type": "application/x-npz"})
        answer = json.loads(body)
        report.check(status == 200 and answer["stored"] == {"a": {"version": 1}, "b": {"version": 1}}, f"{status} {answer}")
        commits = {json.loads(get(server, n + "/meta")[2])["commit"] for n in "ab"}
        report.check(commits == {answer["commit"]}, f"{commits} {answer}")
        status, answer = server.json("PUT", "/v1/variables", {"c": [1, 2], "a": {"dtype": "int8", "shape": [1], "data": [7]}})
        report.check(status == 200 and answer["stored"] == {"c": {"version": 1}, "a": {"version": 2}}, f"{status} {answer}")
        status, _, body = server.request("GET", "/v1/variables?names=a,b,c,a&format=npz")
        names = zipfile.ZipFile(io.BytesIO(body)).namelist()
        report.check(status == 200 and names == ["a.npy", "b.npy", "c.npy"], f"{status} {names}")
        status, answer = server.json("GET", "/v1/variables?names=a,c")
        report.check(status == 200 and answer["a"]["data"] == [7] and answer["c"]["data"] == [1, 2], f"{answer}")
        status, answer = server.json("GET", "/v1/variables?names=a,nothing")
        report.check(status == 404, f"{status} {answer}")
        report.check(server.request("GET", "/v1/variables?format=npz")[0] == 400, "npz of no names")
        status, answer = server.json("PUT", "/v1/variables", {"d": [1], "not a name": [2]})
        report.check(status == 400 and answer["code"] == "name-invalid", f"{status} {answer}")
        report.check(get(server, "d")[0] == 404, "half of a request was stored")


def main():
    report = Report()
    for test in (everything_is_there_after_a_restart, large_values_are_npy_files,
                 writers_at_the_same_time_lose_nothing,
                 what_one_request_stores_is_visible_together, pages_have_every_name_once,
                 conditions_hold, reading_goes_on_while_somebody_writes,
                 a_client_that_leaves_stops_its_evaluation, reads_rest_on_conditions,
                 counts_are_those_of_the_prefix, odd_tensors_come_back,
                 several_at_once):
        failed = report.failed
        test(report)
        print(("ok " if report.failed == failed else "FAIL ") + test.__name__)
    return report.end()


if __name__ == "__main__":
    sys.exit(main())

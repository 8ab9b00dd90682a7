#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What takes longer than a test may: power cuts of a real file system, kills, histories, cut disks worked
out by the thousand, damage, a mixed load that nothing may grow under, and valgrind.

    soak.py [PART ..]        SOAK_MINUTES=10 in all; the parts are power, kills, history, states, damage,
                             load, memcheck

The power is cut on an ext4 of its own in a file (root must mount it): the server is killed, the file
system is told to forget what it has not written, and mounted again; so its journal is replayed and the
index's log, which is begun anew all the time, is what was synced of it."""
import io
import os
import random
import statistics
import subprocess
import sys
import threading
import time

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "lib"), os.path.join(HERE, "crash")]
import test_http_kill as writers  # noqa: E402
from disk import Disk  # noqa: E402
from server import TENSORD, Report, Server  # noqa: E402

BUILD = os.environ.get("BUILD", "build")
SECONDS = float(os.environ.get("SOAK_MINUTES", "10")) * 60
MIB = 1 << 20
report = Report()


def until(seconds):
    """0, 1, 2 .. as long as there is time."""
    end, turn = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        yield turn
        turn += 1


# ---- Power cuts -----------------------------------------------------------------------------------

def power(seconds):
    disk = Disk("ext4", 256 * MIB)
    with disk as path:
        if path is None:
            return print("note: SKIPPED: cannot mount; the power of no file system was cut")
        cut_often(seconds, disk)


def cut_often(seconds, disk):
    def cut(server):
        """The server goes first: a sync that is under way while the power goes may seem to succeed."""
        server.kill()
        server.log.close()
        disk.fail()
        report.check(disk.mount_again(), "it is mounted again")

    data = os.path.join(disk.path, "data")
    os.mkdir(data)
    with Server(data=data) as server:
        for i in range(100):  # the log is at its full length, and is written over from now on
            server.eval("log = zeros(8000) + %d" % i, store=["log"])
        cuts, answered = writers.run(report, until(seconds), server, cut)
        server.stop()
        code = subprocess.run([TENSORD, "check", "--data", data], capture_output=True, text=True)
        report.check(code.returncode == 0, f"check: {code.stdout} {code.stderr}")
    print(f"note: power: {cuts} cuts, {answered} answered writes")


def kills(seconds):
    with Server() as server:
        count, answered = writers.run(report, until(seconds), server)
    print(f"note: kills: {count} kills, {answered} answered writes")


# ---- Tests that can be told to go on ------------------------------------------------------------------

def longer(what, command, environment):
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment})
    report.check(done.returncode == 0, f"{what}: exit {done.returncode}\n{done.stdout[-3000:]}{done.stderr[-1000:]}")
    for line in done.stdout.splitlines():
        if line.startswith("note: "):
            print("note: %s: %s" % (what, line[6:]))


def history(seconds):
    longer("history", ["/usr/bin/python3", os.path.join(HERE, "crash", "test_history.py")],
           {"HISTORY_SECONDS": str(seconds)})


def states(seconds):
    for seed in until(seconds):
        longer("states", [BUILD + "/tests/crash/test_power"], {"STATES": "2000", "SEED": str(seed)})


def damage(seconds):
    for seed in until(seconds):
        longer("damage", [BUILD + "/tests/crash/test_damage"], {"MUTATIONS": "2000", "SEED": str(seed)})


# ---- A mixed load -----------------------------------------------------------------------------------------

def process_figures(server):
    """KiB of memory, open descriptors, threads."""
    with open("/proc/%d/status" % server.process.pid) as f:
        fields = dict(line.split(":\t", 1) for line in f if ":\t" in line)
    return (int(fields["VmRSS"].split()[0]), len(os.listdir("/proc/%d/fd" % server.process.pid)),
            int(fields["Threads"]))


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


class Load(threading.Thread):
    """Any requests, about as many as the server would take 70 of 100 of its time for."""

    def __init__(self, server, number, end):
        super().__init__()
        self.server = Server.__new__(Server)
        self.server.__dict__.update(server.__dict__, connection=None)
        self.number, self.end, self.times, self.odd = number, end, [], []

    def request(self):
        k, name = random.random(), "v%d_%d" % (self.number, random.randrange(20))
        if k < 0.3:
            return "GET", "/v1/variables/%s?format=raw" % name, None, {}
        if k < 0.45:
            return "PUT", "/v1/variables/" + name, npy(np.zeros(random.choice((10, 5000, 40000)))), {"Content-Type": "application/x-npy"}
        if k < 0.55:
            at = random.randrange(500000)
            return "PATCH", "/v1/variables/chunks?slice=%d:%d" % (at, at + 100), b"[1.5]", {"Content-Type": "application/json"}
        if k < 0.6:
            return "DELETE", "/v1/variables/" + name, None, {}
        program = random.choice(("softmax(rand(300, 300), axis=1).sum()", "a = rand(200, 200)\n(a @ a.T).trace()",
                                 "chunks[:100000].sum()", "x = arange(1000)\n(x * x).sum()", "1 +", "zeros(3) + zeros(4)"))
        body = '{"program": %s}' % repr(program).replace("'", '"')
        return "POST", "/v1/eval", body, {"Content-Type": "application/json"}

    def run(self):
        while time.monotonic() < self.end:
            start = time.monotonic()
            status = self.server.request(*self.request())[0]
            took = time.monotonic() - start
            self.times.append((start, took))
            if status >= 500:
                self.odd.append(status)
            time.sleep(took * 0.4)


def slope(points):
    """Per hour, by least squares, of (seconds, value)."""
    t, v = np.array(points, "f8").T
    return float(np.polyfit(t, v, 1)[0] * 3600)


def live_bytes(server):
    """What the stored arrays must take on the disk: files of a page and the elements, chunks of a MiB."""
    total = 0
    for v in server.json("GET", "/v1/variables?limit=1000")[1]["variables"]:
        if v["storage"] == "memmap":
            total += 4096 + -(-v["nbytes"] // 4096) * 4096
        if v["storage"] == "chunked":
            total += -(-v["nbytes"] // MIB) * MIB
    return total


def disk_bytes(server):
    files = [os.path.join(d, f) for d, _, names in os.walk(os.path.join(server.data, "arrays")) for f in names]
    return sum(os.stat(f).st_blocks * 512 for f in files)


def p99(times):
    return sorted(t for _, t in times)[int(len(times) * 0.99)] * 1e3


def load(seconds):
    with Server() as server:
        server.request("PUT", "/v1/variables/chunks?storage=chunked", npy(np.zeros(600000)), {"Content-Type": "application/x-npy"})
        start = time.monotonic()
        threads = [Load(server, i, start + seconds) for i in range(4)]
        for t in threads:
            t.start()
        points = []
        while any(t.is_alive() for t in threads):
            time.sleep(0.5)
            points.append((time.monotonic() - start, *process_figures(server)))
        times = sorted(x for t in threads for x in t.times)
        warm = [p for p in points if p[0] > seconds / 3]
        halves = [[x for x in times if a <= (x[0] - start) / seconds < b] for a, b in ((0.33, 0.66), (0.66, 1.0))]
        growth = slope([p[:2] for p in warm]) / 1024
        rss = statistics.median(p[1] for p in warm) / 1024
        time.sleep(3)
        disk, live = disk_bytes(server), live_bytes(server)
        odd = [s for t in threads for s in t.odd]
        before, after = p99(halves[0]), p99(halves[1])
        print(f"note: load: {len(times)} requests, {len(times) / seconds:.0f}/s; memory {rss:.0f} MiB, {growth:+.1f} MiB/h; descriptors "
              f"{min(p[2] for p in warm)}-{max(p[2] for p in warm)}, threads {min(p[3] for p in warm)}-{max(p[3] for p in warm)}; "
              f"disk {disk / MIB:.2f} of {live / MIB:.2f} MiB; p99 {before:.1f}, then {after:.1f} ms")
        report.check(not odd, f"odd answers: {odd[:5]}")
        # 1 MiB an hour, and in a short run what pages come and go; half a minute tells nothing.
        report.check(seconds < 120 or growth < 1 + 6 * 3600 / seconds, f"memory grows by {growth:.1f} MiB/h")
        report.check(max(p[2] for p in warm) - min(p[2] for p in warm) <= 64, "descriptors")
        report.check(max(p[3] for p in warm) - min(p[3] for p in warm) <= 4, "threads")
        report.check(abs(disk - live) <= 0.01 * live, f"the disk has {disk} bytes for {live}")
        report.check(seconds < 120 or after < 1.2 * before + 5, f"p99 {before:.1f}, then {after:.1f} ms")


# ---- Valgrind ---------------------------------------------------------------------------------------------

def memcheck(_):
    longer("memcheck", ["make", "-s", "valgrind"], {})


# Shares of the time; memcheck takes what it takes.
PARTS = {power: 0.3, kills: 0.1, history: 0.15, states: 0.1, damage: 0.1, load: 0.25, memcheck: 0}


def main():
    random.seed()
    for part, share in PARTS.items():
        if len(sys.argv) == 1 or part.__name__ in sys.argv[1:]:
            part(SECONDS * share)
    return report.end()


sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
"""Speed beside others, in one run: every row of rows.def is timed in turns by the engine,
by a loop written by hand (or OpenBLAS), and by each peer that is installed, with the same
number of threads; inputs change each time. Medians, ratios, and whether the target is met.

    run.py [--turns N] [--threads 1,2] [--rows PART,PART] [--write]

--write puts the tables into RESULTS.md and a picture of how cost grows into scaling.svg."""
import argparse
import os
import platform
import statistics
import subprocess
import sys
import time

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
BENCH = os.environ.get("BUILD", "build") + "/tests/bench/bench"
sys.path.insert(0, HERE)
from changing import table_of_changes  # noqa: E402
from durable import POINTS, table_of_durability  # noqa: E402
from peers import peers  # noqa: E402
from streaming import table_of_streaming  # noqa: E402
from tiny import table_of_requests  # noqa: E402
from transfers import table_of_transfers  # noqa: E402

# Most that the engine may take, in times of the loop by hand, and least that peers must
# take, in times of the engine.
TARGETS = {"S1": (1.20, {}), "S2": (1.10, {"numpy": 1, "numexpr": 1, "torch": 1, "numba": 1}),
           "S3": (1.25, {"numpy": 4, "torch": 3}), "S4": (1 / 0.97, {})}
CHAIN = {"numpy": 8, "numexpr": 6}
SPEEDUP = 1.85
SIZES = [10 ** k for k in range(3, 8)]


class Bench:
    """The program that runs the engine and the loops by hand, with some threads."""

    def __init__(self, threads):
        self.process = subprocess.Popen([BENCH], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env={**os.environ, "TENSORD_THREADS": str(threads)})
        lines = iter(self.process.stdout.readline, "\n")
        self.rows = [dict(zip(("name", "target", "dtype", "work", "program", "shapes"),
                              line.rstrip("\n").split("\t"))) for line in lines]

    def ask(self, question, name):
        self.process.stdin.write("%s %s\n" % (question, name))
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def arrays_of(row):
    shapes = [tuple(map(int, s.split("x"))) for s in row["shapes"].split()]
    return [(0.1 + (np.arange(np.prod(s)) * (k + 3) % 1000) / 300).astype(row["dtype"]).reshape(s)
            for k, s in enumerate(shapes)]


def timed(function, arrays, turn):
    for a in arrays:
        a.reshape(-1)[turn * 4099 % a.size] += 1e-3
    start = time.perf_counter()
    function(*arrays)
    return (time.perf_counter() - start) * 1e3


def measure(bench, row, threads, turns, others):
    """Medians in ms by who: hand, engine and the peers that know the work."""
    work = row["name"].rsplit("_", 1)[0]
    arrays = arrays_of(row)
    times = {"engine": [], "hand": []}
    for turn in range(turns + 1):
        for who in ("engine", "hand"):
            times[who].append(bench.ask(who, row["name"]))
        for peer, (set_threads, convert, works) in others.items():
            if work not in works:
                continue
            set_threads(threads)
            times.setdefault(peer, []).append(timed(lambda *x: works[work](*map(convert, x)), arrays, turn))
    return {who: statistics.median(t[1:]) for who, t in times.items()}


def verdict(row, t):
    most, least = TARGETS[row["target"]]
    least = CHAIN if row["name"] == "chain_f64" else least
    missed = ["hand"] if t["engine"] > most * t["hand"] else []
    missed += [p for p, times in least.items() if p in t and t[p] < times * t["engine"]]
    return "pass" if not missed else "MISSES " + " ".join(missed)


def table_of_rows(benches, turns, wanted, others):
    lines = ["| target | row | threads | engine ms | by hand ms | engine/hand | " +
             " | ".join(p + "/engine" for p in others) + " | |",
             "|---|---|---|---|---|---|" + "---|" * (len(others) + 1)]
    seen = {}
    for row in next(iter(benches.values())).rows:
        if wanted and not any(w in row["name"] for w in wanted):
            continue
        for threads, bench in benches.items():
            t = seen[row["name"], threads] = measure(bench, row, threads, turns, others)
            ratios = ["%.1f" % (t[p] / t["engine"]) if p in t else "" for p in others]
            lines.append("| %s | `%s` %s | %d | %.2f | %.2f | %.2f | %s | %s |" % (
                row["target"], row["program"], row["dtype"], threads, t["engine"], t["hand"],
                t["engine"] / t["hand"], " | ".join(ratios), verdict(row, t)))
            print(lines[-1], flush=True)
    return lines, seen


def table_of_threads(rows, seen):
    lines = ["| target | row | 1 thread / 2 threads, engine | by hand | |", "|---|---|---|---|---|"]
    for row in rows:
        one, two = seen.get((row["name"], 1)), seen.get((row["name"], 2))
        if one is None or two is None or row["target"] not in ("S1", "S3"):
            continue
        gain = one["engine"] / two["engine"]
        lines.append("| S5 | `%s` %s | %.2f | %.2f | %s |" % (
            row["program"], row["dtype"], gain, one["hand"] / two["hand"],
            "pass" if gain >= SPEEDUP else "MISSES"))
    return lines


def growth(bench, turns):
    """ns an element of the first row, by size."""
    result = []
    for n in SIZES:
        times = [bench.ask("engine", "chain_f64@%d" % n) for _ in range(max(turns, 21))]
        result.append((n, statistics.median(times) * 1e6 / n))
    return result


def table_of_growth(points):
    return ["| target | elements | ns an element |", "|---|---|---|"] + [
        "| S12 | %d | %.2f |" % point for point in points]


def panel(title, points, left, top):
    """Cost over how many, both logarithmic, as a part of a picture."""
    width, height = 230, 150
    xs, ys = np.log10([p[0] for p in points]), np.log10([p[1] for p in points])
    low, high = np.floor(min(ys)), max(np.ceil(max(ys)), np.floor(min(ys)) + 1)
    x = lambda v: left + width * (v - xs[0]) / (xs[-1] - xs[0])
    y = lambda v: top + height * (1 - (v - low) / (high - low))
    out = ['<text x="%d" y="%d">%s</text>' % (left, top - 10, title)]
    for k in np.arange(low, high + 1):
        out.append('<path d="M%d %.0fh%d" stroke="#ddd"/><text x="%d" y="%.0f" text-anchor="end">%g</text>' % (
            left, y(k), width, left - 4, y(k) + 4, 10.0 ** k))
    out += ['<text x="%.0f" y="%d" text-anchor="middle">%g</text>' % (x(v), top + height + 16, p[0]) for v, p in zip(xs, points)]
    dots = " ".join("%.0f,%.0f" % (x(v), y(w)) for v, w in zip(xs, ys))
    return out + ['<polyline points="%s" fill="none" stroke="#06c" stroke-width="2"/>' % dots]


def picture(series):
    """What grows how: a panel for each series."""
    rows = (len(series) + 1) // 2
    out = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 600 %d" font-family="sans-serif" font-size="11">' % (220 * rows)]
    for k, (title, points) in enumerate(series.items()):
        out += panel(title, points, 50 + k % 2 * 300, 35 + k // 2 * 220)
    return "\n".join(out + ["</svg>"]) + "\n"


def machine():
    with open("/proc/cpuinfo") as f:
        model = next((line.split(":")[1].strip() for line in f if line.startswith("model name")), "unknown")
    return "%s, %d cores, %s" % (model, os.cpu_count(), platform.platform())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rows", default="")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    others = peers()
    benches = {int(t): Bench(int(t)) for t in options.threads.split(",")}
    wanted = [w for w in options.rows.split(",") if w]

    print("%s; medians of %d turns; peers: %s" % (machine(), options.turns, ", ".join(others)))
    rows, seen = table_of_rows(benches, options.turns, wanted, others)
    first = next(iter(benches.values()))
    threads = table_of_threads(first.rows, seen)
    points = growth(first, options.turns)
    tables = [rows, threads, table_of_requests(options.turns), table_of_transfers(options.turns),
              table_of_streaming(options.turns), table_of_durability(options.turns),
              table_of_changes(options.turns), table_of_growth(points)]
    print("\n\n".join("\n".join(t) for t in tables[1:]))
    for bench in benches.values():
        bench.close()
    if options.write:
        with open(os.path.join(HERE, "RESULTS.md"), "w") as f:
            f.write("# Speed\n\nWritten by `make bench WRITE=1`. %s; medians of %d turns, interleaved.\n\n%s\n\n"
                    "![how cost grows](scaling.svg)\n" % (machine(), options.turns,
                                                           "\n\n".join("\n".join(t) for t in tables)))
        with open(os.path.join(HERE, "scaling.svg"), "w") as f:
            f.write(picture({"2*a + 3*b*sin(c) - exp(d), ns an element": points, **POINTS}))


main()

# SPDX-License-Identifier: Apache-2.0
"""Speed beside others, in one run: each row is timed in turns by the engine, by a loop
written by hand, and by NumPy, on 10 million float64; medians and their ratios.

    run.py [TURNS]
"""
import os
import statistics
import subprocess
import sys
import time

import numpy as np

BENCH = os.environ.get("BUILD", "build") + "/tests/bench/bench"
TURNS = int(sys.argv[1]) if len(sys.argv) > 1 else 9
N = 10_000_000
ROWS = [("chain", "2*a + 3*b*sin(c) - exp(d)", lambda a, b, c, d: 2 * a + 3 * b * np.sin(c) - np.exp(d)),
        ("multiply_add", "a*b + c", lambda a, b, c, d: a * b + c)]


def main():
    threads = os.environ.setdefault("TENSORD_THREADS", "1")
    bench = subprocess.Popen([BENCH], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    a, b, c, d = (0.1 + (np.arange(N) * (k + 3) % 1000) / 300 for k in range(4))

    def ask(who, name):
        bench.stdin.write("%s %s\n" % (who, name))
        bench.stdin.flush()
        return float(bench.stdout.readline())

    def numpy_ms(f, turn):
        a[turn] += 1e-3
        start = time.perf_counter()
        f(a, b, c, d)
        return (time.perf_counter() - start) * 1e3

    print("10 M float64, %s thread(s), medians of %d turns; times in ms" % (threads, TURNS))
    print("%-28s %9s %9s %9s %14s %14s" % ("", "engine", "by hand", "NumPy", "engine/hand", "NumPy/engine"))
    for name, text, f in ROWS:
        times = {"engine": [], "hand": [], "numpy": []}
        for turn in range(TURNS + 1):
            for who in ("engine", "hand"):
                times[who].append(ask(who, name))
            times["numpy"].append(numpy_ms(f, turn))
        e, h, n = (statistics.median(times[k][1:]) for k in ("engine", "hand", "numpy"))
        print("%-28s %9.1f %9.1f %9.1f %14.2f %14.2f" % (text, e, h, n, e / h, n / e))
    bench.stdin.close()
    bench.wait()


main()

# SPDX-License-Identifier: Apache-2.0
"""Results have the same bits for any number of threads and any size of tiles."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "lib"))
from server import Report  # noqa: E402

TOOL = os.environ.get("BUILD", "build") + "/tests/engine/exec/tool_digest"


def digests(threads, *arguments):
    run = subprocess.run([TOOL, *arguments], capture_output=True, text=True,
                         env={**os.environ, "TENSORD_THREADS": str(threads)})
    return run.stdout.splitlines() or [run.stderr]


def main():
    report = Report()
    one = digests(1)
    report.check(len(one) > 20, "too few results: %s" % one)
    for threads, tile in [(2, "2048"), (3, "2048"), (7, "2048"), (1, "4096"), (2, "8192")]:
        for a, b in zip(one, digests(threads, tile)):
            report.check(a == b, "%d threads, tiles of %s bytes: %s, not %s" % (threads, tile, b, a))
    return report.end()


sys.exit(main())

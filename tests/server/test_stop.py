# SPDX-License-Identifier: Apache-2.0
"""A server that is told to stop as soon as it listens ends in order, whichever thread gets the signal."""
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from server import Report, Server  # noqa: E402

ROUNDS = 12


def main():
    report = Report()
    for number in (signal.SIGTERM, signal.SIGINT):
        for _ in range(ROUNDS):
            with Server() as server:
                server.process.send_signal(number)
                code = server.process.wait(timeout=60)
                server.process.stdout.close()
                report.check(code == 0, "%s ended it with %d" % (number.name, code))
    return report.end()


sys.exit(main())

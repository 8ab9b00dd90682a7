# SPDX-License-Identifier: Apache-2.0
"""libmicrohttpd alone (bare.c), giving the answer that a server gave; the time of a processor."""
import os
import subprocess

BUILD = os.environ.get("BUILD", "build")
ADDED = {"date", "connection", "content-length"}  # by the library itself


class Bare:
    """bare.c, with the headers and body of an answer."""

    def __init__(self, headers, body, directory, threads):
        path = os.path.join(directory, "answer")
        with open(path, "wb") as f:
            for name, value in headers.items():
                if name.lower() not in ADDED:
                    f.write(("%s: %s\n" % (name, value)).encode())
            f.write(b"\n" + body)
        self.process = subprocess.Popen([BUILD + "/tests/bench/bare", path, str(threads)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.port = int(self.process.stdout.readline().split()[-1])

    def stop(self):
        self.process.stdin.close()
        self.process.wait()


def processor_s(process):
    with open("/proc/%d/stat" % process.pid) as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

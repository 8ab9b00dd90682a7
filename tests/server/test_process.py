#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The server as a process: signals, rights, files."""
import fcntl
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))
from server import TENSORD, Report  # noqa: E402


def start(data):
    p = subprocess.Popen([TENSORD, "serve", "--data", data, "--listen", "127.0.0.1:0", "--log-level", "error"],
                         stdout=subprocess.PIPE)
    p.stdout.readline()
    return p


def it_goes_on_when_told_to_read_tokens_again(report, data):
    p = start(data)
    for _ in range(50):
        os.kill(p.pid, signal.SIGHUP)
    p.send_signal(signal.SIGTERM)
    report.check(p.wait(timeout=60) == 0, f"after many SIGHUP: {p.returncode}")


def it_gives_up_rights_and_leaves_no_core(report, data):
    p = start(data)
    with open("/proc/%d/status" % p.pid) as f:
        report.check("NoNewPrivs:\t1" in f.read(), "it may gain rights")
    with open("/proc/%d/limits" % p.pid) as f:
        report.check(re.search(r"^Max core file size +0 ", f.read(), re.M), "it may leave a core")
    p.send_signal(signal.SIGTERM)
    p.wait(timeout=60)


def its_files_are_the_owners_alone(report, data):
    subprocess.run([TENSORD, "token", "create", "x", "read", "--data", data], check=True, capture_output=True, timeout=60)
    for place, folders, files in os.walk(data):
        for name in files:
            mode = os.stat(os.path.join(place, name)).st_mode & 0o777
            report.check(mode & 0o077 == 0, f"{name}: {mode:o}")
    report.check({"token", "tokens", "curl", "login", "url"} <= set(os.listdir(data)), "the files there are")


def what_root_writes_is_the_servers(report, data):
    """Tokens and links that root makes for a server that runs as another user."""
    if os.geteuid() != 0:
        print("SKIPPED: a server of another user (only root can start one)")
        return
    owner = 65534
    for place, folders, files in os.walk(data):
        for name in [place] + [os.path.join(place, name) for name in files]:
            os.chown(name, owner, owner)
    with open(os.path.join(data, "LOCK")) as held:
        fcntl.flock(held, fcntl.LOCK_EX)  # as that server would
        for words in (["token", "create", "y", "read"], ["login"]):
            subprocess.run([TENSORD, *words, "--data", data], check=True, capture_output=True, timeout=60)
    for name in ("tokens", "login"):
        found = os.stat(os.path.join(data, name))
        report.check(found.st_uid == owner and found.st_mode & 0o777 == 0o600, f"{name}: {found}")


def main():
    report = Report()
    place = tempfile.mkdtemp(prefix="tensord-test-")
    try:
        for test in (it_goes_on_when_told_to_read_tokens_again, it_gives_up_rights_and_leaves_no_core, its_files_are_the_owners_alone,
                     what_root_writes_is_the_servers):
            test(report, os.path.join(place, "data"))
    finally:
        shutil.rmtree(place)
    return report.end()


sys.exit(main())

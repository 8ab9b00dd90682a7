#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Whether SECURITY.md tells the truth about its tests."""
import glob
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))
from server import Report  # noqa: E402


def text_of(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        return f.read()


def is_there(name, text):
    """A function of C or Python, a list, a named case, or a section of a corpus."""
    return re.search(r"^\s*(def|static void|static long) %s\(|^%s = |\(\"%s\",|^== %s$" % (name, name, name, name), text, re.M) is not None


def rows():
    """(threat, what stops it, tests) of each line of a table that names tests."""
    for line in text_of("SECURITY.md").split("\n"):
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) == 3 and "`tests/" in cells[2]:
            yield cells


def every_test_that_is_named_is_there(report):
    for threat, _, tests in rows():
        path, names = None, 0
        for word in re.findall("`([^`]+)`", tests):
            if word.startswith("tests/"):
                report.check(path is None or names > 0, f"{threat}: {path} without a name")
                path, names = word, 0
                report.check(os.path.exists(os.path.join(ROOT, path)), f"{threat}: {path}")
            else:
                names += 1
                report.check(path is not None and is_there(word, text_of(path)), f"{threat}: {word} is not in {path}")
        report.check(names > 0, f"{threat}: no test")


def every_threat_has_a_line(report):
    threats = " ".join(row[0] for row in rows())
    for number in range(1, 11):
        report.check(re.search(r"\bAPI%d\b" % number, threats), f"API{number}")
    for word in ("request forgery", "rebinding", "Stored cross", "Reflected cross", "Clickjacking", "CORS", "Token in", "Cookie theft",
                 "MIME", "smuggling", "slowloris", "bombs", "traversal"):
        report.check(word in threats, word)
    lines = [line for line in text_of("SECURITY.md").split("## Threats")[1].split("\n") if line.startswith("| ")]
    report.check(len(lines) - 3 == len(list(rows())), "a line of the tables names no test")


def the_server_dials_nobody(report):
    """No source opens a connection, or starts a shell; the one exception looks whether a socket of the file system is in use."""
    allowed = {("server/http/daemon.c", "connect(")}
    for path in glob.glob("**/*.c", root_dir=ROOT, recursive=True):
        if not path.startswith(("engine/", "storage/", "server/")):
            continue
        for call in re.findall(r"(?<![\w.>])(?:connect|system|popen|curl_\w+|sendto|execv\w*)\(", text_of(path)):
            report.check((path, call) in allowed, f"{path}: {call}")


def routes_take_what_their_caller_may_see(report):
    """Snapshots and transactions of a route come from stored.c, which limits them; keys are the server's own."""
    allowed = {"server/routes/stored.c", "server/routes/repeat.c"}
    for path in glob.glob("server/routes/*.c", root_dir=ROOT):
        for call in re.findall(r"\b(?:storage_snapshot|txn_new)\([^;]*;", text_of(path)):
            report.check(path in allowed or "base" in call, f"{path}: {call}")


def main():
    report = Report()
    every_test_that_is_named_is_there(report)
    every_threat_has_a_line(report)
    the_server_dials_nobody(report)
    routes_take_what_their_caller_may_see(report)
    return report.end()


sys.exit(main())

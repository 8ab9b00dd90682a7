#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs clients/curl/*.sh against servers and compares what they print with the answers
that api-spec/examples says; checks that the scripts are what generate.py writes."""
import filecmp
import glob
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CURL = os.path.join(ROOT, "clients", "curl")
sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))
sys.path.insert(0, os.path.join(ROOT, "tests", "api"))
from server import Report, Server  # noqa: E402
from test_examples import Answer, check, read_examples  # noqa: E402


def stale():
    """The names of scripts that generate.py would write in another way."""
    with tempfile.TemporaryDirectory() as directory:
        subprocess.run(["/usr/bin/python3", os.path.join(CURL, "generate.py"), directory],
                       check=True)
        return [name for name in os.listdir(directory)
                if not os.path.exists(os.path.join(CURL, name))
                or not filecmp.cmp(os.path.join(directory, name), os.path.join(CURL, name),
                                   shallow=False)]


def outputs_of(script):
    """What a script prints, by the titles that it prints before each answer."""
    with Server() as server:
        environment = {**os.environ, "TENSORD_URL": f"http://127.0.0.1:{server.port}",
                       "TENSORD_DATA": server.data}
        done = subprocess.run([script], env=environment, capture_output=True, check=False)
    parts = re.split(r"(?m)^# ", done.stdout.decode("utf-8", "replace"))
    return done.returncode, done.stderr.decode(), dict(part.partition("\n")[::2] for part in parts)


def checks_members(line):
    """Whether an expectation speaks of a JSON answer's members."""
    return not (line.isdigit() or line.startswith(("header ", "body ", "npy", "npz")))


def main():
    report = Report()
    report.check(stale() == [], f"not what generate.py writes: {stale()}")
    for script in sorted(glob.glob(os.path.join(CURL, "*.sh"))):
        name = os.path.basename(script)
        code, complaints, outputs = outputs_of(script)
        report.check(code == 0 and complaints == "", f"{name}: {code} {complaints[:300]}")
        path = os.path.join(ROOT, "api-spec", "examples", name[:-3] + ".http")
        for example in read_examples(path):
            answer = Answer(0, {}, outputs.get(example.title, "").encode())
            if answer.body.startswith(b"0000000"):
                continue  # bytes, shown by od
            faults = [line for line in example.checks
                      if checks_members(line) and not check(answer, line)[0]]
            report.check(faults == [], f"{name}: {example.title}: {faults} in {answer.body[:200]}")
    return report.end()


if __name__ == "__main__":
    sys.exit(main())

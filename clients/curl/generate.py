#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the scripts of this directory, or of the one that is given, from the files
api-spec/examples/*.http: the same requests as curl commands."""
import glob
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
EXAMPLES = os.path.join(ROOT, "api-spec", "examples")
sys.path.insert(0, os.path.join(ROOT, "tests", "api"))
from test_examples import read_examples  # noqa: E402

BEGIN = """\
#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Written by generate.py from api-spec/examples/%s.http, which says what is answered.
url=${TENSORD_URL:-http://127.0.0.1:8750}
auth=${TENSORD_DATA:-./tensord-data}/curl
examples=$(dirname "$0")/../../api-spec/examples
"""


def quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


def is_binary(example):
    wanted = " ".join(value for name, value in example.headers if name == "Accept")
    return any(word in example.target + wanted for word in
               ("format=npy", "format=npz", "format=raw", "application/x-np"))


def body_of(example):
    if example.body.startswith("< "):
        return ['--data-binary @"$examples/%s"' % example.body[2:]]
    return ["--data-binary " + quoted(example.body)] if example.body else []


def command_of(example):
    target = example.target.replace("{{host}}", "")
    words = ['curl -sS -g -K "$auth"', '"$url"' + quoted(target)]
    if example.method != "GET" and not (example.method == "POST" and example.body):
        words.append("-X " + example.method)
    for name, value in example.headers:
        if name == "Authorization":
            continue
        value = value.strip()
        words.append('-H "%s: $etag"' % name if value == "{{etag}}"
                     else "-H " + quoted(f"{name}: {value}"))
    words += body_of(example)
    return " \\\n    ".join(words) + (" | od -c" if is_binary(example) else "")


def script_of(path):
    parts = [BEGIN % os.path.splitext(os.path.basename(path))[0]]
    for example in read_examples(path):
        parts.append(f"\necho {quoted('# ' + example.title)}\n")
        if any("{{etag}}" in value for _, value in example.headers):
            target = example.target.replace("{{host}}", "")
            parts.append('etag=$(curl -sS -K "$auth" -o /dev/null -w \'%header{etag}\' '
                         f'"$url"{quoted(target)})\n')
        parts.append(command_of(example) + "\n")
    return "".join(parts)


def main(directory):
    for path in sorted(glob.glob(os.path.join(EXAMPLES, "*.http"))):
        name = os.path.splitext(os.path.basename(path))[0] + ".sh"
        with open(os.path.join(directory, name), "w", encoding="utf-8") as file:
            file.write(script_of(path))
        os.chmod(os.path.join(directory, name), 0o755)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else HERE)

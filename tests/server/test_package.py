# SPDX-License-Identifier: Apache-2.0
"""The Debian package, the manual page and the completions: made from the server that was built."""
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from server import Report  # noqa: E402

TENSORD = os.environ["TENSORD"]


def output(*command, **more):
    return subprocess.run(command, capture_output=True, text=True, check=True, **more).stdout


def completed(script, *words):
    ask = '%s\nCOMP_WORDS=(tensord %s); COMP_CWORD=%d; _tensord; echo "${COMPREPLY[@]}"' % (
        script, " ".join(words), len(words))
    return output("bash", "-c", ask).split()


def check_words(report):
    flags = set(re.findall(r"^  (--[a-z0-9-]+)", output(TENSORD, "--help"), re.M))
    commands = set(re.findall(r"^  ([a-z]+) ", output(TENSORD, "--help").split("Settings:")[0].split("Commands:")[1], re.M))
    script, page = output(TENSORD, "completion"), output(TENSORD, "manual")
    report.check(commands >= {"serve", "check", "token"}, f"{commands}")
    report.check(set(completed(script, '""')) >= commands, "commands are completed")
    report.check(set(completed(script, "serve", '""')) == flags, "flags are completed")
    report.check(completed(script, "token", '""') == ["create", "list", "revoke"], "what token does is completed")
    report.check(completed(script, "serve", "--auth", "n") == ["none"], "values are completed")
    tags = {t.replace("\\-", "-") for t in re.findall(r"^\.TP\n\\fB(.*?)\\fR", page, re.M)}
    report.check(tags >= flags | commands, f"the page lacks {flags | commands - tags}")
    report.check(not re.search(r"^[^.\\\n]*\\[^e\-f&\n]", page, re.M), "nothing else is escaped")


def check_package(report):
    with tempfile.TemporaryDirectory() as directory:
        package = output("tools/package/deb.sh", TENSORD, directory).strip()
        control = output("dpkg-deb", "-f", package)
        for library in ("libmicrohttpd12", "libsqlite3-0", "libc6"):
            report.check(re.search(r"^Depends:.*\b%s\b" % library, control, re.M), f"depends on {library}")
        output("dpkg-deb", "-x", package, directory + "/x")
        report.check(output(directory + "/x/usr/bin/tensord", "--version") == output(TENSORD, "--version"), "it runs")
        unit = open(directory + "/x/lib/systemd/system/tensord.service").read()
        report.check("ExecStart=/usr/bin/tensord serve" in unit, "the unit starts it")
        modes = output("dpkg-deb", "-c", package)
        report.check(not re.search(r"^.{5}w|^.{8}w", modes, re.M), "only the owner may write")


def main():
    report = Report()
    check_words(report)
    check_package(report)
    return report.end()


sys.exit(main())

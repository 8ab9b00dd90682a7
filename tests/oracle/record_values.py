# SPDX-License-Identifier: Apache-2.0
"""Writes values.json, the values and gradients that test_values.py compares with.

    /usr/bin/python3 tests/oracle/record_values.py

Needs PyTorch (Debian: python3-torch). The same cases and the same version
give the same file, but for last digits on another kind of processor."""
import json
import os
import platform
import subprocess

import numpy as np

from by_torch import LENGTHS, seed_of, solved
from cases import CASES

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "values.json")
ABOUT = "Programs, inputs, and the values and derivatives that PyTorch computes for them in float64."


def package():
    """The version of the package, as Debian names it; torch's own is that of its source."""
    return subprocess.run(["dpkg-query", "-W", "-f", "${Version}", "python3-torch"],
                          capture_output=True, check=True, text=True).stdout


def main():
    head = {"about": ABOUT, "source": f"PyTorch, Debian package python3-torch {package()}, {platform.machine()}",
            "regenerate": "/usr/bin/python3 tests/oracle/record_values.py"}
    with open(PATH, "w") as file:
        file.write("{" + "".join(f"{json.dumps(k)}: {json.dumps(v)},\n" for k, v in head.items()))
        file.write('"cases": [\n')
        file.write(",\n".join(json.dumps(solved(case, LENGTHS, np.random.default_rng(seed_of(case.name)), 3))
                              for case in CASES))
        file.write("\n]}\n")
    print(f"{len(CASES)} cases in {PATH}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""The cases of cases.py with inputs and lengths drawn anew, compared with PyTorch as it runs.

    long_values.py [ROUNDS [SEED]]

Prints the seed, which draws the same again. Says so and passes if torch is not installed."""
import os
import sys
import time

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from server import Report, Server  # noqa: E402
from values import compare  # noqa: E402

try:
    from by_torch import solved
    from cases import CASES
except ModuleNotFoundError as missing:
    if missing.name != "torch":
        raise
    print(f"skipped: {missing}; apt-get install python3-torch")
    sys.exit(0)

LENGTH_MAX = 5
# Inputs are not chosen here: some draws cancel digits, which both libraries then lack, down to
# rounding alone (the second derivative of a product of one complex number).
TOLERANCE = 1e-9
UNIT = 1.0


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else int(time.time()) % 1000000
    print(f"{rounds} rounds of {len(CASES)} cases, seed {seed}")
    rng = np.random.default_rng(seed)
    report = Report()
    with Server() as server:
        for _ in range(rounds):
            for case in CASES:
                lengths = {name: int(rng.integers(1, LENGTH_MAX, endpoint=True)) for name in "klmnp"}
                compare(server, solved(case, lengths, rng, 15), report, TOLERANCE, UNIT)
    return report.end()


if __name__ == "__main__":
    sys.exit(main())

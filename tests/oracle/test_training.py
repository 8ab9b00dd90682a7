# SPDX-License-Identifier: Apache-2.0
"""The network of api-spec/examples/digits.http, trained by NumPy with gradients written by
hand, ends with the same weights after its 1,200 steps."""
import json
import os
import sys

import numpy as np

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))
from server import Report, Server  # noqa: E402

EXAMPLES = os.path.join(ROOT, "api-spec", "examples")
NAMES = ("w1", "b1", "w2", "b2")
UPDATES = {"w1": "v1", "b1": "c1", "w2": "v2", "b2": "c2"}
ERROR_MAX = 1e-11


def example(name):
    with open(os.path.join(EXAMPLES, name), "rb") as file:
        return file.read()


def answer_of(status, answer):
    assert status in (200, 201), answer
    return answer


def get(server, name):
    return np.array(answer_of(*server.eval(name))["result"]["data"])


def trained_by_server():
    """The weights at the start and at the end."""
    with Server() as server:
        server.request("PUT", "/v1/variables/digits", example("digits.npy"),
                       {"Content-Type": "application/x-npy"})
        answer_of(*server.eval("w1, b1 = 0.2 * random_normal((64, 32), seed=1), zeros(32)\n"
                               "w2, b2 = 0.2 * random_normal((32, 10), seed=2), zeros(10)", store=NAMES))
        start = [get(server, name) for name in NAMES]
        answer_of(*server.json("PUT", "/v1/graphs/train", json.loads(example("digits.json"))))
        for _ in range(2):
            answer_of(*server.json("POST", "/v1/graphs/train/run", {"updates": UPDATES}))
        return start, [get(server, name) for name in NAMES]


def step(weights, x, t):
    """One step of gradient descent on the mean cross entropy, by hand."""
    w1, b1, w2, b2 = weights
    hidden = x @ w1 + b1
    active = np.maximum(hidden, 0)
    e = np.exp(active @ w2 + b2)
    d = (e / e.sum(axis=1, keepdims=True) - t) / len(x)
    back = (d @ w2.T) * (hidden > 0)
    return (w1 - 0.5 * x.T @ back, b1 - 0.5 * back.sum(axis=0),
            w2 - 0.5 * active.T @ d, b2 - 0.5 * d.sum(axis=0))


def trained_by_numpy(weights):
    digits = np.load(os.path.join(EXAMPLES, "digits.npy"))
    x = digits[:, :64] / 16.0
    t = (digits[:, 64:] == np.arange(10)).astype(float)
    for _ in range(40):
        for i in range(0, 1500, 50):
            weights = step(weights, x[i:i + 50], t[i:i + 50])
    return weights


def main():
    report = Report()
    start, ours = trained_by_server()
    for name, a, b in zip(NAMES, ours, trained_by_numpy(start)):
        error = np.abs(a - b).max() if a.shape == b.shape else np.inf
        report.check(error < ERROR_MAX, f"{name} differs by {error:.1e}")
    return report.end()


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The recipe behind digits.http: writes digits.json beside itself, or into the directory
that it is given.

It holds a stored graph that trains a network of two layers to read handwritten digits: 20
times through 1,500 images in 30 batches of 50, by gradient descent on the cross entropy.
It gives the share of the other 297 that the trained network reads right. The weights it
begins with are the variables w1, b1, w2, b2; those it ends with, which a run makes the
variables' new values, are v1, c1, v2, c2."""
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))

PROGRAM = """\
# each row of `digits`: an image of 8 x 8 pixels of 0 to 16, and the digit that it shows
x = digits[:, :64] / 16.0
t = float64(digits[:, 64:] == arange(10))

def scores(p, x):
    w1, b1, w2, b2 = p
    return relu(x @ w1 + b1) @ w2 + b2

def loss(p, x, t):
    return -mean(sum(t * log(softmax(scores(p, x), axis=1)), axis=1))

def step(p, batch):
    x, t = batch
    w1, b1, w2, b2 = p
    d1, c1, d2, c2 = grad(lambda w1, b1, w2, b2: loss((w1, b1, w2, b2), x, t), p)
    return (w1 - 0.5 * d1, b1 - 0.5 * c1, w2 - 0.5 * d2, b2 - 0.5 * c2), None

batches = (x[:1500].reshape(30, 50, 64), t[:1500].reshape(30, 50, 10))
v1, c1, v2, c2 = fori_loop(0, 20, lambda epoch, p: scan(step, p, batches)[0], (w1, b1, w2, b2))

read = argmax(scores((v1, c1, v2, c2), x[1500:]), axis=1)
accuracy = mean(read == digits[1500:, 64])
accuracy
"""


def request():
    return json.dumps({"program": PROGRAM}, indent=1) + "\n"


def write(directory):
    with open(os.path.join(directory, "digits.json"), "w", encoding="ascii") as file:
        file.write(request())


if __name__ == "__main__":
    write(sys.argv[1] if len(sys.argv) > 1 else HERE)

#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The recipe behind regression.http: writes engel.npy and regression.json beside itself,
or into the directory that it is given.

The program fits a line to the table `engel` by 200 steps of gradient descent on the
mean squared error. Both columns are first brought to mean 0 and deviation 1, so that one
step size suits every table. There is no loop in it: the steps are written out, and the
server plans them as one graph."""
import csv
import json
import os
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
STEPS = 200

BEGIN = """\
# income and food expenditure, each with mean 0 and deviation 1
income = engel[:, 0]
food = engel[:, 1]
x = (income - mean(income)) / std(income)
y = (food - mean(food)) / std(food)
w = 0.0
b = 0.0
"""

STEP = """\
r = w * x + b - y
w, b = w - 0.2 * mean(r * x), b - 0.2 * mean(r)
"""

END = """\
# the line in francs: food = intercept + slope * income
slope = w * std(food) / std(income)
intercept = mean(food) + b * std(food) - slope * mean(income)
fit = stack([intercept, slope])
fit
"""


def program():
    return BEGIN + STEP * STEPS + END


def request():
    return json.dumps({"program": program(), "store": ["fit"]}, indent=1) + "\n"


def rows():
    with open(os.path.join(HERE, "engel.csv"), newline="", encoding="ascii") as file:
        return [[float(x) for x in row] for row in list(csv.reader(file))[1:]]


def npy(table):
    """A float64 matrix as a .npy file."""
    head = "{'descr': '<f8', 'fortran_order': False, 'shape': (%d, %d), }" % (
        len(table), len(table[0]))
    head = head.ljust(128 - 10 - 1) + "\n"
    flat = [x for row in table for x in row]
    return (b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() +
            struct.pack("<%dd" % len(flat), *flat))


def write(directory):
    with open(os.path.join(directory, "engel.npy"), "wb") as file:
        file.write(npy(rows()))
    with open(os.path.join(directory, "regression.json"), "w", encoding="ascii") as file:
        file.write(request())


if __name__ == "__main__":
    write(sys.argv[1] if len(sys.argv) > 1 else HERE)

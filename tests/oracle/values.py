# SPDX-License-Identifier: Apache-2.0
"""Values and gradients of one case, a program with inputs and what another library gives for
it, compared with the server's answer.

A case is a dict: name, program (its result is a tuple), inputs (tensor objects) and results,
a tensor object for each item of the tuple, by a label that says what it is. A tensor object is
that of the API, its data in one list."""
import numpy as np

# How far results may be apart, in relation to the largest number of the array they are in:
# both libraries round some ten times on the way, and in another order.
TOLERANCE = 1e-12


def tensor_object(x):
    flat = np.ravel(x).tolist()
    data = [[plain(v.real), plain(v.imag)] for v in flat] if np.iscomplexobj(x) else [plain(v) for v in flat]
    return {"dtype": str(x.dtype), "shape": list(x.shape), "data": data}


def plain(v):
    if isinstance(v, float) and not np.isfinite(v):
        return "NaN" if np.isnan(v) else "Infinity" if v > 0 else "-Infinity"
    return v


def numbers(data):
    """All numbers of nested lists in order, real and imaginary parts one after the other."""
    if isinstance(data, list):
        return [n for item in data for n in numbers(item)]
    return [float(data.replace("Infinity", "inf")) if isinstance(data, str) else float(data)]


def distance(a, b, unit):
    """The largest difference of two lists of numbers over the largest finite number of the
    second, or over the unit if that is larger; infinite if NaN and infinities are not in the
    same places."""
    a, b = np.array(a), np.array(b)
    finite = np.isfinite(b)
    if a.shape != b.shape or not np.array_equal(a[~finite], b[~finite], equal_nan=True):
        return np.inf
    if not np.isfinite(a[finite]).all():
        return np.inf
    scale = max(np.abs(b[finite]).max(initial=0), unit)
    return np.abs(a[finite] - b[finite]).max(initial=0) / (scale or 1.0)


def difference(ours, theirs, tolerance, unit):
    """What is wrong with one result, or None."""
    for member in "dtype", "shape":
        if ours[member] != theirs[member]:
            return f"{member} is {ours[member]}, not {theirs[member]}"
    apart = distance(numbers(ours["data"]), numbers(theirs["data"]), unit)
    if apart <= tolerance:
        return None
    return f"differs by {apart:.1e}: {ours['data']}, not {theirs['data']}"


def compare(server, case, report, tolerance=TOLERANCE, unit=0.0):
    """Evaluates a case and checks each of its results once."""
    expected = case["results"]
    status, answer = server.eval(case["program"], inputs=case["inputs"])
    if status != 200:
        for label in expected:
            report.check(False, f"{case['name']}: {label}: {answer}")
        return
    result = answer["result"]
    if not report.check(isinstance(result, list) and len(result) == len(expected),
                        f"{case['name']}: {len(expected)} results"):
        return
    for ours, (label, theirs) in zip(result, expected.items()):
        wrong = difference(ours, theirs, tolerance, unit)
        report.check(wrong is None, f"{case['name']}: {label} {wrong}")

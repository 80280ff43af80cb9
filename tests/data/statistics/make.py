#!/usr/bin/env python3
"""Writes golden.json beside itself: statistics as SciPy and NumPy compute them, for tests/unit/proto/figures. Needs numpy and scipy."""

import json
import os

import numpy
import scipy
from scipy import stats


def kendall(values):
    """Mann-Kendall by SciPy's tau: S and its deviation follow from tau-b and its p without continuity correction."""
    n = len(values)
    found = stats.kendalltau(range(n), values, method="asymptotic")
    _, counts = numpy.unique(values, return_counts=True)
    pairs = n * (n - 1) / 2
    ties = sum(c * (c - 1) / 2 for c in counts)
    score = round(found.statistic * numpy.sqrt(pairs * (pairs - ties)))
    deviation = abs(score) / stats.norm.isf(found.pvalue / 2)
    z = numpy.sign(score) * (abs(score) - 1) / deviation
    return {"values": values, "z": float(z), "p": float(2 * stats.norm.sf(abs(z)))}


def mser5(values):
    """By its definition: the cut after which variance / count is least; ties go to the earliest."""
    count = len(values) // 5
    means = numpy.array(values[: count * 5]).reshape(count, 5).mean(axis=1)
    statistics = [means[cut:].var() / (count - cut) for cut in range(count // 2 + 1)]
    return {"values": values, "cut": 5 * int(numpy.argmin(statistics))}


def effective(values):
    """Geyer's initial positive, monotone sequence, from autocovariances of NumPy."""
    array = numpy.array(values)
    centred = array - array.mean()
    n = len(array)
    full = numpy.correlate(centred, centred, mode="full")[n - 1:] / n
    rho = full / full[0]
    total, before = 0.0, 2.0
    for lag in range(0, n // 2 - 1, 2):
        pair = rho[lag] + rho[lag + 1]
        if pair <= 0:
            break
        before = min(before, pair)
        total += before
    return {"values": values, "effective": float(min(max(n / max(2 * total - 1, 1), 1), n))}


def main():
    random = numpy.random.default_rng(20261124)
    rounded = lambda array: [round(float(value), 6) for value in array]
    autoregressive = [0.0]
    for step in random.normal(size=399):
        autoregressive.append(0.7 * autoregressive[-1] + step)
    golden = {
        "scipy": scipy.__version__,
        "kendall": [kendall(rounded(random.normal(size=20))),
                    kendall(rounded(random.normal(size=20) + numpy.arange(20) / 8)),
                    kendall([int(v) for v in random.integers(0, 5, size=30)]),
                    kendall([9, 8, 7, 6, 5, 4, 3, 2, 1, 1, 1, 0])],
        "mser5": [mser5(rounded(random.normal(size=203))),
                  mser5(rounded(10 + random.normal(size=300) - 9 * numpy.exp(-numpy.arange(300) / 20))),
                  mser5(rounded(10 + random.normal(size=300) + 50 * (numpy.arange(300) < 42)))],
        "effective": [effective(rounded(random.normal(size=400))), effective(rounded(autoregressive))],
        "hypergeometric": [{"of": n, "marked": marked, "drawn": drawn, "hits": hits,
                            "log10": float(stats.hypergeom.logsf(hits - 1, n, marked, drawn) / numpy.log(10))}
                           for n, marked, drawn, hits in [(1000, 250, 10, 10), (1000, 100, 10, 3), (12031, 5, 121, 5), (12031, 6000, 121, 61),
                                                          (200, 20, 5, 1), (500, 499, 5, 5), (250000, 2500, 2500, 60), (300, 40, 30, 0)]],
    }
    golden["distance"] = [{"a": a, "b": b, "distance": float(stats.ks_2samp(a, b).statistic)} for a, b in
                          [([1, 2, 3, 4], [1, 2, 3, 4]), ([1, 1, 2, 5], [2, 2, 3]), (rounded(random.normal(size=40)), rounded(random.normal(0.5, size=25))),
                           ([1, 2], [3, 4])]]
    with open(os.path.join(os.path.dirname(__file__), "golden.json"), "w") as out:
        json.dump(golden, out, indent=1)
        out.write("\n")


if __name__ == "__main__":
    main()

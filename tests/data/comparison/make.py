#!/usr/bin/env python3
"""Writes golden.json beside itself: what SciPy and arch say of the data in it, for
tests/unit/cmd/reading. Needs numpy, scipy and arch (PyPI); the tests need none of them."""

import json
import os

import arch
import numpy
import scipy
from arch.bootstrap import optimal_block_length
from scipy import stats


def students():
    return [{"p": p, "freedom": freedom, "x": float(stats.t.ppf(p, freedom))}
            for p in (0.001, 0.025, 0.1, 0.5, 0.6, 0.8, 0.9, 0.95, 0.975, 0.995, 0.99999)
            for freedom in (1, 1.5, 2, 3.7, 10, 29, 500, 12030, 1e7)]


def floors():
    """The least n with P(Binomial(n, q) <= 1) < 0.01, q the smaller tail."""
    found = []
    for per_mille in (100, 250, 500, 750, 800, 900, 950, 980, 990, 995, 999):
        q = min(per_mille, 1000 - per_mille) / 1000
        n = 2
        while stats.binom.cdf(1, n, q) >= 0.01:
            n += 1
        found.append({"per_mille": per_mille, "floor": n})
    return found


def series(random):
    """Block lengths for circular blocks, and AR(1) with its true long-run variance."""
    found = []
    for memory, count in ((0.8, 1000), (0.8, 3000), (0.5, 1000), (0.3, 2000), (-0.4, 1000)):
        noise = random.normal(size=count)
        values = [noise[0]]
        for step in noise[1:]:
            values.append(memory * values[-1] + step * numpy.sqrt(1 - memory**2))
        values = numpy.round(values, 4)
        block = optimal_block_length(values)["circular"].iloc[0]
        found.append({"memory": memory, "values": values.tolist(), "block": float(block),
                      "long_run": (1 + memory) / (1 - memory)})
    return found


def percentile(share):
    return lambda values, axis=-1: numpy.quantile(values, share, axis=axis, method="inverted_cdf")


def paired(random):
    """SciPy's paired bootstrap of log(statistic of b / statistic of a), BCa at 95 %."""
    base = random.normal(size=600)
    a = numpy.round(1e8 * numpy.exp(base + 0.5 * random.normal(size=600)))
    b = numpy.round(1.08e8 * numpy.exp(base + 0.5 * random.normal(size=600)))
    found = []
    for name, statistic in (("mean", numpy.mean), ("p50", percentile(0.5)), ("p90", percentile(0.9))):
        result = stats.bootstrap(
            (a, b), lambda x, y, axis=-1: numpy.log(statistic(y, axis=axis) / statistic(x, axis=axis)),
            paired=True, vectorized=True, n_resamples=20000, method="BCa", batch=500, rng=random)
        found.append({"name": "ttft:" + name, "a": float(statistic(a)), "b": float(statistic(b)),
                      "error": float(result.standard_error),
                      "low": float(numpy.exp(result.confidence_interval.low)),
                      "high": float(numpy.exp(result.confidence_interval.high))})
    return {"a": a.tolist(), "b": b.tolist(), "found": found}


def trees(random):
    """The same of a mean over whole trees: trees are the units of the bootstrap."""
    sizes = random.integers(1, 12, size=150)
    rows_a, rows_b, tree = [], [], []
    for number, size in enumerate(sizes, 1):
        shared, own_a, own_b = 0.7 * random.normal(), 0.4 * random.normal(), 0.4 * random.normal()
        for _ in range(size):
            row = shared + 0.3 * random.normal()
            rows_a.append(round(1e8 * numpy.exp(row + own_a)))
            rows_b.append(round(1e8 * numpy.exp(row + own_b)))
            tree.append(number)
    tree = numpy.array(tree)
    sums_a = numpy.bincount(tree, rows_a)[1:]
    sums_b = numpy.bincount(tree, rows_b)[1:]
    result = stats.bootstrap(
        (sums_a, sums_b), lambda x, y, axis=-1: numpy.log(y.sum(axis=axis) / x.sum(axis=axis)),
        paired=True, vectorized=True, n_resamples=20000, method="BCa", batch=500, rng=random)
    return {"a": rows_a, "b": rows_b, "tree": tree.tolist(), "error": float(result.standard_error),
            "low": float(numpy.exp(result.confidence_interval.low)),
            "high": float(numpy.exp(result.confidence_interval.high))}


def repeats(random):
    """Welch's interval of the difference of logarithms over runs: what 4 x 6 runs of single rows
    without noise of their own must come to."""
    a = numpy.round(1e8 * numpy.exp(0.05 * random.normal(size=4)))
    b = numpy.round(1.1e8 * numpy.exp(0.05 * random.normal(size=6)))
    found = stats.ttest_ind(b / b.mean(), a / a.mean(), equal_var=False)
    error = numpy.sqrt((b / b.mean()).var(ddof=1) / 6 + (a / a.mean()).var(ddof=1) / 4)
    reach = stats.t.ppf(0.975, found.df) * error
    return {"a": a.tolist(), "b": b.tolist(), "freedom": float(found.df), "error": float(error),
            "low": float(b.mean() / a.mean() * numpy.exp(-reach)),
            "high": float(b.mean() / a.mean() * numpy.exp(reach))}


def main():
    random = numpy.random.default_rng(20261125)
    golden = {"made_by": f"SciPy {scipy.__version__}, arch {arch.__version__}", "students": students(),
              "floors": floors(), "series": series(random), "paired": paired(random),
              "trees": trees(random), "repeats": repeats(random)}
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden.json"), "w") as file:
        json.dump(golden, file, separators=(",", ":"))
        file.write("\n")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Dual fire against two equal servers: dual.py [ROWS [PASSES [DRIFTLESS [FLAGS OF REPLAY]]]]

Each row goes to two mocks of one kind in one instant, 20 ms after the row before it; both mocks are on CPU 0,
the client is on CPU 1. Two equal servers differ by nothing: what is left is the instrument's. For each pass,
the difference of TTFT b - a, p50 and mean with its 95 % interval: of all rows, of those that went to a first, of
those that went to b first, and second place less first place. Measured by the client; by the servers' own logs,
from the first byte of a request to its first token; and the former less the latter, which is what the client adds.
And the drift of both sides. Standard library only.
"""
import json
import math
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile

APART_MS = 20
TTFT = "5ms"  # every answer is over before the next row


def percentile(values, per_mille):
    values = sorted(values)
    return values[max(0, -(-len(values) * per_mille // 1000) - 1)]


def write_trace(path, rows):
    draw = random.Random(1)
    with open(path, "w", encoding="utf-8") as out:
        for number in range(rows):
            at_ms = number * APART_MS + draw.randrange(APART_MS // 4)
            line = {"timestamp": at_ms, "input_length": 512, "output_length": 2, "hash_ids": [number]}
            out.write(json.dumps(line) + "\n")


def mock(driftless, log):
    process = subprocess.Popen(
        [driftless, "mock", "--listen", "127.0.0.1:0", "--ttft", TTFT, "--itl", "1ms", "--cpu", "0",
         "--log", log], stdout=subprocess.PIPE, text=True)
    return process, process.stdout.readline().split()[-1]


def stop(process):
    process.send_signal(signal.SIGINT)
    process.wait()


def lines_of(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def served_ns(log):
    """{row: TTFT by the server's own stamps}."""
    served = {}
    for one in lines_of(log):
        name = one["request_id"] or ""
        if name and name[19:20] != "a" and one["token_ns"]:  # no probe
            served[int(name.rsplit("-", 1)[-1])] = one["token_ns"][0] - one["start_ns"]
    return served


def mean_text(values):
    """Mean and half of its 95 % interval, in us."""
    if len(values) < 2:
        return "-"
    half = 1.96 * statistics.stdev(values) / math.sqrt(len(values))
    return "%+.1f +- %.1f" % (statistics.mean(values) / 1e3, half / 1e3)


def by_order(name, differences, a_first):
    first = [value for row, value in differences.items() if row in a_first]
    second = [value for row, value in differences.items() if row not in a_first]
    # A place in the pair is worth half of what separates the two orders.
    order = [value * (1 if row in a_first else -1) for row, value in differences.items()]
    p50 = [percentile(values, 500) / 1e3 for values in (list(differences.values()), first, second, order)]
    print("  %-9s us p50 %+6.1f, a first %+6.1f, b first %+6.1f, second place %+6.1f | mean %s, %s, %s, %s" % (
        name, *p50, mean_text(list(differences.values())), mean_text(first), mean_text(second),
        mean_text(order)), flush=True)


def measure(driftless, flags, trace, folder, number):
    run = os.path.join(folder, "run%d" % number)
    logs = [os.path.join(folder, "%s%d.jsonl" % (side, number)) for side in "ab"]
    (a, url_a), (b, url_b) = (mock(driftless, log) for log in logs)
    try:
        subprocess.run([driftless, "replay", trace, "--url", url_a, "--against", url_b, "--out", run, "--cpu", "1",
                        "--calibration", "none", "--report", "none", "--metrics", "none", "--seed", str(number),
                        *flags], check=True, stdout=subprocess.DEVNULL)
    finally:
        stop(a)
        stop(b)
    sides = {"a": {}, "b": {}}
    for record in lines_of(run + "/requests.jsonl"):
        if record["outcome"] == "ok":
            sides[record["side"]][record["row"]] = record
    rows = sides["a"].keys() & sides["b"].keys()
    a_first = {row for row in rows if sides["a"][row]["request"] < sides["b"][row]["request"]}
    served = [served_ns(log) for log in logs]
    measured = {row: sides["b"][row]["ttft_ns"] - sides["a"][row]["ttft_ns"] for row in rows}
    truth = {row: served[1][row] - served[0][row] for row in rows if row in served[0] and row in served[1]}
    added = {row: measured[row] - truth[row] for row in truth}
    with open(run + "/summary.json", encoding="utf-8") as text:
        client = json.load(text)["client"]
    drifts = ["%s %.1f / %.1f" % (side, *(percentile([r["drift_ns"] for r in records.values()], p) / 1e3
                                          for p in (500, 990))) for side, records in sides.items()]
    print("pass %d, %d pairs | drift us p50 / p99: %s | others had %.0f %% of our CPU at most" % (
        number, len(rows), ", ".join(drifts), 100 * (client["taken_share_max"] or 0)))
    by_order("measured", measured, a_first)
    by_order("servers", truth, a_first)
    by_order("client's", added, a_first)


def main():
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    passes = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    driftless = sys.argv[3] if len(sys.argv) > 3 else "build-release/driftless"
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "rows.jsonl")
        write_trace(trace, rows)
        for number in range(passes):
            measure(driftless, sys.argv[4:], trace, folder, number)


if __name__ == "__main__":
    main()

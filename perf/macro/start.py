#!/usr/bin/env python3
"""How long after exec the first fire is possible: start.py [TRACE [TOKENIZER]]

Starts the mock, then a replay of the trace (default: the sample) with the tokenizer (default:
the built-in words) five times, and prints the median time from before the fork to time 0, without the
200 ms by which time 0 lies ahead and without the preflight's round trips (--no-preflight). Floor:
starting and ending a process that prints its version. DRIFTLESS names the program.
"""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

PROGRAM = os.environ.get("DRIFTLESS", "build-release/driftless")
ROOT = pathlib.Path(__file__).resolve().parents[2]
LEAD_NS = 200_000_000
PASSES = 5


def exec_floor():
    begin = time.monotonic_ns()
    subprocess.run([PROGRAM, "--version"], stdout=subprocess.DEVNULL, check=True)
    return time.monotonic_ns() - begin


def start(url, trace, tokenizer, folder):
    command = [PROGRAM, "replay", trace, "--url", url, "--no-preflight", "--model", "mock-model",
               "--out", folder, "--limit", "1000000", "--duration", "1ms", "--calibration", "none"]
    command += ["--tokenizer", tokenizer] if tokenizer else []
    begin = time.monotonic_ns()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    clock = json.loads((pathlib.Path(folder) / "run.json").read_text())["clock"]
    return clock["zero_monotonic_ns"] - LEAD_NS - begin


def main():
    trace = sys.argv[1] if len(sys.argv) > 1 else str(ROOT / "tests/data/sample.jsonl")
    tokenizer = sys.argv[2] if len(sys.argv) > 2 else None
    mock = subprocess.Popen([PROGRAM, "mock", "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, text=True)
    try:
        url = mock.stdout.readline().split()[-1]
        with tempfile.TemporaryDirectory() as folder:
            figures = [start(url, trace, tokenizer, f"{folder}/{i}") for i in range(PASSES)]
            floors = [exec_floor() for _ in range(PASSES)]
    finally:
        mock.terminate()
        mock.wait()
    figure, floor = statistics.median(figures), statistics.median(floors)
    print("| what | figure | floor (`--version`) | ratio | bar |\n|---|---|---|---|---|")
    print("| exec to first fire possible, %s | %.0f ms | %.0f ms | %.1f | <= 1 s |" % (
        "with a tokenizer" if tokenizer else "built-in words", figure / 1e6, floor / 1e6,
        figure / floor))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""How long after exec the first row leaves: start.py [TRACE [TOKENIZER]]

Starts the mock, then a replay of the trace (default: the sample) with the tokenizer (default:
the built-in words) with no other flag: once without what an earlier run measured, then five times with
it. Prints the first and the median time from before the fork to time 0. Floor: starting and ending a
process that prints its version. DRIFTLESS names the program.
"""
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

PROGRAM = os.environ.get("DRIFTLESS", "build-release/driftless")
ROOT = pathlib.Path(__file__).resolve().parents[2]
PASSES = 5


def exec_floor():
    begin = time.monotonic_ns()
    subprocess.run([PROGRAM, "--version"], stdout=subprocess.DEVNULL, check=True)
    return time.monotonic_ns() - begin


def start(url, trace, tokenizer, folder):
    command = [PROGRAM, "replay", trace, "--url", url, "--out", f"{folder}/run",
               "--limit", "1000000", "--duration", "1ms"]
    command += ["--tokenizer", tokenizer] if tokenizer else []
    begin = time.monotonic_ns()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True,
                   env={**os.environ, "XDG_STATE_HOME": f"{folder}/state"})
    clock = json.loads(pathlib.Path(f"{folder}/run/run.json").read_text())["clock"]
    shutil.rmtree(f"{folder}/run")
    return clock["zero_monotonic_ns"] - begin


def main():
    trace = sys.argv[1] if len(sys.argv) > 1 else str(ROOT / "tests/data/sample.jsonl")
    tokenizer = sys.argv[2] if len(sys.argv) > 2 else None
    mock = subprocess.Popen([PROGRAM, "mock", "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, text=True)
    try:
        url = mock.stdout.readline().split()[-1]
        with tempfile.TemporaryDirectory() as folder:
            figures = [start(url, trace, tokenizer, folder) for i in range(PASSES + 1)]
            floors = [exec_floor() for _ in range(PASSES)]
    finally:
        mock.terminate()
        mock.wait()
    floor = statistics.median(floors)
    print("| exec to the first row, %s | figure | floor (`--version`) | bar |\n|---|---|---|---|" % (
        "with a tokenizer" if tokenizer else "built-in words"))
    print("| first run of a host | %.2f s | %.2f s | <= 1 s |" % (figures[0] / 1e9, floor / 1e9))
    print("| later runs | %.2f s | %.2f s | <= 0.35 s |" % (
        statistics.median(figures[1:]) / 1e9, floor / 1e9))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""What --warm-send is worth: rows that come alone, with it and without, in turn.

Usage: perf/macro/warm.py [PASSES]     (3 of each, 400 rows 15 ms apart)

Prints per pass the way from the fire to the wire (the kernel's transmit stamp), the call that fires, and
drift. DRIFTLESS names the program (build-release/driftless), REPLAY_FLAGS are further flags of the replay.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

PROGRAM = os.environ.get("DRIFTLESS", "build-release/driftless")
ROWS, GAP_MS = 400, 15


def write_trace(path):
    with path.open("w") as file:
        for row in range(ROWS):
            file.write(json.dumps({"timestamp": row * GAP_MS, "input_length": 64, "output_length": 1,
                                   "hash_ids": [row]}) + "\n")


def quantiles(values):
    """p50, p90 and p99 in us."""
    ordered = sorted(values)
    picked = (ordered[max(0, -(-len(ordered) * share // 100) - 1)] for share in (50, 90, 99))
    return " / ".join(f"{value / 1e3:.2f}" for value in picked)


def main(passes=3):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="driftless-warm-"))
    mock = subprocess.Popen([PROGRAM, "mock", "--listen", "127.0.0.1:0", "--cpu", "0", "--ttft", "1ms"],
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        url = mock.stdout.readline().split()[-1]
        write_trace(folder / "trace.jsonl")
        print("| | wire - fired, p50 / p90 / p99 us | call that fires | drift |\n|---|---|---|---|")
        for number in range(2 * passes):
            warm = ["--warm-send"] if number % 2 else []
            run = folder / str(number)
            subprocess.run([PROGRAM, "replay", str(folder / "trace.jsonl"), "--url", url,
                            "--no-progress", "--calibration", "none", "--out", str(run), *warm,
                            *os.environ.get("REPLAY_FLAGS", "").split()],
                           stdout=subprocess.DEVNULL, check=True)
            records = [json.loads(line) for line in (run / "requests.jsonl").open()]
            wire = quantiles([record["wire_ns"] - record["fired_ns"] for record in records
                              if record["wire_ns"] is not None])  # a stamp may be lost
            call = quantiles([record["submit_ns"] for record in records])
            drift = quantiles([record["drift_ns"] for record in records])
            print(f"| {'--warm-send' if warm else 'without'} | {wire} | {call} | {drift} |")
    finally:
        mock.terminate()
        mock.wait()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))

"""One trace at several speeds against the bundled mock: how precise each was, and what it cost.

    perf/macro/speeds.py TRACE [SPEED..]        (default speeds 1 10 100 360)

Prints a row per speed: drift of the first row of each instant and of all rows, the same on the wire, the
worst wait of a received byte per row, and the engine's busiest second. Saturated: more than 60 % busy in a
second, or rows that are not ok. Speed 1 lasts as long as the trace, so --rows (600) are
taken from its beginning. DRIFTLESS names the program (build-release/driftless), REPLAY_FLAGS are further
flags of the replay, such as --realtime.
"""

import argparse
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

PROGRAM = os.environ.get("DRIFTLESS", "build-release/driftless")
BUSY_MAX = 0.6  # busy_max in proto/figures/verdict.hpp
COLUMNS = ("speed", "rows", "rows/s", "drift first p50 / p99 us", "drift all p50 / p99 us",
           "on the wire p50 / p99 us", "read p50 / p99 us", "chunks/s max", "busy max", "taken max",
           "saturated")


def pair(figures):
    """Median and p99 of an object in ns, in us."""
    if figures["p50"] is None:
        return "-"
    return f"{figures['p50'] / 1e3:.2f} / {figures['p99'] / 1e3:.1f}"


def row_of(speed, folder):
    """A line of the table from a run's own files."""
    summary = json.loads((folder / "summary.json").read_text())
    plan = json.loads((folder / "run.json").read_text())["plan"]
    client = summary["client"]
    due_s = plan["last_due_ns"] / 1e9
    why = []
    if client["busy_share_max"] > BUSY_MAX:
        why.append("busy")
    if summary["completed"] < summary["num_prompts"]:
        why.append(f"{summary['num_prompts'] - summary['completed']} rows not ok")
    return (speed, str(summary["fired"]), f"{summary['fired'] / max(due_s, 1e-9):.1f}",
            pair(summary["drift_by_rank_ns"][0]), pair(summary["drift_ns"]),
            pair(summary["wire_drift_ns"]), pair(summary["receive_delay_ns"]),
            f"{client['chunks_per_s_max']:,}", f"{100 * client['busy_share_max']:.0f} %",
            f"{100 * client['taken_share_max']:.0f} %", ", ".join(why) or "no")


def play(trace, speed, rows, folder):
    """One replay against a mock of its own on the first core."""
    mock = subprocess.Popen(
        [PROGRAM, "mock", "--listen", "127.0.0.1:0", "--cpu", "0", "--ttft", "5ms", "--itl", "10ms"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )
    try:
        url = mock.stdout.readline().split()[-1]
        subprocess.run(
            [PROGRAM, "replay", trace, "--url", url, "--speed", speed, "--limit", str(rows),
             "--calibration", "none", "--out", str(folder),
             *os.environ.get("REPLAY_FLAGS", "").split()],
            stdout=subprocess.DEVNULL, check=True,
        )
    finally:
        mock.send_signal(signal.SIGINT)
        mock.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("trace")
    parser.add_argument("speeds", nargs="*", default=["1", "10", "100", "360"])
    parser.add_argument("--rows", type=int, default=600, help="rows from its beginning (600)")
    options = parser.parse_args()
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="driftless-speeds-"))
    try:
        print("| " + " | ".join(COLUMNS) + " |\n|" + "---|" * len(COLUMNS))
        for speed in options.speeds:
            folder = scratch / speed
            play(options.trace, speed, options.rows, folder)
            print("| " + " | ".join(row_of(speed, folder)) + " |")
            sys.stdout.flush()
    finally:
        shutil.rmtree(scratch)


if __name__ == "__main__":
    main()

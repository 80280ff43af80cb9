#!/usr/bin/env python3
"""How late stamps are where rows follow each other closely: spacing.py [DRIFTLESS] [FLAGS OF REPLAY]

Bursts of 1,000 rows, one every 200, 100, 50 and 20 us, against the bundled mock, which answers after
5 ms with three tokens. For each spacing: the drift, how long after the mock's own stamp a first token
was stamped, the bound on that which the records name, and the verdict (by `--calibration FILE`; without
that none is measured). The mock stamps a token before
it sends it, by the same clock; what it needs for the send itself counts as ours. Standard library only.
"""
import json
import os
import signal
import subprocess
import sys
import tempfile

ROWS_A_BURST = 1000
BURSTS = 5


def percentile(values, per_mille):
    values = sorted(values)
    return values[max(0, -(-len(values) * per_mille // 1000) - 1)]


def us(values):
    return "%8.1f %8.1f %8.1f" % tuple(percentile(values, p) / 1e3 for p in (500, 990, 1000))


def write_trace(path, spacing_us):
    with open(path, "w", encoding="utf-8") as out:
        out.write("time,in,out\n")
        for burst in range(BURSTS):
            for row in range(ROWS_A_BURST):
                out.write("%.6f,64,3\n" % (burst * 0.5 + row * spacing_us / 1e6))


def start_mock(driftless, log):
    mock = subprocess.Popen(
        [driftless, "mock", "--listen", "127.0.0.1:0", "--ttft", "5ms", "--itl", "2ms", "--cpu", "0",
         "--log", log], stdout=subprocess.PIPE, text=True)
    return mock, mock.stdout.readline().split()[-1]


def read_log(path):
    with open(path, encoding="utf-8") as lines:
        entries = (json.loads(line) for line in lines)
        return {entry["row"]: entry for entry in entries if entry["row"] is not None}


def measure(driftless, flags, spacing_us, folder):
    trace, log, run = (os.path.join(folder, name % spacing_us) for name in ("%g.csv", "%g.log", "%g"))
    write_trace(trace, spacing_us)
    mock, url = start_mock(driftless, log)
    try:
        subprocess.run([driftless, "replay", trace, "--map", "time=time,in=in,out=out", "--time-unit",
                        "s", "--url", url, "--out", run, "--cpu", "1",
                        *([] if "--calibration" in flags else ["--calibration", "none"]), *flags],
                       check=True, stdout=subprocess.DEVNULL)
    finally:
        mock.send_signal(signal.SIGINT)
        mock.wait()
    with open(run + "/run.json", encoding="utf-8") as text:
        zero = json.load(text)["clock"]["zero_monotonic_ns"]
    with open(run + "/summary.json", encoding="utf-8") as text:
        verdict = json.load(text)["verdict"]
    sent = read_log(log)
    drift, late, bound, ttft, tainted = [], [], [], [], 0
    with open(run + "/requests.jsonl", encoding="utf-8") as lines:
        for record in map(json.loads, lines):
            drift.append(record["drift_ns"])
            bound.append(record["receive_delay_ns"])
            tainted += record["tainted"] is not None
            entry = sent[record["row"]]
            late.append(zero + record["first_token_ns"] - entry["token_ns"][0])
            ttft.append(record["ttft_ns"] - (entry["token_ns"][0] - entry["start_ns"]))
    print("%7g us | drift %s | stamp - sent %s | ttft - mock's %s | bound %s | %d tainted, %s" % (
        spacing_us, us(drift), us(late), us(ttft), us(bound), tainted, verdict["name"]))


def main():
    driftless = sys.argv[1] if len(sys.argv) > 1 else "build-release/driftless"
    print("p50, p99, worst in us; %d bursts of %d rows" % (BURSTS, ROWS_A_BURST))
    with tempfile.TemporaryDirectory() as folder:
        for spacing_us in (200, 100, 50, 20):
            measure(driftless, sys.argv[2:], spacing_us, folder)


if __name__ == "__main__":
    main()

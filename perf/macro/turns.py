#!/usr/bin/env python3
"""How late turns leave that wait for an answer: turns.py [STREAMS [PASSES [DRIFTLESS [FLAGS OF REPLAY]]]]

20 chains of 200 turns, each due at the instant at which the answer before it ended, beside 500 open streams
of 100 tokens a second each, against the bundled mock on another CPU. For each pass: the drift of the turns
that wait (from the due instant to the fire), the causes of late ones, and the verdict. Standard library only.
"""
import collections
import json
import os
import signal
import subprocess
import sys
import tempfile

CHAINS = 20
TURNS = 200
TOKENS = 8
ITL_MS = 10
ALONE_MS = 1000  # the streams begin before the turns do


def percentile(values, per_mille):
    values = sorted(values)
    return values[max(0, -(-len(values) * per_mille // 1000) - 1)]


def row(name, chain, parents, tokens, not_before_ms):
    line = {"request_id": name, "play_id": chain, "session_id": chain, "input_length": 128,
            "output_length": tokens, "hash_ids": [1, 2],
            "dependencies": [{"request_id": parent, "trigger": "completion", "delay_ms": 0}
                             for parent in parents]}
    if not parents:
        line["not_before_ms"] = not_before_ms
    return line


def write_trace(path, streams):
    rows = [{"schema": "dynamo.agentic_mooncake", "version": 2, "block_size": 64}]
    # An answer of 8 tokens takes 7 gaps and the mock's 5 ms; a third more so that streams outlast turns.
    stream_ms = ALONE_MS + TURNS * ((TOKENS - 1) * ITL_MS + 6) * 4 // 3
    for stream in range(streams):
        rows.append(row("s%d" % stream, "s%d" % stream, [], stream_ms // ITL_MS, stream * 1.7))
    for chain in range(CHAINS):
        name = "c%d" % chain
        for turn in range(TURNS):
            before = ["%s.%d" % (name, turn - 1)] if turn > 0 else []
            rows.append(row("%s.%d" % (name, turn), name, before, TOKENS, ALONE_MS + chain * 3.3))
    with open(path, "w", encoding="utf-8") as out:
        out.writelines(json.dumps(one) + "\n" for one in rows)


def measure(driftless, flags, streams, folder, number):
    trace, run = os.path.join(folder, "turns.jsonl"), os.path.join(folder, "run%d" % number)
    write_trace(trace, streams)
    mock = subprocess.Popen(
        [driftless, "mock", "--listen", "127.0.0.1:0", "--itl", "%dms" % ITL_MS, "--cpu", "0"],
        stdout=subprocess.PIPE, text=True)
    url = mock.stdout.readline().split()[-1]
    try:
        subprocess.run([driftless, "replay", trace, "--sessions", "closed", "--url", url, "--out", run,
                        "--cpu", "1", "--calibration", "none", *flags],
                       check=True, stdout=subprocess.DEVNULL)
    finally:
        mock.send_signal(signal.SIGINT)
        mock.wait()
    with open(run + "/requests.jsonl", encoding="utf-8") as lines:
        waited = [one for one in map(json.loads, lines) if one["parent_end_ns"] is not None]
    with open(run + "/summary.json", encoding="utf-8") as text:
        verdict = json.load(text)["verdict"]["name"]
    drift = [one["drift_ns"] for one in waited]
    causes = collections.Counter(one["late_cause"] for one in waited)
    print("%d turns beside %d streams | drift us p50 %.1f p90 %.1f p99 %.1f p99.9 %.1f worst %.1f | %s | %s" % (
        len(drift), streams, *(percentile(drift, p) / 1e3 for p in (500, 900, 990, 999, 1000)),
        dict(causes), verdict), flush=True)


def main():
    streams = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    passes = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    driftless = sys.argv[3] if len(sys.argv) > 3 else "build-release/driftless"
    with tempfile.TemporaryDirectory() as folder:
        for number in range(passes):
            measure(driftless, sys.argv[4:], streams, folder, number)


if __name__ == "__main__":
    main()

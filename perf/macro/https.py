#!/usr/bin/env python3
"""Drift of https beside http, with large bodies, in one run.

Usage: perf/macro/https.py [ROWS] [TOKENS] [GAP_MS]     (240 rows of 125,000 tokens, 50 ms apart)

One replay against two mocks in turn, row by row: one speaks http, the other https. What the host
does to one it does to the other, so that their ratio is what https costs. A body of 125,000 tokens
is 500 KB. Prints drift and the call that fires, by scheme, each with its ratio. REPLAY_FLAGS are
further flags of the replay, such as --realtime.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
DRIFTLESS = ROOT / "build-release" / "driftless"
BLOCK = 512


def make_certificate(folder):
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
         "-nodes", "-keyout", folder / "key.pem", "-out", folder / "cert.pem", "-days", "2",
         "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"],
        check=True, capture_output=True,
    )
    return folder / "cert.pem", folder / "key.pem"


def start_mock(*flags):
    command = [DRIFTLESS, "mock", "--listen", "127.0.0.1:0", "--ttft", "1ms", "--itl", "1ms", *flags]
    process = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True)
    return process, process.stdout.readline().split()[-1]


def write_trace(path, rows, tokens, gap_ms):
    blocks = (tokens + BLOCK - 1) // BLOCK
    with path.open("w") as file:
        for row in range(rows):
            ids = list(range(row * blocks, (row + 1) * blocks))
            file.write(json.dumps({"timestamp": row * gap_ms, "input_length": tokens,
                                   "output_length": 4, "hash_ids": ids}) + "\n")


def quantile(values, share):
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * share // 100) - 1)]


def main(rows=240, tokens=125_000, gap_ms=50):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="driftless-https-"))
    servers = []
    try:
        cert, key = make_certificate(folder)
        servers = [start_mock(), start_mock("--tls-cert", cert, "--tls-key", key)]
        write_trace(folder / "trace.jsonl", rows, tokens, gap_ms)
        urls = [flag for _, url in servers for flag in ("--url", url)]
        subprocess.run(
            list(map(str, [DRIFTLESS, "replay", folder / "trace.jsonl", *urls, "--ca", cert,
                           "--out", folder / "run", "--no-progress",
                           *os.environ.get("REPLAY_FLAGS", "").split()])),
            check=True, stdout=subprocess.DEVNULL,
        )
        records = [json.loads(line) for line in (folder / "run/requests.jsonl").open()]
        by_scheme = {
            scheme: [r for r in records if r["url"].startswith(scheme + ":")]
            for scheme in ("http", "https")
        }
        for scheme, found in by_scheme.items():
            good = sum(r["outcome"] == "ok" for r in found)
            size = quantile([r["bytes_sent"] for r in found], 50)
            print(f"{scheme}: {good} of {len(found)} rows ok, {size} bytes sent each")
        for key_name, name in (("drift_ns", "drift"), ("submit_ns", "call that fires")):
            for share in (50, 90, 99):
                plain, secure = (quantile([r[key_name] for r in by_scheme[s]], share)
                                 for s in ("http", "https"))
                print(f"{name} p{share}: http {plain / 1e3:.2f} us, https {secure / 1e3:.2f} us, "
                      f"ratio {secure / plain:.2f}")
    finally:
        for process, _ in servers:
            process.terminate()
            process.wait()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))

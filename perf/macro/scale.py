#!/usr/bin/env python3
"""What a large trace costs before time 0: scale.py TRACE [COPIES [PASSES]]

TRACE is a Mooncake file (the conversation hour: 12,031 rows). A file of COPIES (default 84, which is
1 M rows and 24 M ids) of it, one behind the other, with ids of their own, is written to a temporary
folder. In turn, PASSES times (default 3), it is read by `read_floor` (simdjson alone), replayed
until time 0 (--no-preflight, against the mock, then stopped), inspected, and converted to both
formats. Medians, each as a ratio to the floor of the same run, by the clock and, for a host that is
busy with other work, by CPU time; resident memory at time 0 and at its peak without that of a replay
of one copy. DRIFTLESS and READ_FLOOR name the programs.
"""
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time

PROGRAM = os.environ.get("DRIFTLESS", "build-release/driftless")
FLOOR = os.environ.get("READ_FLOOR", "build-release/read_floor")
LEAD_NS = 200_000_000
POLL_S = 0.002


def write_copies(trace, copies, path):
    rows = [json.loads(line) for line in trace.read_text().splitlines() if line.strip()]
    ids = 1 + max(max(row["hash_ids"]) for row in rows)
    span = 1 + max(row["timestamp"] for row in rows)
    with path.open("w") as out:
        for copy in range(copies):
            for row in rows:
                blocks = ", ".join(str(one + copy * ids) for one in row["hash_ids"])
                out.write('{"timestamp": %d, "input_length": %d, "output_length": %d, "hash_ids": '
                          "[%s]}\n" % (row["timestamp"] + copy * span, row["input_length"],
                                       row["output_length"], blocks))
    return len(rows) * copies, sum(len(row["hash_ids"]) for row in rows) * copies


def start(url, trace, folder):
    """Seconds from before the fork to time 0, CPU seconds, resident bytes then and at their peak."""
    command = [PROGRAM, "replay", str(trace), "--url", url, "--no-preflight", "--model",
               "mock-model", "--out", str(folder), "--calibration", "none"]
    begin = time.monotonic_ns()
    run = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    fired = folder / "fired.jsonl"
    while run.poll() is None and not (fired.exists() and fired.stat().st_size > 0):
        time.sleep(POLL_S)
    status = pathlib.Path(f"/proc/{run.pid}/status").read_text()
    ticks = pathlib.Path(f"/proc/{run.pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13]
    cpu = sum(int(one) for one in ticks) / os.sysconf("SC_CLK_TCK")
    for _ in range(2):
        run.send_signal(signal.SIGINT)
        time.sleep(0.3)
    run.wait()
    zero = json.loads((folder / "run.json").read_text())["clock"]["zero_monotonic_ns"]
    kib = {line.split(":")[0]: int(line.split()[1]) for line in status.splitlines()
           if line.startswith(("VmRSS", "VmHWM"))}
    return (zero - LEAD_NS - begin) / 1e9, cpu, kib["VmRSS"] * 1024, kib["VmHWM"] * 1024


def run_once(*command):
    """Seconds, CPU seconds and peak resident bytes of a program."""
    begin = time.monotonic()
    child = os.fork()
    if child == 0:
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), 1)
            os.execvp(str(command[0]), [str(one) for one in command])
    _, status, usage = os.wait4(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0, command
    cpu = usage.ru_utime + usage.ru_stime
    return time.monotonic() - begin, cpu, usage.ru_maxrss * 1024


def measure(url, trace, one, folder, number):
    folder = folder / str(number)
    folder.mkdir()
    floor, floor_cpu, _ = run_once(FLOOR, trace)
    _, base_cpu, base_rss, base_peak = start(url, one, folder / "one")
    seconds, cpu, rss, peak = start(url, trace, folder / "all")
    inspect = run_once(PROGRAM, "inspect", trace)
    inspect_one = run_once(PROGRAM, "inspect", one)
    mooncake = run_once(PROGRAM, "convert", trace, "--to", "mooncake", "-o", folder / "m.jsonl")
    canonical = run_once(PROGRAM, "convert", trace, "--to", "canonical", "-o", folder / "c.jsonl")
    for name in ("m.jsonl", "c.jsonl"):
        (folder / name).unlink()
    return {"floor": floor, "floor_cpu": floor_cpu, "start": seconds, "cpu": cpu - base_cpu,
            "rss": rss - base_rss, "peak": peak - base_peak, "inspect": inspect[0],
            "inspect_cpu": inspect[1], "inspect_rss": inspect[2] - inspect_one[2],
            "mooncake_cpu": mooncake[1], "canonical_cpu": canonical[1]}


def main():
    source = pathlib.Path(sys.argv[1])
    copies = int(sys.argv[2]) if len(sys.argv) > 2 else 84
    passes = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    mock = subprocess.Popen([PROGRAM, "mock", "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, text=True)
    try:
        url = mock.stdout.readline().split()[-1]
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            rows, ids = write_copies(source, copies, folder / "trace.jsonl")
            write_copies(source, 1, folder / "one.jsonl")
            all_of = [measure(url, folder / "trace.jsonl", folder / "one.jsonl", folder, i)
                      for i in range(passes)]
    finally:
        mock.terminate()
        mock.wait()
    m = {key: statistics.median(one[key] for one in all_of) for key in all_of[0]}
    allowed = 5 * ids + 64 * rows
    print(f"{rows} rows, {ids} ids; floor (simdjson alone) {m['floor']:.2f} s, "
          f"{m['floor_cpu']:.2f} s of CPU\n")
    print("| what | figure | bar |\n|---|---|---|")
    print(f"| exec to time 0 | {m['start']:.2f} s, {m['start'] / m['floor']:.2f} x the floor | 3 x |")
    print(f"| CPU time, without that of one copy | {m['cpu']:.2f} s, "
          f"{m['cpu'] / m['floor_cpu']:.2f} x the floor's | |")
    print(f"| resident at time 0 | {m['rss'] / 1e6:.0f} MB, {m['rss'] / allowed:.2f} of 5 B an id "
          "and 64 B a row | 1 |")
    print(f"| peak before it | {m['peak'] / 1e6:.0f} MB | |")
    print(f"| inspect | {m['inspect']:.2f} s, {m['inspect'] / m['floor']:.2f} x the floor; "
          f"{m['inspect_cpu']:.2f} s of CPU | 10 x |")
    print(f"| its memory | {m['inspect_rss'] / ids:.1f} B an id | 16 B |")
    print(f"| convert to mooncake / canonical | {m['mooncake_cpu']:.2f} / {m['canonical_cpu']:.2f} s "
          f"of CPU, {m['mooncake_cpu'] / m['canonical_cpu']:.2f} x | |")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""How long `driftless merge` takes: merge.py [ROWS [SHARDS [PASSES [DRIFTLESS [FLAGS OF MERGE]]]]]

ROWS records (1,000,000) dealt round robin to SHARDS folders (8), each record of 16 chunks and about
1.9 KB, made of one record of a real run against the bundled mock. For each pass: wall time, CPU time and
resident memory of a merge of all of them, and the same of `driftless report` on the merged run; before them
the floor, `cat` of the same files into one. At the end the medians, and how many times the floor they are.
The folders stay in one scratch folder, which is removed at the end. Standard library only.
"""
import json
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

CHUNKS = 16
GAP_NS = (9_000_000, 11_000_000)
EVERY_NS = 100_000  # 10,000 rows a second
STAMPS_BEHIND = ("first_byte_ns", "first_token_ns", "first_content_ns", "first_event_ns")
STAMPS_AT_END = ("last_token_ns", "finish_event_ns", "usage_event_ns", "end_marker_ns", "done_ns", "ended_ns")


def play(driftless, folder):
    """A real run of a few rows: what the made ones are like."""
    trace = os.path.join(folder, "trace.jsonl")
    with open(trace, "w", encoding="utf-8") as out:
        for i in range(8):
            out.write(json.dumps({"timestamp": 100 * i, "input_length": 1024, "output_length": CHUNKS,
                                  "hash_ids": [i, 8 + i]}) + "\n")
    mock = subprocess.Popen([driftless, "mock", "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE, text=True)
    try:
        url = mock.stdout.readline().split()[-1]
        subprocess.run([driftless, "replay", trace, "--url", url, "--out", folder + "/seed", "--calibration",
                        "none", "--report", "none"], check=True, stdout=subprocess.DEVNULL)
    finally:
        mock.send_signal(signal.SIGINT)
        mock.wait()
    with open(folder + "/seed/requests.jsonl", encoding="utf-8") as lines:
        record = json.loads(lines.readline())
    with open(folder + "/seed/run.json", encoding="utf-8") as text:
        return record, json.load(text)


def record_of(template, row, chance):
    due = row * EVERY_NS
    fired = due + chance.randint(80, 4000)
    stamps, at = [], 0
    for _ in range(CHUNKS):
        at += chance.randint(*GAP_NS)
        stamps.append(at)
    record = dict(template, row=row, request=row, connection=row % 997, due_ns=due, armed_ns=due - 900_000,
                  fired_ns=fired, drift_ns=fired - due, wire_ns=fired + 4000, sent_ns=fired + 9000,
                  headers_ns=fired + 400_000, ttft_ns=stamps[0], ttft_due_ns=stamps[0] + fired - due,
                  tpot_ns=(at - stamps[0]) / (CHUNKS - 1), e2e_ns=at, chunk_ns=stamps,
                  chunk_tokens=[1] * CHUNKS, chunk_kinds="c%d" % CHUNKS)
    record.update(dict.fromkeys(STAMPS_BEHIND, fired + stamps[0]), **dict.fromkeys(STAMPS_AT_END, fired + at))
    return record


def write_shard(folder, index, shards, rows, record, run):
    chance = random.Random(index)
    os.makedirs(folder)
    lines = []
    for row in range(index, rows, shards):
        one = record_of(record, row, chance)
        lines.append((one["ended_ns"], json.dumps(one, separators=(",", ":")) + "\n"))
    lines.sort(key=lambda line: line[0])  # in the order of their ends, as a run writes them
    with open(folder + "/requests.jsonl", "w", encoding="utf-8") as out:
        out.writelines(line for _, line in lines)
    run = json.loads(json.dumps(run))
    run["shard"] = {"index": index, "count": shards, "from": "--shard", "plan_rows": rows}
    run["meeting"] = None
    run["plan"]["rows"] = run["end"]["rows_fired"] = run["end"]["records"] = len(lines)
    with open(folder + "/run.json", "w", encoding="utf-8") as out:
        json.dump(run, out)
    open(folder + "/client.jsonl", "w", encoding="utf-8").close()


def resident(command):
    """Wall s, CPU s and resident bytes at most of one command, as wait4 has them."""
    begin = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise SystemExit("%s ended with %d" % (command, child.returncode))
    return time.monotonic() - begin, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def main():
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    shards = int(sys.argv[2]) if len(sys.argv) > 2 else 8
    passes = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    driftless = sys.argv[4] if len(sys.argv) > 4 else "build-release/driftless"
    folder = tempfile.mkdtemp(prefix="driftless-merge-")
    try:
        record, run = play(driftless, folder)
        folders = [os.path.join(folder, "shard-%d" % index) for index in range(shards)]
        for index, path in enumerate(folders):
            write_shard(path, index, shards, rows, record, run)
        size = sum(os.path.getsize(path + "/requests.jsonl") for path in folders)
        print("%d rows of %d shards, %.0f MB" % (rows, shards, size / 1e6), flush=True)
        whole = os.path.join(folder, "whole")
        measured = {}
        for _ in range(passes):
            shutil.rmtree(whole, ignore_errors=True)
            files = " ".join(path + "/requests.jsonl" for path in folders)
            for name, command in (("cat", ["sh", "-c", "cat %s >%s/cat" % (files, folder)]),
                                  ("merge", [driftless, "merge", *folders, "--out", whole, *sys.argv[5:]]),
                                  ("report", [driftless, "report", whole])):
                figures = resident(command)
                measured.setdefault(name, []).append(figures)
                print("%s: %.2f s, %.2f s of CPU, %.0f MB resident" % (name, *figures[:2], figures[2] / 1e6),
                      flush=True)
            os.unlink(folder + "/cat")
        floor = [statistics.median(figures) for figures in zip(*measured["cat"])]
        for name, passes_of in measured.items():
            wall, cpu, most = (statistics.median(figures) for figures in zip(*passes_of))
            print("median of %s: %.2f s (%.1f times cat), %.2f s of CPU (%.1f times), %.0f MB"
                  % (name, wall, wall / floor[0], cpu, cpu / floor[1], most / 1e6), flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()

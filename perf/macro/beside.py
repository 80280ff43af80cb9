#!/usr/bin/env python3
"""What a user's first flags give beside a server of the same host: beside.py [LOAD [PASSES [FLAG ..]]]

LOAD: streamsN (N, or 1,000, of 50 tokens/s, which start 5 ms apart; more than 1,000 start within 5 s and have 50,000
tokens/s together), apartN (10 bursts of 1,000 rows N us apart), or rateN (N rows/s for 5 s), both of 3 tokens a row.
Plays it against the mock PASSES times (3), without flags and, where there are some, with FLAG .. in turn; REPLAY_FLAGS
are for both. Neither side is pinned. MOCK_CPU pins the mock, MOCK_UNDER is put before its command (setsid: another session; chrt -i 0: lowest weight), DRIFTLESS names the
program. HOG_CPU has a busy program on that CPU, HOG_UNDER before its command, from HOG_AFTER seconds (0) on for
HOG_FOR (to the end of the run).
Prints, in us: how late rows left; the client's stamps of first tokens and of all tokens minus the mock's, which are
taken before the send; how long requests waited for the mock, beyond the shortest (a client in the server's way shows
there, and in no stamp of its own); which share of its time the busy program ran and its longest wait, ms; the engine's
CPU time in percent of the run, waiting by spinning included; tainted rows and the verdict.
"""
import contextlib
import json
import os
import pathlib
import shlex
import signal
import subprocess
import sys
import tempfile
import time

PROGRAM = os.environ.get("DRIFTLESS", "build-release/driftless")


def streams_of(load):
    return int(load.removeprefix("streams") or 1000)


def write_trace(load, path):
    if load.startswith("streams"):
        streams = streams_of(load)
        rows = [(i * min(0.005, 5 / streams), 250) for i in range(streams)]
    elif load.startswith("apart"):
        gap = float(load.removeprefix("apart")) / 1e6
        rows = [(burst * (0.2 + 1000 * gap) + i * gap, 3) for burst in range(10) for i in range(1000)]
    else:
        rate = int(load.removeprefix("rate"))
        rows = [(i / rate, 3) for i in range(5 * rate)]
    path.write_text("time,in,out\n" + "".join(f"{at:.6f},64,{out}\n" for at, out in rows))


# The busy program, as `beside.py --hog`: its share of the time and its longest wait in ms, at its end.
def be_busy(after, seconds):
    over = []
    signal.signal(signal.SIGTERM, lambda *_: over.append(True))
    time.sleep(after)
    begin = last = time.monotonic_ns()
    used, longest = time.process_time_ns(), 0
    while not over and last - begin < seconds * 1e9:
        now = time.monotonic_ns()
        longest, last = max(longest, now - last), now
    span = last - begin
    print("%.2f, %.1f" % ((time.process_time_ns() - used) / max(span, 1), longest / 1e6))


@contextlib.contextmanager
def busy_program(told):
    if "HOG_CPU" not in os.environ:
        yield
        return
    times = [os.environ.get("HOG_AFTER", "0"), os.environ.get("HOG_FOR", "1e9")]
    hog = subprocess.Popen(
        [*shlex.split(os.environ.get("HOG_UNDER", "")), "taskset", "-c", os.environ["HOG_CPU"],
         sys.executable, __file__, "--hog", *times], stdout=subprocess.PIPE, text=True)
    try:
        yield
    finally:
        hog.terminate()
        told.append(hog.communicate()[0].strip())


@contextlib.contextmanager
def mock(load, log):
    gap = f"{max(20_000, 20 * streams_of(load))}us" if load.startswith("streams") else "2ms"
    command = [PROGRAM, "mock", "--listen", "127.0.0.1:0", "--ttft", "20ms", "--itl", gap, "--log", log]
    if "MOCK_CPU" in os.environ:
        command += ["--cpu", os.environ["MOCK_CPU"]]
    command = shlex.split(os.environ.get("MOCK_UNDER", "")) + command
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        yield server.stdout.readline().split()[-1]
    finally:
        server.terminate()
        server.wait()


def lines_of(path):
    with open(path) as file:
        for line in file:
            yield json.loads(line)


def figures(values):
    values = sorted(values)
    return "%.0f / %.0f" % (values[-(-len(values) * 99 // 100) - 1] / 1e3, values[-1] / 1e3)


def play(load, flags, folder):
    trace, log, run = folder / "trace.csv", folder / "mock.jsonl", folder / "run"
    write_trace(load, trace)
    with mock(load, log) as url:
        subprocess.run(
            [PROGRAM, "replay", trace, "--map", "time=time,in=in,out=out", "--time-unit", "s", "--url", url,
             "--out", run, "--no-warm-probe", *os.environ.get("REPLAY_FLAGS", "").split(), *flags],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    told = {line["row"]: line for line in lines_of(log) if line["row"] is not None}
    zero = json.loads((run / "run.json").read_text())["clock"]["zero_monotonic_ns"]
    drift, firsts, stamps, waits, tainted = [], [], [], [], 0
    for record in lines_of(run / "requests.jsonl"):
        tainted += record["tainted"] is not None
        server = told.get(record["row"])
        if record["drift_ns"] is None or server is None:
            continue
        drift.append(record["drift_ns"])
        fired = zero + record["fired_ns"]
        waits.append(server["start_ns"] - fired)
        chunks = record["chunk_ns"] or []
        if len(chunks) == len(server["token_ns"]):
            stamps += [fired + at - token for at, token in zip(chunks, server["token_ns"])]
            firsts.append(fired + chunks[0] - server["token_ns"][0])
    least = min(waits)
    summary = json.loads((run / "summary.json").read_text())
    client = summary["client"]
    cpu = "%.1f" % (100 * (client["user_ns"] + client["system_ns"]) / client["span_ns"])
    return (figures(drift), figures(firsts), figures(stamps), figures([wait - least for wait in waits]), cpu, tainted,
            summary["verdict"]["name"])


def main():
    if sys.argv[1:2] == ["--hog"]:
        be_busy(*map(float, sys.argv[2:]))
        return
    load = sys.argv[1] if len(sys.argv) > 1 else "streams"
    passes = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    variants = [[], sys.argv[3:]] if len(sys.argv) > 3 else [[]]
    print("| flags | drift p99 / max | first tokens p99 / max | stamps p99 / max | waits for the server p99 / max | "
          "busy program | CPU | tainted | verdict |\n|---|---|---|---|---|---|---|---|---|")
    for _ in range(passes):
        for flags in variants:
            busy = []
            with tempfile.TemporaryDirectory() as folder, busy_program(busy):
                *spans, cpu, tainted, verdict = play(load, flags, pathlib.Path(folder))
            cells = [" ".join(flags) or "none", *spans, *(busy or ["none"]), cpu, tainted, verdict]
            print("| %s |" % " | ".join(map(str, cells)), flush=True)


if __name__ == "__main__":
    main()

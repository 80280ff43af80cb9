#!/usr/bin/env python3
"""How late the rows of one instant leave, by engines: bursts.py [PASSES [BURSTS [BUILD [FLAGS OF REPLAY]]]]

Bursts of 28 and of 512 rows, a second apart, sent by one engine and by two in turn, against the
receiver of the tests, which stamps what comes with its own code. For each pass: the median over the
bursts of how late their middle and their last row left (by our records) and came (by the receiver),
and the ratio of one engine to two. Standard library only.
"""
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile

SIZES = (28, 512)
ENGINES = (1, 2)


def write_trace(path, size, bursts):
    with open(path, "w", encoding="utf-8") as out:
        for burst in range(bursts):
            for _ in range(size):
                out.write(json.dumps({"timestamp": 1000 * burst, "input_length": 128, "output_length": 1,
                                      "hash_ids": [1]}) + "\n")


def lateness(build, flags, folder, size, engines, bursts):
    """{place: median us over the bursts} of our records and of the receiver."""
    trace, log = os.path.join(folder, "trace.jsonl"), os.path.join(folder, "log.jsonl")
    run = os.path.join(folder, "run%d-%d-%d" % (size, engines, len(os.listdir(folder))))
    write_trace(trace, size, bursts)
    receiver = subprocess.Popen([build + "/receiver", "--log", log], stdout=subprocess.PIPE, text=True)
    url = receiver.stdout.readline().split()[-1]
    try:
        subprocess.run([build + "/driftless", "replay", trace, "--url", url, "--out", run, "--no-preflight",
                        "--model", "m", "--calibration", "none", "--output", "free", "--engines", str(engines),
                        "--quiet", *flags], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    finally:
        receiver.send_signal(signal.SIGTERM)
        receiver.wait()
    with open(run + "/run.json", encoding="utf-8") as text:
        zero_ns = json.load(text)["clock"]["zero_monotonic_ns"]
    with open(run + "/requests.jsonl", encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines]
    with open(log, encoding="utf-8") as lines:
        seen = {str(int(one["request_id"].split("-")[-1])): one for one in map(json.loads, lines) if one.get("request_id")}
    late = {}
    for what in ("left", "came"):
        places = {}
        for burst in range(bursts):
            rows = [one for one in records if one["due_ns"] == burst * 1_000_000_000]
            values = sorted(one["drift_ns"] if what == "left" else
                            seen[str(one["row"])]["first_byte_ns"] - zero_ns - one["due_ns"] for one in rows)
            for name, place in (("middle", size // 2), ("last", size - 1)):
                places.setdefault(name, []).append(values[place] / 1000)
        late[what] = {name: statistics.median(values) for name, values in places.items()}
    return late


def main():
    passes = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    bursts = int(sys.argv[2]) if len(sys.argv) > 2 else 10
    build = sys.argv[3] if len(sys.argv) > 3 else "build-release"
    flags = sys.argv[4:]
    print("%5s %5s %12s %12s %12s %12s" % ("rows", "", "left middle", "left last", "came middle", "came last"))
    for size in SIZES:
        ratios = {}
        for _ in range(passes):
            with tempfile.TemporaryDirectory(prefix="driftless-bursts-") as folder:
                by = {engines: lateness(build, flags, folder, size, engines, bursts) for engines in ENGINES}
            for engines, late in by.items():
                cells = [late[what][name] for what in ("left", "came") for name in ("middle", "last")]
                print("%5d %5s " % (size, "x%d" % engines) + " ".join("%9.1f us" % cell for cell in cells))
            for what in ("left", "came"):
                for name in ("middle", "last"):
                    ratios.setdefault((what, name), []).append(by[1][what][name] / by[2][what][name])
        cells = ["%12.2f" % statistics.median(ratios[what, name])
                 for what in ("left", "came") for name in ("middle", "last")]
        print("%5d %5s " % (size, "1/2") + " ".join(cells) + "   median ratio")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Holds a run's records against the mock's own log: truth.py RUN_FOLDER MOCK_LOG

Prints counts, sums, and how long after the mock's send each token was stamped; exits 1 where a
client stamp precedes the mock's stamp of the same token, or where a row has no record or no log
entry. Both programs read CLOCK_MONOTONIC of one machine. Standard library only.
"""
import json
import sys


def percentile(ordered, per_mille):
    """Nearest rank; `ordered` ascending."""
    return ordered[max(0, -(-len(ordered) * per_mille // 1000) - 1)] if ordered else None


def spread(values):
    values.sort()
    points = {name: percentile(values, rank) for name, rank in (("p50", 500), ("p99", 990))}
    return "p50 %.1f us, p99 %.1f us, max %.1f us" % (
        points["p50"] / 1e3, points["p99"] / 1e3, values[-1] / 1e3) if values else "none"


def read_log(path):
    """The mock's entries by row; preflight requests have none."""
    entries = {}
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            entry = json.loads(line)
            if entry["row"] is not None:
                entries.setdefault(entry["row"], []).append(entry)
    return entries


def main():
    run, log = sys.argv[1], read_log(sys.argv[2])
    with open(run + "/run.json", encoding="utf-8") as text:
        zero = json.load(text)["clock"]["zero_monotonic_ns"]
    last_due = last_end = 0
    rows = early = off_chunks = uncached = prompt = output = 0
    outcomes, first, every, ttft = {}, [], [], []
    arrivals = []
    with open(run + "/requests.jsonl", encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            rows += 1
            last_due = max(last_due, record["due_ns"])
            last_end = max(last_end, record["ended_ns"] or 0)
            outcomes[record["outcome"]] = outcomes.get(record["outcome"], 0) + 1
            entry = log.pop(record["row"], [None])[-1]
            if entry is None:
                continue
            prompt += entry["prompt_tokens"]
            output += entry["output_tokens"]
            uncached += record["cached_tokens"] != record["expected_cached_tokens"]
            arrivals.append(entry["start_ns"] - zero - record["fired_ns"])
            early += entry["start_ns"] - zero < record["fired_ns"]
            sent = entry["token_ns"]
            base = zero + record["fired_ns"]
            stamps = record["chunk_ns"] or []
            off_chunks += len(sent) != len(stamps)
            gaps = [base + stamp - at for stamp, at in zip(stamps, sent)]
            early += sum(gap < 0 for gap in gaps)
            if gaps:
                first.append(gaps[0])
                every.extend(gaps)
                ttft.append(record["ttft_ns"] - (sent[0] - entry["start_ns"]))
    print("records %d, outcomes %s" % (rows, outcomes))
    print("drained %.2f s after the last row was due, at %.2f s" % (
        (last_end - last_due) / 1e9, last_due / 1e9))
    print("mock: %d prompt tokens, %d output tokens over the rows' requests" % (prompt, output))
    print("rows whose cached tokens differ from the expected: %d" % uncached)
    print("rows whose number of chunks differs from the mock's: %d" % off_chunks)
    print("mock's first read after our fired stamp: %s" % spread(arrivals))
    print("our stamp after the mock's send, first tokens: %s" % spread(first))
    print("our stamp after the mock's send, all tokens:   %s" % spread(every))
    print("client's ttft minus the mock's: %s" % spread(ttft))
    print("client stamps before the mock's: %d" % early)
    missing = [row for row in log if row not in (None,)]
    print("requests in the log without a record: %d" % len(missing))
    sys.exit(1 if early or missing or off_chunks else 0)


if __name__ == "__main__":
    main()

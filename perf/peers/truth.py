"""What the server's log says of a run, and how far a client's own figures are from it."""

import json
import math

MS = 1e6  # ns


def percentile(values, share):
    """Of a sorted list: the smallest value that so large a share of them does not exceed."""
    return values[max(math.ceil(share * len(values)) - 1, 0)]


def read_log(path):
    return [json.loads(line) for line in open(path)]


def gaps_ms(line):
    """Between the transmit stamps of a request's tokens; None beside a token without a stamp."""
    sent = line["token_ns"]
    return [None if a is None or b is None else (b - a) / MS for a, b in zip(sent, sent[1:])]


def paired(lines, reports):
    """Pairs of a request in the log and the client's report of it, by request id. Where a client
    tells no ids, lines without their reports: those values are compared in sorted order."""
    by_id = {line["request_id"]: line for line in lines}
    return [(by_id[report.request_id], report) for report in reports if report.request_id in by_id]


def ttft_errors(lines, reports):
    pairs = paired(lines, reports)
    if pairs:
        return [report.ttft_ms - (line["token_ns"][0] - line["received_ns"]) / MS
                for line, report in pairs if line["token_ns"] and line["token_ns"][0]]
    true = sorted((line["token_ns"][0] - line["received_ns"]) / MS
                  for line in lines if line["token_ns"] and line["token_ns"][0])
    told = sorted(report.ttft_ms for report in reports)
    return [b - a for a, b in zip(true, told)] if len(true) == len(told) else []


def itl_figures(lines, reports):
    """The client's p99 of the gaps between tokens, minus the true one; and the p99 of the error of a
    single gap, where the pairs are known."""
    told = sorted(gap for report in reports for gap in report.gaps_ms)
    true = sorted(gap for line in lines for gap in gaps_ms(line) if gap is not None)
    if not told or not true:
        return {}
    found = {"itl_p99_error": percentile(told, 0.99) - percentile(true, 0.99)}
    errors = sorted(abs(b - a) for line, report in paired(lines, reports)
                    if len(report.gaps_ms) == len(line["token_ns"]) - 1
                    for a, b in zip(gaps_ms(line), report.gaps_ms) if a is not None)
    if errors:
        found["gap_error_p99"] = percentile(errors, 0.99)
    return found


def pacing(lines, rows):
    """How late requests arrived, by their order. No client tells its time 0, so the earliest
    counts as in time."""
    due = sorted(row["timestamp"] for row in rows)
    arrived = sorted(line["received_ns"] / MS for line in lines)
    if len(due) != len(arrived):
        return {}
    late = [b - a for a, b in zip(due, arrived)]
    late = sorted(value - min(late) for value in late)
    return {"drift_p50": percentile(late, 0.5), "drift_p99": percentile(late, 0.99)}


def loop_figures(lines, open_at_once):
    """Of the middle eight tenths: the rate of arrivals, and the time from the end of an answer to the
    arrival of the request that takes its place."""
    arrived = sorted(line["received_ns"] for line in lines)
    ended = sorted(line["token_ns"][-1] for line in lines if line["token_ns"] and line["token_ns"][-1])
    if len(arrived) < 20 * open_at_once or len(ended) < len(arrived) - open_at_once:
        return {}
    first, last = len(arrived) // 10, len(arrived) * 9 // 10
    found = {"rate": (last - first) / (arrived[last] - arrived[first]) * 1e9}
    turns = sorted((arrived[i + open_at_once] - ended[i]) / 1e3 for i in range(first, last - open_at_once))
    found["turn_p50"], found["turn_p99"] = percentile(turns, 0.5), percentile(turns, 0.99)
    return found


def figures(work, lines, reports, paces, open_at_once):
    """What the tables are made of, in ms but for the closed loop's us and requests/s. `paces`: the
    client was asked to keep the schedule of the rows."""
    found = {"requests": len(lines)}
    if work.kind == "closed":
        found.update(loop_figures(lines, open_at_once))
        return found
    errors = ttft_errors(lines, reports)
    if errors:
        found["ttft_error_mean"] = sum(errors) / len(errors)
        found["ttft_error_p99"] = percentile(sorted(abs(error) for error in errors), 0.99)
        found["ok"] = len(errors)
    found.update(itl_figures(lines, reports))
    arrived = [line["received_ns"] for line in lines]
    if work.kind == "burst":
        found["burst_width"] = (max(arrived) - min(arrived)) / MS
    elif paces:
        found.update(pacing(lines, work.rows))
    return found

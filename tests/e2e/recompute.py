"""The summary, computed anew from the lines of requests.jsonl: another implementation of what
proto/run/README.md and proto/figures/summary.schema.json say, and of nothing else."""

import collections
import math

WHOLE = ("ok", "short_output", "long_output")
NO_FAILURE = (*WHOLE, "abandoned", "not_sent")
WISHED = ("inflight", "budget")  # causes of lateness that the user asked for
PERCENTILES = (25, 50, 75, 90, 95, 99, 99.9)


def nearest_rank(values, percent):
    ordered = sorted(values)
    # In integers: 99.9 has no exact double.
    rank = max(1, -(-len(ordered) * round(percent * 10) // 1000))
    return ordered[rank - 1]


def distribution(values):
    """A distribution in the unit of the values; None where there is nothing."""
    found = {"count": len(values)}
    names = ["mean", "std", "min", "max"] + [f"p{percent:g}" for percent in PERCENTILES]
    if not values:
        return {**found, **dict.fromkeys(names)}
    mean = math.fsum(values) / len(values)
    found["mean"] = mean
    found["std"] = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / len(values))
    found["min"], found["max"] = min(values), max(values)
    for percent in PERCENTILES:
        found[f"p{percent:g}"] = nearest_rank(values, percent)
    return found


def known(records, key):
    return [record[key] for record in records if record[key] is not None]


def itl(record):
    """A gap once per token that it brought; a chunk of no token lends its time to the next."""
    values, begin = [], record["chunk_ns"][0] if record["chunk_ns"] else 0
    for stamp, tokens in list(zip(record["chunk_ns"], record["chunk_tokens"]))[1:]:
        if tokens > 0:
            values += [(stamp - begin + tokens // 2) // tokens] * tokens
            begin = stamp
    return values


def gaps(record):
    stamps = record["chunk_ns"]
    return [after - before for before, after in zip(stamps, stamps[1:])]


STAMPS = ("fired_ns", "sent_ns", "headers_ns", "first_byte_ns", "last_token_ns", "done_ns",
          "ended_ns")  # fmt: skip


def by_segment(records):
    """Rows that were sent or given up by the segment that did it."""
    segments = collections.defaultdict(list)
    for record in records:
        if record["fired_ns"] is not None or record["ended_ns"] is not None:
            # Those of a merged run went side by side.
            segments[0 if "shard" in record else record["segment"]].append(record)
    return segments


def duration_ns(records, warm=(), shortest=False):
    """`shortest`: had each row ended as early as it can have, for its last bytes may have waited."""
    total = 0
    for segment, rows in by_segment(records).items():
        begin = 0 if segment == 0 and not warm else min(row["due_ns"] for row in rows)
        ends = [max(0, *(row[key] or 0 for key in STAMPS)) for row in rows]
        if shortest:
            ends = [end_least(row, end) for row, end in zip(rows, ends)]
        total += max(begin, *ends) - begin
    return total


def end_least(row, end):
    """By its reads: an end by a clock of the client is none."""
    ends = [row["fired_ns"] or 0]
    own = ("timeout_connect", "timeout_first_byte", "timeout_idle", "timeout_total", "abandoned", "cancelled")
    if row["receive_delay_ns"] is not None and row["outcome"] not in own:
        ends.append(end - row["receive_delay_ns"])
    if row["last_token_ns"] is not None and row["last_late_ns"] is not None:
        ends.append(row["last_token_ns"] - row["last_late_ns"])
    return max(ends)


def peak_open(records):
    """Counted at each fire, naively: only there it can rise."""
    most = 0
    for rows in by_segment(records).values():
        sent = [row for row in rows if row["fired_ns"] is not None]
        for at in (row["fired_ns"] for row in sent):
            held = sum(
                row["fired_ns"] <= at and (row["ended_ns"] is None or at < row["ended_ns"])
                for row in sent
            )
            most = max(most, held)
    return most


def lost_chunks(records):
    return any(r["chunk_ns"] is None and r["first_token_ns"] is not None for r in records)


def best_second(records):
    if lost_chunks(records):
        return None
    seconds = collections.Counter()
    for segment, rows in by_segment(records).items():
        for row in rows:
            stamps = row["chunk_ns"] or []
            tokens = row["chunk_tokens"] or [1] * len(stamps)
            for stamp, count in zip(stamps, tokens):
                second = max(0, row["fired_ns"] + stamp) // 10**9
                seconds[segment, second] += count
    if not seconds and any(row["output_tokens"] for row in records):
        return None  # whole answers: nobody knows when their tokens were made
    return max(seconds.values(), default=0)


def ranks(records):
    """Drift by the place among the rows of one due instant: 0, 1, 2-3, 4-7 .."""
    places = collections.Counter()
    drifts = collections.defaultdict(list)
    for record in sorted(records, key=lambda r: (r["due_ns"], r["row"])):
        if record["fired_ns"] is None:
            continue
        place = places[record["due_ns"]]
        places[record["due_ns"]] += 1
        if record["late_cause"] not in WISHED:
            drifts[place.bit_length()].append(record["fired_ns"] - record["due_ns"])
    found = []
    for bucket, values in sorted(drifts.items()):
        first = 0 if bucket == 0 else 2 ** (bucket - 1)
        found.append({
            "rank_first": first, "rank_last": 2**bucket - 1 if bucket else 0,
            "count": len(values), "p50": nearest_rank(values, 50),
            "p99": nearest_rank(values, 99), "max": max(values),
        })  # fmt: skip
    return found


def meets(record, slo):
    """`slo`: bounds in ms by metric. A null tpot passes."""
    return all(
        record[f"{metric}_ns"] <= bound * 1e6
        if record[f"{metric}_ns"] is not None
        else metric == "tpot"
        for metric, bound in slo.items()
    )


def latencies(ok, given_up, whole):
    found = {}
    for metric, key, of in (("ttft", "ttft_ns", ok + given_up), ("tpot", "tpot_ns", ok),
                            ("e2el", "e2e_ns", ok), ("ttft_due", "ttft_due_ns", ok + given_up)):  # fmt: skip
        found.update(in_ms(metric, distribution(known(of, key))))
    chunked = [r for r in ok if r["chunk_ns"]]
    counted = [r for r in chunked if r["chunk_tokens"] is not None]
    found["itl_rows_left_out"] = len(chunked) - len(counted) if whole else len(ok)
    per_token = [v for r in counted for v in itl(r)] if whole else []
    found.update(in_ms("itl", distribution(per_token)))
    per_chunk = [gap for r in ok if r["chunk_ns"] for gap in gaps(r)] if whole else []
    found.update(in_ms("chunk_gap", distribution(per_chunk)))
    return found


STAMP_ERROR_NS = 2_000


def request_late(record):
    """From the fire until the server can have had the request."""
    bound, parts = record["wire_delay_bound_ns"], record["request_delay_ns"]
    unsure = {"retried", "retransmitted", "answered_early"} & set(record["tainted"] or [])
    return None if unsure or bound is None or parts is None else bound + parts + STAMP_ERROR_NS


def is_lost(record):
    return bool({"payload_dropped", "entries_dropped"} & set(record["tainted"] or []))


CUT_OFF = {"timeout_first_byte", "timeout_idle", "timeout_total", "abandoned", "cancelled", "truncated", "send_failed"}


def is_gone(record):
    """Nobody knows what would have become of it: it failed here, or waited here and was cut off."""
    if record["outcome"] in ("client_failed", "interrupted"):
        return True
    if record["outcome"] not in CUT_OFF or None in (record["fired_ns"], record["ended_ns"]):
        return False
    lasted, wire = record["ended_ns"] - record["fired_ns"], record["wire_delay_bound_ns"]
    waited = (lasted if wire is None else wire) + (record["request_delay_ns"] or 0)
    return waited > max(1e6, 0.01 * lasted) or "end_unsure" in (record["tainted"] or [])


def is_unsure(record):
    """Nothing is known of its times: a part was lost, or a client that ran would have cut it off."""
    return is_lost(record) or "end_unsure" in (record["tainted"] or [])


def bars(values, lower, upper, percents=PERCENTILES, possible=()):
    """How far below and above each number the true one may lie, in ms; both lists hold what is not known, as 0 and infinity.
    Any of `possible` may be there, too, as large as that."""
    if not values:
        return None
    found, low = distribution(values), distribution(lower)
    keys = ["mean"] + [f"p{percent:g}" for percent in percents]
    highs = [distribution(upper + [u for u in possible if u >= least]) for least in (math.inf, *possible)]
    high = {key: max(one[key] for one in highs) for key in keys}
    return {
        key: None
        if high[key] > 2**59
        else {"below": (found[key] - low[key]) / 1e6, "above": (high[key] - found[key]) / 1e6}
        for key in keys
    }  # fmt: skip


def at_end(value, bar, end):
    """The shortest (end 0) or the longest (1) that a time can have been."""
    below, above = bar or (math.inf, math.inf)
    return value + (-below, above)[end]


def meets_at(record, slo, end):
    """Whether a row is good with all its times at one end of their bars; None: nobody knows."""
    if is_unsure(record) or is_gone(record):
        return end == 0
    sent, tokens = request_late(record), record["output_tokens"] or 0

    def from_fire(late):
        return None if None in (sent, late) or is_unsure(record) else (sent + late, 0)

    first, last = record["first_late_ns"], record["last_late_ns"]
    if record["outcome"] == "abandoned":
        waited = record["ended_ns"] - record["fired_ns"]
        seen = record["ttft_ns"] is not None
        lasted = {"ttft": (record["ttft_ns"], from_fire(first)) if seen else (waited, from_fire(1e6)),
                  "e2e": (waited, from_fire(1e6))}  # fmt: skip
        broken = any(at_end(*lasted[m], end) > bound * 1e6 for m, bound in slo.items() if m in lasted)
        return False if broken else None
    if record["outcome"] != "ok":
        return False
    between = tokens - 1
    spread = None if None in (first, last) else (last / max(between, 1), first / max(between, 1))
    times = {"ttft": (record["ttft_ns"], from_fire(first)), "e2e": (record["e2e_ns"], from_fire(last)),
             "ttft_due": (record["ttft_due_ns"], from_fire(first)),
             "tpot": (record["tpot_ns"] or 0, spread) if between > 0 else (0, (0, 0))}  # fmt: skip
    return all(times[m][0] is not None and at_end(*times[m], end) <= bound * 1e6 for m, bound in slo.items())


def load_waits(records):
    """For answers, or for a cap: late reads lower such a load itself."""
    causes = [r["late_cause"] for r in records if r["fired_ns"] is not None]
    return (
        any(r["user"] is not None or r["parent_end_ns"] is not None for r in records)
        or any(cause in ("inflight", "budget", "limit") for cause in causes)
        or causes.count("lane") > 0.01 * len(causes)
    )


def lacks_rows(records):
    """Some were not sent, and the failure that they waited for may be the client's."""
    outcomes = {r["outcome"] for r in records}
    dropped = any(r["outcome"] == "not_sent" and r["error"] for r in records)
    return dropped and bool(outcomes & {"client_failed", "interrupted"})


def goodput_error(records, slo, warm):
    """Of the share of good rows and of their rate: counted at both ends."""
    seconds = duration_ns(records, warm) / 1e9
    if not slo or not seconds:
        return dict.fromkeys(("good", "request_goodput"))
    # A row that was given up before it had broken a limit is undecided, as measured, too.
    judged = [r for r in records if r["outcome"] != "abandoned" or not undecided(r, slo)]
    counts = {None: (sum(r["outcome"] == "ok" and meets(r, slo) for r in judged), len(judged))}
    for end in (0, 1):
        marks = [meets_at(r, slo, end) for r in records]
        counts[end] = sum(m is True for m in marks), sum(m is not None for m in marks)
    share = {end: good / of if of else None for end, (good, of) in counts.items()}
    shortest = duration_ns(records, warm, shortest=True) / 1e9
    rates = counts[None][0] / seconds, counts[1][0] / seconds, counts[0][0] / shortest if shortest else math.inf
    if has_no_rates(records):
        rates = math.nan, math.nan, math.inf
    return {
        "good": None if None in share.values() else
        {"below": max(0, share[None] - share[1]), "above": max(0, share[0] - share[None])},
        "request_goodput": None if rates[2] == math.inf else
        {"below": max(0, rates[0] - rates[1]), "above": max(0, rates[2] - rates[0])},
    }  # fmt: skip


RATES = ("request_throughput", "output_throughput", "total_token_throughput")


def rate_errors(records, counts, warm):
    """Of throughput: by the shortest duration; rows that failed for our own lack might have gone on."""
    longest, shortest = (duration_ns(records, warm, shortest=end) / 1e9 for end in (False, True))
    if has_no_rates(records) or not longest or shortest <= 0:
        return dict.fromkeys(RATES)
    return {
        name: {"below": 0, "above": max(0, count / shortest - count / longest)} for name, count in zip(RATES, counts)
    }


def has_no_rates(records):
    return load_waits(records) or gone_rows(records) or any("end_unsure" in (r["tainted"] or []) for r in records)


def gone_rows(records):
    return [r for r in records if is_gone(r)]


def client_error(records, ok, given_up, whole, slo, warm, counts):
    tokens = [r for r in records if r["first_token_ns"] is not None]
    if (tokens and all(r["last_late_ns"] is None for r in records)) or lacks_rows(records):
        return dict.fromkeys(("ttft_ms", "tpot_ms", "itl_ms", "e2el_ms", "chunk_gap_ms", "good", "request_goodput",
                              *RATES))  # fmt: skip

    def missing(key):
        return sum(is_gone(r) or (is_lost(r) and r[key] is None) for r in records)

    found = {**goodput_error(records, slo, warm), **rate_errors(records, counts, warm)}
    for metric, key, late, of in (("ttft", "ttft_ns", "first_late_ns", ok + given_up),
                                  ("e2el", "e2e_ns", "last_late_ns", ok)):  # fmt: skip
        values = [r[key] for r in of if r[key] is not None]
        lower, upper = [0] * missing(key), [math.inf] * missing(key)
        for r in (r for r in of if r[key] is not None):
            parts = (request_late(r), r[late])
            unknown = None in parts or is_unsure(r)
            lower.append(0 if unknown else max(0, r[key] - sum(parts)))
            upper.append(math.inf if unknown else r[key])
        found[f"{metric}_ms"] = bars(values, lower, upper)
    lower, upper = [0] * missing("tpot_ns"), [math.inf] * missing("tpot_ns")
    timed = [r for r in ok if r["tpot_ns"] is not None]
    for r in timed:
        first, last = r["first_late_ns"], r["last_late_ns"]
        unknown = first is None or last is None or is_unsure(r)
        between = r["output_tokens"] - 1
        lower.append(0 if unknown else max(0, r["tpot_ns"] - last / between))
        upper.append(math.inf if unknown else r["tpot_ns"] + first / between)
    possible = []  # tokens that were read together may have come apart
    for r in ok:
        if r["tpot_ns"] is None and (r["output_tokens"] or 0) > 1 and not is_lost(r) and len(r["chunk_ns"] or ()) != 1:
            unknown = r["first_late_ns"] is None or r["last_late_ns"] is None or is_unsure(r)
            lower.append(0)
            (upper if unknown else possible).append(
                math.inf if unknown else r["first_late_ns"] / (r["output_tokens"] - 1))
    found["tpot_ms"] = bars([r["tpot_ns"] for r in timed], lower, upper, possible=possible)
    lengths = [r["output_length"] for r in gone_rows(records)]
    for metric, widths in (("itl", itl_bounds), ("chunk_gap", gap_bounds)):
        each = [bound for r in ok if r["chunk_ns"] for bound in widths(r)] if whole else []
        values, least, most = [list(one) for one in zip(*each)] or [[], [], []]
        gaps = sum(max(1, length or 0) - 1 for length in lengths)
        # Percentiles of histograms are within 0.1 % of the gaps, which says little of their bars.
        found[f"{metric}_ms"] = None if None in lengths else bars(
            values, least + [0] * gaps, most + [math.inf] * gaps, ())
    return found


def chunks_late(record):
    known = record["chunk_late_ns"] and not is_unsure(record)
    return record["chunk_late_ns"] if known else [math.inf] * len(record["chunk_ns"])


def gap_bounds(record):
    stamps, late = record["chunk_ns"], chunks_late(record)
    for i in range(1, len(stamps)):
        gap = stamps[i] - stamps[i - 1]
        yield gap, max(0, gap - late[i]), gap + late[i - 1]


def itl_bounds(record):
    begin, late = 0, chunks_late(record)
    for i, tokens in list(enumerate(record["chunk_tokens"] or []))[1:]:
        if tokens > 0:
            gap = (record["chunk_ns"][i] - record["chunk_ns"][begin] + tokens // 2) // tokens
            below, above = (
                late[at] if late[at] == math.inf else -(-late[at] // tokens) for at in (i, begin)
            )
            yield from [(gap, max(0, gap - below), gap + above)] * tokens
            begin = i


def undecided(record, slo):
    """It was given up before it had broken a bound in ms."""
    waited = record["ended_ns"] - record["fired_ns"]
    lasted = {"ttft": waited if record["ttft_ns"] is None else record["ttft_ns"], "e2e": waited}
    return all(lasted[metric] <= bound * 1e6 for metric, bound in slo.items() if metric in lasted)


def abandoned(given_up, slo):
    begun = [r for r in given_up if r["first_token_ns"] is not None]
    counted = [r["input_length"] if r["prompt_tokens"] is None else r["prompt_tokens"] for r in begun]
    return {
        "requests": len(given_up),
        "no_first_token": len(given_up) - len(begun),
        "undecided": sum(undecided(r, slo) for r in given_up),
        "input_tokens": sum(counted),
        "output_tokens": sum(r["output_tokens"] or 0 for r in given_up),
    }


def in_ms(metric, d):
    names = {"mean": "mean", "std": "std", "median": "p50", "min": "min", "max": "max"}
    names.update({f"p{percent:g}": f"p{percent:g}" for percent in PERCENTILES})
    found = {
        f"{name}_{metric}_ms": None if d[key] is None else d[key] / 1e6
        for name, key in names.items()
    }
    return {f"count_{metric}": d["count"], **found}


def overtaken(fired):
    told = known(fired, "overtaken")
    return {"follow_up_turns": len(told), "overtaken_turns": sum(told) if told else None}


def sending(records):
    fired = [r for r in records if r["fired_ns"] is not None]
    free = [r for r in fired if r["late_cause"] not in WISHED]
    wired = [r for r in fired if r["wire_ns"] is not None]
    both = [r for r in free if r["wire_ns"] is not None]
    causes = {r["late_cause"] for r in free}
    drift = {c: [r["fired_ns"] - r["due_ns"] for r in free if r["late_cause"] == c] for c in causes}
    stage = "wire_ns" if len(wired) == len(fired) else "fired_ns"
    load = distribution([r[stage] - r["due_ns"] for r in free])
    return {
        "load_error": {
            **{f"{name}_ms": load[name] / 1e6 if free else None for name in ("p50", "p99", "max")},
            "late_rows": sum("late" in (r["tainted"] or ()) for r in fired),
        },
        "fired": len(fired),
        "dropped": sum(r["outcome"] == "not_sent" and r["error"] is not None for r in records),
        **overtaken(fired),
        "late_causes": collections.Counter(r["late_cause"] for r in fired),
        "drift_ns": distribution([r["fired_ns"] - r["due_ns"] for r in free]),
        "drift_left_out": len(fired) - len(free),
        "drift_by_cause_ns": {cause: distribution(values) for cause, values in drift.items()},
        "drift_by_rank_ns": ranks(records),
        "submit_ns": distribution(known(fired, "submit_ns")),
        "wire_delay_ns": distribution([r["wire_ns"] - r["fired_ns"] for r in wired]),
        "wire_drift_ns": distribution([r["wire_ns"] - r["due_ns"] for r in both]),
        "wire_unknown": len(fired) - len(wired),
        "receive_delay_ns": distribution(known(fired, "receive_delay_ns")),
    }


def prompts(records):
    measured = [r for r in records if r["input_length"] is not None and r["fired_ns"] is not None]
    offs = [r["prompt_tokens_off"] for r in measured if r["prompt_tokens_off"] is not None]
    cached = [r for r in records if r["cached_tokens"] is not None]
    expected = {r["row"]: r["expected_cached_tokens"] or 0 for r in records}
    return {
        "prompts": {
            "exact": offs.count(0),
            "off": len(offs) - offs.count(0),
            "unknown": len(measured) - len(offs),
        },
        "cache": {
            "expected_cached_tokens": sum(expected.values()),
            "rows_reported": len(cached),
            **{
                name: sum(of_row(r) for r in cached) if cached else None
                for name, of_row in (
                    ("expected_cached_tokens_reported", lambda r: expected[r["row"]]),
                    ("cached_tokens", lambda r: r["cached_tokens"]),
                    ("prompt_tokens_compared", lambda r: r["prompt_tokens"] or r["input_length"]),
                    ("rows_equal", lambda r: r["cached_tokens"] == r["expected_cached_tokens"]),
                    ("rows_above", lambda r: r["cached_tokens"] > expected[r["row"]]),
                )
            },
        },
    }


def outputs_by_length(whole):
    """Whole answers against the recorded lengths; a number of chunks counts nothing."""
    off = [
        r["output_tokens"] - r["output_length"]
        for r in whole
        if r["output_tokens"] is not None and r["output_length"] and r["tokens_source"] != "chunks"
    ]
    return {
        "exact": sum(n == 0 for n in off),
        "short": sum(n < 0 for n in off),
        "long": sum(n > 0 for n in off),
        "unknown": len(whole) - len(off),
    }


def urls(records):
    """The rows of each server, sorted by its URL."""
    found = []
    for url in sorted({r["url"] for r in records if r["url"] is not None}):
        rows = [r for r in records if r["url"] == url]
        ok = [r for r in rows if r["outcome"] == "ok"]
        given_up = [r for r in rows if r["outcome"] == "abandoned"]
        ttft = distribution(known(ok + given_up, "ttft_ns"))
        found.append({
            "rows": len(rows),
            "completed": len(ok),
            "failed": sum(
                r["outcome"] not in NO_FAILURE and not r["censored"] for r in rows
            ),
            "median_ttft_ms": None if ttft["p50"] is None else ttft["p50"] / 1e6,
            "p99_ttft_ms": None if ttft["p99"] is None else ttft["p99"] / 1e6,
            "cached_tokens": sum(known(rows, "cached_tokens")),
        })  # fmt: skip
    return found


def summary_of(records, slo=None):
    """Every key of summary.json that follows from the records. `slo` is --goodput, in ms."""
    warmup = [r for r in records if r["phase"] == "warmup"]
    records = [r for r in records if r["phase"] != "warmup"]
    censored = sum(r["censored"] for r in records)
    ok = [r for r in records if r["outcome"] == "ok"]
    short = [r for r in records if r["outcome"] == "short_output"]
    longer = [r for r in records if r["outcome"] == "long_output"]
    whole = ok + short + longer
    uncounted = any(r["chunk_ns"] and r["chunk_tokens"] is None for r in whole)
    given_up = [r for r in records if r["outcome"] == "abandoned"]
    others = len(ok) + len(short) + len(longer) + len(given_up)
    seconds = duration_ns(records, warmup) / 1e9
    told = [r["prompt_tokens"] for r in ok]
    inputs = sum(r["input_length"] or 0 if n is None else n for r, n in zip(ok, told))
    outputs = sum(r["output_tokens"] or 0 for r in ok)
    good = sum(meets(r, slo or {}) for r in ok)

    def rate(count):
        return count / seconds if seconds > 0 else 0

    return {
        "num_prompts": len(records),
        "duration": seconds,
        "completed": len(ok),
        "short_output": len(short),
        "long_output": len(longer),
        "censored": censored,
        "abandoned": abandoned(given_up, slo or {}),
        "failed": len(records) - others - censored,
        "retries": sum(r["attempt"] > 0 and r["fired_ns"] is not None for r in records),
        "warmup": {
            "requests": len(warmup),
            "fired": len(known(warmup, "fired_ns")),
            "failed": sum(r["outcome"] not in NO_FAILURE for r in warmup),
        },
        "outputs": outputs_by_length(ok + short + longer),
        "outcomes": collections.Counter(r["outcome"] for r in records),
        "tokens_sources": collections.Counter(known(records, "tokens_source")),
        "total_input_tokens": inputs,
        "total_output_tokens": outputs,
        "output_tokens_all": sum(r["output_tokens"] or 0 for r in records),
        "request_throughput": rate(len(ok)),
        "output_throughput": rate(outputs),
        "total_token_throughput": rate(inputs + outputs),
        "request_goodput": rate(good) if slo else None,
        "goodput": {"good": good if slo else None},
        "max_output_tokens_per_s": None if uncounted else best_second(records),
        "max_concurrent_requests": peak_open(records),
        "tainted_rows": sum(bool(r["tainted"]) for r in records),
        "stale_retries": sum(r["stale_retries"] for r in records),
        "coalesced_chunks": sum(r["coalesced_chunks"] for r in records),
        "receive_delay_max_ns": max(known(records, "receive_delay_ns"), default=None),
        "urls": urls(records),
        **latencies(ok, given_up, not lost_chunks(records)),
        "client_error": client_error(
            records, ok, given_up, not lost_chunks(records), slo, warmup, (len(ok), outputs, inputs + outputs)
        ),
        **sending(records),
        **prompts(records),
    }


def differences(said, computed, path="", loose=0.0):
    """What `said` (of summary.json) has otherwise than `computed`; keys that only it has are not
    compared, counts of names that only it has must be 0."""
    if isinstance(computed, collections.Counter):
        return [
            f"{path}.{name}: {said.get(name)} instead of {computed[name]}"
            for name in {*said, *computed}
            if said.get(name, 0) != computed[name]
        ]
    if isinstance(computed, dict):
        found = []
        for key, value in computed.items():
            # Percentiles of histograms are within 0.1 %.
            near = 1 / 1024 if "_itl_ms" in key or "_chunk_gap_ms" in key else loose
            if key not in said:
                found.append(f"{path}.{key} is missing")
            else:
                found += differences(said[key], value, f"{path}.{key}", near)
        return found
    if isinstance(computed, list):
        found = [] if len(said) == len(computed) else [f"{path}: {len(said)} of {len(computed)}"]
        for i, (a, b) in enumerate(zip(said, computed)):
            found += differences(a, b, f"{path}[{i}]", loose)
        return found
    if said is None or computed is None:
        return [] if said is computed else [f"{path}: {said} instead of {computed}"]
    within = 1e-6 + max(loose, 1e-9) * abs(computed)
    return [] if abs(said - computed) <= within else [f"{path}: {said} instead of {computed}"]

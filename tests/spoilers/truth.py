"""What a record says against what the independent receiver saw: how wrong its stamps are, at least.

All stamps are of one CLOCK_MONOTONIC. The receiver notes when each write began and when it ended, and
the kernel when the last byte of it left. Without the kernel's stamp, what it carried left between the
two: where they lie close together the first is taken; where the receiver itself was late the second,
so that its own lateness is not charged to the client. An error is therefore a lower bound, and what
remains is the client's, or the kernel's between the two.
"""

import bisect
import dataclasses

# A write on an idle host takes 10 to 60 us. One that took longer was late itself.
OWN_GAP_NS = 200_000


@dataclasses.dataclass
class Errors:
    """The largest of each kind in one row; ns."""

    sent: int = 0  # arrival of the request's first byte minus fired_ns
    late: int = 0  # the same minus due_ns
    read: int = 0  # a stamp of ours minus the send of what it stamps
    early: int = 0  # how much before that send a stamp of ours lies
    starved: int = 0  # the receiver stood with nothing to read, in waits that are ours to see
    beyond: int = 0  # the same of a token, minus the bound that the record gives (`chunk_late_ns`)
    receiver: int = 0  # how late the receiver was in its own writes


def charge(errors, ours, began, ended):
    """How much later a stamp of ours is than the send of what it stamps."""
    own = ended - began
    late = ours - (ended if own > OWN_GAP_NS else began)
    errors.receiver = max(errors.receiver, own)
    errors.read = max(errors.read, late)
    errors.early = max(errors.early, began - ours)
    return late


def errors_of(record, seen, zero):
    """Of a row that was sent, and seen by the receiver."""
    errors = Errors()
    arrival = seen["first_byte_ns"] - zero
    errors.sent = arrival - record["fired_ns"]
    errors.late = arrival - record["due_ns"]
    errors.early = max(0, -errors.sent)
    errors.starved = seen["starved_ns"]
    if record["headers_ns"] is not None:
        charge(errors, record["headers_ns"] + zero, seen["head_ns"], seen["head_ended_ns"])
    stamps = [zero + record["fired_ns"] + chunk for chunk in record["chunk_ns"] or []]
    bounds = record["chunk_late_ns"] or [float("inf")] * len(stamps)
    for token, (ours, bound, _) in enumerate(zip(stamps, bounds, seen["token_ns"])):
        charge(errors, ours, seen["token_ns"][token], seen["token_ended_ns"][token])
        errors.beyond = max(errors.beyond, ours - moments(seen, token)[1] - bound)
    return errors


def moments(seen, token):
    """When a token left at the earliest and at the latest: by the kernel's stamp, for TCP may keep
    bytes back; else as late as `charge` takes it."""
    if left := seen["token_left_ns"][token]:
        return left, left
    began, ended = seen["token_ns"][token], seen["token_ended_ns"][token]
    return began, ended if ended - began > OWN_GAP_NS else began


def times_of(records, seen):
    """The true times of all rows that are ok, (least, most) ns, by the names of their figures, and the
    fewest gaps between the tokens of one; None where the receiver has not seen all of them through."""
    times = {"ttft": [], "tpot": [], "e2el": []}
    fewest = float("inf")
    for record in records:
        if record["outcome"] != "ok":
            continue
        one = seen.get(record["row"])
        if one is None or len(one["token_ns"]) < 2 or not one["whole"]:
            return None
        first, last = moments(one, 0), moments(one, -1)
        times["ttft"].append(tuple(at - one["first_byte_ns"] for at in first))
        times["e2el"].append(tuple(at - one["first_byte_ns"] for at in last))
        if record["output_tokens"] is not None:  # also where all tokens were read at one instant
            gaps = record["output_tokens"] - 1
            fewest = min(fewest, gaps)
            times["tpot"].append(((last[0] - first[1]) / gaps, (last[1] - first[0]) / gaps))
    return times, fewest


def statistics_of(values):
    """The mean, and percentiles by their nearest ranks."""
    ordered = sorted(values)
    found = {"mean": sum(ordered) / len(ordered)}
    for percent in (50, 90, 95, 99):
        found[f"p{percent}"] = ordered[max(0, -(-percent * len(ordered) // 100) - 1)]
    return found


def bars_of(summary, times, fewest):
    """Of each figure that has a bar: its name, by how much the client moved it, by how much it may
    have at most, and by how much the true one lies outside, in sum over the gaps of a TPOT; ns."""
    for metric, values in times.items():
        bars = summary["client_error"][f"{metric}_ms"]
        if not bars or not values:
            continue
        least, most = (statistics_of(ends) for ends in zip(*values))
        for key in (key for key in least if bars[key]):
            said = 1e6 * summary[f"{key}_{metric}_ms"]
            below, above = (1e6 * bars[key][way] for way in ("below", "above"))
            moved = max(said - most[key], least[key] - said)
            outside = max(said - below - most[key], least[key] - said - above)
            yield f"{metric} {key}", moved, max(below, above), outside * (fewest if metric == "tpot" else 1)


def good_outside(summary, records, seen, ttft_ns, slack_ns):
    """How many rows with a TTFT within that lie outside of the bar of good rows; `slack_ns` is what the
    receiver cannot tell. 0 where there is no bar."""
    bar, counts = summary["client_error"]["good"], summary["goodput"]
    if not bar:
        return 0
    least = most = 0
    for record in records:
        one = seen.get(record["row"])
        if one is not None and one["whole"] and one["token_ns"]:
            least += moments(one, 0)[1] - one["first_byte_ns"] + slack_ns <= ttft_ns
            most += moments(one, 0)[0] - one["first_byte_ns"] - slack_ns <= ttft_ns
    low, high = (counts["good"] + way * counts["decided"] for way in (-bar["below"], bar["above"]))
    return max(0, round(low - most, 6), round(least - high, 6))


def outcome_lie(record, seen):
    """What is wrong with a row's outcome; None where it is true. The receiver answers every row
    whole and in good order: one that it saw through to the last token is ok, and no other is."""
    answered = seen is not None and seen["whole"]
    if answered == (record["outcome"] == "ok"):
        return None
    return f"{record['outcome']}, {'' if answered else 'not '}answered whole"


def places(records):
    """Place of each row among the rows of its due instant."""
    dues = sorted(record["due_ns"] for record in records)
    ordered = sorted(records, key=lambda record: (record["due_ns"], record["row"]))
    return {
        record["row"]: index - bisect.bisect_left(dues, record["due_ns"])
        for index, record in enumerate(ordered)
    }


@dataclasses.dataclass
class Limits:
    """What a run names; ns, 0 where it names none."""

    sent: int
    place: int  # more for each row that goes before in the same instant
    sent_most: int  # and never more than this
    read: int
    wire: int

    def sent_at(self, place):
        allowed = self.sent + self.place * place
        return min(allowed, self.sent_most) if self.sent_most else allowed


def limits_of(run_json):
    named = run_json["calibration"]
    keys = ("drift_ns", "rank_ns", "drift_most_ns", "receive_delay_ns", "wire_ns")
    return Limits(*(named.get(key) or 0 for key in keys))

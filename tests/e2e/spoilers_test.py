"""The certificate against a few spoilers; all of them: tests/spoilers/run."""

import os
import pathlib
import subprocess
import sys
import unittest

SPOILERS = pathlib.Path(os.environ["DATA"]).parent / "spoilers"
sys.path.insert(0, str(SPOILERS))

import truth  # noqa: E402

MS = 1_000_000
QUIET = "none/hybrid/plain/30"
CELLS = (
    "stop-100ms/hybrid/tls/30",
    "stop-300ms/hybrid/plain/30",
    "fifo/hybrid/plain/30",
    "slow-disk/hybrid/plain/30",
    "many-events/hybrid/tls/30",
    "burst-50us/hybrid/plain/1000",
    "files/hybrid/plain/1000",
    "loss/hybrid/plain/30",
    "large-stops-10ms/hybrid/plain/1",
)


BEYOND = "tokens that waited for longer than their bounds"


def record(**more):
    """A row fired 1 ms late, at 11 ms, whose head and two tokens are stamped at 21, 31 and 41 ms."""
    return {"row": 0, "due_ns": 10 * MS, "fired_ns": 11 * MS, "headers_ns": 21 * MS,
            "chunk_ns": [20 * MS, 30 * MS], "chunk_late_ns": [20_000, 20_000], **more}


def seen(**more):
    """What a receiver saw that was never late: all is 0.02 ms on its way, from time 0 at 1,000 ms."""
    return {"first_byte_ns": 1011 * MS + 20_000, "head_ns": 1021 * MS - 20_000,
            "head_ended_ns": 1021 * MS, "token_ns": [1031 * MS - 20_000, 1041 * MS - 20_000],
            "token_ended_ns": [1031 * MS, 1041 * MS], "token_left_ns": [0, 0], "starved_ns": 0,
            "whole": True, **more}


class Charges(unittest.TestCase):
    """What is charged to the client, by hand."""

    def errors(self, ours, theirs):
        return truth.errors_of(ours, theirs, 1000 * MS)

    def test_a_true_row(self):
        errors = self.errors(record(), seen())
        self.assertEqual((errors.sent, errors.late, errors.read), (20_000, MS + 20_000, 20_000))
        self.assertEqual((errors.early, errors.receiver), (0, 20_000))

    def test_a_token_that_was_read_late(self):
        errors = self.errors(record(chunk_ns=[320 * MS, 330 * MS]), seen())
        self.assertEqual(errors.read, 300 * MS + 20_000)

    def test_a_token_that_waited_for_longer_than_its_bound(self):
        for late, beyond in (([20_000, 19_999], 1), ([20_000, 20_000], 0), (None, 0)):
            errors = self.errors(record(chunk_late_ns=late), seen())
            self.assertEqual(errors.beyond, beyond)

    def test_a_token_that_tcp_kept_back(self):
        """It left when the kernel says so."""
        kept = {"token_left_ns": [1031 * MS, 1036 * MS]}
        errors = self.errors(record(chunk_ns=[20 * MS, 25 * MS + 20_007]), seen(**kept))
        self.assertEqual(errors.beyond, 7)

    def test_figures_and_their_bars(self):
        """Nine rows of 20 ms TTFT and one of 25; what the summary says is 1 ms more. The bars of a client
        that knows it take that in; those of one that forgets a part, or a row, do not."""
        rows, theirs, times = [], {}, [20] * 9 + [25]
        for row, ms in enumerate(times):
            left = [(1000 + ms) * MS, (1000 + ms + 100) * MS]
            rows.append(record(row=row, outcome="ok", tpot_ns=100 * MS, output_tokens=2))
            theirs[row] = seen(first_byte_ns=1000 * MS, token_left_ns=left)
        for p99, mean, outside in ((1, 1, []), (0.4, 1, ["ttft p99"]), (1, 0.9, ["ttft mean"])):
            bars = {key: {"below": 1, "above": 0} for key in ("mean", "p50", "p90", "p95", "p99")}
            bars["p99"]["below"], bars["mean"]["below"] = p99, mean
            summary = {f"{key}_ttft_ms": 21 if key in ("p50", "p90") else 26 for key in bars}
            errors = {"ttft_ms": bars, "tpot_ms": None, "e2el_ms": None}
            summary.update({"mean_ttft_ms": 21.5, "client_error": errors})
            found = list(truth.bars_of(summary, *truth.times_of(rows, theirs)))
            self.assertEqual([name for name, *_, by in found if by > 1000], outside)
            self.assertEqual(len(found), 5)
        self.assertIsNone(truth.times_of(rows, {}))

    def test_good_rows_and_their_bar(self):
        """Ten rows of 20 ms, of which the client takes eight for good."""
        rows = [record(row=row) for row in range(10)]
        theirs = {row: seen(first_byte_ns=1011 * MS, token_left_ns=[1031 * MS, 1041 * MS]) for row in range(10)}
        for limit, above, outside in ((22, 0.2, 0), (22, 0.1, 1), (18, 0.2, 8), (20, 0, 0)):
            summary = {"goodput": {"good": 8, "decided": 10}, "client_error": {"good": {"below": 0, "above": above}}}
            self.assertEqual(truth.good_outside(summary, rows, theirs, limit * MS, MS), outside)
        summary["client_error"]["good"] = None
        self.assertEqual(truth.good_outside(summary, rows, {}, MS, MS), 0)

    def test_a_receiver_that_was_late_itself(self):
        """Between its two stamps the token may have left at any time: the end is charged."""
        late = {"token_ns": [731 * MS, 1041 * MS], "token_ended_ns": [1031 * MS, 1041 * MS]}
        errors = self.errors(record(), seen(**late))
        self.assertEqual((errors.read, errors.receiver), (20_000, 300 * MS))

    def test_at_the_gap(self):
        """A write of 199,999 or 200,000 ns is not late, one of 200,001 is."""
        for own, charged in ((199_999, 199_999), (200_000, 200_000), (200_001, 20_000)):
            began = {"token_ns": [1031 * MS - own, 1041 * MS - 20_000]}
            self.assertEqual(self.errors(record(), seen(**began)).read, charged)

    def test_a_stamp_before_its_send(self):
        errors = self.errors(record(chunk_ns=[20 * MS - 20_001, 30 * MS]), seen())
        self.assertEqual(errors.early, 1)
        errors = self.errors(record(fired_ns=11 * MS + 20_001, chunk_ns=[]), seen())
        self.assertEqual(errors.early, 1)

    def test_a_receiver_that_waited_for_the_rest(self):
        self.assertEqual(self.errors(record(), seen(starved_ns=7 * MS)).starved, 7 * MS)

    def test_outcomes(self):
        """Only what was answered whole is ok, and all of it."""
        ok, cut = record(outcome="ok"), record(outcome="truncated")
        self.assertIsNone(truth.outcome_lie(ok, seen()))
        self.assertIsNone(truth.outcome_lie(cut, seen(whole=False)))
        self.assertIsNone(truth.outcome_lie(cut, None))
        self.assertEqual(truth.outcome_lie(cut, seen()), "truncated, answered whole")
        self.assertEqual(truth.outcome_lie(ok, seen(whole=False)), "ok, not answered whole")
        self.assertEqual(truth.outcome_lie(ok, None), "ok, not answered whole")

    def test_places_in_an_instant(self):
        rows = [{"row": row, "due_ns": due} for row, due in ((0, 5), (1, 7), (2, 5), (3, 5))]
        self.assertEqual(truth.places(rows), {0: 0, 1: 0, 2: 1, 3: 2})

    def test_limits_at_a_place(self):
        """They grow by place, up to the most that the run names; 0 is none."""
        for most, allowed in ((0, 1400), (1399, 1399), (1400, 1400), (1401, 1400)):
            named = {"drift_ns": 1000, "rank_ns": 100, "drift_most_ns": most,
                     "receive_delay_ns": None, "wire_ns": 7}
            limits = truth.limits_of({"calibration": named})
            self.assertEqual((limits.sent_at(4), limits.read, limits.wire), (allowed, 0, 7))


class Cells(unittest.TestCase):
    def table(self, cells, last=False):
        """What is said of these cells; none of them fails. Empty: there is one CPU only."""
        # Other work on the host costs some ms; the stops here are longer than the limits.
        command = [sys.executable, "-B", SPOILERS / "run", "--within", "25", "--cells", *cells]
        done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
        print(done.stdout)
        lines = done.stdout.splitlines(True)
        again = [line for line in lines if BEYOND in line]
        if again and not last:
            # Where the hypervisor takes CPU time, one run in twenty has such a row. The cause is not known: the
            # line says by how much. Twice in a row is a fault.
            others = "".join(line for line in lines if line not in again)
            self.assertEqual(others.count("| pass") + others.count("| skipped: "), len(cells) - len(again), others)
            return others + self.table([line.split("|")[1].strip() for line in again], last=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return "" if done.stdout.startswith("skipped") else done.stdout

    def test_cells(self):
        """A row that is not tainted has no wrong stamp, whatever happens."""
        said = self.table(CELLS)
        if said:
            ends = ("| pass |", "| pass, all tainted |", "| pass, refused |", "| skipped: ")
            self.assertEqual(sum(said.count(end) for end in ends), len(CELLS), said)

    def test_without_a_spoiler(self):
        """Some rows are not tainted: a client that taints all of them would pass every other cell.
        Other work on the host may taint them now and then."""
        for _ in range(3):
            said = self.table([QUIET])
            if not said or "| pass |" in said:
                return
        self.fail("every row is tainted, three times: " + said)


if __name__ == "__main__":
    unittest.main(verbosity=2)

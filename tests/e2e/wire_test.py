"""Below us: the kernel's stamps of what leaves and of what comes in.

The receiver shares no code with the product and has the kernel stamp its arrivals: a request is on
the wire when the client's kernel says so, and reaches the receiver's socket after that, in the order
of the schedule.
"""

import pathlib
import statistics
import unittest

from harness import Case, DRIFTLESS, SAMPLE, Server, floor_ns, read_jsonl, receiver, row_of

# Stamps of the two programs are converted from CLOCK_REALTIME by offsets that each samples for itself.
CLOCKS_NS = 5_000
# The median way from wire to arrival against the floor of a whole send; an alarm, no target.
GAP_FLOORS_MAX = 20


class Wire(Case):
    def facts(self, run):
        return run.json("run.json")["end"]["kernel_stamps"]

    def arrivals(self, *flags):
        log = self.scratch / f"receiver{self.runs}.jsonl"
        with receiver("--log", log, "--first-ms", 15, "--between-ms", 2) as server:
            run = self.replay_well(SAMPLE, "--url", server.url, "--speed", 4, *flags)
        zero = run.json("run.json")["clock"]["zero_monotonic_ns"]
        seen = {
            row_of(request["request_id"]): request["first_byte_ns"] - zero
            for request in read_jsonl(log)
        }
        seen.pop(None, None)
        return run, seen

    def test_every_row_is_stamped_on_loopback(self):
        """No row that left has a null wire_ns, none that was answered a null receive_delay_ns. The
        way is short, at least in one of three runs: others may take the CPU."""
        self.assertTrue(any(self.stamped_and_short() for _ in range(3)))

    def stamped_and_short(self):
        run, seen = self.arrivals()
        records = run.records()
        gaps = []
        for row, record in records.items():
            self.assertEqual(record["outcome"], "ok")
            self.assertIsNotNone(record["wire_ns"], f"row {row}")
            self.assertIsNotNone(record["receive_delay_ns"], f"row {row}")
            self.assertGreaterEqual(record["wire_ns"], record["fired_ns"], f"row {row}")
            self.assertLess(record["wire_ns"], record["headers_ns"], f"row {row}")
            self.assertGreaterEqual(record["receive_delay_ns"], 0)
            gaps.append(seen[row] - record["wire_ns"])
        self.assertGreaterEqual(min(gaps), -CLOCKS_NS, "arrived before it was on the wire")
        floor = floor_ns()
        delays = [record["wire_ns"] - record["fired_ns"] for record in records.values()]
        print(
            f"fired to wire: p50 {statistics.median(delays):.0f} ns, max {max(delays)} ns; wire to "
            f"arrival: p50 {statistics.median(gaps):.0f} ns, max {max(gaps)} ns; floor of a send "
            f"p50 {floor[0]} ns"
        )
        facts = self.facts(run)
        self.assertEqual(facts["wire"], len(records))
        self.assertEqual((facts["missing"], facts["refused"], facts["reason"]), (0, 0, None))
        client = read_jsonl(run.folder / "client.jsonl")
        self.assertEqual(sum(second["wire_stamps"] for second in client), len(records))
        self.assertEqual(max(second["wire_delay_max_ns"] for second in client), max(delays))
        return statistics.median(gaps) < GAP_FLOORS_MAX * floor[0]

    def test_arrivals_are_in_the_order_of_the_schedule(self):
        """By the receiver's own stamps; and each is as late as we say, plus the way to it."""
        run, seen = self.arrivals()
        records = run.records()
        order = sorted(records, key=lambda row: (records[row]["due_ns"], row))
        for before, after in zip(order, order[1:]):
            self.assertLess(records[before]["wire_ns"], records[after]["wire_ns"])
            if records[before]["due_ns"] < records[after]["due_ns"]:
                self.assertLess(seen[before], seen[after], f"rows {before} and {after}")
        for row, record in records.items():
            self.assertGreaterEqual(
                seen[row] - record["due_ns"], record["wire_ns"] - record["due_ns"] - CLOCKS_NS
            )

    def test_what_is_not_asked_for_is_null_with_the_reason(self):
        for flags, wire, reason in (
            (("--stamps", "none"), False, "--stamps none"),
            (("--stamps", "wire"), True, "--stamps wire"),
        ):
            run, _ = self.arrivals("--limit", 20, *flags)
            for record in run.records().values():
                self.assertEqual(record["outcome"], "ok")
                self.assertEqual(record["wire_ns"] is not None, wire)
                self.assertGreater(record["receive_delay_ns"], 0)  # by our own looks
            self.assertEqual(self.facts(run)["reason"], reason)

    def test_unix_sockets_have_no_packets(self):
        path = pathlib.Path(self.scratch) / "s"
        with Server(DRIFTLESS, "mock", "--listen", f"unix:{path}", "--itl", "1ms"):
            run = self.replay_well(SAMPLE, "--url", f"unix:{path}", "--limit", 5, "--speed", 10)
        for record in run.records().values():
            self.assertEqual(record["outcome"], "ok")
            self.assertIsNone(record["wire_ns"])
            self.assertGreater(record["receive_delay_ns"], 0)  # by our own looks
        self.assertIn("not Unix sockets", self.facts(run)["reason"])


if __name__ == "__main__":
    unittest.main(verbosity=2)

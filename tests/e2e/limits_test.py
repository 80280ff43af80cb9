"""What bounds a run does so: timeouts, open exchanges, waiting for a server, Unix sockets."""

import pathlib
import socket
import unittest

from harness import Case, DRIFTLESS, SAMPLE, Server, receiver


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


class Limits(Case):
    def outcomes(self, *flags, first_ms=10, between_ms=1):
        with receiver("--first-ms", first_ms, "--between-ms", between_ms) as server:
            run = self.replay(SAMPLE, "--url", server.url, "--limit", 6, "--speed", 10, *flags)
        return run, {record["outcome"] for record in run.records().values()}

    def test_first_byte_comes_with_the_head(self):
        """The receiver's head leaves at once, so only the silence behind it can run out."""
        run, outcomes = self.outcomes(
            "--timeout-first-byte", "150ms", "--no-preflight", "--model", "m", first_ms=600
        )
        self.assertEqual((run.code, outcomes), (0, {"ok"}))

    def test_idle_timeout(self):
        """It counts from the last byte, however long the first one might have taken."""
        run, outcomes = self.outcomes(
            "--timeout-idle", "150ms", "--no-preflight", "--model", "m", first_ms=60_000
        )
        self.assertEqual((run.code, outcomes), (5, {"timeout_idle"}))
        for record in run.records().values():
            self.assertIsNotNone(record["headers_ns"])
            self.assertIsNone(record["first_token_ns"])
            self.assertIsNone(record["done_ns"])
            self.assertGreaterEqual(record["ended_ns"] - record["headers_ns"], 150_000_000)

    def test_total_timeout(self):
        run, outcomes = self.outcomes(
            "--timeout-total", "600ms", "--no-preflight", "--model", "m", between_ms=200
        )
        self.assertEqual((run.code, outcomes), (5, {"timeout_total"}))
        for record in run.records().values():
            self.assertGreater(len(record["chunk_ns"]), 0)
            self.assertLess(len(record["chunk_ns"]), record["output_length"])

    def test_exchanges_are_held_back(self):
        """One at a time: each waits for the one before it, and says so."""
        run, outcomes = self.outcomes("--max-inflight", 1)
        self.assertEqual((run.code, outcomes), (0, {"ok"}))
        records = sorted(run.records().values(), key=lambda record: record["fired_ns"])
        for before, after in zip(records, records[1:]):
            self.assertGreaterEqual(after["fired_ns"], before["last_token_ns"])
        held = [record for record in records if record["late_cause"] == "inflight"]
        self.assertGreater(len(held), 0)
        for record in held:
            self.assertGreater(record["held_ns"], 0)
            self.assertLessEqual(record["held_ns"], record["drift_ns"])
        self.assertTrue(all(record["inflight"] == 0 for record in records))

    def test_tokens_are_held_back(self):
        """Rows wait for a budget in order; in any time no more leaves than it gives."""
        run, outcomes = self.outcomes("--budget-output", "200/s", "--budget-input", "30k/s")
        self.assertEqual((run.code, outcomes), (0, {"ok"}))
        records = sorted(run.records().values(), key=lambda record: record["fired_ns"])
        self.assertEqual([record["row"] for record in records], sorted(run.records()))
        held = [record for record in records if record["late_cause"] == "budget"]
        self.assertGreater(len(held), 0)
        for key, tokens in (("output_length", 200), ("input_length", 30_000)):
            for first in range(len(records)):
                left = 0
                for before, record in zip(records[first:], records[first + 1:]):
                    left += before[key]
                    seconds = (record["fired_ns"] - records[first]["fired_ns"]) / 1e9
                    self.assertLess(left, tokens * (1 + seconds) + 1e-3)
        summary = run.json("summary.json")
        self.assertEqual(summary["held"]["budget"]["held_ns"]["count"], len(held))
        self.assertEqual(summary["late_causes"]["budget"], len(held))
        self.assertEqual(summary["drift_left_out"], len(held))
        self.assertEqual(run.json("run.json")["request"]["budget_output"], "200/s")
        self.assertIn("held by token budgets", run.said)

    def test_waits_for_a_server_that_comes_later(self):
        port = free_port()
        process, folder = self.start(
            SAMPLE, "--url", f"http://127.0.0.1:{port}", "--limit", 5, "--wait-ready", "60s",
            until=None,
        )
        with Server(DRIFTLESS, "mock", "--listen", f"127.0.0.1:{port}", "--itl", "1ms"):
            run = self.finish(process, folder)
        self.assertEqual(run.code, 0, run.complained)
        self.assertEqual(len(run.records()), 5)

    def test_unix_socket(self):
        path = pathlib.Path(self.scratch) / "s"
        with Server(DRIFTLESS, "mock", "--listen", f"unix:{path}", "--itl", "1ms"):
            run = self.replay_well(SAMPLE, "--url", f"unix:{path}", "--limit", 5, "--speed", 10)
        self.assertEqual({record["outcome"] for record in run.records().values()}, {"ok"})
        for record in run.records().values():
            self.assertTrue(record["url"].startswith(f"unix:{path}"), record["url"])


if __name__ == "__main__":
    unittest.main(verbosity=2)

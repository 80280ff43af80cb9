"""Connections over real sockets: limits of idle ones are kept, learned, and told."""

import collections
import json
import unittest

from harness import Case, mock, receiver


class Connections(Case):
    def bursts(self, count, rows, apart_ms):
        """A trace of bursts: some rows at one instant, then nothing for a while."""
        lines = [
            json.dumps({"timestamp": burst * apart_ms, "input_length": 40, "output_length": 2,
                        "hash_ids": [burst * rows + row]})
            for burst in range(count) for row in range(rows)
        ]
        return self.write("bursts.jsonl", "\n".join(lines) + "\n")

    def replay_rows(self, server, trace, *flags):
        run = self.replay_well(trace, "--url", server.url, *flags)
        outcomes = collections.Counter(record["outcome"] for record in run.records().values())
        self.assertEqual(set(outcomes), {"ok"}, outcomes)
        return run

    def test_announced_limits_are_kept(self):
        trace = self.bursts(4, 4, 1700)
        with mock("--keep-alive-timeout", "1", "--itl", "1ms") as server:
            run = self.replay_rows(server, trace)
        end = run.json("run.json")["end"]
        self.assertEqual(end["idle_limit_ns"], 1_000_000_000)
        self.assertEqual(end["stale_retries"], 0)
        self.assertGreaterEqual(end["retired_idle"], 8)
        for record in run.records().values():
            self.assertNotEqual(record["late_cause"], "lane")

    def test_silent_limits_are_learned(self):
        trace = self.bursts(4, 4, 2500)
        with receiver("--idle-ms", 1000, "--first-ms", 2, "--between-ms", 1) as server:
            run = self.replay_rows(server, trace)
        end = run.json("run.json")["end"]
        self.assertAlmostEqual(end["idle_limit_ns"] / 1e9, 1, delta=0.2)
        self.assertGreater(end["closed_idle"], 0)
        self.assertGreaterEqual(end["retired_idle"], 8)

    def test_no_limit_is_made_up(self):
        with mock("--itl", "1ms") as server:
            run = self.replay_rows(server, self.bursts(2, 3, 800))
        end = run.json("run.json")["end"]
        self.assertIsNone(end["idle_limit_ns"])
        self.assertEqual(end["retired_idle"], 0)

    def test_a_number_of_answers_is_kept(self):
        with mock("--keep-alive-requests", "3", "--itl", "1ms") as server:
            run = self.replay_rows(server, self.bursts(10, 2, 50), "--no-preflight", "--model", "mock-model")
        self.assertEqual(run.json("run.json")["end"]["stale_retries"], 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)

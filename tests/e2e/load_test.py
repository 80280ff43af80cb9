"""More and less load from one trace: copies share nothing, samples keep whole sessions."""

import json
import unittest

from harness import Case, SAMPLE, mock, read_jsonl, row_of


def conversations(count, turns):
    """A session trace: every turn holds the blocks of the turns before it."""
    rows = []
    for turn in range(turns):
        for session in range(count):
            ids = [session * 100 + block for block in range(turn + 2)]
            rows.append(
                {
                    "timestamp": (turn * count + session) * 40,
                    "session_id": f"s{session}",
                    "input_length": 512 * len(ids) - 12,
                    "output_length": 2,
                    "hash_ids": ids,
                }
            )
    return "".join(json.dumps(row) + "\n" for row in rows)


class Load(Case):
    def test_copies_share_nothing(self):
        """Each is hit as often as the trace alone would be, as the mock's cache agrees."""
        rows = len(self.sample_rows())
        once = self.replay_well(SAMPLE, "--dry-run")
        hits = once.json("run.json")["plan"]["expected_cached_tokens"]
        log = self.scratch / "mock.jsonl"
        with mock("--ttft", "0", "--itl", "0", "--cache-block", 512, "--log", log) as server:
            run = self.replay_well(
                SAMPLE, "--url", server.url, "--speed", 10, "--replicate", 3, "--seed", 5,
                "--max-inflight", 1,  # rows of one instant must not overtake each other
            )
        records = run.records()
        self.assertEqual(set(records), set(range(3 * rows)))
        told = run.json("run.json")
        self.assertEqual(told["plan"]["expected_cached_tokens"], 3 * hits)
        self.assertEqual(told["load"]["copies"], 3)
        self.assertEqual(told["load"]["rows_read"], rows)
        logged = [line for line in read_jsonl(log) if row_of(line["request_id"]) is not None]
        self.assertEqual(len(logged), 3 * rows)
        self.assertEqual(sum(line["cached_tokens"] for line in logged), 3 * hits)
        for row, record in records.items():
            first = records[row % rows]
            self.assertEqual(record["input_length"], first["input_length"])
            self.assertEqual(record["prompt_tokens"], record["input_length"])

    def test_rows_without_blocks_share_when_told(self):
        """As heads of one prompt, by the forecast and by the mock's cache; else nothing."""
        lengths = [40, 100, 90, 16, 333]
        trace = self.write(
            "azure.csv",
            "TIMESTAMP,ContextTokens,GeneratedTokens\n" + "".join(
                f"2023-11-16 18:15:4{i}.0,{length},2\n" for i, length in enumerate(lengths)
            ),
        )
        flags = ("--speed", 20, "--max-inflight", 1)
        with mock("--ttft", "0", "--itl", "0", "--cache-block", 16) as server:
            apart = self.replay_well(trace, "--url", server.url, *flags)
            run = self.replay_well(
                trace, "--url", server.url, *flags, "--share", "all", "--cache-salt", "b"
            )
        self.assertEqual({r["cached_tokens"] for r in apart.records().values()}, {0})
        hits = [run.records()[row]["cached_tokens"] for row in range(5)]
        self.assertEqual(hits, [0, 32, 80, 0, 96])  # whole blocks before the last token
        for record in run.records().values():
            self.assertEqual(record["cached_tokens"], record["expected_cached_tokens"])
            self.assertEqual(record["prompt_tokens_off"], 0)
        refused = self.replay(SAMPLE, "--dry-run", "--share", "all")
        self.assertEqual(refused.code, 3)
        self.assertIn("--share: the trace's block ids", refused.complained)

    def test_copies_are_moved_as_a_whole(self):
        run = self.replay_well(SAMPLE, "--dry-run", "--replicate", 4, "--replicate-within", "2s")
        plan = run.json("run.json")["plan"]
        self.assertEqual(plan["rows"], 4 * len(self.sample_rows()))
        last = max(row["timestamp"] for row in self.sample_rows()) * 1_000_000
        self.assertGreater(plan["last_due_ns"], last)
        self.assertLessEqual(plan["last_due_ns"], last + 2_000_000_000)

    def test_samples_keep_whole_sessions(self):
        trace = self.write("conversations.jsonl", conversations(20, 4))
        with mock("--ttft", "0", "--itl", "0") as server:
            run = self.replay_well(
                trace, "--url", server.url, "--speed", 20, "--sample-sessions", "25%"
            )
        turns = {}
        for row, record in run.records().items():
            turns.setdefault(record["session"], []).append(record["turn"])
            self.assertEqual(record["session"], f"s{row % 20}")
        self.assertEqual(len(turns), 5)
        self.assertTrue(all(sorted(list_) == [1, 2, 3, 4] for list_ in turns.values()), turns)
        self.assertIn("sample of 5 of 20 sessions, 20 of 80 rows", run.said)

    def test_sessions_of_copies_have_names_of_their_own(self):
        trace = self.write("conversations.jsonl", conversations(3, 2))
        with mock("--ttft", "0", "--itl", "0") as server:
            run = self.replay_well(trace, "--url", server.url, "--replicate", 2)
        names = {record["session"] for record in run.records().values()}
        self.assertEqual(names, {"s0", "s1", "s2", "s0#1", "s1#1", "s2#1"})

    def test_refusals(self):
        for flags, why in (
            (("--replicate", 0), "--replicate"),
            (("--sample-sessions", "0"), "--sample-sessions"),
            (("--sample-sessions", "1.5"), "--sample-sessions"),
        ):
            run = self.replay(SAMPLE, "--dry-run", *flags)
            self.assertEqual(run.code, 2, run.said)
            self.assertIn(why, run.complained)


if __name__ == "__main__":
    unittest.main(verbosity=2)

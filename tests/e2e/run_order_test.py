"""Hits are expected in the order in which requests left: against a cache without bound every row's
expectation is what the server reports, but where it has read two prompts of a tree in another order."""

import collections
import json
import unittest

from harness import Case, mock, read_jsonl, row_of

BLOCK = 64
TREES, TURNS, AGENTS = 6, 6, 3
API_S, GAP_S = 0.1, 0.9


def request(at_s, ids):
    return {"t": round(at_s, 3), "type": "n", "model": "m", "in": BLOCK * len(ids) + 7, "out": 5,
            "hash_ids": ids, "api_time": API_S, "stop": "end_turn", "input_types": ["text"],
            "output_types": ["text"]}  # fmt: skip


def agent(number, at_s, first_id):
    """A sub-agent that shares two blocks with its siblings, and runs beside them."""
    own = [900, 901] + [first_id + i for i in range(4)]
    inner = [request(at_s + 0.1 * number + turn * 0.5, own[: 3 + turn]) for turn in range(3)]
    return {"t": round(at_s + 0.1 * number, 3), "type": "subagent", "agent_id": f"a{number}",
            "subagent_type": "Explore", "duration_ms": 800, "total_tokens": 1, "tool_use_count": 1,
            "status": "completed", "requests": inner, "models": ["m"], "tool_tokens": 0,
            "system_tokens": 0}  # fmt: skip


def conversations():
    for tree in range(TREES):
        rows = []
        for turn in range(TURNS):
            rows.append(request(turn * 2, list(range(1, turn + 4))))
            if turn == 2:
                rows += [agent(n, 2 * turn + 0.2, 1000 + 100 * n) for n in range(AGENTS)]
        yield {"id": f"tree_{tree}", "models": ["m"], "block_size": BLOCK, "hash_id_scope": "local",
               "tool_tokens": 0, "system_tokens": 0, "requests": rows}  # fmt: skip


class RunSteps(Case):
    def setUp(self):
        super().setUp()
        self.trace = self.scratch / "weka"
        self.trace.mkdir()
        for one in conversations():
            (self.trace / f"{one['id']}.json").write_text(json.dumps(one))

    def play(self, *flags, server_flags=()):
        self.log = self.scratch / f"mock{self.runs}.jsonl"
        with mock("--ttft", "2ms", "--itl", "1ms", "--cache-block", BLOCK, "--log", self.log,
                  *server_flags) as server:  # fmt: skip
            run = self.replay(self.trace, "--url", server.url, "--seed", 3, *flags)
        return run, read_jsonl(run.folder / "requests.jsonl")

    def read_at(self):
        """When the mock had read each request, by pass and row (proto/run/README.md)."""
        at = {}
        for line in read_jsonl(self.log):
            if row_of(line["request_id"]) is not None:
                digits = line["request_id"].replace("-", "")
                at[int(digits[8:12] + digits[13:16]), int(digits[20:])] = line["last_byte_ns"]
        return at

    def check_rows(self, records):
        """The number of rows that the mock has read before one of their tree that left before them, or
        behind one that left behind them; or at one instant with it."""
        read = self.read_at()
        sent = collections.defaultdict(list)
        for one in records:
            if one["fired_ns"] is not None and (one["pass"], one["row"]) in read:
                sent[one["tree"], one["pass"]].append((one["fired_ns"], read[one["pass"], one["row"]]))
        beside = 0
        for one in records:
            if one["fired_ns"] is None:
                self.assertIsNone(one["expected_cached_tokens"])
                continue
            mine = (one["fired_ns"], read.get((one["pass"], one["row"])))
            if mine[1] is None:  # cut off before it was read
                self.assertIsNone(one["cached_tokens"])
            elif any((fired > mine[0]) != (at > mine[1])
                     for fired, at in sent[one["tree"], one["pass"]] if fired != mine[0]):  # fmt: skip
                beside += 1
            elif one["cached_tokens"] is not None:
                self.assertEqual(one["expected_cached_tokens"], one["cached_tokens"], one)
        return beside

    def test_users_of_a_whole_corpus(self):
        run, records = self.play("--users", 3, "--speed", 10)
        self.assertEqual(run.code, 0)
        beside = self.check_rows(records)
        self.assertLess(beside, len(records) / 4)
        cache = run.json("summary.json")["cache"]
        self.assertEqual(cache["expected_cached_tokens"], cache["cached_tokens"])
        order = sorted(records, key=lambda one: one["request"])
        self.assertNotEqual([one["row"] for one in order], sorted(one["row"] for one in records))

    def test_a_warm_start_and_passes(self):
        run, records = self.long_enough(
            lambda seconds: self.play("--users", 4, "--recycle", "--for", f"{seconds}s", "--speed", 20,
                                      "--start-within", "0.2:0.8", "--warmup-requests", 2),
            lambda played: max(one["pass"] for one in played[1]) > 1, 3)  # fmt: skip
        self.assertEqual(run.code, 0)
        self.assertIn("warmup", {one["phase"] for one in records})
        self.check_rows(records)
        summary = run.json("summary.json")
        profile = [one for one in records if one["phase"] == "profile"]
        self.assertEqual(summary["cache"]["expected_cached_tokens"],
                         sum(one["expected_cached_tokens"] or 0 for one in profile))
        periods = read_jsonl(run.folder / "periods.jsonl")
        self.assertEqual(sum(one["expected_cached_tokens"] or 0 for one in periods),
                         sum(one["expected_cached_tokens"] or 0 for one in records))

    def test_primers_find_nothing_that_was_skipped(self):
        _, records = self.play("--users", TREES, "--start-within", "0.5:0.5", "--speed", 10)
        primers = [one for one in records if one["phase"] == "warmup" and "/" not in one["session"]]
        self.assertEqual(len(primers), TREES)
        self.assertEqual({one["expected_cached_tokens"] for one in primers}, {0})

    def test_closed_sessions_without_users(self):
        run, records = self.play("--sessions", "closed", "--speed", 10)
        self.assertEqual(run.code, 0)
        self.check_rows(records)
        self.assertEqual(len(records), TREES * (TURNS + 3 * AGENTS))


if __name__ == "__main__":
    unittest.main()

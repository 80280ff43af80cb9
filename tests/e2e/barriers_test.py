"""Turns that wait for all of their tree, and passes that share their system prompts."""

import collections
import json
import unittest

from harness import Case, mock, read_jsonl

MS = 1_000_000
BLOCK, SYSTEM = 64, 3
TREES, TURNS = 3, 5


def request(at_s, ids, api_s):
    return {"t": at_s, "type": "n", "model": "m", "in": BLOCK * len(ids) + 7, "out": 5,
            "hash_ids": ids, "api_time": api_s, "stop": "end_turn", "input_types": ["text"],
            "output_types": ["text"]}  # fmt: skip


def agent(number, at_s, requests):
    return {"t": at_s, "type": "subagent", "agent_id": f"a{number}", "subagent_type": "Explore",
            "duration_ms": 1, "total_tokens": 1, "tool_use_count": 1, "status": "async_launched",
            "requests": requests, "models": ["m"], "tool_tokens": 0, "system_tokens": 0}  # fmt: skip


def conversation(name, declared=True):
    """Beside the turns at 0, 10, .. s an agent in the background, whose requests lie between."""
    rows = [request(10 * turn, list(range(1, SYSTEM + turn + 3)), 1) for turn in range(TURNS)]
    inner = [request(10 * turn + 3, [900 + i for i in range(turn + 2)], 4) for turn in range(TURNS)]
    rows.insert(1, agent(1, 3, inner))
    return {"id": name, "models": ["m"], "block_size": BLOCK, "hash_id_scope": "local",
            "tool_tokens": BLOCK if declared else 0,
            "system_tokens": (SYSTEM - 1) * BLOCK + 50 if declared else 0, "requests": rows}  # fmt: skip


class Barriers(Case):
    def write_trace(self, **how):
        folder = self.scratch / f"weka{len(list(self.scratch.iterdir()))}"
        folder.mkdir()
        for tree in range(TREES):
            (folder / f"tree_{tree}.json").write_text(json.dumps(conversation(f"t{tree}", **how)))
        return folder

    def play(self, trace, *flags, server_flags=(), codes=(0,)):
        with mock("--ttft", "2ms", "--itl", "1ms", "--cache-block", BLOCK, *server_flags) as server:
            run = self.replay(trace, "--url", server.url, "--seed", 3, "--users", TREES, *flags)
        self.assertIn(run.code, codes, run.complained)
        return run, read_jsonl(run.folder / "requests.jsonl")

    def early(self, records):
        """Turns that left before what had ended before them, as it was recorded, was over."""
        by_tree = collections.defaultdict(dict)
        for one in records:
            is_agent = "/" in one["session"]
            by_tree[one["tree"]][is_agent, one["turn"] - 1] = one
        early = 0
        for rows in by_tree.values():
            for turn in range(TURNS):
                pairs = [((True, turn), (False, turn))]
                pairs += [((False, turn), (True, turn - 1))] if turn > 0 else []
                for row, before in pairs:
                    early += rows[row]["fired_ns"] < rows[before]["ended_ns"]
        return early

    def test_turns_wait_for_their_tree(self):
        """The agent answers slowly; without gaps its parent runs away from it."""
        trace = self.write_trace()
        _, apart = self.play(trace, "--gap", "none")
        self.assertGreater(self.early(apart), 0)
        run, together = self.play(trace, "--gap", "none", "--barrier", "tree")
        self.assertEqual(self.early(together), 0)
        self.assertIn("rows wait for", run.said)
        self.assertEqual(run.json("run.json")["plan"]["users"]["barrier"], "tree")
        for one in together:
            if one["parent_end_ns"] is not None:
                self.assertEqual(one["due_ns"], one["parent_end_ns"])

    def test_failures_hold_nobody(self):
        trace = self.write_trace()
        fault = ("--fault", "500:0.3", "--seed", 7)
        flags = ("--gap", "none", "--barrier", "tree", "--no-preflight", "--model", "mock-model")
        _, records = self.play(trace, *flags, "--on-failure", "continue", server_flags=fault)
        self.assertEqual(len(records), TREES * 2 * TURNS)
        self.assertIn("http_5xx", {one["outcome"] for one in records})
        self.assertEqual(self.early(records), 0)
        # All three first turns may fail: then no answer was whole.
        _, records = self.play(trace, *flags, server_flags=fault, codes=(0, 5))
        outcomes = collections.Counter(one["outcome"] for one in records)
        self.assertGreater(outcomes["not_sent"], 0)
        self.assertEqual(len(records), TREES * 2 * TURNS)

    def first_hits(self, records):
        """Of the first turns of conversations, by pass."""
        return {(one["pass"], one["tree"]): one["cached_tokens"] for one in records
                if one["turn"] == 1 and "/" not in one["session"] and one["cached_tokens"] is not None}  # fmt: skip

    def test_what_passes_share(self):
        for share, blocks in (("none", 0), ("system", SYSTEM)):
            trace = self.write_trace()
            run, records = self.long_enough(
                lambda seconds: self.play(trace, "--recycle", "--for", f"{seconds}s", "--speed",
                                          100, "--recycle-share", share),
                lambda played: max(number for number, _ in self.first_hits(played[1])) > 1, 1)
            hits = self.first_hits(records)
            later = {hit for (number, _), hit in hits.items() if number > 0}
            self.assertEqual(later, {blocks * BLOCK}, share)
            for one in records:
                if one["cached_tokens"] is not None:
                    self.assertEqual(one["cached_tokens"], one["expected_cached_tokens"], one)
            self.assertEqual(run.json("run.json")["plan"]["users"]["recycle_share"], share)

    def test_refusals(self):
        bare = self.write_trace(declared=False)
        users = ("--users", 1, "--dry-run")
        run = self.replay(bare, *users, "--recycle", "--for", "1s", "--recycle-share", "system")
        self.assertEqual(run.code, 3)
        self.assertIn("--recycle-share none", run.complained)
        mooncake = self.write("mooncake.jsonl", "".join(
            json.dumps({"session_id": "s", "timestamp": at, "input_length": 20, "output_length": 3,
                        "hash_ids": [1]}) + "\n" for at in (0, 1000)))  # fmt: skip
        run = self.replay(mooncake, *users, "--barrier", "tree")
        self.assertEqual(run.code, 3)
        self.assertIn("--barrier stream", run.complained)
        run = self.replay(bare, "--dry-run", "--sessions", "closed", "--barrier", "tree")
        self.assertEqual(run.code, 2)
        self.assertIn("--barrier applies to users", run.complained)


if __name__ == "__main__":
    unittest.main()

"""Users: where first trees are entered, failures, caps on idle time, and what the end cuts off."""

import collections
import json
import signal
import subprocess
import time
import unittest

from harness import Case, DRIFTLESS, SAMPLE, SECONDS_MAX, mock, read_jsonl

MS = 1_000_000
TREES, TURNS, GAP_S, API_S = 6, 8, 0.4, 0.1
STEP_S = GAP_S + API_S
UNASKED = ("--no-preflight", "--model", "mock-model")
PAUSES = [100 * MS << n for n in range(9)]


def weka(trees=TREES, turns=TURNS):
    """Weka conversations of so many turns, each longer by a block; ids are their own."""
    for tree in range(trees):
        requests = [{"t": round(turn * STEP_S, 3), "type": "n", "model": "m", "in": 64 * (turn + 2),
                     "out": 5, "hash_ids": list(range(1, turn + 3)), "api_time": API_S,
                     "think_time": GAP_S, "stop": "end_turn", "input_types": ["text"],
                     "output_types": ["text"]} for turn in range(turns)]  # fmt: skip
        yield {"id": f"tree_{tree}", "models": ["m"], "block_size": 64, "hash_id_scope": "local",
               "tool_tokens": 0, "system_tokens": 0, "requests": requests}


class WarmStart(Case):
    def setUp(self):
        super().setUp()
        self.trace = self.scratch / "weka"
        self.trace.mkdir()
        for one in weka():
            (self.trace / f"{one['id']}.json").write_text(json.dumps(one))

    def play(self, *flags, itl="1ms", server_flags=()):
        log = self.scratch / "mock.jsonl"
        with mock("--ttft", "2ms", "--itl", itl, "--cache-block", 64, "--log", log,
                  *server_flags) as server:  # fmt: skip
            run = self.replay(self.trace, "--url", server.url, "--seed", 3, *flags)
        records = read_jsonl(run.folder / "requests.jsonl")
        self.check_counts(run, records)
        return run, records

    def check_counts(self, run, records):
        """The summary is of the measurement; the warm-up is counted beside it."""
        summary = run.json("summary.json")
        warm = [one for one in records if one["phase"] == "warmup"]
        self.assertEqual(summary["num_prompts"], len(records) - len(warm))
        self.assertEqual(summary["warmup"]["requests"], len(warm))
        self.assertEqual(summary["censored"], sum(one["censored"] for one in records))
        self.assertEqual(summary["retries"], sum(one["attempt"] > 0 and one["fired_ns"] is not None
                                                for one in records))
        self.assertEqual(run.json("run.json")["end"]["records"], len(records))
        report = subprocess.run([DRIFTLESS, "report", str(run.folder)], check=True,
                                capture_output=True, text=True, timeout=SECONDS_MAX)
        self.assertEqual(report.stderr, "")

    def sessions(self, records):
        by_session = collections.defaultdict(list)
        for record in records:
            by_session[record["session"]].append(record)
        for turns in by_session.values():
            turns.sort(key=lambda one: (one["turn"], one["attempt"]))
        return by_session

    def test_trees_are_entered_where_their_primers_lead(self):
        run, records = self.play("--users", TREES, "--start-within", "0.3:0.7", "--speed", 4)
        self.assertEqual(run.code, 0)
        begin_ns = run.json("run.json")["end"]["measured_from_ns"]
        last_ns = max(one["ended_ns"] for one in records if one["phase"] == "warmup")
        places, waits = set(), set()
        for turns in self.sessions(records).values():
            primer, behind = turns[0], turns[1:]
            self.assertEqual([one["phase"] for one in turns],
                             ["warmup"] + ["profile"] * (len(turns) - 1))
            self.assertEqual([one["turn"] for one in turns],
                             list(range(TURNS - len(turns) + 1, TURNS + 1)))
            self.assertLessEqual(primer["ended_ns"], begin_ns)
            self.assertEqual(primer["output_tokens"], 5)
            # Both are as far from the place as recorded, but for a primer that ends behind its place:
            # then the measurement waits for it.
            wait_ns = behind[0]["due_ns"] - primer["due_ns"] - int(STEP_S / 4 * 1e9)
            self.assertGreaterEqual(wait_ns, -1)
            if wait_ns > 1:
                self.assertEqual(begin_ns, last_ns)
            waits.add(wait_ns)
            place_ns = begin_ns - max(wait_ns, 0)
            place = (primer["turn"] - 1) * STEP_S + (place_ns - primer["due_ns"]) * 4 / 1e9
            self.assertTrue(0.3 <= place / ((TURNS - 1) * STEP_S) <= 0.7, place)
            places.add(round(place, 6))
            # What the primer has left is in the cache.
            self.assertEqual(behind[0]["cached_tokens"], 64 * (primer["turn"] + 1))
        self.assertGreater(len(places), 1)
        self.assertLessEqual(max(waits) - min(waits), 2)
        self.assertIn("Warm-up", run.said)
        again = self.play("--users", TREES, "--start-within", "0.3:0.7", "--speed", 4)[1]
        keys = [sorted((one["row"], one["phase"]) for one in each) for each in (records, again)]
        self.assertEqual(*keys)

    def test_warm_up_requests(self):
        run, records = self.play("--users", 3, "--warmup-requests", 4, "--speed", 10)
        self.assertEqual(run.code, 0)
        begin_ns = run.json("run.json")["end"]["measured_from_ns"]
        warm = [one for one in records if one["phase"] == "warmup"]
        self.assertEqual(collections.Counter(one["user"] for one in warm), {0: 4, 1: 4, 2: 4})
        for record in warm:
            self.assertEqual((record["output_length"], record["output_tokens"]), (1, 1))
            self.assertLessEqual(record["ended_ns"], begin_ns)
            if record["parent_end_ns"] is not None:
                self.assertEqual(record["due_ns"], record["parent_end_ns"])
        first = [one for one in records if one["phase"] == "profile" and one["turn"] == 5
                 and one["user"] == int(one["session"][-1])]  # fmt: skip
        self.assertEqual([one["due_ns"] - begin_ns for one in first], [int(GAP_S * 1e8)] * 3)

    def test_failed_turns_are_sent_again(self):
        fault = ("--fault", "500:0.3", "--seed", 5)
        run, records = self.play("--users", 3, "--on-failure", "retry:2", "--speed", 20,
                                 *UNASKED, server_flags=fault)
        tries = collections.defaultdict(list)
        for record in records:
            tries[record["row"]].append(record)
        several = 0
        for one in tries.values():
            one.sort(key=lambda record: record["attempt"])
            self.assertEqual([record["attempt"] for record in one], list(range(len(one))))
            for before, after, pause_ns in zip(one, one[1:], PAUSES):
                self.assertEqual(before["outcome"], "http_5xx")
                self.assertEqual(after["due_ns"], before["ended_ns"] + pause_ns)
                several += 1
            self.assertTrue(one[-1]["outcome"] != "http_5xx" or len(one) == 3)
        self.assertGreater(several, 3)
        run, records = self.play("--users", 3, "--on-failure", "continue", "--speed", 20,
                                 *UNASKED, server_flags=fault)
        self.assertEqual(len(records), TREES * TURNS)
        self.assertEqual({one["outcome"] for one in records}, {"ok", "http_5xx"})

    def test_retry_after_is_waited_for(self):
        _, records = self.play("--users", TREES, "--on-429", "wait", "--speed", 100, *UNASKED,
                               server_flags=("--fault", "429:0.25", "--seed", 9))
        waits = 0
        for turns in self.sessions(records).values():
            for before, after in zip(turns, turns[1:]):
                if after["attempt"] > 0:
                    self.assertEqual((before["outcome"], before["status"]), ("http_429", 429))
                    self.assertEqual(after["due_ns"], before["ended_ns"] + 1000 * MS)
                    waits += 1
            self.assertEqual(turns[-1]["outcome"], "ok")
        self.assertGreater(waits, 1)

    def test_idle_time_is_capped(self):
        _, records = self.play("--users", 2, "--tree-idle-cap", "200ms", "--speed", 4)
        for turns in self.sessions(records).values():
            for before, after in zip(turns, turns[1:]):
                self.assertEqual(after["due_ns"], before["done_ns"] + 50 * MS)
        run, records = self.play("--users", 2, "--system-idle-cap", "20ms", "--speed", 4)
        jumps = run.json("run.json")["end"]["idle_caps"]
        self.assertGreater(jumps["system_jumps"], 3)
        ends = 0
        for record in sorted(records, key=lambda one: one["due_ns"]):
            if ends:
                self.assertLessEqual(record["due_ns"] - ends, 20 * MS)
            ends = max(ends, record["ended_ns"])

    def test_the_end_cuts_off_what_does_not_drain(self):
        run, records = self.long_enough(
            lambda seconds: self.play("--users", 2, "--recycle", "--for", f"{seconds}s", "--drain",
                                      "50ms", "--speed", 10, itl="60ms"),
            lambda played: {one["censored"] for one in played[1]} == {True, False}, 0.3)
        self.assertEqual(run.code, 0)
        for_ns = run.json("run.json")["plan"]["users"]["for_ns"]
        cut = [one for one in records if one["censored"]]
        self.assertEqual({one["outcome"] for one in cut}, {"cancelled"})
        self.assertTrue(all(one["ended_ns"] >= for_ns + 50 * MS for one in cut))
        self.assertEqual(run.json("summary.json")["failed"], 0)
        self.assertIn("cut off", run.said)

    def test_a_server_that_refuses_is_left_alone(self):
        """Trees fail at once: their users pause, longer each time."""
        run, folder = self.start(self.trace, "--url", "http://127.0.0.1:9", *UNASKED,
                                 "--users", 2, "--recycle", "--for", "1h", until="requests.jsonl")
        while (folder / "requests.jsonl").read_text().count("connect_failed") < 2 * 4:
            time.sleep(0.05)  # until each has paused three times
        run.send_signal(signal.SIGINT)
        run.communicate()
        records = read_jsonl(folder / "requests.jsonl")
        failed = [one for one in records if one["outcome"] == "connect_failed"]
        for user in (0, 1):
            dues = sorted(one["due_ns"] for one in failed if one["user"] == user)
            self.assertGreater(len(dues), 3)
            for before, after, pause_ns in zip(dues, dues[1:], PAUSES):
                self.assertGreaterEqual(after - before, pause_ns)

    def test_refusals(self):
        for flags, said in (
            (("--start-within", "0.1:0.2"), "--start-within applies to users"),
            (("--on-failure", "continue"), "--on-failure applies to users"),
            (("--tree-idle-cap", "1s"), "--tree-idle-cap applies to users"),
            (("--users", 2, "--start-within", "0.5"), "is not two shares"),
            (("--users", 2, "--start-within", "0.5:0.2"), "is not two shares"),
            (("--users", 2, "--start-within", "0:1.2"), "is not two shares"),
            (("--users", 2, "--start-by", "turns"), "add --start-within A:B"),
            (("--users", 2, "--on-failure", "retry:0"), "retry:N with N from 1 to 30"),
            (("--users", 2, "--warmup-requests", 2, "--output", "free"), "asks for one token"),
            (("--users", 2, "--warmup-requests", 2, "--user-ramp", "1s"), "at once"),
        ):
            run = self.replay(SAMPLE.parent / "traces" / "weka", "--dry-run", *flags)
            self.assertEqual(run.code, 2, flags)
            self.assertEqual(run.complained.count("\n"), 1, run.complained)
            self.assertIn(said, run.complained)


if __name__ == "__main__":
    unittest.main()

"""Users: so many session trees are live, each turn waits for its answer, and one tree for another."""

import json
import pathlib
import re
import subprocess
import unittest

from harness import Case, DRIFTLESS, SAMPLE, SECONDS_MAX, id_of, mock, read_jsonl

WEKA = SAMPLE.parent / "traces" / "weka"
MS = 1_000_000
# Of its rows by index: which one it waits for, and for how long after it, in ns (closed_test.py).
WAITS = {1: (0, 250 * MS - 11_111_111), 2: (1, 100 * MS - 33_333_333),
         3: (0, 500 * MS - 11_111_111), 5: (4, 550 * MS)}  # fmt: skip
RECYCLE = ("--recycle", "--for", "600ms")
UNASKED = ("--no-preflight", "--model", "mock-model")


class Users(Case):
    def play(self, *flags, ttft="2ms", itl="1ms"):
        with mock("--ttft", ttft, "--itl", itl, "--log", self.scratch / "mock.jsonl") as server:
            return self.replay_well(WEKA, "--url", server.url, "--speed", 100, *flags)

    def check_trees(self, records, users):
        """No user has two trees at a time, and each begins when the one before it has ended."""
        trees = {}
        for record in records:
            self.assertLess(record["user"], users)
            tree = record["row"] if record["tree"] is None else record["tree"]
            trees.setdefault((record["user"], record["pass"], tree), []).append(record)
        lives = sorted(
            (user, min(one["due_ns"] for one in tree), max(one["ended_ns"] for one in tree))
            for (user, _, _), tree in trees.items())
        for (user, _, end), (other, begin, _) in zip(lives, lives[1:]):
            if user == other:
                self.assertEqual(begin, end)
        return trees

    def check_turns(self, records, speed):
        by_place = {(one["pass"], one["row"]): one for one in records}
        self.assertEqual(len(by_place), len(records))
        for (number, row), record in by_place.items():
            if row in WAITS:
                parent, delay_ns = WAITS[row]
                done_ns = by_place[number, parent]["done_ns"]
                self.assertEqual(record["parent_end_ns"], done_ns)
                self.assertEqual(record["due_ns"], done_ns + delay_ns // speed)
            self.assertGreaterEqual(record["fired_ns"], record["due_ns"])

    def test_each_tree_is_played_once(self):
        for users in (1, 2):
            run = self.play("--users", users)
            records = list(run.records().values())
            self.assertEqual(len(records), 6)
            self.assertEqual({one["outcome"] for one in records}, {"ok"})
            self.check_turns(records, 100)
            trees = self.check_trees(records, users)
            self.assertEqual(len({user for user, _, _ in trees}), users)
            self.assertIn(f"users: {users} user", run.said)
            plan = run.json("run.json")["plan"]
            self.assertEqual(plan["users"], {
                "of": "trees", "count": users, "first": users, "grow": None, "ramp_ns": 0, "order": "file", "recycle": False, "for_ns": None,
                "drain_ns": None, "on_failure": "end-tree", "on_429": "record",
                "tree_idle_cap_ns": None, "system_idle_cap_ns": None, "start_within": [0, 0],
                "start_by": "timeline", "prime": "exact", "warmup_requests": 0,
                "recycle_share": "none", "barrier": "stream"})  # fmt: skip
            self.assertIsNone(plan["prompts_digest"])

    def test_a_tree_of_one_row_is_a_tree(self):
        """Conversations of one turn, and rows without a session: each row begins when one ended."""
        trace = self.scratch / "single.json"
        trace.write_text(json.dumps([
            {"id": str(number), "conversations": [{"from": "human", "value": f"hello {number}"},
                                                  {"from": "gpt", "value": "y"}]}
            for number in range(5)]))  # fmt: skip
        rows = self.scratch / "rows.jsonl"
        rows.write_text("".join(json.dumps(
            {"timestamp": 9000 * number, "input_length": 600, "output_length": 3,
             "hash_ids": [number, number + 100]}) + "\n" for number in range(5)))  # fmt: skip
        with mock("--ttft", "2ms", "--itl", "1ms") as server:
            for path in (trace, rows):
                run = self.replay_well(path, "--url", server.url, "--users", 2,
                                       "--default-output", 3)
                records = list(run.records().values())
                self.assertEqual([one["outcome"] for one in records], ["ok"] * 5)
                trees = self.check_trees(records, 2)
                self.assertEqual(len(trees), 5)
                self.assertEqual({user for user, _, _ in trees}, {0, 1})
                self.assertIn("2 users play 5 session trees (5 rows)", run.said)
                self.assertNotIn("recorded gaps", run.said)
            run = self.replay_well(rows, "--url", server.url, "--users", 2, "--recycle", "--for",
                                   "300ms")
            self.assertGreater(max(one["pass"] for one in read_jsonl(run.folder / "requests.jsonl")),
                               1)

    def test_users_are_added(self):
        """While the figure leaves room, at most every other period; the summary and rules say it."""
        run = self.long_enough(
            lambda seconds: self.play("--users", "1..4", "--grow", "ttft:p95:1s", "--period", "200ms",
                                      "--recycle", "--for", f"{seconds}s", "--rules",
                                      "mlperf-agentic"),
            lambda run: len({one["user"] for one in read_jsonl(run.folder / "requests.jsonl")}) > 1, 2)
        records = read_jsonl(run.folder / "requests.jsonl")
        self.check_turns(records, 100)
        self.check_trees(records, 4)
        begun = {}
        for record in records:
            self.assertEqual(record["outcome"], "ok")
            begun[record["user"]] = min(begun.get(record["user"], record["due_ns"]),
                                        record["due_ns"])
        self.assertEqual(sorted(begun), [0, 1, 2, 3])
        self.assertEqual(begun[0], 0)
        self.assertEqual([begun[user] - begun[1] for user in (1, 2, 3)], [0, 50 * MS, 100 * MS])
        self.assertGreaterEqual(begun[1], 300 * MS)  # a period, and the lead of those who begin
        periods = read_jsonl(run.folder / "periods.jsonl")
        self.assertEqual(sum(one["users_added"] for one in periods), 4)
        users = run.json("run.json")["plan"]["users"]
        self.assertEqual((users["count"], users["first"], users["grow"]), (4, 1, "ttft:p95:1s"))
        summary = run.json("summary.json")
        self.assertIn("the run adapted its load", " ".join(summary["verdict"]["warnings"]))
        self.assertIn("not be published", " ".join(run.said.split()))
        rules = {one["rule"]: one["state"] for one in summary["rules"]}
        self.assertEqual(rules["--grow"], "violated")
        again = subprocess.run([DRIFTLESS, "report", run.folder], capture_output=True, text=True,
                               timeout=SECONDS_MAX, check=True)
        self.assertIn("adapted its load", again.stdout)

    def test_no_users_are_added_without_room(self):
        run = self.play("--users", "1..4", "--grow", "ttft:1ms", "--period", "100ms",
                        "--recycle", "--for", "600ms")
        self.assertEqual({one["user"] for one in read_jsonl(run.folder / "requests.jsonl")}, {0})

    def test_the_trace_begins_anew(self):
        """Each pass is another workload to the server's cache, and hits what is foretold."""
        run = self.long_enough(
            lambda seconds: self.play("--users", 3, "--recycle", "--for", f"{seconds}s"),
            lambda run: max(one["pass"] for one in read_jsonl(run.folder / "requests.jsonl")) > 3, 0.6)
        for_ns = run.json("run.json")["plan"]["users"]["for_ns"]
        records = read_jsonl(run.folder / "requests.jsonl")
        self.check_turns(records, 100)
        self.check_trees(records, 3)
        self.assertEqual(sorted(one["request"] for one in records), list(range(len(records))))
        for record in records:
            self.assertLess(record["due_ns"], for_ns)
            self.assertEqual(record["outcome"], "ok")
            self.assertEqual(record["cached_tokens"], record["expected_cached_server"])
        run_id = run.json("run.json")["run_id"]
        heard = {line["request_id"] for line in read_jsonl(self.scratch / "mock.jsonl")}
        for record in records:  # proto/run/README.md
            self.assertIn(id_of(run_id, record["row"], record["pass"]), heard)
        fired = read_jsonl(run.folder / "fired.jsonl")
        self.assertEqual(sorted((one["pass"], one["row"]) for one in fired),
                         sorted((one["pass"], one["row"]) for one in records))
        self.assertEqual(run.json("summary.json")["outcomes"]["ok"], len(records))
        report = subprocess.run([DRIFTLESS, "report", str(run.folder)], check=True,
                                capture_output=True, text=True, timeout=SECONDS_MAX)
        self.assertIn(f"{len(records)} of {len(records)} ok", report.stdout)
        self.assertEqual(report.stderr, "")

    def test_what_does_not_drain_is_cancelled(self):
        run = self.play("--users", 2, "--recycle", "--for", "200ms", "--drain", "50ms", *UNASKED,
                        itl="2s")
        records = read_jsonl(run.folder / "requests.jsonl")
        cut = [one for one in records if one["outcome"] == "cancelled"]
        self.assertTrue(cut)
        for record in cut:
            self.assertGreaterEqual(record["ended_ns"], 250 * MS)
        self.assertTrue(all(one["due_ns"] < 200 * MS for one in records))

    def test_the_screen_says_when_it_ends(self):
        for flags, end in (((), "until all have ended"),
                           (("--for", "10us"), "nothing is due after 10us")):
            run = self.replay_well(WEKA, "--dry-run", "--users", 1, *flags)
            self.assertIn("users: 1 user plays 2 session trees (6 rows), one at a time each: " + end,
                          run.said)

    def test_recorded_arrivals_are_not_gaps(self):
        """Single rows follow each other at once, whenever they were recorded."""
        run = self.replay_well(SAMPLE, "--dry-run", "--users", 4)
        self.assertIn("at least 0.000 s (recorded gaps alone), ", run.said)
        self.assertEqual(run.json("run.json")["plan"]["least_ns"], 0)

    def test_rules_are_of_one_digest(self):
        """Of the rules and what waits for what; other rules are another schedule."""
        def digest(*flags):
            run = self.replay_well(WEKA, "--dry-run", *flags)
            return run.json("run.json")["plan"]["schedule_digest"]
        flags = ("--users", 2, *RECYCLE)
        first = digest(*flags)
        self.assertEqual(digest(*flags), first)
        for other in (("--user-ramp", "1ms"), ("--session-order", "shuffle"), ("--seed", 1)):
            self.assertNotEqual(digest(*flags, *other), first, other)

    def test_gaps_are_capped_before_the_speed(self):
        run = self.play("--users", 2, "--gap-cap", "200ms")
        by_row = run.records()
        for row, (parent, delay_ns) in WAITS.items():
            gap_ns = min(delay_ns, 200 * MS) // 100
            self.assertEqual(by_row[row]["due_ns"], by_row[parent]["done_ns"] + gap_ns)

    def test_from_plays_it_again(self):
        first = self.play("--users", 2)
        with mock() as server:
            again = self.replay_well("--from", first.folder, "--url", server.url)
        self.check_turns(list(again.records().values()), 100)
        self.assertEqual(again.json("run.json")["plan"]["users"]["count"], 2)

    def test_refusals(self):
        """One line each, with the remedy."""
        for flags, code, said in (
            (("--users", 3), 3, "the selection has 2 session trees"),
            (("--users", 1, "--recycle"), 2, "add --for T"),
            (("--recycle",), 2, "--recycle applies to users; add --users N"),
            (("--for", "1s"), 2, "--for applies to users"),
            (("--users", 1, "--drain", "1s"), 2, "add --for T"),
            (("--user-ramp", "1s"), 2, "--user-ramp applies to users"),
            (("--users", 1, "--sessions", "open"), 2, "replays closed sessions"),
            (("--users", 1, "--user-ramp", "2s", "--for", "1s"), 2, "not shorter than --for"),
            (("--users", 0), 2, "--users"),
            (("--users", 2**32 - 1, *RECYCLE), 3, "half of the free memory has room for"),
        ):
            run = self.replay(WEKA, "--dry-run", *flags)
            self.assertEqual(run.code, code, flags)
            self.assertEqual(run.complained.count("\n"), 1, run.complained)
            self.assertIn(said, run.complained)

    def test_killed(self):
        """Its records are there to be reported; its users' places are not."""
        with mock("--itl", "5ms") as server:
            run, folder = self.start(WEKA, "--url", server.url, "--users", 2, "--recycle", "--for",
                                     "1h", "--speed", 100, until="requests.jsonl")
            run.kill()
            run.communicate()
        report = subprocess.run([DRIFTLESS, "report", str(folder)], check=True,
                                capture_output=True, text=True, timeout=SECONDS_MAX)
        said = re.search("the run was killed; requests that its users had in flight, or that were not "
                         r"written yet \(records are written twice a second\), have no record: ([0-9]+) request",
                         report.stderr)
        lost = int(said.group(1))
        records, fired = (read_jsonl(folder / name, whole=False)
                          for name in ("requests.jsonl", "fired.jsonl"))
        self.assertGreaterEqual(lost, len(fired) - sum(one["fired_ns"] is not None for one in records))
        self.assertLessEqual(lost, 2 * 400)  # half a second of two users, at 400 turns a second each
        summary = json.loads(subprocess.run([DRIFTLESS, "report", str(folder), "--json"], check=True,
                                            capture_output=True, text=True, timeout=SECONDS_MAX).stdout)
        self.assertEqual(summary["unfinished"], {"rows": lost, "rows_left": lost})
        self.assertIn(f"{lost} rows without a record, {lost} of them had been sent", report.stdout)
        run_id = json.loads((folder / "run.json").read_text())["run_id"]
        pathlib.Path(f"/dev/shm/driftless-{run_id}").unlink()
        report = subprocess.run([DRIFTLESS, "report", str(folder)], check=True,
                                capture_output=True, text=True, timeout=SECONDS_MAX)
        self.assertIn("have no record: at least ", report.stderr)
        again = subprocess.run([DRIFTLESS, "replay", "--resume", str(folder)], check=False,
                               capture_output=True, text=True, timeout=SECONDS_MAX)
        self.assertEqual(again.returncode, 2)
        self.assertIn("a run of users cannot be resumed; --from ", again.stderr)


if __name__ == "__main__":
    unittest.main()

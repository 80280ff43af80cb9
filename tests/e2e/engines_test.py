"""Several engines (`--engines`): rows, prompts, servers and digests are those of one engine; records come
once, on connections of their own; a run that was killed goes on; caps and users are shared."""

import collections
import json
import os
import pathlib
import signal
import subprocess
import time
import unittest

from harness import Case, DRIFTLESS, SAMPLE, mock, read_jsonl, row_of
from keeper import keeper, kept_bodies

ROWS = 60
FEW = ("--limit", ROWS, "--speed", 20)
FAST = ("--ttft", "2ms", "--itl", "0ms")
USAGE = 2


class Engines(Case):
    def test_bytes_servers_and_digests_are_those_of_one(self):
        seen = {}
        for engines in (1, 2, 3, 8):
            with keeper() as a, keeper() as b:
                run = self.replay_well(SAMPLE, "--url", a.url, "--url", b.url, "--no-preflight", "--model", "mock-model",
                                       "--output", "free", "--engines", engines, *FEW)  # fmt: skip
                seen[engines] = (kept_bodies(a), kept_bodies(b))
            facts = run.json("run.json")
            self.assertEqual(facts["host"]["engines"], engines)
            seen[engines] += (facts["plan"]["schedule_digest"], facts["plan"]["prompts_digest"])
            records = list(run.records().values())
            self.assertEqual(sorted(record["row"] for record in records), list(range(ROWS)))
            self.assertEqual({record["outcome"] for record in records}, {"ok"})
            self.assertEqual([record["request"] for record in sorted(records, key=lambda one: one["row"])],
                             list(range(ROWS)))  # fmt: skip
            client = run.json("summary.json")["client"]
            self.assertEqual(len(client["engines"]), engines)
            self.assertEqual(sum(one["rows_fired"] for one in client["engines"]), ROWS)
            self.check_connections(records)
        for engines, what in seen.items():
            for one, other in zip(what[:2], seen[1][:2]):
                self.assertEqual(sorted(one), sorted(other), f"rows of a server, {engines} engines")
                self.assertEqual([row for row in one if one[row] != other[row]], [], f"{engines} engines")
            self.assertEqual(what[2], seen[1][2], engines)
            self.assertIsNotNone(what[3])
            self.assertEqual(what[3], seen[1][3], engines)
        self.assertGreater(min(len(bodies) for bodies in seen[2][:2]), 0, "both servers were sent to")

    def check_connections(self, records):
        """No connection carries two requests at once."""
        on = collections.defaultdict(list)
        for record in records:
            on[record["connection"]].append((record["fired_ns"], record["ended_ns"]))
        for number, uses in on.items():
            uses.sort()
            for before, after in zip(uses, uses[1:]):
                self.assertLessEqual(before[1], after[0], f"connection {number}")

    def test_a_run_that_was_killed_goes_on(self):
        log = self.scratch / "log.jsonl"
        with mock(*FAST, "--log", log) as server:
            process, folder = self.start(SAMPLE, "--url", server.url, "--limit", ROWS, "--speed", 2,
                                         "--engines", 2)  # fmt: skip
            process.kill()
            process.communicate()
            done = subprocess.run([DRIFTLESS, "replay", "--resume", str(folder)], check=False,
                                  capture_output=True, text=True)  # fmt: skip
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        records = read_jsonl(folder / "requests.jsonl")
        self.assertEqual(sorted(record["row"] for record in records), list(range(ROWS)))
        asked = collections.Counter(row_of(one["request_id"] or "") for one in read_jsonl(log))
        asked.pop(None, None)
        self.assertLessEqual(max(asked.values()), 1, "a row was sent again unasked")
        for record in records:  # what a server has seen has left, by its record
            left = record["fired_ns"] is not None or record["outcome"] == "interrupted"
            self.assertTrue(left or record["row"] not in asked)
        run_id = json.loads((folder / "run.json").read_text())["segments"][-1]["run_id"]
        self.assertEqual([name for name in os.listdir("/dev/shm") if run_id in name], [])

    def test_marks_of_one_engine_are_gone(self):
        """What is left of them would say of its rows that they had not left: they would be sent again."""
        log = self.scratch / "log.jsonl"
        with mock(*FAST, "--log", log) as server:
            process, folder = self.start(SAMPLE, "--url", server.url, "--speed", 4, "--engines", 2)
            time.sleep(1)
            process.kill()
            process.communicate()
            run_id = json.loads((folder / "run.json").read_text())["segments"][-1]["run_id"]
            marks = pathlib.Path(f"/dev/shm/driftless-{run_id}")
            self.addCleanup(marks.unlink, missing_ok=True)
            pathlib.Path(f"{marks}.1").unlink()
            done = subprocess.run([DRIFTLESS, "replay", "--resume", str(folder)], check=False,
                                  capture_output=True, text=True)  # fmt: skip
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("the run's marks in shared memory are gone", done.stdout)
        asked = collections.Counter(row_of(one["request_id"] or "") for one in read_jsonl(log))
        asked.pop(None, None)
        self.assertLessEqual(max(asked.values()), 1, "a row was sent again unasked")

    def test_an_interrupt_ends_all_of_them(self):
        with mock("--ttft", "20s") as server:
            process, folder = self.start(SAMPLE, "--url", server.url, "--speed", 20, "--engines", 3,
                                         "--grace", "200ms", "--no-preflight", "--model", "m")  # fmt: skip
            process.send_signal(signal.SIGINT)
            run = self.finish(process, folder)
        self.assertEqual(run.code, 130)
        self.assertEqual(len(read_jsonl(folder / "requests.jsonl")), 240)

    def test_caps_are_shared(self):
        with mock("--ttft", "30ms", "--itl", "0ms") as server:
            run = self.replay_well(SAMPLE, "--url", server.url, *FEW, "--engines", 2, "--max-inflight", 5)
        edges = []
        for record in run.records().values():
            edges += [(record["fired_ns"], 1), (record["ended_ns"], -1)]
        open_now = most = 0
        for _, change in sorted(edges):
            open_now += change
            most = max(most, open_now)
        self.assertLessEqual(most, 5)

    def test_sessions_that_wait_stay_whole(self):
        trace = self.write("agents.jsonl", "".join(
            json.dumps({"session_id": f"s{session}", "input_length": 30 + turn, "output_length": 4,
                        "hash_ids": [100 * session + turn], **({"timestamp": 0} if turn == 0 else {"delay": 5})})
            + "\n" for session in range(6) for turn in range(3)))  # fmt: skip
        with mock(*FAST) as server:
            run = self.replay_well(trace, "--format", "mooncake", "--url", server.url, "--sessions", "closed",
                                   "--engines", 3)  # fmt: skip
        self.assertEqual(run.json("run.json")["host"]["engines"], 3)
        turns = collections.defaultdict(list)
        for record in run.records().values():
            turns[record["session"]].append((record["turn"], record))
        self.assertEqual(len(turns), 6)
        for session in turns.values():
            session.sort(key=lambda one: one[0])
            for (_, before), (_, after) in zip(session, session[1:]):
                self.assertEqual(after["parent_end_ns"], before["done_ns"])
                self.assertGreaterEqual(after["fired_ns"], before["done_ns"])

    def test_users_are_shared(self):
        """Each tree is played by one user, on one engine; together they play no more at once than asked."""
        trace = self.write("users.jsonl", "".join(
            json.dumps({"session_id": f"s{session}", "input_length": 30 + turn, "output_length": 4,
                        "hash_ids": [100 * session + turn], **({"timestamp": 0} if turn == 0 else {"delay": 5})})
            + "\n" for session in range(20) for turn in range(3)))  # fmt: skip
        log = self.scratch / "log.jsonl"
        with mock(*FAST, "--log", log) as server:
            run = self.replay_well(trace, "--url", server.url, "--users", 5, "--user-ramp", "100ms",
                                   "--engines", 2, "--header", "X-User: {user}", "--format", "mooncake")  # fmt: skip
        records = list(run.records().values())
        self.assertEqual(sorted(record["row"] for record in records), list(range(60)))
        self.assertEqual({record["user"] for record in records}, set(range(5)))
        by_user = collections.defaultdict(list)
        for tree in {record["session"] for record in records}:
            rows = [record for record in records if record["session"] == tree]
            self.assertEqual(len({record["user"] for record in rows}), 1, tree)
            by_user[rows[0]["user"]].append((min(one["fired_ns"] for one in rows),
                                             max(one["ended_ns"] for one in rows)))  # fmt: skip
        for user, trees in by_user.items():
            trees.sort()
            for before, after in zip(trees, trees[1:]):
                self.assertLessEqual(before[1], after[0], f"user {user} plays two trees")
        client = run.json("summary.json")["client"]
        self.assertTrue(all(one["rows_fired"] > 0 for one in client["engines"]), client["engines"])

    def test_passes_of_users_have_records_of_their_own(self):
        """Users that begin the trace again: each record is of a playing of a row, and none is lost."""
        log = self.scratch / "log.jsonl"
        with mock(*FAST, "--log", log) as server:
            run = self.replay(SAMPLE, "--url", server.url, "--limit", 7, "--concurrency", 5, "--recycle",
                              "--for", "1s", "--engines", 3, "--no-preflight", "--model", "mock-model",
                              "--no-warm-probe")  # fmt: skip
        self.assertEqual(run.code, 0, run.said + run.complained)
        records = read_jsonl(run.folder / "requests.jsonl")
        playings = collections.Counter((one["row"], one["pass"]) for one in records)
        self.assertEqual(max(playings.values()), 1)
        self.assertGreater(len(records), 50)
        sent = [one for one in records if one["fired_ns"] is not None]
        self.assertEqual(len(sent), len(read_jsonl(log)))
        numbers = {one["request_id"] for one in read_jsonl(log)}
        self.assertEqual(len(numbers), len(sent), "no two requests have one name")
        edges = sorted(edge for one in sent for edge in ((one["fired_ns"], 1), (one["ended_ns"], -1)))
        open_now = most = 0
        for _, change in edges:
            open_now += change
            most = max(most, open_now)
        self.assertLessEqual(most, 5)

    def test_what_does_not_go_together_is_refused(self):
        for flags, said in (
            (("--engines", 2, "--max-inflight", 1), "--max-inflight 1"),
            (("--engines", 3, "--connections", 2), "--connections 2"),
            (("--engines", 3, "--budget-output", "2/s"), "--budget-output 2"),
            (("--engines", 5, "--concurrency", 4), "--concurrency 4"),
            (("--engines", 3, "--users", 4, "--shard", "0/2"), "--users 2 (the part of this shard)"),
            (("--engines", 2, "--users", 4, "--warmup-requests", 1), "--warmup-requests"),
            (("--engines", 2, "--users", 4, "--system-idle-cap", "1s"), "--system-idle-cap"),
            (("--engines", 0), "--engines"),
            (("--engines", "many"), "--engines"),
        ):
            run = self.replay(SAMPLE, "--url", "http://127.0.0.1:9", *flags)
            self.assertEqual(run.code, USAGE, flags)
            self.assertIn(said, run.complained)


if __name__ == "__main__":
    unittest.main()

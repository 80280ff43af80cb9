"""Dual fire (`--against`): each row goes to both servers in one instant, once to each, with the same
prompt; records say which side they are of, one side's troubles are its own, and a run that was killed
goes on to two records a row."""

import collections
import json
import statistics
import subprocess
import unittest

from harness import Case, DRIFTLESS, SAMPLE, id_of, mock, read_jsonl, row_of
from keeper import keeper, kept_bodies

ROWS = 60
FEW = ("--limit", ROWS, "--speed", 20)
FAST = ("--ttft", "2ms", "--itl", "0ms", "--cache-block", "512")
PREFLIGHT, USAGE = 4, 2


def sides_of(folder):
    """{side: {row: record}}; a row that has two records of one side is an error."""
    sides = collections.defaultdict(dict)
    for record in read_jsonl(folder / "requests.jsonl"):
        if record["row"] in sides[record["side"]]:
            raise AssertionError(f"row {record['row']} has two records of side {record['side']}")
        sides[record["side"]][record["row"]] = record
    return sides


def rows_in(log):
    """How often a mock was asked for each row."""
    asked = [one["request_id"] or "" for one in read_jsonl(log)]
    return collections.Counter(row_of(name) for name in asked if row_of(name) is not None)


def names_in(log):
    return [one["request_id"] for one in read_jsonl(log) if row_of(one["request_id"] or "") is not None]


class Dual(Case):
    def both(self, a, b, *flags):
        run = self.replay_well(SAMPLE, "--url", a, "--against", b, *FEW, *flags)
        return run, sides_of(run.folder)

    def check_pairs(self, sides, rows=ROWS):
        self.assertEqual(set(sides), {"a", "b"})
        self.assertEqual(sorted(sides["a"]), list(range(rows)))
        self.assertEqual(sorted(sides["b"]), list(range(rows)))
        for row, record in sides["a"].items():
            other = sides["b"][row]
            self.assertEqual(record["due_ns"], other["due_ns"])
            self.assertNotEqual(record["request"], other["request"])
            self.assertEqual(abs(record["request"] - other["request"]), 1)

    def test_each_row_goes_once_to_each_server(self):
        log_a, log_b = self.scratch / "a.jsonl", self.scratch / "b.jsonl"
        with mock("--ttft", "5ms", "--itl", "0ms", "--log", log_a) as a, \
                mock("--ttft", "45ms", "--itl", "0ms", "--log", log_b) as b:  # fmt: skip
            run, sides = self.both(a.url, b.url)
        self.check_pairs(sides)
        for side, url in (("a", a.url), ("b", b.url)):
            for record in sides[side].values():
                self.assertEqual(record["outcome"], "ok", record)
                self.assertTrue(record["url"].startswith(url), record["url"])
        for log in (log_a, log_b):
            self.assertEqual(rows_in(log), collections.Counter(range(ROWS)))
        run_id = run.json("run.json")["run_id"]
        self.assertEqual(sorted(names_in(log_a)), sorted(id_of(run_id, row) for row in range(ROWS)))
        self.assertEqual(sorted(names_in(log_b)),
                         sorted(id_of(run_id, row, side="b") for row in range(ROWS)))  # fmt: skip
        lanes = {side: {r["connection"] for r in sides[side].values()} for side in sides}
        self.assertFalse(lanes["a"] & lanes["b"], "a connection had rows of both sides")
        self.check_summary(run, sides)

    def check_summary(self, run, sides):
        summary = run.json("summary.json")
        figures = summary["sides"]
        ms = {side: [r["ttft_ns"] / 1e6 for r in sides[side].values()] for side in sides}
        pairs = [(b["ttft_ns"] - sides["a"][row]["ttft_ns"]) / 1e6 for row, b in sides["b"].items()]
        first_a = {row for row, a in sides["a"].items() if a["request"] < sides["b"][row]["request"]}
        for side in sides:
            self.assertEqual(figures[side]["requests"], ROWS)
            self.assertEqual(figures[side]["completed"], ROWS)
            self.assertEqual(figures[side]["drift_ns"]["count"], ROWS)
            self.assertAlmostEqual(figures[side]["ttft_ms"]["mean"], statistics.mean(ms[side]), 6)
        found = figures["pairs"]
        self.assertEqual(found["ttft_difference_ms"]["count"], ROWS)
        self.assertAlmostEqual(found["ttft_difference_ms"]["mean"], statistics.mean(pairs), 6)
        self.assertAlmostEqual(found["ttft_difference_ms"]["p50"], sorted(pairs)[ROWS // 2 - 1], 6)
        self.assertGreater(found["ttft_difference_ms"]["p50"], 20)  # of 40, on a busy machine
        self.assertEqual(found["ttft_difference_a_first_ms"]["count"], len(first_a))
        self.assertLessEqual(abs(2 * len(first_a) - ROWS), 1)
        self.assertEqual(summary["num_prompts"], 2 * ROWS)
        self.assertIn("drift p50, p99 us", run.said)
        self.assertIn(f"over {ROWS} rows", run.said)
        plan = run.json("run.json")["plan"]
        self.assertEqual(plan["rows"], 2 * ROWS)
        self.assertEqual(plan["side_digests"]["a"], plan["side_digests"]["b"])

    def test_both_get_the_same_bytes(self):
        """But for the model's name; it is the receiver that says so."""
        rows = 20  # python's server takes few connections at once
        with keeper() as a, keeper() as b:
            self.replay_well(SAMPLE, "--url", a.url, "--against", b.url, "--limit", rows, "--speed", 2,
                             "--no-preflight", "--model", "m", "--against-model", "n")  # fmt: skip
        bodies_a, bodies_b = kept_bodies(a), kept_bodies(b)
        self.assertEqual(sorted(bodies_a), list(range(rows)))
        self.assertEqual(sorted(bodies_b), list(range(rows)))
        for row, body in bodies_a.items():
            self.assertEqual(body.pop("model"), "m")
            self.assertEqual(bodies_b[row].pop("model"), "n")
            self.assertEqual(body, bodies_b[row])

    def test_each_side_has_its_own_overhead_and_model(self):
        with mock(*FAST, "--overhead", "5,3", "--model", "first") as a, \
                mock(*FAST, "--overhead", "2,0", "--model", "second") as b:  # fmt: skip
            run, sides = self.both(a.url, b.url)
        self.check_pairs(sides)
        for side, model in (("a", "first"), ("b", "second")):
            for record in sides[side].values():
                self.assertEqual(record["prompt_tokens"], record["input_length"])
                self.assertEqual(record["model"], model)
        request = run.json("run.json")["request"]
        self.assertEqual((request["overhead_pre"], request["overhead_post"]), (5, 3))
        against = request["against"]
        self.assertEqual((against["overhead_pre"], against["overhead_post"]), (2, 0))
        self.assertEqual(against["model"], "second")
        digests = run.json("run.json")["plan"]["side_digests"]
        self.assertNotEqual(digests["a"], digests["b"])

    def test_hits_are_each_servers_own(self):
        """A row is no hit of its own copy: each cache sees the whole trace once."""
        with mock(*FAST) as a, mock(*FAST) as b:
            _, sides = self.both(a.url, b.url)
            alone = self.replay_well(SAMPLE, "--url", a.url, *FEW, "--cache-salt", "x").records()
        expected = {row: record["expected_cached_tokens"] for row, record in alone.items()}
        self.assertGreater(sum(expected.values()), 0)
        for side in sides:
            self.assertEqual({row: r["expected_cached_tokens"] for row, r in sides[side].items()},
                             expected)  # fmt: skip

    def test_each_side_is_forecast_as_a_run_of_its_own(self):
        """Template and blocks of the two servers differ, and so does what they should hold."""
        servers = (("--overhead", "5,3", "--cache-block", "16"), ("--overhead", "2,300", "--cache-block", "64"))
        with mock(*FAST[:4], *servers[0]) as a, mock(*FAST[:4], *servers[1]) as b:
            dual, sides = self.both(a.url, b.url)
            alone = [self.replay_well(SAMPLE, "--url", one.url, *FEW).records() for one in (a, b)]
            checked = self.replay_well(SAMPLE, "--url", a.url, "--against", b.url, *FEW, "--verify-prompts", 8)
        keys = ("expected_cached_tokens", "expected_cached_server")
        for side, records in zip("ab", alone):
            for key in keys:
                self.assertEqual([sides[side][row][key] for row in range(ROWS)],
                                 [records[row][key] for row in range(ROWS)], (side, key))
        for key in keys:
            self.assertNotEqual([one[key] for one in alone[0].values()], [one[key] for one in alone[1].values()])
        self.assertIsNone(dual.json("run.json")["request"]["server_block"], "they differ")
        self.assertEqual(checked.json("run.json")["verified"]["rows"], 16, "8 a side")

    def test_one_sides_troubles_are_its_own(self):
        with mock(*FAST) as a, mock(*FAST, "--fault", "reset:0.5", "--fault", "500:0.5") as b:
            run, sides = self.both(a.url, b.url, "--no-preflight", "--model", "mock-model")
        self.assertEqual({r["outcome"] for r in sides["a"].values()}, {"ok"})
        failed = sum(r["outcome"] != "ok" for r in sides["b"].values())
        self.assertGreater(failed, 0)
        figures = run.json("summary.json")["sides"]
        self.assertEqual(figures["a"]["failed"], 0)
        self.assertEqual(figures["b"]["failed"], failed)
        self.assertEqual(figures["pairs"]["unpaired"], failed)

    def test_a_server_that_is_not_there_stops_only_its_own_rows(self):
        with mock(*FAST) as a, mock(*FAST) as gone:
            pass
        with mock(*FAST) as a:
            _, sides = self.both(a.url, gone.url, "--no-preflight", "--model", "mock-model")
        self.assertEqual({r["outcome"] for r in sides["a"].values()}, {"ok"})
        self.assertEqual({r["outcome"] for r in sides["b"].values()}, {"connect_failed"})

    def test_one_server_may_be_both(self):
        """Lanes of their own all the same; that they share a cache is said."""
        with mock(*FAST) as server:
            run, sides = self.both(server.url, server.url)
        self.check_pairs(sides)
        self.assertIn("both sides share its prefix cache", run.said)
        lanes = {side: {r["connection"] for r in sides[side].values()} for side in sides}
        self.assertFalse(lanes["a"] & lanes["b"])

    def test_a_run_that_was_killed_goes_on_to_two_records_a_row(self):
        log_a, log_b = self.scratch / "a.jsonl", self.scratch / "b.jsonl"
        with mock(*FAST, "--log", log_a) as a, mock(*FAST, "--log", log_b) as b:
            process, folder = self.start(SAMPLE, "--url", a.url, "--against", b.url, "--limit",
                                         ROWS, "--speed", 2)  # fmt: skip
            process.kill()
            process.communicate()
            shown = self.report(folder, "--json")
            self.assertIsNotNone(json.loads(shown)["unfinished"])
            done = subprocess.run([DRIFTLESS, "replay", "--resume", str(folder)], check=False,
                                  capture_output=True, text=True)  # fmt: skip
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        sides = sides_of(folder)
        self.assertEqual(sorted(sides["a"]), list(range(ROWS)))
        self.assertEqual(sorted(sides["b"]), list(range(ROWS)))
        for log in (log_a, log_b):
            self.assertLessEqual(max(rows_in(log).values()), 1, "a row was sent again unasked")
        for side, log in (("a", log_a), ("b", log_b)):
            for row in range(ROWS):  # what a server has seen has left, by its record
                left = sides[side][row]["fired_ns"] is not None
                given_up = sides[side][row]["outcome"] == "interrupted"
                self.assertTrue(left or given_up or row not in rows_in(log))
        summary = json.loads((folder / "summary.json").read_text())
        self.assertEqual(summary["sides"]["a"]["requests"], ROWS)
        self.assertEqual(self.report(folder, "--json"), (folder / "summary.json").read_text())

    def report(self, folder, *flags):
        done = subprocess.run([DRIFTLESS, "report", str(folder), *flags], capture_output=True,
                              text=True, check=False)  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_what_comes_behind_a_run_knows_its_sides(self):
        """Report, groups, a repetition, a dry run, a trace of what was sent, both servers' metrics."""
        with mock(*FAST) as a, mock(*FAST) as b:
            run, _ = self.both(a.url, b.url)
            again = self.replay_well("--from", run.folder, "--cache-salt", "y")
            dry = self.scratch / "dry"
            planned = self.replay(SAMPLE, "--url", a.url, "--against", b.url, *FEW, "--dry-run",
                                  folder=dry)  # fmt: skip
            single = self.replay(SAMPLE, "--url", a.url, "--from", run.folder, "--against", a.url)
        self.assertEqual(single.code, 0, single.complained)
        self.check_pairs(sides_of(again.folder))
        self.assertEqual(planned.code, 0, planned.complained)
        digest = run.json("run.json")["plan"]["schedule_digest"]
        self.assertEqual(json.loads((dry / "run.json").read_text())["plan"]["schedule_digest"], digest)
        self.assertEqual(self.report(run.folder, "--json"),
                         (run.folder / "summary.json").read_text())  # fmt: skip
        self.assertIn("Sides", self.report(run.folder))
        groups = self.report(run.folder, "--by", "side")
        self.assertIn(" a ", groups)
        self.assertTrue((run.folder / "report.html").stat().st_size > 0)
        trace = self.scratch / "sent.jsonl"
        done = subprocess.run([DRIFTLESS, "convert", str(run.folder), "-o", str(trace)],
                              capture_output=True, text=True, check=False)  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"{ROWS} rows", done.stdout)
        urls = {one["url"] for one in run.json("summary.json")["server"]["urls"]}
        self.assertEqual(urls, {a.url + "/metrics", b.url + "/metrics"})

    def test_a_cap_favours_no_side(self):
        """Both sides wait for the same places, and either goes first about as often."""
        with mock(*FAST) as a, mock(*FAST) as b:
            for cap in (("--max-inflight", 1), ("--max-inflight", 3), ("--connections", 2)):
                run = self.replay_well(SAMPLE, "--url", a.url, "--against", b.url, "--limit", ROWS,
                                       "--speed", 1000, *cap)
                sides = sides_of(run.folder)
                self.check_pairs(sides)
                causes = {record["late_cause"] for record in sides["b"].values()}
                self.assertTrue(causes - {"none"}, "nobody waited")
                first_a = sum(a["sent_ns"] < sides["b"][row]["sent_ns"]
                              for row, a in sides["a"].items())  # fmt: skip
                self.assertAlmostEqual(first_a, ROWS / 2, delta=12)  # 3 deviations of a fair coin

    def test_refusals(self):
        """One clear line each, before anything is written."""
        url = ("--url", "http://127.0.0.1:9", "--against", "http://127.0.0.1:9")
        for flag, *more in (("--users", 2), ("--concurrency", 2), ("--sessions", "closed"),
                            ("--budget-output", "100000/m")):  # fmt: skip
            refused = self.replay(SAMPLE, *url, flag, *more)
            self.assertEqual(refused.code, USAGE, refused.complained)
            self.assertIn("the answers of one server decide when rows are sent", refused.complained)
            self.assertFalse(refused.folder.exists())
        with mock(*FAST) as a:
            run = self.replay_well(SAMPLE, "--url", a.url, "--limit", 4, "--speed", 20)
            other = self.replay("--from", run.folder, "--against", a.url)
        self.assertEqual(other.code, USAGE, other.complained)
        self.assertIn("the run had one server", other.complained)


if __name__ == "__main__":
    unittest.main()

"""Closed sessions: a turn leaves when the answer that it waits for has ended, and so long after it."""

import json
import subprocess
import time
import unittest

from harness import Case, DRIFTLESS, SAMPLE, SECONDS_MAX, agentic, mock, read_jsonl, row_of

WEKA = SAMPLE.parent / "traces" / "weka"
MS = 1_000_000
# Of its rows by index: which one it waits for, and for how many ns after it (t, less the parent's t
# and api_time). Worked out by hand. In trace_2 only the last answer has an api_time, 100 ms for 9
# tokens: at that pace the parents of rows 1 and 3 (1 token) and of row 2 (3 tokens) took 11.1 and
# 33.3 ms.
WAITS = {1: (0, 250 * MS - 11_111_111), 2: (1, 100 * MS - 33_333_333),
         3: (0, 500 * MS - 11_111_111), 5: (4, 550 * MS)}  # fmt: skip
GAPS = sum(gap for _, gap in WAITS.values())
TREES = ["trace_2"] * 4 + ["trace_10"] * 2
CLOSED = ("--sessions", "closed")


class Closed(Case):
    def check_turn(self, records, row, parent, delay_ns):
        record, before = records[row], records[parent]
        self.assertEqual(record["outcome"], "ok", record)
        self.assertEqual(record["parent_end_ns"], before["done_ns"])
        self.assertEqual(record["due_ns"], before["done_ns"] + delay_ns)
        self.assertGreaterEqual(record["fired_ns"], record["due_ns"])
        self.assertEqual(record["drift_ns"], record["fired_ns"] - record["due_ns"])

    def test_turns_wait_for_answers(self):
        """The recorded gap after the end of the answer, divided by the speed; the server agrees."""
        digests = set()
        for itl in (0, 5):
            log = self.scratch / f"mock{itl}.jsonl"
            with mock("--ttft", "20ms", "--itl", f"{itl}ms", "--log", log) as server:
                run = self.replay_well(WEKA, "--url", server.url, *CLOSED, "--speed", 10)
            records = run.records()
            for row, record in records.items():
                self.assertEqual(record["tree"], TREES[row])
                self.assertEqual((record["pass"], record["phase"], record["user"]),
                                 (0, "profile", None))
                if row in WAITS:
                    parent, delay_ns = WAITS[row]
                    self.check_turn(records, row, parent, delay_ns // 10)
                else:
                    self.assertEqual((record["due_ns"], record["parent_end_ns"]), (0, None))
            self.assertEqual(sorted(one["request"] for one in records.values()), list(range(6)))
            self.check_log(log)
            plan = run.json("run.json")["plan"]
            self.assertEqual((plan["sessions"], plan["rows_waiting"]), ("closed", 4))
            self.assertIn("sessions: 4 rows wait for others", run.said)
            digests.add((plan["schedule_digest"], plan["prompts_digest"]))
        self.assertEqual(len(digests), 1)

    def play_gaps(self, *flags):
        """Records, the plan in run.json and what was said of a run of the Weka sample."""
        with mock("--ttft", "20ms", "--itl", "5ms") as server:
            run = self.replay_well(WEKA, "--url", server.url, *CLOSED, *flags)
        return run.records(), run.json("run.json")["plan"], run.said

    def test_gaps_are_capped_before_the_speed(self):
        """A gap of at most 200 ms at twice the speed is one of at most 100 ms."""
        records, plan, said = self.play_gaps("--gap-cap", "200ms", "--speed", 2)
        for row, (parent, delay_ns) in WAITS.items():
            self.check_turn(records, row, parent, min(delay_ns, 200 * MS) // 2)
        self.assertEqual(plan["gaps"], {
            "rule": "end-to-start", "cap_ns": 200 * MS, "gaps": 4, "capped": 3,
            "derived_ns": GAPS, "kept_ns": 666_666_667})  # fmt: skip
        self.assertIn("gaps: end-to-start: 4 recorded gaps, 1.344 s in all; 3 cut to 200ms, "
                      "0.667 s left\n", said)

    def test_no_gaps(self):
        """A turn is due at the instant at which the answer before it has ended."""
        records, plan, said = self.play_gaps("--gap", "none")
        for row, (parent, _) in WAITS.items():
            self.check_turn(records, row, parent, 0)
        self.assertEqual((plan["gaps"]["derived_ns"], plan["gaps"]["kept_ns"]), (GAPS, 0))
        self.assertIn("gaps: none: 4 recorded gaps, 1.344 s in all, left out\n", said)

    def test_gaps_between_starts(self):
        """The recorded distance of the starts, or the end of the answer where that comes later."""
        records, plan, _ = self.play_gaps("--gap", "start-to-start", "--speed", 8)
        starts_ms = {1: (0, 250), 2: (1, 100), 3: (0, 500), 5: (4, 750)}
        later = 0
        for row, (parent, apart_ms) in starts_ms.items():
            record, before = records[row], records[parent]
            started = before["fired_ns"] + apart_ms * MS // 8
            self.assertEqual(record["due_ns"], max(started, before["done_ns"]), record)
            self.assertEqual(record["parent_end_ns"], before["done_ns"])
            later += started > before["done_ns"]
        self.assertIn(later, range(1, 4), "both cases must be there")
        self.assertEqual(plan["gaps"]["derived_ns"], 1600 * MS)

    def test_gaps_are_part_of_the_schedule(self):
        """--from plays the same gaps; other ones are refused."""
        with mock("--ttft", "1ms", "--itl", "0") as server:
            first = self.replay_well(WEKA, "--url", server.url, *CLOSED, "--gap-cap", "10ms")
            again = self.replay_well("--from", first.folder, "--url", server.url)
            other = self.replay("--from", first.folder, "--url", server.url, "--gap-cap", "20ms")
            resumed = self.replay("--resume", first.folder, "--gap-cap", "20ms")
        self.assertEqual(again.json("run.json")["plan"]["gaps"],
                         first.json("run.json")["plan"]["gaps"])
        self.assertEqual(other.code, 3)
        self.assertIn("the due instants differ from the run's", other.complained)
        self.assertEqual(resumed.code, 2)
        self.assertIn("--gap-cap: --resume continues with the original settings",
                      resumed.complained)

    def test_gaps_need_starts(self):
        """Where only gaps were recorded, there is no distance of starts."""
        trace = self.write("t.jsonl", agentic([("a1", [], 0), ("a2", ["a1"], 5)]))
        run = self.replay(trace, "--dry-run", *CLOSED, "--gap", "start-to-start")
        self.assertEqual(run.code, 3)
        self.assertIn("1 row has no recorded start, only a gap after an answer; use --gap "
                      "end-to-start", run.complained)

    def fan_out(self, workers):
        """A conversation of one file: a main agent, and workers beside it, recorded in one list."""
        def request(t, seconds, *ids):
            return {"t": t, "type": "n", "model": "m", "in": 64 * len(ids), "out": 4,
                    "hash_ids": ids, "api_time": seconds}  # fmt: skip
        requests = [request(0, 0.1, 1, 2, 3)]
        requests += [request(0.2, 9, 1, 2, 100 + one) for one in range(workers)]
        requests.append(request(10, 0.1, 1, 2, 3, 4))
        conversation = {"id": "fan", "block_size": 64, "requests": requests}
        return self.write("fan.json", json.dumps(conversation))

    def test_agents_recorded_in_one_line(self):
        """They leave together, as they did, and the main agent waits for all of them."""
        trace = self.fan_out(8)
        for flags, sessions in (((), 9), (("--flat-agents", "keep"), 1)):
            with mock("--ttft", "20ms", "--itl", "5ms") as server:
                run = self.replay_well(trace, "--url", server.url, *CLOSED, *flags, "--gap-cap",
                                       "10ms")
            records = run.records()
            workers = [records[row] for row in range(1, 9)]
            self.assertEqual(len({one["session"] for one in records.values()}), sessions)
            self.assertEqual({one["tree"] for one in records.values()}, {"fan"})
            ended_ns = max(one["done_ns"] for one in workers)
            if sessions == 1:  # in line each waits for the start of the one before
                self.assertEqual(records[9]["parent_end_ns"], workers[-1]["done_ns"])
                continue
            for one in workers:
                self.check_turn(records, one["row"], 0, 10 * MS)
            self.assertEqual(records[9]["due_ns"], max(ended_ns, records[0]["done_ns"] + 10 * MS))
            self.assertIn("trace: 8 agents were recorded in one line with others", run.said)
            self.assertEqual(workers[3]["session"], "fan::fa:003")

    def check_log(self, log):
        """A server has sent the last token of a parent before it is asked the turn behind it."""
        seen = {row_of(line["request_id"]): line for line in read_jsonl(log)}
        for row, (parent, delay_ns) in WAITS.items():
            ended_ns = max(seen[parent]["token_ns"])
            self.assertGreaterEqual(seen[row]["start_ns"], ended_ns + delay_ns // 10)

    def test_no_turn_behind_a_failure(self):
        """It is not sent, nor what waits for it, and all say for which row."""
        trace = self.write("t.jsonl", agentic([
            ("a1", [], 0), ("a2", ["a1"], 5), ("a3", ["a2"], 0), ("b1", [], 10), ("b2", ["b1"], 0),
            ("b3", ["b2", "a3"], 0)]))
        with mock("--ttft", "1ms", "--itl", "0", "--fault-row", "500:1") as server:
            run = self.replay_well(trace, "--url", server.url, *CLOSED)
        records = run.records()
        outcomes = [records[row]["outcome"] for row in range(6)]
        self.assertEqual(outcomes, ["ok", "http_5xx", "not_sent", "ok", "ok", "not_sent"])
        for row in (2, 5):
            self.assertEqual(records[row]["error"], "row 1, which it waited for, failed")
            self.assertIsNone(records[row]["fired_ns"])
            self.assertIsNone(records[row]["parent_end_ns"])
        self.assertEqual(run.json("summary.json")["dropped"], 2)
        self.assertIn("2 rows waited for a row that failed", run.said)
        self.assertIsNone(run.json("run.json")["plan"]["prompts_digest"])
        again = subprocess.run([DRIFTLESS, "replay", "--resume", str(run.folder)], check=False,
                               capture_output=True, text=True, timeout=SECONDS_MAX)
        self.assertEqual(again.returncode, 2)
        self.assertIn("; 2 were not sent because a row that they waited for failed;",
                      again.stderr)
        self.assertNotIn("interrupted", again.stderr)

    def test_needs_dependencies(self):
        """A trace in which nothing waits is refused, in one line with the remedy."""
        run = self.replay(SAMPLE, "--dry-run", *CLOSED)
        self.assertEqual(run.code, 3)
        self.assertEqual(run.complained.count("\n"), 1)
        self.assertIn("no row of the trace says which row it waits for; remove the flag",
                      run.complained)
        self.assertIn("or use --users N", run.complained)

    def test_dry_run_says_what_it_can(self):
        run = self.replay_well(WEKA, "--dry-run", *CLOSED)
        self.assertIn("at least 0.550 s (recorded gaps alone), ", run.said)
        self.assertIn("sent within 0.000 s at speed 1", run.said)
        plan = run.json("run.json")["plan"]
        self.assertEqual((plan["least_ns"], plan["last_due_ns"]), (550 * MS, 0))
        recorded = self.replay_well(WEKA, "--dry-run", "--sessions", "open").json("run.json")
        self.assertNotEqual(plan["schedule_digest"], recorded["plan"]["schedule_digest"])
        self.assertEqual(plan["prompts_digest"], recorded["plan"]["prompts_digest"])

    def test_what_is_outside_is_over(self):
        """A turn whose parent is left out of the window has its recorded instant, and is counted."""
        with mock("--ttft", "1ms", "--itl", "0") as server:
            run = self.replay_well(WEKA, "--url", server.url, *CLOSED, "--start", "0.3s")
        records = run.records()
        self.assertEqual(sorted(records), [2, 3, 5])
        self.assertEqual([records[row]["due_ns"] for row in (2, 3, 5)], [0, 150 * MS, 400 * MS])
        self.assertEqual({one["parent_end_ns"] for one in records.values()}, {None})
        self.assertIn("3 rows wait for rows outside the selection", run.said)

    def test_from_repeats_it_closed(self):
        with mock("--ttft", "1ms", "--itl", "0") as server:
            first = self.replay_well(WEKA, "--url", server.url, *CLOSED, "--speed", 10)
            again = self.replay_well("--from", first.folder, "--url", server.url)
            other = self.replay("--from", first.folder, "--url", server.url, "--sessions", "open")
        self.assertEqual(again.json("run.json")["plan"]["schedule_digest"],
                         first.json("run.json")["plan"]["schedule_digest"])
        records = again.records()
        for row, (parent, delay_ns) in WAITS.items():
            self.check_turn(records, row, parent, delay_ns // 10)
        self.assertEqual(other.code, 3)
        self.assertIn("the due instants differ from the run's", other.complained)

    def test_a_killed_run_goes_on(self):
        """Turns of the second segment wait for answers of the first, on its timeline; what waited
        for a row that was lost is not sent."""
        # Long gaps: answers are in the file before the kill. Short ones: they never are.
        rows = []
        for session, turns, delay_ms in (("a", 3, 2000), ("b", 3, 2000), ("c", 30, 100)):
            rows.append((f"{session}0", [], 0))
            rows += [(f"{session}{turn}", [f"{session}{turn - 1}"], delay_ms)
                     for turn in range(1, turns)]
        trace = self.write("t.jsonl", agentic(rows))
        with mock("--ttft", "30ms", "--itl", "1ms") as server:
            process, folder = self.start(trace, "--url", server.url, *CLOSED)
            while not (folder / "requests.jsonl").read_text().count('"turn":2,') == 3:
                time.sleep(0.01)  # until the second turn of each has a record
            process.kill()
            process.wait()
            done = subprocess.run([DRIFTLESS, "replay", "--resume", str(folder)], check=False,
                                  capture_output=True, text=True, timeout=SECONDS_MAX)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        told = read_jsonl(folder / "requests.jsonl")
        records = {record["row"]: record for record in told}
        self.assertEqual(len(told), len(records))
        self.assertEqual(sorted(records), list(range(len(rows))))
        numbers = [record["request"] for record in told]
        self.assertEqual(sorted(numbers), list(range(len(rows))))
        over = 0
        for row, record in records.items():
            if rows[row][1] == [] or record["outcome"] == "interrupted":
                continue
            before = records[row - 1]
            if before["outcome"] in ("interrupted", "not_sent"):
                self.assertEqual(record["outcome"], "not_sent")
                self.assertIn("which it waited for, failed", record["error"])
                continue
            self.check_turn(records, row, row - 1, rows[row][2] * MS)
            over += before["segment"] < record["segment"]
        self.assertGreaterEqual(over, 2, done.stdout)  # a and b; c where it was in a gap
        summary = (folder / "summary.json").read_text()
        said = subprocess.run([DRIFTLESS, "report", str(folder), "--json"], check=True,
                              capture_output=True, text=True).stdout
        self.assertEqual(said, summary)


if __name__ == "__main__":
    unittest.main()

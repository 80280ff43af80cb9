"""--abandon: clients that give requests up by plan. The server sees each connection close at its instant."""

import statistics
import subprocess
import unittest

from harness import Case, DRIFTLESS, SAMPLE, agentic, mock, read_jsonl, row_of

MS = 1_000_000
# A host that others use, too, may be as late as this.
LATE = 250 * MS


class Abandon(Case):
    def given_up(self, run):
        return {row: one for row, one in run.records().items() if one["outcome"] == "abandoned"}

    def waited_ns(self, record):
        return record["ended_ns"] - record["fired_ns"]

    def test_the_server_sees_the_connection_close(self):
        log = self.scratch / "mock.jsonl"
        flags = ("--seed", 3, "--abandon", "40%:20ms..200ms", "--goodput", "ttft:100",
                 "--fail-if", "errors > 0 %", "--period", "1s")  # fmt: skip
        with mock("--ttft", "60ms", "--itl", "5ms", "--log", log) as server:
            run = self.replay_well(SAMPLE, "--url", server.url, *flags)
            again = self.replay_well("--from", run.folder, "--url", server.url)
        records, given_up = run.records(), self.given_up(run)
        self.assertEqual({one["outcome"] for one in records.values()}, {"ok", "abandoned"})
        self.assertTrue(50 <= len(given_up) <= 130, len(given_up))
        self.check_server(run, log, given_up)
        self.check_summary(run, records, given_up)
        drawn = self.given_up(again)
        both = set(drawn) & set(given_up)
        self.assertGreater(len(both), 0.9 * len(given_up))  # but for answers that ended just then
        apart = [abs(self.waited_ns(drawn[row]) - self.waited_ns(given_up[row])) for row in both]
        self.assertLess(statistics.median(apart), 5 * MS)

    def check_server(self, run, log, given_up):
        zero = run.json("run.json")["clock"]["zero_monotonic_ns"]
        lines = {}
        for line in read_jsonl(log):
            if line["request_id"].startswith(run.json("run.json")["run_id"]):
                lines[row_of(line["request_id"])] = line
        aborted = {row for row, line in lines.items() if line["ending"] == "aborted"}
        self.assertEqual(aborted, set(given_up))
        seen_ns = []
        for row, record in given_up.items():
            waited = self.waited_ns(record)
            self.assertTrue(20 * MS <= waited <= 200 * MS + LATE, record)
            self.assertEqual((record["done_ns"], record["error"]), (None, None))
            seen_ns.append(lines[row]["end_ns"] - zero - record["ended_ns"])
        self.assertTrue(all(-MS <= ns <= LATE for ns in seen_ns), seen_ns)
        self.assertLess(statistics.median(seen_ns), 5 * MS)

    def check_summary(self, run, records, given_up):
        summary = run.json("summary.json")
        with_token = [one for one in given_up.values() if one["first_token_ns"] is not None]
        said = summary["abandoned"]
        self.assertEqual(said["requests"], len(given_up))
        self.assertEqual(said["no_first_token"], len(given_up) - len(with_token))
        self.assertEqual(said["output_tokens"],
                         sum(one["output_tokens"] or 0 for one in given_up.values()))
        self.assertEqual(said["input_tokens"], sum(one["input_length"] for one in with_token))
        self.assertGreater(said["output_tokens"], 0)
        self.assertEqual((summary["failed"], summary["errors"]), (0, []))
        self.assertEqual(summary["outcomes"]["abandoned"], len(given_up))
        self.assertEqual(summary["completed"], len(records) - len(given_up))
        self.assertEqual(summary["count_ttft"], summary["completed"] + len(with_token))
        self.assertEqual(summary["count_e2el"], summary["completed"])
        periods = read_jsonl(run.folder / "periods.jsonl")
        self.assertEqual(sum(one["abandoned"] for one in periods), len(given_up))
        self.assertEqual(sum(one["failed"] for one in periods), 0)
        self.assertIn(f", {len(given_up)} abandoned", run.said)
        rules = run.json("run.json")["request"]["abandon"]
        self.assertEqual(rules, {"share": 0.4, "from_ns": 20 * MS, "to_ns": 200 * MS, "seed": 3})
        told = subprocess.run([DRIFTLESS, "report", str(run.folder)], capture_output=True,
                              text=True, check=True).stdout  # fmt: skip
        self.assertIn("Abandoned", told)
        self.assertIn(f"{len(given_up)} abandoned", told)

    def test_the_conversation_goes_on(self):
        """The next turn comes so long after the end of the one that was given up, retries or not."""
        rows = [("a", [], 0), ("b", ["a"], 30), ("c", ["b"], 0), ("d", ["c"], 50)]
        trace = self.write("turns.jsonl", agentic(rows))
        flags = (trace, "--abandon", "1:10ms..40ms")
        played = (("--sessions", "closed"), ("--users", 1, "--on-failure", "retry:3"))
        with mock("--ttft", "30s") as server:
            for sessions in played:
                run = self.replay(*flags, "--url", server.url, *sessions,
                                  "--no-preflight", "--model", "mock-model")  # fmt: skip
                self.assertEqual(run.code, 5, run.complained)  # nothing was answered whole
                records = run.records()
                self.assertEqual(len(read_jsonl(run.folder / "requests.jsonl")), 4)
                for row, (_, _, delay_ms) in enumerate(rows):
                    self.assertEqual(records[row]["outcome"], "abandoned", records[row])
                    if row > 0:
                        end_ns = records[row - 1]["ended_ns"]
                        self.assertEqual(records[row]["parent_end_ns"], end_ns)
                        self.assertEqual(records[row]["due_ns"], end_ns + delay_ms * MS)

    def test_refuses_what_it_cannot_read(self):
        for wrong in ("10%", "0:1s..2s", "10%:2s..1s", "200%:1s..2s"):
            run = self.replay(SAMPLE, "--url", "http://127.0.0.1:9", "--abandon", wrong)
            self.assertEqual(run.code, 2)
            self.assertIn(f'--abandon "{wrong}" is not a share of the requests', run.complained)


if __name__ == "__main__":
    unittest.main()

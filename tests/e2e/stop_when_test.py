"""--stop-when: a run whose outcome is certain ends early, with 8, and every row has its record."""

import collections
import subprocess
import unittest

from harness import Case, DRIFTLESS, SAMPLE, mock, read_jsonl

BEYOND = 8
NS = 1e9
# From the end of a period until the engine has stopped, on a busy host.
REACTION_S = 1.5


class StopWhen(Case):
    def check_stop(self, run, condition):
        """Nothing left behind the stop; what it says stands in every place."""
        self.assertEqual(run.code, BEYOND, run.complained)
        stopped = run.json("summary.json")["stopped_when"]
        self.assertEqual(stopped["cond"], condition)
        end = run.json("run.json")["end"]
        self.assertEqual((end["stopped_when"], end["exit_code"]), (stopped, BEYOND))
        self.assertFalse(end["interrupted"])
        fired = [one["fired_ns"] for one in run.records().values() if one["fired_ns"] is not None]
        self.assertLess(max(fired) / NS, stopped["at_s"] + REACTION_S)
        self.assertIn(f"--stop-when {condition}: ", run.said)
        told = subprocess.run([DRIFTLESS, "report", str(run.folder)], capture_output=True,
                              text=True, check=True).stdout  # fmt: skip
        self.assertIn(f"--stop-when {condition}: ", told)
        return stopped

    def outcomes(self, run):
        lines = read_jsonl(run.folder / "requests.jsonl")
        return collections.Counter(one["outcome"] for one in lines)

    def test_too_many_errors(self):
        flags = ("--period", "1s", "--stop-when", "ttft:p99 > 1h", "--stop-when", "errors > 5 %")
        with mock("--ttft", "1ms", "--itl", "1ms", "--fault", "500:0.5") as server:
            run = self.replay(SAMPLE, "--url", server.url, *flags, "--no-preflight", "--model",
                              "mock-model")  # fmt: skip
        stopped = self.check_stop(run, "errors > 5 %")
        self.assertTrue(0.1 < stopped["value"] < 0.9, stopped)
        self.assertEqual(stopped["unit"], "share")
        self.assertLess(stopped["at_s"], 8)
        outcomes = self.outcomes(run)
        self.assertEqual(sum(outcomes.values()), 240)
        self.assertGreater(outcomes["not_sent"], 20)
        again = subprocess.run([DRIFTLESS, "replay", "--resume", str(run.folder)],
                               capture_output=True, text=True)  # fmt: skip
        self.assertEqual(again.returncode, 2)
        self.assertIn("stopped by --stop-when", again.stderr)

    def test_slow_for_some_time(self):
        """Answers that are open get --grace, and have not failed when they are cut off."""
        condition = "ttft:p50 > 20ms for 2s"
        with mock("--ttft", "50ms", "--itl", "20ms") as server:
            run = self.replay(SAMPLE, "--url", server.url, "--period", "500ms", "--grace", "200ms",
                              "--stop-when", condition)  # fmt: skip
        stopped = self.check_stop(run, condition)
        self.assertEqual(stopped["unit"], "ms")
        self.assertTrue(50 <= stopped["value"] < 1000, stopped)
        self.assertGreaterEqual(stopped["at_s"], 2)
        cut = [one for one in run.records().values() if one["outcome"] == "cancelled"]
        self.assertGreater(len(cut), 0)
        self.assertTrue(all(one["censored"] for one in cut))
        summary = run.json("summary.json")
        self.assertEqual(summary["failed"], self.outcomes(run)["not_sent"])
        self.assertEqual(summary["censored"], len(cut))

    def test_users(self):
        condition = "tpot:mean >= 2ms for 1s"
        with mock("--ttft", "5ms", "--itl", "3ms") as server:
            run = self.replay(SAMPLE, "--url", server.url, "--concurrency", 8, "--recycle", "--for",
                              "60s", "--period", "1s", "--stop-when", condition)  # fmt: skip
        stopped = self.check_stop(run, condition)
        self.assertLess(stopped["at_s"], 10)
        self.assertEqual(self.outcomes(run)["not_sent"], 0)

    def test_goes_on_where_nothing_holds(self):
        """Too few requests to judge by; a condition that does not hold."""
        with mock("--ttft", "1ms", "--itl", "0", "--fault", "500:0.5") as server:
            few = self.replay(SAMPLE, "--url", server.url, "--limit", 19, "--period", "100ms",
                              "--no-preflight", "--model", "mock-model",
                              "--stop-when", "errors > 0 %")  # fmt: skip
        self.assertEqual(few.code, 0, few.complained)
        self.assertIsNone(few.json("summary.json")["stopped_when"])
        self.assertNotIn("not_sent", self.outcomes(few))

    def test_refused(self):
        for condition, why in (("good < 90 %", "only known at the end"),
                               ("errors > 5 % for soon", 'needs a time after "for"')):  # fmt: skip
            run = self.replay(SAMPLE, "--dry-run", "--stop-when", condition)
            self.assertEqual(run.code, 2)
            self.assertIn(why, run.complained)
        run = self.replay(SAMPLE, "--dry-run", "--period", "none", "--stop-when", "errors > 5 %")
        self.assertIn("--period none", run.complained)


if __name__ == "__main__":
    unittest.main()

"""Published rules: what they set, and what becomes of each in a run, with causes planted."""

import json
import signal
import subprocess
import unittest

from harness import Case, DRIFTLESS, SAMPLE, SECONDS_MAX, mock

WEKA = SAMPLE.parent / "traces" / "weka"
AGENTX = ("--rules", "agentx-mvp", "--users", 2, "--for", "900ms",
          "--start-within", "0:0")
LENIENT = """
name = "mine"
version = "7"
source = "here"
[[rule]]
name = "errors"
measure = "error_share"
max = 0.5
[[rule]]
name = "duration"
measure = "duration"
min = 0.5
[[rule]]
name = "warm"
measure = "first_turn_hits"
max = 0.01
"""


class Rules(Case):
    def play(self, *flags, server_flags=()):
        with mock("--ttft", "2ms", "--itl", "1ms", *server_flags) as server:
            return self.replay(WEKA, "--url", server.url, *flags)

    def rules_of(self, run):
        return {(one["set"], one["rule"]): one for one in run.json("summary.json")["rules"]}

    def states(self, run):
        return {rule: one["state"] for (_, rule), one in self.rules_of(run).items()}

    def report(self, run, *flags):
        done = subprocess.run([DRIFTLESS, "report", run.folder, *flags], capture_output=True,
                              text=True, timeout=SECONDS_MAX, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_a_short_run_of_agentx(self):
        run = self.play(*AGENTX)
        self.assertEqual(run.code, 0, run.said + run.complained)
        states = self.states(run)
        self.assertEqual(states["duration"], "violated")
        self.assertEqual(states["corpus-trees"], "violated")
        for rule in ("context-overflows", "errors", "answered", "cut-short", "users-live",
                     "exact-output", "--recycle", "--system-idle-cap"):
            self.assertEqual(states[rule], "met", rule)
        self.assertEqual(states["barrier"], "met")
        for rule in ("corpus-ceiling", "corpus-digest"):
            self.assertEqual(states[rule], "unknown", rule)
        duration = self.rules_of(run)["agentx-mvp", "duration"]
        self.assertEqual(duration["evidence"], "0.9 s")
        self.assertEqual(duration["bound"], "at least 900 s")
        self.assertEqual(duration["version"], "agentx-v1.0.5")
        self.assertIn("@6f666ba0", duration["source"])
        self.assertIn("Rules           agentx-mvp (agentx-v1.0.5): ", run.said)
        self.assertIn("Violated        duration: 0.9 s; at least 900 s", run.said)
        told = json.loads(self.report(run, "--json"))["rules"]
        self.assertEqual(told, run.json("summary.json")["rules"])

    def test_required(self):
        run = self.play(*AGENTX, "--require-rules")
        self.assertEqual(run.code, 6)
        rules = self.write("mine.toml", LENIENT)
        well = self.play("--users", 2, "--rules", rules, "--require-rules", "--recycle", "--for",
                         "600ms")
        self.assertEqual(well.code, 0, well.said + well.complained)
        self.assertEqual(set(self.states(well).values()), {"met"})

    def test_a_run_full_of_errors(self):
        """Its own tests call it valid; ours do not, and it is said which let it pass."""
        rules = self.write("mine.toml", LENIENT.replace("max = 0.5", "max = 0.5\npublished = false"))
        run = self.play("--users", 2, "--rules", rules, "--on-failure", "continue", "--no-preflight",
                        "--model", "m", "--recycle", "--for", "600ms",
                        server_flags=("--fault", "500:1"))
        self.assertEqual(self.states(run)["errors"], "violated")
        self.assertIn("the publisher's own tests call this run valid: duration", run.said.replace(
            "\n                ", " "))

    def test_a_warm_cache(self):
        """The same prompts a second time: somebody else had left them there."""
        rules = self.write("mine.toml", LENIENT)
        flags = ("--users", 2, "--rules", rules)
        with mock("--ttft", "2ms", "--itl", "1ms", "--cache-block", 16) as server:
            cold = self.replay(WEKA, "--url", server.url, *flags)
            warm = self.replay(WEKA, "--url", server.url, *flags)
        self.assertEqual(self.states(cold)["warm"], "met")
        self.assertEqual(self.states(warm)["warm"], "violated")

    def test_interrupted(self):
        with mock("--ttft", "2ms", "--itl", "1ms") as server:
            process, folder = self.start(WEKA, "--url", server.url, "--rules", "agentx-mvp", "--start-within", "0:0",
                                         "--users", 2)
            process.send_signal(signal.SIGINT)
            run = self.finish(process, folder)
        self.assertEqual(run.code, 130)
        self.assertEqual(self.states(run)["cut-short"], "violated")
        self.assertEqual(json.loads(self.report(run, "--json"))["rules"],
                         run.json("summary.json")["rules"])

    def test_killed(self):
        with mock("--ttft", "2ms", "--itl", "1ms") as server:
            process, folder = self.start(WEKA, "--url", server.url, "--rules", "agentx-mvp", "--start-within", "0:0",
                                         "--users", 2, until="requests.jsonl")
            process.kill()
            run = self.finish(process, folder)
        told = {one["rule"]: one for one in json.loads(self.report(run, "--json"))["rules"]}
        self.assertEqual(told["cut-short"]["state"], "violated")
        self.assertEqual(told["cut-short"]["evidence"], "the run was killed, or is still running")
        self.assertEqual(told["duration"]["state"], "violated")

    def test_again(self):
        """--from plays by the same rules; a file is found from anywhere."""
        self.write("mine.toml", LENIENT)
        with mock("--ttft", "0", "--itl", "0") as server:
            first = subprocess.run(
                [DRIFTLESS, "replay", WEKA, "--url", server.url, "--users", "2", "--rules",
                 "./mine.toml", "--calibration", "none", "--out", "first"], capture_output=True,
                text=True, timeout=SECONDS_MAX, check=False, cwd=self.scratch)
            self.assertEqual(first.returncode, 0, first.stderr)
            again = self.replay("--from", self.scratch / "first", "--cache-salt", "x")
        self.assertEqual(again.code, 0, again.said + again.complained)
        self.assertEqual({one["set"] for one in again.json("summary.json")["rules"]}, {"mine"})

    def test_admitted(self):
        with mock("--ttft", "0", "--itl", "0") as server:
            run = self.replay_well(WEKA, "--url", server.url, "--users", 1, "--max-context", 257)
            self.assertIn("1 of 2 session trees are used", run.said)
            self.assertEqual(run.json("run.json")["load"]["trees_admitted"], 1)
            none = self.replay(WEKA, "--url", server.url, "--users", 1, "--max-context", 9)
        self.assertEqual(none.code, 3)
        self.assertIn("--max-context: every session", none.complained)


if __name__ == "__main__":
    unittest.main()

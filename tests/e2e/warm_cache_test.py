"""A cache that is warm from an earlier run is told, and --reset-cache empties it with proof."""

import json
import subprocess
import unittest

from harness import DRIFTLESS, SAMPLE, SECONDS_MAX, Case, mock, read_jsonl, receiver

FAST = ("--ttft", "1ms", "--itl", "0ms")


class WarmCache(Case):
    def play(self, server, *flags, trace=SAMPLE):
        run = self.replay_well(trace, "--url", server.url, "--speed", 50, *flags)
        return run, run.json("summary.json")

    def expect(self, played, probe, warm):
        run, summary = played
        self.assertEqual(summary["warm_cache"]["probe"], probe)
        self.assertEqual(summary["warm_cache"]["warm"], warm)
        self.assertEqual(run.json("run.json")["cache_probe"]["state"], probe)
        reasons = [r for r in summary["verdict"]["reasons"] if "the server, not the client" in r]
        self.assertEqual(len(reasons), 1 if warm else 0)
        self.assertEqual(len(summary["verdict"]["warnings"]), 1 if warm else 0)
        self.assertEqual("the prefix cache is warm" in run.complained, probe == "warm")
        for remedy in ("--cache-salt random", "--reset-cache") if warm else ():
            self.assertIn(remedy, summary["verdict"]["warnings"][0])

    def test_the_second_run_is_told(self):
        """The same seed on the same mock; a salt or an emptied cache makes it cold again."""
        with mock(*FAST, "--cache-block", 64) as server:
            first = self.play(server)
            self.expect(first, "cold", False)
            self.expect(self.play(server), "warm", True)
            self.expect(self.play(server, "--cache-salt", "random"), "cold", False)
            self.expect(self.play(server, "--seed", 5), "cold", False)
            emptied = self.play(server, "--reset-cache")
            self.expect(emptied, "cold", False)
            self.assertEqual(emptied[1]["warm_cache"]["reset"], "/reset_prefix_cache")
            self.assertIn("emptied with POST /reset_prefix_cache", emptied[0].said)
            self.assertEqual(
                emptied[1]["cache"]["cached_tokens"], first[1]["cache"]["cached_tokens"]
            )
            self.expect(self.play(server), "warm", True)

    def test_rows_alone_tell_it_too(self):
        """Without the probe; and its requests are rows of no record."""
        with mock(*FAST) as server:
            run, _ = self.play(server)
            self.assertEqual(len(read_jsonl(run.folder / "requests.jsonl")), 240)
            self.expect(self.play(server, "--no-warm-probe"), "off", True)

    def test_what_is_not_reported_is_unknown(self):
        with mock(*FAST, "--cached-tokens", "never") as server:
            for _ in range(2):
                run, summary = self.play(server)
                self.assertEqual(summary["warm_cache"]["probe"], "unknown")
                self.assertIsNone(summary["warm_cache"]["warm"])
                self.assertIn("not known whether warm: the server reports no cached tokens", run.said)

    def test_report_says_the_same(self):
        with mock(*FAST) as server:
            self.play(server)
            run, summary = self.play(server)
        done = subprocess.run(
            [DRIFTLESS, "report", run.folder, "--json"],
            capture_output=True, text=True, timeout=SECONDS_MAX, check=True,
        )  # fmt: skip
        again = json.loads(done.stdout)
        self.assertEqual(again["warm_cache"], summary["warm_cache"])
        self.assertEqual(again["verdict"]["reasons"], summary["verdict"]["reasons"])

    def test_repeated_with_another_salt(self):
        """--from plays the same prompts, which are warm; another salt says that they differ."""
        with mock(*FAST) as server:
            run, _ = self.play(server)
            self.expect(self.play(server, "--from", run.folder), "warm", True)
            salted = self.play(server, "--from", run.folder, "--cache-salt", "random")
        self.expect(salted, "cold", False)
        self.assertIn("prompts use other words than the run's", salted[0].said)

    def test_two_names_of_one_server(self):
        """Are no earlier run of each other."""
        with mock(*FAST) as server:
            also = ("--url", server.url.replace("127.0.0.1", "localhost"))
            self.expect(self.play(server, *also), "cold", False)
            self.expect(self.play(server, *also), "warm", True)
            again = self.play(server, *also, "--reset-cache")
            self.expect(again, "cold", False)

    def test_a_warm_start_is_no_earlier_run(self):
        """Users whose first trees begin inside prime their prefixes on purpose."""
        rows = []
        for session in range(6):
            for turn in range(5):
                rows.append(json.dumps({
                    "session_id": f"s{session}", "timestamp": 1000 * turn + session,
                    "input_length": 512 * (turn + 1), "output_length": 8,
                    "hash_ids": [100 * session + k for k in range(turn + 1)],
                }))  # fmt: skip
        trace = self.write("trees.jsonl", "\n".join(rows) + "\n")
        users = ("--users", 3, "--start-within", "0.3:0.8", "--gap", "none")
        with mock(*FAST) as server:
            self.expect(self.play(server, *users, trace=trace), "cold", False)
            self.expect(self.play(server, *users, trace=trace), "warm", True)

    def test_a_resumed_run_finds_its_own_rows(self):
        """Which is no earlier run: what the first segment saw holds for all of it."""
        with mock("--ttft", "1ms", "--itl", "1ms") as server:
            process, folder = self.start(SAMPLE, "--url", server.url, "--speed", 4)
            process.kill()
            self.finish(process, folder)
            run = self.replay("--resume", folder, "--speed", 4)
            self.assertEqual(run.code, 2)  # it has its speed
            command = [DRIFTLESS, "replay", "--resume", str(folder)]
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=SECONDS_MAX, check=True
            )
        self.assertIn("cache: not probed, because it holds the rows sent before", done.stdout)
        summary = json.loads((folder / "summary.json").read_text())
        self.assertEqual(summary["warm_cache"]["probe"], "cold")
        self.assertFalse(summary["warm_cache"]["warm"])
        self.assertEqual(summary["verdict"]["warnings"], [])


class ResetCache(Case):
    def refuse(self, server, *flags, code=4):
        folder = self.scratch / "refused"
        run = self.replay(SAMPLE, "--url", server.url, "--speed", 50, "--reset-cache", *flags,
                          folder=folder)  # fmt: skip
        self.assertEqual(run.code, code, run.said + run.complained)
        self.assertFalse(folder.exists())
        return run.complained

    def test_by_sglangs_endpoint(self):
        with mock(*FAST, "--cache-reset", "sglang") as server:
            run = self.replay_well(
                SAMPLE, "--url", server.url, "--speed", 50, "--reset-cache", "--api-key", "k"
            )
        self.assertEqual(run.json("summary.json")["warm_cache"]["reset"], "/flush_cache")

    def test_no_endpoint(self):
        with mock(*FAST, "--cache-reset", "none") as server:
            said = self.refuse(server)
        self.assertIn("VLLM_SERVER_DEV_MODE=1", said)
        self.assertIn("--cache-salt random", said)

    def test_one_that_does_nothing(self):
        with mock(*FAST, "--cache-reset", "pretended") as server:
            self.assertIn("are still cached", self.refuse(server))

    def test_nothing_that_proves_it(self):
        with mock(*FAST, "--cached-tokens", "never") as server:
            self.assertIn("cannot be checked", self.refuse(server))

    def test_contradictions(self):
        with receiver() as server:
            for flag in ("--dry-run", "--no-warm-probe"):
                self.assertIn(flag, self.refuse(server, flag, code=2))
            blind = ("--no-preflight", "--model", "m")
            self.assertIn("--no-preflight", self.refuse(server, *blind, code=2))


if __name__ == "__main__":
    unittest.main(verbosity=2)

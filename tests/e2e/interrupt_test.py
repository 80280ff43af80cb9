"""A run that is interrupted, twice, or killed keeps every promise that it still can."""

import os
import signal
import subprocess
import time
import unittest

from harness import Case, DRIFTLESS, SAMPLE, mock, read_jsonl, receiver, row_of, send_signal

INTERRUPTED = 130
# Preflight would wait for the second token of a server that takes a minute for it.
UNASKED = ("--no-preflight", "--model", "m")


class Interrupt(Case):
    def start(self, server, *flags):
        return super().start(SAMPLE, "--url", server.url, "--speed", 4, *flags)

    def check_conservation(self, run):
        records = run.records()
        self.assertEqual(len(records), len(self.sample_rows()), "one record per row")
        outcomes = {record["outcome"] for record in records.values()}
        for record in records.values():
            left = record["fired_ns"] is not None
            self.assertEqual(record["outcome"] == "not_sent", not left)
        return outcomes

    def test_once_drains(self):
        """What is in flight ends inside the grace; what had not left is not_sent."""
        with receiver("--first-ms", 20, "--between-ms", 2) as server:
            process, folder = self.start(server, "--grace", "60s")
            process.send_signal(signal.SIGINT)
            run = self.finish(process, folder)
        self.assertEqual(run.code, INTERRUPTED, run.complained)
        self.assertEqual(self.check_conservation(run), {"ok", "not_sent"})
        self.assertTrue(run.json("run.json")["end"]["interrupted"])
        unsent = sum(record["outcome"] == "not_sent" for record in run.records().values())
        self.assertRegex(run.said, rf"\nRequests        [0-9]+ of [0-9]+ ok, {unsent} not sent\b")  # fmt: skip
        self.assertNotIn("\nFailed ", run.said)
        self.assertEqual(run.json("summary.json")["urls"][0]["failed"], 0)
        again = subprocess.run([DRIFTLESS, "replay", "--resume", str(folder)], capture_output=True,
                               text=True, check=False)  # fmt: skip
        self.assertEqual(again.returncode, 2)
        self.assertIn(f"; {unsent} were not sent because the run was interrupted", again.stderr)
        self.assertIn("repeats all of them in a new run", again.stderr)

    def test_terminate_is_an_interrupt_too(self):
        with receiver("--first-ms", 20, "--between-ms", 2) as server:
            process, folder = self.start(server, "--grace", "60s")
            process.send_signal(signal.SIGTERM)
            run = self.finish(process, folder)
        self.assertEqual(run.code, INTERRUPTED, run.complained)
        self.check_conservation(run)

    def test_there_is_no_digest_of_some_prompts(self):
        """Rows that were never built are in no digest: `--from` would compare it with all."""
        with receiver("--first-ms", 20, "--between-ms", 2) as server:
            process, folder = self.start(server, "--grace", "60s", "--arm-ahead", "100ms")
            process.send_signal(signal.SIGINT)
            run = self.finish(process, folder)
        self.assertEqual(run.code, INTERRUPTED, run.complained)
        self.assertIsNone(run.json("run.json")["plan"]["prompts_digest"])

    def test_while_the_host_is_measured(self):
        """A stop before time 0 ends at once: nothing was sent, and the folder is free again."""

        def interrupted(number, wait_s):
            env = {**os.environ, "XDG_STATE_HOME": str(self.scratch / f"state{self.runs}")}
            log = self.scratch / f"truth{self.runs}.jsonl"
            with mock("--log", log) as server:
                command, folder = self.command(SAMPLE, "--url", server.url, "--calibration", "auto")
                process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                           text=True, env=env)  # fmt: skip
                self.addCleanup(process.kill)
                for line in process.stdout:
                    if line.startswith("calibration: measuring this host"):
                        break
                time.sleep(wait_s)  # into the rehearsal
                measures = not folder.exists()  # it is made behind the measurement
                process.send_signal(number)
                run = self.finish(process, folder)
            if measures and not folder.exists():
                self.assertEqual(run.code, INTERRUPTED, run.complained)
                self.assertIn("interrupted before the first request; nothing was written",
                              run.complained)
                rows = [row_of(line["request_id"]) for line in read_jsonl(log)]
                self.assertEqual(set(rows), {None}, "a row was sent")
            return not folder.exists()

        self.assertTrue(interrupted(signal.SIGINT, 0))
        # A test that gets no CPU sends the signal too late.
        self.assertTrue(any(interrupted(signal.SIGTERM, wait_s) for wait_s in (0.9, 0.6, 0.3)))

    def test_grace_ends(self):
        """Answers that outlive the grace are cancelled."""
        with receiver("--first-ms", 1, "--between-ms", 60_000) as server:
            process, folder = self.start(server, "--grace", "200ms", *UNASKED)
            process.send_signal(signal.SIGINT)
            run = self.finish(process, folder)
        self.assertEqual(run.code, INTERRUPTED, run.complained)
        self.assertIn("cancelled", self.check_conservation(run))

    def test_twice_cancels(self):
        """The second one does not wait for the grace."""
        with receiver("--first-ms", 1, "--between-ms", 60_000) as server:
            process, folder = self.start(server, "--grace", "10m", *UNASKED)
            send_signal(process, signal.SIGINT)
            send_signal(process, signal.SIGINT)
            run = self.finish(process, folder)
        self.assertEqual(run.code, INTERRUPTED, run.complained)
        self.assertIn("cancelled", self.check_conservation(run))

    def stop_a_while(self, process, folder, seconds):
        self.stopped_ns = time.monotonic_ns()
        process.send_signal(signal.SIGSTOP)
        time.sleep(seconds)
        process.send_signal(signal.SIGCONT)
        return self.finish(process, folder)

    def test_rows_that_a_stop_made_late(self):
        """Their cause is the stop, and neither the rows before them nor what was not ready then.
        Rows that fell due behind it may be late for what it left to prepare."""
        with receiver("--first-ms", 5, "--between-ms", 1) as server:
            process, folder = self.start(server, "--arm-ahead", "100ms")
            run = self.stop_a_while(process, folder, 1)
        rows = run.records().values()
        stopped = self.stopped_ns - run.json("run.json")["clock"]["zero_monotonic_ns"]
        if any((record["drift_ns"] or 0) > 50_000_000 for record in rows if 0 < stopped - record["due_ns"] < 300_000_000):
            self.skipTest("rows were late before the stop: this machine is too busy")
        due_meanwhile = range(stopped + 200_000_000, stopped + 900_000_000)
        meanwhile = [record for record in rows if record["due_ns"] in due_meanwhile]
        self.assertGreater(len(meanwhile), 15)
        self.assertEqual({record["late_cause"] for record in meanwhile}, {"wake"})
        late = {r["late_cause"] for r in rows if r["drift_ns"] > 200_000_000}
        self.assertLessEqual(late, {"wake", "prepare"})

    def test_rows_that_a_stop_found_held_back(self):
        """They were late before it, for what the user asked for, and are so after it."""
        with receiver("--first-ms", 5, "--between-ms", 1) as server:
            process, folder = self.start(server, "--max-inflight", 2)
            run = self.stop_a_while(process, folder, 0.3)
        late = [r for r in run.records().values() if (r["drift_ns"] or 0) > 500_000_000]
        self.assertGreater(len(late), 20)
        self.assertEqual({record["late_cause"] for record in late}, {"inflight"})

    def test_stopped_for_longer_than_a_timeout(self):
        """What came while the process stood still came in time: it is read before deadlines count."""
        with receiver("--first-ms", 5, "--between-ms", 10) as server:
            command, folder = self.command(
                SAMPLE, "--url", server.url, "--speed", 20, "--timeout-idle", "1s",
            )
            process = self.launch(command, folder)
            time.sleep(0.4)  # most rows are due by then; few have ended
            run = self.stop_a_while(process, folder, 2.5)
        self.assertEqual(run.code, 0, run.complained)
        self.assertEqual(self.check_conservation(run), {"ok"})

    def test_kill_leaves_a_readable_prefix(self):
        """Every complete line is JSON, and what had left is known."""
        with receiver("--first-ms", 1, "--between-ms", 1) as server:
            process, folder = self.start(server)
            time.sleep(1.5)  # the files are flushed once a second
            process.kill()
            run = self.finish(process, folder)
        self.assertEqual(run.code, -signal.SIGKILL)
        fired = {line["row"] for line in read_jsonl(folder / "fired.jsonl", whole=False)}
        records = read_jsonl(folder / "requests.jsonl", whole=False)
        self.assertGreater(len(fired), 0)
        for record in records:
            self.assertIn(record["row"], fired)
        self.assertIsNone(run.json("run.json")["end"])


if __name__ == "__main__":
    unittest.main(verbosity=2)

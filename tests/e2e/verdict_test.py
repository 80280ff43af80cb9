"""The verdict tells the client's faults from the host's and from the server's."""

import json
import os
import signal
import subprocess
import sys
import time
import unittest

from calibrated import HOG, LARGE_NS, Calibrated
from harness import SAMPLE, SECONDS_MAX, mock

NOT_CERTIFIED = 6
TAKEN_MAX = 0.1  # taken_max in proto/figures/verdict.hpp


class Verdict(Calibrated):
    def test_the_measured_figures_make_sense(self):
        """A sleep is later than a spin; each rehearsal received what was asked of it."""
        self.assertGreater(self.measured["wake_sleep"]["p50_ns"], self.measured["wake_spin"]["p50_ns"])
        self.assertGreater(self.measured["fire_small"]["p50_ns"], 500)
        self.assertGreater(self.measured["chunks_per_s_max"], 1000)
        self.assertEqual([one["streams"] for one in self.measured["rehearsals"]], [200])

    def test_without_a_calibration_the_bar_taints(self):
        """Prompts of 400,000 words that are built only when they are due: no row is in time."""
        rows = "".join(
            json.dumps({"timestamp": 20 * i, "input_length": 400_000, "output_length": 2}) + "\n"
            for i in range(20)
        )
        trace = self.write("long.jsonl", rows)
        with mock() as server:
            run = self.replay(trace, "--url", server.url, "--format", "mooncake", "--lenient",
                              "--arm-ahead", "1ns", "--calibration", "none", "--certify-within",
                              "sent:0.1ms")
        self.assertEqual(self.verdict(run), "uncalibrated")
        self.assertIn("sent more than 0.100 ms late, cause: prepare", self.reasons(run))
        limits = run.json("summary.json")["verdict"]["limits"]
        self.assertEqual(limits["sent_ns"], 100_000)
        self.assertEqual(limits["read_ns"], 5_000_000)
        for record in run.records().values():
            late = record["drift_ns"] > 100_000
            self.assertEqual("late" in (record["tainted"] or []), late, record["row"])

    def test_a_stopped_client_indicts_itself(self):
        """Stopped for 300 ms: rows that were due then are tainted, and the run is not certified."""
        with mock() as server:
            process, folder = self.start(
                SAMPLE, "--url", server.url, "--speed", 4, *self.floor(5_000_000),
                "--require-certified",
            )  # fmt: skip
            process.send_signal(signal.SIGSTOP)
            time.sleep(0.3)  # the length of the stop is what is tested
            process.send_signal(signal.SIGCONT)
            run = self.finish(process, folder)
        self.assertIn(self.verdict(run), ("host-noisy", "client-limited"))
        self.assertEqual(run.code, NOT_CERTIFIED)
        late = [record["drift_ns"] for record in run.records().values() if record["tainted"]]
        self.assertGreater(max(late), 150_000_000)

    def test_a_stopped_server_is_not_the_clients_fault(self):
        """Stopped for 2 s: certified, and ttft_due of the rows that were due then shows it."""
        with mock() as server:
            process, folder = self.start(
                SAMPLE, "--url", server.url, "--speed", 4, *self.floor(LARGE_NS),
                "--require-certified",
            )  # fmt: skip
            server.process.send_signal(signal.SIGSTOP)
            time.sleep(2)  # the length of the stop is what is tested
            server.process.send_signal(signal.SIGCONT)
            run = self.finish(process, folder)
        self.assertEqual(self.verdict(run), "certified", run.said)
        self.assertEqual(run.code, 0)
        waits = [record["ttft_due_ns"] for record in run.records().values()]
        self.assertGreater(max(waits), 1_500_000_000)

    def test_a_competitor_on_its_core(self):
        """Three busy programs beside a spinning engine: the host took the CPU, and says so."""
        cpu = str(max(os.sched_getaffinity(0)))
        with mock() as server:
            hogs = [subprocess.Popen([sys.executable, "-c", HOG, cpu]) for _ in range(3)]
            try:
                run = self.replay(SAMPLE, "--url", server.url, "--cpu", cpu, "--speed", 4, "--wait",
                                  "spin", *self.floor(100_000))
            finally:
                for hog in hogs:
                    hog.kill()
                    hog.wait(timeout=SECONDS_MAX)
        self.assertEqual(self.verdict(run), "host-noisy", run.said)
        self.assertIn("others used its CPU", self.reasons(run))

    def test_preparation_that_is_too_slow(self):
        """Prompts that are built only when they are due are late by their own length."""
        rows = "".join(
            json.dumps({"timestamp": 20 * i, "input_length": 400_000, "output_length": 2}) + "\n"
            for i in range(40)
        )
        trace = self.write("long.jsonl", rows)
        with mock() as server:
            run = self.replay(trace, "--url", server.url, "--format", "mooncake", "--lenient",
                              "--arm-ahead", "1ns", *self.floor(1_000))
        if run.json("summary.json")["client"]["taken_share_max"] > TAKEN_MAX:
            self.skipTest("others took the CPU: the verdict is theirs, and rightly so")
        self.assertEqual(self.verdict(run), "client-limited", run.said)
        causes = [record["late_cause"] for record in run.records().values() if record["tainted"]]
        self.assertGreater(causes.count("prepare"), 20)

    def test_too_few_receive_buffers(self):
        """Answers that come in one piece, larger than the four buffers of 4 KiB: the kernel runs
        out however soon the engine looks, and the verdict says so."""
        rows = "".join(
            json.dumps({"timestamp": 20 * i, "input_length": 512, "output_length": 8_000}) + "\n"
            for i in range(20)
        )
        trace = self.write("large.jsonl", rows)
        with mock("--tokens-per-chunk", 8_000) as server:
            run = self.replay(trace, "--url", server.url, "--format", "mooncake", "--lenient",
                              "--receive-buffers", 4, *self.floor(LARGE_NS))
        self.assertEqual(self.verdict(run), "client-limited", run.said)
        self.assertIn("receive buffers", self.reasons(run))
        outcomes = {record["outcome"] for record in run.records().values()}
        self.assertEqual(outcomes, {"ok"})


if __name__ == "__main__":
    unittest.main()

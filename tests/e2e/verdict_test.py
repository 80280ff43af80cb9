"""The verdict tells the client's faults from the host's and from the server's."""

import json
import os
import signal
import subprocess
import sys
import time
import unittest

from harness import DRIFTLESS, SAMPLE, SECONDS_MAX, Case, may_raise_priority, mock

USAGE = 2
NOT_CERTIFIED = 6
HOST = 7
TAKEN_MAX = 0.1  # taken_max in engine/stats/verdict.hpp
LARGE_NS = 1_000_000_000
HOG = "import os, sys\nos.sched_setaffinity(0, {int(sys.argv[1])})\nwhile True:\n    pass\n"


class Verdict(Case):
    @classmethod
    def setUpClass(cls):
        """Measured once; the tests then set the floor that they need."""
        cls.scratch_file = f"/tmp/driftless-e2e-calibration-{os.getpid()}.json"
        cls.addClassCleanup(lambda: os.path.exists(cls.scratch_file) and os.remove(cls.scratch_file))
        done = subprocess.run(
            [DRIFTLESS, "calibrate", "--quick", "--accept-noise", "--out", cls.scratch_file],
            capture_output=True, text=True, timeout=SECONDS_MAX, check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        with open(cls.scratch_file) as file:
            cls.measured = json.load(file)

    def calibration(self, floor_ns):
        """A file whose floors are all `floor_ns` at p99."""
        figures = json.loads(json.dumps(self.measured))
        spread = {"count": 1000, "p50_ns": floor_ns, "p99_ns": floor_ns, "p999_ns": floor_ns,
                  "max_ns": floor_ns}
        figures["wake_sleep"] = figures["fire_large"] = spread
        for rehearsal in figures["rehearsals"]:
            rehearsal["drift"] = rehearsal["receive_delay"] = spread
        return self.write("calibration.json", json.dumps(figures))

    def floor(self, floor_ns):
        """Flags of a replay on a host of that floor, whose limits no bar makes smaller."""
        return ("--calibration", self.calibration(floor_ns), "--certify-within",
                f"{10 * floor_ns}ns")

    def reasons(self, run):
        return "; ".join(run.json("summary.json")["verdict"]["reasons"])

    def verdict(self, run):
        verdict = run.json("summary.json")["verdict"]
        self.assertEqual(run.json("run.json")["end"]["verdict"], verdict["name"])
        tainted = [row for row, record in run.records().items() if record["tainted"]]
        self.assertEqual(sorted(verdict["tainted_rows"]), sorted(tainted))
        return verdict["name"]

    def test_the_measured_figures_make_sense(self):
        """A sleep is later than a spin; each rehearsal received what was asked of it."""
        self.assertGreater(self.measured["wake_sleep"]["p50_ns"], self.measured["wake_spin"]["p50_ns"])
        self.assertGreater(self.measured["fire_small"]["p50_ns"], 500)
        self.assertGreater(self.measured["chunks_per_s_max"], 1000)
        self.assertEqual([one["streams"] for one in self.measured["rehearsals"]], [200])

    def test_what_cannot_be_certified_is_refused_before_the_start(self):
        with mock() as server:
            flags = (SAMPLE, "--url", server.url, "--require-certified", "--calibration")
            for calibration in ("none", self.scratch / "missing.json"):
                run = self.replay(*flags, calibration)
                self.assertEqual(run.code, USAGE, run.complained)
                self.assertIn("--calibration", run.complained)
                self.assertFalse(run.folder.exists())

    def test_a_calibration_that_is_named_must_be_there(self):
        """Nothing is sent: the server would answer the row."""
        broken = self.write("broken.json", "{}")
        with mock() as server:
            for path, why in ((self.scratch / "missing.json", "missing.json cannot be opened"),
                              (broken, "broken.json is not a file of driftless calibrate")):
                run = self.replay(SAMPLE, "--url", server.url, "--limit", 1, "--calibration", path)
                self.assertEqual(run.code, USAGE, run.said)
                self.assertIn(why, run.complained)
                self.assertNotIn("server:", run.said)
                self.assertFalse(run.folder.exists())

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

    def test_a_replay_measures_its_host_itself(self):
        """Nothing saved: it measures for up to 2 s, says so, and no limit is above the bar."""
        env = {**os.environ, "XDG_STATE_HOME": str(self.scratch)}
        with mock() as server:
            begin = time.monotonic()
            run = self.replay(SAMPLE, "--url", server.url, "--limit", 5, "--calibration", "auto",
                              env=env)
            took_s = time.monotonic() - begin
        self.assertEqual(run.code, 0, run.complained)
        self.assertIn("calibration: measuring this host for 2 s (driftless calibrate has not "
                      "run on this host)\n", run.said)
        self.assertIn("s before this run", self.reasons(run))
        self.assertNotIn("no rehearsal", run.said)
        self.assertNotEqual(self.verdict(run), "uncalibrated")
        facts = run.json("run.json")["calibration"]
        self.assertIsNone(facts["why_not"])
        self.assertGreater(facts["measured_ns"], 500_000_000)
        self.assertLess(facts["measured_ns"], 1_000_000_000 * took_s)
        for limit in ("drift_ns", "drift_most_ns", "receive_delay_ns", "wire_ns"):
            self.assertLessEqual(facts[limit], 5_000_000)
        self.assertFalse((self.scratch / "driftless").exists())  # nothing is saved unasked
        told = subprocess.run([DRIFTLESS, "report", str(run.folder), "--json"], capture_output=True,
                              text=True, timeout=SECONDS_MAX, check=False)
        self.assertEqual(told.stdout, (run.folder / "summary.json").read_text())

    def test_figures_of_a_busy_host_are_not_saved(self):
        """Two busy programs on the engine's core: calibrate says what it saw, and saves nothing."""
        cpu = str(max(os.sched_getaffinity(0)))
        out = self.scratch / "noisy.json"
        command = [DRIFTLESS, "calibrate", "--quick", "--cpu", cpu, "--out", str(out)]
        hogs = [subprocess.Popen([sys.executable, "-c", HOG, cpu]) for _ in range(2)]
        try:
            refused = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_MAX,
                                     check=False)
            saved = out.exists()
            accepted = subprocess.run([*command, "--accept-noise"], capture_output=True, text=True,
                                      timeout=SECONDS_MAX, check=False)
        finally:
            for hog in hogs:
                hog.kill()
                hog.wait(timeout=SECONDS_MAX)
        self.assertEqual(refused.returncode, HOST, refused.stdout)
        self.assertIn("other programs had the engine's CPU for", refused.stderr)
        self.assertIn("--accept-noise", refused.stderr)
        self.assertFalse(saved)
        self.assertEqual(accepted.returncode, 0, accepted.stderr)
        with mock() as server:
            run = self.replay(SAMPLE, "--url", server.url, "--limit", 5, "--calibration", out)
        self.assertIn("warning: while this host was measured other programs had", run.complained)
        self.assertLessEqual(run.json("summary.json")["verdict"]["limits"]["sent_last_ns"],
                             5_000_000)

    def test_another_host_is_not_this_one(self):
        path = self.calibration(LARGE_NS)
        figures = json.loads(path.read_text())
        figures["kernel"] = "Linux 1.0"
        path.write_text(json.dumps(figures))
        with mock() as server:
            run = self.replay(SAMPLE, "--url", server.url, "--speed", 8, "--calibration", path)
        self.assertEqual(self.verdict(run), "uncalibrated")
        self.assertIn("Linux 1.0", run.said)

    def test_a_thread_before_all_others_has_a_floor_of_its_own(self):
        """Kept beside the ordinary one, which holds where there is no other."""
        env = {**os.environ, "XDG_STATE_HOME": str(self.scratch)}
        kept = self.scratch / "driftless" / "calibration-realtime.json"
        done = subprocess.run([DRIFTLESS, "calibrate", "--quick", "--accept-noise", "--realtime"],
                              env=env,
                              capture_output=True, text=True, timeout=SECONDS_MAX, check=False)
        if not may_raise_priority():
            self.assertEqual(done.returncode, HOST)
            self.assertIn("CAP_SYS_NICE", done.stderr)
            return
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("before ordinary threads\n", done.stdout)
        date = json.loads(kept.read_text())["date"]
        with mock() as server:
            flags = (SAMPLE, "--url", server.url, "--limit", 5)
            run = self.replay(*flags, "--realtime", "--calibration", "auto", env=env)
            self.assertIn(f"calibration: of {date}\n", run.said)
            run = self.replay(*flags, "--calibration", "auto", env=env)
            self.assertIn("driftless calibrate has not run on this host", run.said)
            run = self.replay(*flags, "--calibration", kept)
            self.assertIn("was made with --realtime, this run goes without", run.said)
            self.assertEqual(self.verdict(run), "uncalibrated")
            kept.unlink()
            kept.with_name("calibration.json").write_text(json.dumps(self.measured))
            run = self.replay(*flags, "--realtime", "--calibration", "auto", env=env)
            self.assertIn("of an ordinary thread (driftless calibrate --realtime)", run.said)

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
                SAMPLE, "--url", server.url, "--speed", 2, *self.floor(LARGE_NS),
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
                run = self.replay(SAMPLE, "--url", server.url, "--cpu", cpu, "--speed", 2, "--wait",
                                  "spin", *self.floor(100_000))
            finally:
                for hog in hogs:
                    hog.kill()
                    hog.wait(timeout=SECONDS_MAX)
        self.assertEqual(self.verdict(run), "host-noisy", run.said)
        self.assertIn("others had its CPU", self.reasons(run))

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
        """Four buffers for dozens of streams: the kernel runs out, and the verdict says so."""
        with mock("--itl", "1ms", "--tokens-per-chunk", 8) as server:
            run = self.replay(SAMPLE, "--url", server.url, "--speed", 20, "--receive-buffers", 4,
                              *self.floor(LARGE_NS))
        self.assertEqual(self.verdict(run), "client-limited", run.said)
        self.assertIn("receive buffers", self.reasons(run))
        outcomes = {record["outcome"] for record in run.records().values()}
        self.assertEqual(outcomes, {"ok"})


if __name__ == "__main__":
    unittest.main()

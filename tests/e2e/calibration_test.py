"""Which calibration a replay goes by: the saved one, its own, none; and what is refused."""

import json
import os
import subprocess
import sys
import time
import unittest

from calibrated import HOG, LARGE_NS, Calibrated
from harness import CALIBRATION, DRIFTLESS, SAMPLE, SECONDS_MAX, may_raise_priority, mock

USAGE = 2
HOST = 7


def hours_ago(hours):
    return time.strftime("%Y-%m-%dT%H:%M:%S.000000000Z", time.gmtime(time.time() - 3600 * hours))


class Calibrations(Calibrated):
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
        folder = self.scratch / "folder"
        folder.mkdir()
        with mock() as server:
            for path, why in ((self.scratch / "missing.json", "missing.json cannot be read: "),
                              (folder, "folder is not a regular file"),
                              (broken, "broken.json is not a calibration file")):
                run = self.replay(SAMPLE, "--url", server.url, "--limit", 1, "--calibration", path)
                self.assertEqual(run.code, USAGE, run.said)
                self.assertIn(why, run.complained)
                self.assertNotIn("server:", run.said)
                self.assertFalse(run.folder.exists())

    def test_a_replay_measures_its_host_itself(self):
        """Nothing is known: it measures for up to a second, says so, and no limit is above the bar.
        What it has measured on a quiet host, the next one uses again."""
        env = {**os.environ, "XDG_STATE_HOME": str(self.scratch)}
        flags = ("--limit", 5, "--calibration", "auto", "--scheduling", "slice")
        with mock() as server:
            begin = time.monotonic()
            run = self.replay(SAMPLE, "--url", server.url, *flags, env=env)
            took_s = time.monotonic() - begin
        self.assertEqual(run.code, 0, run.complained)
        self.assertIn("calibration: measuring this host for a second (no run of this host has kept "
                      "what it measured)\n", run.said)
        self.assertIn("s before this run", self.reasons(run))
        self.assertNotIn("no rehearsal", run.said)
        self.assertNotEqual(self.verdict(run), "uncalibrated")
        facts = run.json("run.json")["calibration"]
        self.assertIsNone(facts["why_not"])
        self.assertGreater(facts["measured_ns"], 200_000_000)
        self.assertLess(facts["measured_ns"], 1_000_000_000 * took_s)
        for limit in ("drift_ns", "drift_most_ns", "receive_delay_ns", "wire_ns"):
            self.assertLessEqual(facts[limit], 5_000_000)
        (kept,) = (self.scratch / "driftless").glob("measured-*.json")
        figures = json.loads(kept.read_text())
        quiet = {"steal_share": 0, "run_delay_share": 0, "spin_lost_share": 0}
        figures = {**figures, **quiet}
        for rehearsal in figures["rehearsals"]:
            rehearsal["taken_share"] = 0
        kept.write_text(json.dumps(figures))
        with mock() as server:
            again = self.replay(SAMPLE, "--url", server.url, *flags, env=env)
            self.assertIn("calibration: measured by an earlier run (" + figures["date"], again.said)
            self.assertEqual(again.json("run.json")["calibration"]["measured_ns"], 0)
            for date, why in (("2020-01-01T00:00:00.000000000Z", "days old)"),
                              ("2099-01-01T00:00:00.000000000Z", "of 2099-01-01"),
                              ("yesterday", "of yesterday")):
                kept.write_text(json.dumps({**figures, "date": date}))
                again = self.replay(SAMPLE, "--url", server.url, *flags, env=env)
                self.assertIn("measuring this host for a second (what was kept is", again.said)
                self.assertIn(why, again.said)
            kept.unlink()
            os.mkfifo(kept)
            again = self.replay(SAMPLE, "--url", server.url, *flags, env=env)
            self.assertIn("is not a regular file", again.said)
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
        self.assertIn("other programs used the engine's CPU for", refused.stderr)
        self.assertIn("--accept-noise", refused.stderr)
        self.assertFalse(saved)
        self.assertEqual(accepted.returncode, 0, accepted.stderr)
        with mock() as server:
            run = self.replay(SAMPLE, "--url", server.url, "--limit", 5, "--calibration", out)
        self.assertIn("warning: while this host was measured other programs used", run.complained)
        self.assertLessEqual(run.json("summary.json")["verdict"]["limits"]["sent_last_ns"],
                             5_000_000)

    def test_what_a_busy_host_gave_is_used_while_it_is_busy(self):
        """Measured again beside the same programs it would be no better, and take some seconds."""
        env = {**os.environ, "XDG_STATE_HOME": str(self.scratch)}
        flags = ("--limit", 5, "--calibration", "auto", "--wait", "sleep", "--scheduling", "slice")
        with mock() as server:
            self.replay(SAMPLE, "--url", server.url, *flags, env=env)
            (kept,) = (self.scratch / "driftless").glob("measured-*.json")
            kept.write_text(json.dumps({**json.loads(kept.read_text()), "run_delay_share": 0.5}))
            hogs = [subprocess.Popen([sys.executable, "-c", HOG, str(cpu)])
                    for cpu in os.sched_getaffinity(0)]
            try:
                beside = self.replay(SAMPLE, "--url", server.url, *flags, env=env)
            finally:
                for hog in hogs:
                    hog.kill()
                    hog.wait(timeout=SECONDS_MAX)
            self.assertIn("calibration: measured by an earlier run", beside.said)
            self.assertIn("while this host was measured other programs used", beside.complained)
            kept.write_text(json.dumps({**json.loads(kept.read_text()), "date": hours_ago(2)}))
            old = self.replay(SAMPLE, "--url", server.url, *flags, env=env)
        self.assertIn("(what was kept was measured beside other programs)", old.said)

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
        kept = self.scratch / "driftless" / f"{CALIBRATION}-realtime.json"
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
            self.assertIn("no run of this host has kept what it measured", run.said)
            run = self.replay(*flags, "--calibration", kept)
            self.assertIn("was made with --realtime, but this run has no --realtime", run.said)
            self.assertEqual(self.verdict(run), "uncalibrated")
            kept.unlink()
            kept.with_name(f"{CALIBRATION}.json").write_text(json.dumps(self.measured))
            run = self.replay(*flags, "--realtime", "--calibration", "auto", env=env)
            self.assertIn("of ordinary threads (driftless calibrate --realtime)", run.said)

    def test_engines_are_measured_together(self):
        """Their figures lie in a file of their own, and hold for as many and no others."""
        env = {**os.environ, "XDG_STATE_HOME": str(self.scratch)}
        command = [DRIFTLESS, "calibrate", "--quick", "--accept-noise", "--engines", "2"]
        done = subprocess.run(command, env=env, capture_output=True, text=True,
                              timeout=SECONDS_MAX, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("2 engines on CPU ", done.stdout)
        kept = self.scratch / "driftless" / f"{CALIBRATION}-engines-2.json"
        figures = json.loads(kept.read_text())
        self.assertEqual(figures["engines"], 2)
        rehearsal = figures["rehearsals"][0]
        self.assertEqual((rehearsal["streams"], rehearsal["chunks_asked"]), (400, 20_000))
        self.assertEqual(rehearsal["drift"]["count"], 400)
        self.assertGreater(rehearsal["chunks"], 10_000, "of one engine only")
        with mock() as server:
            flags = (SAMPLE, "--url", server.url, "--limit", 5, "--speed", 20)
            run = self.replay(*flags, "--engines", 2, "--calibration", "auto", env=env)
            self.assertIn(f"calibration: of {figures['date']}\n", run.said)
            run = self.replay(*flags, "--calibration", "auto", env=env)
            self.assertIn("(no run of this host has kept what it measured)", run.said)
            run = self.replay(*flags, "--calibration", kept)
            self.assertRegex(run.said, "was made with 2 engines, but this run has 1; run driftless "
                             "calibrate( --driver epoll)? again")
            self.assertEqual(self.verdict(run), "uncalibrated")
            one = self.write("one.json", json.dumps(self.measured))
            run = self.replay(*flags, "--engines", 2, "--calibration", one, "--require-certified")
            self.assertEqual(run.code, USAGE, run.said)
            self.assertRegex(run.complained, "was made with 1 engine, but this run has 2; run driftless "
                             "calibrate --engines 2( --driver epoll)? again")
            self.assertFalse(run.folder.exists())


if __name__ == "__main__":
    unittest.main()

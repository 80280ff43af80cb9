"""Tests with a calibration of this host: measured once, and written with the floors that they need."""

import json
import os
import subprocess

from harness import DRIFTLESS, SECONDS_MAX, Case, spread_of

LARGE_NS = 1_000_000_000
HOG = "import os, sys\nos.sched_setaffinity(0, {int(sys.argv[1])})\nwhile True:\n    pass\n"


class Calibrated(Case):
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
        spread = spread_of(floor_ns)
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

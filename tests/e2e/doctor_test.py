"""`driftless doctor` says of this host what Python reads of it, and names what a replay cannot do
without."""

import json
import os
import pathlib
import platform
import resource
import subprocess
import unittest

from harness import CALIBRATION, Case, DRIFTLESS, FILTERS, IO_URING, SAMPLE, SECONDS_MAX, forbid, mock

LOOPBACK = "lo"


def line_of(path):
    try:
        return pathlib.Path(path).read_text().splitlines()[0]
    except (OSError, IndexError):
        return None


class Doctor(Case):
    def doctor(self, *flags, code=0, **how):
        done = subprocess.run([DRIFTLESS, "doctor", *map(str, flags)], capture_output=True, text=True,
                              timeout=SECONDS_MAX, check=False, cwd=self.scratch, **how)  # fmt: skip
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout

    def findings(self, *flags, **how):
        said = json.loads(self.doctor("--json", *flags, **how))
        self.assertEqual(said["schema"], 1)
        self.assertEqual(said["can_replay"], how.get("code", 0) == 0)
        for one in said["findings"]:
            self.assertIn(one["grade"], ("ok", "warning", "fault"))
            self.assertEqual(one["remedy"] is None, one["grade"] == "ok", one)
        return {one["topic"]: one for one in said["findings"]}

    def test_every_finding_is_one_line(self):
        said = self.doctor()
        rows = [line for line in said.splitlines()[:-1] if not line.startswith(" ")]
        remedies = [line for line in said.splitlines() if line.startswith(" ")]
        for row in rows:
            self.assertRegex(row, r"^(ok|warning|fault) +\S.* +\S")
        self.assertEqual(len(remedies), len([row for row in rows if not row.startswith("ok")]))
        self.assertRegex(said.splitlines()[-1], r"^a replay can run here; \d+ warnings?$")
        self.assertEqual({row.split()[0] for row in rows} - {"ok", "warning"}, set())

    def test_it_says_what_this_host_says(self):
        found = self.findings()
        self.assertIn(f"Linux {os.uname().release}", found["kernel"]["found"])
        clock = line_of("/sys/devices/system/clocksource/clocksource0/current_clocksource")
        self.assertRegex(found["clock"]["found"], rf"^{clock}, \d+ ns per reading$")
        cpus = len(os.sched_getaffinity(0))
        self.assertEqual(found["CPUs"]["found"],
                         "1 CPU is allowed" if cpus == 1 else f"{cpus} CPUs are allowed")
        first, last = map(int, line_of("/proc/sys/net/ipv4/ip_local_port_range").split())
        self.assertTrue(found["ports"]["found"].startswith(f"{last - first + 1} "))
        most = int(line_of("/proc/sys/net/ipv4/tcp_rmem").split()[2])
        self.assertTrue(found["receiving"]["found"].startswith(f"up to {most // 1024} KiB "))
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        self.assertEqual(found["open files"]["found"], f"at most {hard} files can be open")

    def test_it_lists_the_interfaces_that_are_up(self):
        up = set()
        for folder in pathlib.Path("/sys/class/net").iterdir():
            if int(line_of(folder / "flags") or "0", 16) & 1 and folder.name != LOOPBACK:
                up.add(f"{folder.name}: MTU {line_of(folder / 'mtu')}")
        said = json.loads(self.doctor("--json"))["findings"]
        listed = [one["found"] for one in said if one["topic"] == "interface"]
        self.assertEqual({text.split(",")[0] for text in listed}, up)

    @unittest.skipUnless(platform.machine() in FILTERS, "no filter for this architecture here")
    def test_io_uring_denied(self):
        for errno in (1, 38):  # EPERM from Docker, ENOSYS from Podman
            ring = self.findings(preexec_fn=forbid(IO_URING, errno))["io_uring"]
            self.assertEqual(ring["grade"], "warning")
            self.assertTrue(ring["remedy"].startswith("replays use epoll instead"), ring)
            self.assertIn("cannot", ring["found"])
            self.assertIn("driftless help seccomp.json > seccomp.json", ring["remedy"])

    def test_a_folder_that_cannot_be_made(self):
        folder = self.findings("--out", "/proc/runs", code=7)["folder of runs"]
        self.assertEqual(folder["grade"], "fault")
        self.assertIn("/proc/runs cannot be created: ", folder["found"])
        self.assertIn("--out", folder["remedy"])
        fine = self.findings("--out", self.scratch / "a" / "b")["folder of runs"]
        self.assertNotEqual(fine["grade"], "fault")
        self.assertEqual(list(self.scratch.iterdir()), [], "it leaves nothing behind")

    def test_few_files(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))

        files = self.findings(preexec_fn=limit)["open files"]
        self.assertEqual((files["grade"], files["found"]), ("warning", "at most 256 files can be open"))

    def test_what_a_replay_cannot_do_without(self):
        """Where doctor says that none can run here, none does."""
        def limit(what, value):
            return lambda: resource.setrlimit(what, (value, value))

        for topic, what, value in (("open files", resource.RLIMIT_NOFILE, 12),
                                   ("address space", resource.RLIMIT_AS, 64 << 20)):  # fmt: skip
            before = limit(what, value)
            found = self.findings(code=7, preexec_fn=before)
            self.assertEqual(found[topic]["grade"], "fault", topic)
            with mock() as server:
                command, _ = self.command(SAMPLE, "--url", server.url, "--limit", 1)
                done = subprocess.run(command, preexec_fn=before, capture_output=True, check=False)
            self.assertEqual(done.returncode, 7, done.stderr)
        cpu = self.findings("--cpu", 1000, code=7)["engine's CPU"]
        self.assertEqual(cpu["grade"], "fault")
        self.assertIn("name another with --cpu", cpu["remedy"])

    def test_a_rank_behind_others(self):
        found = self.findings(preexec_fn=lambda: os.nice(5))["scheduling"]
        self.assertEqual(found["grade"], "warning")
        self.assertRegex(found["found"], "^ordinary, nice [0-9]+: ")

    def test_calibration(self):
        env = {**os.environ, "XDG_STATE_HOME": str(self.scratch / "state")}
        missing = self.findings(env=env)["calibration"]
        self.assertEqual(missing["grade"], "warning")
        self.assertIn("driftless calibrate", missing["remedy"])
        path = self.scratch / "state" / "driftless" / f"{CALIBRATION}.json"
        subprocess.run([DRIFTLESS, "calibrate", "--quick", "--accept-noise", "--out", path], check=True,
                       capture_output=True, timeout=SECONDS_MAX)  # fmt: skip
        there = self.findings(env=env)["calibration"]
        self.assertEqual(there["found"], "of " + json.loads(path.read_text())["date"])
        self.assertEqual(there["grade"], "ok")


if __name__ == "__main__":
    unittest.main(verbosity=2)

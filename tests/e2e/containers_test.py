"""Where a seccomp filter forbids io_uring all runs over epoll, and says so; below our own profile over
io_uring."""

import json
import os
import pathlib
import platform
import shutil
import subprocess
import unittest

from harness import (
    Case, DRIFTLESS, DRIVER, FILTERS, IO_URING, SAMPLE, SANITIZED, SECONDS_MAX, forbid, mock, read_jsonl,
)  # fmt: skip

PROFILE = pathlib.Path(__file__).resolve().parents[2] / "cmd" / "containers" / "seccomp.json"
CLONE3 = {435}
AFTER_4_18 = range(424, 1000)  # calls that Linux 5.1 and newer brought
MADVISE = {"x86_64": {28}, "aarch64": {233}}
RUNC = shutil.which("runc")


@unittest.skipIf(DRIVER == "epoll", "it forbids io_uring itself")
class Containers(Case):
    def test_a_folder_that_is_missing_is_named(self):
        """And not io_uring, which works."""
        done = subprocess.run(
            [DRIFTLESS, "calibrate", "--quick", "--out", self.scratch / "floor.json"],
            capture_output=True, text=True, timeout=SECONDS_MAX, check=False,
            env={**os.environ, "TMPDIR": str(self.scratch / "missing")},
        )  # fmt: skip
        self.assertEqual(done.returncode, 7, done.stdout + done.stderr)
        self.assertIn("cannot make a temporary folder: No such file", done.stderr)
        self.assertIn("set TMPDIR", done.stderr)
        self.assertNotIn("Linux 6.1", done.stderr)

    def test_a_clock_ahead_of_the_hosts_wakes_in_time(self):
        """In a time namespace, whose monotonic clock is ahead of the host's, or behind."""
        for offset in ("100000", "-100"):
            enter = ["unshare", "-T", "--monotonic", offset, "--boottime", offset]
            allowed = subprocess.run([*enter, "true"], capture_output=True, check=False)
            if allowed.returncode != 0:
                self.skipTest("no time namespace can be made here: " + allowed.stderr.decode())
            with mock("--ttft", "5ms", "--itl", "1ms") as server:
                command, folder = self.command(SAMPLE, "--url", server.url, "--limit", 40, "--speed", 20)
                done = subprocess.run([*enter, *command], capture_output=True, text=True, check=False,
                                      timeout=60)  # fmt: skip
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            drifts = [record["drift_ns"] for record in read_jsonl(folder / "requests.jsonl")]
            self.assertEqual(len(drifts), 40)
            self.assertLess(max(drifts), 1_000_000_000, "it slept by the host's clock")

    def below(self, errno, *command, code=0, calls=IO_URING):
        done = subprocess.run(
            [DRIFTLESS, *[str(part) for part in command]], capture_output=True, text=True,
            timeout=SECONDS_MAX, check=False, preexec_fn=forbid(calls, errno),
        )
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def expect_remedy(self, said):
        self.assertIn("seccomp filter forbids it", said)
        self.assertIn("driftless help seccomp.json > seccomp.json, then --security-opt seccomp=seccomp.json", said)

    @unittest.skipUnless(platform.machine() in FILTERS, "no filter for this architecture here")
    def test_a_filter_turns_to_epoll(self):
        """And says why, in one line and in run.json; the records are as good as over io_uring."""
        with mock("--ttft", "20ms", "--itl", "5ms") as server:
            for errno, calls in ((1, IO_URING), (38, IO_URING), (1, {426})):  # Docker's, Podman's
                out = self.scratch / f"run{errno}-{len(calls)}"
                done = self.below(errno, "replay", SAMPLE, "--url", server.url, "--speed", 4,
                                  "--calibration", "none", "--out", out, calls=calls)
                told = [line for line in done.stdout.split("\n") if line.startswith("driver: ")]
                self.assertEqual(len(told), 1, done.stdout)
                self.assertTrue(told[0].startswith("driver: epoll; cannot set up io_uring"), told)
                self.expect_remedy(told[0])
                run = json.loads((out / "run.json").read_text())
                self.assertEqual(run["host"]["driver"], "epoll")
                self.assertIn("seccomp", run["host"]["driver_reason"])
                self.assertEqual(run["ring"]["transmit_stamps"], "error queue")
                records = read_jsonl(out / "requests.jsonl")
                self.assertEqual({record["outcome"] for record in records}, {"ok"})
                for record in records:
                    self.assertGreaterEqual(record["drift_ns"], 0)
                    self.assertGreaterEqual(record["ttft_ns"], 20_000_000, "before the server sent it")
                    self.assertIsNotNone(record["wire_ns"])

    @unittest.skipUnless(platform.machine() in FILTERS, "no filter for this architecture here")
    def test_a_ring_that_was_asked_for_is_refused(self):
        """The cause and the remedy are named; nothing is left behind."""
        for errno in (1, 38):
            with mock() as server:
                done = self.below(errno, "replay", SAMPLE, "--url", server.url, "--driver", "io_uring",
                                  "--out", self.scratch / "run", code=7)  # fmt: skip
            self.expect_remedy(done.stderr)
            self.assertIn("without --driver io_uring epoll is used instead", done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
            self.assertFalse((self.scratch / "run").exists())
            done = self.below(errno, "calibrate", "--quick", "--driver", "io_uring", "--out",
                              self.scratch / "floor.json", code=7)  # fmt: skip
            self.expect_remedy(done.stderr)

    @unittest.skipUnless(platform.machine() in FILTERS, "no filter for this architecture here")
    @unittest.skipIf(SANITIZED, "sanitizers make calls of their own")
    def test_a_kernel_of_2018_suffices(self):
        """No call of Linux 5.1 or newer, and no memory touched ahead (5.14): as on RHEL 8 and in gVisor."""
        unknown, unable = forbid(AFTER_4_18, 38), forbid(MADVISE[platform.machine()], 22)

        def be_old():
            unknown()
            unable()

        with mock("--ttft", "20ms", "--itl", "1ms") as server:
            command, folder = self.command(SAMPLE, "--url", server.url, "--speed", 20)
            done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_MAX, check=False,
                                  preexec_fn=be_old)  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("driver: epoll; cannot set up io_uring", done.stdout)
        records = read_jsonl(folder / "requests.jsonl")
        self.assertEqual([record["outcome"] for record in records], ["ok"] * 240)
        self.assertNotIn(None, [record["wire_ns"] for record in records])
        self.assertFalse(json.loads((folder / "run.json").read_text())["engine"]["pages_present"])

    @unittest.skipUnless(platform.machine() in FILTERS, "no filter for this architecture here")
    def test_a_calibration_is_of_its_driver(self):
        """What was measured over the one says nothing about the other."""
        floor = self.scratch / "floor.json"
        self.below(1, "calibrate", "--quick", "--accept-noise", "--out", floor)
        self.assertEqual(json.loads(floor.read_text())["driver"], "epoll")
        with mock() as server:
            ours = self.below(1, "replay", SAMPLE, "--url", server.url, "--speed", 20, "--limit", 10,
                              "--calibration", floor, "--out", self.scratch / "ours")
            self.assertIn("calibration: of ", ours.stdout)
            for driver in ("io_uring", "auto"):
                other = self.replay(SAMPLE, "--url", server.url, "--speed", 20, "--limit", 10,
                                    "--calibration", floor, "--driver", driver)
                self.assertIn("made over epoll, but this run is over io_uring", other.said + other.complained)
            same = self.replay(SAMPLE, "--url", server.url, "--speed", 20, "--limit", 10,
                               "--calibration", floor, "--driver", "epoll")  # fmt: skip
            self.assertIn("calibration: of ", same.said)

    @unittest.skipUnless(platform.machine() in FILTERS, "no filter for this architecture here")
    def test_without_a_second_thread(self):
        """Before time 0: the run says so, and its files and folder are gone again."""
        with mock() as server:
            command, folder = self.command(SAMPLE, "--url", server.url)
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=SECONDS_MAX, check=False,
                preexec_fn=forbid(CLONE3, 1),
            )  # fmt: skip
        self.assertEqual(done.returncode, 7, done.stdout + done.stderr)
        self.assertIn("writer thread", done.stderr)
        self.assertFalse(folder.exists())

    def test_the_profile_names_each_call_once(self):
        profile = json.loads(PROFILE.read_text())
        self.assertEqual(profile["defaultAction"], "SCMP_ACT_ERRNO")
        names = [name for group in profile["syscalls"] for name in group["names"]]
        self.assertEqual(len(names), len(set(names)))
        self.assertLessEqual({"io_uring_setup", "io_uring_enter", "io_uring_register"}, set(names))

    def bundle(self, seccomp, args):
        """An OCI bundle that shares this host's programs and network."""
        folder = self.scratch / "bundle"
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "rootfs" / "tmp").mkdir(parents=True)  # calibrate keeps a run of its own there
        subprocess.run([RUNC, "spec"], cwd=folder, check=True)
        spec = json.loads((folder / "config.json").read_text())
        spec["root"]["readonly"] = False
        spec["process"] |= {"terminal": False, "args": [str(arg) for arg in args]}
        shared = ["/usr", "/lib", "/lib64", "/bin", "/etc", pathlib.Path(DRIFTLESS).parent,
                  SAMPLE.parent]
        spec["mounts"] += [
            {"destination": str(path), "type": "bind", "source": str(path),
             "options": ["rbind", "ro"]}
            for path in shared if pathlib.Path(path).exists()
        ]
        out = self.scratch / "out"
        out.mkdir(exist_ok=True)
        spec["mounts"].append(
            {"destination": "/out", "type": "bind", "source": str(out), "options": ["bind"]}
        )
        spec["linux"]["namespaces"] = [
            space for space in spec["linux"]["namespaces"] if space["type"] != "network"
        ]
        spec["linux"]["seccomp"] = seccomp
        (folder / "config.json").write_text(json.dumps(spec))
        return folder

    def contained(self, seccomp, *args):
        return subprocess.run(
            [RUNC, "run", "--bundle", self.bundle(seccomp, args), f"driftless-{os.getpid()}"],
            capture_output=True, text=True, timeout=SECONDS_MAX, check=False,
        )

    @unittest.skipIf(SANITIZED, "sanitizers make calls of their own")
    def test_the_profile_suffices(self):
        if RUNC is None:
            self.skipTest("no runc here")
        probe = self.contained(None, DRIFTLESS, "--version")
        if probe.returncode != 0:
            self.skipTest(f"runc runs nothing here: {probe.stderr.splitlines()[-1:]}")
        profile = json.loads(PROFILE.read_text())
        with mock() as server:
            replay = [DRIFTLESS, "replay", SAMPLE, "--url", server.url, "--speed", "4", "--out"]
            done = self.contained(profile, *replay, "/out/run")
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            records = read_jsonl(self.scratch / "out" / "run" / "requests.jsonl")
            self.assertEqual({record["outcome"] for record in records}, {"ok"})
            self.assertNotIn("marks: none", done.stdout)  # shared memory, for a kill
            self.assertNotIn(None, [record["wire_ns"] for record in records])
            for group in profile["syscalls"]:
                group["names"] = [name for name in group["names"] if "io_uring" not in name]
            done = self.contained(
                {**profile, "syscalls": [group for group in profile["syscalls"] if group["names"]]},
                *replay, "/out/epoll",
            )
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertIn("driftless help seccomp.json", done.stdout)
            records = read_jsonl(self.scratch / "out" / "epoll" / "requests.jsonl")
            self.assertEqual({record["outcome"] for record in records}, {"ok"})
            self.assertNotIn(None, [record["wire_ns"] for record in records])
        done = self.contained(
            json.loads(PROFILE.read_text()), DRIFTLESS, "calibrate", "--quick", "--accept-noise",
            "--out", "/out/floor.json",
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    @unittest.skipIf(SANITIZED, "sanitizers make calls of their own")
    def test_the_doctor_sees_the_container(self):
        """Below our profile all is well; where a profile forbids io_uring, epoll is used: not a fault."""
        if RUNC is None or self.contained(None, DRIFTLESS, "--version").returncode != 0:
            self.skipTest("runc runs nothing here")
        allowed = json.loads(PROFILE.read_text())
        ours = self.contained(allowed, DRIFTLESS, "doctor", "--json", "--out", "/out/runs")
        self.assertEqual(ours.returncode, 0, ours.stdout + ours.stderr)
        calls = ["io_uring_setup", "io_uring_enter", "io_uring_register"]
        denied = {"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [
            {"names": calls, "action": "SCMP_ACT_ERRNO", "errnoRet": 1}]}  # fmt: skip
        told = self.contained(denied, DRIFTLESS, "doctor", "--json", "--out", "/out/runs")
        self.assertEqual(told.returncode, 0, told.stdout + told.stderr)
        ring = {one["topic"]: one for one in json.loads(told.stdout)["findings"]}["io_uring"]
        self.assertEqual(ring["grade"], "warning")
        self.assertTrue(ring["remedy"].startswith("replays use epoll instead"), ring)


if __name__ == "__main__":
    unittest.main()

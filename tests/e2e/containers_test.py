"""A seccomp filter that forbids io_uring is named with its remedy; below our own profile all runs."""

import ctypes
import json
import os
import pathlib
import platform
import shutil
import struct
import subprocess
import unittest

from harness import Case, DRIFTLESS, SAMPLE, SANITIZED, SECONDS_MAX, mock, read_jsonl

PROFILE = pathlib.Path(__file__).resolve().parents[2] / "cmd" / "containers" / "seccomp.json"
IO_URING = {425, 426, 427}  # the same numbers on every architecture
CLONE3 = {435}
FILTERS = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
RUNC = shutil.which("runc")


def forbid(calls, errno):
    """A classic BPF filter (seccomp(2)): these calls end with errno, all others pass."""
    arch = FILTERS[platform.machine()]
    code = [(0x20, 0, 0, 4), (0x15, 0, 4, arch), (0x20, 0, 0, 0)]
    code += [(0x35, 0, 2, min(calls)), (0x25, 1, 0, max(calls))]
    code += [(0x06, 0, 0, 0x00050000 | errno), (0x06, 0, 0, 0x7FFF0000)]
    text = b"".join(struct.pack("HBBI", *line) for line in code)
    lines = ctypes.create_string_buffer(text, len(text))
    head = struct.pack("HxxxxxxP", len(code), ctypes.addressof(lines))
    program = ctypes.create_string_buffer(head, len(head))
    libc = ctypes.CDLL(None, use_errno=True)

    def apply(lines=lines):  # the kernel reads them through the head
        no_new_privileges, filter_mode, set_seccomp = 38, 2, 22
        if libc.prctl(no_new_privileges, 1, 0, 0, 0) or libc.prctl(
            set_seccomp, filter_mode, program, 0, 0
        ):
            os._exit(99)

    return apply


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

    def refused(self, errno, *command, calls=IO_URING):
        done = subprocess.run(
            [DRIFTLESS, *[str(part) for part in command]], capture_output=True, text=True,
            timeout=SECONDS_MAX, check=False, preexec_fn=forbid(calls, errno),
        )
        self.assertEqual(done.returncode, 7, done.stdout + done.stderr)
        self.assertIn("seccomp filter forbids it", done.stderr)
        self.assertIn("driftless help seccomp.json > seccomp.json, then --security-opt seccomp=seccomp.json", done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)

    @unittest.skipUnless(platform.machine() in FILTERS, "no filter for this architecture here")
    def test_a_filter_is_named(self):
        for errno in (1, 38):  # EPERM from Docker, ENOSYS from Podman
            with mock() as server:
                self.refused(
                    errno, "replay", SAMPLE, "--url", server.url, "--out", self.scratch / "run"
                )
            self.assertFalse((self.scratch / "run").exists())
            self.refused(errno, "mock", "--listen", "127.0.0.1:0")
            self.refused(errno, "mock", "--listen", "127.0.0.1:0", calls={426})  # io_uring_enter alone
            self.refused(errno, "calibrate", "--quick", "--out", self.scratch / "floor.json")

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
                *replay, "/out/refused",
            )
            self.assertEqual(done.returncode, 7, done.stdout + done.stderr)
            self.assertIn("driftless help seccomp.json", done.stderr)
        done = self.contained(
            json.loads(PROFILE.read_text()), DRIFTLESS, "calibrate", "--quick", "--accept-noise",
            "--out", "/out/floor.json",
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    @unittest.skipIf(SANITIZED, "sanitizers make calls of their own")
    def test_the_doctor_sees_the_container(self):
        """Below our profile all runs; where a profile forbids io_uring, that is the only fault."""
        if RUNC is None or self.contained(None, DRIFTLESS, "--version").returncode != 0:
            self.skipTest("runc runs nothing here")
        allowed = json.loads(PROFILE.read_text())
        ours = self.contained(allowed, DRIFTLESS, "doctor", "--json", "--out", "/out/runs")
        self.assertEqual(ours.returncode, 0, ours.stdout + ours.stderr)
        calls = ["io_uring_setup", "io_uring_enter", "io_uring_register"]
        denied = {"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [
            {"names": calls, "action": "SCMP_ACT_ERRNO", "errnoRet": 1}]}  # fmt: skip
        told = self.contained(denied, DRIFTLESS, "doctor", "--json", "--out", "/out/runs")
        self.assertEqual(told.returncode, 7, told.stdout + told.stderr)
        faults = [one["topic"] for one in json.loads(told.stdout)["findings"] if one["grade"] == "fault"]
        self.assertEqual(faults, ["io_uring"])


if __name__ == "__main__":
    unittest.main()

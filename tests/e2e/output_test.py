"""What cannot be printed was not given: standard output that is full or closed is an error of every
command, and never costs a file."""

import json
import subprocess
import unittest

from harness import Case, DRIFTLESS, SAMPLE, SECONDS_MAX, mock

HOST = 7
COMMANDS = ("replay", "sweep", "find", "mock", "synth", "calibrate", "convert", "report", "compare",
            "inspect", "doctor", "merge")  # fmt: skip
SAYS = "driftless: standard output could not be written"


class Output(Case):
    def shell(self, line, *arguments):
        return subprocess.run(["sh", "-c", line, "sh", DRIFTLESS, *map(str, arguments)], text=True,
                              stderr=subprocess.PIPE, timeout=SECONDS_MAX, check=False)  # fmt: skip

    def fails(self, line, *arguments):
        done = self.shell(line, *arguments)
        self.assertEqual(done.returncode, HOST, (arguments, done.stderr))
        self.assertEqual(done.stderr.count(SAYS), 1, done.stderr)
        return done.stderr

    def test_help_of_each_command(self):
        for command in COMMANDS:
            self.fails('exec "$@" >/dev/full', command, "-h")
            self.assertIn("it is closed", self.fails('exec "$@" >&-', command, "-h"))

    def test_results_on_a_closed_output(self):
        with mock() as server:
            run = self.replay_well(SAMPLE, "--url", server.url, "--limit", 20, "--speed", 20)
            other = self.replay_well("--from", run.folder, "--url", server.url)
        for arguments in (["convert", SAMPLE, "-o", "-"], ["report", run.folder, "--json"],
                          ["inspect", SAMPLE], ["compare", run.folder, other.folder, "--anyway"]):  # fmt: skip
            done = self.shell('exec "$@" >&-', *arguments)
            self.assertEqual(done.returncode, HOST, (arguments, done.stderr))
            self.assertIn("driftless: ", done.stderr)

    def test_a_run_keeps_its_files(self):
        for output in (">/dev/full", ">&-"):
            with mock() as server:
                command, folder = self.command(SAMPLE, "--url", server.url, "--limit", 20, "--speed", 20)
                done = self.shell(f'exec "$@" {output}', *command[1:])
            self.assertEqual(done.returncode, HOST, done.stderr)
            self.assertIn(SAYS, done.stderr)
            self.assertEqual(json.loads((folder / "summary.json").read_text())["completed"], 20)
            self.assertTrue((folder / "report.html").exists())

    def test_a_text_has_the_output_for_itself(self):
        """The summary is not in it; what is no text is refused."""
        with mock() as server:
            run = self.replay_well(SAMPLE, "--url", server.url, "--limit", 20, "--speed", 20)
        report = [DRIFTLESS, "report", str(run.folder)]
        for flag, begins in (("--html", b"<!"), ("--perfetto", b"\n"), ("--markdown", b"#")):
            done = subprocess.run([*report, flag, "-"], capture_output=True, timeout=SECONDS_MAX,
                                  check=True)  # fmt: skip
            alone = self.scratch / flag
            subprocess.run([*report, flag, alone], capture_output=True, timeout=SECONDS_MAX, check=True)
            self.assertTrue(done.stdout.startswith(begins), flag)
            self.assertEqual(len(done.stdout), alone.stat().st_size, flag)
        for flags in (["--xlsx", "-"], ["--csv", "-"], ["--html", "-", "--json"], ["--html", "-", "--junit", "-"]):
            done = subprocess.run([*report, *flags], capture_output=True, text=True, cwd=self.scratch,
                                  timeout=SECONDS_MAX, check=False)  # fmt: skip
            self.assertEqual(done.returncode, 2, flags)
            self.assertIn("standard output", done.stderr)
            self.assertFalse((self.scratch / "-").exists())

    def test_records_that_are_missing_or_broken(self):
        with mock() as server:
            run = self.replay_well(SAMPLE, "--url", server.url, "--limit", 20, "--speed", 20)
        records = run.folder / "requests.jsonl"
        text = records.read_text()
        records.write_text(text.replace('"ttft_ns":', '"ttft_ns":"x","old":', 1))
        done = subprocess.run([DRIFTLESS, "report", run.folder], capture_output=True, text=True,
                              timeout=SECONDS_MAX, check=False)  # fmt: skip
        self.assertEqual(done.returncode, 3)
        self.assertIn("requests.jsonl:1: ttft_ns has a value of another kind than it should", done.stderr)
        records.unlink()
        done = subprocess.run([DRIFTLESS, "report", run.folder], capture_output=True, text=True,
                              timeout=SECONDS_MAX, check=False)  # fmt: skip
        self.assertEqual(done.returncode, 3)
        self.assertIn("requests.jsonl: not found", done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1)
        (run.folder / "run.json").write_text("{broken")
        done = subprocess.run([DRIFTLESS, "report", run.folder], capture_output=True, text=True,
                              timeout=SECONDS_MAX, check=False)  # fmt: skip
        self.assertEqual(done.returncode, 2)
        self.assertIn("run.json: it is not a JSON object; restore the file", done.stderr)

    def test_calibrate_does_not_crash(self):
        for output in (">/dev/full", "2>/dev/full"):
            path = self.scratch / f"{len(output)}.json"
            done = self.shell(f'exec "$@" {output}', "calibrate", "--quick", "--accept-noise", "--out",
                              path)
            self.assertEqual(done.returncode, HOST if output[0] == ">" else 0, done.stderr)
            self.assertTrue(path.exists())


if __name__ == "__main__":
    unittest.main(verbosity=2)

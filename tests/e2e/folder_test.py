"""Who gets a folder: one of several that race for it; whoever comes after a run that was killed
before its run.json; and nobody where anything else stands."""

import os
import resource
import signal
import subprocess
import time
import unittest

from harness import Case, DRIFTLESS, SAMPLE, SECONDS_MAX, mock

USAGE, HOST = 2, 7
BLIND = ("--no-preflight", "--model", "mock-model")
LEFT = ("requests.jsonl", "fired.jsonl", "client.jsonl", "periods.jsonl")


class Folder(Case):
    def test_losers_of_a_race(self):
        """One of eight that begin at once has the folder; the others say so and exit with 2."""
        with mock("--ttft", "1ms", "--itl", "1ms") as server:
            for limit in (3, 5, 7):
                folder = self.scratch / f"race{limit}"
                command, _ = self.command(
                    SAMPLE, "--url", server.url, "--limit", limit, "--speed", 50, *BLIND,
                    folder=folder,
                )  # fmt: skip
                racers = [
                    subprocess.Popen(
                        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
                    )
                    for _ in range(8)
                ]
                said = [racer.communicate(timeout=SECONDS_MAX)[1] for racer in racers]
                codes = sorted(racer.returncode for racer in racers)
                self.assertEqual(codes, [0] + [USAGE] * 7, said)
                for racer, text in zip(racers, said):
                    if racer.returncode == USAGE:
                        self.assertRegex(text, "another run is using|already exists")
                self.assertEqual(len((folder / "requests.jsonl").read_text().splitlines()), limit)
                self.assertTrue((folder / "summary.json").exists())

    def test_runs_of_one_second(self):
        """Each without --out has a folder of its own."""
        with mock("--ttft", "1ms", "--itl", "1ms") as server:
            command = [DRIFTLESS, "replay", str(SAMPLE), "--url", server.url, "--limit", "3",
                       "--speed", "50", "--calibration", "none", *BLIND]  # fmt: skip
            runs = [
                subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                 text=True, cwd=self.scratch)
                for _ in range(8)
            ]  # fmt: skip
            said = [run.communicate(timeout=SECONDS_MAX)[1] for run in runs]
        self.assertEqual([run.returncode for run in runs], [0] * 8, said)
        self.assertEqual(len(list((self.scratch / "runs").glob("*/summary.json"))), 8)

    def test_a_folder_that_cannot_be_made(self):
        """It is said at once, before the server is asked, and leaves nothing behind."""
        there = self.write("a_file", "")
        dead = ("--url", "http://127.0.0.1:9")  # which would be exit code 4
        for folder, why in ((there / "run", "Not a directory"),
                            ("/proc/run", "No such file or directory")):
            run = self.replay(SAMPLE, *dead, folder=folder)
            self.assertEqual(run.code, HOST, run.complained)
            self.assertIn(f"cannot make the folder {folder}: {why}", run.complained)
            self.assertEqual(run.complained.count("\n"), 1)
        run = self.replay(SAMPLE, *dead, "--output-path", there / "records.jsonl")
        self.assertEqual(run.code, HOST, run.complained)
        self.assertIn("records.jsonl: cannot make the folder: Not a directory", run.complained)
        run = self.replay(SAMPLE, *dead, "--speed", 50, folder=self.scratch / "deep" / "run")
        self.assertEqual(run.code, 4, run.complained)
        self.assertEqual(list(self.scratch.iterdir()), [there])

    def new_run(self, folder, server, *flags):
        return self.replay(
            SAMPLE, "--url", server.url, "--limit", 3, "--speed", 50, *flags, folder=folder
        )

    def test_leftovers_are_taken(self):
        """Empty, or with what a run makes before its run.json."""
        with mock("--ttft", "1ms", "--itl", "1ms") as server:
            for number, names in enumerate(((), LEFT, (*LEFT, "responses.jsonl", "run.json.new"))):
                folder = self.scratch / f"left{number}"
                folder.mkdir()
                for name in names:
                    (folder / name).touch()
                if "run.json.new" in names:
                    (folder / "run.json.new").write_text('{"half":')
                dry = self.new_run(folder, server, "--dry-run")
                self.assertEqual(dry.code, 0, dry.complained)
                run = self.new_run(folder, server)
                self.assertEqual(run.code, 0, run.complained)
                self.assertEqual(len(run.records()), 3)
                self.assertFalse((folder / "run.json.new").exists())

    def test_killed_before_its_run_json(self):
        """Wherever that was: the same command succeeds afterwards, or names what to do instead."""
        with mock("--ttft", "1ms", "--itl", "1ms") as server:
            for number in range(6):
                folder = self.scratch / f"killed{number}"
                command, _ = self.command(SAMPLE, "--url", server.url, *BLIND, folder=folder)
                process = subprocess.Popen(
                    command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
                )
                end = time.monotonic() + SECONDS_MAX
                while not folder.exists() and time.monotonic() < end:
                    pass  # the time between folder and run.json is short
                process.send_signal(signal.SIGKILL)
                process.wait()
                if (folder / "run.json").exists():
                    continue
                run = self.new_run(folder, server)
                self.assertEqual(run.code, 0, run.complained)

    def test_nothing_else_is_written_over(self):
        """Any other file, a file with anything in it, links, folders, a run: all stay."""
        with mock("--ttft", "1ms", "--itl", "1ms") as server:
            for number, make in enumerate((
                lambda at: (at / "notes.txt").touch(),
                lambda at: (at / "requests.jsonl").write_text("{}\n"),
                lambda at: (at / "requests.jsonl").symlink_to(at.parent / "elsewhere"),
                lambda at: (at / "client.jsonl").mkdir(),
                lambda at: (at / "run.json").touch(),
                lambda at: (at / ".hidden").touch(),
            )):  # fmt: skip
                folder = self.scratch / f"other{number}"
                folder.mkdir()
                make(folder)
                before = sorted((path.name, path.lstat().st_mtime_ns) for path in folder.iterdir())
                for flags in ((), ("--dry-run",)):
                    run = self.new_run(folder, server, *flags)
                    self.assertEqual(run.code, USAGE, run.complained)
                    self.assertIn("already exists", run.complained)
                after = sorted((path.name, path.lstat().st_mtime_ns) for path in folder.iterdir())
                self.assertEqual(after, before)
            link = self.scratch / "link"
            (self.scratch / "empty").mkdir()
            link.symlink_to(self.scratch / "empty")
            self.assertEqual(self.new_run(link, server).code, USAGE)

    def test_a_refused_run_leaves_what_it_found(self):
        """What is in its way elsewhere is not touched, and neither is the folder."""
        for name, files in (("empty", ()), ("left", LEFT)):
            folder = self.scratch / name
            folder.mkdir()
            for file in files:
                (folder / file).touch()
            taken = self.write(f"{name}.jsonl", "mine\n")
            with mock("--ttft", "1ms", "--itl", "1ms") as server:
                run = self.new_run(folder, server, "--output-path", taken)
            self.assertEqual(run.code, USAGE, run.complained)
            self.assertEqual(taken.read_text(), "mine\n")
            self.assertTrue(folder.exists())

    def limited(self, kib, *command, env=None):
        """Under a stack limit that this user cannot raise again."""

        def limit():
            resource.setrlimit(resource.RLIMIT_STACK, (kib * 1024, kib * 1024))
            if os.geteuid() == 0:  # root may raise it
                os.setgid(65534)
                os.setuid(65534)

        return subprocess.run(
            [DRIFTLESS, *map(str, command)], capture_output=True, text=True, preexec_fn=limit,
            check=False, env=env,
        )  # fmt: skip

    def test_a_small_stack(self):
        """A message, and no crash."""
        for kib, code in ((64, HOST), (512, HOST), (1023, HOST), (1024, 0)):
            done = self.limited(kib, "--version")
            self.assertEqual(done.returncode, code, done.stderr)
            if code == HOST:
                self.assertIn(f"the stack is limited to {kib} KiB", done.stderr)
                self.assertIn("ulimit -s", done.stderr)

    def test_a_stack_of_four_pages(self):
        """About the least that Linux starts a program with: there is a message all the same, for
        each place in its first page that the kernel may begin the stack at."""
        codes = [self.limited(16, "--version", env={}).returncode for _ in range(30)]
        self.assertEqual(codes, [HOST] * 30)

    def test_a_small_stack_that_may_grow(self):
        """Only the soft limit is low: a whole replay goes as ever."""
        hard = resource.getrlimit(resource.RLIMIT_STACK)[1]
        with mock("--ttft", "1ms", "--itl", "1ms") as server:
            command, _ = self.command(SAMPLE, "--url", server.url, "--limit", 3, "--speed", 50)
            done = subprocess.run(
                command, capture_output=True, text=True, check=False,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_STACK, (64 * 1024, hard)),
            )  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)

"""What a run suffers from its disk, its terminal and its limits: everything has a record or an exit
code, and what was written stays whole."""

import json
import os
import pty
import resource
import signal
import subprocess
import time
import unittest

from harness import Case, DRIFTLESS, SAMPLE, SECONDS_MAX, mock, read_jsonl, send_signal

HOST, INTERRUPTED = 7, 130


class Durable(Case):
    def start(self, server, *flags, **how):
        return super().start(SAMPLE, "--url", server.url, *flags, **how)

    def test_disk_full(self):
        """The run stops, exit code 7; whole lines are left, and --resume completes them."""
        with mock("--ttft", "5ms", "--itl", "1ms") as server:
            process, folder = self.start(server, "--speed", 2)
            # From here on: the file of the counters of tests/coverage, made at the start, is larger.
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (150_000, 150_000))
            run = self.finish(process, folder)
            self.assertEqual(run.code, HOST, run.complained)
            self.assertIn("write a file of the run", run.complained)
            written = {record["row"] for record in read_jsonl(folder / "requests.jsonl")}
            self.assertGreater(len(written), 0)
            self.assertLess(len(written), 240)
            report = subprocess.run(
                [DRIFTLESS, "report", str(folder)], capture_output=True, text=True, check=True
            )
            self.assertIn("could not write all", report.stderr)
            again = subprocess.run(
                [DRIFTLESS, "replay", "--resume", str(folder)],
                capture_output=True, text=True, check=False, timeout=SECONDS_MAX,
            )  # fmt: skip
            self.assertEqual(again.returncode, 0, again.stderr)
        rows = [record["row"] for record in read_jsonl(folder / "requests.jsonl")]
        self.assertEqual(sorted(rows), list(range(240)))

    def test_folder_that_cannot_be_made(self):
        file = self.write("file", "")
        with mock("--ttft", "1ms", "--itl", "1ms") as server:
            run = self.replay(SAMPLE, "--url", server.url, folder=file / "run")
        self.assertEqual(run.code, HOST)
        self.assertIn(str(file), run.complained)

    def test_files_grow_every_second(self):
        """Whenever we look, no row that left more than a second ago is missing in fired.jsonl."""
        with mock("--ttft", "1ms", "--itl", "1ms") as server:
            process, folder = self.start(server, "--speed", 3)
            zero = json.loads((folder / "run.json").read_text())["clock"]["zero_monotonic_ns"]
            lags = {"fired.jsonl": [], "requests.jsonl": [], "client.jsonl": []}
            stamps = {"fired.jsonl": "fired_ns", "requests.jsonl": "ended_ns",
                      "client.jsonl": "to_ns"}  # fmt: skip
            time.sleep(1.5)  # until each has something
            for _ in range(20):
                time.sleep(0.05)  # a look at the files of a process that runs
                for name, key in stamps.items():
                    now = time.monotonic_ns() - zero
                    lines = read_jsonl(folder / name, whole=False)
                    lags[name].append(now - max(line[key] for line in lines))
            self.finish(process, folder)
        # A sample ends a second and waits for the next flush; rows leave every 50 ms on average.
        for name, limit in (("fired.jsonl", 1.0), ("requests.jsonl", 1.0), ("client.jsonl", 2.0)):
            worst = sorted(lags[name])[len(lags[name]) // 2]
            self.assertLess(worst / 1e9, limit, f"{name}: the median of its lags")

    def on_a_disk(self, **kind):
        """The environment of a process whose disk is slow, hangs or fails (hung_disk.cpp)."""
        return {
            **os.environ,
            "LD_PRELOAD": os.environ["HUNG_DISK_LIBRARY"],
            "ASAN_OPTIONS": "verify_asan_link_order=0",
            **kind,
        }

    def test_slow_disk_makes_no_row_late(self):
        """run.json is synced before time 0 is chosen: a sync of a second costs a later start."""
        with mock("--ttft", "5ms", "--itl", "1ms") as server:
            process, folder = self.start(
                server, "--speed", 10, "--limit", 60, env=self.on_a_disk(SLOW_SYNC="1000")
            )
            run = self.finish(process, folder)
        self.assertEqual(run.code, 0, run.complained)
        late = max(record["drift_ns"] for record in run.records().values())
        self.assertLess(late, 500_000_000, "rows were due while a file was synced")

    def test_failing_disk(self):
        """Whichever file fails: exit code 7, told with file and reason, on the screen as in run.json;
        before time 0 no folder is left."""
        with mock("--ttft", "5ms", "--itl", "1ms") as server:
            for number, name in enumerate(
                ("requests.jsonl", "fired.jsonl", "client.jsonl", "responses.jsonl",
                 "periods.jsonl", "summary.json", "run.json")
            ):  # fmt: skip
                command, folder = self.command(
                    SAMPLE, "--url", server.url, "--speed", 6, "--save-responses", "all",
                    folder=self.scratch / f"failing{number}",
                )  # fmt: skip
                done = subprocess.run(
                    command, env=self.on_a_disk(FAILING_FILE=str(folder / name)),
                    capture_output=True, text=True, check=False, timeout=SECONDS_MAX,
                )  # fmt: skip
                self.assertEqual(done.returncode, HOST, f"{name}: {done.stderr}")
                self.assertIn(f"{folder / name}: ", done.stderr)
                self.assertIn("Input/output error", done.stderr)
                self.assertEqual(folder.exists(), name != "run.json")
                if folder.exists():
                    end = json.loads((folder / "run.json").read_text())["end"]
                    self.assertEqual(end["exit_code"], HOST, name)

    def test_third_interrupt_leaves(self):
        """The writer waits for a disk that hangs: the first two interrupts cannot end the run, the
        third does, and what is on the disk can be resumed."""
        disk = self.scratch / "disk-works"
        disk.touch()
        with mock("--ttft", "5ms", "--itl", "1ms") as server:
            process, folder = self.start(
                server, "--speed", 4, env=self.on_a_disk(HUNG_DISK=str(disk))
            )
            disk.unlink()
            time.sleep(1)  # two flushes: the writer hangs
            for _ in range(2):
                send_signal(process, signal.SIGINT)
            time.sleep(0.3)  # in which it might end
            self.assertIsNone(process.poll())
            process.send_signal(signal.SIGINT)
            run = self.finish(process, folder)
            self.assertEqual(run.code, INTERRUPTED, run.complained)
            self.assertIsNone(run.json("run.json")["end"])
            again = subprocess.run(
                [DRIFTLESS, "replay", "--resume", str(folder)],
                capture_output=True, text=True, check=False, timeout=SECONDS_MAX,
            )  # fmt: skip
            self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual(len(run.records()), 240)

    def test_interrupt_before_there_is_a_run(self):
        """While the trace is read nothing is to be drained: one interrupt ends it."""
        row = SAMPLE.read_text().split("\n")[0]
        for asked in (signal.SIGINT, signal.SIGTERM):
            command, folder = self.command("-", "--url", "http://127.0.0.1:9")
            process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                text=True,
            )  # fmt: skip
            self.addCleanup(process.communicate)
            self.addCleanup(process.kill)
            process.stdin.write(row + "\n")
            process.stdin.flush()
            time.sleep(0.5)  # it waits for the rest
            self.assertIsNone(process.poll())
            process.send_signal(asked)
            self.assertEqual(process.wait(timeout=SECONDS_MAX), INTERRUPTED)
            self.assertFalse(folder.exists())

    def test_hangup_is_an_interrupt(self):
        with mock("--ttft", "5ms", "--itl", "1ms") as server:
            process, folder = self.start(server, "--speed", 2)
            process.send_signal(signal.SIGHUP)
            run = self.finish(process, folder)
        self.assertEqual(run.code, INTERRUPTED, run.complained)
        self.assertEqual(len(run.records()), 240)

    def test_hangup_under_nohup(self):
        with mock("--ttft", "5ms", "--itl", "1ms") as server:
            process, folder = self.start(
                server, "--speed", 10,
                preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
            )  # fmt: skip
            process.send_signal(signal.SIGHUP)
            run = self.finish(process, folder)
        self.assertEqual(run.code, 0, run.complained)

    def test_terminal_that_closes(self):
        """Its output goes nowhere; the records are all there."""
        ours, theirs = pty.openpty()

        def on_terminal():
            os.setsid()
            os.close(os.open(os.ttyname(0), os.O_RDWR))  # becomes the controlling terminal

        with mock("--ttft", "5ms", "--itl", "1ms") as server:
            process, folder = self.start(
                server, "--speed", 2, stdin=theirs, stdout=theirs, stderr=theirs,
                preexec_fn=on_terminal,
            )  # fmt: skip
            os.close(theirs)
            os.close(ours)
            self.assertEqual(process.wait(timeout=SECONDS_MAX), INTERRUPTED)
        self.assertEqual(len(read_jsonl(folder / "requests.jsonl")), 240)
        self.assertTrue((folder / "summary.json").exists())

    def test_reader_that_goes_away(self):
        """As under `| head -1`: the run does not care."""
        with mock("--ttft", "1ms", "--itl", "1ms") as server:
            process, folder = self.start(server, "--speed", 5)
            process.stdout.close()
            process.stdout = None
            process.communicate(timeout=SECONDS_MAX)
        self.assertEqual(process.returncode, 0)
        self.assertEqual(len(read_jsonl(folder / "requests.jsonl")), 240)

    def test_open_files_are_counted_before(self):
        """The number that is needed is told; a cap that is asked for is enough."""

        def few_files():
            resource.setrlimit(resource.RLIMIT_NOFILE, (70, 70))

        with mock("--ttft", "1ms", "--itl", "1ms") as server:
            for flags, code, words in (
                ((), HOST, "9 rows are due at once"),
                (("--connections", 40), HOST, "--connections 40"),
                (("--max-inflight", 6), 0, ""),
            ):
                command, folder = self.command(SAMPLE, "--url", server.url, "--speed", 9, *flags)
                done = subprocess.run(
                    command, capture_output=True, text=True, preexec_fn=few_files, check=False,
                    timeout=SECONDS_MAX,
                )  # fmt: skip
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertIn(words, done.stderr)
                self.assertEqual(folder.exists(), code == 0)
                if words.startswith("9"):
                    self.assertIn("ulimit -n 73", done.stderr)
                    self.assertIn("--max-inflight 6", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)

"""Parts of one plan begin at one instant, know how far their clocks are apart, and say who is
missing or differs before anything is sent."""

import json
import os
import signal
import socket
import subprocess
import time
import unittest

from harness import SAMPLE, SANITIZED, SECONDS_MAX, mock, read_jsonl
from shards_test import HOST, USAGE, ShardCase, environment

CLOCK_LIBRARY = os.environ.get("SHIFTED_CLOCK_LIBRARY", "")
# A sanitizer reads the clock before the library that shifts it can be loaded, and hangs.
SHIFT_NS = 0 if SANITIZED else 3_000_000


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def shifted(ns):
    """The environment of a process whose clock is ahead."""
    return {**environment(), **({"LD_PRELOAD": CLOCK_LIBRARY, "CLOCK_SHIFT": str(ns)} if ns else {})}


def utc_after(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + seconds))


class MeetCase(ShardCase):
    def setUp(self):
        super().setUp()
        self.port = free_port()

    def begin(self, index, count, *flags, env=None, folder=None, within="20s"):
        command, _ = self.command(
            *flags, "--shard", f"{index}/{count}", "--meet", f"127.0.0.1:{self.port}",
            "--meet-timeout", within, folder=folder or self.scratch / "met")  # fmt: skip
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True, env=env or environment())
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def end(self, process, index, count=3, folder=None):
        return self.finish(process, self.part(folder or self.scratch / "met", index, count))

    def all_of(self, processes):
        return [self.end(process, index, len(processes))
                for index, process in enumerate(processes)]

    def flags(self, server):
        return (SAMPLE, "--speed", 20, "--no-preflight", "--model", "mock-model", "--url",
                server.url)

    def zero_error_ns(self, run):
        """How far this part's time 0 is from the one that was agreed on, by the clock of part 0,
        and how far it may be."""
        facts = run.json("run.json")
        meeting, clock = facts["meeting"], facts["clock"]
        before = meeting["clock"]["before"]
        zero_ns = clock["zero_utc_ns"] - before["offset_ns"]
        return (abs(zero_ns - meeting["zero_utc_ns"]),
                before["error_ns"] + clock["error_ns"] + 2_000)  # of both readings of the clocks


class Meeting(MeetCase):
    def test_three_parts_begin_at_one_instant(self):
        """One of them by a clock that is 3 ms ahead: it is found, before and after the run."""
        ahead = shifted(SHIFT_NS)
        with mock("--ttft", "1ms", "--itl", "0ms") as server:
            flags = self.flags(server)
            runs = self.all_of([self.begin(0, 3, *flags), self.begin(1, 3, *flags, env=ahead),
                                self.begin(2, 3, *flags)])
        rows = []
        for index, run in enumerate(runs):
            self.assertEqual(run.code, 0, run.said + run.complained)
            rows += run.records()
            meeting = run.json("run.json")["meeting"]
            self.assertEqual(list(meeting), ["at", "role", "zero_utc_ns", "clock"])
            self.assertEqual(list(meeting["clock"]), ["before", "after", "kernel_error_ns"])
            self.assertEqual(meeting["role"], "guest" if index else "host")
            self.assertEqual(meeting["at"], f"127.0.0.1:{self.port}")
            error_ns, most_ns = self.zero_error_ns(run)
            self.assertLessEqual(error_ns, most_ns, meeting)
            for when in ("before", "after"):
                known = meeting["clock"][when]
                truth = SHIFT_NS if index == 1 else 0
                self.assertLessEqual(abs(known["offset_ns"] - truth), known["error_ns"], when)
                self.assertEqual(known["error_ns"], (known["round_trip_ns"] + 1) // 2)
        self.assertEqual(len({run.json("run.json")["meeting"]["zero_utc_ns"] for run in runs}), 1)
        self.assertEqual(sorted(rows), list(range(240)))
        # By when rows are due: how late they leave is up to how busy the machine is.
        first = [min(record["due_ns"] for record in run.records().values()) for run in runs]
        self.assertLess(max(first), 3_000_000_000)

    def test_who_does_not_come_is_named(self):
        with mock("--ttft", "1ms", "--itl", "0ms") as server:
            flags = self.flags(server)
            runs = self.all_of([self.begin(index, 3, *flags, within="8s") for index in (0, 1)])
        self.assertEqual([run.code for run in runs], [HOST, HOST])
        for run in runs:
            self.assertIn("shard 2 did not come; nothing was sent", run.complained)
        self.assertFalse((self.scratch / "met" / "shard-0").exists())

    def test_who_came_and_stopped_is_named(self):
        with mock("--ttft", "1ms", "--itl", "0ms") as server:
            flags = self.flags(server)
            first, stopped = (self.begin(index, 3, *flags, within="8s") for index in (0, 1))
            self.wait_for_line(first, "shard 1 is here")
            stopped.send_signal(signal.SIGSTOP)
            last = self.begin(2, 3, *flags, within="8s")
            runs = [self.end(first, 0), self.end(last, 2)]
            stopped.kill()
        for run in runs:
            self.assertEqual(run.code, HOST, run.said)
            self.assertIn("shard 1 came, but did not compare its clock in time", run.complained)

    def test_nobody_listens(self):
        with mock("--ttft", "1ms", "--itl", "0ms") as server:
            process = self.begin(1, 2, *self.flags(server), "--junit", self.scratch / "ci.xml", within="1s")
            run = self.end(process, 1)
        self.assertEqual(run.code, HOST)
        self.assertIn("no process answers there", run.complained)
        (cases,) = self.scratch.glob("ci*.xml")
        self.assertRegex(cases.read_text(), "<error message=.*no process answers there")
        self.assertFalse(run.folder.exists())

    def test_another_trace_or_plan_is_named(self):
        other = self.write("other.jsonl", "".join(
            json.dumps(row) + "\n" for row in self.sample_rows()[:100]))
        with mock("--ttft", "1ms", "--itl", "0ms") as server:
            for change, words in (
                (lambda flags: (other, *flags[1:]), "shard 1 has another trace: digest"),
                (lambda flags: (*flags, "--seed", 7), "shard 1 has another plan"),
                (lambda flags: (*flags, "--limit", 200), "shard 1 has another plan"),
                (lambda flags: (*flags, "--output", "cap"), "shard 1 has another plan"),
                (lambda flags: (*flags, "--api", "openai-completions"), "shard 1 has another plan"),
                (lambda flags: (*flags, "--timeout-total", "1s"), "shard 1 has another plan"),
                (lambda flags: (*flags, "--max-inflight", 40), "shard 1 has another plan"),
                (lambda flags: (*flags, "--header", "X-Team: b"), "shard 1 has another plan"),
            ):
                flags = self.flags(server)
                runs = self.all_of([self.begin(0, 2, *flags), self.begin(1, 2, *change(flags))])
                self.assertEqual([run.code for run in runs], [HOST, HOST], runs[0].said)
                for run in runs:
                    self.assertIn(words, run.complained)
                self.port = free_port()
            runs = [self.begin(0, 3, *flags), self.begin(1, 2, *flags)]
            self.assertIn("shard 1 has the number of shards 2, shard 0 has 3",
                          self.end(runs[0], 0).complained)

    def test_one_part_twice(self):
        with mock("--ttft", "1ms", "--itl", "0ms") as server:
            flags = self.flags(server)
            host = self.begin(0, 3, *flags)
            guests = [self.begin(1, 3, *flags, folder=self.scratch / f"twin{i}") for i in (0, 1)]
            while all(guest.poll() is None for guest in guests):
                time.sleep(0.01)  # polls other processes
            late = next(guest for guest in guests if guest.poll() is not None)
            refused = self.end(late, 1)
            self.assertEqual(refused.code, HOST)
            self.assertIn("shard 1 is here already; two processes have the same --shard",
                          refused.complained)
            last = self.begin(2, 3, *flags)
            self.assertEqual(self.end(host, 0).code, 0)
            self.assertEqual(self.end(last, 2).code, 0)

    def test_strangers_neither_stop_nor_delay_it(self):
        """Garbage, a port scan, a browser, and one who never says a word."""
        junk = (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\0" * 5000, b"x" * 5000, b"{}\n", b"\n",
                b'{"say":"measured"}\n', b"")  # fmt: skip
        with mock("--ttft", "1ms", "--itl", "0ms") as server:
            flags = self.flags(server)
            host = self.begin(0, 2, *flags)
            kept = []
            for text in junk * 3:
                kept.append(self.reach())
                kept[-1].sendall(text)
            for _ in range(20):
                self.reach().close()
            guest = self.begin(1, 2, *flags)
            runs = self.all_of([host, guest])
            for one in kept:
                one.close()
        self.assertEqual([run.code for run in runs], [0, 0], runs[0].complained)
        self.assertRegex(runs[0].said, r"meet: .*127\.0\.0\.1.*: it does not speak the protocol")
        self.assertNotIn("GET", runs[0].said)

    def reach(self):
        end = time.monotonic() + SECONDS_MAX
        while time.monotonic() < end:
            try:
                return socket.create_connection(("127.0.0.1", self.port), timeout=5)
            except ConnectionRefusedError:
                time.sleep(0.01)  # polls another process
        raise AssertionError("part 0 does not listen")

    def test_an_interrupt_ends_the_waiting(self):
        with mock("--ttft", "1ms", "--itl", "0ms") as server:
            flags = self.flags(server)
            for index in (0, 1):
                process = self.begin(index, 2, *flags)
                self.wait_for_line(process, "this shard is ready")
                process.send_signal(signal.SIGINT)
                began = time.monotonic()
                run = self.end(process, index)
                self.assertLess(time.monotonic() - began, 5)
                self.assertEqual(run.code, 130)
                self.assertIn("interrupted before the first request", run.complained)
                self.assertFalse(run.folder.exists())

    def wait_for_line(self, process, words):
        for line in process.stdout:
            if words in line:
                return
        raise AssertionError(f"{words} was not said")

    def test_who_is_gone_after_the_run_is_noted(self):
        """It is killed during the run: the others end as they should."""
        with mock("--ttft", "1ms", "--itl", "0ms") as server:
            flags = (SAMPLE, "--speed", 4, "--no-preflight", "--model", "mock-model", "--url",
                     server.url)
            host = self.begin(0, 2, *flags, within="8s")
            guest = self.begin(1, 2, *flags)
            fired = self.scratch / "met" / "shard-1" / "fired.jsonl"
            while not (fired.exists() and fired.stat().st_size > 0):
                self.assertIsNone(guest.poll())
                time.sleep(0.01)  # polls a file of another process
            guest.kill()
            run = self.end(host, 0)
        self.assertEqual(run.code, 0, run.complained)
        self.assertRegex(run.said, r"meet: waiting up to \ds longer for shard 1 to end")
        self.assertIn("after the run: shard 1 did not come", run.said)
        self.assertEqual(len(read_jsonl(run.folder / "requests.jsonl")), 120)

    def test_the_port_is_taken(self):
        with socket.socket() as taken, mock() as server:
            taken.bind(("0.0.0.0", self.port))
            taken.listen()
            run = self.end(self.begin(0, 2, *self.flags(server)), 0)
        self.assertEqual(run.code, HOST)
        self.assertIn(f"--meet 127.0.0.1:{self.port}", run.complained)
        self.assertFalse(run.folder.exists())

    def test_a_warning_where_clocks_are_not_known_well(self):
        with mock("--ttft", "1ms", "--itl", "0ms") as server:
            flags = (*self.flags(server), "--clock-error-max", "10ns")
            runs = self.all_of([self.begin(index, 2, *flags) for index in (0, 1)])
        self.assertEqual([run.code for run in runs], [0, 0])
        self.assertIn("which is more than --clock-error-max 10ns", runs[1].complained)


class StartAt(MeetCase):
    def test_time_zero_is_what_was_asked(self):
        with mock("--ttft", "1ms", "--itl", "0ms") as server:
            at = utc_after(6)
            runs = self.shards_well(2, *self.flags(server), "--start-at", at)
        for run in runs:
            facts = run.json("run.json")
            self.assertEqual(facts["meeting"]["role"], "start-at")
            self.assertEqual(time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(
                facts["meeting"]["zero_utc_ns"] / 1e9)), at)
            self.assertIsNone(facts["meeting"]["clock"]["before"])
            self.assertLess(abs(facts["clock"]["zero_utc_ns"] - facts["meeting"]["zero_utc_ns"]),
                            facts["clock"]["error_ns"] + 50_000)

    def test_what_is_past_or_no_time(self):
        flags = (SAMPLE, "--url", "http://127.0.0.1:1")
        for at, words in (
            ("2020-01-01T00:00:00Z", "name a later instant"),
            ("+30s", "is not a date and time of RFC 3339"),
            ("2026-13-01T00:00:00Z", "is not a date and time of RFC 3339"),
            ("2026-11-26T05:30:00", "is not a date and time of RFC 3339"),
        ):
            run = self.replay(*flags, "--start-at", at)
            self.assertEqual(run.code, USAGE)
            self.assertIn(words, run.complained)
            self.assertFalse(run.folder.exists())
        for more, words in ((("--meet", "a:1", "--start-at", utc_after(60), "--shard", "0/2"),
                             "remove one"), (("--meet", "a:1"), "add --shard I/N")):
            run = self.replay(*flags, *more, env=environment())
            self.assertEqual(run.code, USAGE)
            self.assertIn(words, run.complained)

    def test_too_near(self):
        """Warming up takes longer than what is left."""
        with mock("--ttft", "1s", "--itl", "0ms") as server:
            run = self.replay(SAMPLE, "--url", server.url, "--start-at", utc_after(3))
        self.assertEqual(run.code, HOST, run.said)
        self.assertIn("came before all was ready", run.complained)
        self.assertFalse(run.folder.exists())


if __name__ == "__main__":
    unittest.main()

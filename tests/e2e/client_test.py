"""What the client says of itself: every key of its schema, sums that agree, and no work in vain."""

import json
import os
import pathlib
import subprocess
import time
import unittest

from harness import SAMPLE, SANITIZED, SECONDS_MAX, Case, may_raise_priority, mock, read_jsonl

SCHEMA = SAMPLE.parents[2] / "proto/run/client.schema.json"
NUMA = pathlib.Path("/proc/sys/kernel/numa_balancing")
SECOND_NS = 1_000_000_000
# An exchange of a stream: a receive and the sleep behind it, each at most twice.
CALLS_PER_EVENT_MAX = 4
HOST = 7
RESET_ON_FORK = 0x40000000


class Client(Case):
    @classmethod
    def setUpClass(cls):
        """One run for all: the other core's server, and sleeps between tokens."""
        case = cls("replay_once")
        case.setUp()
        cls.addClassCleanup(case.doCleanups)
        with mock("--cpu", 0) as server:
            cls.run_ = case.replay_well(SAMPLE, "--url", server.url, "--speed", 4)
        cls.seconds = read_jsonl(cls.run_.folder / "client.jsonl")
        cls.totals = cls.run_.json("summary.json")["client"]

    def replay_once(self):
        """Only lends its scratch folder."""

    def test_every_line_has_every_key(self):
        with open(SCHEMA) as file:
            keys = json.load(file)["required"]
        for second in self.seconds:
            self.assertEqual(list(second), keys)

    def test_lines_follow_each_other(self):
        for before, after in zip(self.seconds, self.seconds[1:]):
            self.assertEqual(before["to_ns"], after["from_ns"])
            self.assertAlmostEqual(before["to_ns"] - before["from_ns"], SECOND_NS, delta=SECOND_NS / 2)

    def test_the_summary_holds_the_sums(self):
        for key, total in self.totals.items():
            if key in self.seconds[0] and total is not None and "max" not in key:
                self.assertEqual(total, sum(second[key] for second in self.seconds), key)
        records = self.run_.records().values()
        self.assertEqual(self.totals["rows_fired"], len(records))
        self.assertEqual(self.totals["bytes_sent"], sum(record["bytes_sent"] for record in records))
        self.assertEqual(
            self.totals["bytes_received"], sum(record["bytes_received"] for record in records)
        )
        self.assertAlmostEqual(
            self.totals["per_request"]["bytes_sent"], self.totals["bytes_sent"] / len(records)
        )

    def test_the_kernel_counts_the_thread(self):
        """CPU time is no longer than the run and no shorter than its work; what is null says why."""
        cpu = self.totals["user_ns"] + self.totals["system_ns"]
        self.assertLess(cpu, self.totals["span_ns"])
        self.assertGreater(cpu, self.totals["busy_fire_ns"] / 10)
        self.assertGreater(self.totals["voluntary_switches"], self.totals["wakes"] / 2)
        self.assertIsNotNone(self.totals["run_delay_ns"])
        facts = self.run_.json("run.json")["engine"]
        self.assertEqual(facts["instructions"], self.totals["instructions"] is not None)
        self.assertEqual(facts["instructions"], facts["instructions_reason"] is None)

    @unittest.skipIf(NUMA.exists() and NUMA.read_text().strip() != "0", "NUMA balancing makes faults")
    @unittest.skipIf(SANITIZED, "sanitizers touch new pages as they go")
    def test_no_page_is_missing_after_time_0(self):
        facts = self.run_.json("run.json")["engine"]
        self.assertTrue(facts["pages_present"])
        self.assertEqual(facts["pages_locked"], facts["pages_reason"] is None)
        for second in self.seconds:
            if second["from_ns"] > 0:
                self.assertEqual((second["minor_faults"], second["major_faults"]), (0, 0))

    def test_the_kernel_is_not_entered_in_vain(self):
        """The kernel may say that it has work where it has none; we do not ask it over and over."""
        events = sum(
            self.totals[key] for key in ("receives", "operations", "wakes", "voluntary_switches")
        )
        self.assertLess(self.totals["system_calls"], CALLS_PER_EVENT_MAX * events)

    def test_the_engine_thread_goes_first_where_asked(self):
        """Only that thread; where the user may not, the run says what would allow it."""
        with mock("--cpu", 0, "--itl", "20ms") as server:
            command, folder = self.command(SAMPLE, "--url", server.url, "--realtime")
            process = subprocess.Popen(
                command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
            )
            self.addCleanup(process.wait)
            self.addCleanup(process.kill)
            self.addCleanup(process.stderr.close)
            while process.poll() is None and not (folder / "requests.jsonl").exists():
                time.sleep(0.01)  # polls a file that another process writes
            if not may_raise_priority():
                self.assertEqual(process.wait(SECONDS_MAX), HOST)
                self.assertIn("CAP_SYS_NICE", process.stderr.read())
                return
            self.assertIsNone(process.poll(), "ended before it wrote anything")
            policies = {}
            for task in pathlib.Path(f"/proc/{process.pid}/task").iterdir():
                policies[task.name] = os.sched_getscheduler(int(task.name)) & ~RESET_ON_FORK
            self.assertEqual(policies.pop(str(process.pid)), os.SCHED_FIFO)
            self.assertEqual(set(policies.values()), {os.SCHED_OTHER})
            self.assertTrue(json.loads((folder / "run.json").read_text())["engine"]["realtime"])


if __name__ == "__main__":
    unittest.main(verbosity=2)

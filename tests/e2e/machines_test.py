"""Three hosts, each a network namespace with its own clock, play one plan: after merge it is the run of
one host, and a host that dies is named and finished later."""

import collections
import json
import os
import signal
import subprocess
import time
import unittest

from harness import DRIFTLESS, SAMPLE, SECONDS_MAX, SANITIZED, Case, Run, Server, read_jsonl
from meeting_test import SHIFT_NS, shifted
from own_network import why_failed
from shards_test import environment

HOSTS = 3
SWITCH = "10.99.0.1"  # the server is there as well
# What time decides, and the words of the mock, which go by the request's id; all else is the same,
# whoever sends a row.
TIMED = ("_ns", "inflight", "connection", "connection_age_ns", "reused", "connection_state", "bytes_sent",
         "bytes_received", "coalesced_chunks", "stale_retries", "tainted", "late_cause", "response_id",
         "trace_id", "request_id", "retransmits", "shard", "segment", "engine", "cached_tokens",
         "headers", "output_digest")  # fmt: skip


class Hosts:
    """The server's namespace has a switch, and a cable to each host's own."""

    def __init__(self):
        mark = f"dl{os.getpid()}"
        self.switch = f"{mark}s"
        self.names = [f"{mark}h{index}" for index in range(HOSTS)]

    def address(self, index):
        return f"10.99.0.{index + 2}"

    def inside(self, name, *command):
        return ["ip", "netns", "exec", name, *[str(word) for word in command]]

    def build(self):
        """Says why it cannot."""
        steps = [f"ip netns add {name}" for name in [self.switch, *self.names]]
        at = f"ip -n {self.switch}"
        steps += [f"{at} link set lo up", f"{at} link add br0 type bridge",
                  f"{at} addr add {SWITCH}/24 dev br0", f"{at} link set br0 up"]  # fmt: skip
        for index, name in enumerate(self.names):
            steps += [f"{at} link add p{index} type veth peer name eth0 netns {name}",
                      f"{at} link set p{index} master br0 up", f"ip -n {name} link set lo up",
                      f"ip -n {name} addr add {self.address(index)}/24 dev eth0",
                      f"ip -n {name} link set eth0 up"]  # fmt: skip
        for step in steps:
            if (why := why_failed(step.split())) is not None:
                return why
        return None

    def remove(self):
        for name in [self.switch, *self.names]:
            why_failed(["ip", "netns", "del", name])


class Machines(Case):
    def setUp(self):
        super().setUp()
        self.hosts = Hosts()
        self.addCleanup(self.hosts.remove)
        if (why := self.hosts.build()) is not None:
            self.skipTest(f"no hosts of our own: {why}")
        server = Server(*self.hosts.inside(self.hosts.switch, DRIFTLESS, "mock", "--listen",
                                           f"{SWITCH}:8000", "--ttft", "2ms", "--itl", "0ms"))  # fmt: skip
        self.enterContext(server)

    def begin(self, host, folder, *flags, ahead_ns=0):
        command, _ = self.command(SAMPLE, "--url", f"http://{SWITCH}:8000", "--model", "mock-model",
                                  *flags, folder=folder)  # fmt: skip
        env = shifted(ahead_ns)
        process = subprocess.Popen(self.hosts.inside(self.hosts.names[host], *command), text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)  # fmt: skip
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def begin_all(self, folder, *flags):
        """By a clock that is right, one that is ahead, and one that is behind."""
        meet = ["--meet", f"{self.hosts.address(0)}:7100", "--meet-timeout", "20s"]
        return [self.begin(index, folder, *flags, *meet, "--shard", f"{index}/{HOSTS}",
                           ahead_ns=(0, SHIFT_NS, -SHIFT_NS)[index])
                for index in range(HOSTS)]  # fmt: skip

    def merge(self, folder, out):
        shards = sorted(folder.glob("shard-*"))
        return subprocess.run([DRIFTLESS, "merge", *map(str, shards), "--out", str(out)],
                              capture_output=True, text=True, timeout=SECONDS_MAX, check=False)

    def rows(self, folder):
        """By row, what time does not decide."""
        return {one["row"]: {key: value for key, value in one.items()
                             if not key.endswith(TIMED) or key == "due_ns"}
                for one in read_jsonl(folder / "requests.jsonl")}  # fmt: skip

    def test_three_hosts_are_as_one(self):
        alone = self.scratch / "alone"
        whole = self.scratch / "whole"
        flags = ("--speed", 20)
        run = self.finish(self.begin(0, alone, *flags), alone)
        self.assertEqual(run.code, 0, run.said + run.complained)
        met = self.scratch / "met"
        for index, process in enumerate(self.begin_all(met, *flags)):
            run = self.finish(process, met / f"shard-{index}")
            self.assertEqual(run.code, 0, run.said + run.complained)
        done = self.merge(met, whole)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        merged, single = self.rows(whole), self.rows(alone)
        differing = {key for row, one in single.items() for key in one if one[key] != merged[row][key]}
        self.assertEqual(differing, set())
        self.assertEqual(len(self.rows(whole)), 240)
        summary = json.loads((whole / "summary.json").read_text())
        self.assertEqual((summary["completed"], summary["not_reported"]), (240, 0))
        for one, truth in zip(summary["shards"], (0, SHIFT_NS, -SHIFT_NS)):
            self.assertLessEqual(abs(one["clock_offset_ns"] - truth), one["clock_error_ns"], one)
            if not SANITIZED:
                self.assertLess(one["clock_error_ns"], 1_000_000, one)
        digests = [json.loads((folder / "run.json").read_text())["plan"]["prompts_digest"]
                   for folder in (alone, whole)]  # fmt: skip
        self.assertEqual(*digests)

    def test_a_host_that_dies_is_named_and_finished_later(self):
        met = self.scratch / "met"
        flags = ("--speed", 10)
        processes = self.begin_all(met, *flags)
        records = met / "shard-1" / "requests.jsonl"
        deadline = time.monotonic() + SECONDS_MAX
        while not (records.exists() and records.read_text().count("\n") >= 10):
            self.assertLess(time.monotonic(), deadline, "shard 1 has no records")
            time.sleep(0.01)
        processes[1].send_signal(signal.SIGKILL)
        for index in (0, 2):
            run = self.finish(processes[index], met / f"shard-{index}")
            self.assertEqual(run.code, 0, run.said + run.complained)
        said, complained = processes[1].communicate(timeout=SECONDS_MAX)
        self.assertEqual(processes[1].returncode, -signal.SIGKILL, said + complained)

        short = self.scratch / "short"
        done = self.merge(met, short)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        summary = json.loads((short / "summary.json").read_text())
        there = len(self.rows(short))
        self.assertLess(there, 240)
        self.assertEqual(summary["not_reported"], 240 - there)
        self.assertEqual(summary["verdict"]["name"], "client-limited")
        self.assertIn(f"shard 1 of 3 was killed: {240 - there} rows are not reported; finish it with "
                      f"driftless replay --resume {met / 'shard-1'}, then merge again", " ".join(done.stdout.split()))

        again = subprocess.Popen(
            self.hosts.inside(self.hosts.names[1], DRIFTLESS, "replay", "--resume", met / "shard-1"),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment())  # fmt: skip
        said, complained = again.communicate(timeout=SECONDS_MAX)
        self.assertEqual(again.returncode, 0, said + complained)
        whole = self.scratch / "whole"
        done = self.merge(met, whole)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        rows = self.rows(whole)
        self.assertEqual(sorted(rows), list(range(240)))
        summary = json.loads((whole / "summary.json").read_text())
        self.assertEqual(summary["not_reported"], 0)
        # Its rows came when the others had ended: that is said, and not that clocks are unknown.
        self.assertEqual(summary["verdict"]["name"], "client-limited")
        reasons = " ".join(summary["verdict"]["reasons"])
        self.assertRegex(reasons, r"\d+ rows of shard 1 of 3 came later")
        self.assertNotIn("was not compared", reasons)
        self.assertIsNone(summary["sent_rate"])
        self.assertEqual(json.loads((met / "shard-1" / "run.json").read_text())["meeting"]["role"], "guest")
        # A row that was in the air when its shard was killed is interrupted, and not sent again.
        outcomes = collections.Counter(one["outcome"] for one in rows.values())
        self.assertLessEqual(set(outcomes), {"ok", "interrupted"}, outcomes)
        self.assertGreaterEqual(outcomes["ok"], there, outcomes)


if __name__ == "__main__":
    unittest.main()

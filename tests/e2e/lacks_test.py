"""What this host has no room for, and nobody asked for, is told before the run, taints the rows
that it touches, and is never certified: descriptors, ports."""

import errno
import json
import resource
import socket
import subprocess
import unittest
from urllib.parse import urlsplit

from harness import SAMPLE, SANITIZED, SECONDS_MAX, Case, Run, mock
from own_network import allow_ports, keep_ports, leave_for_own_network

FILES = 100
ROOM = FILES - 64  # of them for connections
NOT_CERTIFIED = 6
HOST = 7


def few_files():
    resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, FILES))


class Lacks(Case):
    def trace(self, rows, gap_ms, tokens):
        lines = [
            {"timestamp": gap_ms * i, "input_length": 40, "output_length": tokens, "hash_ids": [i]}
            for i in range(rows)
        ]
        return self.write("trace.jsonl", "".join(json.dumps(line) + "\n" for line in lines))

    def connections(self, place, most):
        """At most so many; fewer where no port is left."""
        for _ in range(most):
            try:
                connection = socket.create_connection(place)
            except OSError as full:
                self.assertEqual(full.errno, errno.EADDRNOTAVAIL)
                return
            self.addCleanup(connection.close)

    def replay_with_few_files(self, *flags):
        command, folder = self.command(*flags)
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_MAX,
                              check=False, preexec_fn=few_files)
        return Run(done, folder)

    def test_descriptors(self):
        """2,000 rows 1 ms apart that take 200 ms each want 200 connections, and 36 can be."""
        trace = self.trace(2000, 1, 20)
        with mock("--ttft", "100ms", "--itl", "5ms") as server:
            run = self.replay_with_few_files(trace, "--url", server.url, "--require-certified",
                                             *self.lenient_calibration())
        self.assertEqual(run.code, NOT_CERTIFIED, run.said + run.complained)
        self.assertIn("driftless: warning: at 5 ms per output token, 101 requests are open",
                      run.complained)
        self.assertIn(f"limit of {FILES} open files is too low; run ulimit -n 165", run.complained)
        records = run.records().values()
        held = [record for record in records if record["late_cause"] == "limit"]
        self.assertGreater(len(held), 1000)
        for record in records:
            self.assertEqual("limit" in (record["tainted"] or []), record["late_cause"] == "limit")
            self.assertNotEqual(record["late_cause"], "inflight")
        for record in held:
            self.assertGreater(record["held_ns"], 0)
            self.assertLessEqual(record["held_ns"], record["drift_ns"])
        self.assertIn("held by a limit of this host", run.said)
        summary = run.json("summary.json")
        self.assertNotIn("certified", summary["verdict"]["name"])
        self.assertEqual(summary["drift_left_out"], 0)
        self.assertEqual(summary["held"]["limit"]["held_ns"]["count"], len(held))
        self.assertEqual(summary["held"]["inflight"]["held_ns"]["count"], 0)

    def test_what_the_user_asks_for_is_no_limit(self):
        trace = self.trace(300, 1, 20)
        with mock("--ttft", "100ms", "--itl", "5ms") as server:
            run = self.replay_with_few_files(trace, "--url", server.url, "--max-inflight", ROOM)
        self.assertNotIn("warning:", run.complained)
        records = run.records().values()
        held = [record for record in records if record["late_cause"] == "inflight"]
        self.assertGreater(len(held), 100)
        for record in records:
            self.assertNotEqual(record["late_cause"], "limit")
        summary = run.json("summary.json")
        self.assertEqual(summary["held"]["inflight"]["drift_ns"]["count"], len(held))
        self.assertEqual(summary["held"]["limit"]["held_ns"]["count"], 0)

    def test_eight_descriptors(self):
        """Too few for a run at all: said with the number that is enough, and of nobody else's run."""
        def eight():
            resource.setrlimit(resource.RLIMIT_NOFILE, (8, 8))

        with mock("--ttft", "1ms", "--itl", "1ms") as server:
            for flags, said in (((), "the limit of 8 open files is too low; run ulimit -n 73"),
                                (("--max-inflight", 1), "cannot make the folder ")):
                command, folder = self.command(SAMPLE, "--url", server.url, "--speed", 50, *flags)
                done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_MAX,
                                      check=False, preexec_fn=eight)
                self.assertEqual(done.returncode, HOST, done.stdout + done.stderr)
                self.assertIn(said, done.stderr)
                self.assertNotIn("another run", done.stderr)
                self.assertFalse(folder.exists() and list(folder.iterdir()))
        self.assertIn("Too many open files", done.stderr)

    def test_one_more_than_there_is_room_for(self):
        trace = self.trace(100, 1, 20)
        with mock("--ttft", "100ms", "--itl", "5ms") as server:
            run = self.replay_with_few_files(trace, "--url", server.url, "--max-inflight", ROOM + 1)
        causes = {record["late_cause"] for record in run.records().values()}
        self.assertIn("limit", causes)
        self.assertNotIn("inflight", causes)

    @unittest.skipIf(SANITIZED, "the sanitizers' threads come and go as they like")
    def test_ports(self):
        """Others hold nearly all ports to the server: rows fail by no fault of its own."""
        reason = leave_for_own_network()
        if reason:
            self.skipTest(reason)
        trace = self.trace(100, 2, 20)
        with mock("--ttft", "100ms", "--itl", "5ms") as server:
            reason = allow_ports(40_000, 40_047)
            if reason:
                self.skipTest(reason)
            place = ("127.0.0.1", urlsplit(server.url).port)
            self.addCleanup(allow_ports, 32_768, 60_999)
            self.connections(place, 10)
            run = self.replay(trace, "--url", server.url, "--require-certified",
                              *self.lenient_calibration())
            keep_ports()  # those of the run are kept behind their connections
            self.connections(place, 48)
            without = self.replay(trace, "--url", server.url)
        self.assertEqual(run.code, NOT_CERTIFIED, run.said + run.complained)
        self.assertIn("the kernel has 48 ports for them", run.complained)
        outcomes = {record["outcome"] for record in run.records().values()}
        self.assertEqual(outcomes, {"ok", "client_failed"})
        for record in run.records().values():
            failed = record["outcome"] == "client_failed"
            self.assertEqual("client_failed" in (record["tainted"] or []), failed)
            if failed:
                self.assertIn("EADDRNOTAVAIL", record["error"])
        self.assertEqual(run.json("summary.json")["verdict"]["name"], "client-limited")
        self.assertIn("failed because driftless ran out of", run.said)
        self.assertEqual(without.code, HOST, without.complained)
        self.assertIn("ip_local_port_range", without.complained)


if __name__ == "__main__":
    unittest.main(verbosity=2)

"""A slow disk, a slow reader, many streams: memory is bounded, firing goes on, waiting is told."""

import contextlib
import json
import os
import resource
import signal
import threading
import time
import unittest
import urllib.request

from harness import DRIFTLESS, SECONDS_MAX, Case, mock, read_jsonl
from raw_server import DONE, RawServer, field, stream, token, usage

MIB = 1 << 20
RESIDENT_MAX = 256 * MIB
BODIES_MAX = 64 * MIB
BLIND = ("--no-preflight", "--model", "mock-model")


def rows(*groups):
    """A trace: groups of (count, gap in ms, input tokens, output tokens), one after the other."""
    lines = []
    at = 0.0
    for count, gap, tokens, output in groups:
        for _ in range(count):
            ids = list(range(-(-tokens // 512)))
            row = {"timestamp": int(at), "input_length": tokens, "output_length": output}
            lines.append(json.dumps({**row, "hash_ids": ids}) + "\n")
            at += gap
    return "".join(lines)


class Backpressure(Case):
    def finish(self, process, folder):
        run = super().finish(process, folder)
        self.assertEqual(run.code, 0, run.said + run.complained)
        memory = run.json("run.json")["end"]["memory"]
        if "asan" not in DRIFTLESS:  # the sanitizer's shadow is not ours
            self.assertLess(memory["resident_bytes_max"], RESIDENT_MAX)
        self.assertLessEqual(memory["body_bytes_max"], BODIES_MAX)
        self.assertLessEqual(memory["event_ring_bytes_max"], memory["event_ring_bytes"])
        return run, memory

    def served(self, server):
        with urllib.request.urlopen(server.url + "/metrics") as page:
            for line in page.read().decode().splitlines():
                if line.startswith("vllm:request_success_total"):
                    return int(float(line.split()[-1]))
        raise AssertionError("no count of requests")

    def wait_until_nothing_moves(self, count, at_least):
        """Until `count()` is at least that and has been the same for a second."""
        end = time.monotonic() + SECONDS_MAX
        last, since = count(), time.monotonic()
        while last < at_least or time.monotonic() < since + 1:
            self.assertLess(time.monotonic(), end, f"{last} of {at_least}")
            time.sleep(0.05)  # polls another process
            now = count()
            if now != last:
                last, since = now, time.monotonic()
        return last

    def replay_on_a_hung_disk(self, trace, at_least, *flags):
        """The disk takes nothing until as many rows as can be are answered. How many those are."""
        disk = self.scratch / "disk-works"
        env = {
            **os.environ,
            "LD_PRELOAD": os.environ["HUNG_DISK_LIBRARY"],
            "HUNG_DISK": str(disk),
            "ASAN_OPTIONS": "verify_asan_link_order=0",
        }
        with mock("--ttft", "0", "--itl", "0") as server:
            process, folder = self.start(
                self.write("trace.jsonl", trace), "--url", server.url, *BLIND, *flags,
                until=None, env=env,
            )
            answered = self.wait_until_nothing_moves(lambda: self.served(server), at_least)
            self.assertEqual((folder / "requests.jsonl").stat().st_size, 0)
            disk.touch()
            run, memory = self.finish(process, folder)
        return run, memory, answered

    def test_a_hung_disk_stops_no_fire(self):
        """All rows leave and are answered while not one record can be written. What the ring had no
        room for is missing in the rows that say so, and in no other."""
        count, output = 250, 800
        run, memory, answered = self.replay_on_a_hung_disk(
            rows((count, 10, 600, output)), count, "--max-inflight", count
        )
        self.assertEqual(answered, count)
        self.assertGreater(memory["event_ring_bytes_max"], memory["event_ring_bytes"] * 3 // 4)
        records = run.records()
        self.assertEqual(len(records), count)
        tainted = 0
        for record in records.values():
            self.assertEqual(record["outcome"], "ok", record["error"])
            self.assertEqual(record["held_ns"], 0)
            lost = set(record["tainted"] or ()) & {"payload_dropped", "entries_dropped"}
            whole = record["tokens_source"] == "usage"
            self.assertEqual(whole, not lost, record["row"])
            for count_of in ("prompt_tokens", "output_tokens", "finish_reason"):
                self.assertEqual(record[count_of] is not None, not lost, count_of)
            if "entries_dropped" not in lost:  # every chunk has its stamp, read or not
                self.assertGreaterEqual(len(record["chunk_ns"]), output)
            tainted += not whole
        self.assertGreater(tainted, 0, "the ring was never full: the test shows nothing")
        self.assertLess(tainted, count, "no row was whole: the test shows nothing")
        samples = read_jsonl(run.folder / "client.jsonl")
        self.assertGreater(sum(sample["ring_dropped_payloads"] for sample in samples), 0)

    def test_a_disk_that_hangs_for_long_holds_rows_back(self):
        """When not even the ends of further rows have room, rows wait, and name the writer."""
        first, later = 250, 1500
        run, _, answered = self.replay_on_a_hung_disk(
            rows((first, 10, 600, 1200), (later, 1, 600, 1)), 100, "--max-inflight", 64
        )
        self.assertLess(answered, first + later)
        records = run.records()
        self.assertEqual(len(records), first + later)
        self.assertEqual({record["outcome"] for record in records.values()}, {"ok"})
        held = [row for row, record in records.items() if record["late_cause"] == "writer"]
        self.assertGreater(len(held), 0)
        for row in held:
            self.assertGreater(records[row]["held_ns"], 0)
            self.assertLessEqual(records[row]["held_ns"], records[row]["drift_ns"])
        self.assertGreaterEqual(max(records[row]["held_ns"] for row in held), 1_000_000_000)
        for row, record in records.items():  # those behind it in the queue waited for the same
            if record["drift_ns"] >= 1_000_000_000:
                self.assertEqual(record["late_cause"], "writer", row)

    def test_a_server_that_reads_nothing(self):
        """Large bodies that nobody takes fill their region and no more; later rows are late and
        say that their bytes were not ready."""
        count, tokens = 20, 1_500_000  # 7.5 MB each: more than a socket holds, and 150 MB in all
        gate = threading.Event()
        good = stream(token(), usage(tokens, 1), DONE)

        def wait_and_read(peer):
            self.assertTrue(gate.wait(SECONDS_MAX))
            peer.read_body()
            peer.say(good)

        answers = {row: wait_and_read for row in range(count)}
        with RawServer(answers, unread=answers, receive_buffer=65536) as server:
            process, folder = self.start(
                self.write("trace.jsonl", rows((count, 25, tokens, 1))), "--url", server.url,
                *BLIND, until=None,
            )
            asked = self.wait_until_nothing_moves(lambda: len(server.asked), 4)
            opened = time.monotonic_ns()
            gate.set()
            run, memory = self.finish(process, folder)
        self.assertLess(asked, count)
        self.assertGreater(memory["body_bytes_max"], BODIES_MAX // 2)
        zero = run.json("run.json")["clock"]["zero_monotonic_ns"]
        records = run.records()
        for row, record in records.items():
            self.assertEqual(record["outcome"], "ok", record["error"])
            if row < asked:  # left, but not as a whole
                self.assertGreater(record["sent_ns"] + zero, opened)
                self.assertNotEqual(record["late_cause"], "limit")
        late = [record for record in records.values() if record["late_cause"] == "limit"]
        self.assertGreater(len(late), 0)
        self.assertGreaterEqual(max(record["drift_ns"] for record in late), 500_000_000)

    def test_stops_while_a_slow_server_reads(self):
        """Each stop interrupts whatever waits for room in a socket: the rest is sent all the same."""
        count, tokens = 2, 1_500_000
        good = stream(token(), usage(tokens, 1), DONE)

        def read_slowly(peer):
            left = int(field(peer.head, "content-length")) - len(peer.stored)
            while left > 0:
                left -= len(peer.connection.recv(min(left, 65536)))
                time.sleep(0.005)  # slower than the client sends
            peer.say(good)

        answers = {row: read_slowly for row in range(count)}
        with RawServer(answers, unread=answers, receive_buffer=65536) as server:
            process, folder = self.start(
                self.write("trace.jsonl", rows((count, 25, tokens, 1))), "--url", server.url,
                "--timeout-total", "30s", *BLIND,
            )
            while process.poll() is None:
                for name, pause in ((signal.SIGSTOP, 0.004), (signal.SIGCONT, 0.02)):
                    with contextlib.suppress(ProcessLookupError):
                        process.send_signal(name)
                    time.sleep(pause)
            run, _ = self.finish(process, folder)
        for record in run.records().values():
            self.assertEqual(record["outcome"], "ok", record["error"])

    def test_many_streams_at_once(self):
        """All are open before the first one ends."""
        count = 1500
        with mock("--ttft", "5s", "--itl", "200ms") as server:
            process, folder = self.start(
                self.write("trace.jsonl", rows((count, 1, 64, 4))), "--url", server.url, *BLIND,
                until=None,
            )
            run, memory = self.finish(process, folder)
        records = run.records()
        self.assertEqual(len(records), count)
        self.assertEqual({record["outcome"] for record in records.values()}, {"ok"})
        self.assertEqual(max(record["inflight"] for record in records.values()), count - 1)
        self.assertEqual(memory["connections_max"], count)

    def test_few_descriptors(self):
        """The file limit is a cap on open exchanges: rows wait for it, and none is lost."""
        files, count = 164, 400

        def limit():
            resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))

        with mock("--ttft", "300ms", "--itl", "1ms") as server:
            process, folder = self.start(
                self.write("trace.jsonl", rows((count, 1, 64, 4))), "--url", server.url, *BLIND,
                until=None, preexec_fn=limit,
            )
            run, memory = self.finish(process, folder)
        records = run.records()
        self.assertEqual(len(records), count)
        self.assertEqual({record["outcome"] for record in records.values()}, {"ok"})
        self.assertLessEqual(memory["connections_max"], files - 64)
        held = [record for record in records.values() if record["late_cause"] == "limit"]
        self.assertGreater(len(held), 0)
        for record in held:
            self.assertGreater(record["held_ns"], 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)

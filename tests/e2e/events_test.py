"""What a run does at instants beside sending rows: POSTs, commands, labels; and what it leaves."""

import http.server
import json
import os
import pathlib
import signal
import subprocess
import threading
import time
import unittest

from harness import SAMPLE, SECONDS_MAX, Case, mock, may_raise_priority, read_jsonl, send_signal

FAST = ("--ttft", "1ms", "--itl", "0ms")
SCHEMA = SAMPLE.parents[2] / "proto/run/timed_event.schema.json"


class Listener(http.server.BaseHTTPRequestHandler):
    seen = []

    def do_POST(self):
        self.seen.append((self.path, self.headers.get("Authorization")))
        if self.path == "/hangs":
            self.server.ended.wait(SECONDS_MAX)
        self.send_response(200 if self.path == "/start_profile" else 500)
        self.send_header("Content-Length", "5")
        self.end_headers()
        try:
            self.wfile.write(b"hello")
        except OSError:
            pass  # it was given up

    def log_message(self, *_):
        pass


class Events(Case):
    def listen(self):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Listener)
        server.ended = threading.Event()
        Listener.seen = []
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.addCleanup(server.ended.set)
        return f"http://127.0.0.1:{server.server_port}"

    def lines(self, run):
        lines = read_jsonl(run.folder / "events.jsonl")
        keys = list(json.loads(SCHEMA.read_text())["required"])
        for line in lines:
            self.assertEqual(list(line), keys)
        return {line["event"]: line for line in lines}

    def test_each_kind(self):
        other = self.listen()
        file = self.write("events.txt", "# more\n+0.3s label phase=degraded\n")
        with mock(*FAST) as server:
            run = self.replay_well(
                SAMPLE, "--url", server.url, "--speed", 10, "--api-key", "sk-abcdefgh",
                "--event", f"+0.1s post {other}/start_profile",
                "--event", f"+0.2s post {other}/fails",
                "--event", f"+0.2s post {server.url}/flush_cache",
                "--event", "+0.2s run echo hi; echo there >&2; exit 3",
                "--event", "+1h run touch never", "--events", file,
            )  # fmt: skip
        lines = self.lines(run)
        self.assertEqual(len(lines), 6)
        self.assertEqual([lines[i]["status"] for i in range(6)],
                         ["ok", "failed", "ok", "failed", "not_run", "ok"])  # fmt: skip
        self.assertEqual((lines[0]["code"], lines[0]["output"]), (200, "hello"))
        self.assertEqual(lines[1]["code"], 500)
        self.assertEqual((lines[3]["code"], lines[3]["output"]), (3, "hi\nthere\n"))
        self.assertEqual((lines[5]["kind"], lines[5]["what"]), ("label", "phase=degraded"))
        for line in lines.values():
            if line["begin_ns"] is not None:
                self.assertGreaterEqual(line["begin_ns"], line["at_ns"])
                self.assertGreaterEqual(line["end_ns"], line["begin_ns"])
        self.assertIn("was not run: the run ended before it", run.complained)
        self.assertIn("exit code 3\n  | hi\n  | there\n", run.complained)
        # The key goes to the servers of the run alone.
        self.assertEqual(Listener.seen, [("/start_profile", None), ("/fails", None)])
        for file in run.folder.iterdir():
            self.assertNotIn("sk-abcdefgh", file.read_text())

    def test_commands_have_neither_the_core_nor_the_priority(self):
        realtime = ("--realtime",) if may_raise_priority() else ()
        with mock(*FAST) as server:
            run = self.replay_well(
                SAMPLE, "--url", server.url, "--speed", 20, *realtime, "--event",
                "+0.1s run grep Cpus_allowed_list /proc/self/status; cut -d' ' -f41 /proc/self/stat",
            )  # fmt: skip
        said = self.lines(run)[0]["output"].split()
        host = run.json("run.json")["host"]
        self.assertEqual(said[2], "0")  # SCHED_OTHER
        if len(host["cpus_allowed"]) > 1:
            allowed = set()
            for part in said[1].split(","):
                first, _, last = part.partition("-")
                allowed |= set(range(int(first), int(last or first) + 1))
            self.assertNotIn(host["engine_cpu"], allowed)
            self.assertEqual(allowed, set(host["cpus_allowed"]) - {host["engine_cpu"]})

    def test_hanging_ones_hold_up_nothing(self):
        """Neither rows, nor other events, nor the end for long."""
        other = self.listen()
        with mock(*FAST) as server:
            run = self.replay_well(
                SAMPLE, "--url", server.url, "--speed", 8, "--event-timeout", "0.3s",
                "--event", "+0.1s run sleep 1000", "--event", f"+0.1s post {other}/hangs",
                "--event", "+0.2s label behind",
            )  # fmt: skip
        lines = self.lines(run)
        self.assertEqual([lines[i]["status"] for i in range(3)], ["timed_out", "timed_out", "ok"])
        for i in range(2):
            self.assertGreaterEqual(lines[i]["end_ns"] - lines[i]["begin_ns"], 300_000_000)
        self.assertLess(lines[2]["begin_ns"], lines[0]["end_ns"])

    def drift_p99_ns(self, server, *flags, beside=False):
        """Of a short run; `beside`: this test starts a command every 20 ms meanwhile."""
        command, folder = self.command(SAMPLE, "--url", server.url, "--speed", 10, *flags)
        process = self.launch(command, folder, until=None)
        while beside and process.poll() is None:
            subprocess.run(["sh", "-c", "true"], check=True)
            time.sleep(0.02)
        run = self.finish(process, folder)
        self.assertEqual(run.code, 0, run.said + run.complained)
        if flags:
            self.assertEqual({line["status"] for line in self.lines(run).values()}, {"ok"})
        return run.json("summary.json")["drift_ns"]["p99"]

    def test_drift_is_unharmed(self):
        """Fifty commands, one every 20 ms: rows are as punctual as without, or as on a host where
        somebody else starts as many. The best of up to five each."""
        flags = []
        for i in range(50):
            flags += ["--event", f"+{0.02 * i:.2f}s run true"]
        without, others, events = [], [], []
        with mock(*FAST) as server:
            for _ in range(5):
                without.append(self.drift_p99_ns(server))
                others.append(self.drift_p99_ns(server, beside=True))
                events.append(self.drift_p99_ns(server, *flags))
                if min(events) < 3 * max(min(without), min(others)) + 1_000_000:
                    return
        if len(os.sched_getaffinity(0)) > 1:
            self.fail(f"p99 in ns without {without}, beside others {others}, with {events}")

    def test_an_interrupt_leaves_no_child(self):
        pids = self.scratch / "pids"
        with mock(*FAST) as server:
            process, folder = self.start(
                SAMPLE, "--url", server.url, "--speed", 1, "--event",
                f"+0.1s run sleep 1000 & echo $! $$ > {pids}; sleep 1000",
                "--event", "+8s label late", until="requests.jsonl",
            )  # fmt: skip
            while not (pids.exists() and pids.read_text().endswith("\n")):
                self.assertIsNone(process.poll())
            send_signal(process, signal.SIGINT)
            run = self.finish(process, folder)
        self.assertEqual(run.code, 130)
        lines = self.lines(run)
        self.assertEqual([lines[i]["status"] for i in range(2)], ["cut_off", "not_run"])
        for pid in pids.read_text().split():
            state = pathlib.Path(f"/proc/{pid}/stat")
            self.assertTrue(not state.exists() or state.read_text().split()[2] == "Z")

    def test_a_resumed_run_goes_on_with_them(self):
        with mock(*FAST) as server:
            process, folder = self.start(
                SAMPLE, "--url", server.url, "--speed", 4, "--event", "+0.01s label first",
                "--event", "+2.9s label last", until="requests.jsonl",
            )  # fmt: skip
            process.kill()
            self.finish(process, folder)
            command = [process.args[0], "replay", "--resume", str(folder)]
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=SECONDS_MAX, check=True
            )
        lines = read_jsonl(folder / "events.jsonl")
        self.assertEqual([line["what"] for line in lines], ["first", "last"])
        self.assertEqual([line["segment"] for line in lines], [0, 1])
        self.assertIn("events: 1 was before the resumed part", done.stdout)

    def test_bad_input(self):
        for flags, said in (
            (("--event", "90s run x"), "is not an event"),
            (("--event", "+1s jump x"), "unknown action"),
            (("--events", self.scratch / "none"), "cannot be read"),
            (("--events", self.write("bad", "\n+1s\n")), "bad:2:"),
        ):
            run = self.replay(SAMPLE, "--url", "h", *flags)
            self.assertEqual(run.code, 2)
            self.assertIn(said, run.complained)
            self.assertFalse(run.folder.exists())
        with mock(*FAST) as server:
            run = self.replay(
                SAMPLE, "--url", server.url, "--event", "+1s post http://no.such.host.invalid/"
            )
        self.assertEqual(run.code, 4)
        self.assertIn("cannot be resolved", run.complained)
        self.assertFalse(run.folder.exists())


if __name__ == "__main__":
    unittest.main(verbosity=2)

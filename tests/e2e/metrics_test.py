"""The servers' own metrics beside a run: what is read, what a page that is wrong costs, and what
summary and report make of it."""

import http.server
import json
import os
import pathlib
import shutil
import socket
import subprocess
import threading
import time
import unittest

from harness import DRIFTLESS, SAMPLE, SECONDS_MAX, Case, mock, read_jsonl
from raw_server import DONE, RawServer, stream, token, usage
from tls_test import Papers

FAST = ("--ttft", "2ms", "--itl", "1ms")
RECORD = SAMPLE.parents[2] / "proto/run"
# Made once, and written in few pieces: the thread of the page that is right needs the interpreter, too.
HUGE = b"a 1\n" * (25 << 20)
ENDLESS = (b"a" * 60 + b" 1\n") * 4096


class Pages(http.server.BaseHTTPRequestHandler):
    """A page per way to be wrong. `reads` counts them by path."""

    def page(self, body, kind="text/plain; version=0.0.4"):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def counter(self, value):
        text = f"# TYPE vllm:prompt_tokens_total counter\nvllm:prompt_tokens_total {value}\n"
        self.page(text.encode())

    def do_GET(self):
        server, path = self.server, self.path
        number = server.reads.setdefault(path, 0)
        server.reads[path] += 1
        server.heads.setdefault(path, dict(self.headers))
        try:
            if path == "/fine":
                self.counter(100 + 10 * number)
            elif path == "/html":
                self.page(b"<!DOCTYPE html><html></html>", "text/html")
            elif path == "/slow":
                server.ended.wait(SECONDS_MAX)
            elif path == "/endless":
                self.send_response(200)
                self.end_headers()
                while not server.ended.is_set():
                    self.wfile.write(ENDLESS)
            elif path == "/huge":
                self.page(HUGE)
            elif path == "/gone" and number >= 2:
                self.connection.shutdown(socket.SHUT_RDWR)
            elif path == "/gone":
                self.counter(number)
            elif path == "/reset":
                self.counter(1000 + number if number < 2 else number)
            elif path == "/gpu":
                self.page(b'DCGM_FI_DEV_POWER_USAGE{gpu="0"} 250\n'
                          b'DCGM_FI_DEV_POWER_USAGE{gpu="1"} 150\n')  # fmt: skip
        except OSError:
            pass  # it was given up

    def log_message(self, *_):
        pass


class Metrics(Case):
    def pages(self):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages)
        server.daemon_threads = True
        server.ended = threading.Event()
        server.reads, server.heads = {}, {}
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.addCleanup(server.ended.set)
        server.url = f"http://127.0.0.1:{server.server_port}"
        return server

    def lines(self, folder):
        """(series, scrapes) of a run, each with the keys of its schema."""
        series, scrapes = [], []
        keys = {name: list(json.loads((RECORD / f"server_{name}.schema.json").read_text())
                           ["properties"]) for name in ("series", "scrape")}  # fmt: skip
        for line in read_jsonl(folder / "server.jsonl", whole=False):
            kind = "series" if "name" in line else "scrape"
            self.assertEqual(list(line), keys[kind])
            (series if kind == "series" else scrapes).append(line)
        return series, scrapes

    def report(self, folder, *flags):
        done = subprocess.run([DRIFTLESS, "report", str(folder), "--json", *flags], capture_output=True,
                              text=True, timeout=SECONDS_MAX, check=True)  # fmt: skip
        return json.loads(done.stdout)

    def held_against_records(self, run, server):
        """The servers counted what the client counted."""
        records = list(run.records().values())
        self.assertEqual(server["requests"], len(records))
        self.assertEqual(server["prompt_tokens"], sum(r["prompt_tokens"] for r in records))
        self.assertEqual(server["generated_tokens"], sum(r["output_tokens"] for r in records))
        self.assertEqual(server["prefix_hit_tokens"], sum(r["cached_tokens"] for r in records))

    def test_by_itself_it_reads_the_page_of_each_server(self):
        with mock(*FAST, "--metrics", "vllm") as one, mock(*FAST, "--metrics", "sglang") as two:
            run = self.replay_well(SAMPLE, "--url", one.url, "--url", two.url, "--speed", 4,
                                   "--metrics-period", "200ms")  # fmt: skip
        server = run.json("summary.json")["server"]
        self.assertEqual([url["engine"] for url in server["urls"]], ["vllm", "sglang"])
        self.assertEqual(server["failures"], 0)
        records = list(run.records().values())
        self.assertEqual(server["prompt_tokens"], sum(r["prompt_tokens"] for r in records))
        self.assertEqual(server["generated_tokens"], sum(r["output_tokens"] for r in records))
        self.assertGreater(server["running"]["max"], 0)
        self.assertGreaterEqual(server["running"]["max"], server["running"]["mean"])
        _, scrapes = self.lines(run.folder)
        for url in (one.url, two.url):
            own = [line for line in scrapes if line["url"] == url + "/metrics"]
            self.assertGreater(len(own), 5)
            self.assertLess(own[0]["t_ns"], 0)  # the baseline
            ended = max(r["ended_ns"] for r in records)
            self.assertGreater(own[-1]["t_ns"], ended)
        self.assertIn("Metrics ", run.said)
        self.assertEqual(self.report(run.folder)["server"], server)

    def test_counters_are_the_clients_own(self):
        with mock(*FAST, "--metrics", "vllm") as server:
            run = self.replay_well(SAMPLE, "--url", server.url, "--speed", 10)
            self.held_against_records(run, run.json("summary.json")["server"])
            run = self.replay_well(SAMPLE, "--url", server.url, "--users", 2, "--for", "1s",
                                   "--warmup-requests", 3)  # fmt: skip
        summary = run.json("summary.json")
        self.assertGreater(summary["warmup"]["requests"], 0)
        self.assertGreaterEqual(summary["server"]["requests"],
                                summary["completed"] + summary["warmup"]["requests"])  # fmt: skip

    def test_it_is_silent_where_there_is_no_page(self):
        with mock(*FAST, "--metrics", "none") as server:
            run = self.replay_well(SAMPLE, "--url", server.url, "--speed", 20)
        self.assertIsNone(run.json("summary.json")["server"])
        self.assertFalse((run.folder / "server.jsonl").exists())
        self.assertNotIn("etrics", run.said + run.complained)

    def test_none_reads_nothing(self):
        with mock(*FAST) as server:
            run = self.replay_well(SAMPLE, "--url", server.url, "--speed", 20, "--metrics", "none")
        self.assertIsNone(run.json("summary.json")["server"])
        self.assertFalse((run.folder / "server.jsonl").exists())

    def test_a_page_that_hangs_costs_less_than_a_second(self):
        """Against the same run that reads none: the best of three."""
        asked = []

        class Hanging(RawServer):
            def serve(self, connection):
                first = connection.recv(12, socket.MSG_PEEK | socket.MSG_WAITALL)
                if first == b"GET /metrics":
                    asked.append(connection)  # open, and silent
                else:
                    super().serve(connection)

        def best_of_three(*flags):
            times = []
            for _ in range(3):
                with Hanging({0: stream(token(), usage(4, 1), DONE)}) as server:
                    begun = time.monotonic()
                    run = self.replay(trace, "--url", server.url, *flags)
                    times.append(time.monotonic() - begun)
                self.assertEqual(run.code, 0, run.said + run.complained)
                self.assertFalse((run.folder / "server.jsonl").exists())
                self.assertNotIn("etrics", run.complained)
            return min(times)

        trace = self.write("one.jsonl", '{"timestamp":0,"input_length":4,"output_length":1,'
                                        '"hash_ids":[1]}\n')  # fmt: skip
        flags = ("--no-preflight", "--model", "m")
        hanging = best_of_three(*flags)
        self.assertEqual(len(asked), 3)
        self.assertLess(hanging - best_of_three(*flags, "--metrics", "none"), 1.0)
        for connection in asked:
            connection.close()

    def test_pages_that_are_wrong_are_told_and_harm_nothing(self):
        pages = self.pages()
        wrong = {
            "/html": "HTML", "/slow": "timed out", "/endless": "", "/huge": "",
            "/gone": "", "/none": "closed",
        }  # fmt: skip
        flags = []
        for path in ("/fine", "/reset", *wrong):
            flags += ["--metrics", pages.url + path]
        with mock(*FAST, "--metrics", "none") as server:
            run = self.replay_well(SAMPLE, "--url", server.url, "--speed", 2, *flags,
                                   "--metrics-period", "300ms")  # fmt: skip
        summary = run.json("summary.json")
        self.assertEqual(summary["completed"], 240)
        by_path = {url["url"].removeprefix(pages.url): url for url in summary["server"]["urls"]}
        self.assertEqual(set(by_path), {"/fine", "/reset", *wrong})
        for path, said in wrong.items():
            self.assertGreater(by_path[path]["failures"], 0, path)
            self.assertIn(said, by_path[path]["first_failure"])
            self.assertIn(f"--metrics {pages.url}{path}: ", run.complained)
            # Less and less often.
            self.assertLess(by_path[path]["failures"], by_path["/fine"]["scrapes"])
        fine = by_path["/fine"]
        self.assertEqual((fine["failures"], fine["restarts"]), (0, 0))
        self.assertEqual(by_path["/reset"]["restarts"], 1)
        self.assertGreaterEqual(by_path["/gone"]["scrapes"], 2)
        # From 1000 to 1001, then anew from 0; and from 0 to 1 before it went away.
        reset = 1 + pages.reads["/reset"] - 1
        self.assertEqual(summary["server"]["prompt_tokens"],
                         10 * (pages.reads["/fine"] - 1) + reset + 1)  # fmt: skip
        self.assertEqual(self.report(run.folder)["server"], summary["server"])
        self.assertEqual(pages.heads["/fine"]["Accept"], "text/plain;version=0.0.4")

    def test_the_key_goes_to_the_servers_of_the_run_alone(self):
        pages = self.pages()
        with mock(*FAST, "--metrics", "vllm") as server:
            run = self.replay_well(SAMPLE, "--url", server.url, "--speed", 20,
                                   "--api-key", "sk-abcdefgh", "--metrics", pages.url + "/fine",
                                   "--metrics", "auto")  # fmt: skip
        self.assertNotIn("Authorization", pages.heads["/fine"])
        self.assertEqual(len(run.json("summary.json")["server"]["urls"]), 2)
        for file in run.folder.iterdir():
            self.assertNotIn("sk-abcdefgh", file.read_text())

    def test_energy_per_request_and_token(self):
        pages = self.pages()
        with mock(*FAST, "--metrics", "none") as server:
            run = self.replay_well(SAMPLE, "--url", server.url, "--speed", 8,
                                   "--metrics", pages.url + "/gpu")  # fmt: skip
        summary = run.json("summary.json")
        energy = summary["server"]["energy"]
        self.assertAlmostEqual(energy["watts"]["mean"], 400)
        self.assertEqual(energy["watts"]["max"], 400)
        self.assertAlmostEqual(energy["joules"], 400 * summary["duration"], places=3)
        for key, divisor in (
            ("request", summary["completed"]),
            ("input_token", summary["total_input_tokens"]),
            ("output_token", summary["total_output_tokens"]),
            ("token", summary["total_input_tokens"] + summary["total_output_tokens"]),
        ):
            self.assertAlmostEqual(energy[f"joules_per_{key}"], energy["joules"] / divisor)

    def test_energy_per_finished_tree(self):
        pages = self.pages()
        trace = self.write("trees.jsonl", "".join(
            json.dumps({"timestamp": 50 * i, "input_length": 64, "output_length": 3, "hash_ids": [i],
                        "session_id": f"s{i % 6}"}) + "\n" for i in range(18)))  # fmt: skip
        # Row 4 is of session s4, which is no finished tree then.
        with mock(*FAST, "--metrics", "none", "--fault-row", "500:4") as server:
            run = self.replay_well(trace, "--url", server.url, "--metrics", pages.url + "/gpu",
                                   "--format", "mooncake")  # fmt: skip
        energy = run.json("summary.json")["server"]["energy"]
        whole = {r["session"] for r in run.records().values()} - {
            r["session"] for r in run.records().values() if r["outcome"] != "ok"
        }
        self.assertEqual(len(whole), 5)
        self.assertAlmostEqual(energy["joules_per_tree"], energy["joules"] / 5)
        self.assertIn("J per finished tree", run.said)
        told = self.report(run.folder, "--trees")
        self.assertAlmostEqual(told["trees"]["joules_per_tree"], energy["joules_per_tree"])
        self.assertEqual(told["server"]["energy"], energy)

    def test_a_killed_run_has_its_figures_and_goes_on_with_them(self):
        with mock(*FAST, "--metrics", "vllm") as server:
            process, folder = self.start(
                SAMPLE, "--url", server.url, "--speed", 3, "--metrics-period", "100ms",
                until="requests.jsonl",
            )  # fmt: skip
            while len(self.lines(folder)[1]) < 12:
                self.assertIsNone(process.poll())
            process.kill()
            self.finish(process, folder)
            killed = self.report(folder)["server"]
            _, scrapes = self.lines(folder)
            self.assertEqual(killed["scrapes"], len(scrapes))
            self.assertGreater(killed["requests"], 0)
            done = subprocess.run([DRIFTLESS, "replay", "--resume", str(folder)],
                                  capture_output=True, text=True, timeout=SECONDS_MAX)  # fmt: skip
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        summary = json.loads((folder / "summary.json").read_text())
        series, scrapes = self.lines(folder)
        self.assertEqual({line["segment"] for line in series}, {0, 1})
        self.assertEqual(summary["server"]["scrapes"], len(scrapes))
        self.assertGreater(summary["server"]["requests"], killed["requests"])
        self.assertEqual(self.report(folder)["server"], summary["server"])

    @unittest.skipUnless(shutil.which("openssl"), "no openssl")
    def test_over_tls(self):
        papers = Papers(self.scratch)
        cert, key = papers.server()
        with mock(*FAST, "--metrics", "vllm", "--tls-cert", cert, "--tls-key", key) as server:
            url = server.url.replace("http://", "https://")
            run = self.replay_well(SAMPLE, "--url", url, "--ca", papers.ca, "--speed", 10)
        counted = run.json("summary.json")["server"]
        self.assertEqual(counted["urls"][0]["url"], url + "/metrics")
        self.held_against_records(run, counted)

    def test_the_thread_never_has_the_engines_cpu(self):
        if len(os.sched_getaffinity(0)) < 2:
            self.skipTest("one CPU")
        with mock(*FAST, "--metrics", "vllm") as server:
            process, folder = self.start(SAMPLE, "--url", server.url, "--speed", 3)
            cpus = {}
            for task in pathlib.Path(f"/proc/{process.pid}/task").iterdir():
                cpus[(task / "comm").read_text().strip()] = os.sched_getaffinity(int(task.name))
            run = self.finish(process, folder)
        host = run.json("run.json")["host"]
        self.assertEqual(cpus["metrics"], set(host["cpus_allowed"]) - {host["engine_cpu"]})

    def test_users_have_tables_of_their_own(self):
        """Before the known ones; and report has them of the run, whatever became of the file."""
        table = self.write("own.toml", 'engine = "own"\nprefixes = ["vllm:"]\n[[figure]]\n'
                           'name = "preemptions"\nmetrics = "vllm:prompt_tokens"\nscale = 2\n'
                           )  # fmt: skip
        pages = self.pages()
        with mock(*FAST, "--metrics", "none") as server:
            run = self.replay_well(SAMPLE, "--url", server.url, "--speed", 20, "--metrics",
                                   pages.url + "/fine", "--metrics-table", table)  # fmt: skip
        counted = run.json("summary.json")["server"]
        self.assertEqual(counted["urls"][0]["engine"], "own")
        self.assertEqual(counted["preemptions"], 20 * (pages.reads["/fine"] - 1))
        self.assertIsNone(counted["prompt_tokens"])
        table.unlink()
        self.assertEqual(self.report(run.folder)["server"], counted)

    def test_bad_input(self):
        bad = self.write("bad.toml", 'engine = "a"\nprefixes = ["a"]\ngate = 1\n')
        for flags, said in (
            (("--metrics", "none", "--metrics", "auto"), "--metrics none cannot"),
            (("--metrics", "ftp://a"), "unknown scheme"),
            (("--metrics-period", "1ms"), "100ms to 1h"),
            (("--metrics-table", bad), "bad.toml: line 3: gate is not known"),
            (("--metrics-table", self.scratch / "none"), "cannot be read"),
        ):
            run = self.replay(SAMPLE, "--url", "h", *flags)
            self.assertEqual(run.code, 2)
            self.assertIn(said, run.complained)
            self.assertFalse(run.folder.exists())
        with mock(*FAST) as server:
            run = self.replay(SAMPLE, "--url", server.url,
                              "--metrics", "http://no.such.host.invalid/")  # fmt: skip
        self.assertEqual(run.code, 4)
        self.assertIn("cannot be resolved", run.complained)
        self.assertFalse(run.folder.exists())


if __name__ == "__main__":
    unittest.main(verbosity=2)

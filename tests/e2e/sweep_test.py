"""sweep: cells with hooks, killed and resumed; what fails is told and nothing is lost."""

import csv
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import threading
import time
import unittest
import urllib.request

from harness import Case, DRIFTLESS, SAMPLE, SECONDS_MAX, mock, send_signal
from page_file import Page

QUICK = ("--limit", "10", "--speed", "50", "--calibration", "none")


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Sweep(Case):
    def sweep(self, *flags, **how):
        return subprocess.run([DRIFTLESS, "sweep", *[str(flag) for flag in flags]], **how,
                              capture_output=True, text=True, timeout=SECONDS_MAX, check=False)  # fmt: skip

    def start_sweep(self, *flags, **how):
        process = subprocess.Popen([DRIFTLESS, "sweep", *[str(flag) for flag in flags]], **how,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)  # fmt: skip
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def ledger(self, folder):
        return json.loads((folder / "sweep.json").read_text())

    def table(self, folder):
        with (folder / "sweep.csv").open(newline="") as file:
            return list(csv.DictReader(file))

    def marks(self, folder):
        """What the runs of a sweep hold in shared memory."""
        ids = {one for path in folder.glob("*/run.json")
               for one in re.findall(r'"run_id":"([0-9a-f]{8})"', path.read_text())}  # fmt: skip
        return [one for one in ids if pathlib.Path(f"/dev/shm/driftless-{one}").exists()]

    def outcomes(self, folder):
        return [cell["outcome"] for cell in self.ledger(folder)["cells"]]

    def wait_for(self, holds, what):
        end = time.monotonic() + SECONDS_MAX
        while not holds():
            self.assertLess(time.monotonic(), end, what)
            time.sleep(0.01)  # polls files that another process writes

    def restarting(self, *of_mock):
        """A plan's hooks that restart a mock for each cell, and its URL."""
        port = free_port()
        pid = self.scratch / "mock.pid"
        starts = self.scratch / "starts"
        kill = (f"if [ -f {pid} ]; then kill -9 $(cat {pid}); i=0; "
                f"while kill -0 $(cat {pid}) 2>/dev/null && [ $i -lt 100 ]; do i=$((i+1)); sleep 0.02; done; "
                f"rm {pid}; fi")  # fmt: skip
        flags = " ".join(of_mock)
        start = (f"{kill}; echo $DRIFTLESS_CELL >> {starts}; {DRIFTLESS} mock --listen 127.0.0.1:{port} "
                 f"{flags} & echo $! > {pid}")  # fmt: skip
        url = f"http://127.0.0.1:{port}"
        ready = f"""python3 -c "import urllib.request as u; u.urlopen('$DRIFTLESS_URL/health')" """
        self.addCleanup(subprocess.run, ["sh", "-c", kill], check=False, capture_output=True)
        return ("--before", start, "--ready", ready, "--after", kill, "--url", url), starts

    def test_killed_in_the_third_of_six_and_resumed(self):
        hooks, starts = self.restarting("--ttft", "5ms", "--itl", "1ms")
        out = self.scratch / "six"
        process = self.start_sweep(SAMPLE, *hooks, "--over", "speed=1,2,4", "--over", "max-inflight=50,60",
                                   "--label", "gpu=none", "--out", out, "--", "--limit", "40",
                                   "--calibration", "none")  # fmt: skip
        fired = out / "03-speed=2-max-inflight=50" / "fired.jsonl"
        self.wait_for(lambda: fired.exists() and fired.stat().st_size > 0, "the third cell does not begin")
        process.kill()
        process.wait()
        before = self.ledger(out)
        self.assertEqual(self.outcomes(out), ["completed"] * 2 + ["running"] + ["pending"] * 3)
        self.assertEqual(len(self.marks(out)), 1)

        done = self.sweep("--resume", out)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(self.outcomes(out), ["completed"] * 6)
        after = self.ledger(out)
        self.assertEqual(after["cells"][:2], before["cells"][:2])  # not run again
        cut = after["cells"][2]["cut"]
        self.assertEqual(cut, ["03-speed=2-max-inflight=50.cut-1"])
        self.assertIn(f"is kept as {cut[0]}", done.stdout)
        # The replay of the killed sweep died with it: its run never closed its books.
        self.assertIsNone(json.loads((out / cut[0] / "run.json").read_text())["end"])
        self.assertFalse((out / cut[0] / "summary.json").exists())
        self.assertEqual(self.marks(out), [])  # nobody resumes what was played anew
        self.assertEqual(len(starts.read_text().splitlines()), 7)  # a mock for each try
        for cell in after["cells"]:
            run = json.loads((out / cell["run"] / "run.json").read_text())
            self.assertEqual(run["labels"], {**cell["values"], "gpu": "none"})
            summary = json.loads((out / cell["run"] / "summary.json").read_text())
            cache = summary["cache"]
            self.assertEqual(cache["cached_tokens"], cache["expected_cached_tokens"], cell["run"])
            self.assertEqual(cell["summary"]["p99_ttft_ms"], summary["p99_ttft_ms"])
            self.assertTrue((out / (cell["run"] + ".before.txt")).exists())

        rows = self.table(out)
        # What the table of the folder has.
        self.assertEqual([row["speed"] for row in rows], ["1", "1", "2", "2", "4", "4"])
        table = subprocess.run([DRIFTLESS, "compare", "--table", out, "--csv", "-"], capture_output=True, text=True,
                               timeout=SECONDS_MAX, check=True)  # fmt: skip
        self.assertEqual((out / "sweep.csv").read_text(), table.stdout)
        for row, cell in zip(rows, after["cells"]):
            self.assertEqual((row["status"], row["num_requests"], row["outcome"]), ("SUCCESS", "40", "completed"))
            self.assertEqual(float(row["p50_ttft_ms"]), cell["summary"]["median_ttft_ms"])
            self.assertEqual(float(row["p99_latency_ms"]), cell["summary"]["p99_e2el_ms"])

        again = self.sweep("--resume", out)  # all is done: nothing is played
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertNotIn("cell 1 of 6", again.stdout)
        self.assertEqual(len(starts.read_text().splitlines()), 7)

    def test_resume_goes_home(self):
        """Paths and hooks go by the folder in which the sweep began; a trace that has changed is refused."""
        home = self.scratch / "home"
        home.mkdir()
        trace = home / "trace.jsonl"
        trace.write_bytes(SAMPLE.read_bytes())
        (home / "hook.sh").write_text("echo $DRIFTLESS_CELL >> here\n")
        with mock("--ttft", "5ms", "--itl", "1ms") as server:
            process = self.start_sweep("trace.jsonl", "--url", server.url, "--over", "speed=2,50", "--out", "out",
                                       "--before", "sh ./hook.sh", "--", *QUICK[:2], "--calibration", "none",
                                       cwd=home)  # fmt: skip
            fired = home / "out" / "01-speed=2" / "fired.jsonl"
            self.wait_for(lambda: fired.exists() and fired.stat().st_size > 0, "the first cell does not begin")
            process.kill()
            process.wait()
            trace.write_bytes(SAMPLE.read_bytes() + b"\n")
            changed = self.sweep("--resume", home / "out")
            self.assertEqual(changed.returncode, 3, changed.stderr)
            self.assertIn("trace.jsonl has changed since the start", changed.stderr)
            self.assertEqual(self.outcomes(home / "out"), ["running", "pending"])
            trace.write_bytes(SAMPLE.read_bytes())
            done = self.sweep("--resume", "home/out", cwd=self.scratch)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(self.outcomes(home / "out"), ["completed"] * 2)
        self.assertEqual((home / "here").read_text(), "01-speed=2\n01-speed=2\n02-speed=50\n")
        home.rename(self.scratch / "elsewhere")
        gone = self.sweep("--resume", self.scratch / "elsewhere" / "out")
        self.assertEqual(gone.returncode, 3)
        self.assertIn(f"it was started in {home}: ", gone.stderr)

    def test_keys_are_found_before_the_first_cell(self):
        """One that is missing, and one that stands in another flag, too: no hook has run."""
        out, ran = self.scratch / "keys", self.scratch / "ran"
        environment = {**os.environ, "THE_KEY": "sk-0123456789"}
        for flags, said in (
            (("--api-key", "env:NO_SUCH_KEY"), "NO_SUCH_KEY"),
            (("--header", "X-Api-Key: env:NO_SUCH_KEY"), "NO_SUCH_KEY"),
            (("--api-key", "env:THE_KEY", "--model", "sk-0123456789"), "--model"),
        ):
            done = self.sweep(SAMPLE, "--url", "http://127.0.0.1:9", "--over", "speed=1,2", "--out", out,
                              "--before", f"touch {ran}", "--", *flags, env=environment)  # fmt: skip
            self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
            self.assertIn(said, done.stderr)
            self.assertNotIn("sk-0123456789", done.stderr)
            self.assertFalse(out.exists() or ran.exists(), flags)

    def test_a_disk_that_is_full(self):
        """What became of a cell stands on standard error where sweep.json cannot have it."""
        out = self.scratch / "full"
        done = self.sweep(SAMPLE, "--url", "http://127.0.0.1:9", "--over", "speed=1", "--out", out,
                          "--before", f"mkdir {out}/sweep.json.new; exit 3")  # fmt: skip
        self.assertEqual(done.returncode, 7, done.stdout + done.stderr)
        self.assertIn("sweep.json: cannot ", done.stderr)
        self.assertIn("driftless sweep: cell speed=1: failed: before: exit code 3", done.stderr)
        self.assertIn("sweep.json does not record this", done.stderr)

    def test_a_cell_that_is_started_warm(self):
        """One salt and no restart: the second cell finds the prompts of the first, and is not averaged."""
        out = self.scratch / "warm"
        with mock("--ttft", "5ms", "--itl", "1ms") as server:
            done = self.sweep(SAMPLE, "--url", server.url, "--over", "speed=50,60", "--out", out, "--", *QUICK[:2],
                              "--calibration", "none", "--cache-salt", "same")  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        ledger = self.ledger(out)
        self.assertEqual([cell["warm"] for cell in ledger["cells"]], [False, True])
        self.assertEqual([row["status"] for row in self.table(out)], ["SUCCESS", "FAILED"])
        self.assertIn("began with a warm cache (not averaged)", done.stdout)
        self.assertIn("left out of means and frontiers: its cache was warm from an earlier run", done.stdout)

    def test_a_plan_in_a_file(self):
        out = self.scratch / "plan"
        with mock("--ttft", "1ms", "--itl", "1ms") as server:
            plan = self.write("plan.toml", f"""
trace = "{SAMPLE}"
url = "{server.url}"
repeat = 2
[over]
speed = [50, 100]
spread = [true, false]
[replay]
limit = 5
calibration = "none"
header = ["X-One: 1", "X-Two: 2"]
[labels]
kind = "test"
""")  # fmt: skip
            dry = self.sweep(plan, "--dry-run")
            self.assertEqual(dry.returncode, 0, dry.stderr)
            self.assertIn("speed=50 spread=true: 5 rows", dry.stdout)
            self.assertIn("8 cells", dry.stdout)
            asks = ("--", "--reset-cache", "--verify-prompts", "2")
            dry = self.sweep(SAMPLE, "--url", server.url, "--over", "speed=50", "--dry-run", *asks)
            self.assertEqual(dry.returncode, 0, dry.stdout + dry.stderr)
            done = self.sweep(plan, "--out", out)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        cells = self.ledger(out)["cells"]
        order = [(cell["values"]["speed"], cell["values"]["spread"]) for cell in cells]
        self.assertEqual(order[4:], order[3::-1])  # A B B A
        self.assertEqual([cell["repeat"] for cell in cells], [1] * 4 + [2] * 4)
        runs = [json.loads((out / cell["run"] / "run.json").read_text()) for cell in cells]
        self.assertEqual([run["plan"]["spread"] for run in runs], [one[1] == "true" for one in order])
        salts = {run["plan"]["cache_salt"] for run in runs}
        self.assertEqual(len(salts), 8)  # no hook restarts the server: prompts of its own for each
        for row in self.table(out):
            same = [cell for cell in cells if cell["values"] == {"speed": row["speed"], "spread": row["spread"]}]
            self.assertEqual(row["runs"], "2")
            mean = sum(cell["summary"]["mean_ttft_ms"] for cell in same) / 2
            self.assertAlmostEqual(float(row["mean_ttft_ms"]), mean)

    def test_a_hook_that_hangs(self):
        out = self.scratch / "hangs"
        pid = self.scratch / "pid"
        with mock() as server:
            done = self.sweep(SAMPLE, "--url", server.url, "--over", "speed=50,100", "--out", out,
                              "--before", f"trap '' TERM; echo $$ > {pid}; sleep 600", "--hook-limit", "300ms",
                              "--after", f"echo $DRIFTLESS_SPEED >> {self.scratch}/after", "--", *QUICK[:2])  # fmt: skip
        self.assertEqual(done.returncode, 5, done.stdout + done.stderr)
        self.assertEqual(self.outcomes(out), ["failed", "failed"])
        self.assertIn("before: killed at its time limit of 300ms", self.ledger(out)["cells"][0]["why"])
        self.assertIn("before: killed at its time limit of 300ms", done.stdout)
        cmdline = pathlib.Path(f"/proc/{pid.read_text().strip()}/cmdline")
        self.assertFalse(cmdline.exists() and cmdline.read_text())  # gone, or a zombie
        self.assertEqual((self.scratch / "after").read_text(), "50\n100\n")

    def test_hooks_that_fail_alike_stop_the_sweep(self):
        """With the end of their output; what was measured stays, and is told; a correction, and it goes on."""
        out, well = self.scratch / "alike", self.scratch / "well"
        before = f"[ -f {well} ] || [ $DRIFTLESS_SPEED = 50 ] && exit; seq 20; printf 'no \\033[1mGPU\\n' >&2; exit 3"
        with mock("--ttft", "1ms", "--itl", "1ms") as server:
            done = self.sweep(SAMPLE, "--url", server.url, "--over", "speed=50,51,52,53", "--out", out,
                              "--before", before, "--", *QUICK[:2], "--calibration", "none")  # fmt: skip
            self.assertEqual(done.returncode, 7, done.stdout + done.stderr)
            self.assertEqual(self.outcomes(out), ["completed", "failed", "failed", "pending"])
            self.assertIn("cell 2 of 4  speed=51: failed: before: exit code 3 (its output: 02-speed=51.before.txt)\n"
                          "  | 12\n", done.stdout)  # fmt: skip
            self.assertIn("  | 20\n  | no \\u001b[1mGPU\n", done.stdout)
            self.assertIn("hooks of two cells in a row failed alike (before: exit code 3); correct what they need, "
                          f"then driftless sweep --resume {out}", done.stderr)  # fmt: skip
            self.assertEqual([row["status"] for row in self.table(out)][0], "SUCCESS")
            self.assertIn(f"files: {out}\n", done.stdout)
            first = self.ledger(out)["cells"][0]
            well.touch()
            done = self.sweep("--resume", out)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(self.outcomes(out), ["completed"] * 4)
        self.assertEqual(self.ledger(out)["cells"][0], first)
        self.assertEqual([cell["hook_failed"] for cell in self.ledger(out)["cells"]], [None] * 4)

    def test_values_that_no_hook_can_serve(self):
        """They come last when the sweep goes on, and two plays of the same values are not two failures."""
        out = self.scratch / "never"
        with mock("--ttft", "1ms", "--itl", "1ms") as server:
            done = self.sweep(SAMPLE, "--url", server.url, "--over", "speed=51,52,50", "--out", out, "--before",
                              "[ $DRIFTLESS_SPEED = 50 ]", "--", *QUICK[:2], "--calibration", "none")  # fmt: skip
            self.assertEqual(done.returncode, 7, done.stdout + done.stderr)
            self.assertEqual(self.outcomes(out), ["failed", "failed", "pending"])
            done = self.sweep("--resume", out)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertEqual(self.outcomes(out), ["failed", "failed", "completed"])
            twice = self.scratch / "twice"
            done = self.sweep(SAMPLE, "--url", server.url, "--over", "speed=50,51", "--repeat", 2, "--out", twice,
                              "--before", "[ $DRIFTLESS_SPEED = 50 ]", "--", *QUICK[:2], "--calibration", "none")  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(self.outcomes(twice), ["completed", "failed", "failed", "completed"])

    def test_hooks_that_fail_each_in_its_way(self):
        """These are data: every cell is played, and so is one whose `after` alone fails."""
        out = self.scratch / "ways"
        with mock("--ttft", "1ms", "--itl", "1ms") as server:
            done = self.sweep(SAMPLE, "--url", server.url, "--over", "speed=50,51,52,53", "--out", out,
                              "--before", "exit $((DRIFTLESS_SPEED % 51))", "--after", "echo late; exit 4",
                              "--", *QUICK[:2], "--calibration", "none")  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(self.outcomes(out), ["failed", "completed", "failed", "failed"])
        self.assertEqual([cell["hook_failed"] for cell in self.ledger(out)["cells"]],
                         ["before: exit code 50; after: exit code 4", "after: exit code 4",
                          "before: exit code 1; after: exit code 4", "before: exit code 2; after: exit code 4"])  # fmt: skip
        self.assertIn("after: exit code 4 (its output: 02-speed=51.after.txt)\n  | late\n", done.stdout)

    def test_what_fails_is_seen_at_once(self):
        """`before` while `after` runs; and that the server is not ready, while it is waited for."""
        for hook, command, said in (("--before", "echo why; exit 1", b"failed: before: exit code 1"),
                                    ("--before", "echo why; sleep 600", b"waiting: before: still running"),
                                    ("--ready", "echo why; sleep 600", b"waiting: ready: still running"),
                                    ("--ready", "echo why; exit 1", b"waiting: ready: exit code 1")):  # fmt: skip
            out = self.scratch / f"{hook}{len(command)}"
            begin = time.monotonic()
            process = self.start_sweep(SAMPLE, "--url", f"http://127.0.0.1:{free_port()}", "--over", "speed=50",
                                       "--out", out, hook, command, "--after", "sleep 600")  # fmt: skip
            seen = b""
            while b"  | why\n" not in seen:
                seen += os.read(process.stdout.fileno(), 4096)
            self.assertLess(time.monotonic() - begin, 8)  # 4 s, of 10 minutes
            self.assertIn(said, seen)
            self.assertIsNone(process.poll())
            if said.startswith(b"waiting"):
                send_signal(process, signal.SIGINT)
            self.wait_for((out / "01-speed=50.after.txt").exists, "after does not begin")
            send_signal(process, signal.SIGINT)
            process.communicate(timeout=SECONDS_MAX)

    def test_the_name_of_a_cell_fits_a_file(self):
        """Unquoted, too, whatever the values are; no two are alike."""
        out, names = self.scratch / "names", self.scratch / "names.d"
        names.mkdir()
        values = ("a/b", "a b", "$(id);*?", "../../x", "\u00e4\n'\"", "x" * 300, "x" * 301)
        done = self.sweep(SAMPLE, "--url", f"http://127.0.0.1:{free_port()}", "--over", "speed=50",
                          "--server", "what=" + ",".join(values), "--out", out,
                          "--before", f'printf %s "$DRIFTLESS_WHAT" > {names}/$DRIFTLESS_CELL; '
                          f"exit $(ls {names} | wc -l)")  # fmt: skip
        self.assertEqual(done.returncode, 5, done.stdout + done.stderr)
        cells = self.ledger(out)["cells"]
        self.assertEqual([(names / cell["run"]).read_text() for cell in cells], list(values))
        self.assertEqual(len(list(names.iterdir())), len(values))
        for cell in cells:
            self.assertRegex(cell["run"], r"\A[0-9]{2}-[0-9A-Za-z.=_-]{1,80}\Z")

    def test_a_server_that_never_gets_ready(self):
        out = self.scratch / "never"
        done = self.sweep(SAMPLE, "--url", f"http://127.0.0.1:{free_port()}", "--over", "speed=50", "--out", out,
                          "--ready", "echo not yet; exit 1", "--hook-limit", "1s", "--", *QUICK[:2])  # fmt: skip
        self.assertEqual(done.returncode, 5, done.stdout + done.stderr)
        self.assertIn("not ready within 1s; last try: ready: exit code 1", self.ledger(out)["cells"][0]["why"])
        self.assertEqual((out / "01-speed=50.ready.txt").read_text(), "not yet\n")

    def test_a_cell_that_fails_is_kept_with_its_reason(self):
        out = self.scratch / "fails"
        with mock("--ttft", "1ms", "--itl", "1ms") as server:
            done = self.sweep(SAMPLE, "--url", server.url, "--over", "start=0,100h", "--out", out, "--", *QUICK)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        good, bad = self.ledger(out)["cells"]
        self.assertEqual((good["outcome"], bad["outcome"], bad["exit_code"]), ("completed", "failed", 3))
        self.assertIn("driftless: ", bad["why"])
        self.assertIn(bad["why"], (out / (bad["run"] + ".stderr")).read_text())
        self.assertIn("failed: driftless: ", done.stdout)
        self.assertEqual([row["status"] for row in self.table(out)], ["SUCCESS", "FAILED"])

    def test_a_replay_that_is_killed(self):
        """As the kernel does where memory is short: the cell has failed, and the next one is played."""
        out = self.scratch / "killed"
        with mock("--ttft", "5ms", "--itl", "1ms") as server:
            process = self.start_sweep(SAMPLE, "--url", server.url, "--over", "speed=1,200", "--out", out,
                                       "--", "--calibration", "none")  # fmt: skip
            fired = out / "01-speed=1" / "fired.jsonl"
            self.wait_for(lambda: fired.exists() and fired.stat().st_size > 0, "the first cell does not begin")
            (child,) = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
            os.kill(int(child), signal.SIGKILL)
            said, complained = process.communicate(timeout=SECONDS_MAX)
        self.assertEqual(process.returncode, 0, said + complained)
        first, second = self.ledger(out)["cells"]
        self.assertEqual((first["outcome"], first["exit_code"]), ("failed", None))
        self.assertIn("killed by signal 9", first["why"])
        self.assertEqual(second["outcome"], "completed")

    def test_a_sweep_killed_in_its_last_hook(self):
        """The run before it is whole: it is not played again."""
        out = self.scratch / "last"
        hook = out / "01-speed=50.after.txt"
        with mock("--ttft", "1ms", "--itl", "1ms") as server:
            process = self.start_sweep(SAMPLE, "--url", server.url, "--over", "speed=50", "--out", out,
                                       "--after", "sleep 600", "--", "--limit", "5", "--calibration", "none")  # fmt: skip
            self.wait_for(hook.exists, "the hook does not begin")
            process.kill()
            process.wait()
            before = self.ledger(out)["cells"]
            self.assertEqual(self.sweep("--resume", out).returncode, 0)
        self.assertEqual(before[0]["outcome"], "completed")
        self.assertEqual(self.ledger(out)["cells"], before)

    def test_a_threshold_of_a_cell(self):
        out = self.scratch / "threshold"
        with mock("--ttft", "5ms", "--itl", "1ms") as server:
            done = self.sweep(SAMPLE, "--url", server.url, "--over", "fail-if=ttft:p50 > 1ms,ttft:p50 > 1h",
                              "--out", out, "--", *QUICK)  # fmt: skip
        self.assertEqual(done.returncode, 8, done.stdout + done.stderr)
        cells = self.ledger(out)["cells"]
        self.assertEqual([cell["outcome"] for cell in cells], ["threshold", "completed"])
        self.assertIn(f"\n{cells[0]['run']}: threshold: ", done.stdout)
        self.assertEqual(cells[0]["why"], "ttft:p50 > 1ms")

    def test_the_page(self):
        """Each cell is a point that links to its run; a --fail-if is its line, and tells the knee."""
        out = self.scratch / "page"
        with mock("--ttft", "5ms", "--itl", "1ms") as server:
            done = self.sweep(SAMPLE, "--url", server.url, "--over", "speed=50,100", "--out", out, "--", "--limit",
                              10, "--calibration", "none", "--fail-if", "ttft:p99 > 1h")  # fmt: skip
            words = self.sweep(SAMPLE, "--url", server.url, "--over", "wait=hybrid,sleep", "--out",
                               self.scratch / "words", "--", *QUICK)  # fmt: skip
        with mock("--ttft", "50ms", "--itl", "1ms") as server:
            held = self.sweep(SAMPLE, "--url", server.url, "--over", "max-inflight=1", "--out", self.scratch / "held",
                              "--", "--limit", 10, "--speed", 1000, "--calibration", "none")  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(held.stdout, r"TTFT p99 [0-9.]+ ms \([0-9.]+ from due\)")
        self.assertIn("  due p99  ", held.stdout)
        page = Page(self.scratch / "held" / "sweep.html").data
        self.assertEqual(page["columns"], ["max-inflight", "req/s"])
        self.assertEqual(page["points"][0]["cells"][0], "1")
        self.assertGreater(float(page["points"][0]["cells"][1]), 0)
        self.assertIn("ttft_due:p99", [one["condition"] for one in page["limits"]])
        self.assertIn(f"\npage: {out}/sweep.html\n", done.stdout)
        data = Page(out / "sweep.html").data
        cells = self.ledger(out)["cells"]
        self.assertEqual([(one["load"], one["outcome"], one["link"], one["figures"][0]["value"])
                          for one in data["points"]],
                         [(float(cell["values"]["speed"]), "meets", cell["run"].replace("=", "%3D") + "/report.html",
                           cell["summary"]["p99_ttft_ms"]) for cell in cells])  # fmt: skip
        self.assertEqual((data["limits"][0]["condition"], data["limits"][0]["bound"]), ("ttft:p99 > 1h", 3.6e6))
        self.assertEqual((data["over"], data["knee"]["pass"], data["knee"]["fail"]), ("speed", 100, None))
        self.assertNotIn("page:", words.stdout)  # there is no load
        self.assertFalse((self.scratch / "words" / "sweep.html").exists())

    def test_a_server_that_is_busy(self):
        out = self.scratch / "busy"
        with mock("--ttft", "600s") as server:
            body = json.dumps({"model": "mock-model", "messages": [{"role": "user", "content": "a"}]}).encode()
            request = urllib.request.Request(server.url + "/v1/chat/completions", body,
                                             {"Content-Type": "application/json"})  # fmt: skip

            def ask():
                try:
                    urllib.request.urlopen(request).read()
                except OSError:
                    pass  # the mock ends before it answers

            asking = threading.Thread(target=ask)
            asking.start()
            metrics = server.url + "/metrics"
            self.wait_for(lambda: b"requests_running{engine=\"0\",model_name=\"mock-model\"} 1"
                          in urllib.request.urlopen(metrics).read(), "the request does not come")  # fmt: skip
            done = self.sweep(SAMPLE, "--url", server.url, "--over", "speed=50", "--out", out,
                              "--idle-limit", "1s", "--", *QUICK[:2])  # fmt: skip
        asking.join()
        self.assertEqual(done.returncode, 5, done.stdout + done.stderr)
        self.assertIn("the server still has", self.ledger(out)["cells"][0]["why"])

    def test_interrupted(self):
        """Ctrl-C: the replay drains, the hook behind it runs, the rest is not played; and goes on later."""
        out = self.scratch / "interrupted"
        after = self.scratch / "after"
        with mock("--ttft", "5ms", "--itl", "1ms") as server:
            process = self.start_sweep(SAMPLE, "--url", server.url, "--over", "speed=2,50", "--out", out,
                                       "--after", f"echo x >> {after}", "--", "--calibration", "none")  # fmt: skip
            fired = out / "01-speed=2" / "fired.jsonl"
            self.wait_for(lambda: fired.exists() and fired.stat().st_size > 0, "the first cell does not begin")
            send_signal(process, signal.SIGINT)
            said, complained = process.communicate(timeout=SECONDS_MAX)
            self.assertEqual(process.returncode, 130, said + complained)
            self.assertEqual(self.outcomes(out), ["interrupted", "pending"])
            self.assertIn(f"driftless sweep --resume {out}", said)
            self.assertTrue((out / "01-speed=2" / "summary.json").exists())
            self.assertEqual(after.read_text(), "x\n")
            done = self.sweep("--resume", out)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(self.outcomes(out), ["completed"] * 2)

    def test_interrupted_in_a_hook(self):
        out = self.scratch / "hook"
        process = self.start_sweep(SAMPLE, "--url", f"http://127.0.0.1:{free_port()}", "--over", "speed=1",
                                   "--out", out, "--before", "sleep 600")  # fmt: skip
        self.wait_for(lambda: (out / "01-speed=1.before.txt").exists(), "the hook does not begin")
        send_signal(process, signal.SIGTERM)
        said, complained = process.communicate(timeout=SECONDS_MAX)
        self.assertEqual(process.returncode, 130, said + complained)
        self.assertEqual(self.outcomes(out), ["interrupted"])

    def test_refused(self):
        """One line with what, where and the remedy, before anything is made or sent."""
        out = self.scratch / "never"
        url = ("--url", "http://127.0.0.1:9", "--out", out)
        cases = [
            ((SAMPLE, *url, "--over", "rate=0"), 2, 'cell rate=0: --rate "0"'),
            ((SAMPLE, *url, "--over", "rate=-1"), 2, 'cell rate=-1: --rate "-1"'),
            ((SAMPLE, *url, "--over", "speed"), 2, "is not NAME=VALUE,..; use a flag of replay, as in"),
            ((SAMPLE, *url, "--over", "speed=1,,2"), 2, "has an empty value"),
            ((SAMPLE, *url, "--over", "spede=1"), 2, "--speed"),
            ((SAMPLE, *url, "--over", "speed=1,1"), 2, "appears twice"),
            ((SAMPLE, *url, "--over", "out=a,b"), 2, "this flag cannot be varied"),
            ((SAMPLE, *url, "--over", "speed=1", "--", "--speed", "2"), 2, "--speed is given 2 times"),
            (
                (SAMPLE, *url, "--over", "no-stream=true,false", "--", "--no-stream"),
                2,
                "--no-stream is given 2 times, here and for all cells; remove one",
            ),
            ((SAMPLE, *url, "--over", "speed=1", "--", "--api-key", "sk-123456789"), 2, "env:NAME"),
            ((SAMPLE, *url, "--over", "speed=1", "--repeat", "0"), 2, "--repeat"),
            ((SAMPLE, *url, "--server", "tp=1"), 2, "needs a hook that sets up the server"),
            ((SAMPLE, *url), 2, "the plan varies nothing"),
            (("-", *url, "--over", "speed=1"), 2, "name a file"),
            ((self.scratch / "none.jsonl", *url, "--over", "speed=1"), 3, "none.jsonl: "),
            (("--resume", self.scratch), 2, "not the folder of a sweep"),
            (("--resume", self.scratch, "--repeat", "2"), 2, "remove everything else"),
            ((self.write("bad.toml", "repeat = 2\nover = 3\n"), *url), 2, "bad.toml: line 2: over"),
            ((self.write("nul.toml", '[over]\nspeed = ["1\\u0000"]\n'), *url), 2, "U+0000"),
            ((self.write("name.toml", '[over]\n"a b" = [1]\n'), *url), 2, '"a b" is not a name'),
            ((self.write("odd.toml", "reapeat = 2\n"), *url), 2, "line 1: reapeat is not known"),
        ]
        for flags, code, why in cases:
            done = self.sweep(*flags)
            self.assertEqual(done.returncode, code, f"{flags}: {done.stdout}{done.stderr}")
            self.assertIn(why, done.stderr, flags)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
            self.assertNotIn("sk-123456789", done.stderr)
            self.assertFalse(out.exists(), flags)
        out.mkdir()
        done = self.sweep(SAMPLE, *url, "--over", "speed=1")
        self.assertEqual(done.returncode, 2)
        self.assertIn("already exists; name a new folder, or use --resume", done.stderr)


if __name__ == "__main__":
    unittest.main()

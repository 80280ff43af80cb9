"""The Python module of the wheel (cmd/packages/wheel/driftless): it finds its program, gives flags as they are meant,
reads what a run wrote, and raises the program's own errors by their exit codes."""

import http.server
import importlib.metadata
import json
import os
import pathlib
import pickle
import re
import signal
import subprocess
import sys
import threading
import unittest
from unittest import mock as patches

from harness import Case, DRIFTLESS, SAMPLE, SECONDS_MAX, mock
from keys_test import Asked, KEY

WHEEL = pathlib.Path(__file__).resolve().parents[2] / "cmd/packages/wheel"
sys.path.insert(0, str(WHEEL))
import driftless  # noqa: E402: there is no other place where it is known

NOBODY_LISTENS = "http://127.0.0.1:1"
INTERRUPTED = """
import driftless, sys
try:
    driftless.replay(sys.argv[1], sys.argv[2], out=sys.argv[3], calibration="none")
except driftless.Interrupted as error:
    print(error.code, error.run.summary["fired"])
"""
FAST = {"speed": 50, "limit": 5, "calibration": "none"}


class PythonModule(Case):
    def setUp(self):
        """A program on PATH that notes what it is started with, then is the one under test."""
        super().setUp()
        self.started = self.scratch / "started"
        self.install(self.scratch / "bin")
        path = f"{self.scratch / 'bin'}:{os.environ['PATH']}"
        patched = patches.patch.dict(os.environ, {"PATH": path})
        patched.start()
        self.addCleanup(patched.stop)

    def install(self, folder):
        folder.mkdir(parents=True)
        program = folder / "driftless"
        program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$0" "$@" >"{self.started}"\nexec "{DRIFTLESS}" "$@"\n')
        program.chmod(0o755)
        return program

    def play(self, trace=SAMPLE, **flags):
        return driftless.replay(trace, **{**FAST, "out": self.scratch / "run", **flags})

    def test_a_run(self):
        with mock("--ttft", "1ms", "--itl", "1ms") as server:
            run = self.play(url=server.url, label=["a=1", "b=2"], no_stream=False, model=None, output_path=None)
            again = driftless.replay(from_=run.folder, url=server.url, out=self.scratch / "again", calibration="none",
                                     output_path=self.scratch / "elsewhere.jsonl", no_warm_probe=True)  # fmt: skip
        self.assertEqual(run.folder, self.scratch / "run")
        self.assertEqual(run.summary, json.loads((run.folder / "summary.json").read_text()))
        self.assertEqual((run.summary["completed"], run.summary["labels"]), (5, {"a": "1", "b": "2"}))
        self.assertEqual(run.verdict, "uncalibrated")
        self.assertEqual(sorted(row["row"] for row in run.requests()), list(range(5)))
        self.assertEqual({row["outcome"] for row in again.requests()}, {"ok"})
        self.assertEqual(driftless.run(str(run.folder)), run)

    def test_a_killed_run(self):
        with mock("--ttft", "1ms", "--itl", "1ms") as server:
            process, folder = self.start(SAMPLE, "--url", server.url, until="requests.jsonl")
            process.kill()
            process.wait()
        with open(folder / "requests.jsonl", "a") as records:
            records.write('{"row":')
        run = driftless.run(folder)
        self.assertFalse((folder / "summary.json").exists())
        self.assertGreater(run.summary["unfinished"]["rows"], 0)
        self.assertEqual(run.summary["completed"], len(run.requests()))

    def test_a_signal_that_ends_the_program(self):
        program, folder = self.scratch / "driftless", self.scratch / "run"
        program.write_text(f"#!/bin/sh\nmkdir {folder}\necho '{{}}' >{folder}/run.json\nkill -9 $$\n")
        program.chmod(0o755)
        with patches.patch.object(driftless, "program", return_value=str(program)):
            with self.assertRaisesRegex(driftless.Error, "ended by a signal: Killed; run") as raised:
                driftless.replay(SAMPLE, "http://127.0.0.1:1", out=folder)
        self.assertEqual((raised.exception.code, raised.exception.run.folder), (-9, folder))

    def test_errors_are_the_programs_own(self):
        for kind, code, trace, flags in (
            (driftless.WrongFlags, 2, SAMPLE, {"url": NOBODY_LISTENS, "bogus": True}),
            (driftless.InputRefused, 3, [SAMPLE, self.scratch / "none.jsonl"], {"url": NOBODY_LISTENS}),
            (driftless.ServerRefused, 4, SAMPLE, {"url": NOBODY_LISTENS}),
        ):
            with self.assertRaises(kind) as raised:
                self.play(trace, **flags)
            arguments = self.started.read_text().splitlines()[1:]
            said = subprocess.run([DRIFTLESS, *arguments], capture_output=True, text=True, check=False)
            self.assertEqual((raised.exception.code, said.returncode), (code, code))
            self.assertEqual(str(raised.exception), said.stderr.strip())
            self.assertIsNone(raised.exception.run)

    def test_an_error_has_the_run(self):
        with mock("--fault", "500:1") as server:
            with self.assertRaisesRegex(driftless.NoAnswer, "0 of 5 ok, 5 failed") as none:
                self.play(url=server.url, no_preflight=True, model="m")
        self.assertEqual(none.exception.run.summary["failed"], 5)
        self.assertEqual(pickle.loads(pickle.dumps(none.exception)).run, none.exception.run)
        with mock("--ttft", "1ms") as server:
            with self.assertRaisesRegex(driftless.ConditionHolds, "ttft:p50 > 1us: ") as holds:
                self.play(url=server.url, fail_if="ttft:p50 > 1us", out=self.scratch / "slow")
        self.assertEqual(len(holds.exception.run.requests()), 5)

    def test_every_exit_code_has_an_exception(self):
        said = subprocess.run([DRIFTLESS, "help", "exit-codes"], capture_output=True, text=True, check=True).stdout
        codes = re.findall(r"^exit code ([1-9]\d*) +(.+)$", said, re.MULTILINE)
        wanted = {f"Exit code {code}: {text}." for code, text in codes}
        kinds = driftless.Error.__subclasses__()
        self.assertEqual({kind.__doc__ for kind in kinds}, wanted)
        page = (WHEEL / "README.md").read_text()
        for kind in kinds:
            code = re.match(r"Exit code (\d+): ", kind.__doc__)[1]
            self.assertIn(f"`{kind.__name__}` {code}", page)

    def test_what_is_no_run(self):
        with self.assertRaisesRegex(FileNotFoundError, "is not the folder of a run"):
            driftless.run(self.scratch)
        with self.assertRaisesRegex(ValueError, "dry run: 5 rows"):
            self.play(dry_run=True)
        with mock() as server:
            run = self.play(url=server.url)
        with self.assertRaisesRegex(ValueError, "use pandas, polars or pyarrow"):
            run.requests("excel")

    def test_a_key_is_no_argument(self):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Asked)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with server, patches.patch.dict(os.environ, {"MY_KEY": KEY, "OPENAI_API_KEY": "sk-of-somebody-else"}):
            for key in (KEY, "env:MY_KEY"):
                Asked.heard.clear()
                with self.assertRaises(driftless.ServerRefused):  # Asked refuses everything
                    self.play(url=f"http://127.0.0.1:{server.server_port}", api_key=key)
                self.assertEqual(Asked.heard[0]["Authorization"], f"Bearer {KEY}")
                self.assertNotIn(KEY, self.started.read_text())
            server.shutdown()

    def test_it_finds_its_own_program(self):
        """That of its installation, which lists it; else one beside it (pip install --target); else on PATH."""
        self.assertEqual(driftless.program(), str(self.scratch / "bin/driftless"))
        own = self.install(self.scratch / "environment/bin")
        info = self.scratch / "environment/lib/driftless-9.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text("Metadata-Version: 2.4\nName: driftless\nVersion: 9\n")
        (info / "RECORD").write_text("../bin/driftless,,\ndriftless/__init__.py,,\n")
        with patches.patch.object(sys, "path", [str(info.parent), *sys.path]):
            self.assertEqual(importlib.metadata.version("driftless"), "9")
            self.assertTrue(os.path.samefile(driftless.program(), own))
            with mock() as server:
                self.play(url=server.url)
        self.assertIn("/environment/", self.started.read_text().splitlines()[0])
        with patches.patch.object(driftless, "__file__", str(self.scratch / "driftless/__init__.py")):
            self.assertEqual(driftless.program(), str((self.scratch / "bin/driftless").resolve()))
        with patches.patch.dict(os.environ, {"PATH": str(self.scratch)}):
            with self.assertRaisesRegex(FileNotFoundError, "install the wheel again"):
                driftless.program()

    def interrupted(self, interrupt):
        """A script whose replay is interrupted by `interrupt(process)` gets the exception, with the run."""
        script = self.write("script.py", INTERRUPTED)
        folder = self.scratch / f"run_of_{interrupt.__name__}"
        env = {**os.environ, "PYTHONPATH": str(WHEEL)}
        with mock("--ttft", "1ms", "--itl", "1ms") as server:
            command = [sys.executable, "-B", script, SAMPLE, server.url, folder]
            process = self.launch(command, folder, env=env, start_new_session=True)
            interrupt(process)
            said, complained = process.communicate(timeout=SECONDS_MAX)
        self.assertRegex(said, r"\A130 [1-9]\d*\n\Z", complained)

    def test_interrupts(self):
        """Of both, as by a terminal; and of the script alone, where the third one is passed on."""

        def of_both(process):
            os.killpg(process.pid, signal.SIGINT)

        def of_us(process):
            for _ in range(2):
                process.send_signal(signal.SIGINT)
                self.assertTrue(any("interrupt" in line for line in process.stderr))
            process.send_signal(signal.SIGINT)

        self.interrupted(of_both)
        self.interrupted(of_us)


if __name__ == "__main__":
    unittest.main()

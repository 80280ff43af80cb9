"""Keys stay between us and the server; nothing that a user types can begin another header."""

import http.server
import json
import os
import pathlib
import resource
import signal
import subprocess
import threading
import unittest

from harness import Case, DRIFTLESS, SAMPLE, SANITIZED, SECONDS_MAX, mock

USAGE, PREFLIGHT = 2, 4
KEY = "sk-0123456789abcdef"
NOBODY = 65534


class Asked(http.server.BaseHTTPRequestHandler):
    """Refuses everything, and remembers with which headers it was asked."""

    heard = []

    def do_GET(self):  # noqa: N802: the name that http.server calls
        self.heard.append(dict(self.headers))
        self.send_error(404)

    do_POST = do_GET  # noqa: N815

    def log_message(self, *_):
        pass


class Keys(Case):
    def start(self, server, *flags, **how):
        """A replay that has written its run.json."""
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        return super().start(*flags, SAMPLE, "--url", server.url, until="run.json", **quiet, **how)

    def test_process_list_shows_no_key(self):
        for flags in (
            ("--api-key", KEY),
            ("--api-key=" + KEY,),
            ("--header", "X-Api-Key: " + KEY),
            ("--header=Authorization: Bearer " + KEY,),
            ("--header", "X-Api-Key: " + KEY + "-{row}"),
            ("--extra-body", json.dumps({"litellm": {"api_key": KEY}})),
            ("OPENAI_API_KEY=" + KEY, "vllm", "bench", "serve"),
        ):
            with mock("--ttft", "1ms", "--itl", "1ms") as server:
                process, folder = self.start(server, *flags)
                shown = pathlib.Path(f"/proc/{process.pid}/cmdline").read_text()
                process.kill()
                process.wait()
            self.assertNotIn(KEY, shown)
            self.assertIn("*" * len(KEY), shown)
            self.assertNotIn(KEY, (folder / "run.json").read_text())

    def dies_with_core(self, server, *flags):
        process, _ = self.start(
            server, *flags, cwd=self.scratch,
            preexec_fn=lambda: resource.setrlimit(
                resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
            ),
        )  # fmt: skip
        process.send_signal(signal.SIGSEGV)
        _, status = os.waitpid(process.pid, 0)
        process.returncode = -signal.SIGSEGV
        self.assertEqual(os.WTERMSIG(status), signal.SIGSEGV)
        return os.WCOREDUMP(status)

    def looked_into_by(self, server, *flags):
        """The owner of the process's files: root, where the kernel keeps others of its user out
        (PR_GET_DUMPABLE is not 1)."""
        process, _ = self.start(server, *flags, **self.as_nobody())
        owner = pathlib.Path(f"/proc/{process.pid}/environ").stat().st_uid
        process.kill()
        process.wait()
        return owner

    def as_nobody(self):
        """Of root everything belongs to root: then as somebody else, in a folder that they can use."""
        if os.geteuid() != 0:
            return {}
        self.scratch.chmod(0o777)
        return {"preexec_fn": lambda: os.setuid(NOBODY)}

    def test_nobody_looks_into_a_process_with_a_key(self):
        """Where no core can be had, too."""
        user = os.geteuid() or NOBODY
        with mock("--ttft", "1ms", "--itl", "1ms") as server:
            try:
                self.assertEqual(self.looked_into_by(server), user)
            except (PermissionError, subprocess.SubprocessError) as denied:
                self.skipTest(f"the program cannot be run by another user here: {denied}")
            self.assertEqual(self.looked_into_by(server, "--api-key", KEY), 0)
            self.assertEqual(self.looked_into_by(server, "--header", "X-Api-Key: " + KEY), 0)

    @unittest.skipIf(SANITIZED, "sanitizers catch the signal")
    def test_no_core_holds_a_key(self):
        with mock("--ttft", "1ms", "--itl", "1ms") as server:
            try:
                plain = self.dies_with_core(server)
            except (ValueError, subprocess.SubprocessError):
                self.skipTest("core dumps cannot be allowed here")
            if not plain:
                self.skipTest("this host dumps no core at all")
            for flags in (
                ("--api-key", KEY),
                ("--extra-body", json.dumps({"api_key": KEY})),
            ):
                self.assertFalse(self.dies_with_core(server, *flags), flags)

    def test_keys_by_name(self):
        """`env:NAME` sends the variable, and the name alone is recorded."""
        asked = http.server.HTTPServer(("127.0.0.1", 0), Asked)
        threading.Thread(target=asked.serve_forever, daemon=True).start()
        self.addCleanup(asked.server_close)
        self.addCleanup(asked.shutdown)
        url = f"http://127.0.0.1:{asked.server_port}"
        names = {"MY_KEY": KEY, "OTHER": "other-" + KEY}
        flags = ("--api-key", "env:MY_KEY", "--header", "X-Token: env:OTHER")

        def replay(url, environment, *more):
            command, folder = self.command(SAMPLE, "--url", url, *flags, *more)
            return subprocess.run(
                command, capture_output=True, text=True, check=False, timeout=SECONDS_MAX,
                env={**os.environ, **environment},
            ), folder  # fmt: skip

        done, _ = replay(url, names)
        self.assertEqual(done.returncode, PREFLIGHT, done.stderr)
        self.assertEqual(Asked.heard[0]["Authorization"], "Bearer " + KEY)
        self.assertEqual(Asked.heard[0]["X-Token"], "other-" + KEY)
        self.assertNotIn(KEY, done.stdout + done.stderr)
        done, _ = replay(url, {"MY_KEY": KEY})
        self.assertEqual(done.returncode, USAGE)
        self.assertIn("env:OTHER", done.stderr)
        done, _ = replay(url, {**names, "OTHER": "a\r\nX-Evil: b"})
        self.assertEqual(done.returncode, USAGE)
        self.assertIn("control byte", done.stderr)
        with mock("--ttft", "1ms", "--itl", "1ms") as server:
            done, folder = replay(server.url, names, "--speed", "50")
            self.assertEqual(done.returncode, 0, done.stderr)
            again = subprocess.run(
                [DRIFTLESS, "replay", "--from", str(folder), "--out", str(self.scratch / "again")],
                capture_output=True, text=True, check=False, env={**os.environ, **names},
            )  # fmt: skip
            self.assertEqual(again.returncode, 0, again.stderr)
        for path in folder.iterdir():
            self.assertNotIn(KEY, path.read_text(), path)
        for name in ("run.json", "run.toml"):
            self.assertIn("env:MY_KEY", (folder / name).read_text())

    def test_a_key_that_was_typed_must_be_given_again(self):
        with mock("--ttft", "1ms", "--itl", "1ms") as server:
            first = self.replay_well(
                SAMPLE, "--url", server.url, "--speed", 50, "--api-key", KEY, "--header",
                "X-Api-Key: " + KEY,
            )  # fmt: skip
            for given, words in (
                ((), "--header X-Api-Key, whose value is never recorded"),
                (("--header", "x-api-key: " + KEY), "--api-key, which is never recorded"),
            ):
                run = self.replay("--from", first.folder, *given)
                self.assertEqual(run.code, USAGE)
                self.assertIn(words, run.complained)
            run = self.replay("--config", first.folder / "run.toml")
            self.assertEqual(run.code, USAGE)
            self.assertIn("--header X-Api-Key, whose value is never recorded", run.complained)
            self.replay_well(
                "--from", first.folder, "--api-key", KEY, "--header", "x-api-key: " + KEY
            )

    def test_a_key_of_the_environment_must_be_there_again(self):
        environment = {**os.environ, "OPENAI_API_KEY": KEY}
        with mock("--ttft", "1ms", "--itl", "1ms") as server:
            first = self.replay(SAMPLE, "--url", server.url, "--speed", 50, env=environment)
            self.assertEqual(first.code, 0, first.complained)
            again = self.replay("--from", first.folder)
            self.assertEqual(again.code, USAGE)
            self.assertIn("set OPENAI_API_KEY", again.complained)
            keyed = self.replay("--from", first.folder, env=environment)
            self.assertEqual(keyed.code, 0, keyed.complained)

    def test_nothing_begins_another_header(self):
        for flags, words in (
            (("--header", "X-A: b\r\nX-Evil: c"), "--header"),
            (("--header", "X-A: b\nX-Evil: c"), "line end"),
            (("--header", "X-A\r\nX-Evil: c"), "line end"),
            (("--api-key", "k\r\nX-Evil: c"), "--api-key"),
            (("--endpoint", "/v1/x HTTP/1.1\r\nX-Evil: c"), "--endpoint"),
            (("--url", "http://127.0.0.1:1/a\r\nX-Evil: c"), "--url"),
            (("--url", "http://127.0.0.1\r\nX-Evil: c"), "--url"),
        ):
            url = () if flags[0] == "--url" else ("--url", "http://127.0.0.1:1")
            run = self.replay(SAMPLE, *url, *flags)
            self.assertEqual(run.code, USAGE, flags)
            self.assertIn(words, run.complained)
            self.assertFalse(run.folder.exists())


if __name__ == "__main__":
    unittest.main(verbosity=2)

"""What others wrote into traces, servers and file names moves, turns or hides nothing on screens."""

import json
import os
import pty
import re
import subprocess
import unittest

from harness import Case, DRIFTLESS, SAMPLE, mock

# Lines of its own, an escape, C1, bidi controls, separators, zero width, a tag.
EVIL = "x\nVerdict certified\r\x1b]0;t\x07\x9b2J\u202egpj\u2066\u2028\u2029\u200b\u200d\u2060\ufeff\u061c\U000e0041y"
RAW = [c for c in EVIL if ord(c) >= 0x7F] + ["\x1b", "\x07"]


class Terminal(Case):
    def expect_clean(self, text, why):
        for character in RAW:
            self.assertNotIn(character, text, f"U+{ord(character):04X} in {why}")
        self.assertNotIn("\nVerdict certified", text, f"a forged line in {why}")

    def run_one(self, *command):
        done = subprocess.run(
            [DRIFTLESS, *map(str, command)], capture_output=True, text=True, check=False,
            cwd=self.scratch,
        )  # fmt: skip
        self.expect_clean(done.stdout + done.stderr, command[:1])
        return done

    def test_names_and_cells_of_traces(self):
        name = EVIL.replace("/", "")
        rows = self.sample_rows()[:5]
        good = self.write(f"{name}.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
        self.assertEqual(self.run_one("inspect", good).returncode, 0)
        self.run_one("convert", good, "--to", "mooncake", "-o", self.scratch / "out.jsonl")
        self.run_one("inspect", self.scratch / f"{name}.none")
        columns = self.write("columns.csv", f"{EVIL.replace(chr(10), '')},b,c\n1,2,3\n")
        self.run_one("inspect", columns)
        cells = self.write("cells.jsonl", json.dumps({**rows[0], "timestamp": EVIL}) + "\n")
        self.run_one("inspect", cells)
        with mock("--ttft", "1ms", "--itl", "1ms") as server:
            run = self.replay(good, "--url", server.url, "--speed", 50, "--label", f"a={EVIL}")
            self.assertEqual(run.code, 0, run.complained)
            self.expect_clean(run.said + run.complained, "replay")
            self.assertEqual(self.run_one("report", run.folder).returncode, 0)
            unnamed = self.run_one("replay", good, "--url", server.url, "--speed", 50, "--calibration", "none")
            self.assertEqual(unnamed.returncode, 0, unnamed.stderr)
            bad = self.replay(cells, "--url", server.url)
            self.expect_clean(bad.said + bad.complained, "a refused trace")

    def test_what_a_server_says(self):
        with mock("--model", EVIL.replace("\x1b", ""), "--ttft", "1ms", "--itl", "1ms") as server:
            run = self.replay(SAMPLE, "--url", server.url, "--limit", 3, "--speed", 50)
            self.assertEqual(run.code, 0, run.complained)
            self.expect_clean(run.said + run.complained, "replay")

    def test_flags_and_paths(self):
        self.run_one("replay", SAMPLE, "--end", EVIL)
        self.run_one("replay", SAMPLE, f"--{EVIL}")
        self.run_one("replay", self.scratch / EVIL.replace("/", ""), "--url", "http://127.0.0.1:1")
        out = self.scratch / f"out-{EVIL}"
        self.run_one("sweep", SAMPLE, "--url", "http://127.0.0.1:1", "--over", "speed=1", "--out", out)
        self.run_one("find", SAMPLE, "--url", "http://127.0.0.1:1", "--slo", "ttft:p99<1s",
                     "--over", "speed", "--out", out)  # fmt: skip
        self.run_one("compare", out, out)
        self.run_one("compare", "--table", out, out)
        self.run_one("merge", out, out, "-o", out)
        self.run_one("calibrate", "-o", out)
        self.run_one("mock", "--log", out / "none", "--listen", f"unix:{out}/none")
        self.run_one("report", out, "--csv", out, "--html", out)
        self.run_one("replay", "--resume", self.scratch / EVIL.replace("/", ""))
        self.run_one("report", self.scratch / EVIL.replace("/", ""))
        self.run_one(EVIL)

    def on_a_terminal(self, *command, **environment):
        """What a terminal gets of both streams, carriage returns of its own left out."""
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            [DRIFTLESS, *map(str, command)], stdout=theirs, stderr=theirs, env={**os.environ, **environment}
        )
        os.close(theirs)
        text = b""
        while True:  # until the other end is closed, which is an error here
            try:
                piece = os.read(ours, 65536)
            except OSError:
                break
            if not piece:
                break
            text += piece
        os.close(ours)
        process.wait()
        return text.decode().replace("\r\n", "\n")

    def test_a_terminal(self):
        """There, what a pipe gets as data is shown clean, too; plain words are as in a pipe."""
        name = EVIL.replace("/", "")
        good = self.write(f"{name}.jsonl", json.dumps(self.sample_rows()[0]) + "\n")
        for flags in ((), ("--json",)):
            self.expect_clean(self.on_a_terminal("inspect", good, *flags), flags)
        self.expect_clean(self.on_a_terminal("convert", good, "--to", "mooncake", "-o", good), "-o")
        missing = self.scratch / "grün-\U0001f680.jsonl"
        shown = self.on_a_terminal("inspect", missing)
        self.assertIn("grün-\U0001f680.jsonl: No such file", shown)
        shown = self.on_a_terminal("inspect", SAMPLE)
        self.assertEqual(shown, self.run_one("inspect", SAMPLE).stdout)

    def test_colours(self):
        """On a terminal that has them, unless NO_COLOR is set; never in a pipe."""
        with mock("--ttft", "1ms", "--itl", "1ms") as server:
            run = self.replay(SAMPLE, "--url", server.url, "--limit", 3, "--speed", 50, "--fail-if", "ttft:p50 > 1h")
        plain = self.run_one("report", run.folder).stdout
        self.assertIn("\nWithin", plain)
        shown = self.on_a_terminal("report", run.folder, TERM="xterm", NO_COLOR="")
        self.assertIn("\n\x1b[32mWithin\x1b[0m", shown)
        self.assertRegex(shown, r"\nVerdict +\x1b\[3[23]m[a-z-]+\x1b")
        self.assertEqual(re.sub(r"\x1b\[[0-9]+m", "", shown), plain)
        for without in ({"TERM": "xterm", "NO_COLOR": "1"}, {"TERM": "dumb", "NO_COLOR": ""}):
            self.assertEqual(self.on_a_terminal("report", run.folder, **without), plain)


if __name__ == "__main__":
    unittest.main(verbosity=2)

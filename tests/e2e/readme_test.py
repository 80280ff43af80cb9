"""README.md shows what its commands print: they are run here, against its mock, and each line that it shows is one of
theirs, in this order, but for numbers and blanks."""

import os
import pathlib
import re
import socket
import subprocess
import time
import unittest

from harness import Case, DRIFTLESS, SAMPLE, SECONDS_MAX

TREE = pathlib.Path(__file__).resolve().parents[2]


def examples():
    """(command, lines that it prints) of each."""
    for block in re.findall(r"^```\n(\$ .*?)^```$", (TREE / "README.md").read_text(), re.MULTILINE | re.DOTALL):
        for command, shown in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE):
            yield command, shown.splitlines()


def shape(line):
    """Of this host and hour are numbers, whether the client and the server kept up, and whether two sides differ."""
    line = re.sub(r"^(Verdict ).*|; (not known whether )?the server .*", r"\1", line)
    line = re.sub(r"(better|worse|same|unsure)$", "WORD", line)
    line = re.sub(r"\s+", " ", re.sub(r"\d[\d,]*(\.\d+)?", "#", line)).strip()
    return line.replace("- - - needs # values # - WORD", "# # # # to # # # % WORD")  # too few that are independent


class Readme(Case):
    def setUp(self):
        super().setUp()
        (self.scratch / "driftless").symlink_to(DRIFTLESS)
        (self.scratch / "tests").symlink_to(SAMPLE.parents[1])
        (self.scratch / "conversation.jsonl").symlink_to(SAMPLE)  # theirs is no part of this tree
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.server = f"127.0.0.1:{free.getsockname()[1]}"
        self.how = {"cwd": self.scratch, "text": True,
                    "env": {**os.environ, "PATH": f"{self.scratch}:{os.environ['PATH']}",
                            "XDG_STATE_HOME": str(self.scratch)}}  # fmt: skip

    def here(self, command):
        """With the mock in the place of all servers; the six runs to compare in a tenth of their time."""
        command = command.replace("127.0.0.1:8000", self.server)
        command = command.replace("--url A ", f"--speed 10 --url http://{self.server} ")
        return command.replace("${run#*:}", f"http://{self.server}")

    def start(self, command):
        process = subprocess.Popen(f"exec {command}", shell=True, stdout=subprocess.DEVNULL, **self.how)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        host, port = self.server.split(":")
        end = time.monotonic() + SECONDS_MAX
        while True:
            with socket.socket() as asked:
                if asked.connect_ex((host, int(port))) == 0:
                    return
            self.assertLess(time.monotonic(), end, command)
            time.sleep(0.01)  # polls another process

    def test_outputs(self):
        shown = 0
        for command, lines in examples():
            if command.startswith("driftless mock"):
                self.start(self.here(command))
                continue
            done = subprocess.run(self.here(command), shell=True, capture_output=True, check=False, timeout=SECONDS_MAX,
                                  **self.how)  # fmt: skip
            self.assertEqual(done.returncode, 0, f"{command}: {done.stdout}{done.stderr}")
            printed = iter([shape(line) for line in done.stdout.splitlines()])
            for line in lines:
                self.assertIn(shape(line), printed, f"{command}\n{done.stdout}")  # in order: it takes what is before
                shown += 1
        self.assertGreater(shown, 10)


if __name__ == "__main__":
    unittest.main(verbosity=2)

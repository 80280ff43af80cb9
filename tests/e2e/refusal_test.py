"""Every bad input has one clear message, the right exit code, and leaves nothing behind."""

import base64
import json
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import unittest

from harness import Case, DRIFTLESS, SAMPLE, SANITIZED, SECONDS_MAX, TOKENIZERS, mock, receiver

USAGE, INPUT, PREFLIGHT, NO_SUCCESS, HOST = 2, 3, 4, 5, 7
NOT_LOADED = 127  # by the dynamic linker, where a library has no room


def row(**changes):
    fields = {"timestamp": 0, "input_length": 600, "output_length": 4, "hash_ids": [1, 2]}
    fields.update(changes)
    return json.dumps(fields) + "\n"


class Refusal(Case):
    def refuse(self, code, *flags, says=()):
        run = self.replay(*flags)
        self.assertEqual(run.code, code, run.said + run.complained)
        self.assertFalse(run.folder.exists(), "a refused run left a folder")
        for part in says:
            self.assertIn(part, run.complained)
        return run

    def refuse_trace(self, text, *says):
        trace = self.write("bad.jsonl", text)
        run = self.refuse(INPUT, trace, "--dry-run", says=("bad.jsonl", *says))
        self.assertNotIn("check failed", run.complained)

    def test_a_cpu_that_is_not_there(self):
        cpus = os.sched_getaffinity(0)
        for flag in ("--cpu", "--writer-cpu"):
            run = self.refuse(USAGE, SAMPLE, "--url", "http://127.0.0.1:9", flag, 1000)
            self.assertRegex(run.complained, f"{flag} 1000: this process is not allowed on that CPU; use "
                                             f"one of {min(cpus)}\\b")

    def test_flags_that_would_be_ignored(self):
        """Each is refused, with what to do instead."""
        http = (SAMPLE, "--url", "http://127.0.0.1:9")
        for flags, says in (
            (("--ca", "/missing"), "--ca is for https, and no server is asked over it; remove --ca"),
            (("--insecure",), "--insecure is for https"),
            (("--cert", "c", "--key", "k"), "--cert is for https"),
            (("--extra-body", '{"stream":false}'), '"stream" decides how answers are read; remove it, and '
                                                   "use --no-stream"),
            (("--label", "a=1", "--label", "a=2"), '--label a is given twice, as "1" and as "2"'),
        ):  # fmt: skip
            self.refuse(USAGE, *http, *flags, says=[says])
        for ending in (".csv", ".parquet"):
            out = self.scratch / ("out" + ending)
            done = subprocess.run([DRIFTLESS, "convert", SAMPLE, "-o", out], capture_output=True,
                                  text=True, timeout=SECONDS_MAX, check=False)  # fmt: skip
            self.assertEqual(done.returncode, USAGE)
            self.assertIn("convert writes JSON lines; name it .jsonl", done.stderr)
            self.assertFalse(out.exists())

    def test_no_trace_but_something_known(self):
        (self.scratch / "elf.jsonl").write_bytes(b"\x7fELF\x02\x01\x01\0\0\0\rabc\r\n\0")
        self.refuse(INPUT, self.scratch / "elf.jsonl", "--dry-run", says=["looks like a binary file"])
        self.refuse(INPUT, SAMPLE.parent / "logs" / "plain.jsonl", "--dry-run",
                    says=["looks like a log of requests", "driftless convert FILE --from-logs"])

    @unittest.skipUnless(shutil.which("jq") and shutil.which("iconv"), "jq or iconv is missing")
    def test_remedies_run_as_printed(self):
        """A file that is not read is after its remedy, by the commands that the error names."""
        hi = [{"role": "user", "content": "hi"}]
        body = {"model": "m", "messages": hi, "max_tokens": 5}
        data = json.dumps(body)
        captures = [{"captureData": {"endpointInput": {"data": text, "encoding": name}},
                     "eventMetadata": {"inferenceTime": f"2026-01-31T10:00:0{second}Z"}}
                    for second, (name, text) in enumerate(
                        (("JSON", data), ("BASE64", base64.b64encode(data.encode()).decode())))]  # fmt: skip
        rounds = [{"session_id": "a", "round_index": n, "input_tokens_total": 500 + n, "output_tokens": 2,
                   "timing_events": [{"event_type": "tool_result", "timestamp": f"2026-01-31T10:00:0{n}Z"},
                                     {"event_type": "text", "timestamp": "2026-01-31T10:30:00Z"}]}
                  for n in range(2)]  # fmt: skip
        lines = [row(), row(timestamp=5)]
        files = {
            "inputs": [{"data": [{"session_id": "s", "payloads": [body, body]}]}],
            "captures": captures,
            "rounds": rounds,
            "agents": [{"conversation_id": 3, "messages": hi, "target_output_tokens": 4}] * 2,
            "forks": [{"session_id": "s", "turns": [{"messages": hi, "max_tokens": 4, "forks": None}] * 2}],
            "responses": [{"model": "m", "input": "hi", "instructions": "s", "max_output_tokens": 5},
                          {"model": "m", "input": hi, "max_output_tokens": 5}],
            "page": [{"object": "list", "data": [json.loads(line) for line in lines]}],
            "utf-16-le": "".join(lines), "utf-16-be": "".join(lines), "utf-16": "".join(lines),
            "timeless": json.dumps(body) + "\n" + json.dumps(body) + "\n",
        }  # fmt: skip
        for name, rows in files.items():
            with self.subTest(shape=name):
                text = rows if isinstance(rows, str) else "".join(json.dumps(one) + "\n" for one in rows)
                coded = text.encode(name if name.startswith("utf") else "utf-8")
                (self.scratch / name).write_bytes(coded)
                wrong = self.refuse(INPUT, self.scratch / name, "--dry-run").complained.splitlines()[0]
                command = re.search(r"((?:jq|iconv) .* FILE > NEW_FILE)", wrong)[1]
                fixed = self.scratch / f"{name}.fixed"
                command = command.replace("NEW_FILE", str(fixed)).replace("FILE", str(self.scratch / name))
                subprocess.run(command, shell=True, check=True, timeout=SECONDS_MAX)
                flags = re.search(r"and replay NEW_FILE (?:with )?(--(?:(?! \().)*)$", wrong)
                flags = flags[1].split(", ")[0].replace(" R", " 5").split() if flags else []
                run = self.replay(fixed, *flags, "--dry-run")
                self.assertEqual(run.code, 0, run.complained)
                self.assertIn("selected: 2 of 2 rows", run.said)

    def test_files_of_tls(self):
        cert = self.write("cert.pem", "nothing")
        https = (SAMPLE, "--url", "https://127.0.0.1:9")
        self.refuse(USAGE, *https, "--ca", cert, says=["name a PEM file with certificates"])

    def test_missing_file(self):
        self.refuse(INPUT, self.scratch / "nowhere.jsonl", "--dry-run", says=["nowhere.jsonl"])

    def test_empty_file(self):
        self.refuse_trace("")

    def test_no_json(self):
        self.refuse_trace(row() + "{not json\n", ":2")

    def test_wrong_hash_count(self):
        """Length, count and block size are named, so that the reader sees which one is wrong."""
        self.refuse_trace(row(hash_ids=[1]), ":1", "hash_ids", "600", "512")
        self.refuse_trace(row(hash_ids=[1, 2, 3]), ":1", "hash_ids", "600", "512")

    def test_negative_time(self):
        self.refuse_trace(row() + row(timestamp=-1), ":2", "timestamp", "-1")

    def test_all_errors_are_listed(self):
        self.refuse_trace(
            row(timestamp=-1) + row(input_length=0) + row(hash_ids=[]), ":1", ":2", ":3"
        )

    def test_unsorted_rows_are_sorted_and_counted(self):
        trace = self.write("t.jsonl", row(timestamp=1000) + row(timestamp=0))
        run = self.replay_well(trace, "--dry-run")
        self.assertEqual(run.json("run.json")["trace"]["rows_unsorted"], 1)

    def test_unknown_flag(self):
        run = self.refuse(USAGE, SAMPLE, "--url", "h", "--sped", "2", says=["--sped", "--speed"])
        self.assertEqual(run.complained.count("\n"), 1)

    def test_a_speed_that_takes_decades(self):
        """It is the speed that is wrong, not the selection."""
        run = self.refuse(INPUT, SAMPLE, "--dry-run", "--speed", "1e-10",
                          says=["--speed 1e-10", "73 years"])
        self.assertNotIn("no row", run.complained)

    def test_unusable_tokenizer(self):
        """The file, the reason and the remedy, before anything is sent or written."""
        flags = (SAMPLE, "--dry-run", "--tokenizer")
        whole = (TOKENIZERS / "qwen.json").read_text()
        cut = self.write("cut.json", whole[: len(whole) // 2])
        self.refuse(INPUT, *flags, self.scratch / "none.json", says=["none.json", "not exist"])
        self.refuse(INPUT, *flags, cut, says=["cut.json", "cut off", "fetch it again"])
        self.refuse(INPUT, *flags, TOKENIZERS / "superword.json", says=["superword.json", "span more than one word"])
        self.refuse(INPUT, *flags, TOKENIZERS / "odd.json", says=["without --tokenizer"])

    def test_nothing_selected(self):
        run = self.replay(SAMPLE, "--dry-run", "--start", "1h")
        self.assertIn(run.code, (USAGE, INPUT))
        self.assertFalse(run.folder.exists())

    def test_folder_that_exists(self):
        folder = self.scratch / "there"
        folder.mkdir()
        (folder / "mine").write_text("")
        run = self.replay(SAMPLE, "--dry-run", folder=folder)
        self.assertEqual(run.code, USAGE)
        self.assertIn("there", run.complained)
        self.assertEqual([path.name for path in folder.iterdir()], ["mine"])

    def limited(self, limit, value, *command):
        """The end of a command under a limit of its process."""
        return subprocess.run(
            [DRIFTLESS, *[str(part) for part in command]], capture_output=True, text=True,
            timeout=SECONDS_MAX, check=False,
            preexec_fn=lambda: resource.setrlimit(limit, (value, value)),
        )

    def test_a_limit_on_files(self):
        """An error of the write, not the end by a signal; what would be half of a file is none."""
        out = self.scratch / "out"
        for command in (
            ("convert", SAMPLE, "-o", out),
            ("inspect", SAMPLE, "--hash-block-report", out),
            ("replay", SAMPLE, "--dry-run", "--save-prompts", out),
            ("replay", SAMPLE, "--dry-run", "--out", out),
        ):
            done = self.limited(resource.RLIMIT_FSIZE, 1024, *command)
            self.assertEqual(done.returncode, HOST, done.stderr)
            self.assertIn("File too large", done.stderr)
            self.assertFalse(out.exists(), command)

    @unittest.skipIf(SANITIZED, "the sanitizers map more than any limit of memory")
    def test_a_limit_on_memory(self):
        """Wherever it is met from main() on: exit code 7, told in one line."""
        ids = list(range(60))
        fields = {"input_length": 60 * 512, "output_length": 4, "hash_ids": ids}
        trace = self.scratch / "large.jsonl"
        with open(trace, "w") as file:
            for i in range(12_000):
                file.write(json.dumps({"timestamp": i, **fields}) + "\n")
        told = 0
        for mib in range(36, 120, 4):
            for command in (("inspect",), ("replay", "--dry-run")):
                done = self.limited(resource.RLIMIT_AS, mib << 20, *command, trace)
                if done.returncode == -signal.SIGABRT and not told:
                    continue  # loaded, and no byte is left for static objects (CLI11's)
                self.assertIn(done.returncode, (0, HOST, NOT_LOADED), f"{mib}: {done.stderr}")
                told += "out of memory" in done.stderr
                if done.returncode == HOST:
                    self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertGreater(told, 0)

    def test_server_that_is_not_there(self):
        """The port is free: it was bound a moment ago and never listened on."""
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            port = taken.getsockname()[1]
            self.refuse(PREFLIGHT, SAMPLE, "--url", f"http://127.0.0.1:{port}", says=[str(port)])

    def test_server_that_refuses_everything(self):
        for status in (400, 404):
            with receiver("--status", status) as server:
                self.refuse(PREFLIGHT, SAMPLE, "--url", server.url, says=[str(status)])

    def test_server_that_refuses_every_row(self):
        """Failed requests are data: every row has its record, the exit code says none succeeded."""
        with receiver("--status", 500, "--rows-only") as server:
            run = self.replay(SAMPLE, "--url", server.url, "--speed", 20, "--limit", 20)
        self.assertEqual(run.code, NO_SUCCESS, run.complained)
        records = run.records()
        self.assertEqual(len(records), 20)
        for record in records.values():
            self.assertEqual(record["outcome"], "http_5xx")
            self.assertEqual(record["status"], 500)
            self.assertIn("refuses everything", record["error"])

    def test_key_is_never_shown(self):
        with mock("--ttft", "1ms", "--itl", "1ms") as server:
            run = self.replay_well(
                SAMPLE, "--url", server.url, "--limit", 5, "--api-key", "sk-very-secret"
            )
        for path in run.folder.iterdir():
            self.assertNotIn("sk-very-secret", path.read_text(), path)
        self.assertNotIn("sk-very-secret", run.said + run.complained)


if __name__ == "__main__":
    unittest.main(verbosity=2)

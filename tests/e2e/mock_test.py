"""The bundled mock and the replay agree: cached tokens, token stamps, windows, URLs, files."""

import json
import subprocess
import unittest

from harness import Case, DRIFTLESS, SAMPLE, SECONDS_MAX, TOKENIZERS, mock, read_jsonl, row_of


def shared_tokens(rows, came_before, block=512):
    """Tokens of the longest prefix that each row shares with rows that came before it: full blocks,
    never the last token. By comparing every pair, which is slow and plain."""
    shared = []
    for b, row in enumerate(rows):
        best = 0
        for a in range(len(rows)):
            if a == b or not came_before(a, b):
                continue
            full = min((rows[a]["input_length"]) // block, (row["input_length"] - 1) // block)
            count = 0
            while count < full and rows[a]["hash_ids"][count] == row["hash_ids"][count]:
                count += 1
            best = max(best, count)
        shared.append(best * block)
    return shared


class Mock(Case):
    def test_every_file_of_a_run(self):
        with mock("--ttft", "2ms", "--itl", "1ms") as server:
            run = self.replay_well(SAMPLE, "--url", server.url, "--speed", 10, "--label", "a=b")
        names = {path.name for path in run.folder.iterdir()}
        expected = {"run.json", "requests.jsonl", "fired.jsonl", "summary.json", "client.jsonl",
                    "periods.jsonl"}  # fmt: skip
        self.assertTrue(expected <= names, names)
        rows = len(self.sample_rows())
        records = run.records()
        self.assertEqual(len(records), rows)
        fired = {line["row"]: line["fired_ns"] for line in read_jsonl(run.folder / "fired.jsonl")}
        self.assertEqual(fired, {row: record["fired_ns"] for row, record in records.items()})
        summary = run.json("summary.json")
        self.assertEqual(summary["completed"], rows)
        self.assertEqual(summary["failed"], 0)
        self.assertEqual(
            summary["total_output_tokens"], sum(row["output_length"] for row in self.sample_rows())
        )
        self.assertEqual(run.json("run.json")["end"]["records"], rows)

    def test_an_address_that_is_taken(self):
        with mock() as server:
            address = server.url.removeprefix("http://")
            done = subprocess.run([DRIFTLESS, "mock", "--listen", address], capture_output=True,
                                  text=True, timeout=SECONDS_MAX, check=False)
        self.assertEqual(done.returncode, 7)
        self.assertEqual(done.stderr, f"driftless mock: cannot listen on {address}: Address already "
                                      "in use; stop what listens there, or use another port (0 takes a "
                                      "free one)\n")  # fmt: skip

    def test_words_of_a_tokenizer(self):
        """They replace the built-in ones, are printed and recorded, and prompts stay exact."""
        path = TOKENIZERS / "qwen.json"
        with mock("--ttft", "0", "--itl", "0", "--overhead", "3,5") as server:
            run = self.replay_well(
                SAMPLE, "--url", server.url, "--speed", 100, "--limit", 40, "--tokenizer", path
            )
        self.assertIn(f"words: the 256 shortest of 294 that are one token each in {path}", run.said)
        request = run.json("run.json")["request"]
        self.assertEqual(request["words"], 256)
        self.assertEqual(request["tokenizer"]["file"], str(path))
        self.assertEqual(request["tokenizer"]["kind"], "byte-level BPE")
        for record in run.records().values():
            self.assertEqual(record["prompt_tokens"], record["input_length"])

    def test_cache_and_stamps(self):
        """A cache without limit hits what was expected; no stamp precedes the mock's own."""
        log = self.scratch / "mock.jsonl"
        with mock("--ttft", "2ms", "--itl", "1ms", "--cache-block", 512, "--log", log) as server:
            run = self.replay_well(
                SAMPLE, "--url", server.url, "--speed", 10, "--api", "openai-completions",
                "--prompt", "ids",
            )
        zero = run.json("run.json")["clock"]["zero_monotonic_ns"]
        seen = {row_of(line["request_id"]): line for line in read_jsonl(log)}
        for row, record in run.records().items():
            request = seen[row]
            self.assertEqual(record["outcome"], "ok")
            self.assertEqual(request["prompt_tokens"], record["input_length"])
            self.assertEqual(record["cached_tokens"], request["cached_tokens"])
            for stamp, sent in zip(record["chunk_ns"], request["token_ns"]):
                self.assertGreaterEqual(record["fired_ns"] + stamp + zero, sent)
        records = run.records()
        rows = self.sample_rows()
        for row, tokens in enumerate(shared_tokens(rows, lambda a, b: a < b)):
            self.assertEqual(records[row]["expected_cached_tokens"], tokens, f"row {row}")
        # Rows may overtake each other on their way. Those that were read at one instant, and share more
        # with each other than with earlier ones, may find either.
        read = [seen[row]["last_byte_ns"] for row in range(len(rows))]
        earlier = shared_tokens(rows, lambda a, b: read[a] < read[b])
        ever = shared_tokens(rows, lambda a, b: read[a] <= read[b])
        settled = [row for row in records if ever[row] == earlier[row]]
        self.assertGreater(len(settled), len(rows) // 2)
        for row in settled:
            self.assertEqual(records[row]["cached_tokens"], earlier[row], f"row {row}")

    def test_window_limit_and_standard_input(self):
        with mock("--ttft", "1ms", "--itl", "1ms") as server:
            run = self.replay(
                "-", "--url", server.url, "--start", "2", "--end", "6", "--limit", 10, "--speed", 10,
                stdin=SAMPLE.read_text(),
            )
        self.assertEqual(run.code, 0, run.complained)
        rows = self.sample_rows()
        inside = [i for i, row in enumerate(rows) if 2000 <= row["timestamp"] < 6000]
        self.assertEqual(sorted(run.records()), inside[:10])

    def test_two_servers_take_turns(self):
        with mock("--ttft", "1ms", "--itl", "1ms") as one, mock("--ttft", "1ms") as other:
            run = self.replay_well(
                SAMPLE, "--url", one.url, "--url", other.url, "--limit", 40, "--speed", 10
            )
        urls = [record["url"] for record in run.records().values()]
        self.assertEqual(len(set(urls)), 2)
        self.assertEqual(urls.count(urls[0]), 20)

    def test_records_at_a_chosen_path_and_saved_answers(self):
        path = self.scratch / "mine.jsonl"
        with mock("--ttft", "1ms", "--itl", "1ms") as server:
            run = self.replay_well(
                SAMPLE, "--url", server.url, "--limit", 8, "--speed", 10, "--output-path", path,
                "--save-responses", 3, "--chunks", "none",
            )
        records = read_jsonl(path)
        self.assertEqual(len(records), 8)
        self.assertTrue(all(record["chunk_ns"] is None for record in records))
        self.assertEqual(len(read_jsonl(run.folder / "responses.jsonl")), 3)

    def test_faults_are_records(self):
        """Each fault of the mock is one outcome of the contract, and the rest is ok."""
        faults = {
            "reset": "truncated", "truncate": "truncated", "malformed": "bad_event",
            "error": "stream_error", "429": "http_429", "500": "http_5xx",
        }
        flags = []
        for row, fault in enumerate(faults):
            flags += ["--fault-row", f"{fault}:{row}"]
        with mock("--ttft", "1ms", "--itl", "1ms", *flags) as server:
            run = self.replay_well(SAMPLE, "--url", server.url, "--limit", 20, "--speed", 10)
        records = run.records()
        for row, (fault, outcome) in enumerate(faults.items()):
            self.assertEqual(records[row]["outcome"], outcome, fault)
        for row in range(len(faults), 20):
            self.assertEqual(records[row]["outcome"], "ok", json.dumps(records[row]))


if __name__ == "__main__":
    unittest.main(verbosity=2)

"""What the server counts is what the trace says, and where it cannot be, everything says so."""

import subprocess
import unittest

from harness import Case, DRIFTLESS, SAMPLE, TOKENIZERS, mock


def line(timestamp, input_length):
    return f'{{"timestamp": {timestamp}, "input_length": {input_length}, "output_length": 1}}\n'


class Prompts(Case):
    def test_rows_within_the_overhead_are_counted(self):
        """A row no longer than the template goes with one word, and three places say so."""
        lengths = [1, 7, 8, 9, 10, 100]
        trace = self.write(
            "short.jsonl", "".join(line(i, length) for i, length in enumerate(lengths))
        )
        flags = ("--format", "generic", "--map", "time=timestamp,in=input_length,out=output_length",
                 "--time-unit", "ms")
        with mock("--ttft", "0", "--overhead", "5,3") as server:
            run = self.replay_well(trace, "--url", server.url, *flags)
        self.assertEqual(run.json("run.json")["plan"]["clamped_rows"], 3)
        self.assertEqual(run.json("summary.json")["clamped_rows"], 3)
        self.assertIn("3 rows no longer than the overhead", " ".join(run.said.split()))
        for row, record in run.records().items():
            self.assertEqual(record["prompt_tokens"], max(lengths[row], 9))

    def test_a_mock_with_the_same_tokenizer(self):
        """Words of a tokenizer are one token each for a server that truly encodes them."""
        for name in ("qwen", "llama2", "o200k"):
            path = TOKENIZERS / f"{name}.json"
            with mock("--ttft", "0", "--itl", "0", "--tokenizer", path) as server:
                # One at a time: the cache holds what came before, and nothing overtakes.
                run = self.replay_well(
                    SAMPLE, "--url", server.url, "--speed", 100, "--limit", 60, "--tokenizer", path,
                    "--max-inflight", 1,
                )
            for record in run.records().values():
                self.assertEqual(record["prompt_tokens"], record["input_length"])
                self.assertEqual(record["cached_tokens"], record["expected_cached_tokens"])

    def test_a_tokenizer_that_is_none(self):
        """The mock refuses it in one line, before it listens."""
        path = self.write("none.json", "{}")
        done = subprocess.run(
            [DRIFTLESS, "mock", "--tokenizer", path], capture_output=True, text=True, check=False
        )
        self.assertEqual(done.returncode, 2)
        self.assertIn(f"driftless mock: --tokenizer {path}: ", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)

"""A trace of every format, replayed: the server sees the lengths, instants and sharing that it records."""

import unittest

from harness import Case, SAMPLE, mock, read_jsonl, row_of

TRACES = SAMPLE.parent / "traces"
LATE_NS_MAX = 5_000_000_000  # an alarm, no target: this test is about which instant, not how exact

# What each file's rows are, by index: due in ns, prompt tokens, answer tokens, cached prompt tokens.
# Worked out by hand: full blocks only, and never a prompt's last token.
MS = 1_000_000
FORMATS = {
    "mooncake.jsonl": (512, (), [
        (0, 1025, 3, 0), (0, 1024, 2, 512), (250 * MS, 1025, 1, 1024)]),
    "tutorial.jsonl": (512, ("--lenient",), [(0, 512, 128, 0), (MS, 655, 52, 0)]),
    "qwen.jsonl": (16, (), [
        (0, 40, 5, 0), (114 * MS, 32, 2, 0), (500 * MS, 56, 3, 32)]),
    "weka": (64, ("--sessions", "open"), [
        (0, 130, 1, 0), (250 * MS, 64, 3, 0), (350 * MS, 100, 2, 64), (500 * MS, 200, 9, 128),
        (0, 130, 4, 0), (750 * MS, 257, 1, 128)]),
    "weka_ceil.jsonl": (64, ("--sessions", "open"), [
        (0, 418, 2, 0), (300 * MS, 434, 3, 384), (0, 402, 4, 0), (200 * MS, 587, 5, 384)]),
    "azure_2023.csv": (16, (), [(0, 374, 4, 0), (250_001_000, 396, 9, 0)]),
    "azure_2024.csv": (16, (), [(0, 10, 2, 0), (1_163_000, 20, 3, 0), (1000 * MS, 30, 4, 0)]),
    "azure_2025.csv": (16, (), [(0, 770, 4, 0), (550 * MS, 949, 6, 0)]),
    "azure_lower.csv": (16, (), [(0, 374, 4, 0), (250_001_000, 396, 9, 0)]),
    "azure_headerless.csv": (16, (), [(0, 374, 4, 0), (250_001_000, 396, 9, 0)]),
    "vidur.csv": (16, ("--speed", "10"), [
        (0, 374, 44, 0), (431_457_900, 396, 9, 0), (589_265_499, 91, 16, 0)]),
    "aibrix.jsonl": (16, (), [(0, 101, 4, 0), (0, 30, 2, 0), (1500 * MS, 140, 3, 0)]),
    "burstgpt_6.csv": (16, (), [(0, 472, 8, 0), (1000 * MS, 1087, 3, 0)]),
    "burstgpt_8.csv": (16, (), [(0, 906, 4, 0), (0, 30, 2, 0), (1000 * MS, 950, 5, 0)]),
    "dynamo.jsonl": (16, (), [(250 * MS, 40, 2, 32), (0, 34, 4, 0)]),
    "agentic_mooncake.jsonl": (64, ("--sessions", "open"), [
        (0, 100, 3, 0), (300 * MS, 129, 4, 64), (400 * MS, 70, 2, 0)]),
    "any.csv": (16, ("--map", "time=arrived,in=prompt,out=answer,hashes=blocks,session=user",
                     "--block-size", "16"), [
        (500 * MS, 33, 2, 32), (0, 48, 3, 0), (1000 * MS, 16, 4, 0)]),
}
OUT_OF_ORDER = ("dynamo.jsonl", "any.csv")


class Formats(Case):
    def check(self, name, block, flags, rows):
        log = self.scratch / f"{name.replace('/', '_')}.log"
        with mock("--ttft", "0", "--itl", "0", "--cache-block", block, "--log", log) as server:
            run = self.replay_well(TRACES / name, "--url", server.url, *flags)
        seen = {row_of(line["request_id"]): line for line in read_jsonl(log)}
        seen.pop(None, None)
        records = run.records()
        self.assertEqual(sorted(records), list(range(len(rows))))
        in_order = name not in OUT_OF_ORDER
        zero_ns = run.json("run.json")["clock"]["zero_monotonic_ns"]
        for row, (due_ns, prompt, output, cached) in enumerate(rows):
            with self.subTest(row=row):
                record, request = records[row], seen[row]
                self.assertEqual(record["outcome"], "ok", record["error"])
                self.assertEqual(record["due_ns"], due_ns)
                self.assertEqual(request["prompt_tokens"], prompt)
                self.assertEqual(request["output_tokens"], output)
                self.assertEqual(request["cached_tokens"], cached)
                if in_order:  # else it is not: the forecast goes by file order
                    self.assertEqual(record["expected_cached_tokens"], cached)
                late_ns = request["start_ns"] - zero_ns - due_ns
                self.assertGreaterEqual(late_ns, 0, "sent early")
                self.assertLess(late_ns, LATE_NS_MAX)

    def test_every_format(self):
        for name, (block, flags, rows) in FORMATS.items():
            with self.subTest(trace=name):
                self.check(name, block, flags, rows)

    def test_scope_of_ids(self):
        """The same two files, told that they are segments of one log, share what their ids say."""
        row = '{{"timestamp": {}, "input_length": 1025, "output_length": 1, "hash_ids": [1, 2, 3]}}\n'
        first = self.write("a.jsonl", row.format(0))
        second = self.write("b.jsonl", row.format(200))
        for flags, cached in (((), 0), (("--hash-scope", "all"), 1024)):
            with mock("--ttft", "0", "--itl", "0", "--cache-block", 512) as server:
                run = self.replay_well(first, second, "--url", server.url, *flags)
            self.assertEqual(run.records()[1]["cached_tokens"], cached)

    def test_the_tutorials_rows_are_refused(self):
        """They contradict themselves; both ways out are named, for each row."""
        run = self.replay(TRACES / "tutorial.jsonl", "--url", "http://127.0.0.1:9")
        self.assertEqual(run.code, 3)
        first, second = run.complained.splitlines()[:2]
        self.assertIn('tutorial.jsonl:1: hash_ids "3 ids" contradicts input_length 512', first)
        self.assertIn("no block size of 16, 32, .. 1024 would fit; or use --lenient to ignore", first)
        self.assertIn('tutorial.jsonl:2: hash_ids "3 ids" contradicts input_length 655', second)
        self.assertIn("--block-size 256 would fit; or use --lenient to ignore", second)


if __name__ == "__main__":
    unittest.main(verbosity=2)

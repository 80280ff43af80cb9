"""What convert writes replays as the trace that it was made of: the same schedule, the same prompts."""

import gzip
import json
import subprocess

import unittest

from harness import Case, DRIFTLESS, SAMPLE, SECONDS_MAX


class Convert(Case):
    def convert(self, *flags, code=0):
        done = subprocess.run(
            [DRIFTLESS, "convert", *[str(flag) for flag in flags]], capture_output=True, text=True,
            timeout=SECONDS_MAX, check=False,
        )
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def digests(self, trace, *flags):
        plan = self.replay_well(trace, "--dry-run", *flags).json("run.json")["plan"]
        return plan["schedule_digest"], plan["prompts_digest"], plan["expected_cached_tokens"]

    def test_canonical_is_the_same_trace(self):
        before = self.digests(SAMPLE)
        for ending in ("jsonl", "jsonl.gz", "jsonl.zst"):
            out = self.scratch / f"canonical.{ending}"
            self.convert(SAMPLE, "-o", out)
            self.assertEqual(self.digests(out), before)

    def test_closed_standard_descriptors(self):
        """What is said does not go into the file that has taken the number; that it is lost is an error."""
        whole, closed = self.scratch / "whole.jsonl", self.scratch / "closed.jsonl"
        self.convert(SAMPLE, "-o", whole)
        command = f'exec "{DRIFTLESS}" convert "{SAMPLE}" -o "{closed}" <&- >&- 2>&-'
        done = subprocess.run(["sh", "-c", command], timeout=SECONDS_MAX, check=False)
        self.assertEqual(done.returncode, 7)
        self.assertEqual(closed.read_bytes(), whole.read_bytes())

    def test_mooncake_is_the_same_trace(self):
        out = self.scratch / "again.jsonl"
        self.convert(SAMPLE, "-o", out, "--to", "mooncake")
        self.assertEqual([json.loads(line) for line in out.read_text().splitlines()],
                         self.sample_rows())

    def test_what_replay_would_do(self):
        """Cropped, scaled, spread and overlaid beforehand, or by the replay itself."""
        seed = ("--seed", 4)
        for flags in (("--replicate", 3), ("--spread",), ("--limit", 50), ("--speed", 2.5)):
            out = self.scratch / f"part{self.runs}.jsonl"
            self.convert(SAMPLE, "-o", out, *flags, *seed)
            self.assertEqual(self.digests(out, *seed), self.digests(SAMPLE, *flags, *seed), flags)

    def test_mooncake_of_any_times_reads_back(self):
        """Spread and overlaid rows come at fractions of a ms, which the format does not have."""
        for flags in (("--spread",), ("--replicate", 3), ("--speed", 3)):
            out = self.scratch / f"whole{flags[0]}.jsonl"
            done = self.convert(SAMPLE, "-o", out, "--to", "mooncake", *flags)
            self.assertRegex(done.stdout, r"loss: \d+ times with fractions of a ms, rounded")
            stamps = [json.loads(line)["timestamp"] for line in out.read_text().splitlines()]
            self.assertTrue(all(isinstance(stamp, int) for stamp in stamps))
            self.assertEqual(stamps, sorted(stamps))
            self.replay_well(out, "--dry-run")

    def test_window(self):
        out = self.scratch / "window.jsonl.gz"
        self.convert(SAMPLE, "-o", out, "--to", "mooncake", "--start", "2s", "--end", "4s")
        inside = [row for row in self.sample_rows() if 2000 <= row["timestamp"] < 4000]
        with gzip.open(out, "rt") as file:
            rows = [json.loads(line) for line in file]
        first = inside[0]["timestamp"]
        self.assertEqual([row["timestamp"] for row in rows],
                         [row["timestamp"] - first for row in inside])
        self.assertEqual([row["input_length"] for row in rows],
                         [row["input_length"] for row in inside])

    def test_standard_output(self):
        done = self.convert(SAMPLE, "-o", "-", "--to", "mooncake", "--limit", 3)
        self.assertEqual([json.loads(line) for line in done.stdout.splitlines()],
                         self.sample_rows()[:3])
        self.assertIn("wrote: -: 3 rows", done.stderr)

    def test_refusals(self):
        out = self.write("there.jsonl", "mine")
        self.assertIn("already exists", self.convert(SAMPLE, "-o", out, code=2).stderr)
        self.assertEqual(out.read_text(), "mine")
        missing = self.scratch / "no" / "folder.jsonl"
        self.assertIn("No such file", self.convert(SAMPLE, "-o", missing, code=7).stderr)
        bad = self.write("bad.jsonl", '{"timestamp": 0, "input_length": 9, "output_length": 1, '
                                      '"hash_ids": [1, 2]}\n')
        out = self.scratch / "not_made.jsonl"
        self.assertIn("needs 1", self.convert(bad, "-o", out, code=3).stderr)
        self.assertFalse(out.exists())
        none = self.convert(SAMPLE, "-o", out, "--start", "10h", code=3)
        self.assertIn("no row of the trace is selected", none.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)

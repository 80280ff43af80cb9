"""Workloads without a recording go through a pipe into a replay, and a server sees what they say."""

import json
import re
import subprocess

import unittest

from harness import Case, DRIFTLESS, SAMPLE, SECONDS_MAX, mock

KINDS = {
    "random": "random --rows 40 --in normal:300:50 --out-tokens uniform:1..6 --rate 200",
    "prefix": "prefix --rows 40 --groups 4 --prefix 256 --suffix 40 --out-tokens 4 --rate 200",
    "chat": "chat --sessions 8 --turns 3 --system 64 --in 100 --growth 40 --out-tokens 4 --gap "
            "20ms --rate 100 --token-time 5ms",
    "agents": "agents --trees 3 --turns 4 --sub-turns 2 --system 128 --sub-system 64 --in 50 "
              "--growth 30 --out-tokens 4 --gap 5ms --spawn 0.5 --compact-at 400 --summary 20 "
              "--rate 50 --token-time 5ms",
    "reuse": "stress reuse --rows 40 --in 320 --working-set 1600 --hit 75 --out-tokens 2 --rate 200",
    "working-set": "stress working-set --in 160 --working-set 320..960 --steps 3 --rounds 2 "
                   "--out-tokens 2 --rate 200",
    "offload": "stress offload --in 160 --capacity 1600 --rounds 2 --out-tokens 2 --rate 200",
    "compaction": "stress compaction --sessions 2 --turns 12 --system 64 --in 64 --growth 64 "
                  "--out-tokens 4 --compact-at 512 --summary 16 --gap 5ms --token-time 5ms",
    "reactivation": "stress reactivation --sessions 6 --in 320 --growth 16 --out-tokens 4 "
                    "--after 500ms --rate 100 --token-time 5ms",
    "fan-out": "stress fan-out --groups 3 --in 320 --suffix 32 --fan-out 5 --out-tokens 4 --rate "
               "20 --token-time 5ms",
}


class Synth(Case):
    def synth(self, line, *more, code=0):
        done = subprocess.run([DRIFTLESS, "synth", *line.split(), *map(str, more)],
                              capture_output=True, timeout=SECONDS_MAX, check=False)
        self.assertEqual(done.returncode, code, done.stderr.decode())
        return done

    def piped(self, line, *flags):
        """`driftless synth .. | driftless replay - ..`: the rows that were made, and the records."""
        text = self.synth(line).stdout.decode()
        run = self.replay("-", *flags, stdin=text)
        self.assertEqual(run.code, 0, run.said + run.complained)
        return [json.loads(row) for row in text.splitlines()[1:]], run.records().values()

    def test_each_kind_is_played_as_it_says(self):
        for name, line in KINDS.items():
            with mock("--ttft", "1ms", "--itl", "1ms", "--cache-block", "16") as server:
                rows, records = self.piped(line, "--url", server.url)
            self.assertEqual(len(records), len(rows), name)
            for record in records:
                row = rows[record["row"]]
                self.assertEqual(record["outcome"], "ok", name)
                self.assertEqual(record["prompt_tokens"], row["input_length"], name)
                self.assertEqual(record["output_tokens"], row["output_length"], name)
            expected = sum(record["expected_cached_tokens"] for record in records)
            hit = sum(record["cached_tokens"] for record in records)
            self.assertGreaterEqual(hit, expected * 0.9, name)
            self.assertLessEqual(hit, expected, name)
            self.assertEqual(expected > 0, name != "random", name)

    def test_closed_sessions_hit_exactly_what_the_trace_says(self):
        """One user plays one tree after the other: no two requests are open at once."""
        with mock("--ttft", "1ms", "--itl", "1ms", "--cache-block", "16") as server:
            _, records = self.piped(KINDS["chat"], "--url", server.url, "--users", 1)
        self.assertEqual(len(records), 24)
        for record in records:
            self.assertEqual(record["cached_tokens"], record["expected_cached_server"])

    def test_the_share_of_reuse_is_what_a_server_hits(self):
        with mock("--ttft", "1ms", "--itl", "1ms", "--cache-block", "16") as server:
            _, records = self.piped(KINDS["reuse"], "--url", server.url, "--max-inflight", 1)
        behind = [record for record in records if record["row"] >= 5]
        self.assertEqual(sum(record["expected_cached_tokens"] for record in behind), 40 * 240)

    def test_files(self):
        out = self.scratch / "made.jsonl.gz"
        plain = self.scratch / "made.jsonl"
        done = self.synth(KINDS["agents"], "-o", out)
        self.assertRegex(done.stdout.decode(), r"wrote: .*made.jsonl.gz: \d+ rows, format canonical")
        self.synth(KINDS["agents"], "-o", plain)
        self.assertEqual(plain.read_bytes(), self.synth(KINDS["agents"]).stdout)
        again = self.synth(KINDS["agents"], "-o", plain, code=2)
        self.assertIn(b"already exists; name a new file", again.stderr)

    def test_a_histogram(self):
        table = self.scratch / "lengths.csv"
        table.write_text("length,weight\n100,3\n200..210,1\n")
        rows = self.synth(f"random --rows 400 --in file:{table}").stdout.decode().splitlines()[1:]
        lengths = [json.loads(row)["input_length"] for row in rows]
        self.assertAlmostEqual(lengths.count(100), 300, delta=40)
        self.assertEqual({length for length in lengths if length != 100} - set(range(200, 211)),
                         set())
        table.write_text("100,3\nmany,2\n")
        refused = self.synth(f"random --in file:{table}", code=3).stderr.decode()
        self.assertIn(f"file:{table}:2: is not a value and its weight", refused)
        refused = self.synth("random --in file:/nowhere", code=3).stderr.decode()
        self.assertIn("file:/nowhere: ", refused)

    def test_a_million_rows_take_little_memory(self):
        script = ("import resource, subprocess, sys; "
                  "subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True); "
                  "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
        done = subprocess.run(
            ["python3", "-c", script, DRIFTLESS, "synth", "random", "--rows", "1000000"],
            capture_output=True, text=True, timeout=SECONDS_MAX, check=True)
        self.assertLess(int(done.stdout), 300_000)  # KiB; sanitizers take most of that

    def test_like(self):
        out = self.scratch / "like.jsonl"
        done = self.synth(f"like {SAMPLE} --trees 300 -o {out}").stdout.decode()
        self.assertIn("kept: distance of distributions", done)
        points = float(re.search(r"kept: hit rates within ([\d.]+) points", done).group(1))
        rows = [json.loads(row) for row in out.read_text().splitlines()[1:]]
        self.assertGreaterEqual(len(rows), 300)
        self.assertLess(points, 20)
        for bad, why in ((f"like {self.scratch}/none", "No such file"),
                         ("like /dev/null", "no row")):
            refused = self.synth(bad, code=3).stderr.decode()
            self.assertIn(why, refused)

    def test_lines_of_other_tools_run_as_they_stand(self):
        """And are the trace that the `driftless synth` line writes of which they tell."""
        lines = (
            "vllm bench serve --backend vllm --model mock-model --base-url URL --endpoint "
            "/v1/completions --dataset-name random --random-input-len 128 --random-output-len 4 "
            "--random-range-ratio 0.2 --random-prefix-len 64 --num-prompts 30 --max-concurrency 8 "
            "--ignore-eos --seed 3",
            "vllm bench serve --backend vllm --model mock-model --base-url URL --dataset-name "
            "prefix_repetition --prefix-repetition-prefix-len 64 --prefix-repetition-suffix-len 32 "
            "--prefix-repetition-num-prefixes 5 --prefix-repetition-output-len 4 --num-prompts 30",
            "python -m sglang.bench_serving --backend sglang-oai-chat --base-url URL --model "
            "mock-model --dataset-name random --num-prompts 30 --random-input-len 128 "
            "--random-output-len 4 --random-range-ratio 0.5",
            "python -m sglang.bench_serving --backend sglang-oai-chat --base-url URL --model "
            "mock-model --dataset-name generated-shared-prefix --gsp-num-groups 6 "
            "--gsp-prompts-per-group 5 --gsp-system-prompt-len 64 --gsp-question-len 32 "
            "--gsp-output-len 4",
            "aiperf profile --model mock-model --url URL --endpoint-type chat --streaming "
            "--synthetic-input-tokens-mean 128 --synthetic-input-tokens-stddev 10 "
            "--output-tokens-mean 4 --request-count 30 --concurrency 4",
            "guidellm benchmark --target URL --data prompt_tokens=128,output_tokens=4 "
            "--profile concurrent --rate 4 --max-requests 30",
        )
        with mock("--cache-block", "16") as server:
            for line in lines:
                run = self.replay_well(*line.replace("URL", server.url).split())
                records = run.records()
                self.assertEqual(len(records), 30, line)
                said = re.search(r"`driftless (synth [^`]*)`", run.said).group(1)
                text = self.synth(said.removeprefix("synth ")).stdout.decode()
                rows = [json.loads(row) for row in text.splitlines()[1:]]
                for record in records.values():
                    row = rows[record["row"]]
                    self.assertEqual(record["outcome"], "ok", line)
                    self.assertEqual(record["prompt_tokens"], row["input_length"], line)
                    self.assertEqual(record["output_tokens"], row["output_length"], line)

    def test_a_workload_in_place_of_a_file(self):
        run = self.replay_well("synth:random --rows 5 --in 64 --rate 100", "--dry-run")
        made = self.scratch / "made.jsonl"
        self.synth("random --rows 5 --in 64 --rate 100", "-o", made)
        written = self.replay_well(made, "--dry-run").json("run.json")
        self.assertEqual(run.json("run.json")["trace"]["digest"], written["trace"]["digest"])
        for bad in ("synth:", "synth:random --rows 0", "synth:--help"):
            refused = self.replay(bad, "--dry-run")
            self.assertEqual(refused.code, 2)
            self.assertIn("synth:", refused.complained)


if __name__ == "__main__":
    unittest.main()

"""The example commands of other replay tools run as they stand, program words included."""

import json
import shlex
import subprocess
import unittest

from harness import Case, DRIFTLESS, SECONDS_MAX, Run, SAMPLE, TOKENIZERS, mock, read_jsonl


def mooncake_rows(count):
    return [json.loads(line) for line in SAMPLE.read_text().splitlines()[:count]]


class Habits(Case):
    def run_command(self, text, folder=None):
        """The whole command line, in the scratch folder; runs go to runs/ there."""
        done = subprocess.run(
            [DRIFTLESS, "replay", *shlex.split(text)], capture_output=True, text=True,
            timeout=SECONDS_MAX, check=False, cwd=self.scratch,
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return Run(done, folder or next((self.scratch / "runs").iterdir()))

    def write_rows(self, name, rows):
        return self.write(name, "".join(json.dumps(row) + "\n" for row in rows))

    def assert_ignored(self, run, *flags):
        for flag in flags:
            self.assertRegex(run.said, f"flags: {flag}( \\S+)? is ignored: ")

    def test_trace_replayer(self):
        """github.com/blitz-serving/trace-replayer, README.md."""
        rows = []
        for i, row in enumerate(mooncake_rows(30)):
            length = 16 * len(row["hash_ids"]) - 3
            rows.append(
                {"chat_id": i, "parent_chat_id": -1, "timestamp": i / 20, "input_length": length,
                 "output_length": 2, "type": "text", "turn": 1, "hash_ids": row["hash_ids"]}
            )
        trace = self.write_rows("qwen_traceA_blksz_16.jsonl", rows)
        records = self.scratch / "out" / "client.jsonl"
        tokenizer = TOKENIZERS / "qwen.json"
        with mock("--ttft", "0", "--itl", "0") as server:
            run = self.run_command(
                f"""target/release/client --tokenizer {tokenizer} \
                    --tokenizer-config {tokenizer.parent}/tokenizer_config.json \
                    --endpoint {server.url}/v1/chat/completions \
                    --api openai \
                    --dataset bailian \
                    --dataset-path {trace} \
                    --scale-factor 1.5 \
                    --time-in-secs 1 \
                    --num-producer 32 \
                    --channel-capacity 40960 \
                    --output-path {records} \
                    --model-name mock-model"""
            )
        self.assert_ignored(run, "--tokenizer-config", "--num-producer", "--channel-capacity")
        told = run.json("run.json")
        self.assertEqual(told["trace"]["format"], "qwen")
        self.assertEqual(told["request"]["api"], "openai-chat")
        got = {record["row"]: record for record in read_jsonl(records)}
        due = [row for row in range(30) if row / 20 / 1.5 < 1]
        self.assertEqual(sorted(got), due)
        for row in due:
            self.assertEqual(got[row]["due_ns"], row * 50_000_000 * 2 // 3)
            self.assertEqual(got[row]["prompt_tokens"], rows[row]["input_length"])

    def test_ucm_trace_replay(self):
        """ModelEngine-Group/unified-cache-management, benchmarks/trace_replay.py."""
        trace = self.write_rows("conversation_trace.jsonl", mooncake_rows(20))
        with mock("--ttft", "0", "--itl", "0") as server:
            host, port = server.url.removeprefix("http://").split(":")
            run = self.run_command(
                f"""python3 benchmarks/trace_replay.py --model mock-model \
                    --backend vllm \
                    --trace-path {trace} \
                    --trace-mode trace \
                    --host {host} \
                    --port {port} \
                    --save-result \
                    --save-prompts"""
            )
        self.assert_ignored(run, "--trace-mode trace", "--save-result", "--save-prompts")
        self.assertEqual(run.json("summary.json")["completed"], 20)
        self.assertEqual(run.json("run.json")["request"]["api"], "openai-completions")

    def test_aiperf(self):
        """ai-dynamo/aiperf, docs/benchmark-modes/trace-replay.md."""
        rows = [
            {"timestamp": 0, "input_length": 1200, "output_length": 52, "hash_ids": [0, 1, 2]},
            {"timestamp": 105, "input_length": 1800, "output_length": 26, "hash_ids": [0, 3, 4, 5]},
            {"timestamp": 274, "input_length": 1300, "output_length": 52, "hash_ids": [1, 4, 6]},
        ]
        trace = self.write_rows("custom_trace.jsonl", rows)
        with mock("--ttft", "0", "--itl", "0") as server:
            run = self.run_command(
                f"""aiperf profile --model mock-model \
                    --endpoint-type chat \
                    --streaming \
                    --url {server.url.removeprefix("http://")} \
                    --input-file {trace.name} \
                    --custom-dataset-type mooncake_trace \
                    --fixed-schedule"""
            )
        self.assert_ignored(run, "--streaming", "--fixed-schedule")
        records = run.records()
        for index, row in enumerate(rows):
            self.assertEqual(records[index]["due_ns"], row["timestamp"] * 1_000_000)
            self.assertEqual(records[index]["prompt_tokens"], row["input_length"])
            self.assertEqual(records[index]["output_tokens"], row["output_length"])

    def test_guidellm(self):
        """vllm-project/guidellm, docs/guides/trace_replay.md: its times are in seconds."""
        rows = [
            {"timestamp": 0, "input_length": 256, "output_length": 12},
            {"timestamp": 0.5, "input_length": 512, "output_length": 6},
        ]
        self.write_rows("replay.jsonl", rows)
        with mock("--ttft", "0", "--itl", "0") as server:
            run = self.run_command(
                f"""guidellm benchmark run --backend kind=openai_http,target={server.url} \
                    --profile kind=replay \
                    --data kind=trace_synthetic,source.kind=json_file,source.path=replay.jsonl,"""
                "time_scale=1.0"
            )
        self.assert_ignored(run, "--profile kind=replay")
        records = run.records()
        self.assertEqual([records[row]["due_ns"] for row in (0, 1)], [0, 500_000_000])
        self.assertEqual([records[row]["prompt_tokens"] for row in (0, 1)], [256, 512])

    def test_guidellm_before(self):
        """The same, as it was spelled at first; a rate of 0.5 there halves all times."""
        rows = [
            {"timestamp": 10, "input_length": 256, "output_length": 12},
            {"timestamp": 10.5, "input_length": 512, "output_length": 6},
        ]
        trace = self.write_rows("trace.jsonl", rows)
        with mock("--ttft", "0", "--itl", "0") as server:
            run = self.run_command(
                f"""guidellm benchmark --target "{server.url}" \
                    --data "{trace}" \
                    --data-args '{{"type_": "trace_synthetic"}}' \
                    --profile replay \
                    --rate 0.5"""
            )
        records = run.records()
        self.assertEqual([records[row]["due_ns"] for row in (0, 1)], [0, 250_000_000])


if __name__ == "__main__":
    unittest.main(verbosity=2)

"""Lines of kv-cache-tester, AIPerf's AgentX and MLPerf's agentic example run as they stand."""

import json
import shlex
import shutil
import subprocess
import unittest

from harness import Case, DRIFTLESS, SAMPLE, SECONDS_MAX, Run, mock, read_jsonl

WEKA = SAMPLE.parent / "traces" / "weka"
MLPERF = """name: "qwen-agentic-benchmark"
version: "1.0"
type: "online"
model_params:
  name: "mock-model"
  temperature: 1.0
  top_k: 20
  max_new_tokens: 8192
  chat_template_kwargs:
    preserve_thinking: true
datasets:
  - name: agentic_coding
    type: performance
    path: ./agentic.jsonl
    accuracy_config:
      eval_method: agentic_inference_inline # required benchmark default.
    agentic_inference:
      turn_timeout_s: 14400.0
      enable_salt: true
      inject_tool_delay: true
      num_trajectories_to_issue: 613
      stop_issuing_on_first_user_complete: false
  - name: swe_bench
    type: "accuracy"
    accuracy_config:
      eval_method: "swe_bench_scorer"
      num_repeats: 1
      extras:
        num_instances: 200
settings:
  runtime:
    max_issue_duration_ms: 36000000
  load_pattern:
    type: agentic_inference
    target_concurrency: 2
  client:
    warmup_connections: 0
    max_idle_time: 0.5
endpoint_config:
  endpoints:
    - "{url}"
  api_type: openai
report_dir: logs/agentic
"""

PULL_REQUEST_993 = """python3 /kv-cache-tester/trace_replay_tester.py --api-endpoint {url} \
    --trace-directory {weka} --timing-strategy think-only \
    --start-users 2 --max-users 2 --max-ttft 9999 --recycle \
    --max-delay 60 --max-concurrent-requests 0 --max-new-tokens-per-period 999999999 \
    --advance-min 0.0 --advance-max 0.7 --seed 42 --no-color --ignore-eos \
    --hash-block-mode"""


def conversation(name):
    return [
        {"conversation_id": name, "turn": 1, "role": "user", "system": "s", "content": "a b"},
        {"conversation_id": name, "turn": 2, "role": "assistant", "content": "c d"},
        {"conversation_id": name, "turn": 3, "role": "user", "content": "e", "delay_seconds": 0.02},
        {"conversation_id": name, "turn": 4, "role": "assistant", "content": "f"},
    ]


class AgenticTools(Case):
    def run_line(self, line, folder, *flags):
        done = subprocess.run(
            [DRIFTLESS, "replay", *shlex.split(line), *flags], capture_output=True, text=True,
            timeout=SECONDS_MAX, check=False, cwd=self.scratch,
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return Run(done, self.scratch / folder)

    def play(self, line, folder):
        """First without sending; then for as long as the line says."""
        with mock("--ttft", "2ms", "--itl", "1ms") as server:
            line = line.format(url=server.url, weka=WEKA)
            self.run_line(line, folder, "--dry-run")
            shutil.rmtree(self.scratch / folder)  # the line names it, and would find it taken
            return self.run_line(line, folder, "--calibration", "none")

    def check_users(self, run, users):
        records = read_jsonl(run.folder / "requests.jsonl")
        self.assertLessEqual({one["user"] for one in records}, set(range(users)))
        failed = [one for one in records if one["outcome"] != "ok" and not one["censored"]]
        self.assertEqual(failed, [])
        return records

    def test_pull_request_993(self):
        """benchmarks/single_node/multiturn_fp8_h200_trace_replay.sh, for 2 s."""
        run = self.long_enough(
            lambda seconds: self.play(PULL_REQUEST_993 + f" --test-duration {seconds} --output-dir "
                                      f"R{seconds}/trace_replay", f"R{seconds}/trace_replay"),
            lambda run: max(one["pass"] for one in read_jsonl(run.folder / "requests.jsonl")) > 0, 2)
        self.assertIn("flags: --max-ttft 9999 is ignored: ", run.said)
        self.check_users(run, 2)
        plan = run.json("run.json")["plan"]
        self.assertEqual(plan["users"]["for_ns"] % 2_000_000_000, 0)
        self.assertEqual(plan["users"]["start_by"], "turns")
        self.assertEqual(plan["users"]["on_failure"], "continue")

    def test_kv_cache_tester(self):
        """docs/trace_replay_tester.md, with users that stay as many."""
        run = self.play(
            """python trace_replay_tester.py --api-endpoint {url} --trace-directory {weka} \
               --output-dir results --start-users 2 --max-users 2 --max-ttft 2.0 --test-duration 1 \
               --recycle --slo-ttft 5.0 --slo-decode-tps 30 --temperature 0.7 --time-scale 0.5""",
            "results")
        self.check_users(run, 2)
        self.assertEqual(run.json("run.json")["plan"]["speed"], "2")
        self.assertEqual(run.json("summary.json")["goodput"]["ttft_ms"], 5000)

    def test_agentx_tutorial(self):
        """docs/tutorials/agentx-mvp.md, for 2 s, with a folder for the data set."""
        run = self.play(
            """aiperf profile --scenario inferencex-agentx-mvp --url {url} --model mock-model \
               --max-context-length 128000 --endpoint-type chat \
               --public-dataset semianalysis_cc_traces_weka_with_subagents --concurrency 2 \
               --use-server-token-count --streaming --extra-inputs ignore_eos:true \
               --cache-bust first_turn_prefix --system-idle-gap-cap-seconds 10 \
               --trajectory-start-min-ratio 0.0 --trajectory-start-max-ratio 1.0 \
               --benchmark-duration 2 --random-seed 20260707 --ui simple \
               --input-file {weka} --output-artifact-dir A""", "A")
        self.check_users(run, 2)
        rules = {one["rule"]: one["state"] for one in run.json("summary.json")["rules"]}
        self.assertEqual(rules["duration"], "violated")
        self.assertEqual(rules["answered"], "met")

    def test_inferencex(self):
        """benchmarks/benchmark_lib.sh, build_replay_cmd, for 2 s; the trace comes first."""
        run = self.play(
            """aiperf profile {weka} --scenario inferencex-agentx-mvp --url {url} \
               --endpoint /v1/chat/completions --endpoint-type chat --streaming --model mock-model \
               --tokenizer org/model --concurrency 2 --benchmark-duration 2 --stats-interval 30 \
               --random-seed 42 --failed-request-threshold 0.10 \
               --trajectory-start-min-ratio 0.25 --trajectory-start-max-ratio 0.75 \
               --warmup-requests-per-lane 10 --trace-idle-gap-cap-seconds 300 \
               --warmup-grace-period 1800 --use-server-token-count --no-gpu-telemetry \
               --tokenizer-trust-remote-code --max-context-length 131072 \
               --num-dataset-entries 393 --slice-duration 1.0 \
               --server-metrics http://a:1/metrics http://b:1/metrics \
               --output-artifact-dir D/aiperf_artifacts --unsafe-override \
               --public-dataset semianalysis_cc_traces_weka_062126""", "D/aiperf_artifacts")
        records = self.check_users(run, 2)
        self.assertGreaterEqual(sum(one["phase"] == "warmup" for one in records), 20)

    def test_a_data_set_is_not_downloaded(self):
        done = subprocess.run(
            [DRIFTLESS, "replay", "aiperf", "profile", "--url", "h:1", "--concurrency", "2",
             "--public-dataset", "semianalysis_cc_traces_weka_062126"], capture_output=True,
            text=True, timeout=SECONDS_MAX, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("semianalysisai/cc-traces-weka-062126 --local-dir traces", done.stderr)
        self.assertIn("--input-file traces", done.stderr)

    def test_mlperf(self):
        """examples/10_Agentic_Inference/qwen_agentic_benchmark.yaml."""
        rows = [row for name in ("c1", "c2", "c3") for row in conversation(name)]
        self.write("agentic.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
        with mock("--ttft", "2ms", "--itl", "1ms") as server:
            self.write("qwen.yaml", MLPERF.replace("{url}", server.url))
            line = "inference-endpoint benchmark from-config --config qwen.yaml --mode perf"
            self.run_line(line, "logs/agentic", "--dry-run")
            shutil.rmtree(self.scratch / "logs")
            run = self.run_line(line, "logs/agentic", "--calibration", "none")
        self.assertIn("datasets[0].agentic_inference.enable_salt: true is ignored: ", run.said)
        records = self.check_users(run, 2)
        self.assertEqual(len(records), 6)
        rules = {one["rule"]: one for one in run.json("summary.json")["rules"]}
        self.assertEqual(rules["trajectories"]["state"], "violated")
        self.assertEqual(rules["trajectories"]["evidence"], "3 session trees")

    def test_mlperf_unknown(self):
        self.write("qwen.yaml", MLPERF.replace("  client:", "  speculation: 3\n  client:"))
        done = subprocess.run(
            [DRIFTLESS, "replay", "inference-endpoint", "benchmark", "from-config", "-c",
             "qwen.yaml"], capture_output=True, text=True, timeout=SECONDS_MAX, check=False,
            cwd=self.scratch)
        self.assertEqual(done.returncode, 2)
        self.assertIn("qwen.yaml: line 36: settings.speculation: 3: is not known here", done.stderr)


if __name__ == "__main__":
    unittest.main()

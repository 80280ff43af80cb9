"""Requests that a trace recorded in words reach the server as they were, fixed where they must be."""

import json
import subprocess
import unittest

from harness import Case, DRIFTLESS, SAMPLE, SECONDS_MAX, mock, read_jsonl
from keeper import keeper, kept_bodies

TRACES = SAMPLE.parent / "traces"
TALKS = SAMPLE.parent.parent / "golden" / "traces" / "talks"


class Recorded(Case):
    def bodies(self, trace, *flags):
        """The body that a server got of each row, and the run."""
        with keeper() as server:
            run = self.replay_well(trace, "--url", server.url, "--model", "m", "--no-preflight",
                                   *flags)
        return kept_bodies(server), run

    def test_aiperf_rows(self):
        got, run = self.bodies(TRACES / "aiperf_text.jsonl")
        rows = read_jsonl(TRACES / "aiperf_text.jsonl")
        self.assertEqual(len(got), len(rows))
        self.assertEqual(got[0]["messages"], [{"role": "user", "content": "Hello"}])
        self.assertEqual(got[1]["messages"][0]["content"], 'Hello "you"')
        self.assertEqual(got[1]["nvext"], {"priority": 9})
        for row in (2, 3):
            self.assertEqual(got[row]["messages"], rows[row]["messages"])
            self.assertEqual(got[row]["max_completion_tokens"], rows[row]["output_length"])
        self.assertEqual(got[2]["tools"], rows[2]["tools"])
        self.assertNotIn("tools", got[3])
        self.assertEqual(got[4]["max_tokens"], 2)
        self.assertNotIn("ignore_eos", got[4])
        self.assertNotIn("seed", got[4])
        for body in got.values():
            self.assertEqual(body["model"], "m")
            self.assertIs(body["stream"], True)
        records = run.records()
        self.assertEqual([records[i]["input_length"] for i in range(5)], [None, 3, None, None, None])
        self.assertIsNone(records[4]["output_length"])
        self.assertIsNone(records[0]["expected_cached_tokens"])
        found = run.json("run.json")["request"]["recorded_requests"]
        self.assertEqual((found["rows"], found["unknown_lengths"], found["nulls"]), (5, 1, 1))
        self.assertIn("requests: 5 recorded requests are sent as recorded", run.said)

    def test_logs_of_bodies(self):
        got, run = self.bodies(TRACES / "workload.jsonl")
        self.assertEqual(got[0]["messages"][0], {"role": "system", "content": "be brief"})
        self.assertEqual(got[0]["max_completion_tokens"], 3)
        self.assertEqual(got[1]["messages"][0]["content"], "café\n")
        self.assertNotIn("top_p", got[1])
        self.assertNotIn("ignore_eos", got[2])
        found = run.json("run.json")["request"]["recorded_requests"]
        self.assertEqual((found["roles"], found["models"], found["constrained"]), (1, 1, 1))

    def test_bodies_one_a_line(self):
        """Sent as they are, at a rate or a concurrency; how long answers were, the server says."""
        hi = [{"role": "user", "content": "hi"}]
        body = {"model": "theirs", "messages": hi, "max_tokens": 5, "top_p": 0.5}
        sent = dict(body, model="m", stream=True, stream_options={"include_usage": True})
        files = {
            "bodies": [body, dict(body, tools=[])],
            "batch": [{"custom_id": str(n), "method": "POST", "url": "/v1/chat/completions",
                       "body": body} for n in range(2)],
        }  # fmt: skip
        for name, rows in files.items():
            trace = self.scratch / f"{name}.jsonl"
            trace.write_text("".join(json.dumps(row) + "\n" for row in rows))
            for load in ("--rate", "--concurrency"):
                with self.subTest(trace=name, load=load):
                    got, run = self.bodies(trace, load, "2")
                    self.assertEqual([got[0], got[1]], [sent, sent])
                    self.assertIsNone(run.records()[0]["output_length"])
        trace = self.scratch / "bare.jsonl"
        trace.write_text('{"prompt": "hi"}\n{"prompt": "ho", "output_tokens": 4}\n')
        got, _ = self.bodies(trace, "--concurrency", "1")
        self.assertEqual(got[0]["messages"], hi)
        self.assertEqual(got[1]["max_completion_tokens"], 4)
        with mock() as server:
            run = self.replay_well(self.scratch / "bodies.jsonl", "--rate", "20", "--url",
                                   server.url)
        for record in run.records().values():
            self.assertEqual((record["outcome"], record["output_tokens"]), ("ok", 5))
            self.assertGreater(record["prompt_tokens"], 0)

    def test_calls_of_agents(self):
        got, _ = self.bodies(TRACES / "lmcache.jsonl", "--sessions", "open")
        self.assertEqual(got[0]["messages"], [{"role": "user", "content": "fix it"}])
        call = got[2]["messages"][1]["tool_calls"][0]
        self.assertEqual(call["function"]["arguments"], '{"cmd": "ls"}')
        self.assertIsNone(got[2]["messages"][1]["content"])

    def test_conversations(self):
        """Those with answers: each turn with all that was said before it (golden/traces/make_talks.py)."""
        for name in ("sharegpt", "vllm", "isb1"):
            with self.subTest(trace=name):
                got, run = self.bodies(TALKS / f"{name}.json", "--sessions", "closed")
                records = run.records()
                for row, truth in enumerate(read_jsonl(TALKS / f"{name}.expect.jsonl")):
                    self.assertEqual(got[row]["messages"], json.loads(truth["request"])["messages"])
                    for parent, _ in truth["waits"]:
                        self.assertGreaterEqual(records[row]["fired_ns"], records[parent]["done_ns"])

    def test_new_messages_alone(self):
        """They are converted as what they are, and replayed with the answers of the run."""
        for name in ("live.jsonl", "multi_turn.jsonl", "sglang.json"):
            with self.subTest(trace=name):
                out = self.scratch / f"{name}.canonical.jsonl"
                convert = subprocess.run(
                    [DRIFTLESS, "convert", TALKS / name, "-o", out, "--sessions", "closed"],
                    capture_output=True, text=True, timeout=SECONDS_MAX)  # fmt: skip
                self.assertEqual(convert.returncode, 0, convert.stderr)
                self.assertIs(read_jsonl(out)[0]["deltas"], True)
                for trace in (TALKS / name, out):
                    run = self.replay(trace, "--url", "http://127.0.0.1:9", "--model", "m",
                                      "--no-preflight", "--sessions", "closed", "--dry-run")
                    self.assertEqual(run.code, 0, run.complained)
                    self.assertIn("go on from answers of this run", run.said)

    def test_the_mock_answers(self):
        with mock() as server:
            run = self.replay_well(TRACES / "aiperf_text.jsonl", "--url", server.url)
            self.assertEqual({row["outcome"] for row in run.records().values()}, {"ok"})
            self.assertIsNone(run.records()[0]["prompt_tokens_off"])
            self.assertIsNotNone(run.records()[1]["prompt_tokens_off"])
            wrong = self.replay(
                TRACES / "workload.jsonl", "--url", server.url, "--api", "openai-completions"
            )
        self.assertEqual(wrong.code, 3, wrong.said + wrong.complained)
        self.assertIn("workload.jsonl:1", wrong.complained)
        self.assertIn("--api openai-chat", wrong.complained)

    def test_saved_and_converted(self):
        saved = self.scratch / "saved.jsonl"
        first, _ = self.bodies(TRACES / "aiperf_text.jsonl", "--save-prompts", saved)
        second, _ = self.bodies(saved)
        self.assertEqual(first, second)
        canonical = self.scratch / "canonical.jsonl"
        subprocess.run(
            [DRIFTLESS, "convert", TRACES / "aiperf_text.jsonl", "-o", canonical, "--to",
             "canonical"],
            check=True, capture_output=True, timeout=SECONDS_MAX,
        )
        third, _ = self.bodies(canonical)
        self.assertEqual(first, third)


if __name__ == "__main__":
    unittest.main()

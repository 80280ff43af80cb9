"""Rows at a rate, on a ramp or a shape, and closed loops of rows: what the binary sends, and what it says of it."""

import json
import subprocess
import unittest

from harness import Case, DRIFTLESS, SAMPLE, mock, read_jsonl


def dues(run):
    return [record["due_ns"] for _, record in sorted(run.records().items())]


class Rates(Case):
    def setUp(self):
        super().setUp()
        self.quick = ("--ttft", "2ms", "--itl", "0")

    def played(self, trace, *flags):
        with mock(*self.quick) as server:
            return self.replay_well(trace, "--url", server.url, "--calibration", "none", *flags)

    def test_constant_arrivals_are_exact(self):
        run = self.played(SAMPLE, "--rate", "240", "--arrivals", "constant")
        self.assertEqual(dues(run), [round(row * 1e9 / 240) for row in range(240)])
        summary = run.json("summary.json")
        self.assertEqual(summary["request_rate"], 240)
        self.assertAlmostEqual(summary["run"]["planned_rate"], 240, delta=0.001)
        self.assertAlmostEqual(summary["sent_rate"], 240, delta=2.4)
        self.assertEqual(summary["run"]["arrivals"], "constant")
        told = run.json("run.json")["plan"]["arrivals"]
        self.assertEqual((told["rate"], told["law"], told["of"], told["seed"]), ("240", "constant", "rows", 0))
        self.assertIn("240/s asked (constant)", run.said)

    def test_a_seed_gives_the_same_instants(self):
        flags = ("--rate", "14400/m", "--arrivals", "gamma:0.5", "--limit", "60")
        first = self.played(SAMPLE, *flags, "--seed", "3")
        again = self.replay_well(SAMPLE, "--dry-run", *flags, "--seed", "3")
        other = self.replay_well(SAMPLE, "--dry-run", *flags, "--seed", "4")
        digest = first.json("run.json")["plan"]["schedule_digest"]
        self.assertEqual(again.json("run.json")["plan"]["schedule_digest"], digest)
        self.assertNotEqual(other.json("run.json")["plan"]["schedule_digest"], digest)
        with mock(*self.quick) as server:
            repeated = self.replay_well("--from", str(first.folder), "--url", server.url)
        self.assertEqual(dues(repeated), dues(first))

    def test_ramps_and_shapes(self):
        ramp = self.played(SAMPLE, "--ramp", "0:400:1s", "--arrivals", "constant", "--limit", "100")
        by_hand = [round((2 * row / 400) ** 0.5 * 1e9) for row in range(100)]
        self.assertTrue(all(abs(a - b) <= 1 for a, b in zip(dues(ramp), by_hand)))
        shape = self.write("shape.csv", "0,200\n0.25,200\n0.25,0\n")
        cut = self.played(SAMPLE, "--shape", str(shape), "--arrivals", "constant")
        self.assertEqual(len(cut.records()), 50)
        self.assertIn("the rate ends at 0", cut.said)
        self.assertEqual(cut.json("summary.json")["request_rate"], f"shape {shape}")

    def test_a_killed_run_at_a_rate_goes_on(self):
        """Its rows keep their instants; what report says of it is what the run said."""
        flags = ("--rate", "120", "--seed", "5")
        planned = self.replay_well(SAMPLE, "--dry-run", *flags)
        with mock(*self.quick) as server:
            process, folder = self.start(SAMPLE, "--url", server.url, *flags)
            process.kill()
            process.communicate()
            done = subprocess.run(
                [DRIFTLESS, "replay", "--resume", str(folder)], capture_output=True, text=True, check=False
            )
        self.assertEqual(done.returncode, 0, done.stderr)
        records = {row["row"]: row for row in read_jsonl(folder / "requests.jsonl")}
        self.assertEqual(set(records), set(range(240)))
        told = json.loads((folder / "run.json").read_text())
        self.assertEqual(
            told["plan"]["schedule_digest"], planned.json("run.json")["plan"]["schedule_digest"]
        )
        report = subprocess.run(
            [DRIFTLESS, "report", str(folder), "--json"], capture_output=True, text=True, check=False
        )
        self.assertEqual(report.stdout, (folder / "summary.json").read_text())
        self.assertIsNone(json.loads(report.stdout)["sent_rate"], "of two segments")

    def test_all_at_once(self):
        run = self.played(SAMPLE, "--rate", "inf", "--max-inflight", "16", "--limit", "50")
        self.assertEqual(set(dues(run)), {0})
        self.assertLessEqual(run.json("summary.json")["max_concurrent_requests"], 16)

    def test_rows_without_times(self):
        rows = [{"input_length": 40, "output_length": 2} for _ in range(5)]
        trace = self.write("untimed.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
        flags = ("--map", "in=input_length,out=output_length")
        refused = self.replay(trace, "--dry-run", *flags)
        self.assertIn("--rate R", refused.complained)
        run = self.played(trace, *flags, "--rate", "100", "--arrivals", "constant")
        self.assertEqual(dues(run), [row * 10_000_000 for row in range(5)])
        loop = self.played(trace, *flags, "--concurrency", "2")
        self.assertEqual(len(loop.records()), 5)

    def test_sessions_arrive_at_a_rate(self):
        rows = [
            {"session_id": f"s{n % 3}", "timestamp": 1000 * n, "input_length": 40, "output_length": 2, "hash_ids": [n]}
            for n in range(6)
        ]
        trace = self.write("turns.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
        flags = ("--format", "mooncake", "--sessions", "closed")
        run = self.played(trace, *flags, "--rate", "50", "--arrivals", "constant")
        self.assertEqual(dues(run)[:3], [0, 20_000_000, 40_000_000])
        self.assertEqual(run.json("summary.json")["run"]["arriving"], "trees")
        for row, record in run.records().items():
            if row >= 3:
                self.assertGreaterEqual(record["due_ns"], run.records()[row - 3]["ended_ns"])

    def test_a_closed_loop_of_rows(self):
        run = self.played(SAMPLE, "--concurrency", "4", "--limit", "80")
        records = sorted(run.records().values(), key=lambda record: (record["due_ns"], record["row"]))
        self.assertEqual([record["row"] for record in records], list(range(80)))
        ends = {record["ended_ns"] for record in records}
        for record in records[4:]:
            self.assertIn(record["due_ns"], ends)
        self.assertEqual(run.json("summary.json")["max_concurrent_requests"], 4)
        self.assertEqual({record["user"] for record in records}, set(range(4)))
        report = subprocess.run(
            [DRIFTLESS, "report", str(run.folder), "--json"], capture_output=True, text=True, check=False
        )
        self.assertEqual(report.stdout, (run.folder / "summary.json").read_text())

    def test_the_lines_of_peers(self):
        with mock(*self.quick) as server:
            url = ("--calibration", "none", "--num-prompts", "100")
            host, port = server.url.removeprefix("http://").split(":")
            vllm = self.replay_well(
                "vllm", "bench", "serve", "--backend", "vllm", "--host", host, "--port", port,
                "--dataset-name", "mooncake", "--dataset-path", SAMPLE, "--request-rate", "200", "--burstiness", "1.0",
                "--max-concurrency", "64", "--ignore-eos", "--seed", "1", *url,
            )
            self.assertAlmostEqual(vllm.json("summary.json")["run"]["planned_rate"], 200, delta=0.2)
            guidellm = self.replay_well(
                "guidellm", "benchmark", "--target", server.url, "--data", SAMPLE, "--rate-type", "constant",
                "--rate", "200", *url,
            )
            self.assertAlmostEqual(guidellm.json("summary.json")["run"]["planned_rate"], 200, delta=0.2)
            aiperf = self.replay_well(
                "aiperf", "profile", "--url", server.url, "--endpoint-type", "chat", "--streaming", "--input-file",
                SAMPLE, "--custom-dataset-type", "mooncake_trace", "--request-rate", "200", "--arrival-pattern",
                "constant", "--concurrency", "100", *url,
            )
            self.assertAlmostEqual(aiperf.json("summary.json")["run"]["planned_rate"], 200, delta=0.2)
            sglang = self.replay_well(
                "python3", "-m", "sglang.bench_serving", "--backend", "sglang-oai-chat", "--base-url", server.url,
                "--dataset-name", "mooncake", "--dataset-path", SAMPLE, "--request-rate", "inf", "--max-concurrency",
                "8", *url,
            )
            self.assertEqual(sglang.json("summary.json")["max_concurrent_requests"], 8)


if __name__ == "__main__":
    unittest.main()

"""--fail-if: a run whose figures lie beyond a bound ends with 8, and a report may ask the same later."""

import json
import subprocess
import unittest

from harness import Case, DRIFTLESS, SAMPLE, mock

BEYOND = 8


class Thresholds(Case):
    def play(self, server, *flags):
        return self.replay(SAMPLE, "--url", server.url, "--limit", 10, "--speed", 50, *flags)

    def report(self, folder, *flags):
        return subprocess.run([DRIFTLESS, "report", folder, *flags], capture_output=True, text=True)

    def test_a_figure_beyond_its_bound(self):
        with mock("--ttft", "20ms", "--itl", "1ms") as server:
            run = self.play(server, "--fail-if", "ttft:p50 > 1ms", "--fail-if", "errors > 0 %")
        self.assertEqual(run.code, BEYOND, run.complained)
        first, second = run.json("summary.json")["thresholds"]
        self.assertEqual((first["fail_if"], first["fails"], first["unit"]), ("ttft:p50 > 1ms", True, "ms"))
        self.assertEqual(first["value"], run.json("summary.json")["p50_ttft_ms"])
        self.assertEqual((second["value"], second["fails"]), (0, False))
        self.assertIn("ttft:p50 > 1ms", run.said)
        self.assertEqual(run.json("run.json")["end"]["exit_code"], BEYOND)

        plain = self.report(run.folder, "--json")  # the run's own are told, and judge no report
        self.assertEqual(plain.returncode, 0, plain.stderr)
        self.assertEqual(json.loads(plain.stdout)["thresholds"], [first, second])
        self.assertEqual(self.report(run.folder, "--fail-if", "ttft:p50 > 1h").returncode, 0)
        self.assertEqual(self.report(run.folder, "--fail-if", "completed < 11").returncode, BEYOND)

    def test_within_its_bounds(self):
        with mock("--ttft", "1ms", "--itl", "1ms") as server:
            run = self.play(server, "--fail-if", "ttft:p50 > 1h", "--fail-if", "completed < 10")
        self.assertEqual(run.code, 0, run.complained)
        self.assertEqual([one["fails"] for one in run.json("summary.json")["thresholds"]], [False, False])

    def test_a_server_that_fails(self):
        """No answer at all goes before; some failures are a share of what was sent."""
        with mock("--ttft", "1ms", "--itl", "1ms", "--fault-row", "500:3", "--fault-row", "500:4") as server:
            flags = ("--no-preflight", "--model", "mock-model")
            run = self.play(server, *flags, "--fail-if", "errors > 1 %")
        self.assertEqual(run.code, BEYOND, run.complained)
        summary = run.json("summary.json")
        self.assertEqual(summary["thresholds"][0]["value"], 0.2)

    def test_refused(self):
        run = self.replay(SAMPLE, "--dry-run", "--fail-if", "ttft:p99 > 2")
        self.assertEqual(run.code, 2)
        self.assertIn('--fail-if "ttft:p99 > 2" needs a bound with its unit', run.complained)
        # A rule that no answer can pass is refused before anything is sent.
        run = self.replay(SAMPLE, "--dry-run", "--limit", 10, "--fail-if", "completed < 11")
        self.assertEqual(run.code, 2)
        self.assertIn('--fail-if "completed < 11" holds even if all requests are answered: the plan has 10 rows',
                      run.complained)
        self.assertIn("replay at least 11 rows", run.complained)
        run = self.replay(SAMPLE, "--dry-run", "--limit", 10, "--fail-if", "completed < 10")
        self.assertEqual(run.code, 0, run.complained)
        for rule in ("throughput < 30", "request_goodput <= 30"):  # the sample has 20 rows a second
            run = self.replay(SAMPLE, "--dry-run", "--goodput", "ttft:1s", "--fail-if", rule)
            self.assertEqual(run.code, 2)
            self.assertIn("the plan has 240 rows in 11.750 s; replay at least 353 rows in that time", run.complained)
        run = self.replay(SAMPLE, "--dry-run", "--fail-if", "throughput < 20")
        self.assertEqual(run.code, 0, run.complained)

    def test_rules_for_some_rows(self):
        """A tenant has a rule of its own; the figures are those of its rows alone."""
        rows = [{**row, "tenant": "gold" if i % 2 else "free"} for i, row in enumerate(self.sample_rows()[:20])]
        trace = self.write("tenants.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
        rules = ("tenant=gold completed < 10", "kept.tenant=gold completed <= 9", "phase=drain ttft:p50 > 1s",
                 "phase=profile throughput > 1000", "tenant=free errors > 0 %")
        flags = [word for rule in rules for word in ("--fail-if", rule)]
        with mock("--ttft", "1ms", "--itl", "1ms") as server:
            run = self.replay(trace, "--url", server.url, "--speed", 50, "--keep", "tenant", *flags)
        self.assertEqual(run.code, BEYOND, run.complained)
        found = run.json("summary.json")["thresholds"]
        self.assertEqual([one["fail_if"] for one in found], list(rules))
        self.assertEqual([one["fails"] for one in found], [False, False, True, False, False])
        self.assertEqual([one["value"] for one in found][:3], [10, 10, None])
        self.assertIn('"phase=drain ttft:p50 > 1s": no row has the value "drain" of phase', run.complained)
        self.assertEqual(json.loads(self.report(run.folder, "--json").stdout)["thresholds"], found)
        gold = [json.loads(line) for line in (run.folder / "requests.jsonl").open()]
        ttft = max(record["ttft_ns"] for record in gold if record["kept"]["tenant"] == "gold") / 1e6
        asked = self.report(run.folder, "--json", "--fail-if", "tenant=gold ttft:max > 1ns")
        self.assertAlmostEqual(json.loads(asked.stdout)["thresholds"][0]["value"], ttft, places=6)
        free = self.report(run.folder, "--json", "--fail-if", 'tenant="free" completed < 10', "--fail-if",
                           'tenant="no one" completed < 1', "--goodput", 'tenant="free" ttft:1h')
        self.assertEqual([one["value"] for one in json.loads(free.stdout)["thresholds"]], [10, 0])
        self.assertEqual(json.loads(free.stdout)["goodput"]["groups"][0]["good"], 10)
        for flag, why in (("tenant=gold ttft:p99", "has no comparison"), ('tenant="a b', "has no comparison"), ("input:4=1 errors > 1 %", "no single value"),
                          ("pod=a errors > 1 %", "add --keep pod, too"), ("phase=measured errors > 1 %", "such as drain, profile, warmup"),
                          ("tenant=glod completed < 1", 'no row has the value "glod" of kept.tenant; name one that rows have, such as gold'),
                          ("tenant=gold completed < 11", "the plan has 10 rows of these; replay at least 11 rows"),
                          ("failed >= 21", "holds of no run: the plan has 20 rows"), ("side=a errors > 1 %", 'value "a" of side; name one that rows have, such as -')):
            run = self.replay(trace, "--dry-run", "--keep", "tenant", "--fail-if", flag)
            self.assertEqual(run.code, 2)
            self.assertIn(why, run.complained)


if __name__ == "__main__":
    unittest.main()

"""report --view, --by, --steady, --why, --trees, --certificate, --against, and convert RUN: each over the files of a real run, and held against what the records and the trace say."""

import csv
import json
import os
import re
import subprocess
import unittest

from harness import Case, DRIFTLESS, SAMPLE, mock, read_jsonl

VIEWS = ["vllm", "sglang", "aiperf", "guidellm", "genai-perf", "genai-bench", "inference-perf", "trace-replayer", "loadgen",
         "inferencex", "inferencex-fixed", "llm-d"]


def driftless(*arguments):
    return subprocess.run([DRIFTLESS, *arguments], capture_output=True, text=True)


def report(folder, *flags):
    return driftless("report", folder, *flags)


def reading(folder, *flags):
    done = report(folder, "--json", *flags)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


class Readings(Case):
    def play(self, server, *flags, trace=SAMPLE):
        return self.replay(trace, "--url", server.url, "--speed", 20, *flags)

    def test_views_have_the_records_figures(self):
        with mock("--ttft", "20ms", "--itl", "1ms", "--fault-row", "500:3") as server:
            run = self.play(server, "--no-preflight", "--model", "mock-model", "--limit", 40)
        records = [r for r in read_jsonl(f"{run.folder}/requests.jsonl") if r["outcome"] == "ok"]
        for view in VIEWS:
            done = report(run.folder, "--view", view)
            self.assertEqual(done.returncode, 0, done.stderr)
            if view == "llm-d":  # it has no screen: its file stands alone
                json.loads(done.stdout)
            self.assertIn("driftless's records", done.stderr if view == "llm-d" else done.stdout)
            done = report(run.folder, "--view", view, "--json")
            self.assertIn("driftless's records", done.stderr)
            json.loads(done.stdout)
        vllm = reading(run.folder, "--view", "vllm")
        self.assertEqual(vllm["completed"], len(records))
        self.assertEqual(vllm["failed"], 1)
        ttfts = [(min(r["first_event_ns"], r["first_token_ns"]) - r["fired_ns"]) / 1e6 for r in records]
        self.assertAlmostEqual(vllm["mean_ttft_ms"], sum(ttfts) / len(ttfts), places=6)
        e2es = [(max(r["finish_event_ns"], r["last_token_ns"]) - r["fired_ns"]) / 1e6 for r in records]
        self.assertAlmostEqual(vllm["mean_e2el_ms"], sum(e2es) / len(e2es), places=6)
        aiperf = reading(run.folder, "--view", "aiperf")
        self.assertAlmostEqual(aiperf["time_to_first_token"]["avg"], sum(r["ttft_ns"] for r in records) / len(records) / 1e6, places=6)

    def test_views_of_runs_without_stamps_of_tokens(self):
        """What --chunks none and --no-stream do not keep is null, not another figure."""
        with mock("--ttft", "20ms", "--itl", "1ms") as server:
            bare = self.play(server, "--limit", 20, "--chunks", "none")
            whole = self.play(server, "--limit", 20, "--no-stream")
        vllm = reading(bare.folder, "--view", "vllm")
        self.assertEqual([vllm[key] for key in ("completed", "mean_itl_ms", "max_output_tokens_per_s")], [20, None, None])
        self.assertGreater(vllm["mean_ttft_ms"], 15)
        self.assertNotIn("inter_chunk_latency", reading(bare.folder, "--view", "aiperf"))
        mean_ms = sum(r["e2e_ns"] for r in read_jsonl(f"{whole.folder}/requests.jsonl")) / 20 / 1e6
        vllm = reading(whole.folder, "--view", "vllm")
        self.assertEqual([vllm[key] for key in ("completed", "failed", "mean_ttft_ms", "mean_tpot_ms")], [20, 0, None, None])
        self.assertAlmostEqual(vllm["mean_e2el_ms"], mean_ms, places=6)
        self.assertIsNone(reading(whole.folder, "--goodput", "ttft:200")["request_goodput"])
        said = report(whole.folder, "--goodput", "ttft:200 tpot:50").stdout
        self.assertIn("not known, for 20 rows have no first token (--no-stream)", said)
        sglang = reading(whole.folder, "--view", "sglang")
        self.assertAlmostEqual(sglang["mean_ttft_ms"], mean_ms, places=6)

    def test_files_that_no_verdict_goes_with(self):
        """What a run cannot have written is named first, whatever else its verdict says."""
        with mock() as server:
            run = self.play(server, "--limit", 20)
        whole = {name: (run.folder / name).read_text() for name in ("requests.jsonl", "run.json", "client.jsonl")}

        def edited(name, old, new):
            text = re.sub(old, new, whole[name], count=1)
            self.assertNotEqual(text, whole[name], old)
            for one in whole:
                (run.folder / one).write_text(text if one == name else whole[one])

        for name, old, new, reason in (
            ("requests.jsonl", r'("tainted":null.*"receive_delay_ns":)\d+', r"\g<1>1000000000", "a row that is not marked"),
            ("run.json", r'"rows_fired": ?20', '"rows_fired":19', "run.json says that 19 rows were sent, and 20 records"),
            ("client.jsonl", '"ring_dropped_entries":0', '"ring_dropped_entries":9', "events were lost in the client's"),
        ):
            if re.search(old, whole[name]):  # a busy machine marks rows, and may mark all
                edited(name, old, new)
                reasons = reading(run.folder)["verdict"]["reasons"]
                self.assertTrue(any(one.startswith(reason) for one in reasons), reasons)
        for old, new, key in (('"status":200', '"status":500', "status"), ('"segment":0', '"segment":7', "segment"),
                              (r'"fired_ns":\d+', '"fired_ns":null', "fired_ns"), ('"pass":0', '"pass":3', "pass")):  # fmt: skip
            edited("requests.jsonl", old, new)
            done = report(run.folder)
            self.assertEqual(done.returncode, 3, done.stdout)
            self.assertRegex(done.stderr, rf"requests.jsonl:\d+: {key} ")
        (run.folder / "requests.jsonl").write_text(whole["requests.jsonl"])
        self.assertEqual(report(run.folder).returncode, 0)

    def test_a_column_that_no_record_has(self):
        trace = self.write("gold.jsonl", "".join(
            json.dumps({"timestamp": i * 10, "input_length": 8, "output_length": 2, "hash_ids": [i], "tier": "gold"}) + "\n"
            for i in range(4)))  # fmt: skip
        with mock() as server:
            run = self.play(server, "--keep", "tier", trace=trace)
        self.assertEqual(report(run.folder, "--by", "kept.tier").returncode, 0)
        for flags, said in ((("--by", "kept.tire"), "no record has kept.tire; there are kept.tier"),
                            (("--goodput", "tire=gold ttft:200"), "no record has kept.tire"),
                            (("--by", "header.x-pod"), "replay with --record-header x-pod")):  # fmt: skip
            done = report(run.folder, *flags)
            self.assertEqual(done.returncode, 3, done.stdout)
            self.assertIn(said, done.stderr)

    def test_a_view_stands_alone(self):
        with mock() as server:
            run = self.play(server, "--limit", 5)
        done = report(run.folder, "--view", "vllm", "--by", "url")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--view prints only another tool's figures; remove", done.stderr)
        done = report(run.folder, "--view", "k6")
        self.assertEqual(done.returncode, 2)
        self.assertIn('"k6" is not one of vllm', done.stderr)

    def test_groups_and_their_limits(self):
        trace = os.path.join(self.scratch, "tiers.jsonl")
        with open(trace, "w") as out:
            for i in range(60):
                out.write(json.dumps({"timestamp": 100 * i, "input_length": 100 + 5 * i, "output_length": 2 + i % 5, "hash_ids": [i],
                                      "tier": ["gold", "silver", "bronze"][i % 3]}) + "\n")
        with mock("--ttft", "20ms", "--itl", "1ms") as server:
            run = self.play(server, "--keep", "tier", trace=trace)
        records = read_jsonl(f"{run.folder}/requests.jsonl")
        tables = os.path.join(run.folder, "tables")
        flags = ("--by", "kept.tier", "--by", "input:4", "--goodput", "tier=gold ttft:10000", "--goodput", "tier=silver ttft:1")
        groups = {one["key"]: one["groups"] for one in reading(run.folder, *flags, "--csv", tables)["by"]}
        by_tier = {one["value"]: one for one in groups["kept.tier"]}
        self.assertEqual({name: one["requests"] for name, one in by_tier.items()}, {"gold": 20, "silver": 20, "bronze": 20})
        self.assertEqual([by_tier[name]["good_percent"] for name in ("gold", "silver", "bronze")], [100, 0, None])
        for name, one in by_tier.items():
            rows = [r for r in records if r["kept"]["tier"] == name]
            self.assertEqual(one["output_tokens"], sum(r["output_tokens"] for r in rows))
            self.assertAlmostEqual(one["max_ttft_ms"], max(r["ttft_ns"] for r in rows) / 1e6)
            self.assertAlmostEqual(one["prompt_hit_percent"], 100 * sum(r["cached_tokens"] for r in rows) / sum(r["prompt_tokens"] for r in rows))
            late = [r["ttft_ns"] - max(0, r["ttft_ns"] - r["wire_delay_bound_ns"] - r["request_delay_ns"] - 2000 - r["first_late_ns"]) for r in rows]
            self.assertAlmostEqual(one["client_error"]["mean_ttft_ms"]["below"], sum(late) / len(late) / 1e6)
        self.assertEqual([one["requests"] for one in groups["input:4"]], [15] * 4)
        with open(f"{tables}/by.csv", newline="") as file:
            rows = list(csv.DictReader(file, strict=True))
        self.assertEqual(len(rows), 7)
        self.assertEqual({row["value"]: row["requests"] for row in rows if row["key"] == "kept.tier"}["gold"], "20")
        screen = report(run.folder, *flags).stdout
        page = self.scratch / "by.html"
        markdown = report(run.folder, *flags, "--markdown", "-").stdout
        self.assertEqual(report(run.folder, *flags, "--html", page).returncode, 0)
        gold = next(line for line in screen.splitlines() if line.startswith("gold")).split("  ")
        for cell in filter(None, gold):  # the same cells everywhere
            self.assertIn(cell.strip(), page.read_text())
        self.assertIn("### by kept.tier", markdown)
        self.assertIn("| gold | 20 | 0 |", markdown)
        self.assertIn("by kept.tier", screen)
        self.assertIn("by input:4", screen)
        self.assertEqual(report(run.folder, "--by", "tier").returncode, 2)
        self.hold_limits_of_a_replay(trace, records)

    def hold_limits_of_a_replay(self, trace, records):
        """The same limits given to the run: in its summary, its periods, its screen, and in `report`."""
        limits = ("--goodput", "tier=gold ttft:10000", "--goodput", "tier=silver ttft:1")
        with mock("--ttft", "20ms", "--itl", "1ms") as server:
            run = self.play(server, "--keep", "tier", *limits, trace=trace)
            refused = self.replay(trace, "--url", server.url, "--calibration", "none", *limits)
        self.assertEqual(refused.code, 2)
        self.assertIn("add --keep tier", refused.complained)
        summary = run.json("summary.json")
        self.assertEqual(summary["schema"], 27)
        goodput = summary["goodput"]
        self.assertEqual([(one["key"], one["value"], one["good"], one["decided"]) for one in goodput["groups"]],
                         [("kept.tier", "gold", 20, 20), ("kept.tier", "silver", 0, 20)])
        self.assertEqual((goodput["good"], goodput["decided"], goodput["ttft_ms"]), (20, 40, None))
        self.assertAlmostEqual(summary["request_goodput"], 20 / summary["duration"])
        self.assertIn("kept.tier=gold: 20 of 20 rows (100.00 %) within ttft:10000 ms", run.said)
        self.assertEqual(sum(one["good"] for one in read_jsonl(f"{run.folder}/periods.jsonl")), 20)
        self.assertEqual(reading(run.folder)["goodput"], goodput)
        by_tier = {one["value"]: one["good"] for one in reading(run.folder, "--by", "kept.tier")["by"][0]["groups"]}
        self.assertEqual(by_tier, {"gold": 20, "silver": 0, "bronze": None})
        self.assertEqual(len(records), len(run.records()))
        # A group whose rows all failed here has the run's bars: any of them may have been good.
        failed = {"outcome": "client_failed", "tainted": ["client_failed"], "first_late_ns": None, "last_late_ns": None}
        lines = [r | failed if r["kept"]["tier"] == "silver" else r for r in run.records().values()]
        with open(f"{run.folder}/requests.jsonl", "w") as out:
            out.writelines(json.dumps(line) + "\n" for line in lines)
        groups = {one["value"]: one["client_error"] for one in reading(run.folder, "--by", "kept.tier")["by"][0]["groups"]}
        self.assertEqual(groups["silver"]["good_percent"], {"below": 0, "above": 100})
        self.assertEqual(groups["gold"]["good_percent"], {"below": 0, "above": 0})

    def test_steady_why_trees_and_certificate(self):
        with mock("--ttft", "5ms", "--itl", "1ms") as server:
            run = self.play(server)
            again = self.play(server, "--cache-salt", "random")
        told = reading(run.folder, "--steady", "--why", "--trees", "--certificate")
        records = read_jsonl(f"{run.folder}/requests.jsonl")
        steady = told["steady_state"]
        self.assertTrue(steady["found"])
        inside = [r for r in records if steady["begin_ns"] <= r["fired_ns"] < steady["end_ns"]]
        self.assertEqual(steady["window"]["requests"], len(inside))
        self.assertEqual(steady["whole"]["requests"], len(records))
        length = (steady["end_ns"] - steady["begin_ns"]) / 1e9
        self.assertAlmostEqual(steady["little"]["rate"], len(inside) / length)
        covered = sum(max(min(r["ended_ns"], steady["end_ns"]) - max(r["fired_ns"], steady["begin_ns"]), 0) for r in records) / 1e9
        self.assertAlmostEqual(steady["little"]["in_flight"], covered / length)
        stamps = [r["fired_ns"] + c for r in records for c in r["chunk_ns"]]
        within = sum(steady["begin_ns"] <= s < steady["end_ns"] for s in stamps)
        self.assertAlmostEqual(steady["window"]["output_throughput"] * length, within)
        self.assertEqual(told["why"]["rows"], 240)
        self.assertEqual(told["why"]["slow"], 20)
        tpot = reading(run.folder, "--why", "tpot:10%")["why"]
        slowest = sorted((r["tpot_ns"] for r in records if r["tpot_ns"] is not None), reverse=True)
        slow = max(5, -(-len(slowest) // 10))
        self.assertEqual((tpot["metric"], tpot["rows"], tpot["slow"]), ("tpot", len(slowest), slow))
        self.assertAlmostEqual(tpot["slow_from_ms"], slowest[slow - 1] / 1e6)
        # An answer takes as long as it has tokens: no mark of a few rows says so, the ranks of all do.
        e2e = reading(run.folder, "--why", "e2e")["why"]
        self.assertEqual(e2e["correlations"][0]["with"], "answer tokens")
        self.assertGreater(e2e["correlations"][0]["rank_correlation"], 0.5)
        self.assertEqual(report("--why", run.folder).returncode, 0)
        for wrong in ("itl", "60%", "tpot:", "ttft:p99"):
            refused = report(run.folder, "--why", wrong)
            self.assertEqual(refused.returncode, 2)
            self.assertIn(f'--why "{wrong}" is not what --why takes; use ttft, ttft_due, tpot, e2e', refused.stderr)
        self.assertEqual(told["trees"]["trees"], 0)
        self.assertEqual(told["trees"]["requests_alone"], 240)
        certificate = told["certificate"]
        summary = run.json("summary.json")
        self.assertEqual(certificate["trace_digest"], run.json("run.json")["trace"]["digest"])
        self.assertEqual(certificate["sent"], 240)
        lost = certificate["hits_lost"]
        self.assertEqual(lost["tokens"] - lost["gained_tokens"], sum(r["expected_cached_tokens"] - r["cached_tokens"] for r in records))
        self.assertAlmostEqual(certificate["ceiling_hit_rate"], summary["cache"]["expected_cached_tokens"] / summary["total_input_tokens"])
        other = reading(again.folder, "--certificate")["certificate"]
        self.assertEqual(other["schedule_digest"], certificate["schedule_digest"])
        self.assertNotEqual(other["digest"], certificate["digest"], "other prompts are another work")
        screen = report(run.folder, "--steady", "--why", "--trees", "--certificate").stdout
        for words in ("Steady state", "Little's law", "Why slow", "Trees", "Certificate", "Hits lost"):
            self.assertIn(words, screen)
        self.assertNotIn("steady_state", reading(run.folder))
        self.hold_forgotten_limits(run, records)

    def hold_forgotten_limits(self, run, records):
        """Limits that the run was not given: in every output of a report, and not in the run's own files."""
        stored = run.json("summary.json")
        self.assertIsNone(stored["request_goodput"])
        limits = ("--goodput", "ttft:10000 e2e:600")
        good = sum(r["ttft_ns"] <= 10e9 and r["e2e_ns"] <= 600e6 for r in records)
        judged = reading(run.folder, *limits)
        self.assertEqual((judged["goodput"]["good"], judged["goodput"]["decided"]), (good, 240))
        self.assertAlmostEqual(judged["request_goodput"], good / judged["duration"])
        page, tables = self.scratch / "judged.html", self.scratch / "judged"
        done = report(run.folder, *limits, "--html", page, "--csv", tables, "--fail-if", "good < 100 %")
        self.assertEqual(done.returncode, 0 if good == 240 else 8, done.stderr)
        self.assertIn(f"{good} of 240 rows", done.stdout)
        self.assertIn("request_goodput", (tables / "summary.csv").read_text())
        self.assertIn('"ttft_ms":10000', page.read_text())
        self.assertIn(f"| Goodput | {judged['request_goodput']:.2f}/s: {good} of 240 rows",
                      report(run.folder, *limits, "--markdown", "-").stdout)
        self.assertEqual(report(run.folder, *limits, *limits).returncode, 2)
        self.assertEqual(run.json("summary.json"), stored)

    def test_trees_are_jobs(self):
        trace = self.scratch / "chat.jsonl"
        made = driftless("synth", "chat", "--sessions", "12", "--turns", "uniform:2..4", "--gap", "uniform:1s..3s", "--rate", "inf", "--in", "64",
                         "--out-tokens", "8", "-o", str(trace))
        self.assertEqual(made.returncode, 0, made.stderr)
        with mock("--ttft", "5ms", "--itl", "1ms") as server:
            run = self.replay_well(trace, "--url", server.url, "--sessions", "closed", "--speed", "100")
        trees = {}
        for record in read_jsonl(run.folder / "requests.jsonl"):
            trees.setdefault(record["tree"], []).append(record)
        told = reading(run.folder, "--trees")["trees"]
        self.assertEqual((told["trees"], told["finished"], told["requests_alone"]), (12, 12, 0))
        durations = [max(r["ended_ns"] for r in rows) - min(r["fired_ns"] for r in rows) for rows in trees.values()]
        self.assertAlmostEqual(told["duration_s"]["max"], max(durations) / 1e9)
        self.assertAlmostEqual(told["duration_s"]["sum"], sum(durations) / 1e9)
        answers = [sum(r["ended_ns"] - r["fired_ns"] for r in rows) for rows in trees.values()]  # turns of a chat never overlap
        self.assertAlmostEqual(told["answer_s"]["sum"], sum(answers) / 1e9)
        self.assertAlmostEqual(told["gap_s"]["sum"], (sum(durations) - sum(answers)) / 1e9)
        cached = sum(r["cached_tokens"] for rows in trees.values() for r in rows)
        self.assertAlmostEqual(told["cached_tokens"]["sum"], cached)
        self.assertAlmostEqual(told["jobs_per_hour"], 12 * 3600 / run.json("summary.json")["duration"])

    def test_a_run_is_a_trace(self):
        with mock("--ttft", "5ms", "--itl", "1ms") as server:
            run = self.play(server)
            sent = os.path.join(run.folder, "sent.jsonl")
            done = driftless("convert", run.folder, "-o", sent)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("240 requests at the instants when they were sent", done.stdout)
            header, *rows = read_jsonl(sent)
            records = sorted(read_jsonl(f"{run.folder}/requests.jsonl"), key=lambda r: (r["fired_ns"], r["row"]))
            first = records[0]["fired_ns"]
            with open(SAMPLE) as lines:
                recorded = [json.loads(line) for line in lines]
            self.assertEqual([r["at_ns"] for r in rows], [r["fired_ns"] - first for r in records])
            self.assertEqual([r["output_length"] for r in rows], [r["output_tokens"] for r in records])
            self.assertEqual([r["cached_tokens"] for r in rows], [r["cached_tokens"] for r in records])
            self.assertEqual([len(r["hash_ids"]) for r in rows], [len(recorded[r["row"]]["hash_ids"]) for r in records])
            # Played again it is as faithful to itself as a replay is.
            second = self.replay(sent, "--url", server.url, "--cache-salt", "random")
            self.assertEqual(second.json("summary.json")["completed"], 240)
        fidelity = reading(run.folder, "--against", SAMPLE)["fidelity"]
        self.assertTrue(fidelity["rows_match"])
        self.assertEqual(fidelity["speed"], 20)
        figures = {one["figure"]: one for one in fidelity["figures"]}
        self.assertEqual(figures["requests"]["recorded"], figures["requests"]["replayed"])
        self.assertEqual(figures["input mean"]["recorded"], figures["input mean"]["replayed"])
        self.assertEqual(figures["hit rate, endless cache"]["recorded"], figures["hit rate, endless cache"]["replayed"])
        off = {one["figure"]: one["replayed"] for one in fidelity["by_row"]}
        self.assertEqual(off["outputs of the recorded length"], 240)
        self.assertLess(off["arrival off, p50"], 20)
        distances = {one["figure"]: one["replayed"] for one in fidelity["distances"]}
        self.assertEqual(distances["input"], 0)
        self.assertEqual(distances["output"], 0)
        self.assertIn("against", report(run.folder, "--against", SAMPLE).stdout)
        self.assertEqual(report(run.folder, "--against", "/nowhere.jsonl").returncode, 3)

    def test_a_run_whose_trace_is_gone_has_lengths_alone(self):
        trace = os.path.join(self.scratch, "gone.jsonl")
        with open(SAMPLE) as lines, open(trace, "w") as out:
            out.writelines(lines.readlines()[:20])
        with mock() as server:
            run = self.play(server, trace=trace)
        os.remove(trace)
        sent = os.path.join(run.folder, "sent.jsonl")
        done = driftless("convert", run.folder, "-o", sent)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("the trace of the run can no longer be read", done.stdout)
        rows = read_jsonl(sent)[1:]
        self.assertEqual(len(rows), 20)
        self.assertFalse(any("hash_ids" in row and row["hash_ids"] for row in rows))


if __name__ == "__main__":
    unittest.main()

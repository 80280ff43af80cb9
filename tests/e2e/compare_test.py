"""driftless compare: what differs is found, what is equal is not called better, and runs that did not
play the same work are refused, with the values of both and the remedy."""

import json
import pathlib
import shutil
import subprocess
import tempfile
import time
import unittest
import xml.etree.ElementTree

from find_test import check
from harness import Case, DRIFTLESS, SAMPLE, SECONDS_MAX, mock, read_jsonl

SCHEMA = pathlib.Path(__file__).resolve().parents[2] / "cmd/runs/compare.schema.json"
USAGE, INPUT, BEYOND = 2, 3, 8
QUICK = ("--speed", 40)
# More than what a busy machine adds, which comes in waves: requests then do not depend on each other.
NOISE = ("--jitter", "0.2")


def compare(*arguments):
    return subprocess.run(
        [DRIFTLESS, "compare", *[str(one) for one in arguments]],
        capture_output=True, text=True, timeout=SECONDS_MAX, check=False,
    )  # fmt: skip


def compared(*arguments):
    """The object of --json -, checked against its schema."""
    done = compare(*arguments, "--json", "-")
    assert done.stdout, done.stderr
    found = json.loads(done.stdout)
    check(unittest.TestCase(), found, json.loads(SCHEMA.read_text()), "compare")
    return found


def without_taints(folder, path=None):
    """As a quiet machine would leave it: a busy one taints more than the 1 % at which words end."""
    path = path or folder / "requests.jsonl"
    records = [{**one, "tainted": None} for one in read_jsonl(path)]
    path.write_text("".join(json.dumps(one) + "\n" for one in records))
    return folder


def metric(found, name):
    return next(one for one in found["metrics"] if one["name"] == name)


def median(values):
    return sorted(values)[(len(values) - 1) // 2]  # nearest rank


class Compare(Case):
    """Runs that several tests read are played once: 240 rows, 100 and 400 ms to the first token. A busy
    machine adds some 100 ms to both."""

    @classmethod
    def setUpClass(cls):
        cls.shared = tempfile.TemporaryDirectory(prefix="driftless-e2e-compare-")
        cls.addClassCleanup(cls.shared.cleanup)
        play = cls()
        play.scratch = pathlib.Path(cls.shared.name)
        play.runs = 0
        cls.fast = [play.play("100ms") for _ in range(2)]
        cls.slow = [play.play("400ms") for _ in range(2)]

    def runTest(self):
        """For setUpClass, which plays runs by the means of a case."""

    def play(self, ttft, *flags, trace=SAMPLE, server_flags=()):
        with mock("--ttft", ttft, "--itl", "1ms", *NOISE, *server_flags) as server:
            run = self.replay(trace, "--url", server.url, *(flags or QUICK))
        self.assertEqual(run.code, 0, run.said + run.complained)
        return run.folder if "--output-path" in flags else without_taints(run.folder)

    def test_what_is_slower_is_worse(self):
        """The figures are those of the records, by other arithmetic."""
        found = compared(self.fast[0], self.slow[0])
        self.assertTrue(found["same_work"])
        self.assertEqual(found["differences"], [])
        one = metric(found, "ttft:p50")
        self.assertEqual((one["word"], one["doubt"], one["in_these_runs"]), ("unsure", "one_run", "higher"))
        times = [
            [record["ttft_ns"] for record in read_jsonl(folder / "requests.jsonl")]
            for folder in (self.fast[0], self.slow[0])
        ]
        self.assertEqual((one["a"], one["b"]), (median(times[0]), median(times[1])))
        self.assertAlmostEqual(one["ratio"], one["b"] / one["a"])
        self.assertLess(one["low"], one["ratio"])
        self.assertGreater(one["high"], one["ratio"])
        turned = metric(compared(self.slow[0], self.fast[0]), "ttft:p50")
        self.assertEqual(turned["in_these_runs"], "lower")
        self.assertEqual(found["evidence"], "one_each")
        self.assertEqual({one["word"] for one in found["metrics"]}, {"unsure"})

    def test_a_run_is_no_repeat_of_itself(self):
        """Given twice, under whatever name, it would make chance look smaller than it is."""
        link = self.scratch / "link"
        link.symlink_to(self.fast[0])
        for line in ((self.fast[0], self.fast[0]), (self.fast[0], link),
                     (self.fast[0], self.fast[1], self.fast[0], "--", *self.slow)):  # fmt: skip
            done = compare(*line)
            self.assertEqual(done.returncode, USAGE, done.stdout)
            self.assertIn("is the same run as", done.stderr)

    def test_groups_of_repeats(self):
        """Two repeats a side speak for other runs, too; -- may stand before or behind flags."""
        found = compared("--metric", "ttft:mean", *self.fast, "--", *self.slow)
        self.assertEqual(found["evidence"], "between_runs")
        self.assertEqual([one["name"] for one in found["metrics"]], ["ttft:mean"])
        self.assertEqual((len(found["a"]), len(found["b"])), (2, 2))
        self.assertGreater(metric(found, "ttft:mean")["ratio"], 1.05)
        one = compared("--metric", "ttft:mean", self.fast[0], "--", *self.slow)
        self.assertEqual((one["evidence"], one["metrics"][0]["doubt"]), ("one_each", "one_run"))

    def test_rows_that_the_client_spoiled(self):
        """More than 1 % of a side, and late by more than a twentieth: nothing is said, of these runs neither."""
        folder = self.scratch / "spoiled"
        shutil.copytree(self.slow[0], folder)
        for tainted, part, doubt in ((2, 0.1, "one_run"), (240, 0.01, "one_run"), (3, 0.1, "client")):  # of 240
            records = read_jsonl(self.slow[0] / "requests.jsonl")
            for one in records[:tainted]:
                one["tainted"] = ["sent_late"]
                one["request_delay_ns"] = round(part * one["e2e_ns"])
            (folder / "requests.jsonl").write_text("".join(json.dumps(one) + "\n" for one in records))
            one = metric(compared(self.fast[0], folder), "ttft:p50")
            self.assertEqual((one["doubt"], one["word"]), (doubt, "unsure"))
            self.assertEqual(one["in_these_runs"], "unsure" if doubt == "client" else "higher")
        said = " ".join(compare(self.fast[0], folder).stdout.split())
        self.assertIn("0 of 240 rows of A and 3 of 240 rows of B left late by more than a twentieth", said)
        rule = ("--fail-if", "ttft:p50 > +5 %", "--within-runs")
        self.assertEqual(compare(self.fast[0], folder, *rule).returncode, 0)
        self.assertEqual(compare(self.fast[0], folder, *rule, "--unsure", "fail").returncode, BEYOND)

    def test_rows_without_a_bound(self):
        """Records before schema 17 have none, and count as exact; later ones without it are unknown."""
        other = self.scratch / "unknown"
        shutil.copytree(self.slow[0], other)
        bounds = dict.fromkeys(("first_late_ns", "last_late_ns", "chunk_late_ns"))
        records = [{**one, **bounds} for one in read_jsonl(other / "requests.jsonl")]
        (other / "requests.jsonl").write_text("".join(json.dumps(one) + "\n" for one in records))
        run = json.loads((other / "run.json").read_text())
        for schema, shown in ((17, "unsure"), (16, "higher")):
            (other / "run.json").write_text(json.dumps({**run, "schema": schema}))
            one = metric(compared("--metric", "ttft:p50", self.fast[0], other), "ttft:p50")
            self.assertEqual(one["in_these_runs"], shown)

    def test_a_change_needs_repeats(self):
        """Of one run a side it is refused before a file is read; --within-runs judges these alone."""
        rule = ("--fail-if", "ttft:p50 > +5 %")
        for sides in (("no", "such"), ("no", "--", "such", "run")):
            done = compare(*sides, *rule)
            self.assertEqual((done.returncode, done.stdout), (USAGE, ""))
            self.assertIn("three runs a side (A1 A2 A3 -- B1 B2 B3)", done.stderr)
            self.assertIn("--within-runs", done.stderr)
        sides = (self.fast[0], self.slow[0])
        self.assertEqual(compare(*sides, *rule, "--within-runs").returncode, BEYOND)
        self.assertEqual(compare(*sides, "--fail-if", "ttft:p50 > 10s").returncode, 0)
        self.assertEqual(compare(*self.fast, "--", *self.slow, *rule).returncode, BEYOND)

    def test_the_screen(self):
        """It fits a terminal, and says what the interval speaks for and what has too few values."""
        done = compare(self.fast[0], self.slow[0])
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        lines = done.stdout.splitlines()
        self.assertRegex(lines[0], "^Result +in these runs B is higher in ")
        self.assertLessEqual(len(lines), 40)
        self.assertLessEqual(max(len(line) for line in lines), 100)
        self.assertIn("Other runs may not differ so", " ".join(done.stdout.split()))
        p99 = next(line for line in lines if line.startswith("ttft:p99"))
        self.assertIn("needs 662 values", p99)
        self.assertTrue(p99.endswith("unsure"), p99)

    def test_where_and_rows(self):
        done = compare(self.fast[0], self.slow[0], "--where", "--rows", 3)
        for by in ("ttft by input tokens", "ttft by expected hit", "ttft by due"):
            self.assertIn(by, done.stdout)
        listed = done.stdout[done.stdout.index("Changed most") :].splitlines()[1:]
        self.assertEqual(len(listed), 3)
        records = [
            {record["row"]: record["ttft_ns"] for record in read_jsonl(folder / "requests.jsonl")}
            for folder in (self.fast[0], self.slow[0])
        ]
        ratios = {row: records[1][row] / records[0][row] for row in records[0]}
        most = sorted(ratios, key=lambda row: -max(ratios[row], 1 / ratios[row]))[:3]
        self.assertEqual([int(line.split()[0]) for line in listed], most)
        groups = compared(self.fast[0], self.slow[0])["where"]
        for view in groups:
            self.assertEqual(sum(group["requests"] for group in view["groups"]), 240, view["by"])

    def test_fail_if(self):
        """The interval must lie beyond, not the point; what is unsure passes unless it must not."""
        sides = (self.fast[0], self.slow[0])
        self.assertEqual(compare(*sides, "--fail-if", "ttft:p50 > +5 %", "--within-runs").returncode, BEYOND)
        self.assertEqual(compare(*sides, "--fail-if", "ttft:p50 > +500 %", "--within-runs").returncode, 0)
        own = compared(*sides, "--fail-if", "ttft:p50 > 90ms")["thresholds"][0]
        # A busy machine leaves too few independent requests of one run, or none above its own floor.
        known = own["low"] is not None
        self.assertIn(own["judged"], ("fails",) if known else ("unsure", "fails"), own)
        if known:
            self.assertEqual(compare(*sides, "--fail-if", "ttft:p50 > 10s").returncode, 0)
        # 240 answers without a failure cannot rule out 0.1 %.
        self.assertEqual(compare(*sides, "--fail-if", "errors > 0.1 %").returncode, 0)
        unsure = compare(*sides, "--fail-if", "errors > 0.1 %", "--unsure", "fail", "--json", self.scratch / "no.json")
        self.assertEqual((unsure.returncode, unsure.stdout), (2, ""))
        self.assertRegex(unsure.stderr, r"needs about 27\d\d requests in each run: with 240 even runs without a failure")
        self.assertFalse((self.scratch / "no.json").exists())
        few = compare(*sides, "--fail-if", "ttft:p99 < -50 %", "--within-runs")
        self.assertEqual(few.returncode, 2)
        self.assertIn("needs 662 requests in each run for its percentile, and one has 240", few.stderr)
        self.assertEqual(compare(*sides, "--fail-if", "errors > 50 %", "--unsure", "fail").returncode, 0)
        no_limits = ("--fail-if", "goodput < -90 %", "--within-runs")
        refused = compare(*sides, *no_limits)
        self.assertEqual((refused.returncode, refused.stdout), (USAGE, ""))
        self.assertRegex(refused.stderr, '"goodput < -90 %" counts good requests, but .* has no limits')
        self.assertEqual(compare(*sides, *no_limits, "--goodput", "ttft:60s").returncode, 0)
        faster = compare(*reversed(sides), "--fail-if", "ttft:p50 < -5 %", "--within-runs")
        self.assertEqual(faster.returncode, BEYOND, faster.stdout)

    def test_files(self):
        """Markdown, JUnit and JSON are written beside the screen, never over a file."""
        paths = {name: self.scratch / f"out.{name}" for name in ("json", "markdown", "junit")}
        flags = [word for name, path in paths.items() for word in (f"--{name}", path)]
        bounds = ("--within-runs", "--fail-if", "ttft:p50 > +5 %", "--fail-if", "errors > 0.1 %")
        done = compare(self.fast[0], self.slow[0], *flags, *bounds)
        self.assertEqual(done.returncode, BEYOND, done.stderr)
        self.assertIn("ttft:p50", done.stdout)
        self.assertIn("| ttft:p50 | ms |", paths["markdown"].read_text())
        suite = xml.etree.ElementTree.parse(paths["junit"]).getroot()[0]
        ends = [[child.tag for child in case] for case in suite]
        self.assertEqual(ends, [["system-out"], ["failure", "system-out"], ["skipped", "system-out"]])
        again = compare(self.fast[0], self.slow[0], *flags)
        self.assertEqual(again.returncode, USAGE)
        self.assertIn("--json", again.stderr)

    def refused(self, other, *words, anyway=True):
        """Refused with the values of both; with --anyway compared, and it is said."""
        done = compare(self.fast[0], other)
        self.assertEqual((done.returncode, done.stdout), (INPUT, ""), done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)
        self.assertEqual("--anyway compares" in done.stderr, anyway, done.stderr)
        found = compared(self.fast[0], other)
        self.assertEqual((found["same_work"], found["metrics"]), (False, []))
        again = compare(self.fast[0], other, "--anyway")
        self.assertEqual(again.returncode, 0 if anyway else INPUT, again.stderr)
        self.assertEqual("NOT THE SAME" in again.stdout, anyway, again.stdout)
        return again

    def test_another_trace_is_refused(self):
        rows = SAMPLE.read_text().splitlines()
        trace = self.write("other.jsonl", "\n".join(rows[:-1]) + "\n")
        self.refused(self.play("20ms", trace=trace), "trace: ", "sample (", "other (", "same TRACE",
                     anyway=False)  # fmt: skip

    def test_the_same_trace_under_another_name(self):
        """A trace is told by what stands in it."""
        trace = self.scratch / "renamed.jsonl"
        shutil.copy(SAMPLE, trace)
        found = compared(self.fast[0], self.play("100ms", trace=trace))
        self.assertTrue(found["same_work"], found["differences"])
        self.assertEqual(found["pairs"]["requests"], 240)

    def test_another_seed_is_refused(self):
        other = self.play("20ms", *QUICK, "--seed", 7)
        self.refused(other, "seed: ", " has 0; ", " has 7", "--from A")

    def test_another_salt_is_refused(self):
        other = self.play("20ms", *QUICK, "--cache-salt", "pepper")
        self.refused(other, "cache salt: ", "has none", "has pepper", "only the words differ")
        for flags, ends in (((), ["failure", "system-out"]), (("--anyway",), ["system-out"])):
            path = self.scratch / f"{len(flags)}.xml"
            compare(self.fast[0], other, "--junit", path, *flags)
            (case,) = xml.etree.ElementTree.parse(path).getroot().iter("testcase")
            self.assertEqual([child.tag for child in case], ends)
            self.assertIn("cache salt: A none", case.find("system-out").text)

    def test_repeats_may_have_salts_of_their_own(self):
        """Where each side has the same ones: no repeat finds the prompts of another in the cache."""
        a, b = ([self.play(ttft, *QUICK, "--cache-salt", salt) for salt in ("one", "two")]
                for ttft in ("100ms", "400ms"))  # fmt: skip
        found = compared(*a, "--", *reversed(b))
        self.assertTrue(found["same_work"], found["differences"])
        self.assertEqual(found["pairs"]["requests"], 240)
        done = compare(*a, "--", b[0])
        self.assertEqual(done.returncode, INPUT)
        self.assertIn("cache salt: ", done.stderr)
        self.assertIn("one, two", done.stderr)

    def test_another_window_is_refused(self):
        """With --anyway the rows that both have are paired."""
        other = self.play("20ms", *QUICK, "--limit", 100)
        again = self.refused(other, "window: ", "limit none: 240 rows", "limit 100: 100 rows")
        self.assertIn("100 requests in all runs; 140 only in A", again.stdout)

    def test_another_speed_is_refused(self):
        self.refused(self.play("20ms", "--speed", 80), "speed: ", "has 40;", "has 80")

    def test_another_schedule_is_refused(self):
        other = self.play("20ms", "--rate", 400)
        self.refused(other, "load: ", "rate 400")

    def test_another_output_mode_is_refused(self):
        other = self.play("20ms", *QUICK, "--output", "cap")
        self.refused(other, "output mode: ", "has exact;", "has cap")

    def test_other_prompts_are_refused(self):
        other = self.play("20ms", *QUICK, "--overhead", "3,2")
        self.refused(other, "tokens around prompts: ", "0+0", "3+2")

    def test_a_run_that_was_killed_is_refused(self):
        with mock("--ttft", "20ms", "--itl", "1ms") as server:
            process, folder = self.start(SAMPLE, "--url", server.url, "--speed", 10)
            time.sleep(0.8)  # a flush of the records
            process.kill()
            process.communicate()
        records = len(read_jsonl(folder / "requests.jsonl", whole=False))
        self.assertGreater(records, 10)
        # Its speed is another one, which is told as well.
        again = self.refused(folder, "completeness: ", f"{240 - records} of 240 rows", "--resume")
        self.assertIn(f"{records} requests in all runs", again.stdout)

    def test_a_run_that_goes_on_is_refused(self):
        with mock("--ttft", "20ms", "--itl", "1ms") as server:
            process, folder = self.start(SAMPLE, "--url", server.url, "--speed", 1)
            done = compare(self.fast[0], folder)
            process.kill()
            process.communicate()
        self.assertEqual(done.returncode, INPUT)
        self.assertIn("is still running", done.stderr)
        self.assertIn("wait for its end", done.stderr)

    def test_records_at_another_place(self):
        """--output-path, and a goodput that was not asked for before."""
        path = self.scratch / "records.jsonl"
        other = self.play("400ms", *QUICK, "--output-path", path)
        found = compared(self.fast[0], without_taints(other, path), "--goodput", "ttft:300")
        self.assertTrue(found["same_work"])
        good = metric(found, "good")
        self.assertEqual((good["b"], good["in_these_runs"]), (0, "lower"))
        self.assertEqual(metric(found, "request_goodput")["b"], 0)

    def test_two_sides_of_one_run(self):
        """Dual fire: each row went to both servers, and the run is compared with itself."""
        with mock("--ttft", "100ms", "--itl", "1ms", *NOISE) as a, \
                mock("--ttft", "400ms", "--itl", "1ms", *NOISE) as b:  # fmt: skip
            for _ in range(3):  # rows that a busy machine makes late together count for few
                run = self.replay_well(SAMPLE, "--url", a.url, "--against", b.url, *QUICK)
                rule = ("--fail-if", "ttft:p50 > +5 %")
                found = compared(without_taints(run.folder), *rule)
                if metric(found, "ttft:p50")["word"] != "unsure":
                    break
        self.assertTrue(found["same_work"], found["differences"])
        self.assertEqual(found["pairs"]["requests"], 240)
        self.assertEqual((found["a"][0]["side"], found["b"][0]["side"]), ("a", "b"))
        one = metric(found, "ttft:p50")
        self.assertEqual((found["evidence"], one["word"]), ("paired", "worse"), one)
        self.assertEqual(found["thresholds"][0]["judged"], "fails")
        times = [[record["ttft_ns"] for record in read_jsonl(run.folder / "requests.jsonl")
                  if record["side"] == side] for side in ("a", "b")]  # fmt: skip
        self.assertEqual((one["a"], one["b"]), (median(times[0]), median(times[1])))
        beside = compare(run.folder, self.fast[0])
        self.assertEqual(beside.returncode, USAGE)
        self.assertIn("compare it alone", beside.stderr)

    def test_a_cap_takes_the_words_of_a_dual_run(self):
        """Rows that waited for a place did not leave to both at one instant."""
        with mock("--ttft", "20ms", "--itl", "1ms", *NOISE) as a, \
                mock("--ttft", "60ms", "--itl", "1ms", *NOISE) as b:  # fmt: skip
            for cap in ("--max-inflight", "--connections"):
                run = self.replay_well(SAMPLE, "--url", a.url, "--against", b.url, *QUICK, cap, 8)
                one = metric(compared(without_taints(run.folder)), "e2e:p50")
                self.assertEqual((one["word"], one["doubt"]), ("unsure", "held"), cap)
                self.assertIn("a cap held rows back", " ".join(compare(run.folder).stdout.split()))

    def test_two_sides_of_a_run_that_was_killed(self):
        """What was not played is counted for each side by itself."""
        with mock("--ttft", "20ms", "--itl", "1ms") as a, mock("--ttft", "20ms", "--itl", "1ms") as b:
            process, folder = self.start(SAMPLE, "--url", a.url, "--against", b.url, "--speed", 10)
            time.sleep(0.8)  # a flush of the records
            process.kill()
            process.communicate()
        records = read_jsonl(folder / "requests.jsonl", whole=False)
        self.assertGreater(len(records), 10)
        done = compare(folder)
        self.assertEqual(done.returncode, INPUT, done.stdout)
        for side in ("a", "b"):
            missing = 240 - sum(record["side"] == side for record in records)
            self.assertIn(f"{missing} of 240", done.stderr)

    def test_failures_are_no_times(self):
        """Rows that fail on one side are in no time of either, and are errors."""
        faults = [word for row in range(0, 240, 4) for word in ("--fault-row", f"500:{row}")]
        other = self.play("20ms", *QUICK, "--no-preflight", "--model", "mock-model",
                          server_flags=faults)  # fmt: skip
        found = compared(self.fast[0], other, "--within-runs", "--fail-if", "errors > +5 %")
        self.assertEqual(found["pairs"]["only_a_ok"], 60)
        errors = metric(found, "errors")
        self.assertEqual((errors["a"], errors["b"], errors["in_these_runs"]), (0, 0.25, "higher"))
        self.assertEqual(metric(found, "ttft:p50")["pairs"], 180)
        self.assertEqual(found["thresholds"][0]["judged"], "fails")

    def test_the_last_try_counts(self):
        """Of a request that was sent again; records of the warm-up count for nothing."""
        folder = self.scratch / "again"
        shutil.copytree(self.fast[0], folder)
        text = (folder / "run.json").read_text()
        run_id = json.loads(text)["segments"][0]["run_id"]
        (folder / "run.json").write_text(text.replace(run_id, run_id[::-1]))  # another run
        records = read_jsonl(folder / "requests.jsonl")
        first, warm = dict(records[5]), dict(records[6])
        first.update(outcome="http_5xx", status=500, ttft_ns=None, first_token_ns=None)
        ttft_ns = 7 * records[5]["ttft_ns"]
        records[5].update(attempt=1, ttft_ns=ttft_ns, first_token_ns=records[5]["fired_ns"] + ttft_ns)
        warm.update(phase="warmup", ttft_ns=1, first_token_ns=warm["fired_ns"] + 1)
        lines = [records[5], first, warm, *records[:5], *records[6:]]
        (folder / "requests.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines))
        found = compared(self.fast[0], folder)
        self.assertEqual(found["pairs"]["requests"], 240)
        b = found["b"][0]
        self.assertEqual((b["ok"], b["failed"], b["sent_again"]), (240, 0, 1))
        done = compare(self.fast[0], folder, "--rows", 1)
        listed = done.stdout[done.stdout.index("Changed most") :].splitlines()[1].split()
        self.assertEqual((int(listed[0]), float(listed[-1])), (records[5]["row"], 7))
        self.assertIn("1 sent again (the last try counts)", " ".join(done.stdout.split()))

    def test_a_warm_cache_is_named(self):
        """What the second run of one server gained is its cache's."""
        with mock("--ttft", "2ms", "--itl", "1ms", "--ttft-per-token", "5us") as server:
            first, again = (self.replay(SAMPLE, "--url", server.url, *QUICK).folder for _ in range(2))
        found = compared(first, again)
        self.assertEqual(found["a"][0]["warnings"], [])
        self.assertIn("the prefix cache was warm", found["b"][0]["warnings"][0])
        said = " ".join(compare(first, again).stdout.split())
        self.assertIn(f"Warning {again}: the prefix cache was warm", said)

    def test_users_are_paired_by_row_and_pass(self):
        """Dues are decided at run time there; the rules and the corpus are the work."""
        flags = ("--users", 4, "--seed", 3, "--speed", 500)
        trace = self.scratch / "chat.jsonl"
        subprocess.run([DRIFTLESS, "synth", "chat", "--sessions", "12", "--turns", "3", "-o", trace],
                       capture_output=True, check=True)  # fmt: skip
        a = self.play("10ms", *flags, trace=trace)
        b = self.play("14ms", *flags, trace=trace)
        found = compared(a, b)
        self.assertTrue(found["same_work"], found["differences"])
        self.assertGreater(found["pairs"]["requests"], 30)
        self.assertGreater(found["pairs"]["sessions"], 0)
        self.assertGreater(metric(found, "ttft:p50")["ratio"], 1.2)
        other = self.play("10ms", "--users", 2, "--seed", 3, "--speed", 500, trace=trace)
        done = compare(a, other)
        self.assertEqual(done.returncode, INPUT)
        self.assertIn("4 users", done.stderr)
        self.assertIn("2 users", done.stderr)

    def test_a_goodput_by_a_column_that_no_record_has(self):
        done = compare(self.fast[0], self.slow[0], "--goodput", "tier=gold ttft:200")
        self.assertEqual((done.returncode, done.stdout), (USAGE, ""))
        self.assertIn("--goodput uses the column tier, which no record of this run has", done.stderr)
        self.assertIn("--keep tier", done.stderr)
        twice = compare(self.fast[0], self.slow[0], "--goodput", "ttft:200", "--goodput", "ttft:300")
        self.assertEqual((twice.returncode, twice.stdout), (USAGE, ""))
        self.assertIn("--goodput is given 2 times", twice.stderr)

    def test_the_help_names_every_flag(self):
        done = compare("--help")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for flag in ("--table", "--anyway", "--fail-if", "--html", "--detect"):
            self.assertIn(f"  {flag}", done.stdout)

    def test_bad_arguments(self):
        for arguments, word in (
            ((), "no run is given"),
            (("a", "b", "c"), "put -- between those of A and those of B"),
            (("a", "--"), "name at least one run on each side"),
            (("a", "b", "--metric", "ttft"), "is not a metric that can be compared"),
            (("a", "b", "--margin", "90 %"), "is not a margin"),
            (("a", "b", "--fail-if", "ttft:p99"), "has no comparison"),
            (("a", "b", "--fail-if", "ttft:p99 > 2"), "a time with its unit"),
            (("a", "b", "--fail-if", "output_throughput < 5"), "cannot have an absolute bound"),
            (("a", "b", "--unsure", "maybe"), "not one of pass, fail"),
            (("a", "b", "--json", "-", "--junit", "-"), "only one of them"),
            ((self.scratch, self.fast[0]), "is not the folder of a run"),
            ((self.fast[0],), "--against"),
        ):
            done = compare(*arguments)
            self.assertEqual((done.returncode, done.stdout), (USAGE, ""), arguments)
            self.assertIn(word, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)


if __name__ == "__main__":
    unittest.main()

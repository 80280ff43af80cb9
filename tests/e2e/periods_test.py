"""periods.jsonl, computed anew from requests.jsonl: another implementation of what
proto/run/README.md says. Requests that are open over a boundary are seen on both sides of it."""

import json
import signal
import time
import unittest

from harness import Case, SAMPLE, mock, read_jsonl
from recompute import WHOLE, nearest_rank

WEKA = SAMPLE.parent / "traces" / "weka"
SCHEMA = SAMPLE.parents[2] / "proto/run/period.schema.json"
MS = 1_000_000


def sum_known(records, key):
    values = [record[key] for record in records if record[key] is not None]
    return sum(values) if values else None


def input_of(record):
    """Of an answer that has a token; 0 of others."""
    if record["last_token_ns"] is None:
        return 0
    return record["input_length"] if record["prompt_tokens"] is None else record["prompt_tokens"]


def recompute(line, records, slo_ms=None):
    """What the records say of the stretch of a line."""

    def within(stamp):
        return stamp is not None and line["begin_ns"] <= stamp < line["end_ns"]

    firsts = [one for one in records if within(one["first_token_ns"])]
    ended = [one for one in records if within(one["ended_ns"])]
    ok = [one for one in ended if one["outcome"] == "ok"]
    chunks = sum(within(one["fired_ns"] + at) for one in records if one["fired_ns"] is not None
                 for at in one["chunk_ns"])
    late_output = sum((one["output_tokens"] or 0) - len(one["chunk_ns"]) for one in ended)
    uncounted = any(one["first_token_ns"] and one["tokens_source"] in (None, "chunks")
                    for one in ended)
    late_input = sum(input_of(one) - (one["input_length"] if one["first_token_ns"] else 0)
                     for one in ended)
    good = None
    if slo_ms is not None:
        good = sum(one["ttft_ns"] <= slo_ms * MS for one in ok)
    return {
        "released": sum(within(one["fired_ns"]) for one in records),
        "ended": len(ended),
        "failed": sum(one["outcome"] not in WHOLE for one in ended),
        "censored": sum(one["censored"] for one in ended),
        "in_flight": sum(one["fired_ns"] < line["end_ns"] <= one["ended_ns"] for one in records
                         if one["fired_ns"] is not None),
        "first_tokens": len(firsts),
        "input_tokens": sum(one["input_length"] for one in firsts) + late_input,
        "input_tokens_corrected": late_input,
        "output_tokens": chunks + late_output,
        "output_tokens_corrected": None if uncounted else late_output,
        "good": good,
        "goodput": None if good is None or not ended else good / len(ended),
        "expected_cached_tokens": sum_known(ended, "expected_cached_tokens"),
        "cached_tokens": sum_known(ended, "cached_tokens"),
    }, {
        "ttft": [one["ttft_ns"] for one in firsts],
        "ttft_due": [one["ttft_due_ns"] for one in firsts],
        "tpot": [one["tpot_ns"] for one in ok if one["tpot_ns"] is not None],
    }


class Periods(Case):
    def check(self, lines, records, slo_ms=None):
        keys = json.loads(SCHEMA.read_text())["required"]
        for line in lines:
            self.assertEqual(list(line), keys)
            sums, samples = recompute(line, records, slo_ms)
            self.assertEqual({key: line[key] for key in sums}, sums, line)
            for name, values in samples.items():
                for percent in (50, 90, 99):
                    got = line[f"{name}_p{percent}_ns"]
                    if not values:
                        self.assertIsNone(got)
                        continue
                    wanted = nearest_rank(values, percent)
                    self.assertLessEqual(abs(got - wanted), wanted / 1000 + 1, (name, percent))

    def check_grid(self, lines, period_ns, first=0):
        """One line for each period, without a gap; the last is cut where the run ended."""
        self.assertEqual([one["period"] for one in lines], list(range(first, first + len(lines))))
        for line in lines:
            self.assertEqual(line["begin_ns"], line["period"] * period_ns)
        for line in lines[:-1]:
            self.assertEqual(line["end_ns"], line["begin_ns"] + period_ns)

    def check_sums(self, lines, records):
        def total(key):
            return sum(line[key] or 0 for line in lines)
        self.assertEqual(total("released"), sum(one["fired_ns"] is not None for one in records))
        self.assertEqual(total("ended"), len(records))
        self.assertEqual(total("output_tokens"), sum(one["output_tokens"] or 0 for one in records))
        self.assertEqual(total("input_tokens"), sum(input_of(one) for one in records))
        self.assertEqual(total("cached_tokens"), sum(one["cached_tokens"] or 0 for one in records))

    def play(self, *flags, server=(), trace=SAMPLE, ttft="40ms", itl="15ms"):
        with mock("--ttft", ttft, "--itl", itl, *server) as served:
            run = self.replay_well(trace, "--url", served.url, *flags)
        return run, read_jsonl(run.folder / "periods.jsonl"), read_jsonl(
            run.folder / "requests.jsonl")

    def test_what_came_when(self):
        """Each line says what the stamps of the records say, also with chunks of several tokens,
        of which only the end tells how many they were."""
        for tokens in (1, 3):
            run, lines, records = self.play(
                "--speed", 5, "--period", "300ms", "--goodput", "ttft:45",
                server=("--tokens-per-chunk", tokens))
            self.check_grid(lines, 300 * MS)
            self.check(lines, records, slo_ms=45)
            self.check_sums(lines, records)
            self.assertEqual(lines[-1]["end_ns"], 1 + max(one["ended_ns"] for one in records))
            open_over = [one for one in records
                         if one["first_token_ns"] // (300 * MS) != one["ended_ns"] // (300 * MS)]
            self.assertGreater(len(open_over), 10, "requests that are open over a boundary")
            self.assertTrue(any(line["output_tokens_corrected"] for line in lines) == (tokens > 1))
            summary = run.json("summary.json")
            self.assertEqual(sum(one["ended"] - one["failed"] for one in lines),
                             sum(summary["outcomes"][name] for name in WHOLE))
            self.assertEqual(sum(one["good"] for one in lines), summary["goodput"]["good"])

    def test_failures(self):
        """A request that fails before, or in, its answer."""
        _, lines, records = self.play(
            "--speed", 5, "--period", "500ms", "--no-preflight", "--model", "mock-model",
            server=("--fault", "error:0.2", "--fault", "500:0.2"))
        self.assertGreater(sum(one["failed"] for one in lines), 10)
        self.check(lines, records)
        self.check_sums(lines, records)

    def test_idle_periods(self):
        """A pause of seconds has its lines, which are there before it is over."""
        def pause(seconds):
            trace = self.write("pause.jsonl", "".join(
                json.dumps({"timestamp": at, "input_length": 600, "output_length": 3,
                            "hash_ids": [1, 2]}) + "\n" for at in (0, 1000 * seconds)))
            with mock() as server:
                command, folder = self.command(trace, "--url", server.url, "--period", "500ms")
                process = self.launch(command, folder, until="requests.jsonl")
                zero = json.loads((folder / "run.json").read_text())["clock"]["zero_monotonic_ns"]
                # A line is there 250 ms behind its end, and a flush of 500 ms.
                time.sleep(max(0, seconds - 0.5 - (time.monotonic_ns() - zero) / 1e9))
                early = read_jsonl(folder / "periods.jsonl", whole=False)
                run = self.finish(process, folder)
            self.assertEqual(run.code, 0, run.complained)
            lines = read_jsonl(folder / "periods.jsonl")
            self.assertEqual(lines[:len(early)], early)
            self.check_grid(lines, 500 * MS)
            self.assertEqual([one["released"] for one in lines],
                             [1, *[0] * (2 * seconds - 1), 1])
            self.assertEqual({one["live_trees"] for one in lines}, {None})
            return early

        self.long_enough(pause, lambda early: 3 <= len(early) and
                         not any(one["released"] for one in early[1:]), 3)  # fmt: skip

    def test_live_trees(self):
        """A tree is live from its first fire to its last end, gaps between its turns included;
        with users, and at recorded instants."""
        for flags in (("--users", 2, "--user-ramp", "400ms", "--speed", 5), ("--sessions", "open", "--speed", 1)):
            _, lines, records = self.play("--period", "100ms", *flags, trace=WEKA)
            trees = {}
            for one in records:
                trees.setdefault(one["tree"], []).append(one)
            self.check(lines, records)
            gaps = 0
            for line in lines:
                live = sum(min(one["fired_ns"] for one in tree) < line["end_ns"]
                           <= max(one["ended_ns"] for one in tree) for tree in trees.values())
                self.assertEqual(line["live_trees"], live)
                gaps += line["in_flight"] < live
            self.assertGreater(gaps, 0)
            self.assertEqual(sum(line["users_added"] or 0 for line in lines),
                             2 if "--users" in flags else 0)

    def test_users(self):
        """Users that begin, and how many trees they have."""
        run, lines, records = self.long_enough(
            lambda seconds: self.play(
                "--users", 3, "--user-ramp", "400ms", "--recycle", "--for", f"{seconds}s", "--speed",
                5, "--period", "200ms", trace=WEKA),
            lambda played: max(one["pass"] for one in played[2]) > 1, 1.5)
        for_ns = run.json("run.json")["plan"]["users"]["for_ns"]
        begun = {}
        for one in records:
            begun[one["user"]] = min(begun.get(one["user"], one["fired_ns"]), one["fired_ns"])
        self.check(lines, records)
        self.check_sums(lines, records)
        for line in lines:
            added = sum(line["begin_ns"] <= at < line["end_ns"] for at in begun.values())
            self.assertEqual(line["users_added"], added)
            self.assertLessEqual(line["live_trees"], 3)
            if line["end_ns"] > for_ns:  # no turn comes any more
                self.assertLessEqual(line["live_trees"], line["in_flight"])
        self.assertIn(3, [line["live_trees"] for line in lines])
        self.assertEqual(lines[-1]["live_trees"], 0)

    def test_phases(self):
        """Warm-up until something is sent for the measurement, drain when the time is up."""
        _, lines, records = self.play(
            "--users", 2, "--recycle", "--for", "1s", "--warmup-requests", 2, "--speed", 5,
            "--period", "100ms", trace=WEKA, ttft="120ms", itl="150ms")
        self.check(lines, records)
        self.check_sums(lines, records)
        warm = [one for one in records if one["phase"] == "warmup"]
        self.assertEqual(len(warm), 4)
        measured = min(one["fired_ns"] for one in records if one["phase"] == "profile")
        end = max(one["ended_ns"] for one in warm) + 1000 * MS
        for line in lines:
            phase = "warmup" if line["end_ns"] <= measured else "profile"
            if line["end_ns"] >= end and line["released"] == 0:
                phase = "drain"
            self.assertEqual(line["phase"], phase, line)
        self.assertEqual({line["phase"] for line in lines}, {"warmup", "profile", "drain"})

    def test_none_and_refused(self):
        with mock("--ttft", "1ms", "--itl", "1ms") as server:
            flags = (SAMPLE, "--url", server.url, "--limit", 5, "--speed", 20)
            none = self.replay_well(*flags, "--period", "none")
            default = self.replay_well(*flags)
        self.assertFalse((none.folder / "periods.jsonl").exists())
        self.assertEqual(len(read_jsonl(default.folder / "periods.jsonl")), 1)
        for wrong in ("99ms", "0", "never", "25h"):
            run = self.replay(SAMPLE, "--dry-run", "--period", wrong)
            self.assertEqual(run.code, 2)
            self.assertIn("100ms to 24h", run.complained)
            self.assertEqual(run.complained.count("\n"), 1)

    def test_resumed(self):
        """The lines of a killed run stay; its next segment goes on with their numbers."""
        with mock("--ttft", "5ms", "--itl", "2ms") as server:
            process, folder = self.start(
                SAMPLE, "--url", server.url, "--speed", 3, "--period", "400ms")
            lines = folder / "periods.jsonl"
            while not lines.exists() or len(read_jsonl(lines, whole=False)) < 2:
                self.assertIsNone(process.poll())
                time.sleep(0.05)  # polls a file that another process writes
            process.send_signal(signal.SIGKILL)
            process.communicate()
            before = read_jsonl(folder / "periods.jsonl", whole=False)
            command, _ = self.command("--resume", folder)
            done = self.launch(command[:-2], folder, until=None)
            run = self.finish(done, folder)
        self.assertEqual(run.code, 0, run.complained)
        lines = read_jsonl(folder / "periods.jsonl")
        self.assertEqual(lines[:len(before)], before)
        self.check_grid(before, 400 * MS)
        behind = lines[len(before):]
        self.assertEqual({one["segment"] for one in behind}, {1})
        records = [one for one in read_jsonl(folder / "requests.jsonl")
                   if one["segment"] == 1 and one["outcome"] != "interrupted"]
        self.assertEqual(behind[0]["begin_ns"], min(one["due_ns"] for one in records))
        self.assertGreaterEqual(behind[0]["period"], before[-1]["period"])
        self.check(behind, records)
        self.check_sums(behind, records)


if __name__ == "__main__":
    unittest.main()

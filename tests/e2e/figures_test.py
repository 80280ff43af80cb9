"""The summary says what anybody computes from requests.jsonl: of runs that are plain, faulty,
interrupted, or killed and resumed, with and without their chunks."""

import json
import signal
import subprocess
import time
import unittest

import recompute
from harness import Case, DRIFTLESS, SAMPLE, SECONDS_MAX, mock, read_jsonl
from raw_server import DONE, RawServer, stream, token, usage

FAULTS = ("reset", "truncate", "malformed", "error", "429", "500", "slow")
UNASKED = ("--no-preflight", "--model", "mock-model")


class Figures(Case):
    def check(self, folder, slo=None, bare=False):
        """Of the run's own summary, and of the report on its files. `bare`: it was not resumed and
        its records have no chunks; only the live summary has seen them."""
        records = read_jsonl(folder / "requests.jsonl")
        computed = recompute.summary_of(records, slo)
        self.assertEqual(recompute.differences(self.report(folder), computed), [])
        summary = json.loads((folder / "summary.json").read_text())
        if bare:
            for key in [k for k in computed if "itl" in k or "chunk_gap" in k]:
                del computed[key]
            del computed["max_output_tokens_per_s"]
            for key in ("itl_ms", "chunk_gap_ms"):
                del computed["client_error"][key]
        self.assertEqual(recompute.differences(summary, computed), [])
        tainted = sorted(r["row"] for r in records if r["tainted"])
        self.assertEqual(sorted(summary["verdict"]["tainted_rows"]), tainted[:1000])
        return records, summary

    def report(self, folder):
        done = subprocess.run(
            [DRIFTLESS, "report", str(folder), "--json"], capture_output=True, text=True, check=True
        )
        return json.loads(done.stdout)

    def test_plain(self):
        """With counted chunks of several tokens, and bounds for goodput."""
        slo = {"ttft": 30, "tpot": 12, "e2e": 500}
        pace = ("--ttft", "5ms", "--itl", "2ms", "--tokens-per-chunk", 3, "--jitter", 0.5)
        with mock(*pace) as server:
            run = self.replay_well(
                SAMPLE, "--url", server.url, "--speed", 8, "--continuous-usage", "--goodput",
                " ".join(f"{metric}:{bound}" for metric, bound in slo.items()),
            )  # fmt: skip
        records, summary = self.check(run.folder, slo)
        self.assertEqual({r["outcome"] for r in records}, {"ok"})
        self.assertGreater(summary["count_itl"], 1000)
        self.assertGreater(summary["max_concurrent_requests"], 1)

    def test_chunks_without_counts(self):
        """Several tokens in a chunk that nobody counted: such rows are left out of itl."""
        with mock("--ttft", "5ms", "--itl", "2ms", "--tokens-per-chunk", 3) as server:
            run = self.replay_well(SAMPLE, "--url", server.url, "--speed", 8)
        _, summary = self.check(run.folder)
        self.assertGreater(summary["itl_rows_left_out"], 0)

    def test_faulty(self):
        faults = [part for kind in FAULTS for part in ("--fault", f"{kind}:0.08")]
        with mock("--ttft", "5ms", "--itl", "2ms", "--jitter", 0.3, *faults) as server:
            run = self.replay(SAMPLE, "--url", server.url, "--speed", 8, *UNASKED)
        self.assertEqual(run.code, 0, run.complained)
        records, _ = self.check(run.folder)
        self.assertGreater(len({r["outcome"] for r in records}), 4)

    def test_abandoned_and_resumed(self):
        slo = {"ttft": 60, "e2e": 300}
        folder = self.killed_and_resumed("--abandon", "50%:10ms..200ms", "--goodput",
                                         "ttft:60 e2e:300")  # fmt: skip
        records, summary = self.check(folder, slo)
        for segment in (0, 1):
            given_up = [r for r in records if (r["outcome"], r["segment"]) == ("abandoned", segment)]
            self.assertGreater(len(given_up), 3)
        self.assertGreater(summary["abandoned"]["no_first_token"], 0)

    def test_whole_answers_and_held_rows(self):
        with mock("--ttft", "20ms", "--itl", "1ms") as server:
            run = self.replay_well(
                SAMPLE, "--url", server.url, "--speed", 8, "--no-stream", "--max-inflight", 3
            )
        records, summary = self.check(run.folder)
        self.assertIsNone(summary["max_output_tokens_per_s"], "nobody saw when tokens were made")
        self.assertGreater(summary["drift_left_out"], 0)
        self.assertEqual(summary["max_concurrent_requests"], 3)

    def test_interrupted(self):
        """What was in flight is cancelled, what had not left is not sent."""
        with mock("--ttft", "300ms", "--itl", "5ms") as server:
            process, folder = self.start(
                SAMPLE, "--url", server.url, "--speed", 4, "--grace", "1ms"
            )
            time.sleep(0.8)  # some rows have ended by then
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=SECONDS_MAX)
        records, _ = self.check(folder)
        self.assertLessEqual({"cancelled", "not_sent"}, {r["outcome"] for r in records})

    def killed_and_resumed(self, *flags):
        """A run that was far behind its schedule when it was killed: what the second segment sends
        was due long before the first one died, so that their stamps overlap."""
        with mock("--ttft", "40ms", "--itl", "2ms") as server:
            process, folder = self.start(
                SAMPLE, "--url", server.url, "--speed", 8, "--max-inflight", 8, *flags
            )
            time.sleep(2.5)
            process.kill()
            process.communicate()
            done = subprocess.run(
                [DRIFTLESS, "replay", "--resume", str(folder)],
                capture_output=True, text=True, timeout=SECONDS_MAX, check=False,
            )  # fmt: skip
            self.assertEqual(done.returncode, 0, done.stderr)
        return folder

    def test_killed_and_resumed(self):
        """Rates are per second in which the run was active, by the wall's clock, too."""
        for _ in range(3):  # on a busy machine the kill may come before there is much to repeat
            folder = self.killed_and_resumed()
            records, summary = self.check(folder)
            latest = max(r["ended_ns"] or 0 for r in records) / 1e9
            if summary["duration"] > latest + 0.5:
                break
        spans = []
        segments = json.loads((folder / "run.json").read_text())["segments"]
        for number, segment in enumerate(segments):
            sent = [r for r in records if r["segment"] == number and r["fired_ns"] is not None]
            last = [r["ended_ns"] or r["fired_ns"] for r in sent]
            zero = segment["zero_utc_ns"]
            spans.append((zero + min(r["fired_ns"] for r in sent), zero + max(last)))
        self.assertEqual(len(spans), 2)
        self.assertLess(spans[0][1], spans[1][0], "segments follow one another")
        active = sum(end - begin for begin, end in spans) / 1e9
        self.assertGreaterEqual(summary["duration"], active)
        # Before its first fire a segment waits for nothing but its first due instant.
        self.assertLess(summary["duration"], active + 0.5)
        self.assertGreater(summary["duration"], latest + 0.5, "no overlap: nothing is shown")
        self.assertLess(summary["output_throughput"], summary["max_output_tokens_per_s"])

    def test_without_chunks(self):
        """The live summary has seen the chunks; nobody else can know them."""
        with mock("--ttft", "5ms", "--itl", "2ms") as server:
            run = self.replay_well(
                SAMPLE, "--url", server.url, "--speed", 8, "--chunks", "none", "--limit", 60
            )
        _, summary = self.check(run.folder, bare=True)
        self.assertGreater(summary["count_itl"], 0)
        self.assertIsNone(self.report(run.folder)["mean_itl_ms"])

    def test_without_chunks_and_resumed(self):
        """What only the last segment knows is not told as if it were of the run."""
        folder = self.killed_and_resumed("--chunks", "none")
        _, summary = self.check(folder)
        self.assertIsNone(summary["p99_itl_ms"])
        self.assertIsNone(summary["max_output_tokens_per_s"])
        self.assertEqual(summary["count_itl"], 0)

    def test_pings_are_no_events(self):
        """More comments than events are allowed, alone in a read and beside a token: the answer is
        what it would be without them. One event too many is over the limit, which the error names."""
        asked, pings = 4, 300
        ping = b": ping\n\n"
        answer = [token(), *[token()] * (asked - 1), usage(600, asked), DONE]
        limit = 4 * asked + 64
        answers = {
            0: stream(*[ping] * pings, *answer),
            1: stream(answer[0], *[ping] * pings, *answer[1:]),
            2: stream(*[ping + event for event in answer]),
            3: stream(*[ping] * pings, *[token()] * (limit + 1), DONE),
        }
        rows = [{"timestamp": 20 * row, "input_length": 600, "output_length": asked,
                 "hash_ids": [0, 1]} for row in answers]  # fmt: skip
        trace = self.write("trace.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
        with RawServer(answers) as server:
            run = self.replay_well(trace, "--url", server.url, "--no-preflight", "--model", "m")
        records, _ = self.check(run.folder)
        records = {r["row"]: r for r in records}
        for row in range(3):
            self.assertEqual(records[row]["outcome"], "ok", records[row]["error"])
            self.assertEqual(records[row]["chunk_tokens"], [1] * asked)
        self.assertEqual(records[3]["outcome"], "limit_exceeded")
        self.assertEqual(
            records[3]["error"], f"the answer had more events than its limit of {limit}"
        )
        events = 3 * len(answer) + limit + 1
        self.assertEqual(run.json("summary.json")["client"]["chunks"], events)


if __name__ == "__main__":
    unittest.main(verbosity=2)

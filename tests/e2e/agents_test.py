"""Traces of agents, replayed with closed sessions: the server sees each prompt as it was, and no turn before what
it waits for has ended. What is true of them was written with them (golden/traces/make_traces.py)."""

import subprocess
import sys
import unittest

from harness import Case, SAMPLE, mock, read_jsonl, row_of
from keeper import keeper, kept_bodies

TRACES = SAMPLE.parent.parent / "golden" / "traces"
SPEED = 50
CLOSED = ("--sessions", "closed", "--speed", SPEED)
FILES = {"tensorrt": "tensorrt", "mlperf.jsonl": "mlperf", "semianalysis": "semianalysis",
         "semianalysis_files": "semianalysis"}  # fmt: skip


def expected_of(name):
    return read_jsonl(TRACES / f"{FILES[name]}.expect.jsonl")


class Agents(Case):
    def check(self, name):
        expected = expected_of(name)
        log = self.scratch / f"{name}.log"
        block = 16 if name == "tensorrt" else 64
        with mock("--ttft", "2ms", "--itl", "0", "--cache-block", block, "--log", log) as server:
            run = self.replay_well(TRACES / name, "--url", server.url, *CLOSED)
        seen = {row_of(line["request_id"]): line for line in read_jsonl(log)}
        seen.pop(None, None)
        records = run.records()
        self.assertEqual(sorted(records), list(range(len(expected))))
        self.assertEqual(sorted(seen), list(range(len(expected))))
        for row, truth in enumerate(expected):
            self.assertEqual(records[row]["outcome"], "ok", records[row])
            if "in" in truth:
                self.assertEqual(seen[row]["prompt_tokens"], truth["in"])
                self.assertEqual(seen[row]["output_tokens"], truth["out"])
                self.assertGreaterEqual(seen[row]["cached_tokens"], self.least_cached(truth, expected, block))
            for parent, delay_ns in truth["waits"]:
                ended_ns = max(seen[parent]["token_ns"])
                self.assertGreaterEqual(seen[row]["start_ns"], ended_ns + delay_ns // SPEED, row)
                self.assertGreaterEqual(records[row]["fired_ns"], records[parent]["done_ns"])

    def least_cached(self, truth, expected, block):
        """Whole blocks of what it shares with rows that had ended; a prompt's last token is never cached."""
        ended, look = set(), [parent for parent, _ in truth["waits"]]
        while look:
            row = look.pop()
            if row not in ended:
                ended.add(row)
                look += [parent for parent, _ in expected[row]["waits"]]
        shared = max((truth["shares"][row] for row in ended), default=0)
        return min(shared, truth["in"] - 1) // block * block

    def test_no_turn_before_what_it_waits_for(self):
        for name in FILES:
            with self.subTest(trace=name):
                self.check(name)

    def test_bodies_are_what_was_recorded(self):
        """MLPerf: the messages before a turn, the tools, and what the rows say of the answer."""
        with keeper() as server:
            self.replay_well(TRACES / "mlperf.jsonl", "--url", server.url, "--model", "m",
                             "--no-preflight", *CLOSED)  # fmt: skip
        bodies = kept_bodies(server)
        for row, truth in enumerate(expected_of("mlperf.jsonl")):
            body = bodies[row]
            self.assertEqual(body["messages"], truth["body"]["messages"])
            self.assertEqual(body["tools"], truth["body"]["tools"])
            for key, value in truth["body"]["extra"].items():
                self.assertEqual(body[key], value)
            self.assertNotIn("ignore_eos", body)

    def test_the_traces_are_what_the_generator_writes(self):
        subprocess.run([sys.executable, "-B", TRACES / "make_traces.py", self.scratch], check=True)
        made = sorted(path for path in self.scratch.rglob("*.json*"))
        self.assertGreater(len(made), 6)
        for path in made:
            kept = TRACES / path.relative_to(self.scratch)
            self.assertEqual(path.read_text(), kept.read_text(), kept)


if __name__ == "__main__":
    unittest.main(verbosity=2)

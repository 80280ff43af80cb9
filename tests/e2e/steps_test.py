"""The mock's batch keeps its law: each instant that it logs is that of a model written here.

The model is a second reading of the rule in cmd/mock/README.md, and shares no code with the mock. It
takes from the mock's log when requests came, how long they are and what of them was cached.
"""

import itertools
import json
import random
import statistics
import unittest

from harness import Case, mock, read_jsonl

MS = 1_000_000


class Rule:
    """Flags of the mock, as numbers."""

    def __init__(self, ttft_ns=0, itl_ns=4 * MS, slowdown=0.0, rate=0, budget=0, slots=0):
        self.ttft_ns, self.itl_ns, self.slowdown = ttft_ns, itl_ns, slowdown
        self.rate, self.budget, self.slots = rate, budget, slots

    def flags(self):
        return ("--ttft", f"{self.ttft_ns}ns", "--itl", f"{self.itl_ns}ns", "--batch-slowdown",
                self.slowdown, "--prefill-rate", self.rate, "--step-tokens", self.budget,
                "--slots", self.slots)  # fmt: skip

    def step_ns(self, answers, prompt_tokens):
        prompts = prompt_tokens * 1_000_000_000 // self.rate if self.rate else 0
        return self.itl_ns + int(self.slowdown * (answers - 1) * self.itl_ns) + prompts


class Request:
    def __init__(self, line, rule):
        self.line = line
        self.ready = line["last_byte_ns"] + rule.ttft_ns
        self.prompt = line["prompt_tokens"] - line["cached_tokens"]
        self.left = line["asked_tokens"]
        self.begin = None
        self.due = []  # of each token

    def order(self):
        """First come, first served. Of those read at one instant, the log says who was first."""
        return self.ready, self.line["begin_ns"], self.line["first_due_ns"]


def play(lines, rule):
    """The requests of a log with the instants that the rule gives them."""
    requests = sorted((Request(line, rule) for line in lines), key=Request.order)
    queue, batch, now = list(requests), [], 0
    while queue or batch:
        if not batch:
            now = max(now, queue[0].ready)
        decoding = [one for one in batch if one.prompt == 0]
        room = rule.budget - len(decoding) if rule.budget else 10**18
        parts = []
        for one in (one for one in batch if one.prompt > 0):
            parts.append((one, max(0, min(room, one.prompt))))
            room -= parts[-1][1]
        while queue and queue[0].ready <= now and room > 0:
            if rule.slots and len(batch) >= rule.slots:
                break
            one = queue.pop(0)
            one.begin = now
            batch.append(one)
            parts.append((one, min(room, one.prompt)))
            room -= parts[-1][1]
        working = [part for part in parts if part[1] > 0]
        now += rule.step_ns(len(decoding) + len(working), sum(part for _, part in working))
        for one, part in working:
            one.prompt -= part
        for one in decoding + [one for one, _ in working if one.prompt == 0]:
            one.left -= 1
            one.due.append(now)
        batch = [one for one in batch if one.left > 0]
    return requests


class Steps(Case):
    def setUp(self):
        super().setUp()
        self.steps_late = []  # the least of each run, in steps

    def trace(self, rows):
        text = "".join(
            json.dumps({"timestamp": at, "input_length": prompt, "output_length": tokens}) + "\n"
            for at, prompt, tokens in rows
        )
        return self.write("steps.jsonl", text)

    def lines_of(self, rule, rows, *flags):
        """The mock's log of a replay of the rows, which all went well."""
        log = self.scratch / f"mock{self.runs}.jsonl"
        with mock(*rule.flags(), "--log", log) as server:
            run = self.replay_well(self.trace(rows), "--url", server.url, *flags)
        self.assertEqual({record["outcome"] for record in run.records().values()}, {"ok"})
        lines = read_jsonl(log)
        self.assertGreaterEqual(len(lines), len(rows))
        return lines

    def check_law(self, lines, rule):
        """Begin and first token to the nanosecond; no token is sent before its step has ended."""
        late = []
        for request in play(lines, rule):
            line = request.line
            self.assertEqual(line["begin_ns"], request.begin, line["request_id"])
            self.assertEqual(line["first_due_ns"], request.due[0], line["request_id"])
            due = request.due if line["stream"] else request.due[-1:]
            self.assertEqual(len(line["token_ns"]), len(due))
            late += [sent - end for sent, end in zip(line["token_ns"], due)]
        self.assertGreaterEqual(min(late), 0)
        self.steps_late.append(min(late) / rule.itl_ns)
        print(f"{len(late)} tokens, sent after their step by p50 {statistics.median(late):.0f} ns, "
              f"min {min(late)} ns, max {max(late)} ns")  # fmt: skip

    def check_prompt(self):
        """Some token left before the next step had ended. A mock that gets no CPU sends tokens late,
        but not each of them in each run of a test; one that is slow by rule does."""
        self.assertLess(min(self.steps_late), 1)

    def test_random_arrivals(self):
        draw = random.Random(7)
        rows = sorted((draw.randrange(0, 1500, 50), draw.choice([3, 40, 700, 2500]), draw.randrange(1, 40))
                      for _ in range(60))  # fmt: skip
        rules = (
            Rule(slowdown=0.05),
            Rule(slowdown=0.125, rate=100_000, ttft_ns=3 * MS),
            Rule(slowdown=0.02, rate=150_000, budget=256, slots=9),
            Rule(rate=80_000, budget=48, slots=64),
        )
        for rule in rules:
            with self.subTest(flags=rule.flags()):
                self.check_law(self.lines_of(rule, rows), rule)
        self.check_prompt()

    def test_every_api(self):
        rule = Rule(slowdown=0.25, rate=50_000, budget=64, slots=4, itl_ns=2 * MS)
        rows = [(at, 40 + at, 3 + at % 5) for at in range(0, 60, 5)]
        for api in ("openai-chat", "openai-completions", "openai-responses", "anthropic", "sglang",
                    "tgi", "ollama", "llamacpp", "triton"):  # fmt: skip
            with self.subTest(api=api):
                self.check_law(self.lines_of(rule, rows, "--api", api, "--no-preflight", "--model",
                                             "mock-model"), rule)  # fmt: skip
        self.check_prompt()

    def test_a_burst_saturates_as_a_gpu_does(self):
        """More at once: more tokens a second in all, fewer for each, as the rule has it."""
        rule = Rule(slowdown=0.1, itl_ns=5 * MS)
        gaps = []
        for size in (1, 4, 16):
            lines = self.lines_of(rule, [(0, 10, 30)] * size, "--no-preflight", "--model",
                                  "mock-model")  # fmt: skip
            self.check_law(lines, rule)
            full = [b - a for request in play(lines, rule)
                    for a, b in itertools.pairwise(request.due)]  # fmt: skip
            gaps.append(statistics.median(full))
        self.check_prompt()
        self.assertEqual(gaps, [5 * MS, 6.5 * MS, 12.5 * MS])


if __name__ == "__main__":
    unittest.main(verbosity=2)

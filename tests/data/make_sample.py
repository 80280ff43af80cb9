#!/usr/bin/env python3
"""Writes sample.jsonl: a small trace in the Mooncake format, made by hand and by no one's traffic.

240 rows in 12 s, so that a replay takes as long as a breath; what makes real traces hard is in it
on a small scale: arrivals quantised to ticks (here 250 ms), so that several rows share an instant;
conversations that grow turn by turn and share their prefix with what came before; a few system
prompts under them; partial last blocks with ids of their own. Same output everywhere: the numbers
come from a generator written out below.

    python3 make_sample.py > sample.jsonl
"""

import json
import sys

BLOCK = 512
ROWS = 240
TICK_MS = 250
TICKS = 48
INPUT_MIN, INPUT_MAX = 200, 6000
OUTPUT_MIN, OUTPUT_MAX = 5, 120


class Numbers:
    """splitmix64: the same on every machine and in every version of Python."""

    def __init__(self, seed):
        self.state = seed

    def below(self, bound):
        mask = (1 << 64) - 1
        self.state = (self.state + 0x9E3779B97F4A7C15) & mask
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        return ((z ^ (z >> 31)) * bound) >> 64

    def between(self, low, high):
        return low + self.below(high - low + 1)


class Ids:
    """Block ids numbered by first appearance; an id stands for all that comes before it, too."""

    def __init__(self):
        self.known = {}

    def of(self, text):
        ids = []
        for begin in range(0, len(text), BLOCK):
            prefix = tuple(text[: begin + BLOCK])
            ids.append(self.known.setdefault(prefix, len(self.known)))
        return ids


def main():
    numbers = Numbers(2026)
    ids = Ids()
    next_token = 0

    def fresh(count):
        nonlocal next_token
        next_token += count
        return list(range(next_token - count, next_token))

    systems = [fresh(n) for n in (90, 512, 700, 1300)]
    # Each tick gets at least one row; the rest fall where they may, so that some ticks are crowded.
    ticks = sorted(list(range(TICKS)) + [numbers.below(TICKS) for _ in range(ROWS - TICKS)])
    open_talks = []
    for tick in ticks:
        if open_talks and numbers.below(100) < 55:
            talk = open_talks.pop(numbers.below(len(open_talks)))
        else:
            talk = list(systems[numbers.below(len(systems))])
        # Many short questions, some long pastes.
        low, high = (120, 500) if numbers.below(10) < 7 else (800, 3600)
        talk += fresh(numbers.between(low, high))
        del talk[INPUT_MAX:]
        output = numbers.between(OUTPUT_MIN, OUTPUT_MAX)
        row = {
            "timestamp": tick * TICK_MS,
            "input_length": len(talk),
            "output_length": output,
            "hash_ids": ids.of(talk),
        }
        assert INPUT_MIN <= len(talk) <= INPUT_MAX
        sys.stdout.write(json.dumps(row) + "\n")
        if len(talk) + output + 500 < INPUT_MAX:
            open_talks.append(talk + fresh(output))


if __name__ == "__main__":
    main()

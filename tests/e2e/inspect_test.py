"""What inspect says of a trace is what a slow, plain simulation of the same trace says."""

import collections
import json
import os
import pathlib
import subprocess

import unittest

from harness import Case, DRIFTLESS, SAMPLE, SECONDS_MAX

SHARED = pathlib.Path(__file__).resolve().parents[3] / "shared" / "traces"


def lru_hits(rows, size, group, places):
    """Hits of an LRU cache in which the end of a prompt goes before its beginning; blocks are named
    by their whole prefix, the partial one at the end has a name of its own."""
    cache = collections.OrderedDict()  # the least recently used comes first
    blocks_hit = tokens_hit = references = 0
    for row in rows:
        ids = tuple(row["hash_ids"])
        ends = [end for end in range(1, len(ids) + 1) if end % group == 0 or end == len(ids)]
        names = [hash(ids[:end]) for end in ends]
        hits = 0
        while hits < len(names) and names[hits] in cache:
            hits += 1
        for name in reversed(names):
            if name in cache:
                cache.move_to_end(name)
            else:
                if len(cache) == places:
                    cache.popitem(last=False)
                cache[name] = True
        references += len(names)
        blocks_hit += hits
        tokens_hit += min(hits * group * size, row["input_length"])
    return references, blocks_hit, tokens_hit


def hash_block_summary(requests, size):
    """simulate_hash_block_mode.py, from its description."""
    prior, seen = [], set()
    counts = collections.Counter()
    hit_tokens = in_tokens = set_hit = set_total = 0
    for ids, length in requests:
        shared = max((len(os.path.commonprefix([ids, other])) for other in prior), default=0)
        action = ("first" if not prior else "no_hash_ids" if not ids else "miss" if shared == 0
                  else "hit" if shared == len(ids) else "partial_hit")
        counts[action] += 1
        hit_tokens += min(shared * size, length)
        in_tokens += length
        set_hit += sum(1 for one in ids if one in seen)
        set_total += len(ids)
        seen.update(ids)
        prior.append(ids)
    return {
        **{name: counts[name] for name in ("first", "hit", "partial_hit", "miss", "no_hash_ids")},
        "hash_block_hit_tokens": hit_tokens, "hash_block_input_tokens": in_tokens,
        "hash_block_cache_hit_rate": round(hit_tokens / in_tokens, 4),
        "set_cache_hit_blocks": set_hit, "set_cache_total_blocks": set_total,
        "set_cache_hit_rate": round(set_hit / set_total, 4),
    }


class Inspect(Case):
    def inspect(self, *flags, code=0, stdin=None):
        done = subprocess.run(
            [DRIFTLESS, "inspect", *[str(flag) for flag in flags]], capture_output=True, text=True,
            timeout=SECONDS_MAX, check=False, input=stdin,
        )
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def json(self, *flags):
        return json.loads(self.inspect(*flags, "--json").stdout)

    def hold_against_caches(self, rows, figures, points):
        for capacity in figures["capacity"]:
            group = capacity["block_size"] // 512
            for point in capacity["curve"][::points] + capacity["curve"][-1:]:
                got = capacity["references"], point["hit_blocks"], point["hit_tokens"]
                self.assertEqual(got, lru_hits(rows, 512, group, point["blocks"]), point)
            ideal = capacity["references"], capacity["hit_blocks"], capacity["hit_tokens"]
            self.assertEqual(ideal, lru_hits(rows, 512, group, capacity["references"]))

    def test_sample(self):
        """Every point of the curve at every block size, and the plain sums."""
        rows = self.sample_rows()
        figures = self.json(SAMPLE)
        self.assertEqual(figures["rows"], len(rows))
        self.assertEqual(figures["input_tokens"]["sum"], sum(row["input_length"] for row in rows))
        self.assertEqual(figures["output_tokens"]["max"], max(row["output_length"] for row in rows))
        self.assertEqual(figures["blocks"]["ids"], len({i for row in rows for i in row["hash_ids"]}))
        self.assertEqual([one["block_size"] for one in figures["capacity"]],
                         [512, 1024, 2048, 4096])
        self.hold_against_caches(rows, figures, 1)

    def test_conversation(self):
        """The first 4,000 rows of the real trace, at some points of the curve."""
        trace = SHARED / "mooncake_conversation.jsonl"
        if not trace.exists():
            self.skipTest(f"no real traces in {SHARED}")
        rows = [json.loads(line) for line in trace.read_text().splitlines()[:4000]]
        figures = self.json(trace, "--limit", 4000, "--block-sizes", 1024)
        self.assertEqual(figures["rows_outside"], 12031 - 4000)
        self.hold_against_caches(rows, figures, 5)

    def test_what_replay_expects(self):
        """The hits that a server sees are those that replay expects."""
        plan = self.replay_well(SAMPLE, "--dry-run").json("run.json")["plan"]
        self.assertEqual(self.json(SAMPLE)["blocks"]["expected_cached_tokens"],
                         plan["expected_cached_tokens"])

    def test_hash_block_report(self):
        """Requests of each conversation, sub-agents left out, against the published algorithm."""
        out = self.scratch / "sample.json"
        self.inspect(SAMPLE, "--hash-block-report", out)
        rows = [(row["hash_ids"], row["input_length"]) for row in self.sample_rows()]
        self.assertEqual(json.loads(out.read_text())["summary"], hash_block_summary(rows, 512))
        if not SHARED.exists():
            self.skipTest(f"no real traces in {SHARED}")
        out = self.scratch / "weka.json"
        self.inspect(SHARED / "weka", "--sessions", "open", "--hash-block-report", out)
        report = json.loads(out.read_text())
        files = sorted((SHARED / "weka").glob("*.json"))
        self.assertEqual([one["trace"] for one in report["per_trace"]],
                         [file.name for file in files])
        for file, one in zip(files, report["per_trace"]):
            entries = json.loads(file.read_text())["requests"]
            requests = [(entry["hash_ids"], entry["in"]) for entry in entries
                        if entry["type"] != "subagent"]
            self.assertEqual(one["summary"], hash_block_summary(requests, 64), file.name)
            alone = self.scratch / file.name
            self.inspect(file, "--sessions", "open", "--hash-block-report", alone)
            self.assertEqual([request["req"] for request in json.loads(alone.read_text())["requests"]],
                             [place for place, entry in enumerate(entries)
                              if entry["type"] != "subagent"], file.name)

    def test_screen(self):
        """The screen has the figures of the JSON, from a file and from a pipe."""
        figures = self.json(SAMPLE)
        done = self.inspect(SAMPLE, "--plot")
        own = figures["capacity"][0]
        self.assertIn(f"{100 * own['hit_rate_blocks']:.2f} % of blocks, "
                      f"{100 * own['hit_rate_tokens']:.2f} % of tokens", done.stdout)
        self.assertIn(f"{figures['input_tokens']['sum']:,}", done.stdout)
        piped = self.inspect("-", "--plot", stdin=SAMPLE.read_text())
        self.assertEqual(piped.stdout, done.stdout)
        self.assertTrue(all(len(line) <= 110 for line in done.stdout.splitlines()))

    def test_each_file_by_itself(self):
        """Files of different formats, one of them refused: the others have their lines."""
        self.write("a.csv", "TIMESTAMP,ContextTokens,GeneratedTokens\n"
                            "2023-11-16 18:17:03.9799600,4808,10\n")
        self.write("b.jsonl", '{"timestamp": 0, "input_length": 9, "output_length": 1, '
                              '"hash_ids": [1, 2]}\n')
        self.write("c.jsonl", SAMPLE.read_text())
        done = self.inspect(self.scratch, "--each", code=3)
        lines = done.stdout.splitlines()
        self.assertEqual(len(lines), 4)
        self.assertRegex(lines[1], r"a\.csv +azure +1 ")
        self.assertRegex(lines[2], r"b\.jsonl +refused: 1 error$")
        self.assertRegex(lines[3], r"c\.jsonl +mooncake +240 ")
        self.assertIn("b.jsonl:1: ", done.stderr)
        done = self.inspect(self.scratch, "--each", "--json", code=3)
        objects = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([one["errors"]["count"] for one in objects], [0, 1, 0])
        self.assertEqual([one["name"] for one in objects], ["a", "b", "c"])
        self.assertEqual(objects[2]["capacity"], self.json(SAMPLE)["capacity"])

    def test_refusals(self):
        """All errors at once, three of a kind by name; nothing on the screen but them."""
        bad = self.write("bad.jsonl", '{"timestamp": 0, "input_length": 9, "output_length": 1, '
                                      '"hash_ids": [1, 2]}\n' * 150)
        done = self.inspect(bad, code=3)
        self.assertEqual(done.stdout, "")
        lines = done.stderr.splitlines()
        self.assertIn("bad.jsonl:3: ", lines[2])
        self.assertEqual(lines[3:], ["driftless: and 147 more like that"])
        errors = json.loads(self.inspect(bad, "--json", code=3).stdout)["errors"]
        self.assertEqual((errors["count"], len(errors["list"])), (150, 100))
        self.assertEqual(errors["list"][41]["line"], 42)
        self.assertIn("multiples of 512",
                      self.inspect(SAMPLE, "--block-sizes", 256, code=2).stderr)
        self.assertIn("no row of the trace is selected",
                      self.inspect(SAMPLE, "--start", "10h", code=3).stderr)
        out = self.write("there.json", "mine")
        self.assertIn("already exists",
                      self.inspect(SAMPLE, "--hash-block-report", out, code=2).stderr)
        self.assertEqual(pathlib.Path(out).read_text(), "mine")

    def test_a_full_output(self):
        """What could not be printed was not given."""
        for command in (["inspect", SAMPLE], ["inspect", SAMPLE, "--json"],
                        ["inspect", SAMPLE, "--each"], ["--version"], ["--help"]):  # fmt: skip
            with open("/dev/full", "w") as full:
                done = subprocess.run([DRIFTLESS, *map(str, command)], stdout=full,
                                      stderr=subprocess.PIPE, text=True, timeout=SECONDS_MAX,
                                      check=False)  # fmt: skip
            self.assertEqual(done.returncode, 7, command)
            self.assertIn("driftless: standard output could not be written", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)

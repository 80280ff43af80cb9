"""Logs of a service become a trace that replays, shares what the prompts shared, and says nothing."""

import gzip
import json
import os
import subprocess

import unittest

from harness import Case, DRIFTLESS, SAMPLE, SECONDS_MAX, TOKENIZERS

LOGS = SAMPLE.parent / "logs"
EXPORTS = ("litellm.jsonl", "langfuse.jsonl", "otel.json", "otlp.jsonl", "plain.jsonl")


class Logs(Case):
    def setUp(self):
        super().setUp()
        self.salt = self.write("salt", "0123456789abcdef0123456789abcdef\n")

    def convert(self, log, *flags, code=0, salt=None, stdin=None):
        out = self.scratch / f"trace{self.runs}.jsonl"
        self.runs += 1
        chosen = ("--salt-file", self.salt) if salt is None else ("--salt-env", "SALT")
        command = [DRIFTLESS, "convert", log, "--from-logs", "--tokenizer",
                   TOKENIZERS / "llama3.json", *chosen, "-o", out, *flags]
        done = subprocess.run(
            [str(part) for part in command], capture_output=True, text=stdin is None,
            timeout=SECONDS_MAX, check=False, input=stdin, env={**os.environ, "SALT": salt or ""})
        self.assertEqual(done.returncode, code, f"{done.stdout}{done.stderr}")
        self.said, self.complained = done.stdout, done.stderr
        return out

    def rows(self, trace):
        return [json.loads(line) for line in trace.read_text().splitlines()][1:]

    def test_every_export_is_the_same_trace(self):
        traces = [self.rows(self.convert(LOGS / name)) for name in EXPORTS]
        self.assertEqual([row["at_ns"] for row in traces[0]], [0, 10**9, 4_125_000_000])
        self.assertEqual([row["input_length"] for row in traces[0]], [262, 267, 397])
        self.assertEqual([row["session"] for row in traces[0]], ["0", "1", "0"])
        for other in traces[1:]:
            self.assertEqual(other, traces[0])

    def test_it_replays(self):
        """inspect and replay take what was written; the second turn hits what the first had."""
        trace = self.convert(LOGS / "plain.jsonl")
        rows = self.rows(trace)
        plan = self.replay_well(trace, "--dry-run").json("run.json")["plan"]
        common = [sum(a == b for a, b in zip(rows[0]["hash_ids"], row["hash_ids"]))
                  for row in rows[1:]]
        self.assertGreater(common[0], 8)
        self.assertGreater(common[1], common[0])
        self.assertEqual(plan["expected_cached_tokens"], 16 * sum(common))
        done = subprocess.run([DRIFTLESS, "inspect", str(trace), "--json"], capture_output=True,
                              text=True, timeout=SECONDS_MAX, check=True)
        self.assertIn('"canonical"', done.stdout)
        mooncake = self.convert(LOGS / "plain.jsonl", "--to", "mooncake", "--block-size", 512)
        run = self.replay(mooncake, "--dry-run")  # two prompts that share nothing may be parts of one
        self.assertIn("--format mooncake if they are whole prompts", run.complained)
        self.replay_well(mooncake, "--dry-run", "--format", "mooncake")

    def test_nothing_of_the_text_leaves(self):
        for name in EXPORTS:
            out = self.convert(LOGS / name).read_text() + self.said + self.complained
            for word in ("QUILLFEATHER", "Marzipan", "harbour", "conversation-", "clerk", "desk",
                         "call-1", "trace-1", "req-1", "obs-1", "1767607200", "2026-01-05"):
                self.assertNotIn(word, out.replace(str(LOGS), ""), name)

    def test_the_salt_matters(self):
        def ids(trace):
            return {one for row in self.rows(trace) for one in row["hash_ids"]}
        one = ids(self.convert(LOGS / "plain.jsonl"))
        self.assertEqual(one, ids(self.convert(LOGS / "litellm.jsonl",
                                               salt=self.salt.read_text().strip())))
        self.assertFalse(one & ids(self.convert(LOGS / "plain.jsonl", salt="another salt, as long")))
        self.assertNotIn("another salt", self.said + self.complained)

    def test_compressed_and_piped(self):
        plain = self.rows(self.convert(LOGS / "plain.jsonl"))
        packed = self.scratch / "plain.jsonl.gz"
        packed.write_bytes(gzip.compress((LOGS / "plain.jsonl").read_bytes()))
        self.assertEqual(self.rows(self.convert(packed)), plain)
        self.assertEqual(self.rows(self.convert("-", stdin=packed.read_bytes())), plain)

    def test_keep_and_crop(self):
        rows = self.rows(self.convert(LOGS / "litellm.jsonl", "--keep", "model_group", "--start",
                                      "1s", "--speed", 2))
        self.assertEqual([row["model_group"] for row in rows], ["harbour", "harbour"])
        self.assertEqual(rows[1]["at_ns"] - rows[0]["at_ns"], 3_125_000_000 // 2)
        for name, there in (("litellm.jsonl", "metadata.user_api_key_alias,"), ("otlp.jsonl", "gen_ai.request.model,")):
            self.convert(LOGS / name, "--keep", "tenant", code=3)
            self.assertIn('"tenant" is not a column of any call; columns are ', self.complained)
            self.assertIn(f" {there}", self.complained)

    def test_replay_says_how_to_get_there(self):
        for name in EXPORTS[:4]:
            run = self.replay(LOGS / name, "--dry-run")
            self.assertEqual(run.code, 3, name)
            self.assertIn("driftless convert FILE --from-logs", run.complained)

    def test_refusals(self):
        bare = self.write("bare.jsonl", '{"call_type":"completion","startTime":1767607200,'
                                        '"prompt_tokens":40,"completion_tokens":2}\n')
        self.convert(bare, code=3)
        self.assertIn("bare.jsonl:1: messages hold no text", self.complained)
        self.assertEqual(self.rows(self.convert(bare, "--lenient"))[0]["input_length"], 40)
        self.convert(self.write("odd.jsonl", '{"secret words":1}\n'), code=3)
        self.assertIn("keys of a known log", self.complained)
        self.assertNotIn("secret words", self.complained)
        self.convert(LOGS / "plain.jsonl", code=2, salt="short")
        self.assertIn("holds 5 bytes; a salt has 16", self.complained)
        self.convert(LOGS / "plain.jsonl", "--log-format", "csv", code=2)
        self.assertIn("is not one of otel, langfuse, litellm, plain", self.complained)


if __name__ == "__main__":
    unittest.main(verbosity=2)

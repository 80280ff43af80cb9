"""Prompts are exact against servers whose tokenizer, template and endpoints are not what one hopes."""

import unittest

from harness import Case, SAMPLE, TOKENIZERS, mock, read_jsonl, row_of
from preflight_test import Odd
from raw_server import DONE, stream, usage

PREFLIGHT = 4
FAST = ("--ttft", "1ms", "--itl", "0")
SOME = ("--limit", 40, "--speed", 50)
COMPLETIONS = ("--api", "openai-completions")
TEXT = b'data: {"id":"r","choices":[{"index":0,"text":"a"}]}\n\n'
BLIND = ("--no-preflight", "--model", "mock-model")


class Exact(Case):
    def run_exact(self, server, *flags):
        """A run in which the server counts every prompt as the trace does."""
        run = self.replay_well(SAMPLE, "--url", server.url, *SOME, *flags)
        self.assertEqual(
            {record["prompt_tokens_off"] for record in run.records().values()}, {0}, run.said
        )
        prompts = run.json("summary.json")["prompts"]
        self.assertEqual(prompts["likely_cause"], "none")
        self.assertIsNone(prompts["explanation"])
        return run

    def run_off(self, server, *flags):
        run = self.replay_well(SAMPLE, "--url", server.url, *SOME, *flags)
        prompts = run.json("summary.json")["prompts"]
        offs = [record["prompt_tokens_off"] for record in run.records().values()]
        self.assertEqual(prompts["off"], sum(off != 0 for off in offs))
        self.assertEqual(abs(prompts["largest_off"]), max(abs(off) for off in offs))
        self.assertIn(prompts["explanation"], " ".join(run.said.split()))  # the screen breaks lines
        return prompts

    def refuse(self, server, *flags):
        run = self.replay(SAMPLE, "--url", server.url, *SOME, *flags)
        self.assertEqual(run.code, PREFLIGHT, run.said + run.complained)
        self.assertFalse(run.folder.exists(), "a refused run left a folder")
        errors = [line for line in run.complained.splitlines() if ": warning: " not in line]
        self.assertEqual(len(errors), 1, run.complained)
        return run.complained


class Words(Exact):
    def test_bad_words_are_dropped(self):
        """With and without an endpoint that tokenises; the same words each time."""
        digests = set()
        for form in ("vllm", "sglang", "llama.cpp", "none"):
            with mock(*FAST, "--overhead", "5,3", "--split-words", "the,abs,yet", "--tokenize",
                      form) as server:
                run = self.run_exact(server)
            facts = run.json("run.json")
            self.assertEqual(facts["preflight"]["words_dropped"], ["abs", "the", "yet"])
            self.assertEqual(facts["preflight"]["words_verdict"], "reduced")
            self.assertEqual(facts["preflight"]["words_counted"], 515)
            self.assertEqual(facts["request"]["words"], 256)
            digests.add(facts["request"]["words_digest"])
            self.assertRegex(run.said, r"3 words are not one token each on this server .*abs, the, yet")
        self.assertEqual(len(digests), 1)

    def test_words_that_may_not_open_a_prompt(self):
        """One token behind another word, two as the first of a prompt: such words open none."""
        digests = set()
        bad = "add,adj,adv,aff,age,ago,ain,air,ale,ali"
        for form in ("vllm", "none"):
            with mock(*FAST, "--overhead", "5,3", "--split-words", "yet", "--split-first", bad,
                      "--tokenize", form) as server:
                run = self.run_exact(server)
            facts = run.json("run.json")
            self.assertEqual(facts["preflight"]["first_words"], 64)
            self.assertEqual(facts["preflight"]["first_words_asked"], 74)
            self.assertIn("prompts begin with 64 words", run.said)
            digests.add(facts["request"]["words_digest"])
        self.assertEqual(len(digests), 1)

    def test_tokenizer_of_another_model(self):
        """The words of one vocabulary at a server with another: every prompt is exact."""
        shared = SAMPLE.parents[3] / "shared" / "tokenizers"
        names = [shared / "qwen2.json", shared / "phi3.json"]
        if not all(name.exists() for name in names):
            self.skipTest("the real tokenizers are not there")
        for ours, theirs in (names, names[::-1]):
            with mock(*FAST, "--overhead", "5,3", "--tokenizer", theirs) as server:
                run = self.run_exact(server, "--tokenizer", ours)
                self.assertEqual(run.json("run.json")["preflight"]["first_words"], 64)
                own = self.run_exact(server, "--tokenizer", theirs)
                self.assertEqual(own.json("run.json")["preflight"]["first_words_asked"], 0)

    def test_too_few_words_are_left(self):
        """A table of 256 has none to spare: the word, the number and the remedies are named."""
        with mock(*FAST, "--split-words", "the") as server:
            said = self.refuse(server, "--tokenizer", TOKENIZERS / "qwen.json")
        for part in ("257 tokens for 256 words", "(not the)", "fewer than the 256", "--prompt ids"):
            self.assertIn(part, said)

    def test_no_word_is_good(self):
        """Ids where the API takes them, else one line that says what was found and what to do."""
        with mock(*FAST, "--split-words", "*") as server:
            run = self.run_exact(server, *COMPLETIONS)
            self.assertEqual(run.json("run.json")["request"]["prompt"], "ids")
            said = self.refuse(server)
        for part in ("tokens for", "of one token each", "--tokenizer", "--prompt ids"):
            self.assertIn(part, said)

    def test_tokenizers_that_know_other_words(self):
        """True tokenizers with small vocabularies, and one whose tokens reach beyond a word."""
        for name, says in (("gpt2", "which leaves fewer"), ("superword", "merge with their neighbours")):
            with mock(*FAST, "--tokenizer", TOKENIZERS / f"{name}.json") as server:
                self.assertIn(says, self.refuse(server))
                self.run_exact(server, *COMPLETIONS)

    def test_ids_are_those_of_the_tokenizer(self):
        """Where a vocabulary is at hand no id is guessed, asked for or fallen back to."""
        tokenizer = ("--tokenizer", TOKENIZERS / "qwen.json")
        digests = set()
        with mock(*FAST, "--split-words", "*") as server:
            for flags in (tokenizer, (*tokenizer, "--prompt", "ids")):
                request = self.run_exact(server, *COMPLETIONS, *flags).json("run.json")["request"]
                self.assertEqual(request["prompt"], "ids")
                digests.add(request["words_digest"])
            guessed = self.run_exact(server, *COMPLETIONS).json("run.json")["request"]
        self.assertEqual(len(digests), 1)
        self.assertNotIn(guessed["words_digest"], digests)

    def test_server_that_varies(self):
        for form in ("vllm", "none"):
            with mock(*FAST, "--overhead-varies", "2", "--tokenize", form) as server:
                self.assertIn("from request to request", self.refuse(server, *COMPLETIONS))


class Causes(Exact):
    def test_overhead(self):
        """A wrong overhead is off by a constant, and the flag that is named fixes it."""
        with mock(*FAST, "--overhead", "5,3") as server:
            prompts = self.run_off(server, *BLIND)
            self.assertEqual(prompts["likely_cause"], "overhead")
            self.assertEqual(prompts["largest_off"], 8)
            self.assertIn("--overhead 8,0 ", prompts["explanation"])
            self.run_exact(server, *BLIND, "--overhead", "8,0")
            prompts = self.run_off(server, *BLIND, "--overhead", "7,3")
            self.assertIn("--overhead 5,3 ", prompts["explanation"])
            self.run_exact(server, *BLIND, "--overhead", "5,3")

    def test_words(self):
        bad = "abs,acc,ace,act,add,aid,aim,bay"
        with mock(*FAST, "--split-words", bad) as server:
            prompts = self.run_off(server, *BLIND)
        self.assertEqual(prompts["likely_cause"], "words")
        self.assertIn("--tokenizer", prompts["explanation"])

    def test_mixed(self):
        with mock(*FAST, "--overhead-varies", "6") as server:
            prompts = self.run_off(server, *BLIND)
        self.assertEqual(prompts["likely_cause"], "mixed")

    def test_short_rows(self):
        with mock(*FAST, "--overhead", "300,200") as server:
            run = self.replay_well(SAMPLE, "--url", server.url, *SOME)
        prompts = run.json("summary.json")["prompts"]
        short = [r for r in run.records().values() if r["input_length"] <= 500]
        self.assertGreater(len(short), 0)
        self.assertEqual(prompts["likely_cause"], "short_rows")
        self.assertLessEqual(prompts["off"], len(short))

    def test_usage_is_believed(self):
        """An endpoint of another opinion than usage is not used, and that is said."""
        with mock(*FAST, "--overhead", "5,3", "--tokenize-overhead", "4,2") as server:
            run = self.run_exact(server)
        self.assertIn("usage counts an overhead of 8 tokens, /tokenize one of 6", run.said)
        self.assertEqual(run.json("run.json")["request"]["overhead_post"], 3)


class Verified(Exact):
    def test_every_form(self):
        """Counts and shared prefixes by the server's own tokens, wherever it can be asked."""
        for form in ("vllm", "sglang", "llama.cpp"):
            with mock(*FAST, "--overhead", "5,3", "--tokenize", form) as server:
                run = self.run_exact(server, "--verify-prompts", 12)
            verified = run.json("run.json")["verified"]
            self.assertGreater(verified["pairs"], 5)
            self.assertEqual(verified["rows"], 12 + verified["pairs"])
            self.assertEqual(verified["shared_tokens"] % 512, 0)
            self.assertIn(f"verify: {verified['rows']} prompts are exactly as long", run.said)

    def test_true_tokenizers(self):
        """The server truly encodes: byte-level models, and one that glues blanks to words."""
        for name in ("qwen", "llama2", "o200k", "gemma"):
            path = TOKENIZERS / f"{name}.json"
            with mock(*FAST, "--overhead", "5,3", "--tokenizer", path) as server:
                run = self.run_exact(server, "--tokenizer", path, "--verify-prompts", 20)
            self.assertGreater(run.json("run.json")["verified"]["shared_tokens"], 0)

    def test_completions(self):
        with mock(*FAST, "--overhead", "1,0") as server:
            self.run_exact(server, *COMPLETIONS, "--verify-prompts", 5)

    def test_ids(self):
        """Usage counts them in requests of their own, which leave nothing in the cache for rows."""
        ids = (*COMPLETIONS, "--prompt", "ids")
        log = self.scratch / "truth.jsonl"
        with mock(*FAST, "--tokenize", "none", "--log", log) as server:
            run = self.run_exact(server, *ids, "--verify-prompts", 12)
        verified = run.json("run.json")["verified"]
        self.assertGreater(verified["pairs"], 5)
        self.assertEqual(verified["rows"], 12 + verified["pairs"])
        self.assertIn(f"verify: {verified['rows']} prompts are exactly as long", run.said)
        cache = run.json("summary.json")["cache"]
        self.assertEqual(cache["cached_tokens"], cache["expected_cached_tokens"])
        longest = max(line["prompt_tokens"] for line in read_jsonl(log)
                      if row_of(line["request_id"]) is None)  # fmt: skip
        self.assertGreater(longest, 4096, "whole rows were sent")
        with mock(*FAST, "--no-usage") as server:
            self.assertIn("no usage", self.refuse(server, *ids, "--verify-prompts", 5))

    def test_ids_that_are_changed(self):
        """A server that counts a token more in front of long prompts, as a wrong gateway may."""
        def completions(ask):
            counted = len(ask.words) + (1 if len(ask.words) > 4200 else 0)
            return stream(TEXT, usage(counted, 1), DONE)

        with Odd({"/v1/completions": completions}) as server:
            said = self.refuse(server, *COMPLETIONS, "--prompt", "ids", "--verify-prompts", 200)
        self.assertRegex(said, r"row \d+: the server counts \d+ tokens .* the trace says \d+; check "
                               r"whether a proxy changes prompts")

    def test_no_endpoint(self):
        with mock(*FAST, "--tokenize", "none") as server:
            self.assertIn("no known tokenize endpoint", self.refuse(server, "--verify-prompts", 5))

    def test_a_wrong_count(self):
        """Pairs that two orders of all words do not show: the sample's prompts do."""
        words = "acc ace act add adj adv aff age ago ain air ale ali all alt amb and ang ann ans"
        pairs = ",".join(f"abs+{word}" for word in words.split())
        with mock(*FAST, "--join-words", pairs) as server:
            said = self.refuse(server, "--verify-prompts", 200)
        self.assertRegex(said, r"row \d+: the server counts \d+ tokens .* the trace says \d+")
        self.assertIn("--tokenizer", said)

    def test_contradictions(self):
        for flags in (("--dry-run",), (*BLIND, "--url", "h")):
            run = self.replay(SAMPLE, "--url", "h", "--verify-prompts", 5, *flags)
            self.assertEqual(run.code, 2)
            self.assertIn("--verify-prompts", run.complained)


if __name__ == "__main__":
    unittest.main(verbosity=2)

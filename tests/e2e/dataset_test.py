"""Prompts cut from a dataset's text: exact in every row, as a server that tokenises counts."""

import gzip
import json
import random
import unittest

from harness import Case, TOKENIZERS, mock, read_jsonl

USAGE, INPUT, PREFLIGHT = 2, 3, 4
FAST = ("--ttft", "1ms", "--itl", "0")
WORDS = (
    "the of and to in is you that it for on are as with they at be this have from one had by "
    "words but not what all were we when your can said there use an each which she do how their"
).split()


def prose(rng, words):
    text = " ".join(rng.choice(WORDS) for _ in range(words))
    return text.capitalize() + rng.choice([".", "?", ' "so".', " 3.14,\n\n- naïve 字"])


def azure(lengths):
    lines = ["TIMESTAMP,ContextTokens,GeneratedTokens"]
    for i, length in enumerate(lengths):
        lines.append(f"2023-11-16 18:17:{i // 10:02}.{i % 10}000000,{length},3")
    return "\n".join(lines) + "\n"


class Dataset(Case):
    def setUp(self):
        super().setUp()
        rng = random.Random(4)
        turns = [("human", "gpt")[i % 2] for i in range(6)]
        self.talks = [
            {"id": i, "conversations": [{"from": who, "value": prose(rng, 30)} for who in turns]}
            for i in range(60)
        ]
        self.dataset = self.write("sharegpt.json", json.dumps(self.talks, ensure_ascii=False))
        lengths = [1, 2, 7, 8, 9, 10, 20, 30] + [rng.randrange(1, 1500) for _ in range(60)]
        self.trace = self.write("trace.csv", azure(lengths))

    def flags(self, name="llama3", dataset=None):
        return ("--tokenizer", TOKENIZERS / f"{name}.json", "--dataset", dataset or self.dataset)

    def refuse(self, code, trace, *flags):
        run = self.replay(trace, "--dry-run", *flags)
        self.assertEqual(run.code, code, run.said + run.complained)
        self.assertEqual(run.complained.count("\n"), 1, run.complained)
        return run.complained

    def test_exact(self):
        """A server with a template and a true tokenizer counts every prompt as the trace does."""
        for name in ("llama3", "llama2", "deepseek"):
            tokenizer = TOKENIZERS / f"{name}.json"
            with mock(*FAST, "--tokenizer", tokenizer, "--overhead", "4,3") as server:
                run = self.replay_well(self.trace, "--url", server.url, "--verify-prompts", 40,
                                       *self.flags(name))
            offs = {r["prompt_tokens_off"] for r in run.records().values() if r["input_length"] > 7}
            self.assertEqual(offs, {0}, run.said)
            facts = run.json("run.json")
            self.assertEqual(facts["verified"]["rows"], 40)
            dataset = facts["request"]["dataset"]
            self.assertEqual(dataset["file"], str(self.dataset))
            self.assertEqual(dataset["column"], "conversations")
            self.assertEqual(dataset["texts"], 360)
            self.assertTrue(dataset["whole"])
            self.assertGreater(dataset["tokens"], 10_000)
            self.assertEqual(dataset["sections_left_out"], 0)
            self.assertRegex(run.said, r"dataset: 360 texts of .*sharegpt.json \(conversations\)")

    def test_text_is_the_dataset(self):
        """Long prompts say what the dataset says, however it is stored."""
        texts = [turn["value"] for talk in self.talks for turn in talk["conversations"]]
        lines = self.write("text.jsonl", "".join(json.dumps({"text": t}) + "\n" for t in texts))
        packed = self.scratch / "text.jsonl.gz"
        packed.write_bytes(gzip.compress(lines.read_bytes()))
        digests = set()
        for dataset in (self.dataset, lines, packed):
            run = self.replay_well(self.trace, "--dry-run", *self.flags(dataset=dataset))
            facts = run.json("run.json")
            digests.add((facts["plan"]["prompts_digest"], facts["request"]["dataset"]["digest"]))
        self.assertEqual(len(digests), 1)
        saved = self.scratch / "saved.jsonl"
        self.replay_well(self.trace, "--dry-run", "--save-prompts", saved, *self.flags())
        whole = "\n\n".join(texts)
        for row in read_jsonl(saved)[1:]:
            prompt = row["body"]["messages"][0]["content"]
            if row["input_length"] > 100:
                middle = prompt[len(prompt) // 2 - 30 : len(prompt) // 2 + 30]
                self.assertIn(middle, whole + " " + whole)

    def test_seeds(self):
        digests = {}
        for seed in (0, 0, 1):
            run = self.replay_well(self.trace, "--dry-run", "--seed", seed, *self.flags())
            digests.setdefault(seed, set()).add(run.json("run.json")["plan"]["prompts_digest"])
        self.assertEqual([len(digests[0]), len(digests[0] | digests[1])], [1, 2])

    def test_same_everywhere(self):
        """What one seed gives, by digests that another machine gave."""
        texts = [" ".join(WORDS[i * j % 40] for j in range(1, 30)) + ".\n" for i in range(40)]
        dataset = self.write("fixed.jsonl", "".join(json.dumps({"text": t}) + "\n" for t in texts))
        trace = self.write("fixed.csv", azure([i * 37 % 500 + 1 for i in range(50)]))
        run = self.replay_well(trace, "--dry-run", "--seed", 5, *self.flags(dataset=dataset))
        facts = run.json("run.json")
        self.assertEqual(facts["request"]["dataset"]["digest"], "c83cc068f1de964b")
        self.assertEqual(facts["plan"]["prompts_digest"], "490655a0cb11897d")

    def test_another_tokenizer_than_the_servers(self):
        """Shown by the words, or where those are the same by the text itself; never sent."""
        for flags in (("--split-words", "the"), ("--tokenizer", TOKENIZERS / "llama2.json")):
            with mock(*FAST, *flags) as server:
                run = self.replay(self.trace, "--url", server.url, *self.flags("llama3"))
            self.assertEqual(run.code, PREFLIGHT, run.said + run.complained)
            self.assertIn("this model's own --tokenizer", run.complained)
            self.assertFalse(run.folder.exists())

    def test_another_tokenizer_than_a_further_servers(self):
        """Each server is asked, and the text is for all of them."""
        with mock(*FAST) as one, mock(*FAST, "--split-words", "the") as two:
            run = self.replay(self.trace, "--url", one.url, "--url", two.url, *self.flags("llama3"))
        self.assertEqual(run.code, PREFLIGHT, run.said + run.complained)
        self.assertIn(two.url, run.complained)
        self.assertIn("(not the)", run.complained)
        self.assertFalse(run.folder.exists())

    def test_refusals(self):
        """Each names the file, the place and the remedy."""
        long_row = self.write("long.csv", azure([10, 100_000]))
        said = self.refuse(INPUT, long_row, *self.flags())
        self.assertRegex(said, r"line 3 asks for 100000 tokens, but the dataset has \d+; use")
        blocks = self.write("blocks.jsonl", '{"timestamp":0,"input_length":600,"output_length":2,'
                            '"hash_ids":[1,2]}\n')
        self.assertIn("has block ids", self.refuse(INPUT, blocks, *self.flags()))
        text = self.dataset.read_text()
        cases = {
            "cut.json": (text[:-20], "ends inside its array, in element 60"),
            "other.jsonl": ('{"a": "x"}\n', "no column with a usual name (it has a)"),
            "empty.jsonl": ('{"text": " "}\n{"text": ""}\n', "has no text to cut prompts from"),
            "bad.jsonl": ('{"text": "x"}\n{"text": x}\n', "line 2 is not JSON"),
            "plain.txt": ("some words\n", "is not a dataset"),
        }
        for name, (content, says) in cases.items():
            said = self.refuse(INPUT, self.trace, *self.flags(dataset=self.write(name, content)))
            self.assertIn(says, said)
            self.assertIn(name, said)
        binary = self.scratch / "latin.jsonl"
        binary.write_bytes(b'{"text": "caf\xe9"}\n')
        self.assertIn("is not UTF-8", self.refuse(INPUT, self.trace, *self.flags(dataset=binary)))
        missing = self.refuse(INPUT, self.trace, *self.flags(dataset="nowhere.json"))
        self.assertIn("nowhere.json: does not exist", missing)
        self.assertIn("needs the model's --tokenizer",
                      self.refuse(USAGE, self.trace, "--dataset", self.dataset))


if __name__ == "__main__":
    unittest.main()

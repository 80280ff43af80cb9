#!/usr/bin/env python3
"""Makes what tests/unit/engine/prompt/digest_test.cpp holds our tokenizer against.

The expectations come from the reference implementations, Hugging Face's `tokenizers` (0.23.3) and,
for rank files, OpenAI's `tiktoken` (0.14.0). make_golden.py runs first; its tokenizers are read.

    pip install tokenizers==0.23.3 tiktoken==0.14.0 && ./make_digests.py [FOLDER..]

FOLDERs hold tokenizers that are not ours to ship (what fetch_real fetched; qwen2 and phi3).
Writes, beside this file:
  glm.json, bloom.json, letters.json, kimi_ranks/   further small tokenizers
  fragments.json   what random strings are put together of
  digests.json     per tokenizer: CRC-32 of what each 20 strings of strings.json, each 20 strings
                   around its added tokens, and each 250 of 20,000 random strings become
"""

import base64
import json
import pathlib
import random
import struct
import sys
import zlib

import tiktoken
from tokenizers import AddedToken, Regex, Tokenizer, pre_tokenizers

import make_golden as golden

HERE = pathlib.Path(__file__).parent
MASK = (1 << 64) - 1
GAMMA = 0x9E3779B97F4A7C15
BLOOM = r" ?[^(\s|[.,!?…。，、।۔،])]+"


def mix64(z):
    z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ z >> 27) * 0x94D049BB133111EB) & MASK
    return z ^ z >> 31


def fuzzed(fragments):
    for i in range(20000):
        state = i * 1000003
        def following():
            nonlocal state
            state = (state + GAMMA) & MASK
            return mix64(state)
        count = 1 + following() % 16
        yield "".join(fragments[following() % len(fragments)] for _ in range(count))


def make_fragments():
    rng = random.Random(3)
    points = golden.code_points(rng)
    fragments = [" ", "  ", "\n", "\n\n", "\t", "\r\n", "   ", "\u00a0", "▁", "'s", "'LL"] * 12
    fragments += sorted({w for s in golden.SENTENCES for w in s.split(" ") if w})
    fragments += sorted({c for s in golden.SENTENCES for c in s})
    fragments += [next(points) for _ in range(600)]
    return fragments + golden.SYLLABLES * 3


class Reference:
    """tokenizers: a tokenizer.json."""

    def __init__(self, text):
        self.tokenizer = Tokenizer.from_str(text)
        added = self.tokenizer.get_added_tokens_decoder()
        self.added = [added[i].content for i in sorted(added)]

    def encode(self, text):
        return self.tokenizer.encode(text, add_special_tokens=True).ids

    def decode(self, ids):
        return self.tokenizer.decode(ids, skip_special_tokens=False)


class Ranks:
    """tiktoken: a rank file; `kimi`: with what tokenization_kimi.py does around it."""

    def __init__(self, ranks, expression, special, kimi=False):
        self.kimi = kimi
        self.added = sorted(special, key=special.get)
        self.encoding = tiktoken.Encoding(name="ours", pat_str=expression, mergeable_ranks=ranks,
                                          special_tokens=special)

    def runs(self, text, longest):
        begin, run, blank = 0, 0, text[:1].isspace()
        for i, c in enumerate(text):
            if c.isspace() != blank:
                run, blank = 1, not blank
                continue
            run += 1
            if run > longest:
                yield text[begin:i]
                begin, run = i, 1
        yield text[begin:]

    def encode(self, text):
        if not self.kimi:
            return self.encoding.encode(text, allowed_special="all")
        return [i for at in range(0, len(text), 400000)
                for part in self.runs(text[at:at + 400000], 25000)
                for i in self.encoding.encode(part, allowed_special="all")]

    def decode(self, ids):
        return self.encoding.decode(ids)


def letters_to_bytes():
    prints = [b for b in range(256) if 0x21 <= b <= 0x7E or (b >= 0xA1 and b != 0xAD)]
    table = {chr(b): b for b in prints}
    for i, b in enumerate(b for b in range(256) if b not in prints):
        table[chr(0x100 + i)] = b
    return table


def ranks_of(text, first=0, count=None):
    """The tokens of a byte-level tokenizer.json as bytes, ranked by their ids."""
    table = letters_to_bytes()
    vocabulary = json.loads(text)["model"]["vocab"]
    by_id = sorted((i, t) for t, i in vocabulary.items() if i >= first)[:count]
    return {bytes(table[c] for c in t): rank for rank, (_, t) in enumerate(by_id)}


def write_ranks(folder, ranks):
    folder.mkdir(exist_ok=True)
    (folder / "tiktoken.model").write_bytes(
        b"".join(base64.b64encode(t) + b" %d\n" % r for t, r in ranks.items()))


def kimi_ranks():
    tokenizer = golden.byte_level(golden.sequence(golden.KIMI), special=())
    ranks = ranks_of(tokenizer.to_str())
    folder = HERE / "kimi_ranks"
    write_ranks(folder, ranks)
    first = len(ranks)
    named = {first: "[BOS]", first + 1: "[EOS]", first + 2: "<|im_end|>", first + 3: "<|im_user|>",
             first + 17: "<|im_middle|>", first + 256: "[UNK]", first + 257: "[PAD]"}
    decoder = {str(i): {"content": t, "lstrip": False, "normalized": False, "rstrip": False,
                        "single_word": False, "special": True} for i, t in named.items()}
    (folder / "tokenizer_config.json").write_text(json.dumps(
        {"added_tokens_decoder": decoder, "tokenizer_class": "TikTokenTokenizer"}, indent=1) + "\n")
    special = {named.get(i, f"<|reserved_token_{i}|>"): i for i in range(first, first + 258)}
    return Ranks(ranks, golden.KIMI.replace(r"[\r\n/]*", r"[\r\n]*"), special, kimi=True)


def make_small():
    glm = golden.byte_level(
        golden.sequence(golden.LLAMA3), special=("<|endoftext|>", "[gMASK]", "<sop>"),
        ignore_merges=True, added=[AddedToken("<|user|>", special=True),
                                   AddedToken("<|assistant|>", special=True),
                                   AddedToken("<think>", special=False)])
    bloom = golden.byte_level(
        pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(BLOOM), "isolated"),
                                 pre_tokenizers.ByteLevel(add_prefix_space=False,
                                                          use_regex=False)]),
        special=("<unk>", "<s>", "</s>", "<pad>"))
    # The alphabet in the normalizer, as vocabularies trained without a ByteLevel cut have it.
    state = json.loads(golden.byte_level(pre_tokenizers.ByteLevel(add_prefix_space=False),
                                         special=("<s>", "</s>")).to_str())
    state["normalizer"] = {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "ByteLevel"}]}
    state["pre_tokenizer"] = {"type": "Split", "pattern": {"Regex": " ?[^ĠĊ]+|Ġ+[^ĠĊ]*|Ċ"},
                              "behavior": "Isolated", "invert": False}
    made = {"glm": glm.to_str(), "bloom": bloom.to_str(), "letters": json.dumps(state)}
    for name, text in made.items():
        (HERE / f"{name}.json").write_text(Tokenizer.from_str(text).to_str(pretty=False) + "\n")


def references(folders):
    make_small()
    found = {"kimi_ranks": kimi_ranks()}
    for path in sorted(HERE.glob("*.json")):
        if path.stem not in ("strings", "fragments", "digests"):
            found[path.stem] = Reference(path.read_text())
    for folder in map(pathlib.Path, folders):
        for path in sorted(folder.glob("*.json")):
            if path.stem == "mistral_nemo":
                found[path.stem] = Tekken(path)
            else:
                found[path.stem] = Reference(path.read_text())
        for name, source, expression, special in (
                ("o200k_ranks", "gptoss", golden.O200K,
                 {"<|endoftext|>": 199999, "<|endofprompt|>": 200018}),
                ("llama3_ranks", "llama3_1", golden.LLAMA3, LLAMA3_SPECIAL)):
            path = folder / f"{source}.json"
            if path.exists():
                ranks = ranks_of(path.read_text(), 0, 199998 if name == "o200k_ranks" else 128000)
                write_ranks(folder / name, ranks)
                found[name] = Ranks(ranks, expression, special)
    return found


LLAMA3_SPECIAL = {"<|begin_of_text|>": 128000, "<|end_of_text|>": 128001,
                  "<|start_header_id|>": 128006, "<|end_header_id|>": 128007, "<|eom_id|>": 128008,
                  "<|eot_id|>": 128009, "<|python_tag|>": 128010}


class Tekken:
    """mistral-common: a tekken.json, by tiktoken as it does it."""

    def __init__(self, path):
        data = json.loads(path.read_text())
        config = data["config"]
        self.special = config["default_num_special_tokens"]
        count = config["default_vocab_size"] - self.special
        ranks = {base64.b64decode(t["token_bytes"]): t["rank"] for t in data["vocab"][:count]}
        self.added = []
        self.encoding = tiktoken.Encoding(name="tekken", pat_str=config["pattern"],
                                          mergeable_ranks=ranks, special_tokens={})

    def encode(self, text):
        return [1] + [i + self.special for i in self.encoding.encode_ordinary(text)]

    def decode(self, ids):
        return self.encoding.decode([i - self.special for i in ids if i >= self.special])


def digests(reference, strings, each):
    out, seen = [], b""
    for i, text in enumerate(strings):
        ids = reference.encode(text)
        seen += struct.pack(f"<I{len(ids)}I", len(ids), *ids) + reference.decode(ids).encode()
        if (i + 1) % each == 0 or i + 1 == len(strings):
            out.append(zlib.crc32(seen))
            seen = b""
    return out


def around_added(texts):
    return [s for t in texts for s in (t, f"a {t} b{t}c", f" {t}\n{t}{t}")]


def main():
    strings = json.loads((HERE / "strings.json").read_text())
    fragments = make_fragments()
    (HERE / "fragments.json").write_text(json.dumps(fragments, ensure_ascii=True, indent=0) + "\n")
    random_strings = list(fuzzed(fragments))
    lines = []
    for name, reference in sorted(references(sys.argv[1:]).items()):
        lines.append(json.dumps(name) + ":" + json.dumps({
            "strings": digests(reference, strings, 20),
            "added": digests(reference, around_added(reference.added), 20),
            "fuzzed": digests(reference, random_strings, 250)}, separators=(",", ":")))
    (HERE / "digests.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()

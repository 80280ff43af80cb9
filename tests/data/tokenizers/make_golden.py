#!/usr/bin/env python3
"""Makes what tests/unit/engine/prompt/golden_test.cpp holds our tokenizer against.

The expectations come from the reference implementation, Hugging Face's `tokenizers` (PyPI; made
with 0.23.3): small tokenizers of every shape that servers use are trained here, and each encodes
the same strings. Everything follows from seeds, so that a run changes nothing but what changed.

    pip install tokenizers==0.23.3 && ./make_golden.py [FOLDER_OF_REAL_TOKENIZERS]

Writes, beside this file:
  strings.json      the strings, in order
  NAME.json         a tokenizer each
  NAME.ids          its ids: per string the count, then the ids as differences to the one before
                    (zigzag), all LEB128; then, the same way, ids with special tokens around and the
                    decoded texts' byte counts and CRC-32. Deflated as one xz stream.
  REAL.ids          the same for tokenizers that are not ours to ship (qwen2, phi3)
"""

import json
import lzma
import pathlib
import random
import sys
import unicodedata
import zlib

from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models, normalizers,
                        pre_tokenizers, processors, trainers)

HERE = pathlib.Path(__file__).parent

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
          r"|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
O200K = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
         r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
         r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
         r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
         r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
TEKKEN = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
          r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
          r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
DEEPSEEK = [r"\p{N}{1,3}", r"[一-龥぀-ゟ゠-ヿ]+",
            r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
            r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"]
KIMI = (r"[\p{Han}]+"
        r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*"
        r"[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
        r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+"
        r"[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
        r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")

# Words that prompts may be made of, and enough of them that a table can be chosen.
SYLLABLES = "ba ce di fo gu ha ke li mo nu pa re si to vu wa xe yi zo qu an er in on".split()

SENTENCES = [
    "The quick brown fox jumps over the lazy dog; it's the dog's fault, isn't it? We'll SEE.",
    "HTTPServer getUserById camelCaseWords SCREAMING_SNAKE snake_case_42 x86_64 v1.2.3-rc4",
    "int main(int argc, char** argv) {\n\tfor (size_t i = 0; i < 1'000; ++i) {\n\t\treturn -1;\n\t}\n}\n",
    "def f(x: int = 0x1F) -> str:\n    \"\"\"Doc.\"\"\"\n    return f\"{x!r:>10}\"  # noqa\n\n\n",
    "<html>\r\n  <body class=\"a-b\">&nbsp;</body>\r\n</html>\r\n",
    "{\"k\": [1, 2.50, -3e10, null, true], \"s\": \"\\u00e9\\n\"}",
    "Ein Übergrößenträger fährt für 1.234,56 € nach Köln – «très» naïve façade, señor ¿qué?",
    "Ελληνικά και Русский текст, Українська мова, Ђорђе; ĲSSELMEER ǅ ﬁ ſ K Å",
    "中文文本没有空格，日本語のテキストとカタカナ、한국어 문장입니다。全角ＡＢＣ１２３",
    "العربية تُكتب من اليمين ١٢٣ — עברית שָׁלוֹם — हिन्दी में क्षेत्र ९८७ — ภาษาไทยไม่มีช่องว่าง",
    "😀👍🏽👩‍👩‍👧‍👦🇩🇪 ❤️ ☕︎ 🏴󠁧󠁢󠁥󠁮󠁧󠁿 ✨✨ emoji😀glued",
    "a  b   c    d\t\te\n\n\nf \n g\r\n\r\n   \n\u00a0\u2003\u3000\u2028\u0085x",
    "1 12 123 1234 12345 1234567890 3.14159 ½ ² ⅷ ٣ 1st 2ND 10:45 $9.99 50%",
    "don't DON'T I'Ve we'LL 'twas ''s 'S rock'n'roll it’s l'été '\u017f",
    "e\u0301 é n\u0303 ñ \u1e69 s\u0323\u0307 \u212b \u2126 \uac00 \u1100\u1161 \u0958",
    "\u0000\u0001\u001b[0m\u007f\ufeff\u200b\u200d\u00ad\ue000\ufffd\U0010fffd\u180e",
    "!!! ??? ... --- === /// \\\\ *** ### @@@ ``` ~~~ ((([[[{{{}}}]]])))",
    "https://example.com/a/b?c=d&e=%20#f user@example.org C:\\Users\\x /usr/bin/env",
    "∑∫√≠≤∞ αβγ → ⇒ ← ↔ ∀x∈ℝ: x²≥0 ℵ₀ 𝒜𝔅ℂ 𝟘𝟙",
    "▁ ▁▁ Ġ Ċ ĠĠ a▁b <0x0A> <0xZZ> <unk> Ā ſt",
]


def code_points(rng):
    ranges = [(0x20, 0x7E), (0xA0, 0x24F), (0x300, 0x36F), (0x370, 0x52F), (0x590, 0x6FF),
              (0x900, 0x97F), (0xE00, 0xE7F), (0x1100, 0x11FF), (0x2000, 0x206F), (0x2100, 0x21FF),
              (0x3000, 0x30FF), (0x4E00, 0x9FFF), (0xAC00, 0xD7A3), (0xFF00, 0xFFEF),
              (0x1F300, 0x1FAFF), (0x0, 0x1F), (0x10000, 0x10FFFF), (0x80, 0xFFFF)]
    while True:
        low, high = ranges[rng.randrange(len(ranges))]
        point = rng.randint(low, high)
        # Unassigned points change meaning with each Unicode version: libraries differ there. So do
        # young marks and punctuation: the reference knows those of Unicode 8 only.
        category = unicodedata.category(chr(point))
        young = unicodedata.ucd_3_2_0.category(chr(point)) == "Cn"
        if category not in ("Cn", "Cs") and not (young and category[0] in "MP"):
            yield chr(point)


def added_texts(tokenizers):
    texts = []
    for tokenizer in tokenizers:
        for token in tokenizer.get_added_tokens_decoder().values():
            if token.content not in texts:
                texts.append(token.content)
    return texts


def make_strings(added):
    rng = random.Random(20261121)
    points = code_points(rng)
    words = [w for s in SENTENCES for w in s.split(" ")]
    blanks = [" ", "  ", "\n", "\n\n", "\t", " \n ", "\r\n", "", "", "   ", "\u00a0", " "]
    strings = [""] + SENTENCES + [s[i:] + s[:i] for s in SENTENCES for i in (1, 7, 19)]
    for text in added:  # every added token: alone, between words, beside blanks, glued, doubled
        strings += [text, f"a {text} b", f"a{text}b", f"  {text}  \n{text}{text} c",
                    text[:-1] + " " + text]
    while len(strings) < 1500:
        count = rng.randint(1, 12)
        strings.append("".join(rng.choice(words) + rng.choice(blanks) for _ in range(count)))
    while len(strings) < 2100:
        strings.append("".join(next(points) for _ in range(rng.randint(1, 14))))
    while len(strings) < 2300:
        parts = [rng.choice(added) if rng.random() < 0.3 else
                 rng.choice(blanks) if rng.random() < 0.4 else rng.choice(words)
                 for _ in range(rng.randint(2, 12))]
        strings.append("".join(parts))
    while len(strings) < 2380:  # what prompts look like
        strings.append(" ".join("".join(rng.choice(SYLLABLES) for _ in range(rng.randint(1, 3)))
                                for _ in range(rng.randint(1, 60))))
    for text in SENTENCES:  # long ones: a piece or a text of more parts than a scan is for
        strings.append(text * 20)
        strings.append(text.replace(" ", "") * 10)
    return strings


def corpus():
    rng = random.Random(7)
    lines = SENTENCES * 3
    nouns = ["".join(rng.choice(SYLLABLES) for _ in range(rng.randint(1, 3))) for _ in range(420)]
    short = sorted({w for w in nouns if len(w) <= 6})
    for _ in range(900):
        lines.append(" ".join(rng.choice(nouns) for _ in range(12)))
    for word in short:  # as words that open a text, and often enough to become tokens
        lines += [word, f"{word}\n{word}", f"{word}\n{word}", f"the {word} and {word}"] * 3
    return lines


def train(tokenizer, size, special, byte_level, merges_as_pairs=True):
    trainer = trainers.BpeTrainer(
        vocab_size=size, special_tokens=special, show_progress=False, min_frequency=2,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet() if byte_level else [])
    tokenizer.train_from_iterator(corpus(), trainer)
    return tokenizer


def byte_level(pre, size=1100, normalizer=None, special=("<|endoftext|>",), added=(),
               post=None, **model):
    tokenizer = Tokenizer(models.BPE(**model))
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre
    tokenizer.decoder = decoders.ByteLevel()
    train(tokenizer, size, list(special), True)
    tokenizer.add_tokens(list(added))
    if post is not None:
        tokenizer.post_processor = post(tokenizer)
    return tokenizer


def sequence(*expressions):
    steps = [pre_tokenizers.Split(Regex(e), "isolated") for e in expressions]
    return pre_tokenizers.Sequence(
        steps + [pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def bos(text):
    def make(tokenizer):
        return processors.Sequence([
            processors.ByteLevel(trim_offsets=False),
            processors.TemplateProcessing(single=f"{text} $A", pair=f"{text} $A {text} $B",
                                          special_tokens=[(text, tokenizer.token_to_id(text))])])
    return make


def characters(normalizer, pre, decoder, size, fallback, added=(), **model):
    """BPE over characters, with the byte tokens of SentencePiece models in front."""
    special = ["<unk>", "<s>", "</s>"]
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=fallback))
    tokenizer.normalizer = normalizer
    # Trained word by word, as SentencePiece does, whatever cuts at run time.
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Metaspace(prepend_scheme="never"),
         pre_tokenizers.Split(Regex(r"[^\p{L}▁]"), "isolated")])
    trainer = trainers.BpeTrainer(
        vocab_size=size, show_progress=False, min_frequency=2, limit_alphabet=160,
        special_tokens=special + [f"<0x{b:02X}>" for b in range(256)] if fallback else special)
    tokenizer.train_from_iterator(corpus(), trainer)
    state = json.loads(tokenizer.to_str())
    state["added_tokens"] = [t for t in state["added_tokens"] if t["content"] in special]
    state["pre_tokenizer"] = None
    state["model"].update(model)
    tokenizer = Tokenizer.from_str(json.dumps(state))
    if pre is not None:
        tokenizer.pre_tokenizer = pre
    tokenizer.decoder = decoder
    tokenizer.add_tokens(list(added))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", 1)])
    return tokenizer


def make_tokenizers():
    llama_decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(),
                                       decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    prepend = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    odd = [AddedToken("[SEP]", special=True), AddedToken("<|im_start|>", special=True),
           AddedToken("<|im_end|>", special=True, rstrip=True),
           AddedToken("<mask>", special=True, lstrip=True),
           AddedToken("wörd", single_word=True, normalized=True),
           AddedToken("<tool>", normalized=False), AddedToken("<tool>x", normalized=False),
           AddedToken("naïve", normalized=True), AddedToken("  ", normalized=False),
           AddedToken("Café", lstrip=True, rstrip=True, normalized=True)]
    made = {
        "gpt2": byte_level(pre_tokenizers.ByteLevel(add_prefix_space=False)),
        "roberta": byte_level(pre_tokenizers.ByteLevel(add_prefix_space=True),
                              size=1500,
                              special=("<s>", "</s>", "<mask>"),
                              post=lambda t: processors.RobertaProcessing(("</s>", 1), ("<s>", 0))),
        "llama3": byte_level(sequence(LLAMA3), ignore_merges=True,
                             special=("<|begin_of_text|>", "<|end_of_text|>"),
                             added=odd[:3], post=bos("<|begin_of_text|>")),
        "qwen": byte_level(sequence(QWEN), normalizer=normalizers.NFC(), added=odd),
        "o200k": byte_level(sequence(O200K), ignore_merges=True),
        "tekken": byte_level(sequence(TEKKEN), special=("<unk>", "<s>", "</s>", "[INST]"),
                             ignore_merges=True, post=bos("<s>")),
        "deepseek": byte_level(
            sequence(*DEEPSEEK), special=("<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>"),
            added=[AddedToken("<｜User｜>", special=False, normalized=True)],
            normalizer=normalizers.Sequence([]), post=bos("<｜begin▁of▁sentence｜>")),
        "kimi": byte_level(sequence(KIMI)),
        "starcoder": byte_level(pre_tokenizers.Sequence(
            [pre_tokenizers.Digits(individual_digits=True),
             pre_tokenizers.ByteLevel(add_prefix_space=False)])),
        "falcon": byte_level(pre_tokenizers.Sequence(
            [pre_tokenizers.Punctuation("contiguous"),
             pre_tokenizers.ByteLevel(add_prefix_space=False),
             pre_tokenizers.Digits(individual_digits=False),
             pre_tokenizers.Split(Regex("[0-9][0-9][0-9]"), "isolated")])),
        "odd": byte_level(pre_tokenizers.Sequence(
            [pre_tokenizers.Split(Regex(r"(?=(\d{3})+(?!\d))"), "isolated"),
             pre_tokenizers.Split(Regex(r"\h+|\u00e9|[A-Z]{2}+"), "merged_with_previous"),
             pre_tokenizers.Split("--", "removed"),
             pre_tokenizers.Split(Regex(r"\s"), "merged_with_next"),
             pre_tokenizers.Split(Regex(r"[^\s]+"), "contiguous", invert=True),
             pre_tokenizers.ByteLevel(add_prefix_space=True, use_regex=False)]),
            normalizer=normalizers.Sequence(
                [normalizers.Strip(), normalizers.NFKD(), normalizers.Lowercase(),
                 normalizers.StripAccents(), normalizers.Replace(Regex(r"o{2,}"), "oo")])),
        "llama2": characters(prepend, None, llama_decoder, 1500, True),
        "gemma": characters(normalizers.Replace(" ", "▁"),
                            pre_tokenizers.Split(" ", "merged_with_previous"),
                            decoders.Sequence([decoders.Replace("▁", " "),
                                               decoders.ByteFallback(), decoders.Fuse()]),
                            1500, True, added=[AddedToken("\n\n", normalized=False),
                                               AddedToken("<start_of_turn>", special=True)]),
        "mistral": characters(None, pre_tokenizers.Metaspace(prepend_scheme="first", split=False),
                              decoders.Sequence([decoders.Replace("▁", " "),
                                                 decoders.ByteFallback(), decoders.Fuse(),
                                                 decoders.Strip(" ", 1, 0)]), 1500, True,
                              added=[AddedToken("[INST]", special=True)]),
        # Merges run across words: prompts of words cannot be exact.
        "superword": byte_level(pre_tokenizers.Sequence(
            [pre_tokenizers.Split(Regex(r"\p{N}{1,3}| ?[\p{L} ]+"), "isolated"),
             pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])),
        "metaspace": characters(normalizers.NFKC(), pre_tokenizers.Metaspace(),
                                decoders.Metaspace(), 1200, False, fuse_unk=False),
    }
    return made


def leb128(value, out):
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def pack(tokenizer, strings):
    out = bytearray()
    for special in (False, True):
        for text in strings:
            ids = tokenizer.encode(text, add_special_tokens=special).ids
            leb128(len(ids), out)
            last = 0
            for token in ids:
                step = token - last
                leb128(step << 1 if step >= 0 else (-step << 1) - 1, out)
                last = token
    for text in strings:
        ids = tokenizer.encode(text, add_special_tokens=True).ids
        for skip in (False, True):
            decoded = tokenizer.decode(ids, skip_special_tokens=skip).encode()
            leb128(len(decoded), out)
            leb128(zlib.crc32(decoded), out)
    return lzma.compress(bytes(out), preset=9)


def main():
    made = make_tokenizers()
    real = {}
    if len(sys.argv) > 1:
        for path in sorted(pathlib.Path(sys.argv[1]).glob("*.json")):
            real[path.stem] = Tokenizer.from_file(str(path))
    strings = make_strings(added_texts([*made.values(), *real.values()]))
    assert len(strings) >= 2000
    (HERE / "strings.json").write_text(json.dumps(strings, ensure_ascii=True, indent=0))
    for name, tokenizer in made.items():
        text = tokenizer.to_str(pretty=False)
        (HERE / f"{name}.json").write_text(text + "\n")
        (HERE / f"{name}.ids").write_bytes(pack(Tokenizer.from_str(text), strings))
    for name, tokenizer in real.items():
        (HERE / f"{name}.ids").write_bytes(pack(tokenizer, strings))


if __name__ == "__main__":
    main()

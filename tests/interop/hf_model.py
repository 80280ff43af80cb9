"""The folder of a small model as Hugging Face lays it out: a Llama with random weights, whose tokenizer
has driftless's own words, each one token wherever it stands. Needs nothing but Python."""

import array
import json
import pathlib
import random
import sys

HIDDEN, HEADS, KV_HEADS, LAYERS, FEED = 128, 2, 1, 2, 256
TOKENS = 4608  # room for 4,096 ids that are none of the special ones
CONTEXT = 8192
SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{% if m.content is string %}{{ m.content }}"
    "{% else %}{% for part in m.content %}{{ part.text }}{% endfor %}{% endif %}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"  # Qwen 2's
)


def byte_letters():
    """GPT-2's letter of every byte; a blank is the 33rd that is not itself."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in plain]
    return [chr(byte) for byte in plain] + [chr(256 + i) for i in range(len(others))]


def merges_of(words):
    """Behind a blank a word grows letter by letter, before any merge that has no blank. At the start of
    a text the pair that was listed first is joined first, and the rest of the word to it."""
    starts = {"\u0120" + word[:end] for word in words for end in range(1, 4)}
    merges = [(start[:-1], start[-1]) for start in sorted(starts, key=lambda s: (len(s), s))]
    pairs = sorted({word[:2] for word in words})
    merges += [(pair[0], pair[1]) for pair in pairs]
    for word in sorted(words):
        behind = word[1:] in pairs and word[1:] < word[:2]
        merges.append((word[0], word[1:]) if behind else (word[:2], word[2]))
    return merges


def write_tokenizer(folder, words):
    if not words or any(len(word) != 3 for word in words):
        sys.exit("hf_model.py: the words are of three letters each")
    merges = merges_of(words)
    vocabulary = {}
    for token in byte_letters() + [left + right for left, right in merges]:
        vocabulary.setdefault(token, len(vocabulary))
    first = len(vocabulary)
    while len(vocabulary) < TOKENS - len(SPECIAL):
        vocabulary[f"unused{len(vocabulary) - first}"] = len(vocabulary)
    if len(vocabulary) != TOKENS - len(SPECIAL):
        sys.exit("hf_model.py: the vocabulary is too small for the words")
    added = [{"id": len(vocabulary) + i, "content": text, "special": True, "single_word": False,
              "lstrip": False, "rstrip": False, "normalized": False}
             for i, text in enumerate(SPECIAL)]
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
    split = {"type": "Split", "pattern": {"Regex": SPLIT}, "behavior": "Isolated", "invert": False}
    put(folder / "tokenizer.json", {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": added,
        "normalizer": {"type": "NFC"},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, level]},
        "post_processor": level, "decoder": level,
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "fuse_unk": False,
                  "continuing_subword_prefix": "", "end_of_word_suffix": "", "byte_fallback": False,
                  "vocab": vocabulary, "merges": [" ".join(pair) for pair in merges]}})
    put(folder / "tokenizer_config.json", {
        "tokenizer_class": "PreTrainedTokenizerFast", "eos_token": SPECIAL[2], "pad_token": SPECIAL[0],
        "bos_token": None, "unk_token": None, "model_max_length": CONTEXT, "chat_template": TEMPLATE,
        "clean_up_tokenization_spaces": False})


def write_config(folder):
    put(folder / "config.json", {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": HIDDEN,
        "num_attention_heads": HEADS, "num_key_value_heads": KV_HEADS, "head_dim": HIDDEN // HEADS,
        "num_hidden_layers": LAYERS, "intermediate_size": FEED, "vocab_size": TOKENS,
        "max_position_embeddings": CONTEXT, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
        "hidden_act": "silu", "tie_word_embeddings": False, "attention_bias": False,
        "bos_token_id": TOKENS - 3, "eos_token_id": TOKENS - 1, "pad_token_id": TOKENS - 3,
        "dtype": "float32", "torch_dtype": "float32", "initializer_range": 0.02})
    put(folder / "generation_config.json", {"eos_token_id": TOKENS - 1, "pad_token_id": TOKENS - 3})


def shapes():
    yield "model.embed_tokens.weight", (TOKENS, HIDDEN)
    head = HIDDEN // HEADS
    for layer in range(LAYERS):
        name = f"model.layers.{layer}."
        yield name + "input_layernorm.weight", (HIDDEN,)
        yield name + "post_attention_layernorm.weight", (HIDDEN,)
        yield name + "self_attn.q_proj.weight", (HIDDEN, HIDDEN)
        yield name + "self_attn.k_proj.weight", (KV_HEADS * head, HIDDEN)
        yield name + "self_attn.v_proj.weight", (KV_HEADS * head, HIDDEN)
        yield name + "self_attn.o_proj.weight", (HIDDEN, HIDDEN)
        yield name + "mlp.gate_proj.weight", (FEED, HIDDEN)
        yield name + "mlp.up_proj.weight", (FEED, HIDDEN)
        yield name + "mlp.down_proj.weight", (HIDDEN, FEED)
    yield "model.norm.weight", (HIDDEN,)
    yield "lm_head.weight", (TOKENS, HIDDEN)


def write_weights(folder):
    """safetensors: the length of the head in eight bytes, the head in JSON, the numbers."""
    numbers = random.Random(0)
    head, body = {}, bytearray()
    for name, shape in shapes():
        count = shape[0] * (shape[1] if len(shape) == 2 else 1)
        floats = array.array("f", [1.0] * count if len(shape) == 1 else
                             [numbers.uniform(-0.2, 0.2) for _ in range(count)])
        head[name] = {"dtype": "F32", "shape": list(shape),
                      "data_offsets": [len(body), len(body) + 4 * count]}
        body += floats.tobytes()
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    (folder / "model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + body)


def put(path, value):
    path.write_text(json.dumps(value, indent=1))


def write(folder, words):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    write_tokenizer(folder, words)
    write_config(folder)
    write_weights(folder)
    return folder


if __name__ == "__main__":
    write(sys.argv[1], open(sys.argv[2]).read().split())

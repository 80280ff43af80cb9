"""A Llama with random weights that loads at once: words of three letters are one token each."""

import sys

import gguf
import numpy

EMBEDDING, HEADS, KV_HEADS, LAYERS, FEED = 64, 4, 2, 2, 128
TOKENS = 4608  # room for 4,096 ids that are none of the special ones
CONTEXT = 32768
TEMPLATE = (
    "{% for m in messages %}<{{ m.role }}> {{ m.content }}\n{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)


def vocabulary(words):
    """SentencePiece joins two neighbours where the result is a token, so that every beginning of a
    word is one, and nothing else is."""
    kinds = gguf.TokenType
    tokens = [(b"<unk>", kinds.UNKNOWN), (b"<s>", kinds.CONTROL), (b"</s>", kinds.CONTROL)]
    tokens += [(b"<0x%02X>" % byte, kinds.BYTE) for byte in range(256)]
    starts = {word[:end] for word in words for end in range(1, len(word) + 1)}
    for start in sorted(starts, key=lambda text: (len(text), text)):
        tokens.append((("\u2581" + start).encode(), kinds.NORMAL))
    if len(tokens) > TOKENS:
        sys.exit("model.py: the vocabulary is too small for the words")
    tokens += [(b"<unused%d>" % i, kinds.NORMAL) for i in range(TOKENS - len(tokens))]
    return tokens


def write_head(out, tokens):
    out.add_name("tiny-random")
    out.add_context_length(CONTEXT)
    out.add_embedding_length(EMBEDDING)
    out.add_block_count(LAYERS)
    out.add_feed_forward_length(FEED)
    out.add_head_count(HEADS)
    out.add_head_count_kv(KV_HEADS)
    out.add_layer_norm_rms_eps(1e-5)
    out.add_rope_dimension_count(EMBEDDING // HEADS)
    out.add_vocab_size(len(tokens))
    out.add_file_type(gguf.LlamaFileType.ALL_F32)
    out.add_tokenizer_model("llama")
    out.add_token_list([token for token, _ in tokens])
    out.add_token_scores([float(len(token)) for token, _ in tokens])  # longer ones are joined first
    out.add_token_types([kind for _, kind in tokens])
    out.add_bos_token_id(1)
    out.add_eos_token_id(2)
    out.add_unk_token_id(0)
    out.add_add_bos_token(True)
    out.add_chat_template(TEMPLATE)


def write_weights(out, tokens):
    random = numpy.random.default_rng(0)
    head = EMBEDDING // HEADS

    def tensor(name, *shape):
        out.add_tensor(name, (random.standard_normal(shape) * 0.2).astype(numpy.float32))

    def ones(name):
        out.add_tensor(name, numpy.ones(EMBEDDING, numpy.float32))

    tensor("token_embd.weight", len(tokens), EMBEDDING)
    ones("output_norm.weight")
    tensor("output.weight", len(tokens), EMBEDDING)
    for layer in range(LAYERS):
        block = f"blk.{layer}."
        ones(block + "attn_norm.weight")
        ones(block + "ffn_norm.weight")
        tensor(block + "attn_q.weight", EMBEDDING, EMBEDDING)
        tensor(block + "attn_k.weight", KV_HEADS * head, EMBEDDING)
        tensor(block + "attn_v.weight", KV_HEADS * head, EMBEDDING)
        tensor(block + "attn_output.weight", EMBEDDING, EMBEDDING)
        tensor(block + "ffn_gate.weight", FEED, EMBEDDING)
        tensor(block + "ffn_up.weight", FEED, EMBEDDING)
        tensor(block + "ffn_down.weight", EMBEDDING, FEED)


def main():
    path, words = sys.argv[1], open(sys.argv[2]).read().split()
    tokens = vocabulary(words)
    out = gguf.GGUFWriter(path, "llama")
    write_head(out, tokens)
    write_weights(out, tokens)
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()


main()

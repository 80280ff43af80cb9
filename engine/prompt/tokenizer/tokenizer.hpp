/// Tokenizer: text to token ids and back, exactly as Hugging Face's `tokenizers` and tiktoken do
/// it, for the BPE models that servers use.
///
/// From a tokenizer.json: byte-level BPE (GPT-2, Llama 3, Qwen, DeepSeek, GPT-OSS, GLM, Nemo,
/// Falcon, Phi) and BPE over characters with byte fallback (Llama 2, Mistral, Phi-3, Gemma), their
/// normalizers, pre-tokenizers, added tokens, post-processors and decoders. From rank files:
/// Kimi's, OpenAI's, Mistral's (read_ranks.hpp). What it does not know it refuses by name. Golden
/// tests hold it to the reference.
///
/// Used before time 0 only: it allocates as it likes. One thread at a time, for its scratch.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/prompt/tokenizer/added_tokens.hpp"
#include "engine/prompt/tokenizer/bpe.hpp"
#include "engine/prompt/tokenizer/decoder.hpp"
#include "engine/prompt/tokenizer/normalizer.hpp"
#include "engine/prompt/tokenizer/splitter.hpp"
#include "engine/prompt/tokenizer/text_cuts.hpp"
#include "proto/core/result.hpp"

namespace driftless {

/// What the files of a tokenizer say, ready to run.
struct TokenizerParts {
    Normalizer normalizer;
    Splitter splitter;
    Bpe bpe;
    std::vector<AddedToken> added;
    Decoder decoder;
    std::vector<TokenId> before;  ///< put around a text by the post-processor: BOS and the like
    std::vector<TokenId> after;
    TextCuts cuts;
    /// What stands for a blank in the vocabulary.
    std::string_view blank = " ";
};

/// Reads a tokenizer.json. Errors: bad_json, unsupported, missing, invalid; `why` then is a clause
/// for people that names what is wrong and what would fix it.
Result<TokenizerParts> read_tokenizer(std::string_view json, std::string& why);

class Tokenizer {
  public:
    explicit Tokenizer(TokenizerParts parts);
    Tokenizer(Tokenizer&&) noexcept;
    ~Tokenizer();

    /// Appends the ids of `text`. Bytes that are no UTF-8 count as U+FFFD. `with_special`: and
    /// those that the post-processor puts around it.
    void encode(std::string_view text, std::vector<TokenId>& ids, bool with_special = false);

    /// The text of the ids; those that have no token say nothing. Bytes of a code point that was
    /// cut stay as they are. `skip_special`: without special added tokens.
    std::string decode(std::span<const TokenId> ids, bool skip_special = false);

    /// Appends the ids of one piece as it is: nothing is normalized, cut or looked for.
    void merge(std::string_view piece, std::vector<TokenId>& ids);

    const Vocabulary& vocabulary() const;
    const BpeRules& rules() const;
    std::span<const AddedToken> added() const;
    /// What stands for a blank in the vocabulary: itself, U+2581, or U+0120.
    std::string_view blank() const;
    /// Whether text is cut into pieces at all before merging.
    bool has_pieces() const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace driftless

/// Tokenizer: text to token ids and back, with the tokens that are cut out before anything is
/// merged and the cuts that the program around it makes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/prompt/bpe.hpp"
#include "engine/prompt/tokenizer_steps.hpp"
#include "proto/core/result.hpp"

namespace driftless {

// AddedTokens: texts that are one token as they stand, cut out before anything is merged.
//
// Where several could match, the leftmost does, and of those the longest. Two sets: one is sought
// in the text as it came, one in the normalized text. Built while loading; plain reads later.

struct AddedToken {
    TokenId id = 0;
    std::string text;
    std::string sought;        ///< what is looked for: `text`, normalized if need be
    bool single_word = false;  ///< matches only where no word character stands beside it
    bool strip_left = false;   ///< takes the white space in front with it
    bool strip_right = false;
    bool normalized = false;  ///< sought in the normalized text
    bool special = false;     ///< left out of decoded text on request
};

/// A part of a text: an added token, or what is between.
struct Section {
    std::string_view text;
    const AddedToken* token = nullptr;
};

/// One set of texts to seek.
class AddedTokenFinder {
  public:
    /// `token` outlives this and does not move. One that seeks nothing is left out.
    void add(const AddedToken& token);
    /// Once, after the last `add`.
    void prepare();

    /// Appends the sections of `text`, in order, none of them empty.
    void cut(std::string_view text, std::vector<Section>& sections) const;

  private:
    const AddedToken* longest_at(std::string_view text) const;

    std::vector<const AddedToken*> entries_;  ///< sorted by what they seek
    bool begins_[256] = {};                   ///< some entry begins with that byte
};

// Text cuts: where the program around a tokenizer cuts long texts before it tokenizes them.
//
// Kimi's own does (`tokenization_kimi.py`): tokens never reach beyond such a cut, and a word that
// one falls into, or just behind, has a token more. Tokenizers without such a program cut nothing.

/// In code points; 0: nowhere.
struct TextCuts {
    std::size_t every = 0;   ///< each so many
    std::size_t run_of = 0;  ///< then, after so many blanks, or non-blanks, in a row
};

/// Cuts one text.
class TextCutter {
  public:
    explicit TextCutter(TextCuts cuts) : cuts_(cuts) {}

    /// How many bytes of `text` (valid UTF-8; what the calls before left of it) come before the
    /// next cut: all, where there is none. 0 only of nothing.
    std::size_t next(std::string_view text);

  private:
    void next_chunk(std::string_view text);

    TextCuts cuts_;
    std::size_t chunk_left_ = 0;  ///< bytes until the next of the cuts that come each so many
};

// Tokenizer: text to token ids and back, exactly as Hugging Face's `tokenizers` and tiktoken do
// it, for the BPE models that servers use.
//
// From a tokenizer.json: byte-level BPE (GPT-2, Llama 3, Qwen, DeepSeek, GPT-OSS, GLM, Nemo,
// Falcon, Phi) and BPE over characters with byte fallback (Llama 2, Mistral, Phi-3, Gemma), their
// normalizers, pre-tokenizers, added tokens, post-processors and decoders. From rank files:
// Kimi's, OpenAI's, Mistral's (read_ranks.hpp). What it does not know it refuses by name. Golden
// tests hold it to the reference.
//
// Used before time 0 only: it allocates as it likes. One thread at a time, for its scratch.

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

/// How many tokens a prompt has and which prefix blocks it consists of: words that count as one
/// token or not, one pass over the prompt, and the ids of a tokenizer where the mock has one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/prompt/tokenizer.hpp"
#include "proto/core/hash.hpp"
#include "proto/json/document.hpp"

namespace driftless::mock {

/// The number that stands for a word. Equal words have equal numbers.
std::uint64_t word_number(std::string_view word);

/// WordRules: what a pretended tokenizer does with words besides counting each as one token.
///
/// Filled before serving, from the command line or a test; then only asked. Words are known by
/// their numbers (prompt_count.hpp), so that asking costs no text.
class WordRules {
  public:
    /// The word costs two tokens, wherever it stands.
    void split(std::string_view word) { split_.insert(word_number(word)); }
    /// The word costs two tokens as the first of a prompt, without a blank in front.
    void split_first(std::string_view word) { split_first_.insert(word_number(word)); }
    /// Every word does, wherever it stands.
    void split_all() { all_ = true; }
    /// Side by side, the two words are one token.
    void join(std::string_view first, std::string_view second) {
        joined_.emplace(word_number(first), word_number(second));
    }

    bool empty() const {
        return !all_ && split_.empty() && split_first_.empty() && joined_.empty();
    }
    bool splits(std::uint64_t word) const { return all_ || split_.contains(word); }
    bool splits_first(std::uint64_t word) const { return split_first_.contains(word); }
    bool joins(std::uint64_t first, std::uint64_t second) const {
        return joined_.contains({first, second});
    }

  private:
    bool all_ = false;
    std::set<std::uint64_t> split_;
    std::set<std::uint64_t> split_first_;
    std::set<std::pair<std::uint64_t, std::uint64_t>> joined_;
};

// PromptCount: how many tokens a prompt has and which prefix blocks it consists of, in one pass.
//
// A token is a blank-separated word of a text (unless a WordRules says otherwise), an item of an
// array of token ids, or one token of the chat template. Bytes come as they are in the JSON
// body, escapes untouched, cut anywhere; nothing is copied. With a tokenizer a text is held to its
// end instead, and has its tokens. Each full block of tokens yields one 64-bit value that depends
// on every token from the start of the prompt, so that equal values mean equal prefixes.
//
// Owned by one connection and reused; it never looks at JSON beyond the end of its own value.

class TextTokens;

/// Most bytes of one text that is held for a tokenizer: a million tokens have about four.
inline constexpr std::size_t held_text_bytes_max = std::size_t{16} << 20;

/// What a server puts around a text, in tokens: chat template, BOS, generation prompt.
struct TemplateTokens {
    std::uint32_t pre = 0;
    std::uint32_t post = 0;
};

class PromptCount {
  public:
    /// Starts a new prompt. `block_tokens` 0: blocks are not wanted. `texts`: what texts are
    /// encoded with; nullptr: words are tokens, by `rules` where they are given. Both outlive it.
    void reset(std::uint32_t block_tokens, TemplateTokens around, TextTokens* texts = nullptr,
               const WordRules* rules = nullptr);

    /// A text begins. The first one has the template's head before it; token ids have none.
    void begin_text();
    /// Adds the inside of a JSON string. Returns the bytes consumed: all of them, or those before
    /// the quote that ends the string.
    std::size_t add_text(std::string_view bytes);
    /// Adds the inside of a JSON array of numbers. Returns the bytes consumed: all of them, or
    /// those before the bracket that ends the array.
    std::size_t add_ids(std::string_view bytes);
    /// The string or array is over: an open word ends.
    void end_value();
    /// The prompt is over: the template's tail follows where there was text.
    void finish();

    std::uint32_t tokens() const { return tokens_; }
    /// A text grew beyond `held_text_bytes_max`; it has not been counted.
    bool too_long() const { return too_long_; }
    /// One value per full block, in order.
    std::span<const std::uint64_t> blocks() const { return blocks_; }

    /// Numbers for /tokenize: recorded from `record_tokens` until the next reset. Equal words have
    /// equal numbers; different ones differ but for 31-bit accidents. A tokenizer's are its ids.
    void record_tokens() { recording_ = true; }
    std::span<const std::uint32_t> recorded() const { return recorded_; }

  private:
    template <typename Ends>
    const char* scan(const char* at, const char* end);
    void add_word(const char* at, std::size_t bytes);
    void add_byte(char byte);
    void add_code_unit();
    void text_byte(char byte);
    void end_word();
    void add_word_token(std::uint64_t word);
    void add_by_rules(std::uint64_t word);
    void end_waiting();
    void add_token(std::uint64_t word) {
        add_token(word, static_cast<std::uint32_t>(mix64(word) >> 33));
    }
    void add_token(std::uint64_t word, std::uint32_t number);
    std::size_t hold_text(std::string_view bytes);
    void encode_held();
    void add_template(std::uint32_t tokens, std::uint32_t first_id);

    std::uint64_t chain_ = 0;  ///< of all tokens so far
    // The open word: whole groups of eight bytes are folded, the rest waits in `piece_`.
    std::uint64_t folded_ = 0;
    std::uint64_t piece_ = 0;
    unsigned piece_bytes_ = 0;
    // The open escape: 1 after the backslash, 2..5 before each digit of \uXXXX.
    unsigned escape_ = 0;
    std::uint32_t code_unit_ = 0;

    std::uint32_t tokens_ = 0;
    std::uint32_t block_tokens_ = 0;
    std::uint32_t until_block_ = 0;  ///< tokens missing to the end of the current block
    TemplateTokens around_;
    TextTokens* texts_ = nullptr;
    std::string held_;  ///< of a text that is still coming, where there is a tokenizer
    bool too_long_ = false;
    const WordRules* rules_ = nullptr;
    std::uint64_t waiting_ = 0;  ///< a word that may join the next one; 0: none
    bool opens_ = true;          ///< no word has been counted yet
    bool has_text_ = false;
    bool recording_ = false;
    std::vector<std::uint64_t> blocks_;
    std::vector<std::uint32_t> recorded_;
};

/// TextTokens: the token ids of a prompt's text, for a mock that was given a tokenizer.
///
/// One for all connections of a core, on its thread. Encoding is slow beside all else that a mock
/// does (about 0.1 ms for a thousand tokens), so that tokens of other streams wait for it.
class TextTokens {
  public:
    /// `tokenizer` outlives this.
    explicit TextTokens(Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

    /// The tokens of the inside of a JSON string, escapes untouched; valid until the next call.
    /// Empty if it is not JSON: the body's parser reports that.
    std::span<const TokenId> encode(std::string_view escaped);

  private:
    Tokenizer& tokenizer_;
    JsonDocument document_;
    std::string quoted_;
    std::vector<TokenId> ids_;
};

}  // namespace driftless::mock

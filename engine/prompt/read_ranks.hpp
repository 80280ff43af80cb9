/// Rank files: tokenizers that are published as a list of tokens in the order of their merges.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/prompt/bpe.hpp"
#include "engine/prompt/tokenizer.hpp"
#include "proto/core/result.hpp"
#include "proto/json/document.hpp"

namespace driftless {

// Ranks: from tokens in the order of their merges to a byte-level BPE. Internal to `read_ranks`.
//
// tiktoken merges two tokens where their bytes together are a token, the lowest rank first. Each
// token then comes about in one way only, which is found once, by merging its own bytes.

/// OpenAI's p50k_base has GPT-2's ranks and runs of blanks behind them. The rank between is that of
/// its special token, which no line has.
inline constexpr std::size_t p50k_ranks = 50'280;
inline constexpr TokenId p50k_hole = 50'256;

class Ranks {
  public:
    /// `first_id`: the id of the token of rank 0. Room for about that many tokens and bytes.
    Ranks(Bpe& bpe, TokenId first_id, std::size_t tokens, std::size_t bytes);

    /// False, and why, where the token or the rank is there already or cannot be.
    bool add(std::string_view token, std::uint64_t rank, std::string& why);
    /// Finds the merges. False, and why, where ranks or bytes are missing.
    bool finish(std::string& why);

  private:
    void find_merges();

    Bpe& bpe_;
    TokenId first_id_ = 0;
    std::size_t tokens_ = 0;
};

/// Appends the bytes that base64 (RFC 4648, section 4) stands for; false where it is none.
bool append_base64(std::string& out, std::string_view text);

// Rank files: tokenizers that are published as a list of tokens in the order of their merges.
//
// Two spellings. tiktoken's (Kimi, OpenAI, Llama 3's and Qwen's own): base64 of a token, a blank,
// its rank, a line each; how text is cut before is not in it, but in `tokenizer_config.json`
// beside it or known by the number of ranks. Mistral's tekken.json says all by itself. In both,
// two tokens merge where their bytes together are a token, the lowest rank first.

/// Whether the first line is one of tiktoken's.
bool is_rank_file(std::string_view text);

/// Reads a rank file. `config`: the text of tokenizer_config.json, empty where there is none; its
/// `pat_str` is the expression that cuts, its `added_tokens_decoder` the added tokens. Errors and
/// `why` as of `read_tokenizer`.
Result<TokenizerParts> read_rank_file(std::string_view text, std::string_view config,
                                      std::string& why);

/// Reads a parsed tekken.json.
Result<TokenizerParts> read_tekken(JsonValue root, std::string& why);

}  // namespace driftless

/// Rank files: tokenizers that are published as a list of tokens in the order of their merges.
///
/// Two spellings. tiktoken's (Kimi, OpenAI, Llama 3's and Qwen's own): base64 of a token, a blank,
/// its rank, a line each; how text is cut before is not in it, but in `tokenizer_config.json`
/// beside it or known by the number of ranks. Mistral's tekken.json says all by itself. In both,
/// two tokens merge where their bytes together are a token, the lowest rank first.
#pragma once

#include <string>
#include <string_view>

#include "engine/prompt/tokenizer/tokenizer.hpp"
#include "proto/core/result.hpp"
#include "proto/json/document.hpp"

namespace driftless {

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

/// TextTokens: the token ids of a prompt's text, for a mock that was given a tokenizer.
///
/// One for all connections of a core, on its thread. Encoding is slow beside all else that a mock
/// does (about 0.1 ms for a thousand tokens), so that tokens of other streams wait for it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/prompt/tokenizer/tokenizer.hpp"
#include "proto/json/document.hpp"

namespace driftless::mock {

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

#include "cmd/mock/text_tokens.hpp"

namespace driftless::mock {

std::span<const TokenId> TextTokens::encode(std::string_view escaped) {
    quoted_.assign(1, '"').append(escaped).append(1, '"');
    ids_.clear();
    const Result<JsonValue> parsed = document_.parse(quoted_);
    const auto text = parsed ? parsed.value().as_string() : std::nullopt;
    if (text) {
        tokenizer_.encode(*text, ids_);
    }
    return ids_;
}

}  // namespace driftless::mock

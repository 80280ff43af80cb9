#include "engine/logs/render.hpp"

#include <string>

namespace driftless {

void render(std::span<const LogMessage> prompt, Tokenizer& tokenizer,
            std::vector<TokenId>& tokens) {
    tokens.clear();
    bool has_roles = false;
    std::string text;
    for (const LogMessage& message : prompt) {
        if (message.role.empty()) {
            tokenizer.encode(message.text, tokens);
            continue;
        }
        has_roles = true;
        tokenizer.encode(text.assign(message.role) += '\n', tokens);
        tokenizer.encode(text.assign(message.text) += '\n', tokens);
    }
    if (has_roles) {
        tokenizer.encode("assistant\n", tokens);
    }
}

}  // namespace driftless

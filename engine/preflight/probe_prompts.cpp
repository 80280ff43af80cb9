#include "engine/preflight/probe_prompts.hpp"

#include <algorithm>

namespace driftless {

std::string ProbePrompts::prompt_of(std::span<const std::uint32_t> words) const {
    std::string prompt = one_word();
    for (const std::uint32_t word : words) {
        prompt += words_.separator();
        prompt += words_.word(word);
    }
    return prompt;
}

std::vector<std::uint32_t> ProbePrompts::words_without(
    std::span<const std::uint32_t> dropped) const {
    std::vector<std::uint32_t> kept;
    for (std::uint32_t word = 0; word < words_.size(); ++word) {
        if (!std::binary_search(dropped.begin(), dropped.end(), word)) {
            kept.push_back(word);
        }
    }
    return kept;
}

}  // namespace driftless

#include "engine/preflight/template_table.hpp"

#include <string>

#include "proto/core/letter_case.hpp"

namespace driftless {

namespace {

struct Template {
    std::string_view model;  ///< part of the name, lower case
    std::uint32_t tokens;    ///< around one user message
    std::uint32_t post;      ///< of those, behind it
};

// Measured with the published templates, but Gemma's, which is read from its template
// (token-exact.md, section 5).
constexpr Template templates[] = {
    {"qwen2.5", 29, 5}, {"qwen3", 8, 5},    {"qwen3", 12, 9},   {"qwen3", 10, 7},
    {"llama-3", 10, 5}, {"llama3", 10, 5},  {"llama-3", 35, 5}, {"llama3", 35, 5},
    {"deepseek", 3, 1}, {"deepseek", 5, 3}, {"deepseek", 4, 2}, {"mistral-nemo", 3, 1},
    {"llama-2", 8, 4},  {"glm-4", 8, 4},    {"command-", 6, 3}, {"phi-3", 3, 2},
    {"gpt-oss", 67, 3}, {"gemma-2", 9, 5},  {"gemma-3", 9, 5},
};

}  // namespace

Overhead split_overhead(const Dialect& dialect, std::string_view model, std::uint32_t tokens,
                        bool& known) {
    known = tokens == 0;  // nothing to split: ids pass a template by
    if (known || !dialect.templated) {
        return {tokens, 0};
    }
    const std::string name = lower(model);
    for (const Template& entry : templates) {
        if (entry.tokens == tokens && name.find(entry.model) != std::string::npos) {
            known = true;
            return {tokens - entry.post, entry.post};
        }
    }
    return {tokens, 0};
}

}  // namespace driftless

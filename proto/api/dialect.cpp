#include "proto/api/dialect.hpp"

#include <algorithm>
#include <array>

#include "proto/api/dialects.hpp"
#include "proto/api/event.hpp"
#include "proto/core/check.hpp"
#include "proto/json/utf8.hpp"

namespace driftless {

namespace {

struct Name {
    std::string_view name;
    const Dialect* dialect;
};

// Our names first; then what other tools call the same APIs (aiperf; vllm bench).
constexpr std::array names = {Name{"openai-chat", &openai_chat_dialect},
                              Name{"openai-completions", &openai_completions_dialect},
                              Name{"llamacpp", &llamacpp_dialect},
                              Name{"chat", &openai_chat_dialect},
                              Name{"completions", &openai_completions_dialect},
                              Name{"openai", &openai_completions_dialect},
                              Name{"vllm", &openai_completions_dialect}};

// The message of an error body that is JSON; empty where none of the known places holds one.
std::string_view find_message(const JsonValue& root) {
    const JsonValue error = root.find("error");
    const JsonValue detail = root.find("detail");
    for (const JsonValue& place :
         {error.find("message"), error, root.find("message"), detail, detail.at(0).find("msg")}) {
        if (const auto text = place.as_string(); text && !text->empty()) {
            return *text;
        }
    }
    return {};
}

}  // namespace

const Dialect* find_dialect(std::string_view name) {
    const auto found = std::find_if(names.begin(), names.end(),
                                    [name](const Name& known) { return known.name == name; });
    return found == names.end() ? nullptr : found->dialect;
}

const Dialect& dialect_of(Api api) {
    switch (api) {
        case Api::openai_chat:
            return openai_chat_dialect;
        case Api::openai_completions:
            return openai_completions_dialect;
        case Api::llamacpp:
            return llamacpp_dialect;
    }
    CHECK(false);
}

const char* dialect_names() {
    return "openai-chat, openai-completions, llamacpp";
}

std::string error_message_of(JsonDocument& document, std::string_view body, std::size_t bytes_max) {
    std::string_view message;
    if (const Result<JsonValue> root = document.parse(body)) {
        message = find_message(root.value());
    }
    return std::string(cut_at_code_point(message.empty() ? body : message, bytes_max));
}

Usage read_usage(const JsonValue& usage) {
    Usage counts;
    counts.prompt_tokens = count_of(usage.find("prompt_tokens"));
    counts.completion_tokens = count_of(usage.find("completion_tokens"));
    counts.cached_tokens = count_of(usage.find("prompt_tokens_details").find("cached_tokens"));
    if (counts.cached_tokens < 0) {
        counts.cached_tokens = count_of(usage.find("prompt_cache_hit_tokens"));  // DeepSeek
    }
    return counts;
}

}  // namespace driftless

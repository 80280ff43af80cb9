#include "proto/api/dialect.hpp"

#include <algorithm>
#include <charconv>

#include "proto/api/api_template.hpp"
#include "proto/api/dialect_parts.hpp"
#include "proto/core/check.hpp"
#include "proto/core/text.hpp"
#include "proto/json/utf8.hpp"

namespace driftless {

namespace {

constexpr const Dialect* all_dialects[] = {&openai_chat_dialect,
                                           &openai_completions_dialect,
                                           &openai_responses_dialect,
                                           &anthropic_dialect,
                                           &llamacpp_dialect,
                                           &sglang_dialect,
                                           &tgi_dialect,
                                           &ollama_dialect,
                                           &triton_dialect,
                                           &aibrix_dialect,
                                           &dynamo_dialect,
                                           &template_dialect};

bool has_alias(const Dialect& dialect, std::string_view name) {
    return std::find(dialect.aliases.begin(), dialect.aliases.end(), name) != dialect.aliases.end();
}

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

/// Named neither as no event is nor as an error: a remark beside the answer, unless it counts its
/// tokens.
bool is_annotation(std::string_view event_name, std::string_view data) {
    return !event_name.empty() && event_name != "message" && event_name != "error" &&
           data.find("\"usage\"") == data.npos;
}

/// Every prompt has a token: a usage that counts none was not counted, and its zeros are unknown.
void forget_zeros(EventReading& reading) {
    for (std::int64_t* count :
         {&reading.prompt_tokens, &reading.completion_tokens, &reading.cached_tokens}) {
        *count = *count == 0 ? -1 : *count;
    }
}

/// The title of an HTML page, as proxies answer: "502 Bad Gateway"; of one without a title, its
/// first text. Empty where there is none.
std::string_view title_of(std::string_view body) {
    if (!body.starts_with('<')) {
        return {};
    }
    constexpr std::string_view open = "<title>";
    const std::size_t begin = body.find(open);
    const std::size_t end = body.find("</title>", begin);
    if (begin != body.npos && end != body.npos) {
        return body.substr(begin + open.size(), end - begin - open.size());
    }
    std::string_view text;
    while (text.empty() && !body.empty()) {  // ends: every turn takes a tag and what follows it
        body.remove_prefix(std::min(body.find('>'), body.size() - 1) + 1);
        text = trim(body.substr(0, body.find('<')), white_space);
        body.remove_prefix(std::min(body.find('<'), body.size()));
    }
    return text;
}

}  // namespace

Result<BodyFrame> Dialect::frame(const BodySpec& spec) const {
    if (spec.prompt == PromptKind::ids && !takes_ids) {
        return Error{ErrorCode::invalid, 0, "put token ids into a request of this API"};
    }
    return form != nullptr ? make_template_frame(*form, spec) : make_body_frame(spec);
}

EventReading Dialect::read(JsonDocument& document, std::string_view event_name,
                           std::string_view data) const {
    EventReading reading;
    if (form != nullptr && ends_stream(*form, data)) {
        reading.kind = EventReading::Kind::done;
        return reading;
    }
    if (ignores_named_events && is_annotation(event_name, data)) {
        return reading;
    }
    const JsonValue root = open_event(document, event_name, data, reading,
                                      form != nullptr ? JsonType::array : JsonType::object);
    if (!root.present()) {
        return reading;
    }
    form != nullptr ? read_template_event(*form, root, reading) : read_event(root, reading);
    if (reading.prompt_tokens == 0) {
        forget_zeros(reading);
    }
    if (reading.error_message.empty() && is_failed_finish(reading.finish_reason)) {
        reading.error_message = reading.finish_reason;
    }
    return reading;
}

bool names_model_first(const Dialect& dialect) {
    BodySpec spec;
    spec.model = "m";
    const Result<BodyFrame> frame = dialect.frame(spec);
    return frame && frame.value().before.starts_with(R"({"model":"m",)");
}

std::string_view other_length_member(const Dialect& dialect) {
    constexpr std::string_view current = "max_completion_tokens";
    return dialect.length_member == current ? "max_tokens" : current;
}

const char* path_of(const Dialect& dialect, bool stream) {
    return stream || dialect.whole_path[0] == '\0' ? dialect.default_path : dialect.whole_path;
}

std::span<const Dialect* const> dialects() {
    return all_dialects;
}

const Dialect* find_dialect(std::string_view name) {
    for (const Dialect* dialect : all_dialects) {
        if (dialect->name == name || has_alias(*dialect, name)) {
            return dialect;
        }
    }
    return nullptr;
}

const Dialect& dialect_of(Api api) {
    for (const Dialect* dialect : all_dialects) {
        if (dialect->api == api) {
            return *dialect;
        }
    }
    CHECK(false);
}

std::string dialect_names() {
    std::string names;
    for (const Dialect* dialect : all_dialects) {
        names += names.empty() ? "" : ", ";
        names += dialect->name;
    }
    return names;
}

std::string error_message_of(JsonDocument& document, std::string_view body, std::size_t bytes_max) {
    std::string_view message;
    if (const Result<JsonValue> root = document.parse(body)) {
        message = find_message(root.value());
    } else {
        message = title_of(body);
    }
    return std::string(cut_at_code_point(message.empty() ? body : message, bytes_max));
}

std::int64_t count_in(std::string_view text) {
    std::int64_t count = -1;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), count);
    const bool whole = read.ec == std::errc() && read.ptr == text.data() + text.size();
    return whole && count >= 0 && count <= tokens_reported_max ? count : -1;
}

Usage read_usage(const JsonValue& usage) {
    const auto either = [&usage](std::string_view name, std::string_view other) {
        const JsonValue value = usage.find(name);
        return value.present() ? value : usage.find(other);
    };
    Usage counts;
    counts.prompt_tokens = count_of(either("prompt_tokens", "input_tokens"));
    counts.completion_tokens = count_of(either("completion_tokens", "output_tokens"));
    const std::int64_t total = count_of(usage.find("total_tokens"));
    if (counts.prompt_tokens > 0 && counts.completion_tokens >= 0) {
        counts.completion_tokens = std::max(counts.completion_tokens, total - counts.prompt_tokens);
    }
    counts.cached_tokens =
        count_of(either("prompt_tokens_details", "input_tokens_details").find("cached_tokens"));
    if (counts.cached_tokens < 0) {
        counts.cached_tokens = count_of(usage.find("prompt_cache_hit_tokens"));  // DeepSeek
    }
    return counts;
}

}  // namespace driftless

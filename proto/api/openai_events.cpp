/// What OpenAI's API and its relatives share: the options of a stream, and which of its events bear
/// tokens.

#include <algorithm>

#include "proto/api/dialect.hpp"
#include "proto/core/text.hpp"

namespace driftless {

std::string_view openai_stream_options(bool continuous_usage) {
    return continuous_usage ? R"({"include_usage":true,"continuous_usage_stats":true})"
                            : R"({"include_usage":true})";
}

BodyShape chat_shape_of(const BodySpec& spec) {
    BodyShape shape = chat_shape;
    shape.length_name = length_name_of(spec, shape.length_name);
    return shape;
}

BodyMembers openai_members(const BodySpec& spec) {
    BodyMembers members = flat_members(spec);
    if (spec.stream && spec.stream_options) {  // behind `stream`, the first of the last
        members.last.insert(
            members.last.begin() + 1,
            {"stream_options", std::string(openai_stream_options(spec.continuous_usage))});
    }
    return members;
}

/// Members of a choice beside its delta that have no text of the model: names of ends and filters.
static bool is_of_the_end(std::string_view name) {
    return name == "delta" || name == "message" || name.ends_with("reason") ||
           name.starts_with("matched_stop") || name.find("filter") != name.npos;
}

/// The first member of a choice that has text and is not read.
static std::string_view find_unread(const JsonValue& choice) {
    for (JsonValue member = choice.first(); member.present(); member = member.next()) {
        if (!is_of_the_end(member.key()) && has_text(member)) {
            return member.key();
        }
    }
    return {};
}

/// llama.cpp's own counts, where the request did not ask for a usage. `prompt_n` leaves the cached
/// tokens out.
static void read_timings(const JsonValue& timings, EventReading& reading) {
    const std::int64_t read = count_of(timings.find("prompt_n"));
    reading.cached_tokens = count_of(timings.find("cache_n"));
    reading.completion_tokens = count_of(timings.find("predicted_n"));
    reading.prompt_tokens =
        read < 0 ? read : read + std::max<std::int64_t>(reading.cached_tokens, 0);
    reading.has_usage = reading.prompt_tokens >= 0 || reading.completion_tokens >= 0;
}

/// A usage that says something.
static bool has_counts(const JsonValue& usage) {
    return usage.is(JsonType::object) && usage.size() > 0;
}

/// The usage of an event, wherever it stands; else what is in its ordinary place.
static JsonValue find_usage(const JsonValue& root, const JsonValue& choices) {
    const JsonValue usage = root.find("usage");
    if (has_counts(usage)) {
        return usage;
    }
    for (JsonValue choice = choices.first(); choice.present(); choice = choice.next()) {
        if (const JsonValue inside = choice.find("usage"); has_counts(inside)) {
            return inside;
        }
    }
    const JsonValue of_groq = root.find("x_groq").find("usage");
    return has_counts(of_groq) ? of_groq : usage;
}

void read_choice_frame(const JsonValue& choice, EventReading& reading) {
    if (const JsonValue ids = choice.find("token_ids"); ids.is(JsonType::array)) {
        reading.token_ids =
            std::max<std::int64_t>(reading.token_ids, 0) + static_cast<std::int64_t>(ids.size());
    }
    read_finish(choice.find("finish_reason"), reading);
}

void read_openai_event(const JsonValue& root, ReadChoice read_choice, EventReading& reading) {
    const JsonValue choices = root.find("choices");
    const JsonValue usage = find_usage(root, choices);
    if (choices.present() && !choices.is(JsonType::array) && !choices.is(JsonType::null)) {
        reading.kind = EventReading::Kind::bad;
        return;
    }
    const JsonValue timings = root.find("timings");
    const bool meaningful =
        choices.is(JsonType::array) || usage.is(JsonType::object) || timings.is(JsonType::object);
    reading.kind = meaningful ? EventReading::Kind::delta : EventReading::Kind::ignored;
    reading.response_id = text_of(root.find("id"));
    for (JsonValue choice = choices.first(); choice.present(); choice = choice.next()) {
        read_choice(choice, reading);
    }
    reading.usage_is_running = choices.size() > 0;
    if (!usage.is(JsonType::object)) {
        read_timings(timings, reading);
    } else {
        read_usage(usage, reading);
    }
    reading.token_bearing = !reading.content.empty() || !reading.reasoning.empty() ||
                            !reading.tool_text.empty() || reading.token_ids > 0;
    for (JsonValue choice = choices.first();
         choice.present() && !reading.token_bearing && reading.unread_member.empty();
         choice = choice.next()) {
        reading.unread_member = find_unread(choice);
    }
}

}  // namespace driftless

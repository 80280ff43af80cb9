#include "proto/api/openai_common.hpp"

#include <algorithm>
#include <vector>

#include "proto/json/write.hpp"

namespace driftless {

namespace {

// One member of a body: its value as JSON text.
struct Member {
    std::string name;
    std::string json;
};

std::string quoted(std::string_view text) {
    std::string out;
    JsonWriter(out).string(text);
    return out;
}

std::string stream_options(bool continuous_usage) {
    std::string out;
    JsonWriter json(out);
    json.begin_object().key("include_usage").boolean(true);
    if (continuous_usage) {
        json.key("continuous_usage_stats").boolean(true);
    }
    json.end_object();
    return out;
}

// The members after prompt and length. None is ever null: several servers refuse nulls.
std::vector<Member> fixed_members(const BodySpec& spec) {
    std::vector<Member> members;
    if (spec.stream) {
        members.push_back({"stream", "true"});
        members.push_back({"stream_options", stream_options(spec.continuous_usage)});
    }
    members.push_back({"temperature", "0"});
    if (spec.output == OutputRule::exact && spec.ignore_eos) {
        members.push_back({"ignore_eos", "true"});
    }
    return members;
}

void replace_or_add(std::vector<Member>& members, std::string_view name, std::string_view json) {
    const auto same = std::find_if(members.begin(), members.end(),
                                   [name](const Member& member) { return member.name == name; });
    if (json == "null") {
        if (same != members.end()) {
            members.erase(same);
        }
    } else if (same != members.end()) {
        same->json = json;
    } else {
        members.push_back({std::string(name), std::string(json)});
    }
}

// Applies `--extra-body`; gives whether it takes the length out of our hands.
Result<bool> apply_extra(const BodySpec& spec, const OpenAiBody& body,
                         std::vector<Member>& before_prompt, std::vector<Member>& after_length) {
    JsonDocument document;
    const Result<JsonValue> extra = document.parse(spec.extra_body);
    if (!extra) {
        return extra.error();
    }
    const Error invalid{ErrorCode::invalid, 0, "read the extra body"};
    if (!extra.value().is(JsonType::object)) {
        return invalid;
    }
    bool length_taken = false;
    for (JsonValue member = extra.value().first(); member.present(); member = member.next()) {
        if (member.key() == body.prompt_name) {
            return invalid;
        }
        length_taken = length_taken || member.key() == body.length_name;
        const bool replaces_first =
            !before_prompt.empty() && before_prompt.front().name == member.key();
        replace_or_add(replaces_first ? before_prompt : after_length, member.key(), member.raw());
    }
    return length_taken;
}

void append_member(std::string& out, std::string_view name, std::string_view value) {
    out += ',';
    out += quoted(name);
    out += ':';
    out += value;
}

}  // namespace

Result<BodyFrame> make_openai_frame(const BodySpec& spec, const OpenAiBody& body) {
    std::vector<Member> before_prompt;
    if (!spec.model.empty()) {
        before_prompt.push_back({"model", quoted(spec.model)});
    }
    std::vector<Member> after_length = fixed_members(spec);
    BodyFrame frame;
    frame.has_length = spec.output != OutputRule::free;
    if (!spec.extra_body.empty()) {
        const Result<bool> length_taken = apply_extra(spec, body, before_prompt, after_length);
        if (!length_taken) {
            return length_taken.error();
        }
        frame.has_length = frame.has_length && !length_taken.value();
    }
    for (const Member& member : before_prompt) {
        append_member(frame.before, member.name, member.json);
    }
    append_member(frame.before, body.prompt_name, body.prompt_open);
    frame.between = body.prompt_close;
    if (frame.has_length) {
        append_member(frame.between, body.length_name, {});
    }
    for (const Member& member : after_length) {
        append_member(frame.after, member.name, member.json);
    }
    frame.before.front() = '{';  // in place of the first comma
    frame.after += '}';
    return frame;
}

namespace {

std::string_view without_blanks(std::string_view text) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
    return text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
}

// The error that an event holds, or that it is (SGLang sends flat ones); nothing where it is none.
std::optional<std::string_view> find_error(const JsonValue& root, std::string_view event_name) {
    const JsonValue error = root.find("error");
    if (error.present() && !error.is(JsonType::null)) {
        const JsonValue message = error.is(JsonType::object) ? error.find("message") : error;
        return message.as_string().value_or(error.raw());
    }
    if (event_name == "error" || root.find("object").as_string() == "error") {
        return root.find("message").as_string().value_or(root.raw());
    }
    return std::nullopt;
}

}  // namespace

void read_choice_frame(const JsonValue& choice, EventReading& reading) {
    if (const JsonValue ids = choice.find("token_ids"); ids.is(JsonType::array)) {
        reading.token_ids =
            std::max<std::int64_t>(reading.token_ids, 0) + static_cast<std::int64_t>(ids.size());
    }
    if (const auto reason = choice.find("finish_reason").as_string()) {
        reading.finish_reason = *reason;
    }
}

EventReading read_openai_event(JsonDocument& document, std::string_view event_name,
                               std::string_view data,
                               void (*read_choice)(const JsonValue& choice,
                                                   EventReading& reading)) {
    EventReading reading;
    if (!event_name.empty() && event_name != "message" && event_name != "error") {
        return reading;  // annotations of routers and gateways
    }
    const std::string_view payload = without_blanks(data);
    if (payload == "[DONE]") {
        reading.kind = EventReading::Kind::done;
        return reading;
    }
    reading.kind = EventReading::Kind::bad;
    const Result<JsonValue> parsed = document.parse(payload);
    if (!parsed || !parsed.value().is(JsonType::object)) {
        return reading;
    }
    const JsonValue root = parsed.value();
    if (const auto message = find_error(root, event_name)) {
        reading.kind = EventReading::Kind::error;
        reading.error_message = *message;
        return reading;
    }
    const JsonValue choices = root.find("choices");
    const JsonValue usage = root.find("usage");
    if (choices.present() && !choices.is(JsonType::array) && !choices.is(JsonType::null)) {
        return reading;
    }
    const bool meaningful = choices.is(JsonType::array) || usage.is(JsonType::object);
    reading.kind = meaningful ? EventReading::Kind::delta : EventReading::Kind::ignored;
    reading.response_id = root.find("id").as_string().value_or(std::string_view{});
    for (JsonValue choice = choices.first(); choice.present(); choice = choice.next()) {
        read_choice(choice, reading);
    }
    if (usage.is(JsonType::object)) {
        const Usage counts = read_usage(usage);
        reading.has_usage = true;
        reading.usage_with_choices = choices.size() > 0;
        reading.prompt_tokens = counts.prompt_tokens;
        reading.completion_tokens = counts.completion_tokens;
        reading.cached_tokens = counts.cached_tokens;
    }
    reading.token_bearing = !reading.content.empty() || !reading.reasoning.empty() ||
                            !reading.tool_text.empty() || reading.token_ids > 0;
    return reading;
}

}  // namespace driftless

/// The table of all dialects, errors and usage as any of them tells them, and the parts they share.

#include "proto/api/dialect.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "proto/api/api_template.hpp"
#include "proto/core/errors.hpp"
#include "proto/core/text.hpp"
#include "proto/json/put.hpp"

namespace driftless {

static constexpr const Dialect* all_dialects[] = {&openai_chat_dialect,
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

// The message of an error body that is JSON; empty where none of the known places holds one.
static std::string_view find_message(const JsonValue& root) {
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
static bool is_annotation(std::string_view event_name, std::string_view data) {
    return !event_name.empty() && event_name != "message" && event_name != "error" &&
           data.find("\"usage\"") == data.npos;
}

/// Every prompt has a token: a usage that counts none was not counted, and its zeros are unknown.
static void forget_zeros(EventReading& reading) {
    for (std::int64_t* count :
         {&reading.prompt_tokens, &reading.completion_tokens, &reading.cached_tokens}) {
        *count = *count == 0 ? -1 : *count;
    }
}

/// The title of an HTML page, as proxies answer: "502 Bad Gateway"; of one without a title, its
/// first text. Empty where there is none.
static std::string_view title_of(std::string_view body) {
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
        if (dialect->name == name || std::ranges::count(dialect->aliases, name) > 0) {
            return dialect;
        }
    }
    return nullptr;
}

const Dialect& dialect_of(Api api) {
    const auto* const found = std::ranges::find(all_dialects, api, &Dialect::api);
    CHECK(found != std::end(all_dialects));
    return **found;
}

std::string dialect_names() {
    return joined(all_dialects, ", ", &Dialect::name);
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

void read_usage(const JsonValue& usage, EventReading& reading) {
    const auto either = [&usage](std::string_view name, std::string_view other) {
        const JsonValue value = usage.find(name);
        return value.present() ? value : usage.find(other);
    };
    reading.has_usage = true;
    reading.prompt_tokens = count_of(either("prompt_tokens", "input_tokens"));
    reading.completion_tokens = count_of(either("completion_tokens", "output_tokens"));
    const std::int64_t total = count_of(usage.find("total_tokens"));
    if (reading.prompt_tokens > 0 && reading.completion_tokens >= 0) {
        reading.completion_tokens =
            std::max(reading.completion_tokens, total - reading.prompt_tokens);
    }
    reading.cached_tokens =
        count_of(either("prompt_tokens_details", "input_tokens_details").find("cached_tokens"));
    if (reading.cached_tokens < 0) {
        reading.cached_tokens = count_of(usage.find("prompt_cache_hit_tokens"));  // DeepSeek
    }
}

std::string_view length_name_of(const BodySpec& spec, std::string_view usual) {
    return spec.length_member.empty() ? usual : spec.length_member;
}

void set_member(std::vector<BodyMember>& members, std::string_view name, std::string_view json) {
    const auto same = std::ranges::find(members, name, &BodyMember::name);
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

bool has_member(const std::vector<BodyMember>& members, std::string_view name) {
    return std::ranges::count(members, name, &BodyMember::name) > 0;
}

void append_member(std::string& out, std::string_view name, std::string_view value) {
    out += ',';
    out += json_text(name);
    out += ':';
    out += value;
}

/// Applies the members of `object` to the list that holds the length. True: it sets the length.
static bool apply_beside_length(const JsonValue& object, const BodyShape& shape,
                                std::vector<BodyMember>& members) {
    bool length_taken = false;
    for (JsonValue member = object.first(); member.present(); member = member.next()) {
        length_taken = length_taken || member.key() == shape.length_name;
        set_member(members, member.key(), member.raw());
    }
    return length_taken;
}

/// Applies `--extra-body`; gives whether it takes the length out of our hands.
static Result<bool> apply_extra(const BodySpec& spec, const BodyShape& shape,
                                BodyMembers& members) {
    JsonDocument document;
    const Result<JsonValue> extra = read_extra_body(spec, document);
    if (!extra) {
        return extra.error();
    }
    bool length_taken = false;
    for (JsonValue member = extra.value().first(); member.present(); member = member.next()) {
        const std::string_view name = member.key();
        if (name == shape.prompt_name) {
            return extra_takes_prompt;
        }
        if (!shape.nest.empty() && name == shape.nest) {
            if (!member.is(JsonType::object)) {
                return Error{ErrorCode::invalid, 0,
                             "has other members; give an object, which is merged into it"};
            }
            length_taken = apply_beside_length(member, shape, members.nested) || length_taken;
            continue;
        }
        length_taken = length_taken || (shape.nest.empty() && name == shape.length_name);
        set_member(has_member(members.first, name) ? members.first : members.last, name,
                   member.raw());
    }
    return length_taken;
}

static void append_members(std::string& out, const std::vector<BodyMember>& members) {
    for (const BodyMember& member : members) {
        append_member(out, member.name, member.json);
    }
}

Result<JsonValue> read_extra_body(const BodySpec& spec, JsonDocument& document) {
    if (spec.extra_body.empty()) {
        return JsonValue();
    }
    const Result<JsonValue> extra = document.parse(spec.extra_body);
    return !extra || extra.value().is(JsonType::object)
               ? extra
               : Error{ErrorCode::invalid, 0, "is not a JSON object"};
}

std::string joined_objects(std::string_view first, std::string_view second) {
    std::vector<BodyMember> all;
    for (const std::string_view text : {first, second}) {
        const ParsedJson members{std::string(text)};
        for (JsonValue one = members.root.first(); one.present(); one = one.next()) {
            if (!has_member(all, one.key())) {
                all.push_back({std::string(one.key()), std::string(one.raw())});
            }
        }
    }
    std::string out;
    append_members(out, all);
    out.resize(std::max<std::size_t>(out.size(), 1));
    out.front() = '{';  // in place of the first comma
    return out + '}';
}

// One by one, so that the one at fault has a name.
std::string refused_extra(const Dialect& dialect, BodySpec spec, std::string_view extra) {
    const ParsedJson members{std::string(extra)};
    for (JsonValue member = members.root.first(); member.present(); member = member.next()) {
        if (member.key() == "stream" && member.as_bool() != spec.stream) {
            return "\"stream\" decides how answers are read; remove it";
        }
        spec.extra_body = json_text(JsonPairs{{member.key(), member}});
        if (const Result<BodyFrame> frame = dialect.frame(spec); !frame) {
            return json_text(member.key()) + " " + frame.error().doing;
        }
    }
    return "";
}

std::vector<BodyMember> model_member(const BodySpec& spec) {
    return spec.model.empty() ? std::vector<BodyMember>()
                              : std::vector<BodyMember>{{"model", json_text(spec.model)}};
}

BodyMembers flat_members(const BodySpec& spec) {
    BodyMembers members;
    members.first = model_member(spec);
    if (spec.stream) {
        members.last.push_back({"stream", "true"});
    }
    members.last.push_back({"temperature", "0"});
    if (spec.output == OutputRule::exact && spec.ignore_eos) {
        members.last.push_back({"ignore_eos", "true"});
    }
    return members;
}

Result<BodyFrame> make_frame(const BodySpec& spec, const BodyShape& shape, BodyMembers members) {
    BodyFrame frame;
    frame.has_length = spec.output != OutputRule::free;
    const Result<bool> length_taken = apply_extra(spec, shape, members);
    if (!length_taken) {
        return length_taken.error();
    }
    frame.has_length = frame.has_length && !length_taken.value();
    append_members(frame.before, members.first);
    append_member(frame.before, shape.prompt_name, shape.prompt_open);
    frame.before.front() = '{';  // in place of the first comma
    frame.between = shape.prompt_close;
    std::string inside;
    if (frame.has_length) {
        append_member(inside, shape.length_name, {});
    }
    std::string behind;
    append_members(behind, members.nested);
    if (!shape.nest.empty()) {
        behind += '}';
        // What comes first in the nest has no comma before it.
        std::string& first = frame.has_length ? inside : behind;
        first.erase(0, first.front() == ',' ? 1 : 0);
        append_member(frame.between, shape.nest, "{");
    }
    frame.between += inside;
    frame.after = behind;
    append_members(frame.after, members.last);
    frame.after += '}';
    return frame;
}

/// The error that an event holds, or that it is (SGLang sends flat ones); nothing where it is none.
static std::optional<std::string_view> find_error(const JsonValue& root,
                                                  std::string_view event_name) {
    if (const auto said = error_said(root.find("error"))) {
        return said;
    }
    if (event_name == "error" || root.find("object").as_string() == "error") {
        return root.find("message").as_string().value_or(root.raw());
    }
    return std::nullopt;
}

/// How finish reasons begin by which servers give a request up: vLLM, SGLang, LMDeploy, Mistral,
/// Dynamo and OpenRouter (error, abort), TensorRT-LLM (cancelled, timeout), DeepSeek
/// (insufficient_system_resource), Responses (failed).
static constexpr std::string_view failures[] = {
    "error", "abort", "cancel", "fail", "timeout", "internal_error", "insufficient_system_resource",
};

/// Members that describe a value and have none of its text, or none that the model made.
static constexpr std::string_view labels[] = {
    "role",        "name",     "id",     "tool_call_id", "type",     "format",    "signature",
    "url",         "object",   "status", "detail",       "encoding", "citations", "citation",
    "annotations", "logprobs", "usage",  "metadata",     "data",
};

static bool is_label(std::string_view name) {
    return std::ranges::count(labels, name) > 0;
}

static bool says_something(const JsonValue& error) {
    switch (error.present() ? error.type() : JsonType::null) {
        case JsonType::null:
            return false;
        case JsonType::boolean:
            return *error.as_bool();
        case JsonType::number:
            return error.as_double() != 0.0;  // codes; one beyond a double is one, too
        case JsonType::string:
            return !error.as_string()->empty();
        case JsonType::array:
        case JsonType::object:
            return error.size() > 0;
    }
    return false;
}

JsonValue open_event(JsonDocument& document, std::string_view event_name, std::string_view data,
                     EventReading& reading, JsonType or_root) {
    const std::string_view payload = trim(data, white_space);
    if (payload == "[DONE]") {
        reading.kind = EventReading::Kind::done;
        return {};
    }
    reading.kind = EventReading::Kind::bad;
    const Result<JsonValue> parsed = document.parse(payload);
    if (!parsed || !(parsed.value().is(JsonType::object) || parsed.value().is(or_root))) {
        return {};
    }
    if (const auto message = find_error(parsed.value(), event_name)) {
        reading.kind = EventReading::Kind::error;
        reading.error_message = *message;
        return {};
    }
    reading.kind = EventReading::Kind::delta;
    return parsed.value();
}

std::optional<std::string_view> error_said(const JsonValue& error) {
    if (!says_something(error)) {
        return std::nullopt;
    }
    const JsonValue message = error.is(JsonType::object) ? error.find("message") : error;
    return message.as_string().value_or(error.raw());
}

bool is_failed_finish(std::string_view finish_reason) {
    return std::ranges::any_of(failures, [finish_reason](std::string_view begin) {
        return equal_ignoring_case(finish_reason.substr(0, begin.size()), begin);
    });
}

void read_finish(const JsonValue& finish, EventReading& reading) {
    const JsonValue type = finish.is(JsonType::object) ? finish.find("type") : finish;
    const auto reason = type.as_string();
    if (reason && *reason != "null" && *reason != "None") {  // the names of nothing, as texts
        reading.finish_reason = *reason;
        reading.error_message = is_failed_finish(*reason) ? text_of(finish.find("message")) : "";
    }
}

bool has_text(const JsonValue& value) {
    constexpr std::size_t values_max = 64;
    std::array<JsonValue, 8> open;  // a value at each depth, of which the rest is still to be seen
    std::size_t depth = 1;
    open[0] = value;
    for (std::size_t seen = 0; depth > 0 && seen < values_max; ++seen) {
        const JsonValue here = open[depth - 1];
        open[depth - 1] = depth > 1 ? here.next() : JsonValue();
        if (!here.present()) {
            --depth;
        } else if (is_label(here.key())) {
            continue;
        } else if (!text_of(here).empty()) {
            return true;
        } else if (here.size() > 0 && depth < open.size()) {
            open[depth++] = here.first();
        }
    }
    return false;
}

bool is_container(const JsonValue& value) {
    return value.is(JsonType::object) || value.is(JsonType::array);
}

std::string_view text_of(const JsonValue& value) {
    return value.as_string().value_or(std::string_view{});
}

std::int64_t count_of(const JsonValue& value) {
    if (!value.is(JsonType::number)) {
        return -1;
    }
    const std::string_view text = value.raw();
    const std::size_t point = std::min(text.find('.'), text.size());
    const bool is_integer = text.find_first_not_of('0', point + 1) == text.npos;
    return is_integer ? count_in(text.substr(0, point)) : -1;
}

}  // namespace driftless

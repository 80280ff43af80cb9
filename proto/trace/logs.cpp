#include "proto/trace/logs.hpp"

#include <algorithm>
#include <utility>

#include "proto/core/hash.hpp"
#include "proto/core/numbers.hpp"
#include "proto/core/text.hpp"
#include "proto/trace/csv.hpp"
#include "proto/trace/formats.hpp"
#include "proto/trace/times.hpp"

namespace driftless {

/// The most particular first: the first that matches is the one.
static constexpr const LogFormat* formats[] = {&otel_log, &langfuse_log, &litellm_log, &plain_log};

const LogFormat* find_log_format(std::string_view name) {
    const auto* const found = std::ranges::find(formats, name, &LogFormat::name);
    return found == std::end(formats) ? nullptr : *found;
}

std::string log_format_names() {
    return joined(formats, ", ", &LogFormat::name);
}

bool LogContext::refuse(std::string_view field, std::string problem, std::string remedy) const {
    errors.add({std::string(file), line, place + std::string(field), "", std::move(problem),
                std::move(remedy)});
    return false;
}

void LogContext::keep(LogCall& call, const JsonValue& object) const {
    keep(
        call, [&](std::string_view name) { return object.find_path(name); },
        [&] { return map_names(object); });
}

void LogContext::add(LogCall call) const {
    call.line = line;
    call.place = place;
    calls.push_back(std::move(call));
}

/// The contents of a string, a number as written; empty for all else.
static std::string_view scalar_text(const JsonValue& value) {
    return value.is(JsonType::number) ? value.raw() : value.as_string().value_or("");
}

/// An epoch in s, ms, us or ns by its magnitude (the years 2001 to 2286), or a wall clock with a
/// zone or in UTC: ns since 1970.
static std::optional<std::int64_t> time_of(const JsonValue& value) {
    const std::string_view text = scalar_text(value);
    const std::optional<TimeUnit> unit = guess_time_unit(text);
    if (!unit) {
        return std::nullopt;
    }
    const Result<std::int64_t> time = parse_time(text, *unit);
    return time ? std::optional(time.value()) : std::nullopt;
}

JsonValue member(const JsonValue& object, Names names) {
    for (const std::string_view name : names) {
        if (const JsonValue value = given(object.find(name)); value.present()) {
            return value;
        }
    }
    return {};
}

std::string_view text_member(const JsonValue& object, Names names) {
    for (const std::string_view name : names) {
        const std::string_view text = scalar_text(object.find(name));
        if (!text.empty()) {
            return text;
        }
    }
    return {};
}

bool read_times(const LogContext& context, const JsonValue& start, const JsonValue& end,
                std::string_view start_name, LogCall& call) {
    if (!start.present()) {
        return context.refuse(start_name,
                              "is missing: the log does not say when the request was made",
                              "export the log with times, or remove the line");
    }
    const std::optional<std::int64_t> began = time_of(start);
    if (!began) {
        return context.refuse(start_name, "is neither a date nor an epoch",
                              "write ISO-8601, or seconds, ms, us or ns since 1970");
    }
    call.start_ns = *began;
    call.end_ns = time_of(end);
    if (end.present() && (!call.end_ns || *call.end_ns < *began)) {
        call.end_ns.reset();
        context.remark("call whose end is not after its start: its end counts as unknown",
                       "calls whose ends are not after their starts: their ends count as unknown");
    }
    return true;
}

std::optional<std::uint32_t> tokens_of(const JsonValue& value) {
    const Result<std::uint64_t> whole = parse_whole(scalar_text(value));
    return whole && whole.value() <= row_tokens_max
               ? std::optional(static_cast<std::uint32_t>(whole.value()))
               : std::nullopt;
}

void read_usage(const JsonValue& usage, LogCall& call) {
    if (const auto prompt = tokens_of(usage.find("prompt_tokens"))) {
        call.input_tokens = prompt;
    } else if (const auto input = tokens_of(usage.find("input_tokens"))) {
        const std::uint32_t read = tokens_of(usage.find("cache_read_input_tokens")).value_or(0);
        const std::uint32_t made = tokens_of(usage.find("cache_creation_input_tokens")).value_or(0);
        call.input_tokens = std::min(*input + read + made, row_tokens_max);
    }
    const JsonValue output = member(usage, {"completion_tokens", "output_tokens"});
    if (const auto tokens = tokens_of(output)) {
        call.output_tokens = tokens;
    }
}

bool is_one_of(std::string_view text, Names names) {
    return std::ranges::any_of(
        names, [text](std::string_view name) { return equal_ignoring_case(text, name); });
}

static void add_line(std::string& out, std::string_view text) {
    if (!text.empty()) {
        out += out.empty() ? "" : "\n";
        out += text;
    }
}

/// A text as it is, other JSON as written.
static std::string_view text_or_raw(const JsonValue& value) {
    return value.as_string().value_or(value.is(JsonType::null) ? std::string_view{} : value.raw());
}

/// A few tokens that say that something is here, and whether it is the same elsewhere.
static void add_mark(const LogContext& context, const JsonValue& part, std::string& out) {
    Xxh64 digest;
    digest.add(part.raw());
    add_line(out, "[part " + hex_text(digest.value()) + "]");
    context.remark(
        "part of a prompt is not text (image, audio, file): a short mark replaces it",
        "parts of prompts are not text (images, audio, files): a short mark replaces each");
}

static void add_call(const JsonValue& call, std::string& out) {
    const JsonValue function = member(call, {"function"});
    const JsonValue& named = function.is(JsonType::object) ? function : call;
    add_line(out, text_member(named, {"name"}));
    add_line(out, text_or_raw(member(named, {"arguments", "input"})));
}

/// The text of a part, where it is one; nothing else.
static std::string_view text_of_part(const JsonValue& part) {
    return part.is(JsonType::string)
               ? *part.as_string()
               : text_member(part, {"text", "content", "thinking", "reasoning", "refusal"});
}

/// What a tool gave: a text, or parts.
static void add_result(const LogContext& context, const JsonValue& result, std::string& out) {
    if (!result.is(JsonType::array)) {
        add_line(out, text_or_raw(result));
        return;
    }
    for (JsonValue part = result.first(); part.present(); part = part.next()) {
        const std::string_view text = text_of_part(part);
        if (text.empty()) {
            add_mark(context, part, out);
        }
        add_line(out, text);
    }
}

static void add_part(const LogContext& context, const JsonValue& part, std::string& out) {
    const std::string_view type = text_member(part, {"type"});
    if (type == "tool_call" || type == "tool_use" || type == "function_call") {
        add_call(part, out);
    } else if (type == "tool_call_response" || type == "tool_result" ||
               type == "function_call_output") {
        add_result(context, member(part, {"response", "result", "content", "output"}), out);
    } else if (const std::string_view text = text_of_part(part); !text.empty()) {
        add_line(out, text);
    } else if (type != "text" && !part.is(JsonType::null)) {
        add_mark(context, part, out);
    }
}

static void add_content(const LogContext& context, const JsonValue& content, std::string& out) {
    if (content.is(JsonType::array)) {
        for (JsonValue part = content.first(); part.present(); part = part.next()) {
            add_part(context, part, out);
        }
    } else if (content.is(JsonType::object)) {
        add_part(context, content, out);
    } else if (content.present()) {
        add_line(out, text_or_raw(content));
    }
}

/// All text of a message. An item of the responses API is a part itself.
static std::string text_of(const LogContext& context, const JsonValue& message) {
    std::string text;
    if (!message.is(JsonType::object)) {
        add_content(context, message, text);
    } else if (text_member(message, {"type"}).starts_with("function_call")) {
        add_part(context, message, text);
    } else {
        add_content(context, member(message, {"content", "parts", "text"}), text);
        const JsonValue calls = message.find("tool_calls");
        for (JsonValue call = calls.first(); call.present(); call = call.next()) {
            add_call(call, text);
        }
    }
    return text;
}

static std::string_view role_of(const JsonValue& message) {
    const std::string_view type = text_member(message, {"type"});
    const std::string_view role = text_member(message, {"role"});
    return !role.empty()                    ? role
           : type == "function_call"        ? "assistant"
           : type == "function_call_output" ? "tool"
                                            : "user";
}

/// Messages, or what an API sends and gives; and not a text that happens to be JSON.
static bool is_conversation(const JsonValue& json) {
    const JsonValue one = json.is(JsonType::array) ? json.first() : json;
    return member(one, {"role", "messages", "message", "contents", "choices", "content", "parts",
                        "output"})
               .present() ||
           (one.find("args").present() && one.find("kwargs").present());
}

/// What is in a string, where it is the JSON of a conversation.
static JsonValue opened(const LogContext& context, const JsonValue& value) {
    const std::string_view text = value.as_string().value_or("");
    if (!text.starts_with('{') && !text.starts_with('[')) {
        return value;
    }
    const Result<JsonValue> parsed = context.inner.parse(text);
    return parsed && is_conversation(parsed.value()) ? parsed.value() : value;
}

static void add_list(const LogContext& context, const JsonValue& list, LogCall& call) {
    for (JsonValue one = list.first(); one.present(); one = one.next()) {
        call.prompt.push_back({std::string(role_of(one)), text_of(context, one)});
    }
}

/// A list of token ids or of several prompts is no conversation.
static bool holds_messages(const JsonValue& list) {
    for (JsonValue one = list.first(); one.present(); one = one.next()) {
        if (!one.is(JsonType::object)) {
            return false;
        }
    }
    return true;
}

static void answer_with(const LogContext& context, const JsonValue& message, LogCall& call) {
    std::string text = text_of(context, message);
    if (const auto reasoning = member(message, {"reasoning_content", "reasoning"}).as_string()) {
        add_line(text, *reasoning);
    }
    call.answer = std::move(text);
    if (message.find("tool_calls").size() > 0) {
        context.remark("answer calls tools", "answers call tools");
    }
}

/// The first of several choices; the others are counted.
static void answer_of_list(const LogContext& context, const JsonValue& list, LogCall& call) {
    const JsonValue first = list.first();
    if (!first.present()) {
        return;
    }
    const JsonValue message = member(first, {"message"});
    answer_with(context, message.present() ? message : first, call);
    if (list.size() > 1) {
        context.remark("call has several answers: usage counts them all, the prompt only once",
                       "calls have several answers: usage counts them all, each prompt only once");
    }
}

/// The responses API: items that are one answer together.
static void answer_of_items(const LogContext& context, const JsonValue& items, LogCall& call) {
    std::string text;
    for (JsonValue item = items.first(); item.present(); item = item.next()) {
        add_line(text, text_of(context, item));
    }
    call.answer = std::move(text);
}

/// Langfuse's decorators log a call as its arguments: the named ones have the prompt, where they
/// have one at all.
static JsonValue named_arguments(const JsonValue& value) {
    const JsonValue kwargs = value.find("kwargs");
    const bool prompt = member(kwargs, {"messages", "input", "contents", "prompt"}).present();
    return prompt ? kwargs : value;
}

void add_messages(const LogContext& context, const JsonValue& messages, LogCall& call) {
    const JsonValue value = named_arguments(opened(context, messages));
    const std::size_t before = call.prompt.size();
    if (value.is(JsonType::array) && holds_messages(value)) {
        add_list(context, value, call);
    } else if (value.is(JsonType::object)) {
        const JsonValue inside = member(value, {"messages", "input", "contents", "prompt", "args"});
        if (inside.is(JsonType::array)) {
            add_tools(value.find("tools"), call);
            add_list(context, inside, call);
        } else if (std::string only = text_of(context, inside); !only.empty()) {
            call.prompt.push_back({"user", std::move(only)});
        } else if (std::string text = text_of(context, value); !text.empty()) {
            call.prompt.push_back({std::string(role_of(value)), std::move(text)});
        }
    } else if (value.size() > 0 && !messages.is(JsonType::string)) {
        context.remark("prompt is a list of token ids or of several prompts: it has no text here",
                       "prompts are lists of token ids or of several prompts: they have no text");
    }
    const std::string_view whole = messages.as_string().value_or("");
    if (call.prompt.size() == before && !whole.empty()) {
        call.prompt.push_back({"", std::string(whole)});  // a text, whatever else it looks like
    }
}

void add_tools(const JsonValue& tools, LogCall& call) {
    const bool some = tools.size() > 0 || !tools.as_string().value_or("").empty();
    if (some) {
        call.prompt.push_back({"tools", std::string(text_or_raw(tools))});
    }
}

void read_request(const LogContext& context, const JsonValue& body, LogCall& call) {
    add_tools(body.find("tools"), call);
    const JsonValue instructions = member(body, {"system", "instructions"});
    if (instructions.present()) {
        std::string text;
        add_content(context, instructions, text);
        call.prompt.push_back({"system", std::move(text)});
    }
    add_messages(context, member(body, {"messages", "input", "prompt"}), call);
    call.streamed = body.find("stream").as_bool().value_or(false);
    if (body.find("n").as_u64().value_or(1) > 1) {
        context.remark("request asks for several answers: replay asks for one",
                       "requests ask for several answers: replay asks for one each");
    }
}

void read_response(const LogContext& context, const JsonValue& response, LogCall& call) {
    const JsonValue value = opened(context, response);
    if (const auto text = value.as_string()) {
        call.answer = std::string(*text);
        return;
    }
    if (value.is(JsonType::array)) {
        answer_of_list(context, value, call);
        return;
    }
    read_usage(value.find("usage"), call);
    if (const JsonValue choices = member(value, {"choices"}); choices.is(JsonType::array)) {
        answer_of_list(context, choices, call);
    } else if (const JsonValue items = member(value, {"output"}); items.is(JsonType::array)) {
        answer_of_items(context, items, call);
    } else if (member(value, {"content", "parts", "text", "tool_calls"}).present()) {
        answer_with(context, value, call);
    }
}

LogReader::LogReader(std::string_view format, const std::vector<std::string>& keep,
                     InputErrors& errors)
    : errors_(errors), format_(find_log_format(format)) {
    for (const std::string& name : keep) {
        columns_.push_back({name});
    }
    if (!format.empty() && format_ == nullptr) {
        stopped_ = true;
        errors_.add({"", 0, "--log-format", std::string(format), "is not a format of logs",
                     "this version reads " + log_format_names()});
    }
}

LogContext LogReader::context(std::uint64_t line) {
    return {calls_, remarks_, columns_, names_, errors_, inner_, file_, line};
}

void LogReader::begin_file(std::string_view name) {
    file_ = name;
    container_ = Container::unknown;
    texts_.clear();
    calls_.clear();
}

bool LogReader::add_line(std::uint64_t number, std::string_view line) {
    calls_.clear();
    if (stopped_ || container_ == Container::refused) {
        return false;
    }
    const std::string_view text = trim(line, white_space);
    if (container_ == Container::unknown && !text.empty()) {
        const bool closed = text.front() == '{' && text.back() == '}';
        container_ = closed ? Container::lines : Container::gathered;
    }
    if (container_ == Container::gathered) {
        return gather(number, line);
    }
    if (!text.empty()) {
        json_text(number, text);
    }
    return container_ != Container::refused;
}

/// Takes the line to the text at hand. One that it closes is read; the next begins behind it.
bool LogReader::gather(std::uint64_t number, std::string_view line) {
    while (container_ == Container::gathered) {  // each turn takes a text off, or the line's end
        const JsonTexts::Found found = texts_.take(number, line);
        const std::string_view text = texts_.text();
        const bool json = text.empty() || text.front() == '{' || text.front() == '[';
        if (!json || found == JsonTexts::Found::too_long) {
            context(texts_.line())
                .refuse("", json ? "is one JSON text of more than 64 MiB" : "is not a JSON object",
                        json ? "split it into lines: jq -c '.[]'"
                             : "a log is JSON lines, or a JSON array; this version reads " +
                                   log_format_names());
            container_ = Container::refused;
        } else if (found == JsonTexts::Found::part) {
            return true;
        } else {
            json_text(texts_.line(), text);
        }
        texts_.clear();
    }
    return false;
}

void LogReader::end_file() {
    calls_.clear();
    if (container_ == Container::gathered && !texts_.text().empty()) {
        json_text(texts_.line(), texts_.text());
    }
    texts_.clear();
    container_ = Container::refused;
}

/// One object, or an array of them.
void LogReader::json_text(std::uint64_t line, std::string_view text) {
    LogContext here = context(line);
    const Result<JsonValue> json = document_.parse(text);
    if (json && json.value().is(JsonType::object)) {
        json_object(here, json.value());
        return;
    }
    if (!json || !json.value().is(JsonType::array)) {
        here.refuse(
            "", "is not JSON, at byte " + std::to_string(document_.error_offset() + 1),
            "correct or remove it; the last line of a log still being written may be incomplete");
        // Where a broken text of several lines ends is not known.
        container_ = container_ == Container::gathered ? Container::refused : container_;
        return;
    }
    here.read_each(json.value(), "", [&](const JsonValue& one) {
        if (container_ == Container::refused) {
            return;
        }
        if (one.is(JsonType::object)) {
            json_object(here, one);
        } else {
            here.refuse("", "is not a JSON object", "correct or remove it");
        }
    });
}

void LogReader::json_object(LogContext& here, const JsonValue& object) {
    for (const LogFormat* one : formats) {
        if (format_ == nullptr && one->matches(object)) {
            format_ = one;
        }
    }
    if (format_ == nullptr) {
        here.refuse(
            "", "does not have the keys of a known log format",
            "this version reads " + log_format_names() + "; name the format with --log-format");
        container_ = Container::refused;
        return;
    }
    format_->read(here, object);
}

void LogReader::finish() {
    for (const KeptColumn& column : columns_) {
        if (!column.seen && format_ != nullptr) {
            errors_.add(
                {"", 0, "--keep", column.name, "is not a column of any call",
                 names_.empty() ? "correct it, or remove it" : "columns are " + joined(names_)});
        }
    }
}

}  // namespace driftless

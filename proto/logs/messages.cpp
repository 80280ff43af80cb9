#include "proto/logs/messages.hpp"

#include <cstdio>

#include "proto/core/xxh64.hpp"
#include "proto/logs/fields.hpp"

namespace driftless {
namespace {

void add_line(std::string& out, std::string_view text) {
    if (!text.empty()) {
        out += out.empty() ? "" : "\n";
        out += text;
    }
}

/// A text as it is, other JSON as written.
std::string_view text_or_raw(const JsonValue& value) {
    return value.as_string().value_or(value.is(JsonType::null) ? std::string_view{} : value.raw());
}

/// A few tokens that say that something stands here, and whether it is the same elsewhere.
void add_mark(const LogContext& context, const JsonValue& part, std::string& out) {
    Xxh64 digest;
    digest.add(part.raw());
    char mark[32];
    std::snprintf(mark, sizeof mark, "[part %016llx]",
                  static_cast<unsigned long long>(digest.value()));
    add_line(out, mark);
    context.remark(
        "part of a prompt is not text (image, audio, file): a short mark replaces it",
        "parts of prompts are not text (images, audio, files): a short mark replaces each");
}

void add_call(const JsonValue& call, std::string& out) {
    const JsonValue function = member(call, {"function"});
    const JsonValue& named = function.is(JsonType::object) ? function : call;
    add_line(out, text_member(named, {"name"}));
    add_line(out, text_or_raw(member(named, {"arguments", "input"})));
}

/// The text of a part, where it is one; nothing else.
std::string_view text_of_part(const JsonValue& part) {
    return part.is(JsonType::string)
               ? *part.as_string()
               : text_member(part, {"text", "content", "thinking", "reasoning", "refusal"});
}

/// What a tool gave: a text, or parts.
void add_result(const LogContext& context, const JsonValue& result, std::string& out) {
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

void add_part(const LogContext& context, const JsonValue& part, std::string& out) {
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

void add_content(const LogContext& context, const JsonValue& content, std::string& out) {
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
std::string text_of(const LogContext& context, const JsonValue& message) {
    std::string text;
    if (!message.is(JsonType::object)) {
        add_content(context, message, text);
        return text;
    }
    const std::string_view type = text_member(message, {"type"});
    if (type.starts_with("function_call")) {
        add_part(context, message, text);
        return text;
    }
    add_content(context, member(message, {"content", "parts", "text"}), text);
    const JsonValue calls = message.find("tool_calls");
    for (JsonValue call = calls.first(); call.present(); call = call.next()) {
        add_call(call, text);
    }
    return text;
}

std::string_view role_of(const JsonValue& message) {
    const std::string_view type = text_member(message, {"type"});
    const std::string_view role = text_member(message, {"role"});
    return !role.empty()                    ? role
           : type == "function_call"        ? "assistant"
           : type == "function_call_output" ? "tool"
                                            : "user";
}

/// Messages, or what an API sends and gives; and not a text that happens to be JSON.
bool is_conversation(const JsonValue& json) {
    const JsonValue one = json.is(JsonType::array) ? json.first() : json;
    return member(one, {"role", "messages", "message", "contents", "choices", "content", "parts",
                        "output"})
               .present() ||
           (one.find("args").present() && one.find("kwargs").present());
}

/// What stands in a string, where it is the JSON of a conversation.
JsonValue opened(const LogContext& context, const JsonValue& value) {
    const std::string_view text = value.as_string().value_or("");
    if (!text.starts_with('{') && !text.starts_with('[')) {
        return value;
    }
    const Result<JsonValue> parsed = context.inner.parse(text);
    return parsed && is_conversation(parsed.value()) ? parsed.value() : value;
}

void add_list(const LogContext& context, const JsonValue& list, LogCall& call) {
    for (JsonValue one = list.first(); one.present(); one = one.next()) {
        call.prompt.push_back({std::string(role_of(one)), text_of(context, one)});
    }
}

/// A list of token ids or of several prompts is no conversation.
bool holds_messages(const JsonValue& list) {
    for (JsonValue one = list.first(); one.present(); one = one.next()) {
        if (!one.is(JsonType::object)) {
            return false;
        }
    }
    return true;
}

void answer_with(const LogContext& context, const JsonValue& message, LogCall& call) {
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
void answer_of_list(const LogContext& context, const JsonValue& list, LogCall& call) {
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
void answer_of_items(const LogContext& context, const JsonValue& items, LogCall& call) {
    std::string text;
    for (JsonValue item = items.first(); item.present(); item = item.next()) {
        add_line(text, text_of(context, item));
    }
    call.answer = std::move(text);
}

}  // namespace

namespace {

/// Langfuse's decorators log a call as its arguments: the named ones have the prompt, where they
/// have one at all.
JsonValue named_arguments(const JsonValue& value) {
    const JsonValue kwargs = value.find("kwargs");
    const bool prompt = member(kwargs, {"messages", "input", "contents", "prompt"}).present();
    return prompt ? kwargs : value;
}

}  // namespace

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

}  // namespace driftless

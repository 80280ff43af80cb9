#include "proto/api/recorded_words.hpp"

#include <vector>

namespace driftless {

namespace {

/// A container that is being written: what comes next in it.
struct Level {
    JsonValue next;
    bool object;
};

bool is_container(const JsonValue& value) {
    return value.is(JsonType::object) || value.is(JsonType::array);
}

/// The same for the same place in the conversation, so that later turns repeat it.
std::string call_id(std::uint32_t message, std::uint32_t call) {
    return "call_" + std::to_string(message) + "_" + std::to_string(call);
}

std::string_view text_or_empty(const JsonValue& value) {
    return value.as_string().value_or(std::string_view{});
}

/// Where the text of a message's content ends, which was written to `out` from `begin` on: of a
/// list of parts, the text of the last one that has any. 0: there is none, or it was mended.
std::size_t text_end_of(const JsonValue& content, const std::string& out, std::size_t begin) {
    const std::string_view raw = content.raw();
    if (std::string_view(out).substr(begin) != raw) {
        return 0;
    }
    JsonValue text = content;
    for (JsonValue part = content.is(JsonType::array) ? content.first() : JsonValue();
         part.present(); part = part.next()) {
        text = part.find("text").is(JsonType::string) ? part.find("text") : text;
    }
    const bool is_text = text.is(JsonType::string);
    const std::string_view last = text.raw();
    return is_text ? begin + static_cast<std::size_t>(last.data() + last.size() - raw.data()) - 1
                   : 0;
}

}  // namespace

// A value without the word null goes out as it stands; few have it.
void RecordedWords::write_clean(JsonWriter& json, const JsonValue& value, bool schema) {
    if (!is_container(value) || value.raw().find("null") == std::string_view::npos) {
        json.raw(value.raw());
        return;
    }
    std::vector<Level> open;
    const auto begin = [&](const JsonValue& container) {
        open.push_back({container.first(), container.is(JsonType::object)});
        open.back().object ? json.begin_object() : json.begin_array();
    };
    begin(value);
    while (!open.empty()) {  // each turn writes, or leaves, one value
        Level& level = open.back();
        const JsonValue child = level.next;
        if (!child.present()) {
            level.object ? json.end_object() : json.end_array();
            open.pop_back();
            continue;
        }
        level.next = child.next();
        if (level.object) {
            const bool kept = schema && (child.key() == "default" || child.key() == "const");
            if (child.is(JsonType::null) && !kept) {
                ++fixes_.nulls;
                continue;
            }
            json.key(child.key());
        }
        if (is_container(child)) {
            begin(child);
        } else {
            json.raw(child.raw());
        }
    }
}

std::string RecordedWords::value(const JsonValue& any) {
    std::string out;
    JsonWriter json(out);
    write_clean(json, any, false);
    return out;
}

std::string RecordedWords::tools(const JsonValue& list) {
    std::string out;
    JsonWriter json(out);
    write_clean(json, list, true);
    return out;
}

/// Arguments are text that holds JSON; some logs hold the JSON itself.
void RecordedWords::write_function(JsonWriter& json, const JsonValue& function) {
    json.begin_object();
    for (JsonValue member = function.first(); member.present(); member = member.next()) {
        if (member.key() == "arguments" && !member.is(JsonType::string)) {
            ++fixes_.arguments;
            json.key("arguments").string(member.is(JsonType::null) ? "{}" : member.raw());
        } else if (member.is(JsonType::null)) {
            ++fixes_.nulls;
        } else {
            json.key(member.key());
            write_clean(json, member, false);
        }
    }
    json.end_object();
}

void RecordedWords::write_calls(JsonWriter& json, const JsonValue& calls) {
    json.begin_array();
    std::uint32_t number = 0;
    for (JsonValue call = calls.first(); call.present(); call = call.next(), ++number) {
        if (!call.is(JsonType::object)) {
            json.raw(call.raw());
            continue;
        }
        json.begin_object();
        const JsonValue id = call.find("id");
        if (!id.present() || id.is(JsonType::null)) {
            ++fixes_.call_ids;
            json.key("id").string(call_id(message_, number));
        }
        for (JsonValue member = call.first(); member.present(); member = member.next()) {
            if (member.is(JsonType::null)) {
                fixes_.nulls += member.key() == "id" ? 0 : 1;
            } else if (member.key() == "function" && member.is(JsonType::object)) {
                json.key("function");
                write_function(json, member);
            } else {
                json.key(member.key());
                write_clean(json, member, false);
            }
        }
        json.end_object();
    }
    json.end_array();
}

/// Returns where its text ends in `out`, which the writer writes into; 0: it is no text.
std::size_t RecordedWords::write_message(JsonWriter& json, const JsonValue& message,
                                         const std::string& out) {
    std::size_t text_end = 0;
    const JsonValue calls = message.find("tool_calls");
    const bool has_calls = calls.is(JsonType::array) && calls.size() > 0;
    if (has_calls) {
        caller_ = message_;
        answers_ = 0;
    }
    json.begin_object();
    for (JsonValue member = message.first(); member.present(); member = member.next()) {
        const std::string_view key = member.key();
        if (key == "role" && text_or_empty(member) == "developer") {
            ++fixes_.roles;
            json.key(key).string("system");
        } else if (key == "tool_calls" && has_calls) {
            json.key(key);
            write_calls(json, member);
        } else if (member.is(JsonType::null) && !(key == "content" && has_calls)) {
            ++fixes_.nulls;
        } else {
            json.key(key);
            const std::size_t begin = out.size();
            write_clean(json, member, false);
            text_end = key == "content" ? text_end_of(member, out, begin) : text_end;
        }
    }
    if (text_or_empty(message.find("role")) == "tool") {
        const JsonValue id = message.find("tool_call_id");
        if (!id.present() || id.is(JsonType::null)) {
            ++fixes_.call_ids;
            json.key("tool_call_id").string(call_id(caller_, answers_));
        }
        ++answers_;
    }
    json.end_object();
    return text_end;
}

std::string RecordedWords::messages(const JsonValue& list, std::vector<MessageSpan>& spans) {
    std::string out;
    JsonWriter json(out);
    json.begin_array();
    spans.clear();
    for (JsonValue message = list.first(); message.present(); message = message.next()) {
        MessageSpan& span = spans.emplace_back();
        span.begin = out.size() + (spans.size() > 1 ? 1 : 0);  // behind the comma
        span.is_answer = text_or_empty(message.find("role")) == "assistant";
        if (message.is(JsonType::object)) {
            span.text_end = write_message(json, message, out);
        } else {
            json.raw(message.raw());
        }
        span.end = out.size();
        ++message_;
    }
    json.end_array();
    return out;
}

}  // namespace driftless

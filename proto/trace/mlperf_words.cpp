#include "proto/trace/mlperf_words.hpp"

#include <utility>

#include "proto/json/write.hpp"

namespace driftless {
namespace {

JsonValue member(const JsonValue& row, std::string_view name) {
    return given(row.find(name));
}

const char* lack(const JsonValue& value) {
    return value.present() ? "is not text" : "is missing";
}

/// Text, or a list of parts.
bool has_words(const JsonValue& content) {
    return is_text(content) || (content.is(JsonType::array) && content.size() > 0);
}

bool is_call(const JsonValue& call) {
    const JsonValue function = call.find("function");
    const JsonValue arguments = function.find("arguments");
    return is_text(call.find("id")) && is_text(function.find("name")) &&
           call.find("type").as_string().value_or("") == "function" &&
           (arguments.is(JsonType::string) || arguments.is(JsonType::object));
}

/// False after an error.
bool check_calls(const RowContext& context, const JsonValue& calls) {
    if (!check_objects(context, calls, "tool_calls")) {
        return false;
    }
    for (JsonValue call = calls.first(); call.present(); call = call.next()) {
        if (!is_call(call)) {
            return refuse_value(
                context, "tool_calls", call, "is not a function call",
                "give it an id, the type function, and a function with a name and arguments");
        }
    }
    return calls.size() > 0 || refuse_value(context, "tool_calls", calls, "is empty", "remove it");
}

/// {"role": .., "content": ..}, with what else the row has of `keys`.
template <typename Keys>
std::string message(const JsonValue& row, std::string_view role, std::string_view content,
                    const Keys& keys) {
    std::string words;
    JsonWriter json(words);
    json.begin_object().key("role").string(role).key("content").raw(content);
    for (const std::string_view key : keys) {
        if (const JsonValue value = member(row, key); value.present()) {
            json.key(key).raw(value.raw());
        }
    }
    json.end_object();
    return words;
}

constexpr std::string_view user_keys[] = {"name"};
constexpr std::string_view assistant_keys[] = {"name", "tool_calls", "reasoning_content"};

}  // namespace

bool is_text(const JsonValue& value) {
    return !value.as_string().value_or("").empty();
}

bool refuse_value(const RowContext& context, std::string_view field, const JsonValue& value,
                  std::string problem, std::string remedy) {
    context.refuse(field, value.present() ? value.raw() : std::string_view{}, std::move(problem),
                   std::move(remedy));
    return false;
}

std::string system_words(const JsonValue& system) {
    std::string words;
    JsonWriter(words)
        .begin_object()
        .key("role")
        .string("system")
        .key("content")
        .raw(system.raw())
        .end_object();
    return words;
}

std::optional<std::string> user_words(const RowContext& context, const JsonValue& row) {
    const JsonValue content = member(row, "content");
    if (!has_words(content)) {
        refuse_value(context, "content", content, lack(content), "give a user's row text");
        return std::nullopt;
    }
    return message(row, "user", content.raw(), user_keys);
}

std::optional<std::string> tool_words(const RowContext& context, const JsonValue& row) {
    const JsonValue results = member(row, "tool_results");
    if (!check_objects(context, results, "tool_results")) {
        return std::nullopt;
    }
    if (results.size() == 0) {
        refuse_value(context, "tool_results", results,
                     results.present() ? "is empty" : "is missing",
                     "give a tool's row its results");
        return std::nullopt;
    }
    std::string words;
    JsonWriter json(words);
    for (JsonValue one = results.first(); one.present(); one = one.next()) {
        const JsonValue id = one.find("tool_call_id");
        const JsonValue content = member(one, "content");
        if (!is_text(id) || !content.present()) {
            refuse_value(context, "tool_results", one, "lacks tool_call_id or content",
                         "give a result its tool_call_id and content");
            return std::nullopt;
        }
        json.begin_object().key("role").string("tool").key("tool_call_id").raw(id.raw());
        json.key("content").raw(content.raw()).end_object();
    }
    return words;
}

std::optional<std::string> assistant_words(const RowContext& context, const JsonValue& row) {
    const JsonValue calls = member(row, "tool_calls");
    const JsonValue content = member(row, "content");
    if (calls.present() && !check_calls(context, calls)) {
        return std::nullopt;
    }
    if (!has_words(content) && !calls.present()) {
        refuse_value(context, "content", content, lack(content),
                     "give an assistant's row text or tool_calls");
        return std::nullopt;
    }
    return message(row, "assistant", content.present() ? content.raw() : "null", assistant_keys);
}

}  // namespace driftless

#include "proto/trace/mooncake_words.hpp"

#include <algorithm>
#include <string>
#include <string_view>

#include "proto/core/letter_case.hpp"

namespace driftless {
namespace {

constexpr const char* one_mode = "use assistant_responses live in all rows of messages, or in none";

/// Whether the row's messages are new ones alone. Nothing after an error.
std::optional<bool> read_mode(const RowContext& context, const JsonValue& mode) {
    const std::string_view word = mode.as_string().value_or("");
    for (const std::string_view name : {"history", "recorded"}) {
        if (!mode.present() || equal_ignoring_case(word, name)) {
            return false;
        }
    }
    for (const std::string_view name : {"delta", "live"}) {
        if (equal_ignoring_case(word, name)) {
            return true;
        }
    }
    context.refuse(mode.key(), mode.raw(), "is not a kind of messages",
                   "use assistant_responses recorded (whole conversation) or live (only new "
                   "messages), or in older traces message_mode history or delta");
    return std::nullopt;
}

/// False after an error.
bool check_delta(const RowContext& context, const RecordedFields& words, const JsonValue& mode) {
    if (!words.messages.present()) {
        context.refuse(mode.key(), mode.raw(), "is set for a row without messages",
                       "only messages can follow the answers of a run; remove it");
        return false;
    }
    for (const std::string_view name : {"messages", "input"}) {
        if (const JsonValue member = words.extra.find(name); member.present()) {
            context.refuse("extra", words.extra.raw(),
                           "has " + std::string(name) + ", instead of the conversation",
                           "remove it: the run assembles the conversation itself");
            return false;
        }
    }
    return true;
}

bool has_answer(const JsonValue& messages) {
    for (JsonValue one = messages.first(); one.present(); one = one.next()) {
        if (one.find("role").as_string() == "assistant") {
            return true;
        }
    }
    return false;
}

/// The messages of a request that was given, as JSON text without the bracket at their end.
std::string_view list_of(std::string_view request, std::uint64_t list_bytes) {
    constexpr std::string_view before = R"({"messages":)";
    request.remove_prefix(std::min(before.size(), request.size()));
    return request.substr(0, list_bytes - 1);
}

std::uint64_t bytes_without_line_ends(std::string_view json) {
    return static_cast<std::uint64_t>(std::count_if(
        json.begin(), json.end(), [](char byte) { return byte != '\n' && byte != '\r'; }));
}

/// Notes the row's messages, whose request was given to the next row. Rows that hold all that was
/// said repeat the row before and the answer to it: where they do not, they may be deltas.
void note_messages(const RowContext& context, const JsonValue& messages, RowWords kind,
                   std::uint32_t session) {
    MessageTail& tail = context.draft.message_rows().tail(session);
    const Trace& trace = context.draft.trace();
    const std::uint32_t before = context.draft.sessions().tail(session).last_row;
    const std::uint64_t list_bytes = bytes_without_line_ends(messages.raw());
    if (before != no_row && kind == RowWords::delta && has_answer(messages)) {
        context.draft.remark(
            "row of new messages with an answer: it is sent after the server's own",
            "rows of new messages with answers: they are sent after the server's own");
    }
    if (before != no_row && kind == RowWords::history && !tail.doubted) {
        const std::uint64_t begin = trace.body_ends.empty() ? 0 : trace.body_ends.back();
        const std::string_view now =
            list_of(std::string_view(trace.body_bytes).substr(begin), list_bytes);
        const std::string_view earlier =
            list_of(trace.body_of(trace.rows[before]), std::max(tail.list_bytes, std::uint64_t{1}));
        tail.doubted = !has_answer(messages) || !now.starts_with(earlier);
        context.draft.remark(
            "session whose rows may have only new messages: they do not repeat the conversation "
            "(mark this with assistant_responses live)",
            "sessions whose rows may have only new messages: they do not repeat the conversation "
            "(mark this with assistant_responses live)",
            tail.doubted ? 1 : 0);
    }
    tail.list_bytes = list_bytes;
}

}  // namespace

std::optional<RowWords> read_row_words(const RowContext& context, const RecordedFields& words,
                                       const JsonValue& mode, std::uint32_t session) {
    const std::optional<bool> delta = read_mode(context, mode);
    if (!delta || (*delta && !check_delta(context, words, mode))) {
        return std::nullopt;
    }
    const RowWords kind = *delta                     ? RowWords::delta
                          : words.messages.present() ? RowWords::history
                                                     : RowWords::none;
    const std::string_view problem = context.draft.message_rows().note(session, kind);
    if (!problem.empty()) {
        context.refuse(mode.present() ? mode.key() : "messages",
                       mode.present() ? mode.raw() : words.messages.raw(), std::string(problem),
                       one_mode);
        return std::nullopt;
    }
    return kind;
}

bool read_mooncake_words(const RowContext& context, RecordedFields words, RowWords kind,
                         std::uint32_t session) {
    MessageRows& rows = context.draft.message_rows();
    const bool turn = session != no_session && kind != RowWords::none;
    if (turn && kind == RowWords::delta) {
        words.tools_before = rows.tail(session).tools;
    }
    if (!read_recorded(context, words)) {
        return false;
    }
    if (kind == RowWords::delta) {
        note_delta(context);
    }
    if (turn) {
        note_messages(context, words.messages, kind, session);
        if (words.tools.present()) {
            rows.tail(session).tools = words.tools.size() > 0 ? words.tools.raw() : "";
        }
    }
    return true;
}

}  // namespace driftless

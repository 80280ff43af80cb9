#include "proto/trace/sglang_agentic.hpp"

#include <string>

#include "proto/trace/inside.hpp"
#include "proto/trace/recorded.hpp"
#include "proto/trace/turn_times.hpp"

namespace driftless {
namespace {

/// Of the object, and of its turns.
constexpr std::string_view columns[] = {"metadata", "conversations", "messages", "prompt_tokens",
                                        "tools"};

bool matches(const JsonValue& row) {
    const JsonValue list = row.find("conversations");
    return list.is(JsonType::array) && list.first().is(JsonType::array);
}

/// False after an error.
bool read_turn(RowContext& context, const JsonValue& turn, std::uint32_t session) {
    RecordedFields words;
    words.messages = given(turn.find("messages"));
    words.tools = given(turn.find("tools"));
    words.tools_before = context.draft.message_rows().tail(session).tools;
    if (words.messages.size() == 0) {
        context.draft.remark("turn without messages, left out", "turns without messages, left out");
        return true;
    }
    TraceRow row;
    const Field prompt = field_of(turn.find("prompt_tokens"), "prompt_tokens");
    if (!read_recorded_lengths(context, prompt, Field{}, row) || !read_recorded(context, words)) {
        return false;
    }
    if (words.tools.present()) {
        context.draft.message_rows().tail(session).tools = words.tools.raw();
    }
    note_delta(context);
    row.session = session;
    row.at_ns = lay_out_turn(context, session, 0);
    context.draft.sessions().next_turn(row, 0);
    context.draft.ids().begin();
    context.emit(row, turn);
    return true;
}

/// Conversations have no names: one is named by its number.
void read_conversation(RowContext& context, const JsonValue& turns) {
    if (!check_objects(context, turns, "")) {
        return;
    }
    const std::string name = std::to_string(context.draft.trace().sessions.size());
    const std::uint32_t session = context.draft.sessions().find(name);
    std::size_t number = 0;
    bool fine = true;
    for (JsonValue turn = turns.first(); fine && turn.present(); turn = turn.next()) {
        const Inside inside(context, "turns", number++);
        fine = read_turn(context, turn, session);
    }
}

void read_row(RowContext& context, const JsonValue& json) {
    if (!admit_untimed(context)) {
        return;
    }
    const JsonValue list = json.find("conversations");
    if (!list.is(JsonType::array)) {
        context.refuse("conversations", list.present() ? list.raw() : "",
                       "is not a list of conversations", "give the object one");
        return;
    }
    std::size_t number = 0;
    for (JsonValue one = list.first(); one.present(); one = one.next()) {
        const Inside inside(context, "conversations", number++);
        read_conversation(context, one);
    }
}

}  // namespace

constinit const TraceFormat sglang_agentic_format = {
    .name = "sglang-agentic",
    .time_unit = TimeUnit::s,
    .ordered = false,
    .columns = columns,
    .matches = matches,
    .read_json = read_row,
};

}  // namespace driftless

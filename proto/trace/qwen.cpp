#include "proto/trace/formats.hpp"

namespace driftless {
static constexpr std::string_view columns[] = {
    "chat_id",      "parent_chat_id", "timestamp", "hash_ids",
    "input_length", "output_length",  "type",      "turn"};

static bool matches(const JsonValue& row) {
    return row.find("chat_id").present() && row.find("parent_chat_id").present() &&
           (row.find("hash_ids").is(JsonType::array) || row.find("input_length").present());
}

/// The ids, held against the length where that is known.
static bool read_blocks(const RowContext& context, const JsonValue& ids, const TraceRow& row) {
    return read_row_ids(context, ids) &&
           (!ids.present() || row.input_length == 0 || check_count(context, row.input_length));
}

/// A child goes on with its parent's session; a parent that is not there makes it a root.
static void link(const RowContext& context, const Field& chat, const Field& parent, TraceRow& row) {
    TraceDraft& draft = context.draft;
    const bool root = !parent.present || parent.text == "-1";
    const std::uint32_t before = root ? no_row : draft.find_request(parent.text);
    if (before == no_row) {
        draft.remark("row whose parent is not in the trace: it begins a new session",
                     "rows whose parent is not in the trace: each begins a new session",
                     root ? 0 : 1);
        row.session = draft.sessions().find(chat.text);
    } else {
        row.session = draft.trace().rows[before].session;
        draft.depend({draft.rows(), before, Trigger::completion, 0});
    }
    draft.name_request(chat.text);
}

static void read_row(RowContext& context, const JsonValue& json) {
    TraceRow row;
    const auto time = read_time(context, field_in(json, "timestamp"));
    const bool lengths =
        read_lengths(context, field_in(json, "input_length"), field_in(json, "output_length"), row);
    const bool blocks = read_blocks(context, json.find("hash_ids"), row);
    const Field chat = field_in(json, "chat_id");
    if (!chat.present) {
        context.refuse("chat_id", "", "is missing", "give every row one");
    }
    if (!time || !lengths || !blocks || !chat.present) {
        return;
    }
    row.at_ns = *time;
    if (const auto turn = json.find("turn").as_u64()) {
        context.draft.number_turn(
            row, static_cast<std::uint32_t>(std::min<std::uint64_t>(*turn, row_tokens_max)));
    }
    link(context, chat, field_in(json, "parent_chat_id"), row);
    context.emit(row, json);
}

constinit const TraceFormat qwen_format = {
    .name = "qwen",
    .alias = "bailian",
    .time_unit = TimeUnit::s,
    .block_size = 16,
    .columns = columns,
    .matches = matches,
    .read_json = read_row,
};

}  // namespace driftless

#include "proto/trace/isb1.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include "proto/core/hash.hpp"
#include "proto/trace/inside.hpp"
#include "proto/trace/isb1_words.hpp"
#include "proto/trace/recorded.hpp"
#include "proto/trace/turn_times.hpp"

namespace driftless {
namespace {

/// Of turns and of events.
constexpr std::string_view columns[] = {
    "messages", "expected_output_tokens", "wait_before_ms", "turn_idx",
    "turn_id",  "arrival_time_offset_ms", "input_messages", "target_output_tokens"};

constexpr const char* events_beside =
    "convert the bundle to Weka conversations with InferenceX's tools/isb1_to_kvcache_tester.py";

bool matches(const JsonValue& row) {
    return row.find("adapter_id").is(JsonType::string) && row.find("exports").is(JsonType::array);
}

/// How a cell of an adapter holds its turns.
struct Adapter {
    std::string_view name;
    std::string_view turns;     ///< the list
    std::string_view messages;  ///< of a turn
    std::string_view output;    ///< of a turn, tokens
    bool offsets;               ///< turns have times from the conversation's start
};
constexpr Adapter adapters[] = {
    {"inferencex_multiturn", "turns", "messages", "expected_output_tokens", false},
    {"inferencex_trace_replay", "events", "input_messages", "target_output_tokens", true}};

/// Reads the cells of one bundle.
class Bundle {
  public:
    Bundle(RowContext& context, const JsonValue& json) : context_(context), json_(json) {}

    void read();

  private:
    bool check_cells(const JsonValue& cells);
    bool read_cell(const JsonValue& cell);
    bool admit(std::string_view name, const JsonValue& turns);
    bool read_turn(const JsonValue& turn);
    bool read_time(const JsonValue& turn, TraceRow& row, std::int64_t& gap_ns);

    RowContext& context_;
    const JsonValue& json_;
    const Adapter* adapter_ = nullptr;
    std::uint32_t session_ = no_session;
};

/// The cell's conversation; empty where it is not named.
std::string_view conversation_of(const JsonValue& cell) {
    for (const std::string_view place : {"session", "trace_metadata"}) {
        if (const auto id = cell.find(place).find("session_id").as_string(); id && !id->empty()) {
            return *id;
        }
    }
    return cell.find("trace_id").as_string().value_or("");
}

/// Events in files beside the bundle are not read. False after an error.
bool Bundle::check_cells(const JsonValue& cells) {
    bool beside = false;
    bool embedded = false;
    JsonValue ref;
    for (JsonValue cell = cells.first(); cell.present(); cell = cell.next()) {
        const JsonValue one = given(cell.find("prefix_ref"));
        ref = one.present() ? one : ref;
        beside = beside || one.present();
        embedded = embedded || cell.find("events").present();
    }
    if (beside) {
        context_.refuse(
            "prefix_ref", ref.raw(),
            embedded ? "is in a bundle whose cells also have events"
                     : "names a file next to the bundle with its events",
            embedded ? "use either events, or prefix_ref in every cell" : events_beside);
    }
    return !beside;
}

/// Whether the cell is the first one of its conversation.
bool Bundle::admit(std::string_view name, const JsonValue& turns) {
    TraceDraft& draft = context_.draft;
    session_ = draft.sessions().find(name);
    Digest digest;
    digest.add(turns.raw());
    const std::string marked = std::string(name) + "\n" + std::to_string(digest.value());
    const bool again = draft.sessions().tail(session_).last_row != no_row;
    if (again && draft.find_request(marked) != no_row) {
        draft.remark("cell with the same conversation as another cell: left out",
                     "cells with the same conversations as other cells: left out");
    } else if (again) {
        draft.remark("cell with another version of a conversation: left out",
                     "cells with other versions of conversations: left out");
    } else {
        draft.name_request(marked);
    }
    return !again;
}

/// When the turn comes, and how long after the answer before. False after an error.
bool Bundle::read_time(const JsonValue& turn, TraceRow& row, std::int64_t& gap_ns) {
    const std::string_view name = adapter_->offsets ? "arrival_time_offset_ms" : "wait_before_ms";
    const Field time = field_of(turn.find(name), name);
    const auto ns =
        time.present ? read_gap(context_, time, TimeUnit::ms) : std::optional<std::int64_t>(0);
    if (!ns) {
        return false;
    }
    const SessionTail& last = context_.draft.sessions().tail(session_);
    if (adapter_->offsets) {
        row.at_ns = std::max(*ns, last.last_at_ns);
        gap_ns = row.at_ns - last.last_at_ns;
    } else {
        row.at_ns = lay_out_turn(context_, session_, *ns);
        gap_ns = *ns;
    }
    return true;
}

/// False after an error.
bool Bundle::read_turn(const JsonValue& turn) {
    TraceRow row;
    row.session = session_;
    std::int64_t gap_ns = 0;
    const auto messages =
        isb1_messages(context_, turn.find(adapter_->messages), adapter_->messages);
    const Field output = field_of(turn.find(adapter_->output), adapter_->output);
    if (!messages || !read_recorded_lengths(context_, Field{}, output, row) ||
        !read_time(turn, row, gap_ns)) {
        return false;
    }
    give_chat(context_, {*messages, {}, {}});
    context_.draft.sessions().next_turn(row, gap_ns);
    context_.draft.ids().begin();
    context_.emit(row, turn);
    return true;
}

/// False after an error.
bool Bundle::read_cell(const JsonValue& cell) {
    const JsonValue turns =
        adapter_->offsets ? cell.find("events") : cell.find("session").find("turns");
    const std::string_view name = conversation_of(cell);
    if (name.empty()) {
        context_.refuse("trace_id", "", "is missing, and so is session_id",
                        "name the conversation in every cell");
        return false;
    }
    if (!check_objects(context_, turns, adapter_->turns)) {
        return false;
    }
    if (turns.size() == 0) {
        context_.refuse(adapter_->turns, turns.present() ? turns.raw() : "",
                        turns.present() ? "is empty" : "is missing", "give every cell turns");
        return false;
    }
    if (!admit(name, turns)) {
        return true;
    }
    std::size_t number = 0;
    bool fine = true;
    for (JsonValue turn = turns.first(); fine && turn.present(); turn = turn.next()) {
        const Inside inside(context_, adapter_->turns, number++);
        fine = read_turn(turn);
    }
    return fine;
}

void Bundle::read() {
    const JsonValue id = json_.find("adapter_id");
    const JsonValue cells = json_.find("exports");
    for (const Adapter& one : adapters) {
        adapter_ = id.as_string() == one.name ? &one : adapter_;
    }
    if (adapter_ == nullptr) {
        context_.refuse("adapter_id", id.present() ? id.raw() : "",
                        id.present() ? "is not a supported kind of bundle" : "is missing",
                        "use inferencex_multiturn or inferencex_trace_replay");
        return;
    }
    if (!check_objects(context_, cells, "exports") || !check_cells(cells)) {
        return;
    }
    std::size_t number = 0;
    for (JsonValue cell = cells.first(); cell.present(); cell = cell.next()) {
        const Inside inside(context_, "exports", number++);
        (void)read_cell(cell);
    }
}

void read_row(RowContext& context, const JsonValue& json) {
    if (admit_untimed(context)) {
        Bundle(context, json).read();
    }
}

}  // namespace

constinit const TraceFormat isb1_format = {
    .name = "isb1",
    .time_unit = TimeUnit::ms,
    .ordered = false,
    .columns = columns,
    .matches = matches,
    .read_json = read_row,
};

}  // namespace driftless

#include "proto/trace/lmcache.hpp"

#include "proto/trace/recorded.hpp"

namespace driftless {
namespace {

constexpr std::string_view columns[] = {
    "session_id", "model", "input", "tools", "output_length", "pre_gap", "session_timestamp"};

bool matches(const JsonValue& row) {
    return row.find("session_id").present() && row.find("pre_gap").present() &&
           row.find("input").is(JsonType::array);
}

/// When the call comes: its session's start, or the gaps since. False after an error.
bool read_arrival(RowContext& context, const JsonValue& json, TraceRow& row) {
    const SessionTail& last = context.draft.sessions().tail(row.session);
    const Field gap = field_of(json.find("pre_gap"), "pre_gap");
    const auto gap_ns =
        gap.present ? read_gap(context, gap, TimeUnit::s) : std::optional<std::int64_t>(0);
    if (!gap_ns) {
        return false;
    }
    if (context.rules.sessions == Sessions::recorded) {
        context.refuse("pre_gap", gap.raw,
                       "is relative to its session's previous answer, so it is not an arrival time",
                       "use --sessions closed to send it when that answer has ended, or --sessions "
                       "open to send it by the recorded gaps, as if answers took no time");
        context.stop = Stop::trace;
        return false;
    }
    const Field start = field_of(json.find("session_timestamp"), "session_timestamp");
    if (last.last_row == no_row && start.present) {
        const auto start_ns = read_gap(context, start, TimeUnit::s);
        row.at_ns = start_ns.value_or(0);
        if (!start_ns) {
            return false;
        }
    } else if (last.last_row != no_row) {
        row.at_ns = later(last.last_at_ns, *gap_ns);
        ++context.draft.trace().rows_laid_out;
    }
    context.draft.sessions().next_turn(row, *gap_ns);
    return true;
}

void read_row(RowContext& context, const JsonValue& json) {
    const Field session = field_of(json.find("session_id"), "session_id");
    if (!session.present) {
        context.refuse("session_id", "", "is missing", "name the session of every call");
        return;
    }
    TraceRow row;
    RecordedFields words;
    words.messages = json.find("input");
    words.tools = given(json.find("tools"));
    if (!words.messages.present()) {
        context.refuse("input", "", "is missing", "give every call its list of messages");
        return;
    }
    const Field output = field_of(json.find("output_length"), "output_length");
    if (!read_recorded_lengths(context, Field{}, output, row) || !read_recorded(context, words)) {
        return;
    }
    row.session = context.draft.sessions().find(session.text);
    if (read_arrival(context, json, row)) {
        context.draft.ids().begin();
        context.emit(row, json);
    }
}

}  // namespace

constinit const TraceFormat lmcache_format = {
    .name = "lmcache",
    .time_unit = TimeUnit::s,
    .ordered = false,
    .columns = columns,
    .matches = matches,
    .read_json = read_row,
};

}  // namespace driftless

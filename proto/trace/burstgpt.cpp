#include "proto/trace/burstgpt.hpp"

#include <algorithm>

#include "proto/trace/fields.hpp"

namespace driftless {
namespace {

constexpr std::string_view columns[] = {"Timestamp",    "Session ID",     "Elapsed time",
                                        "Model",        "Request tokens", "Response tokens",
                                        "Total tokens", "Log Type"};

bool matches(const CsvHeader& header) {
    return header.find("Timestamp") && header.find("Request tokens") &&
           header.find("Response tokens");
}

bool is_zero(const Field& tokens) {
    return tokens.present && whole_number(tokens.text) == 0;
}

/// The next turn of a session comes a pause after the recorded end of the one before.
void link(const RowContext& context, const CsvRow& cells, TraceRow& row) {
    const Field session = field_of(cells, "Session ID");
    if (!session.present) {
        return;
    }
    row.session = context.draft.sessions().find(session.text);
    SessionTail& tail = context.draft.sessions().tail(row.session);
    const std::int64_t ended_ns = tail.last_end_ns.value_or(tail.last_at_ns);
    const std::int64_t pause_ns = tail.last_row == no_row ? 0 : row.at_ns - ended_ns;
    context.draft.sessions().next_turn(row, std::max(pause_ns, std::int64_t{0}));
    const Field elapsed = field_of(cells, "Elapsed time");
    const Result<std::int64_t> length = parse_time(elapsed.text, TimeUnit::s);
    if (length) {
        tail.last_end_ns = later(row.at_ns, length.value());
    }
}

void read_row(RowContext& context, const CsvRow& cells) {
    const Field input = field_of(cells, "Request tokens");
    const Field output = field_of(cells, "Response tokens");
    if (is_zero(input) || is_zero(output)) {
        context.draft.remark("failed request (no tokens) dropped",
                             "failed requests (no tokens) dropped");
        return;
    }
    TraceRow row;
    const auto time = read_time(context, field_of(cells, "Timestamp"));
    if (!read_lengths(context, input, output, row) || !time) {
        return;
    }
    row.at_ns = *time;
    link(context, cells, row);
    context.draft.ids().begin();
    context.emit(row, cells);
}

}  // namespace

constinit const TraceFormat burstgpt_format = {
    .name = "burstgpt",
    .time_unit = TimeUnit::s,
    .columns = columns,
    .matches_header = matches,
    .read_csv = read_row,
};

}  // namespace driftless

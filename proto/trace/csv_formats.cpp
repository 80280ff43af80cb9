#include <algorithm>
#include <span>

#include "proto/trace/formats.hpp"

namespace driftless {

static constexpr std::string_view azure_columns[] = {"TIMESTAMP", "ContextTokens",
                                                     "GeneratedTokens", "NumImages"};

/// By the first three columns of a format: when a row comes, and its lengths.
template <const auto& columns>
static bool matches(const CsvHeader& header) {
    return header.find(columns[0]) && header.find(columns[1]) && header.find(columns[2]);
}

/// False after an error.
static bool read_timed(const RowContext& context, const CsvRow& cells,
                       std::span<const std::string_view> columns, TraceRow& row) {
    const auto time = read_time(context, field_of(cells, columns[0]));
    const bool lengths =
        read_lengths(context, field_of(cells, columns[1]), field_of(cells, columns[2]), row);
    row.at_ns = time.value_or(0);
    return time && lengths;
}

static void azure_row(RowContext& context, const CsvRow& cells) {
    TraceRow row;
    if (!read_timed(context, cells, azure_columns, row)) {
        return;
    }
    const Field images = field_of(cells, "NumImages");
    context.draft.remark("row with images, which are not sent",
                         "rows with images, which are not sent",
                         images.present && images.text != "0" ? 1 : 0);
    context.emit(row, cells);
}

constinit const TraceFormat azure_format = {
    .name = "azure",
    .time_unit = TimeUnit::iso,
    .columns = azure_columns,
    .matches_header = matches<azure_columns>,
    .read_csv = azure_row,
};

static constexpr std::string_view burstgpt_columns[] = {
    "Timestamp",    "Request tokens", "Response tokens", "Session ID",
    "Elapsed time", "Model",          "Total tokens",    "Log Type"};

static bool is_zero(const Field& tokens) {
    return tokens.present && whole_number(tokens.text) == 0;
}

/// The next turn of a session comes a pause after the recorded end of the one before.
static void link(const RowContext& context, const CsvRow& cells, TraceRow& row) {
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

static void burstgpt_row(RowContext& context, const CsvRow& cells) {
    if (is_zero(field_of(cells, "Request tokens")) || is_zero(field_of(cells, "Response tokens"))) {
        context.draft.remark("failed request (no tokens) dropped",
                             "failed requests (no tokens) dropped");
        return;
    }
    TraceRow row;
    if (read_timed(context, cells, burstgpt_columns, row)) {
        link(context, cells, row);
        context.emit(row, cells);
    }
}

constinit const TraceFormat burstgpt_format = {
    .name = "burstgpt",
    .time_unit = TimeUnit::s,
    .columns = burstgpt_columns,
    .matches_header = matches<burstgpt_columns>,
    .read_csv = burstgpt_row,
};

static constexpr std::string_view vidur_columns[] = {"arrived_at", "num_prefill_tokens",
                                                     "num_decode_tokens", "request_id"};

static void vidur_row(RowContext& context, const CsvRow& cells) {
    TraceRow row;
    if (read_timed(context, cells, vidur_columns, row)) {
        context.emit(row, cells);
    }
}

constinit const TraceFormat vidur_format = {
    .name = "vidur",
    .time_unit = TimeUnit::s,
    .columns = vidur_columns,
    .matches_header = matches<vidur_columns>,
    .read_csv = vidur_row,
};

}  // namespace driftless

#include <algorithm>

#include "proto/trace/formats.hpp"

namespace driftless {

namespace {

constexpr std::string_view azure_columns[] = {"TIMESTAMP", "ContextTokens", "GeneratedTokens",
                                              "NumImages"};

bool matches_azure(const CsvHeader& header) {
    return header.find("TIMESTAMP") && header.find("ContextTokens") &&
           header.find("GeneratedTokens");
}

void azure_row(RowContext& context, const CsvRow& cells) {
    TraceRow row;
    const auto time = read_time(context, field_of(cells, "TIMESTAMP"));
    const bool lengths = read_lengths(context, field_of(cells, "ContextTokens"),
                                      field_of(cells, "GeneratedTokens"), row);
    if (!time || !lengths) {
        return;
    }
    row.at_ns = *time;
    const Field images = field_of(cells, "NumImages");
    context.draft.remark("row with images, which are not sent",
                         "rows with images, which are not sent",
                         images.present && images.text != "0" ? 1 : 0);
    context.draft.ids().begin();
    context.emit(row, cells);
}

}  // namespace

constinit const TraceFormat azure_format = {
    .name = "azure",
    .time_unit = TimeUnit::iso,
    .columns = azure_columns,
    .matches_header = matches_azure,
    .read_csv = azure_row,
};

namespace {

constexpr std::string_view burstgpt_columns[] = {
    "Timestamp",      "Session ID",      "Elapsed time", "Model",
    "Request tokens", "Response tokens", "Total tokens", "Log Type"};

bool matches_burstgpt(const CsvHeader& header) {
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

void burstgpt_row(RowContext& context, const CsvRow& cells) {
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
    .columns = burstgpt_columns,
    .matches_header = matches_burstgpt,
    .read_csv = burstgpt_row,
};

namespace {

constexpr std::string_view vidur_columns[] = {"arrived_at", "num_prefill_tokens",
                                              "num_decode_tokens", "request_id"};

bool matches_vidur(const CsvHeader& header) {
    return header.find("arrived_at") && header.find("num_prefill_tokens") &&
           header.find("num_decode_tokens");
}

void vidur_row(RowContext& context, const CsvRow& cells) {
    TraceRow row;
    const auto time = read_time(context, field_of(cells, "arrived_at"));
    const bool lengths = read_lengths(context, field_of(cells, "num_prefill_tokens"),
                                      field_of(cells, "num_decode_tokens"), row);
    if (!time || !lengths) {
        return;
    }
    row.at_ns = *time;
    context.draft.ids().begin();
    context.emit(row, cells);
}

}  // namespace

constinit const TraceFormat vidur_format = {
    .name = "vidur",
    .time_unit = TimeUnit::s,
    .columns = vidur_columns,
    .matches_header = matches_vidur,
    .read_csv = vidur_row,
};

}  // namespace driftless

#include "proto/trace/vidur.hpp"

#include "proto/trace/fields.hpp"

namespace driftless {
namespace {

constexpr std::string_view columns[] = {"arrived_at", "num_prefill_tokens", "num_decode_tokens",
                                        "request_id"};

bool matches(const CsvHeader& header) {
    return header.find("arrived_at") && header.find("num_prefill_tokens") &&
           header.find("num_decode_tokens");
}

void read_row(RowContext& context, const CsvRow& cells) {
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
    .columns = columns,
    .matches_header = matches,
    .read_csv = read_row,
};

}  // namespace driftless

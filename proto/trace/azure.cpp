#include "proto/trace/azure.hpp"

#include "proto/trace/fields.hpp"

namespace driftless {
namespace {

constexpr std::string_view columns[] = {"TIMESTAMP", "ContextTokens", "GeneratedTokens",
                                        "NumImages"};

bool matches(const CsvHeader& header) {
    return header.find("TIMESTAMP") && header.find("ContextTokens") &&
           header.find("GeneratedTokens");
}

void read_row(RowContext& context, const CsvRow& cells) {
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
    .columns = columns,
    .matches_header = matches,
    .read_csv = read_row,
};

}  // namespace driftless

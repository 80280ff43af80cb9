#include "proto/trace/row_reader.hpp"

namespace driftless {

RowReader::RowReader(const ReadOptions& options, Trace& out, InputErrors& errors)
    : errors_(errors), draft_(out), columns_(options.keep), choice_(options, draft_) {
    draft_.name_spaces().set_scope(options.id_scope);
}

void RowReader::begin_file(std::string_view name) {
    file_ = name;
    draft_.begin_file(name);
    choice_.begin_file();
    previous_ns_ = 0;
}

RowContext RowReader::context(std::uint64_t line) {
    return {choice_.rules(), draft_, columns_, errors_, choice_.known(), file_, line};
}

Stop RowReader::read(RowContext& context, const JsonValue& row) {
    if (!choice_.admit(context, row)) {
        return Stop::file;
    }
    const TraceFormat& format = *choice_.format();
    if (format.read_json == nullptr) {
        context.refuse("", row.raw(), "is JSON; the format " + std::string(format.name) + " is CSV",
                       "choose another with --format");
        return Stop::file;
    }
    context.known = choice_.known();
    context.object = row;
    format.read_json(context, row);
    note_order();
    return context.stop;
}

Stop RowReader::read(RowContext& context, const CsvRow& row) {
    choice_.format()->read_csv(context, row);
    note_order();
    return context.stop;
}

/// Counts rows whose time is before their predecessor's.
void RowReader::note_order() {
    Trace& trace = draft_.trace();
    for (; rows_ordered_ < trace.rows.size(); ++rows_ordered_) {
        const std::int64_t at_ns = trace.rows[rows_ordered_].at_ns;
        trace.rows_unsorted += choice_.format()->ordered && at_ns < previous_ns_ ? 1 : 0;
        previous_ns_ = at_ns;
    }
}

}  // namespace driftless

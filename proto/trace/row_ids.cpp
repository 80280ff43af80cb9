#include "proto/trace/row_ids.hpp"

namespace driftless {

void RowIds::keep(TraceRow& row) {
    row.ids_begin = kept_;
    row.ids_count = static_cast<std::uint32_t>(count());
    kept_ = arena_.size();
}

void RowIds::note_missing(std::uint64_t line) {
    first_line_missing_ = rows_missing_ == 0 ? line : first_line_missing_;
    ++rows_missing_;
}

void RowIds::finish() {
    begin();
    arena_.settle();
}

}  // namespace driftless

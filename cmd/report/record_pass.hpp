/// One pass over the records of a run, for those who need more of them than their sums. Reads
/// forward; a record is gone with the next.
#pragma once

#include <string>

#include "cmd/report/reported_run.hpp"
#include "engine/history/run_lines.hpp"
#include "proto/json/document.hpp"
#include "proto/record/record.hpp"

namespace driftless {

/// Gives every record of the run to `take`, in the order of the file. Returns why it cannot be
/// read on, or the empty text.
template <typename Take>
std::string each_record(const ReportedRun& run, Take take) {
    std::string why;
    const std::string path = run.records_path();
    Result<RunLines> lines = RunLines::open(path, why);
    if (!lines) {
        return why;
    }
    JsonDocument document;
    while (const auto line = lines.value().next()) {
        const Result<Record> record = read_record(document, *line);
        if (!record) {
            return describe_line(path, lines.value().number(), record.error());
        }
        take(record.value());
    }
    return lines.value().why();
}

}  // namespace driftless

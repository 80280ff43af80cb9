/// One pass over the records of a run, for readings that need more than their sums. Reads forward;
/// a record is valid until the next.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "cmd/report/reported_run.hpp"
#include "engine/history/record_feed.hpp"
#include "engine/history/run_lines.hpp"
#include "proto/json/document.hpp"
#include "proto/record/record.hpp"

namespace driftless {

/// Gives every record of the file to `take`, in the order of the file, and with it its line if
/// `take` wants that. Returns why it cannot be read on, or the empty text.
template <typename Take>
std::string each_record_in(const std::string& path, Take take) {
    std::string why;
    Result<RecordFeed> feed = RecordFeed::open(path, why);
    if (!feed) {
        return why;
    }
    while (const Record* const record = feed.value().next()) {
        if constexpr (std::is_invocable_v<Take, const Record&, std::string_view>) {
            take(*record, feed.value().line());
        } else {
            take(*record);
        }
    }
    const std::optional<Error>& error = feed.value().error();
    return error && feed.value().why().empty() ? describe_line(path, feed.value().number(), *error)
                                               : feed.value().why();
}

template <typename Take>
std::string each_record(const ReportedRun& run, Take take) {
    return each_record_in(run.records_path(), std::move(take));
}

/// Gives only the records at these places of the file, which ascend from 0; others are not parsed.
template <typename Take>
std::string each_record_at(const ReportedRun& run, std::span<const std::uint32_t> places,
                           Take take) {
    std::string why;
    const std::string path = run.records_path();
    Result<RunLines> lines = RunLines::open(path, why);
    if (!lines) {
        return why;
    }
    JsonDocument document;
    std::uint32_t place = 0;
    while (!places.empty()) {  // ends: with the file at the latest
        const auto line = lines.value().next();
        if (!line) {
            break;
        }
        if (place++ != places.front()) {
            continue;
        }
        places = places.subspan(1);
        const Result<Record> record = read_record(document, *line);
        if (!record) {
            return describe_line(path, lines.value().number(), record.error());
        }
        take(record.value());
    }
    return lines.value().why();
}

}  // namespace driftless

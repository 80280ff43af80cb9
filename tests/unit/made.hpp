/// What many tests make by hand: rows of a trace, lines of records, a list of one member of each.
#pragma once

#include "proto/run/record.hpp"
#include "proto/trace/row.hpp"
#include "tests/unit/json_text.hpp"

namespace driftless {

/// The row behind all others of the trace, with its index there and these block ids.
inline TraceRow& append_row(Trace& trace, TraceRow row,
                            const std::vector<std::uint64_t>& ids = {}) {
    row.index = static_cast<std::uint32_t>(trace.rows.size());
    row.ids_begin = trace.ids.size();
    row.ids_count = static_cast<std::uint32_t>(ids.size());
    trace.ids.append(ids);
    return trace.rows.emplace_back(row);
}

/// A member of each, in their order: `members_of(trace.rows, &TraceRow::index)`.
template <typename All, typename Member>
auto members_of(const All& all, Member member) {
    std::vector<std::decay_t<decltype(std::invoke(member, *all.begin()))>> members;
    for (const auto& one : all) {
        members.push_back(std::invoke(member, one));
    }
    return members;
}

/// Who waits for whom, and for how many seconds: "2:1+4" is row 2 for the end of row 1, "2:1>4" for
/// its start.
inline std::string edges_of(const Trace& trace) {
    std::string edges;
    for (const Dependency& one : trace.dependencies) {
        edges += (edges.empty() ? "" : " ") + std::to_string(one.row) + ":" +
                 std::to_string(one.on) + (one.trigger == Trigger::completion ? "+" : ">") +
                 std::to_string(one.delay_ns / 1'000'000'000);
    }
    return edges;
}

/// The record's line of requests.jsonl, with its line feed.
inline std::string jsonl_of(const Record& record) {
    std::string line;
    append_jsonl(line, record);
    return line;
}
/// Without it.
inline std::string line_of(const Record& record) {
    std::string line = jsonl_of(record);
    line.pop_back();
    return line;
}
/// The record's fields of these names as its line has them.
inline std::string values_of(const Record& record, std::string_view names) {
    return values_of(line_of(record), names);
}

}  // namespace driftless

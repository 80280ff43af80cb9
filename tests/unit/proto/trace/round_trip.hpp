/// What tests of writers share: a trace written as lines, read back, and compared row by row.
#pragma once

#include "proto/trace/reader.hpp"
#include "proto/trace/write.hpp"
#include "tests/test.hpp"

namespace driftless {

/// Every row of a trace at its own time.
inline std::vector<WrittenRow> all_rows(const Trace& trace) {
    std::vector<WrittenRow> rows;
    for (const TraceRow& row : trace.rows) {
        rows.push_back({static_cast<std::uint32_t>(rows.size()), row.at_ns});
    }
    return rows;
}

inline std::vector<std::string> lines_of(TraceWriter& writer) {
    std::vector<std::string> lines(1);
    while (writer.next(lines.back())) {
        lines.back().pop_back();
        lines.emplace_back();
    }
    lines.pop_back();
    return lines;
}

/// What differs between two traces that must be the same; empty: nothing.
inline std::string difference(const Trace& a, const Trace& b) {
    if (a.rows.size() != b.rows.size() || a.block_size != b.block_size ||
        a.name_spaces != b.name_spaces || a.deltas != b.deltas) {
        return "rows, block size, namespaces or deltas";
    }
    for (std::size_t i = 0; i < a.rows.size(); ++i) {
        const TraceRow& x = a.rows[i];
        const TraceRow& y = b.rows[i];
        const std::string at = " of row " + std::to_string(i);
        if (x.at_ns != y.at_ns || x.index != y.index || x.turn != y.turn) {
            return "time, index or turn" + at;
        }
        if (x.input_length != y.input_length || x.output_length != y.output_length) {
            return "lengths" + at;
        }
        const auto ids = a.ids_of(x);
        const auto others = b.ids_of(y);
        if (!std::equal(ids.begin(), ids.end(), others.begin(), others.end()) ||
            x.name_space != y.name_space) {
            return "ids" + at;
        }
        if (a.body_of(x) != b.body_of(y) || a.recorded != b.recorded) {
            return "body" + at;
        }
        const bool alone = x.session == no_session;
        if (alone != (y.session == no_session) ||
            (!alone && a.sessions[x.session] != b.sessions[y.session])) {
            return "session" + at;
        }
        const auto waits = a.dependencies_of(x);
        const auto other_waits = b.dependencies_of(y);
        if (!std::equal(waits.begin(), waits.end(), other_waits.begin(), other_waits.end(),
                        [](const Dependency& one, const Dependency& other) {
                            return one.on == other.on && one.trigger == other.trigger &&
                                   one.delay_ns == other.delay_ns;
                        })) {
            return "dependencies" + at;
        }
    }
    return "";
}

/// Writes the trace in the canonical format, reads it back, and says what differs.
inline std::string canonical_round_trip(const Trace& trace) {
    TraceWriter writer(trace, canonical_target, all_rows(trace));
    Trace again;
    InputErrors errors;
    TraceReader reader({}, again, errors);
    reader.begin_file("again");
    std::uint64_t number = 0;
    for (const std::string& line : lines_of(writer)) {
        (void)reader.add_line(++number, line);
    }
    if (!reader.finish()) {
        return to_text(errors.list[0]);
    }
    return difference(trace, again);
}

}  // namespace driftless

/// The flags of `report` for its readings (readings.hpp).
#pragma once

#include <string>

#include "cmd/options_flags.hpp"
#include "cmd/report/readings.hpp"

namespace driftless {

inline Result<std::string> parse_trace_path(std::string_view text) {
    if (text.empty()) {
        return Error{ErrorCode::invalid, 0, "names no trace"};
    }
    return std::string(text);
}

inline void add_reading_flags(Flags& flags, ReportReadings& readings) {
    static const std::string views =
        "figures by another tool's definitions, in its layout: " + view_names();
    flags.group("Readings");
    flags.value("--view", "TOOL", views.c_str(), nullptr, parse_view, readings.view);
    flags.values("--by", "KEY",
                 "tables by group: phase, turn, api, url, model, outcome, kept.NAME, header.NAME, "
                 "input:PARTS",
                 parse_group_key, readings.by);
    flags.values("--goodput", "LIMITS",
                 "limits for some rows: \"tier=gold ttft:200 tpot:50\" (a name of kept, or a key "
                 "of --by)",
                 parse_group_slo, readings.slos);
    flags.on_off("--steady",
                 "the steady part of the run beside the whole, and whether it is steady",
                 readings.steady);
    flags.on_off("--why", "what sets the slowest 1 % apart from the rest", readings.why);
    flags.on_off("--trees", "sessions that wait for each other, as jobs: durations, turns, tokens",
                 readings.trees);
    flags.on_off("--certificate", "what was sent, by digests and counts; where hits were lost",
                 readings.certificate);
    flags.value("--against", "TRACE",
                "how faithful the run is to a trace: arrivals, lengths, sharing, gaps", nullptr,
                parse_trace_path, readings.against);
}

/// Why they cannot stand together, or the empty text.
inline std::string why_not_readings(const ReportReadings& readings) {
    if (readings.view != nullptr && readings.any_below()) {
        return "--view prints another tool's figures alone; leave out the other readings";
    }
    return "";
}

}  // namespace driftless

/// The flags of `report` for its readings (readings.hpp).
#pragma once

#include <string>

#include "cmd/goodput_values.hpp"
#include "cmd/options_flags.hpp"
#include "cmd/report/readings.hpp"

namespace driftless {

inline Result<std::string> parse_trace_path(std::string_view text) {
    if (text.empty()) {
        return Error{ErrorCode::invalid, 0, "is empty; name a trace"};
    }
    return std::string(text);
}

inline void add_reading_flags(Flags& flags, ReportReadings& readings) {
    flags.group("Readings");
    flags.value("--view", "TOOL",
                "another tool's figures in its layout: vllm, sglang, aiperf, guidellm,\n"
                "genai-perf, genai-bench, inference-perf, trace-replayer, loadgen,\n"
                "inferencex, inferencex-fixed, llm-d",
                nullptr, parse_view, readings.view);
    flags.values("--by", "KEY", "tables by group: phase, turn, url, kept.NAME, input:4, ..",
                 parse_group_key, readings.by);
    flags.values("--goodput", "LIMITS", "for some rows: \"tier=gold ttft:200\" (a kept column)",
                 parse_group_goodput, readings.slos);
    flags.on_off("--steady", "the steady part of the run next to the whole", readings.steady);
    flags.on_off("--why", "what distinguishes the slowest 1 % from the rest", readings.why);
    flags.on_off("--trees", "session trees as jobs", readings.trees);
    flags.on_off("--certificate", "what was sent, by digests and counts; where hits were lost",
                 readings.certificate);
    flags.value("--against", "TRACE", "fidelity to a trace: arrivals, lengths, sharing, gaps",
                nullptr, parse_trace_path, readings.against);
}

/// Why they cannot stand together, or the empty text.
inline std::string why_not_readings(const ReportReadings& readings) {
    if (readings.view != nullptr && readings.any_below()) {
        return "--view prints only another tool's figures; remove the other flags";
    }
    return "";
}

}  // namespace driftless

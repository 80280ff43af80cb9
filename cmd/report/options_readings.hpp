/// The flags of `report` for its readings (readings.hpp).
#pragma once

#include <string>
#include <vector>

#include "cmd/goodput_values.hpp"
#include "cmd/options_flags.hpp"
#include "cmd/report/readings.hpp"
#include "cmd/report/why_reading.hpp"
#include "engine/stats/thresholds.hpp"

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
    flags.values("--goodput", "LIMITS",
                 "\"ttft:200 tpot:50\" in ms [the run's own], or for some rows: \"tier=gold\n"
                 "ttft:200\" (a kept column)",
                 parse_goodput_rule, readings.slos);
    flags.on_off("--steady", "the steady part of the run next to the whole", readings.steady);
    flags.value("--why", "[WHAT]",
                "what distinguishes the slowest rows from the rest: --why, --why 10%,\n"
                "--why tpot, --why e2e:5%",
                nullptr, parse_why, readings.why);
    flags.on_off("--trees", "session trees as jobs", readings.trees);
    flags.on_off("--certificate", "what was sent, by digests and counts; where hits were lost",
                 readings.certificate);
    flags.value("--against", "TRACE", "fidelity to a trace: arrivals, lengths, sharing, gaps",
                nullptr, parse_trace_path, readings.against);
}

/// `--why` may stand without a value: what follows it is one only if it is meant as one.
inline std::vector<std::string> with_value_of_why(const std::vector<std::string>& arguments) {
    std::vector<std::string> out;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const bool is_why = arguments[i] == "--why";
        const std::string next = i + 1 < arguments.size() ? arguments[i + 1] : "";
        const bool has_value = is_why && (next.ends_with('%') || next.find(':') != next.npos ||
                                          find_figure(next) != nullptr);
        out.push_back(!is_why     ? arguments[i]
                      : has_value ? "--why=" + arguments[++i]
                                  : "--why=ttft");
    }
    return out;
}

/// Why they cannot stand together, or the empty text.
inline std::string why_not_readings(const ReportReadings& readings) {
    if (readings.view != nullptr && readings.any_below()) {
        return "--view prints only another tool's figures; remove the other flags";
    }
    return repeated_goodput(readings.slos);
}

}  // namespace driftless

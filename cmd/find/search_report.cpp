#include "cmd/find/search_report.hpp"

#include <fmt/format.h>

#include "cmd/screen/lines.hpp"

namespace driftless {

namespace {

/// "12.5 a second".
std::string with_unit(const SearchReport& report, double value) {
    return load_text(value) + " " + report.options->over->unit;
}

std::string knee_text(const SearchReport& report) {
    const Knee& knee = report.knee;
    if (knee.pass && knee.fail) {
        return "from " + load_text(*knee.pass) + " to " + with_unit(report, *knee.fail) +
               ": the first meets the SLO, the second does not";
    }
    if (knee.fail) {
        return "below " + with_unit(report, *knee.fail) + ", the lowest load that was tried";
    }
    return knee.pass
               ? "above " + with_unit(report, *knee.pass) + ", the highest load that was tried"
           : report.probes.empty() ? "not known: no probe ran"
                                   : "not known: every probe was spoiled";
}

std::string interval_text(const SearchReport& report) {
    const Knee& knee = report.knee;
    const std::string seeds = std::to_string(report.options->rules.replicates + 1);
    return "from " + (knee.low ? load_text(*knee.low) : "unknown") + " to " +
           (knee.high ? load_text(*knee.high) : "unknown") + ": all " + seeds +
           " seeds meet the SLO at the first load, and none does at the second";
}

const char* remedy_of(const SearchReport& report) {
    switch (report.knee.state) {
        case SearchState::lowest_fails:
            return "the lowest load fails: lower --low, or replay a part of the trace (-- "
                   "--sample-sessions 10%)";
        case SearchState::highest_passes:
            return "the highest load passes: raise --high";
        case SearchState::spoiled:
            return report.probes.empty() ? ""
                                         : "a probe was spoiled in every try, for the reason in "
                                           "its verdict; use a quieter "
                                           "client, or raise --tries";
        case SearchState::too_many:
            return "results contradict each other: make probes longer";
        case SearchState::searching:
        case SearchState::found:
            break;
    }
    return "";
}

}  // namespace

std::string binding(const SearchReport& report) {
    std::string binds;
    for (const JudgedProbe& one : report.probes) {
        const bool there = report.knee.fail && one.probe.value == *report.knee.fail;
        if (there && one.outcome == ProbeOutcome::fails && (binds.empty() || one.probe.seed == 0)) {
            binds = one.binds;
        }
    }
    return binds;
}

std::string probe_line(const SearchReport& report, const JudgedProbe& probe) {
    const std::string seed =
        probe.probe.seed > 0 ? " seed " + std::to_string(report.options->seed + probe.probe.seed)
                             : "";
    return fmt::format("probe {:<3} {} {}{}: {} ({} requests, {:.1f} s): {}\n",
                       report.probes.size(), report.options->over->name,
                       load_text(probe.probe.value), seed, name_of(probe.outcome), probe.rows,
                       probe.seconds, probe.why);
}

std::string result_lines(const SearchReport& report) {
    Lines lines;
    lines.rule("Knee");
    lines.add("Knee", knee_text(report));
    if (report.knee.state == SearchState::found && report.options->rules.replicates > 0) {
        lines.add("Interval", interval_text(report));
    }
    if (const std::string binds = binding(report); !binds.empty()) {
        lines.add("Binds", binds == stability_slo
                               ? "stability: waiting requests and TTFT rise during the run"
                               : binds);
    }
    std::size_t thrown = 0;
    for (const JudgedProbe& one : report.probes) {
        thrown += one.outcome == ProbeOutcome::meets || one.outcome == ProbeOutcome::fails ? 0 : 1;
    }
    lines.add("Probes", fmt::format("{} in {:.1f} s, {} of them discarded", report.probes.size(),
                                    report.seconds, thrown));
    if (!report.knee.monotone) {
        lines.add("Warning",
                  "a load above this knee met the SLO: batching or caching helps there; the knee "
                  "is the lowest one");
    }
    if (const char* remedy = remedy_of(report); *remedy != '\0') {
        lines.add("Note", remedy);
    }
    if (!report.why.empty() && report.state != "stopped") {  // what stopped it is on stderr
        lines.add("Ended", report.why);
    }
    return lines.take();
}

}  // namespace driftless

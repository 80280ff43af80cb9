#include "cmd/find/search_report.hpp"

#include <fmt/format.h>

#include "cmd/screen/lines.hpp"
#include "proto/json/printable.hpp"
#include "proto/json/write.hpp"

namespace driftless {

namespace {

const char* name_of(Stability stability) {
    switch (stability) {
        case Stability::unknown:
            return "unknown";
        case Stability::stable:
            return "stable";
        case Stability::unstable:
            return "unstable";
    }
    return "";
}

void write_load(JsonWriter& json, std::string_view key, const std::optional<double>& value) {
    json.key(key);
    value ? json.raw(load_text(*value)) : json.null();
}

void write_probe(JsonWriter& json, const JudgedProbe& one) {
    json.begin_object();
    json.key("value").raw(load_text(one.probe.value));
    json.key("run").string(one.run);
    json.key("meets");
    one.outcome == ProbeOutcome::meets   ? json.boolean(true)
    : one.outcome == ProbeOutcome::fails ? json.boolean(false)
                                         : json.null();
    json.key("verdict").string(one.verdict);
    json.key("why").string(one.why);
    json.key("purpose").string(driftless::name_of(one.probe.purpose));
    json.key("seed").unsigned_integer(one.probe.seed);
    json.key("rows").unsigned_integer(one.rows);
    json.key("seconds").number(one.seconds);
    json.key("stability").string(name_of(one.stability.stability));
    json.key("slos").begin_array();
    for (const ThresholdFinding& finding : one.findings) {
        json.begin_object();
        json.key("slo").string(finding.condition);
        json.key("value");
        finding.value ? json.number(*finding.value) : json.null();
        json.key("meets").boolean(!finding.fails);
        json.end_object();
    }
    json.end_array().end_object();
}

std::string outcome_word(const JudgedProbe& probe) {
    switch (probe.outcome) {
        case ProbeOutcome::meets:
            return "meets";
        case ProbeOutcome::fails:
            return "fails";
        case ProbeOutcome::spoiled:
            return "spoiled";
        case ProbeOutcome::too_short:
            return "too short";
    }
    return "";
}

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
               : "not known: no probe counts";
}

std::string interval_text(const SearchReport& report) {
    const Knee& knee = report.knee;
    const std::string seeds = std::to_string(report.options->rules.replicates + 1);
    return "from " + (knee.low ? load_text(*knee.low) : "unknown") + " to " +
           (knee.high ? load_text(*knee.high) : "unknown") + ": all " + seeds +
           " seeds meet the SLO at the first, and none does at the second";
}

const char* remedy_of(const SearchReport& report) {
    switch (report.knee.state) {
        case SearchState::lowest_fails:
            return "the lowest load fails: lower --low, or play a part of the trace "
                   "(-- --sample-sessions 10%)";
        case SearchState::highest_passes:
            return "the highest load passes: raise --high";
        case SearchState::spoiled:
            return "a probe was spoiled each time: its verdict says by whom; use a quieter client, "
                   "or raise --tries";
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

std::string find_json(const SearchReport& report) {
    const FindOptions& options = *report.options;
    std::string text;
    JsonWriter json(text);
    json.begin_object();
    json.key("schema").integer(find_schema);
    json.key("over").string(options.over->name);
    write_load(json, "pass", report.knee.pass);
    write_load(json, "fail", report.knee.fail);
    write_load(json, "low", report.knee.low);
    write_load(json, "high", report.knee.high);
    const std::string binds = binding(report);
    json.key("binds");
    binds.empty() ? json.null() : json.string(binds);
    json.key("monotone").boolean(report.knee.monotone);
    json.key("state").string(report.state);
    json.key("why");
    report.why.empty() ? json.null() : json.string(report.why);
    json.key("slo").begin_array();
    for (const Slo& slo : options.slos.list) {
        json.string(slo.text);
    }
    json.end_array();
    json.key("allowed").begin_array();
    json.raw(load_text(options.rules.low)).raw(load_text(options.rules.high)).end_array();
    json.key("tolerance").number(options.rules.tolerance);
    json.key("replicates").unsigned_integer(options.rules.replicates);
    json.key("seed").unsigned_integer(options.seed);
    json.key("seconds").number(report.seconds);
    json.key("command").begin_array();
    for (const std::string& word : report.command) {
        json.string(word);
    }
    json.end_array().key("probes").begin_array();
    for (const JudgedProbe& one : report.probes) {
        write_probe(json, one);
    }
    json.end_array().end_object();
    escape_unprintable_json(text, 0);
    text += '\n';
    return text;
}

std::string probe_line(const SearchReport& report, const JudgedProbe& probe) {
    const std::string seed =
        probe.probe.seed > 0 ? " seed " + std::to_string(report.options->seed + probe.probe.seed)
                             : "";
    return fmt::format("probe {:<3} {} {}{}: {} ({} requests, {:.1f} s): {}\n",
                       report.probes.size(), report.options->over->name,
                       load_text(probe.probe.value), seed, outcome_word(probe), probe.rows,
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
                               ? "stability: waiting requests and TTFT rise through the run"
                               : binds);
    }
    std::size_t thrown = 0;
    for (const JudgedProbe& one : report.probes) {
        thrown += one.outcome == ProbeOutcome::meets || one.outcome == ProbeOutcome::fails ? 0 : 1;
    }
    lines.add("Probes", fmt::format("{} in {:.1f} s, {} of them thrown away", report.probes.size(),
                                    report.seconds, thrown));
    if (!report.knee.monotone) {
        lines.add("Warning",
                  "a load above this knee met the SLO: batching or caching helps there; the knee "
                  "is the lowest one");
    }
    if (const char* remedy = remedy_of(report); *remedy != '\0') {
        lines.add("Note", remedy);
    }
    if (!report.why.empty()) {
        lines.add("Ended", report.why);
    }
    return lines.take();
}

}  // namespace driftless

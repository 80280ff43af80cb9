#include "cmd/find/search_file.hpp"

#include <cstdint>
#include <utility>

#include "cmd/cells/json_texts.hpp"
#include "proto/json/document.hpp"
#include "proto/json/printable.hpp"
#include "proto/json/write.hpp"

namespace driftless {

namespace {

const char* stability_name(Stability stability) {
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
    json.key("outcome").string(name_of(one.outcome));
    write_optional_text(json, "binds", one.binds);
    json.key("purpose").string(name_of(one.probe.purpose));
    json.key("seed").unsigned_integer(one.probe.seed);
    json.key("rows").unsigned_integer(one.rows);
    json.key("seconds").number(one.seconds);
    json.key("stability").string(stability_name(one.stability.stability));
    json.key("slos").begin_array();
    for (const ThresholdFinding& finding : one.findings) {
        json.begin_object();
        json.key("slo").string(finding.condition);
        json.key("value");
        finding.value ? json.number(*finding.value) : json.null();
        json.key("meets").boolean(!finding.fails);
        json.end_object();
    }
    json.end_array();
    write_texts(json, "cut", one.cut_folders);
    json.end_object();
}

/// False: an outcome of another version.
bool read_outcome(const std::string& name, ProbeOutcome& out) {
    for (const ProbeOutcome one : {ProbeOutcome::meets, ProbeOutcome::fails, ProbeOutcome::spoiled,
                                   ProbeOutcome::too_short}) {
        if (name == name_of(one)) {
            out = one;
            return true;
        }
    }
    return false;
}

bool read_stability(const std::string& name, Stability& out) {
    for (const Stability one : {Stability::unknown, Stability::stable, Stability::unstable}) {
        if (name == stability_name(one)) {
            out = one;
            return true;
        }
    }
    return false;
}

std::vector<ThresholdFinding> read_findings(JsonValue slos) {
    std::vector<ThresholdFinding> findings;
    for (JsonValue one = slos.first(); one.present(); one = one.next()) {
        ThresholdFinding finding;
        finding.condition = text_of(one.find("slo"));
        finding.value = one.find("value").as_double();
        finding.fails = !one.find("meets").as_bool().value_or(false);
        findings.push_back(std::move(finding));
    }
    return findings;
}

/// False: something is missing.
bool read_probe(JsonValue json, JudgedProbe& out) {
    const auto value = json.find("value").as_double();
    const auto seed = json.find("seed").as_u64();
    const auto rows = json.find("rows").as_u64();
    const auto seconds = json.find("seconds").as_double();
    constexpr double lowest = load_min / 2048;
    if (!value || !(*value >= lowest && *value <= load_max) || !seed || *seed > UINT32_MAX ||
        !rows || !seconds) {
        return false;
    }
    out.probe.value = *value;
    out.probe.seed = static_cast<std::uint32_t>(*seed);
    out.rows = *rows;
    out.seconds = *seconds;
    out.run = text_of(json.find("run"));
    out.verdict = text_of(json.find("verdict"));
    out.why = text_of(json.find("why"));
    out.binds = text_of(json.find("binds"));
    out.findings = read_findings(json.find("slos"));
    out.cut_folders = texts_of(json.find("cut"));
    return read_outcome(text_of(json.find("outcome")), out.outcome) &&
           read_stability(text_of(json.find("stability")), out.stability.stability);
}

}  // namespace

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
    write_optional_text(json, "binds", binding(report));
    json.key("monotone").boolean(report.knee.monotone);
    json.key("state").string(report.state);
    write_optional_text(json, "why", report.why);
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
    write_texts(json, "command", report.command);
    json.key("home").string(report.home);
    write_kept_traces(json, report.traces);
    json.key("probes").begin_array();
    for (const JudgedProbe& one : report.probes) {
        write_probe(json, one);
    }
    json.end_array().end_object();
    escape_unprintable_json(text, 0);
    text += '\n';
    return text;
}

std::string read_search(const std::string& text, KeptSearch& out) {
    JsonDocument document;
    const Result<JsonValue> read = document.parse(text);
    if (!read) {
        return "is not JSON; start a new search";
    }
    const JsonValue root = read.value();
    if (root.find("schema").as_i64() != find_schema) {
        return "was written by another version of driftless; use that one";
    }
    out.command = texts_of(root.find("command"));
    out.home = text_of(root.find("home"));
    out.traces = read_kept_traces(root.find("traces"));
    out.seconds = root.find("seconds").as_double().value_or(0);
    for (JsonValue one = root.find("probes").first(); one.present(); one = one.next()) {
        if (!read_probe(one, out.probes.emplace_back())) {
            return "has an unreadable probe: number " + std::to_string(out.probes.size());
        }
    }
    return "";
}

}  // namespace driftless

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <utility>

#include "cmd/base/exit_codes.hpp"
#include "cmd/base/values.hpp"
#include "cmd/flags/summary_values.hpp"
#include "cmd/report/rebuilt_run.hpp"
#include "cmd/report/text_parts.hpp"
#include "cmd/runs/cell.hpp"
#include "cmd/runs/find.hpp"
#include "engine/plan/compressed_files.hpp"
#include "proto/core/errors.hpp"
#include "proto/core/text.hpp"
#include "proto/figures/distribution.hpp"
#include "proto/figures/verdict.hpp"
#include "proto/json/document.hpp"
#include "proto/json/put.hpp"
#include "proto/run/record.hpp"

namespace driftless {

static bool compares(char c) {
    return c == '<' || c == '>' || c == '=';
}

/// The conditions, without blanks: one begins where a word begins that neither compares nor is
/// compared with ("ttft:p99 < 2s" is one, and "errors < 1 %").
static std::vector<std::string> conditions_of(std::string_view text) {
    constexpr std::string_view blanks = " \t\n,";
    std::vector<std::string> out;
    for (text = trim(text, blanks); !text.empty(); text = trim(text, blanks)) {
        const std::string_view word = text.substr(0, text.find_first_of(blanks));
        const bool goes_on =
            !out.empty() && (compares(word.front()) || word == "%" || compares(out.back().back()));
        goes_on ? out.back() += word : out.emplace_back(word);
        text.remove_prefix(word.size());
    }
    return out;
}

static std::string opposite(const std::string& condition) {
    const std::size_t at = condition.find_first_of("<>");
    const bool equal = at + 1 < condition.size() && condition[at + 1] == '=';
    const char* other = condition[at] == '<' ? (equal ? ">" : ">=") : (equal ? "<" : "<=");
    return condition.substr(0, at) + other + condition.substr(at + (equal ? 2 : 1));
}

static Result<Slo> parse_slo(const std::string& condition) {
    if (condition.find_first_of("<>") == condition.npos) {
        return invalid(
            "has no comparison; say what must hold, as in \"ttft:p99<2s tpot:p95<50ms\"");
    }
    // In its own words first: "<==1s" is none, and its opposite would be.
    constexpr TakesFigure takes = [](const FigureName& one) { return one.in_slo; };
    if (const Result<Threshold> itself = parse_threshold(condition, takes); !itself) {
        return itself.error();
    }
    Slo slo;
    slo.text = condition;
    slo.fail_if = opposite(condition);
    Result<Threshold> threshold = parse_threshold(slo.fail_if);
    if (!threshold) {
        return threshold.error();
    }
    slo.threshold = std::move(threshold).value();
    const FigureName& figure = *slo.threshold.figure;
    if (!figure.in_slo) {
        static const std::string text = "cannot be in an SLO; use " + list_of_figures(takes);
        return invalid(text.c_str());
    }
    const bool bounded_above = condition[condition.find_first_of("<>")] == '<';
    if (bounded_above != (figure.better == Better::low)) {
        return invalid(
            "is the wrong way round: an SLO says what must hold, as in \"ttft:p99<2s\", "
            "\"errors<1%\" or \"good>95%\"");
    }
    if (const Result<Threshold> decided = parse_fail_if(condition); !decided) {
        return decided.error();  // as typed: the probes judge the opposite
    }
    const std::uint32_t per_mille = slo.threshold.statistic->per_mille;
    if (figure.has_statistics() && per_mille > 0) {
        slo.floor = percentile_floor(per_mille);
    }
    return slo;
}

Result<Slos> parse_slos(std::string_view text) {
    Slos out;
    bool bounds_errors = false;
    for (const std::string& condition : conditions_of(text)) {
        Result<Slo> slo = parse_slo(condition);
        if (!slo) {
            return slo.error();
        }
        const std::string_view name = slo.value().threshold.figure->name;
        bounds_errors = bounds_errors || name == "errors" || name == "failed";
        out.rows_min = std::max(out.rows_min, slo.value().floor);
        out.list.push_back(std::move(slo).value());
    }
    if (out.list.empty()) {
        return invalid("is empty; say what must hold, as in \"ttft:p99<2s\"");
    }
    if (!bounds_errors) {
        Result<Slo> errors = parse_slo(std::string(errors_slo));
        CHECK(errors);
        out.list.push_back(std::move(errors).value());
    }
    return out;
}

/// What became of each `--fail-if`, which are the SLOs in their order.
static Result<void> read_findings(const JsonValue& root, const Slos& slos, JudgedProbe& probe) {
    JsonValue one = root.find("thresholds").first();
    for (const Slo& slo : slos.list) {
        JsonMembers fields(one);
        ThresholdFinding& finding = probe.findings.emplace_back();
        walk(fields, finding);
        if (fields.error()) {
            return Error{ErrorCode::missing, 0, "thresholds"};
        }
        finding.condition = slo.text;
        one = one.next();
    }
    return {};
}

static Result<void> read_summary(const CellSummary& summary, const Slos& slos, JudgedProbe& probe) {
    const JsonValue root = summary.root();
    const auto fired = root.find("fired").as_u64();
    const auto warmup = root.find("warmup").find("fired").as_u64();
    if (!fired) {
        return Error{ErrorCode::missing, 0, "fired"};
    }
    probe.verdict = summary.verdict();
    probe.rows = *fired - std::min(*fired, warmup.value_or(0));
    return read_findings(root, slos, probe);
}

namespace {

/// The rows that were sent in the measurement.
struct SentRows {
    std::vector<RowTimes> times;
    std::vector<RowTimes> as_sent;  ///< from the wire on, without what this client read late
    std::vector<std::int64_t>
        late_ns;  ///< of each: from its due instant, or its release, to the wire
};

}  // namespace

static Result<SentRows> read_rows(const std::string& path) {
    Result<FileLines> lines = FileLines::open(path);
    if (!lines) {
        return lines.error();
    }
    JsonDocument document;
    SentRows rows;
    while (const auto line = lines.value().next()) {
        const Result<Record> record = read_record(document, *line);
        if (!record) {
            return record.error();
        }
        const Record& one = record.value();
        if (one.fired_ns && one.ended_ns && one.phase == Phase::profile) {
            rows.times.push_back({one.due_ns, one.first_token_ns, *one.ended_ns});
            const std::int64_t wanted_ns = is_wish(one.late_cause) ? one.held_ns : 0;
            const std::int64_t late_ns =
                *one.fired_ns - one.due_ns - wanted_ns + one.wire_delay_bound_ns.value_or(0);
            rows.late_ns.push_back(late_ns);
            RowTimes sent = rows.times.back();
            sent.due_ns += late_ns;
            if (sent.first_token_ns) {
                *sent.first_token_ns -= one.first_late_ns.value_or(0);
            }
            sent.ended_ns -= one.last_late_ns.value_or(0);
            rows.as_sent.push_back(sent);
        }
    }
    return rows;
}

/// By how much a figure lies beyond its bound: 2 is twice the bound; nothing where unmeasured.
static double excess(const Slo& slo, const ThresholdFinding& finding) {
    constexpr double ns_per_ms = 1e6;
    constexpr double unmeasured = 1e300;
    if (!finding.value) {
        return unmeasured;
    }
    const double value = *finding.value * (finding.unit == FigureUnit::time ? ns_per_ms : 1);
    const double bound = slo.threshold.bound;
    const bool falls = slo.text.find('>') != slo.text.npos;
    const double over = falls ? bound : value;
    const double under = falls ? value : bound;
    return under > 0 ? over / under : unmeasured;
}

/// The SLO that fails by the largest factor; null where all hold.
static const Slo* worst(const Slos& slos, const JudgedProbe& probe) {
    const Slo* found = nullptr;
    double most = 0;
    for (std::size_t i = 0; i < slos.list.size(); ++i) {
        const double by = excess(slos.list[i], probe.findings[i]);
        if (probe.findings[i].fails && by >= most) {
            found = &slos.list[i];
            most = by;
        }
    }
    return found;
}

static std::string figures_text(const JudgedProbe& probe) {
    return joined(probe.findings, ", ", [](const ThresholdFinding& one) {
        return one.condition + " " + value_text(one);
    });
}

static std::string stability_text(const StabilityFinding& found) {
    return fmt::format(
        "the server does not keep up: waiting requests rise {:.1f}-fold and TTFT {:.1f}-fold "
        "during the run",
        found.waiting_ratio, found.ttft_ratio);
}

/// The least time against which a late row counts in an SLO: its bound, or of good rows those of
/// --goodput; of a time between tokens, what half of the answers last. Endless where no time does.
static double tightest_ns(const Threshold& slo, JsonValue summary) {
    constexpr double ns_per_ms = 1e6;
    constexpr double endless = std::numeric_limits<double>::infinity();
    const double lasted = ns_per_ms * summary.find("median_e2el_ms").as_double().value_or(endless);
    if (slo.figure->unit == FigureUnit::time) {
        const bool is_whole = slo.figure->name.starts_with("ttft") || slo.figure->name == "e2e";
        return is_whole ? slo.bound : std::max(slo.bound, lasted);
    }
    double least = endless;
    const auto look_at = [&](JsonValue limits) {
        for (const char* name : {"ttft_ms", "ttft_due_ms", "e2el_ms"}) {
            least = std::min(least, ns_per_ms * limits.find(name).as_double().value_or(endless));
        }
        if (limits.find("tpot_ms").as_double()) {
            least = std::min(least, lasted);
        }
    };
    const JsonValue goodput = summary.find("goodput");
    look_at(goodput);
    for (JsonValue one = goodput.find("groups").first(); one.present(); one = one.next()) {
        look_at(one);
    }
    return least;
}

/// What the client may have changed of the figures that an SLO asks; empty: nothing.
static std::string moved_across(const CellEnd& end, const Slos& slos, const JudgedProbe& probe) {
    for (std::size_t i = 0; i < slos.list.size(); ++i) {
        const Threshold& threshold = slos.list[i].threshold;
        const auto bar = end.summary->error_bar(threshold);
        const auto value = end.summary->figure(threshold);
        if (threshold.figure->name == "errors" && !probe.findings[i].fails) {
            continue;
        }
        if (!bar || !value || crosses(threshold, *value - bar->below) != probe.findings[i].fails ||
            crosses(threshold, *value + bar->above) != probe.findings[i].fails) {
            return "the client may have moved " + slos.list[i].text + " across its bound";
        }
    }
    return "";
}

/// What the client was blamed for, where that may have changed what becomes of the SLOs. Empty: it
/// lost nothing, its rows left nearly in time, the true figures lie on the same side of their
/// bounds, and whether the server kept up is the same without its part.
static std::string why_spoiled(const CellEnd& end, const Slos& slos, const JudgedProbe& probe,
                               SentRows rows) {
    std::vector<std::int64_t>& late_ns = rows.late_ns;
    constexpr double worst_part = 0.1;  // of the tightest bound, for one row
    constexpr double late_part = 0.05;  // for a hundredth of them
    const JsonValue summary = end.summary->root();
    const JsonValue client = summary.find("client");
    const bool lost = client.find("dropped_payloads").as_i64() != 0 ||
                      client.find("dropped_entries").as_i64() != 0 ||
                      summary.find("outcomes").find("client_failed").as_i64() > 0;
    if (lost || end.exit_code == exit_not_certified || late_ns.empty() ||
        probe.verdict == name_of(Verdict::network_limited)) {
        const auto reason = summary.find("verdict").find("reasons").first().as_string();
        return std::string(reason.value_or("it lost a part of the run"));
    }
    if (probe.stability.stability != judge_stability(std::move(rows.as_sent)).stability) {
        return "whether the server kept up depends on how late rows left";
    }
    if (std::string moved = moved_across(end, slos, probe); !moved.empty()) {
        return moved;
    }
    double tightest = std::numeric_limits<double>::infinity();
    for (const Slo& slo : slos.list) {
        if (slo.threshold.figure->name != "errors") {
            tightest = std::min(tightest, tightest_ns(slo.threshold, summary));
        }
    }
    std::ranges::sort(late_ns);
    const std::size_t p99 = nearest_rank(late_ns.size(), 990) - 1;
    if (!std::isfinite(tightest) || static_cast<double>(late_ns.back()) > worst_part * tightest ||
        static_cast<double>(late_ns[p99]) > late_part * tightest) {
        return fmt::format("rows left late: p99 {}, worst {}; allowed {} and {}",
                           milliseconds_text(late_ns[p99]), milliseconds_text(late_ns.back()),
                           milliseconds_text(std::llround(late_part * tightest)),
                           milliseconds_text(std::llround(worst_part * tightest)));
    }
    return "";
}

static void decide(const CellEnd& end, const Slos& slos, SentRows rows, JudgedProbe& probe) {
    const Slo* fails = worst(slos, probe);
    const bool unstable = probe.stability.stability == Stability::unstable;
    const bool blamed = end.outcome == CellOutcome::spoiled || is_spoiled(probe.verdict);
    const std::string spoiled =
        blamed ? why_spoiled(end, slos, probe, std::move(rows)) : std::string();
    if (!spoiled.empty()) {
        probe.outcome = ProbeOutcome::spoiled;
        probe.why = probe.verdict + ": " + spoiled;
    } else if (probe.rows < slos.rows_min) {
        probe.outcome = ProbeOutcome::too_short;
        probe.why = std::to_string(probe.rows) + " requests of the " +
                    std::to_string(slos.rows_min) + " that its percentile needs";
    } else if (fails != nullptr || unstable) {
        probe.outcome = ProbeOutcome::fails;
        probe.binds = fails != nullptr ? fails->text : std::string(stability_slo);
        probe.why = fails != nullptr ? figures_text(probe) : stability_text(probe.stability);
    } else {
        probe.outcome = ProbeOutcome::meets;
        probe.why = figures_text(probe);
    }
    if (blamed && probe.is_judged()) {
        probe.why += "; " + probe.verdict + ", which cannot have changed that";
    }
}

bool can_be_judged(const CellEnd& end) {
    const bool ended = end.exit_code == exit_done || end.exit_code == exit_threshold ||
                       end.exit_code == exit_not_certified || end.exit_code == exit_no_success;
    return ended && end.summary && end.outcome != CellOutcome::interrupted;
}

Result<void> judge_probe(const CellEnd& end, const std::string& folder, const Slos& slos,
                         JudgedProbe& probe) {
    CHECK(can_be_judged(end));
    if (const Result<void> read = read_summary(*end.summary, slos, probe); !read) {
        return read.error();
    }
    Result<SentRows> rows = read_rows(folder + "/requests.jsonl");
    if (!rows) {
        return rows.error();
    }
    probe.stability = judge_stability(std::move(rows.value().times));
    decide(end, slos, std::move(rows).value(), probe);
    return {};
}

std::optional<LoopEnd> read_loop(const std::string& folder) {
    LoopEnd loop;
    const std::string why =
        each_record_in(folder + "/requests.jsonl", [&loop](const Record& record) {
            loop.cut = loop.cut || record.censored;
            if (is_whole(record.outcome) && record.ended_ns) {
                loop.ended_ns.push_back(*record.ended_ns);
            }
        });
    return why.empty() ? std::optional(std::move(loop)) : std::nullopt;
}

/// "12.5 a second".
static std::string with_unit(const SearchReport& report, double value) {
    return load_text(value) + " " + report.options->over->unit;
}

static std::string knee_text(const SearchReport& report) {
    const Knee& knee = report.knee;
    if (knee.pass && knee.fail) {
        return "from " + load_text(*knee.pass) + " to " + with_unit(report, *knee.fail) +
               ": the first meets the SLO, the second does not";
    }
    if (knee.fail) {
        return "below " + with_unit(report, *knee.fail) + ", the lowest load that was tried";
    }
    return knee.pass ? "above " + with_unit(report, *knee.pass) +
                           ", the highest that meets it; no probe above counted"
           : report.probes.empty() ? "not known: no probe ran"
                                   : "not known: every probe was spoiled";
}

static std::string interval_text(const SearchReport& report) {
    const Knee& knee = report.knee;
    const std::string seeds = std::to_string(report.options->rules.replicates + 1);
    return "from " + (knee.low ? load_text(*knee.low) : "unknown") + " to " +
           (knee.high ? load_text(*knee.high) : "unknown") + ": all " + seeds +
           " seeds meet the SLO at the first load, and none does at the second";
}

static const char* remedy_of(const SearchReport& report) {
    switch (report.knee.state) {
        case SearchState::lowest_fails:
            return "the lowest load fails: lower --low, or replay a part of the trace (-- "
                   "--sample-sessions 10%)";
        case SearchState::highest_passes:
            return "the highest load passes: raise --high";
        case SearchState::spoiled:
            return report.probes.empty() ? ""
                                         : "a probe was spoiled in every try, for the reason in "
                                           "its verdict; use a quieter client, raise --tries, or "
                                           "let no verdict blame the client: -- --calibration none";
        case SearchState::too_many:
            return "results contradict each other: make probes longer";
        case SearchState::searching:
        case SearchState::found:
            break;
    }
    return "";
}

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

std::string probe_line(const SearchReport& report, const JudgedProbe& probe,
                       const std::optional<KneeProbe>& next) {
    const std::string seed =
        probe.probe.seed > 0 ? " seed " + std::to_string(report.options->seed + probe.probe.seed)
                             : "";
    const std::string then =
        next ? fmt::format("; next {} ({})", load_text(next->value), name_of(next->purpose)) : "";
    return fmt::format("probe {:<3} {} {}{}: {} ({} requests, {:.1f} s): {}{}",
                       report.probes.size(), report.options->over->name,
                       load_text(probe.probe.value), seed, name_of(probe.outcome), probe.rows,
                       probe.seconds, probe.why, then);
}

std::vector<std::pair<std::string, std::string>> result_facts(const SearchReport& report) {
    std::vector<std::pair<std::string, std::string>> facts;
    facts.emplace_back("Knee", knee_text(report));
    if (report.knee.state == SearchState::found && report.options->rules.replicates > 0) {
        facts.emplace_back("Interval", interval_text(report));
    }
    if (const std::string binds = binding(report); !binds.empty()) {
        facts.emplace_back("Binds", binds == stability_slo
                                        ? "stability: waiting requests and TTFT rise during the run"
                                        : binds);
    }
    facts.emplace_back(
        "Probes",
        fmt::format("{} in {:.1f} s, {} of them discarded", report.probes.size(), report.seconds,
                    std::ranges::count(report.probes, false, &JudgedProbe::is_judged)));
    if (!report.knee.monotone) {
        facts.emplace_back(
            "Warning",
            "a load above this knee met the SLO: batching or caching helps there; the knee "
            "is the lowest one");
    }
    if (const char* remedy = remedy_of(report); *remedy != '\0') {
        facts.emplace_back("Note", remedy);
    }
    if (!report.why.empty() && report.state != "stopped") {  // what stopped it is on stderr
        facts.emplace_back("Ended", report.why);
    }
    return facts;
}

std::string result_lines(const SearchReport& report) {
    Lines lines;
    lines.rule("Knee");
    for (const auto& [label, text] : result_facts(report)) {
        lines.add(label, text);
    }
    return lines.take();
}

namespace {

/// As people type it; null: not known.
struct Load {
    std::optional<double> value;
    void operator()(JsonWriter& json) const { value ? json.raw(load_text(*value)) : json.null(); }
};

}  // namespace

static void put_finding(JsonWriter& json, const ThresholdFinding& finding) {
    const std::optional<ErrorBar>& bar = finding.error;
    put_object(json, {{"slo", finding.condition},
                      {"value", finding.value},
                      {"client_below", bar ? std::optional(bar->below) : std::nullopt},
                      {"client_above", bar ? std::optional(bar->above) : std::nullopt},
                      {"meets", !finding.fails}});
}

/// What a search that goes on needs beside its probes.
static void walk_search(auto& fields, auto& report) {
    fields.value("seconds", 2, report.seconds);
    fields.value("command", 2, report.command);
    fields.value("home", 2, report.home);
    fields.value("traces", 2, report.traces);
}

/// How a probe ended, as it is read back.
static void walk_result(auto& fields, auto& one) {
    fields.value("verdict", 2, one.verdict);
    fields.value("why", 2, one.why);
    fields.value("outcome", 1, one.outcome);
    fields.text("binds", 2, one.binds);
    fields.value("purpose", 2, one.probe.purpose);
    fields.value("seed", 1, one.probe.seed);
    fields.value("rows", 1, one.rows);
    fields.value("seconds", 1, one.seconds);
    fields.value("stability", 1, one.stability.stability);
}

static void put_probe(JsonWriter& json, const JudgedProbe& one) {
    MemberWriter fields(json);
    json.begin_object();
    put(json, {{"value", Load{one.probe.value}},
               {"run", one.run},
               {"meets", known_if(one.is_judged(), one.outcome == ProbeOutcome::meets)}});
    walk_result(fields, one);
    put(json, {{"slos", put_each(one.findings, put_finding)}, {"cut", one.cut_folders}});
    json.end_object();
}

static std::vector<ThresholdFinding> read_findings(JsonValue slos) {
    std::vector<ThresholdFinding> findings;
    for (JsonValue one = slos.first(); one.present(); one = one.next()) {
        ThresholdFinding finding;
        finding.condition = kept_text(one.find("slo"));
        finding.value = one.find("value").as_double();
        finding.fails = !one.find("meets").as_bool().value_or(false);
        const auto below = one.find("client_below").as_double();
        const auto above = one.find("client_above").as_double();
        finding.error = below && above ? std::optional(ErrorBar{*below, *above}) : std::nullopt;
        findings.push_back(std::move(finding));
    }
    return findings;
}

/// False: something is missing, or of another version.
static bool read_probe(JsonValue json, JudgedProbe& out) {
    constexpr double lowest = load_min / 2048;
    JsonMembers fields(json);
    fields.value("value", 1, out.probe.value);
    fields.value("run", 2, out.run);
    walk_result(fields, out);
    fields.value("cut", 2, out.cut_folders);
    out.findings = read_findings(json.find("slos"));
    return !fields.error() && out.probe.value >= lowest && out.probe.value <= load_max;
}

std::string find_json(const SearchReport& report) {
    const FindOptions& options = *report.options;
    const auto put_slo = [](JsonWriter& to, const Slo& slo) { to.string(slo.text); };
    std::string text;
    JsonWriter json(text);
    MemberWriter fields(json);
    json.begin_object();
    put(json, {{"schema", find_schema},
               {"over", options.over->name},
               {"pass", Load{report.knee.pass}},
               {"fail", Load{report.knee.fail}},
               {"low", Load{report.knee.low}},
               {"high", Load{report.knee.high}},
               {"binds", or_null(binding(report))},
               {"monotone", report.knee.monotone},
               {"state", report.state},
               {"why", or_null(report.why)},
               {"slo", put_each(options.slos.list, put_slo)},
               {"allowed", std::vector<Load>{{options.rules.low}, {options.rules.high}}},
               {"saturated", report.saturated},
               {"tolerance", options.rules.tolerance},
               {"replicates", options.rules.replicates},
               {"seed", options.seed}});
    walk_search(fields, report);
    put(json, {{"probes", put_each(report.probes, put_probe)}});
    json.end_object();
    escape_unprintable_json(text, 0);
    text += '\n';
    return text;
}

std::string read_search(const std::string& text, SearchReport& out) {
    const ParsedJson read(text);
    const JsonValue root = read.root;
    if (!root.present()) {
        return "is not JSON; start a new search";
    }
    if (root.find("schema").as_i64() != find_schema) {
        return "was written by another version of driftless; use that one";
    }
    JsonMembers fields(root);
    walk_search(fields, out);
    out.saturated = root.find("saturated").as_double();
    if (out.saturated && !(*out.saturated > 0)) {
        return "has an unreadable saturated; start a new search";
    }
    for (JsonValue one = root.find("probes").first(); one.present(); one = one.next()) {
        if (!read_probe(one, out.probes.emplace_back())) {
            return "has an unreadable probe: number " + std::to_string(out.probes.size());
        }
    }
    return "";
}

}  // namespace driftless

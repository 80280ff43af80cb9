#include "cmd/find/judged_probe.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "cmd/exit_codes.hpp"
#include "engine/input/file_lines.hpp"
#include "engine/stats/verdict.hpp"
#include "proto/core/check.hpp"
#include "proto/json/document.hpp"
#include "proto/record/record.hpp"

namespace driftless {

namespace {

FigureUnit unit_of(std::string_view name) {
    return name == "ms"      ? FigureUnit::time
           : name == "share" ? FigureUnit::share
                             : FigureUnit::number;
}

/// What became of each `--fail-if`, which are the SLOs in their order.
Result<void> read_findings(const JsonValue& root, const Slos& slos, JudgedProbe& probe) {
    JsonValue one = root.find("thresholds").first();
    for (const Slo& slo : slos.list) {
        const auto fails = one.find("fails").as_bool();
        if (!fails) {
            return Error{ErrorCode::missing, 0, "thresholds"};
        }
        ThresholdFinding finding;
        finding.condition = slo.text;
        finding.value = one.find("value").as_double();
        finding.unit = unit_of(one.find("unit").as_string().value_or(""));
        finding.fails = *fails;
        probe.findings.push_back(std::move(finding));
        one = one.next();
    }
    return {};
}

Result<void> read_summary(const CellSummary& summary, const Slos& slos, JudgedProbe& probe) {
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

/// Times of the rows that were sent in the measurement.
Result<std::vector<RowTimes>> read_times(const std::string& path) {
    Result<FileLines> lines = FileLines::open(path);
    if (!lines) {
        return lines.error();
    }
    JsonDocument document;
    std::vector<RowTimes> rows;
    while (const auto line = lines.value().next()) {
        const Result<Record> record = read_record(document, *line);
        if (!record) {
            return record.error();
        }
        const Record& one = record.value();
        if (one.fired_ns && one.ended_ns && one.phase == Phase::profile) {
            rows.push_back({one.due_ns, one.first_token_ns, *one.ended_ns});
        }
    }
    return rows;
}

/// By how much a figure lies beyond its bound: 2 is twice the bound; nothing where unmeasured.
double excess(const Slo& slo, const ThresholdFinding& finding) {
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
const Slo* worst(const Slos& slos, const JudgedProbe& probe) {
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

std::string figures_text(const JudgedProbe& probe) {
    std::string text;
    for (const ThresholdFinding& one : probe.findings) {
        text += (text.empty() ? "" : ", ") + one.condition + " " + value_text(one);
    }
    return text;
}

std::string stability_text(const StabilityFinding& found) {
    char text[128];
    (void)std::snprintf(text, sizeof text,
                        "the server does not keep up: waiting requests rise %.1f-fold and TTFT "
                        "%.1f-fold during the run",
                        found.waiting_ratio, found.ttft_ratio);
    return text;
}

/// Verdicts that blame somebody else than the server.
bool is_spoiled(const std::string& verdict) {
    return verdict == name_of(Verdict::client_limited) || verdict == name_of(Verdict::host_noisy) ||
           verdict == name_of(Verdict::network_limited);
}

void decide(const CellEnd& end, const Slos& slos, JudgedProbe& probe) {
    const Slo* fails = worst(slos, probe);
    const bool unstable = probe.stability.stability == Stability::unstable;
    if (end.outcome == CellOutcome::spoiled || is_spoiled(probe.verdict)) {
        probe.outcome = ProbeOutcome::spoiled;
        const auto reason = end.summary->root().find("verdict").find("reasons").first().as_string();
        probe.why = probe.verdict + (reason ? ": " + std::string(*reason) : "");
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
}

}  // namespace

const char* name_of(ProbeOutcome outcome) {
    switch (outcome) {
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
    Result<std::vector<RowTimes>> times = read_times(folder + "/requests.jsonl");
    if (!times) {
        return times.error();
    }
    probe.stability = judge_stability(std::move(times).value());
    decide(end, slos, probe);
    return {};
}

}  // namespace driftless

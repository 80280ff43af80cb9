#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cmd/compare/screen.hpp"
#include "engine/views/view_text.hpp"
#include "proto/core/counted.hpp"

namespace driftless {

namespace {

/// "240 ok, 3 failed, 1 tainted": what is 0 is not said, but ok.
std::string counts_text(const PlayedCounts& counts) {
    struct Kind {
        std::uint64_t count;
        const char* words;
    };
    std::string text = counted(counts.ok, "request ok", "requests ok");
    for (const Kind& one : {
             Kind{counts.failed, "failed"},
             Kind{counts.other_length, "with a length other than asked (in no figure)"},
             Kind{counts.abandoned, "abandoned as planned"},
             Kind{counts.censored, "cut off at the end, as planned"},
             Kind{counts.dropped, "not sent after a failed one"},
             Kind{counts.unplayed, "not completed"},
             Kind{counts.interrupted, "in flight when the run was killed"},
             Kind{counts.again, "sent again (the last try counts)"},
             Kind{counts.tainted, "tainted"},
         }) {
        if (one.count > 0) {
            text += fmt::format(", {} {}", one.count, one.words);
        }
    }
    return text;
}

std::string run_text(const PlayedRun& run) {
    std::string text = run.name() + ": ";
    text += run.verdict.empty() ? run.why_no_verdict : run.verdict;
    if (!run.verdict.empty() && run.verdict != "certified" && !run.verdict_reasons.empty()) {
        text += " (" + run.verdict_reasons.front() + ")";
    }
    return text + "; " + counts_text(run.counts);
}

void add_runs(const char* label, const std::vector<PlayedRun>& runs,
              std::vector<ComparisonNote>& out) {
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const std::string number = runs.size() > 1 ? std::to_string(i + 1) : "";
        out.push_back({label + number, run_text(runs[i])});
    }
}

void add_work(const Comparison& comparison, std::vector<ComparisonNote>& out) {
    const RunFacts& facts = comparison.a.front().facts;
    if (comparison.same_work) {
        out.push_back(
            {"Same work", fmt::format("{}, {}, schedule {:016x}", facts.info.trace,
                                      counted(facts.rows, "row", "rows"), facts.schedule_digest)});
    }
    for (const WorkDifference& one : comparison.differences) {
        const bool told = one.weight == Weight::told;
        out.push_back({told ? "Differs" : "NOT THE SAME", text_of(one)});
    }
}

void add_pairs(const Comparison& comparison, std::vector<ComparisonNote>& out) {
    const GroupComparison& groups = comparison.groups;
    std::string text = fmt::format("{} in all runs", counted(groups.keys, "request", "requests"));
    if (groups.only_a + groups.only_b > 0) {
        text += fmt::format("; {} only in A and {} only in B are left out", groups.only_a,
                            groups.only_b);
    }
    if (groups.only_a_ok + groups.only_b_ok > 0) {
        text += fmt::format("; {} ok only in A and {} ok only in B are left out of latencies",
                            groups.only_a_ok, groups.only_b_ok);
    }
    if (groups.trees > 0) {
        text +=
            fmt::format("; {}, resampled as a whole", counted(groups.trees, "session", "sessions"));
    }
    if (comparison.outputs.known > 0) {
        text += fmt::format("; {} of {} answers differ", comparison.outputs.changed,
                            comparison.outputs.known);
    }
    out.push_back({"Pairs", text});
}

/// Hits are shares of sums: no interval is given.
void add_hits(const Comparison& comparison, std::vector<ComparisonNote>& out) {
    const auto share = [](const std::vector<PlayedRun>& runs) {
        double cached = 0;
        double prompts = 0;
        for (const PlayedRun& run : runs) {
            for (const PlayedRow& row : run.rows) {
                const bool known = !std::isnan(row.cached_tokens);
                cached += known ? row.cached_tokens : 0;
                prompts += known ? row.prompt_tokens : 0;
            }
        }
        return prompts > 0 ? fmt::format("{:.2f} %", 100 * cached / prompts) : "not reported";
    };
    out.push_back({"Cache hits", fmt::format("A {}, B {} of the prompt tokens", share(comparison.a),
                                             share(comparison.b))});
}

/// What the runs warned of: a difference may be of that alone.
void add_warnings(const std::vector<PlayedRun>& runs, std::vector<ComparisonNote>& out) {
    for (const PlayedRun& run : runs) {
        for (const std::string& warning : run.warnings) {
            out.push_back({"Warning", run.name() + ": " + warning});
        }
    }
}

std::string tainted_text(const char* side, const std::vector<PlayedRun>& runs) {
    std::uint64_t tainted = 0;
    std::uint64_t rows = 0;
    for (const PlayedRun& run : runs) {
        tainted += run.counts.tainted;
        rows += run.rows.size();
    }
    return fmt::format("{} of {} rows of {}", tainted, rows, side);
}

void add_evidence(const Comparison& comparison, std::vector<ComparisonNote>& out) {
    const GroupComparison& groups = comparison.groups;
    if (groups.doubt == Doubt::client) {
        out.push_back(
            {"Unsure",
             fmt::format("{} and {} are tainted, more than 1 % of a side: the client may "
                         "have made the difference. Repeat on a quieter client",
                         tainted_text("A", comparison.a), tainted_text("B", comparison.b))});
    }
    switch (groups.evidence) {
        case Evidence::one_each:
            out.push_back({"Evidence",
                           "one run a side: what differs in these runs. Other runs may not differ "
                           "so: repeat both three times, A B B A A B, and compare A.. -- B.."});
            break;
        case Evidence::paired:
            out.push_back(
                {"Evidence",
                 groups.doubt == Doubt::held
                     ? "two sides of one run, but a cap held rows back, so that they did not leave "
                       "to both at one instant: what differs in this run. Raise the cap"
                     : "each row left to both servers at one instant: words are about these two "
                       "servers as they were running, not about a restart"});
            break;
        case Evidence::between_runs:
            out.push_back({"Evidence", fmt::format("between runs: {} of A, {} of B", groups.runs_a,
                                                   groups.runs_b)});
            break;
    }
}

/// Of the metrics whose spread is known.
void add_needed(const Comparison& comparison, std::vector<ComparisonNote>& out) {
    if (!comparison.detect) {
        return;
    }
    std::string text;
    for (const MetricComparison& one : comparison.groups.metrics) {
        if (const std::optional<double> rows = rows_needed(one, *comparison.detect)) {
            text += fmt::format("{}{} {}", text.empty() ? "" : ", ", one.metric.name(),
                                with_commas(std::ceil(*rows), 0));
        }
    }
    const double percent = 100 * *comparison.detect;
    out.push_back(
        {"Needed",
         fmt::format("requests per run to show a change of {:.2f} % in 80 of 100 cases: {}",
                     percent, text.empty() ? "unknown, or more runs" : text)});
}

}  // namespace

std::vector<ComparisonNote> comparison_notes(const Comparison& comparison) {
    std::vector<ComparisonNote> out;
    add_runs("A", comparison.a, out);
    add_runs("B", comparison.b, out);
    add_work(comparison, out);
    add_pairs(comparison, out);
    add_hits(comparison, out);
    add_warnings(comparison.a, out);
    add_warnings(comparison.b, out);
    add_evidence(comparison, out);
    add_needed(comparison, out);
    return out;
}

std::string refusal_text(const Comparison& comparison) {
    std::string text = "driftless compare: not the same work\n";
    for (const WorkDifference& one : comparison.differences) {
        if (one.weight != Weight::told) {
            const std::string first = comparison.a.front().name();
            text += one.a.empty() ? "  " + text_of(one)
                                  : fmt::format("  {}: {} has {}; {} has {}", one.what, first,
                                                one.a, one.run, one.b);
            text += fmt::format("\n    {}\n", one.remedy);
        }
    }
    if (heaviest(comparison.differences) == Weight::refused) {
        text += "  --anyway compares the requests that all runs share\n";
    }
    return text;
}

}  // namespace driftless

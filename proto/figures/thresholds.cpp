#include "proto/figures/thresholds.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "proto/core/check.hpp"

namespace driftless {

namespace {

using Figures = SummaryFigures;

std::optional<double> share(std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? std::nullopt
                      : std::optional(static_cast<double>(part) / static_cast<double>(whole));
}

FigureName times(std::string_view name, const Distribution& (*distribution)(const Figures&)) {
    return {name, FigureUnit::time, distribution, nullptr};
}

FigureName one(std::string_view name, FigureUnit unit,
               std::optional<double> (*value)(const Figures&)) {
    return {name, unit, nullptr, value};
}

const auto& all_figures() {
    constexpr FigureUnit part = FigureUnit::share;
    constexpr FigureUnit number = FigureUnit::number;
    static const std::array all = {
        times("ttft", [](const Figures& f) -> const Distribution& { return f.ttft; }),
        times("ttft_due", [](const Figures& f) -> const Distribution& { return f.ttft_due; }),
        times("tpot", [](const Figures& f) -> const Distribution& { return f.tpot; }),
        times("itl", [](const Figures& f) -> const Distribution& { return f.itl; }),
        times("e2e", [](const Figures& f) -> const Distribution& { return f.e2e; }),
        times("chunk_gap", [](const Figures& f) -> const Distribution& { return f.chunk_gap; }),
        times("drift", [](const Figures& f) -> const Distribution& { return f.sending.drift; }),
        one("errors", part,
            [](const Figures& f) { return share(f.failed_sent(), f.ended_sent()); }),
        one("good", part,
            [](const Figures& f) {
                // Of rows without a count of tokens only those are judged that are not good.
                return f.judges_goodput() && f.uncounted.goodput == 0 ? share(f.good, f.decided())
                                                                      : std::nullopt;
            }),
        one("tainted", part, [](const Figures& f) { return share(f.tainted_rows, f.rows); }),
        one("overtaken", part,
            [](const Figures& f) { return share(f.overtaken_turns, f.follow_up_turns); }),
        one("completed", number,
            [](const Figures& f) { return std::optional(static_cast<double>(f.completed)); }),
        one("failed", number,
            [](const Figures& f) { return std::optional(static_cast<double>(f.failed)); }),
        one("request_throughput", number,
            [](const Figures& f) { return std::optional(f.request_throughput); }),
        one("output_throughput", number,
            [](const Figures& f) { return std::optional(f.output_throughput); }),
        one("total_token_throughput", number,
            [](const Figures& f) { return std::optional(f.total_token_throughput); }),
        one("request_goodput", number, [](const Figures& f) { return f.request_goodput; }),
    };
    return all;
}

std::optional<double> measure(const Threshold& threshold, const Figures& figures) {
    const FigureName& figure = *threshold.figure;
    if (figure.distribution == nullptr) {
        return figure.value(figures);
    }
    const Distribution& distribution = figure.distribution(figures);
    return distribution.count == 0 ? std::nullopt
                                   : std::optional(statistic_of(threshold, distribution));
}

}  // namespace

double statistic_of(const Threshold& threshold, const Distribution& distribution) {
    switch (threshold.statistic) {
        case Statistic::mean:
            return distribution.mean;
        case Statistic::min:
            return distribution.min;
        case Statistic::max:
            return distribution.max;
        case Statistic::percentile:
            return distribution.at[threshold.percentile];
    }
    return 0;
}

bool crosses(const Threshold& threshold, double value) {
    switch (threshold.compare) {
        case Compare::above:
            return value > threshold.bound;
        case Compare::at_least:
            return value >= threshold.bound;
        case Compare::below:
            return value < threshold.bound;
        case Compare::at_most:
            return value <= threshold.bound;
    }
    return true;
}

const FigureName* find_figure(std::string_view name) {
    const auto& all = all_figures();
    const auto* const found = std::find_if(all.begin(), all.end(),
                                           [&](const FigureName& one) { return one.name == name; });
    return found == all.end() ? nullptr : found;
}

std::vector<ThresholdFinding> judge_thresholds(const std::vector<Threshold>& thresholds,
                                               const SummaryFigures& figures) {
    constexpr double ns_per_ms = 1e6;
    std::vector<ThresholdFinding> findings;
    for (const Threshold& threshold : thresholds) {
        CHECK(threshold.figure != nullptr);
        ThresholdFinding finding;
        finding.condition = threshold.text;
        finding.unit = threshold.figure->unit;
        finding.value = measure(threshold, figures);
        finding.fails = !finding.value || crosses(threshold, *finding.value);
        if (finding.value && finding.unit == FigureUnit::time) {
            *finding.value /= ns_per_ms;
        }
        findings.push_back(std::move(finding));
    }
    return findings;
}

std::optional<StopFigure> stop_figure_of(const Threshold& threshold) {
    constexpr std::array<std::pair<std::string_view, StopFigure>, 6> known = {
        {{"ttft", StopFigure::ttft},
         {"ttft_due", StopFigure::ttft_due},
         {"tpot", StopFigure::tpot},
         {"e2e", StopFigure::e2e},
         {"errors", StopFigure::errors},
         {"failed", StopFigure::failed}}};
    for (const auto& [name, figure] : known) {
        if (threshold.figure->name == name) {
            return figure;
        }
    }
    return std::nullopt;
}

}  // namespace driftless

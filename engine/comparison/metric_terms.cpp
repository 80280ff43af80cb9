#include "engine/comparison/metric_terms.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

namespace driftless {

namespace {

using Requests = std::vector<const ComparedRequest*>;

std::optional<double> value_of(const ComparedRequest* request, RowValue value) {
    if (request == nullptr || !request->ok) {
        return std::nullopt;
    }
    const double found = request->values[static_cast<std::size_t>(value)];
    return std::isfinite(found) ? std::optional(found) : std::nullopt;
}

/// Values of rows that every run knows.
void add_values(MetricTerms& terms, const PairedRows& paired) {
    for (std::size_t row = 0; row < paired.rows; ++row) {
        const bool is_whole =
            std::all_of(paired.runs.begin(), paired.runs.end(), [&](const Requests& requests) {
                return value_of(requests[row], terms.metric.value).has_value();
            });
        if (!is_whole) {
            continue;
        }
        ++terms.pairs;
        for (std::size_t run = 0; run < paired.runs.size(); ++run) {
            terms.runs[run][row] = {*value_of(paired.runs[run][row], terms.metric.value), 1};
        }
    }
}

/// Whether it counts for a share; nothing where it could not.
std::optional<bool> mark_of(const ComparedRequest* request, ComparedFigure figure) {
    if (request == nullptr || (!request->ok && !request->failed)) {
        return std::nullopt;
    }
    if (figure == ComparedFigure::errors) {
        return request->failed;
    }
    return request->failed ? std::optional(false) : request->meets_slo;
}

void add_shares(MetricTerms& terms, const PairedRows& paired) {
    std::vector<std::uint64_t> counts(paired.runs.size(), 0);
    for (std::size_t run = 0; run < paired.runs.size(); ++run) {
        for (std::size_t row = 0; row < paired.rows; ++row) {
            const std::optional<bool> mark = mark_of(paired.runs[run][row], terms.metric.figure);
            if (mark) {
                terms.runs[run][row] = {*mark ? 1.0 : 0.0, 1};
                ++counts[run];
            }
        }
    }
    terms.pairs = counts.empty() ? 0 : *std::min_element(counts.begin(), counts.end());
}

/// What an ended request adds to a rate.
double count_of(const ComparedRequest& request, ComparedFigure figure) {
    if (!request.ok) {
        return 0;
    }
    switch (figure) {
        case ComparedFigure::goodput:
            return request.meets_slo.value_or(false) ? 1 : 0;
        case ComparedFigure::output_throughput:
            return request.output_tokens;
        case ComparedFigure::total_throughput:
            return request.input_tokens + request.output_tokens;
        default:
            return 1;
    }
}

/// Rows that have ended in `requests`, in the order of their ends.
std::vector<std::uint32_t> ended_rows(const Requests& requests) {
    std::vector<std::uint32_t> rows;
    for (std::uint32_t row = 0; row < requests.size(); ++row) {
        if (requests[row] != nullptr && requests[row]->ended_ns) {
            rows.push_back(row);
        }
    }
    std::stable_sort(rows.begin(), rows.end(), [&](std::uint32_t a, std::uint32_t b) {
        return *requests[a]->ended_ns < *requests[b]->ended_ns;
    });
    return rows;
}

/// The terms of one run's rate, in the order of its own ends.
void add_rate(std::vector<RowTerm>& terms, const Requests& requests,
              const std::vector<std::uint32_t>& rows, std::int64_t duration_ns,
              ComparedFigure figure) {
    if (rows.empty()) {
        return;
    }
    std::int64_t before_ns = *requests[rows.front()]->ended_ns;
    for (const std::uint32_t row : rows) {
        before_ns = std::min(before_ns, requests[row]->due_ns);
    }
    const auto whole_ns = static_cast<double>(*requests[rows.back()]->ended_ns - before_ns);
    constexpr double second_ns = 1e9;
    const double scale =
        whole_ns > 0 && duration_ns > 0 ? static_cast<double>(duration_ns) / whole_ns : 1;
    for (std::size_t place = 0; place < rows.size(); ++place) {
        const ComparedRequest& request = *requests[rows[place]];
        const double time_s =
            static_cast<double>(*request.ended_ns - before_ns) * scale / second_ns;
        terms[place] = {count_of(request, figure), time_s};
        before_ns = *request.ended_ns;
    }
}

bool has_slo(const PairedRows& paired) {
    return std::any_of(paired.runs.begin(), paired.runs.end(), [](const Requests& requests) {
        return std::any_of(requests.begin(), requests.end(), [](const ComparedRequest* request) {
            return request != nullptr && request->meets_slo.has_value();
        });
    });
}

/// Every request that is ok has what the rate adds up.
bool is_countable(const PairedRows& paired, ComparedFigure figure) {
    return std::all_of(paired.runs.begin(), paired.runs.end(), [figure](const Requests& requests) {
        return std::none_of(requests.begin(), requests.end(), [figure](const auto* request) {
            return request != nullptr && std::isnan(count_of(*request, figure));
        });
    });
}

void add_rates(MetricTerms& terms, const PairedRows& paired) {
    if (paired.runs.empty() || !is_countable(paired, terms.metric.figure) ||
        (terms.metric.figure == ComparedFigure::goodput && !has_slo(paired))) {
        return;
    }
    terms.units.count = paired.rows;
    terms.units.unit_of.resize(paired.rows);
    std::iota(terms.units.unit_of.begin(), terms.units.unit_of.end(), 0U);
    terms.pairs = paired.rows;
    for (std::size_t run = 0; run < paired.runs.size(); ++run) {
        const std::vector<std::uint32_t> rows = ended_rows(paired.runs[run]);
        add_rate(terms.runs[run], paired.runs[run], rows, paired.durations_ns[run],
                 terms.metric.figure);
        terms.pairs = std::min<std::uint64_t>(terms.pairs, rows.size());
    }
}

}  // namespace

MetricTerms terms_of(const ComparedMetric& metric, const PairedRows& paired) {
    MetricTerms terms;
    terms.metric = metric;
    terms.runs_a = paired.runs_a;
    terms.runs.assign(paired.runs.size(), std::vector<RowTerm>(paired.rows));
    terms.units = paired.trees;
    switch (metric.figure) {
        case ComparedFigure::value_mean:
        case ComparedFigure::value_percentile:
            add_values(terms, paired);
            break;
        case ComparedFigure::errors:
        case ComparedFigure::good:
            add_shares(terms, paired);
            break;
        default:
            add_rates(terms, paired);
    }
    return terms;
}

MetricTerms terms_of_order(const MetricTerms& terms, const PairedRows& paired, bool a_first) {
    MetricTerms part = terms;
    for (std::size_t row = 0; row < paired.rows; ++row) {
        const ComparedRequest* a = paired.runs.front()[row];
        const ComparedRequest* b = paired.runs.back()[row];
        const bool is_known = a != nullptr && b != nullptr && a->fired_ns && b->fired_ns;
        if (!is_known || (*a->fired_ns <= *b->fired_ns) != a_first) {
            for (std::vector<RowTerm>& run : part.runs) {
                run[row] = {};
            }
        }
    }
    return part;
}

}  // namespace driftless

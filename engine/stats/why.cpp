#include "engine/stats/why.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <numeric>
#include <set>

#include "proto/core/check.hpp"

namespace driftless {

namespace {

constexpr std::size_t slow_min = 5;
/// Without a share: so many show most marks, where they are no more than a tenth of all rows.
constexpr std::size_t slow_usual = 20;
constexpr std::size_t marked_min = 3;
/// An echo is told from a mark of its own below the chance of a statement, for one question.
constexpr double own_z_min = 2.6;

std::string filled_in(const std::string& mark, const std::string& value) {
    const std::size_t place = mark.find("{}");
    return place == mark.npos ? mark : mark.substr(0, place) + value + mark.substr(place + 2);
}

std::string number_text(double value) {
    char text[64];
    (void)std::snprintf(text, sizeof text, "%.6g", value);
    return text;
}

std::vector<char> flags_of(std::size_t count, const std::vector<std::uint32_t>& rows) {
    std::vector<char> flags(count, 0);
    for (const std::uint32_t row : rows) {
        CHECK(row < count);
        flags[row] = 1;
    }
    return flags;
}

/// Places of the slowest rows; of equal ones the later is slower, so that a tie decides nothing by
/// its size.
std::vector<std::uint32_t> slowest(const std::vector<double>& values, std::size_t count) {
    std::vector<std::uint32_t> order(values.size());
    std::iota(order.begin(), order.end(), 0U);
    std::sort(order.begin(), order.end(), [&values](std::uint32_t a, std::uint32_t b) {
        return values[a] != values[b] ? values[a] > values[b] : a > b;
    });
    order.resize(count);
    return order;
}

struct Candidate {
    const WhyQuestion* question;
    WhyStatement statement;
};

/// Rows in one stratum and beyond: by which of the given marks they have.
bool is_own(const std::vector<char>& marked, const std::vector<char>& slow,
            const std::vector<char>& first) {
    std::array<Overlap, 2> strata;
    for (std::size_t i = 0; i < marked.size(); ++i) {
        Overlap& stratum = strata[first[i] != 0 ? 1 : 0];
        ++stratum.of;
        stratum.marked += marked[i] != 0 ? 1 : 0;
        stratum.drawn += slow[i] != 0 ? 1 : 0;
        stratum.hits += marked[i] != 0 && slow[i] != 0 ? 1 : 0;
    }
    return mantel_haenszel_z(strata) > own_z_min;
}

/// So many of the slowest rows are looked at.
std::size_t slow_count(std::size_t rows, std::optional<double> share) {
    const auto part = [rows](double of) {
        return static_cast<std::size_t>(std::ceil(static_cast<double>(rows) * of - 1e-9));
    };
    const std::size_t count =
        share ? part(*share) : std::max(part(0.01), std::min(slow_usual, rows / 10));
    return std::max(slow_min, count);
}

void add_needed(std::optional<double> share, double asked, WhyFinding& finding) {
    // Each slow row has a mark of half of all rows with a chance of a half.
    const double needed = std::ceil((asked - why_log10_max) / std::log10(2.0));
    finding.slow_needed = static_cast<std::uint64_t>(needed);
    if (finding.slow < finding.slow_needed) {
        const bool usual = !share && finding.slow_needed <= slow_usual;
        const double rows = needed / (usual ? 0.1 : share.value_or(0.01));
        finding.rows_needed = static_cast<std::uint64_t>(std::ceil(rows - 1e-9));
    }
}

std::vector<Candidate> candidates_of(const WhyQuestions& questions, const std::vector<char>& slow,
                                     WhyFinding& finding) {
    std::vector<Candidate> candidates;
    for (const WhyQuestion& question : questions.marks) {
        if (question.rows.size() < marked_min || question.rows.size() >= slow.size()) {
            continue;
        }
        ++finding.questions;
        const auto hits = static_cast<std::uint64_t>(
            std::count_if(question.rows.begin(), question.rows.end(),
                          [&slow](std::uint32_t row) { return slow[row] != 0; }));
        const Overlap overlap{slow.size(), question.rows.size(), finding.slow, hits};
        candidates.push_back({&question, {question.mark, overlap, log10_tail(overlap), false, {}}});
    }
    std::stable_sort(candidates.begin(), candidates.end(), [](const auto& a, const auto& b) {
        return a.statement.log10_chance < b.statement.log10_chance;
    });
    return candidates;
}

void state(std::vector<Candidate> candidates, const std::vector<char>& slow, double asked,
           WhyFinding& finding) {
    std::set<std::string> families;
    std::vector<char> first;
    for (Candidate& candidate : candidates) {
        WhyStatement& statement = candidate.statement;
        statement.log10_chance = std::min(statement.log10_chance + asked, 0.0);
        if (statement.log10_chance > why_log10_max) {
            break;
        }
        if (!families.insert(candidate.question->family).second) {
            continue;
        }
        const std::vector<char> marked = flags_of(slow.size(), candidate.question->rows);
        statement.is_echo = !first.empty() && !is_own(marked, slow, first);
        if (first.empty()) {
            first = marked;
        }
        statement.rows = candidate.question->rows;
        finding.statements.push_back(std::move(statement));
    }
}

std::vector<WhyCorrelation> correlations_of(const std::vector<double>& values,
                                            const std::vector<WhyNumber>& numbers,
                                            WhyFinding& finding) {
    std::vector<WhyCorrelation> out;
    for (const WhyNumber& one : numbers) {
        std::vector<double> number, value;
        for (std::size_t i = 0; i < values.size(); ++i) {
            if (!std::isnan(one.numbers[i])) {
                number.push_back(one.numbers[i]);
                value.push_back(values[i]);
            }
        }
        const double rank = number.size() < why_rows_min ? 0 : rank_correlation(number, value);
        finding.questions += number.size() < why_rows_min ? 0 : 1;
        const double z = std::abs(rank) * std::sqrt(static_cast<double>(number.size()) - 1);
        if (std::abs(rank) >= why_correlation_min) {
            out.push_back({one.name, rank, log10_two_sided(z)});
        }
    }
    return out;
}

}  // namespace

WhyFinding ask_why(const std::vector<double>& values, const WhyQuestions& questions,
                   std::optional<double> share) {
    WhyFinding finding;
    finding.rows = values.size();
    if (values.size() < why_rows_min) {
        finding.rows_needed = why_rows_min;
        return finding;
    }
    finding.slow = slow_count(values.size(), share);
    const std::vector<std::uint32_t> order = slowest(values, finding.slow);
    finding.slow_from = values[order.back()];
    const std::vector<char> slow = flags_of(values.size(), order);
    finding.slow_rows = order;
    std::sort(finding.slow_rows.begin(), finding.slow_rows.end());
    std::vector<Candidate> candidates = candidates_of(questions, slow, finding);
    std::vector<WhyCorrelation> correlations = correlations_of(values, questions.numbers, finding);
    const double asked =
        std::log10(static_cast<double>(std::max<std::uint64_t>(finding.questions, 1)));
    state(std::move(candidates), slow, asked, finding);
    for (WhyCorrelation& one : correlations) {
        one.log10_chance = std::min(one.log10_chance + asked, 0.0);
        if (one.log10_chance <= why_log10_max) {
            finding.correlations.push_back(std::move(one));
        }
    }
    std::stable_sort(finding.correlations.begin(), finding.correlations.end(),
                     [](const auto& a, const auto& b) {
                         return std::abs(a.rank_correlation) > std::abs(b.rank_correlation);
                     });
    add_needed(share, asked, finding);
    return finding;
}

void add_number_questions(WhyQuestions& questions, const std::string& name, const std::string& mark,
                          const std::vector<double>& numbers) {
    questions.numbers.push_back({name, numbers});
    std::vector<double> sorted;
    for (const double number : numbers) {
        if (!std::isnan(number)) {
            sorted.push_back(number);
        }
    }
    std::sort(sorted.begin(), sorted.end());
    double bound_before = -HUGE_VAL;
    for (const std::size_t per_mille : {500U, 750U, 900U, 950U, 990U}) {
        if (sorted.empty()) {
            return;
        }
        const double bound = sorted[std::min(sorted.size() * per_mille / 1000, sorted.size() - 1)];
        if (bound == bound_before || bound == sorted.front()) {
            continue;  // the same rows again, or all
        }
        bound_before = bound;
        WhyQuestion question{name, filled_in(mark, number_text(bound)), {}};
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            if (numbers[i] >= bound) {
                question.rows.push_back(static_cast<std::uint32_t>(i));
            }
        }
        questions.marks.push_back(std::move(question));
    }
}

void add_value_questions(WhyQuestions& questions, const std::string& family,
                         const std::string& mark, const std::vector<std::string>& values) {
    std::map<std::string, std::vector<std::uint32_t>> rows_of;
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (!values[i].empty()) {
            rows_of[values[i]].push_back(static_cast<std::uint32_t>(i));
        }
    }
    if (rows_of.size() < 2) {
        return;
    }
    for (auto& [value, rows] : rows_of) {
        if (rows.size() >= marked_min) {
            questions.marks.push_back({family, filled_in(mark, value), std::move(rows)});
        }
    }
}

}  // namespace driftless

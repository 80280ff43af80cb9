/// Why: what sets the slowest rows apart from the rest. It asks many questions of the form "do the
/// slow rows have this mark more often than chance would give it to them?", and of each number that
/// rows have, whether the values rise or fall with it over all rows. It corrects for the number of
/// questions (Bonferroni): where nothing is behind slow rows, at most one run in a hundred gets a
/// statement. A statement says what goes with slowness; it does not prove a cause. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "proto/figures/criteria.hpp"
#include "proto/metrics/server_figure.hpp"
#include "proto/run/record.hpp"

namespace driftless {

// Surprise: how unlikely it is that chance alone puts so many marked rows among the drawn ones, or
// lets two numbers of rows go together. Pure. Logarithms, because the figures go far below what a
// double can hold.

/// `hits` of `drawn` rows are marked, of all `of` rows `marked` are.
struct Overlap {
    std::uint64_t of = 0;
    std::uint64_t marked = 0;
    std::uint64_t drawn = 0;
    std::uint64_t hits = 0;
};

/// log10 of P(at least so many hits) by the hypergeometric law; 0 where it is certain.
double log10_tail(const Overlap& overlap);

/// Spearman's, equal values at their middle rank; 0 where all values of a side are equal. Both have
/// the same size, and no NaN.
double rank_correlation(std::span<const double> a, std::span<const double> b);

/// log10 of P(a standard normal value is at least so far from 0).
double log10_two_sided(double z);

/// A mark that rows have or have not.
struct WhyQuestion {
    std::string family;               ///< questions about one property are of one family
    std::string mark;                 ///< "were sent to http://b:8000/": a clause after "rows that"
    std::vector<std::uint32_t> rows;  ///< places of the marked rows, ascending
};

/// A number that rows have.
struct WhyNumber {
    std::string name;             ///< "prompt tokens"; the family of its questions
    std::vector<double> numbers;  ///< by place; NaN: the row has none
};

struct WhyQuestions {
    std::vector<WhyQuestion> marks;
    std::vector<WhyNumber> numbers;
};

struct WhyStatement {
    std::string mark;
    Overlap overlap;          ///< among all rows, and the slow ones
    double log10_chance = 0;  ///< that chance did it, corrected for all questions; at most 0
    /// It says nothing beyond the statements before it: among rows that are alike in the first one,
    /// the mark makes no difference.
    bool is_echo = false;
    std::vector<std::uint32_t> rows;  ///< places of the rows that have the mark, ascending
};

/// Over all rows, not only the slowest.
struct WhyCorrelation {
    std::string name;             ///< of the number
    double rank_correlation = 0;  ///< Spearman's; below 0: the values fall with it
    double log10_chance = 0;      ///< as of a statement
};

struct WhyFinding {
    std::uint64_t rows = 0;
    std::uint64_t slow = 0;       ///< the slowest rows; 0: there are too few rows
    double slow_from = 0;         ///< value of the least slow of them
    std::uint64_t questions = 0;  ///< that were asked, of marks and of numbers
    /// Fewer slow rows cannot show a mark that all of them have, and half of all rows.
    std::uint64_t slow_needed = 0;
    std::uint64_t rows_needed = 0;             ///< so many rows have them; 0: these are enough
    std::vector<WhyStatement> statements;      ///< least likely by chance first
    std::vector<WhyCorrelation> correlations;  ///< strongest first
    std::vector<std::uint32_t> slow_rows;      ///< places of the slowest, ascending
};

/// Fewer rows are not asked about.
inline constexpr std::size_t why_rows_min = 50;
/// A statement is made below this chance, log10.
inline constexpr double why_log10_max = -2;
/// A weaker correlation explains less than a tenth of the ranks, however sure it is.
inline constexpr double why_correlation_min = 0.3;

/// `values` are ns by place; `questions` name places. `share` of the rows are the slowest, at least
/// 5; nothing: 1 %, or 20 rows where those are more, up to a tenth of all. Of each family only the
/// strongest statement is kept. A mark of fewer than 3 rows, or of all, is not asked about.
WhyFinding ask_why(const std::vector<double>& values, const WhyQuestions& questions,
                   std::optional<double> share = {});

// WhyRecords: gathers of the records of a run what `ask_why` asks about. Owns a few numbers and
// texts a row. Of the measurement, and of rows that have the figure alone.
//
// Properties: size of prompt and answer, tokens that no cache could hold, that were in none, hits
// that were expected and missed, place in the burst of rows that were due within 10 ms, requests
// in flight, turn, part of the run, connection, server, pod (the record's headers), model, what
// the servers said of themselves (queue, batch, KV usage, preemptions), and what the client itself
// did to the row.

/// Of those of which each row has one time (FigureName::of_request); null where there is none.
const FigureName* find_why_figure(std::string_view name);

/// What is asked: whose slowest rows, and how many of them.
struct WhyWish {
    const FigureName* figure = find_why_figure("ttft");
    std::optional<double> share;  ///< nothing: as `ask_why` chooses
};

/// What all servers together said of themselves once one more page of them was read.
struct ServerInstant {
    std::int64_t t_ns = 0;
    std::uint32_t segment = 0;
    /// [ServerFigure] Counters are what they grew by since the first page of the segment.
    std::array<std::optional<double>, server_figures> figures{};
};

class WhyRecords {
  public:
    explicit WhyRecords(const WhyWish& wish = {}) : wish_(wish) {}
    void add(const Record& record);
    /// In any order. A row is asked about the last one before its fire, at most 5 s old.
    void set_servers(std::vector<ServerInstant> servers);
    /// Asks once. Its places are those of the records in the order in which they
    /// were added, from 0, whether or not they were asked about.
    WhyFinding finding();

  private:
    WhyQuestions questions() const;
    void add_size_questions(WhyQuestions& out) const;
    void add_place_questions(WhyQuestions& out) const;
    void add_server_questions(WhyQuestions& out) const;
    void add_own_questions(WhyQuestions& out) const;
    std::vector<double> burst_places() const;

    WhyWish wish_;
    std::vector<ServerInstant> servers_;  ///< by time
    std::uint32_t added_ = 0;
    std::vector<std::uint32_t> place_;  ///< among all that were added
    std::vector<double> ns_;            ///< of the figure
    std::vector<std::int64_t> due_ns_;
    std::vector<double> fired_ns_;
    // NaN: not known.
    std::vector<double> input_;
    std::vector<double> output_;
    std::vector<double> cached_;
    std::vector<double> fresh_;   ///< prompt tokens that no cache could hold
    std::vector<double> missed_;  ///< expected from the cache, and not found there
    std::vector<double> inflight_;
    std::vector<double> drift_ns_;
    std::vector<std::string> turn_;  ///< "first" or "later"
    std::vector<std::string> connection_;
    std::vector<std::string> state_;
    std::vector<std::string> url_;
    std::vector<std::string> model_;
    std::vector<std::string> header_names_;
    std::vector<std::vector<std::string>> headers_;  ///< [names][rows]
    std::vector<std::uint32_t> tainted_;
    std::vector<std::uint32_t> coalesced_;
};

}  // namespace driftless

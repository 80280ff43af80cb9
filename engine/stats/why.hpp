/// Why: what sets the slowest rows apart from the rest. It asks many questions of the form "do the
/// slow rows have this mark more often than chance would give it to them?", and of each number that
/// rows have, whether the values rise or fall with it over all rows. It corrects for the number of
/// questions (Bonferroni): where nothing is behind slow rows, at most one run in a hundred gets a
/// statement. A statement says what goes with slowness; it does not prove a cause. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/stats/surprise.hpp"

namespace driftless {

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

/// Questions about a number that rows have: whether they are among the highest 50, 25, 10, 5 and
/// 1 %, and whether the values go with it. `numbers` are by place; NaN: the row has none. `mark`
/// has the bound in place of "{}".
void add_number_questions(WhyQuestions& questions, const std::string& name, const std::string& mark,
                          const std::vector<double>& numbers);
/// A question for each value that at least 3 rows have, where there are two values at least.
/// `mark` has the value in place of "{}"; an empty text: the row has none.
void add_value_questions(WhyQuestions& questions, const std::string& family,
                         const std::string& mark, const std::vector<std::string>& values);

}  // namespace driftless

/// Why: what sets the slowest rows apart from the rest. It asks many questions of the form "do the
/// slow rows have this mark more often than chance would give it to them?", and corrects for their
/// number (Bonferroni): where nothing is behind slow rows, at most one run in a hundred gets a
/// statement. A statement says what goes with slowness; it is no proof of a cause. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engine/stats/surprise.hpp"

namespace driftless {

/// A mark that rows have or have not.
struct WhyQuestion {
    std::string family;               ///< questions about one property are of one family
    std::string mark;                 ///< "were sent to http://b:8000/": a clause after "rows that"
    std::vector<std::uint32_t> rows;  ///< places of the marked rows, ascending
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

struct WhyFinding {
    std::uint64_t rows = 0;
    std::uint64_t slow = 0;                ///< the slowest 1 %, at least 5; 0: fewer than 200 rows
    double slow_from = 0;                  ///< value of the least slow of them
    std::uint64_t questions = 0;           ///< that were asked
    std::vector<WhyStatement> statements;  ///< least likely by chance first
    std::vector<std::uint32_t> slow_rows;  ///< places of the slowest, ascending
};

/// Fewer rows have no slowest 1 % to speak of.
inline constexpr std::size_t why_rows_min = 200;
/// A statement is made below this chance, log10.
inline constexpr double why_log10_max = -2;

/// `values` are ns by place; `questions` name places. Of each family only the strongest statement
/// is kept. A mark of fewer than 3 rows, or of all, is no question.
WhyFinding ask_why(const std::vector<double>& values, const std::vector<WhyQuestion>& questions);

/// Questions about a number that rows have: whether they are among the highest 50, 25, 10, 5 and
/// 1 %. `numbers` are by place; NaN: the row has none. `mark` has the bound in place of "{}".
void add_number_questions(std::vector<WhyQuestion>& questions, const std::string& family,
                          const std::string& mark, const std::vector<double>& numbers);
/// A question for each value that at least 3 rows have, where there are two values at least.
/// `mark` has the value in place of "{}"; an empty text: the row has none.
void add_value_questions(std::vector<WhyQuestion>& questions, const std::string& family,
                         const std::string& mark, const std::vector<std::string>& values);

}  // namespace driftless

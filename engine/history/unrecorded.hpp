/// Unrecorded: how many requests of a run left and have no record, by whoever knows of them. Pure.
///
/// The files of a run that was killed lack what was not written yet, in fired.jsonl as well. How
/// many requests it had sent is in its books (run.json) where it ended, else in its marks.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/history/past.hpp"
#include "engine/history/run_facts.hpp"
#include "engine/record/fired_marks.hpp"

namespace driftless {

struct Unrecorded {
    std::uint64_t rows = 0;  ///< their requests; where there are no users, each has one
    bool all_known = true;   ///< false: more may have left, and nobody knows how many
};

/// Requests that left in all segments, by the books of a run, or by the marks of its last segment
/// where it did not close them (null: they are gone); nothing where nobody knows.
std::optional<std::uint64_t> fired_in_all(const RunFacts& facts, const Past& past,
                                          const FiredMarks* marks);

/// `fired`: what `fired_in_all` has found.
Unrecorded unrecorded_rows(const RunFacts& facts, const Past& past,
                           std::optional<std::uint64_t> fired);

}  // namespace driftless

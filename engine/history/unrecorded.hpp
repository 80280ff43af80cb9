/// Unrecorded: how many rows of a run left and have no record, by whoever knows of them. Pure.
///
/// The files of a run that was killed lack what was not written yet, in fired.jsonl as well. How
/// many rows it had sent is in its books (run.json) where it ended, else in its marks.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/history/past.hpp"
#include "engine/history/run_facts.hpp"

namespace driftless {

struct Unrecorded {
    std::uint64_t rows = 0;
    bool all_known = true;  ///< false: more may have left, and nobody knows how many
};

/// `fired`: rows that left in all segments; none where that is not known.
Unrecorded unrecorded_rows(const RunFacts& facts, const Past& past,
                           std::optional<std::uint64_t> fired);

}  // namespace driftless

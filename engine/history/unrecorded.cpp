#include "engine/history/unrecorded.hpp"

#include <algorithm>

namespace driftless {

std::optional<std::uint64_t> fired_in_all(const RunFacts& facts, const Past& past,
                                          const FiredMarks* marks) {
    if (facts.ended) {
        return facts.rows_fired;
    }
    if (marks == nullptr) {
        return std::nullopt;
    }
    const auto last = static_cast<std::uint32_t>(facts.segments.size() - 1);
    const std::uint64_t in_last = facts.has_users ? marks->requests() : marks->count();
    return past.left_before(last) + in_last;
}

// How many requests users would have sent is not known.
Unrecorded unrecorded_rows(const RunFacts& facts, const Past& past,
                           std::optional<std::uint64_t> fired) {
    if (!facts.has_users && past.records() >= facts.rows) {
        return {};
    }
    Unrecorded unrecorded{past.left_open(), fired.has_value()};
    if (fired) {
        unrecorded.rows = std::max(unrecorded.rows, *fired - std::min(past.left(), *fired));
    }
    if (!facts.has_users) {
        unrecorded.rows = std::min(unrecorded.rows, facts.rows - past.records());
    }
    return unrecorded;
}

}  // namespace driftless

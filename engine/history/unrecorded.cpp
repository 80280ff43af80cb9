#include "engine/history/unrecorded.hpp"

#include <algorithm>

namespace driftless {

Unrecorded unrecorded_rows(const RunFacts& facts, const Past& past,
                           std::optional<std::uint64_t> fired) {
    if (past.records() >= facts.rows) {
        return {};
    }
    const std::uint64_t without_record = facts.rows - past.records();
    Unrecorded unrecorded{past.open().size(), fired.has_value()};
    if (fired) {
        unrecorded.rows = std::max(unrecorded.rows, *fired - std::min(past.left(), *fired));
    }
    unrecorded.rows = std::min(unrecorded.rows, without_record);
    return unrecorded;
}

}  // namespace driftless

/// RowChange: one request in all runs of a comparison: how long it took on each side. And where
/// requests changed: by input size, turn, expected hit and time. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cmd/compare/played_run.hpp"
#include "engine/comparison/compare_groups.hpp"

namespace driftless {

struct RowChange {
    std::uint32_t row = 0;
    std::uint32_t pass = 0;
    std::uint32_t turn = 0;  ///< from 1; 0: not known
    std::int64_t due_ns = 0;
    std::uint64_t tree = 0;
    double input_tokens = 0;
    double expected_hit = unknown_value;  ///< share of the prompt
    double a = 0;                         ///< ns; of several runs their mean
    double b = 0;

    double ratio() const { return b / a; }
};

/// The requests that are ok in every run, and whose value is known and above 0 there; by key.
std::vector<RowChange> row_changes(const std::vector<PlayedRun>& a, const std::vector<PlayedRun>& b,
                                   RowValue value);

/// The median of B / A over the requests of a group. NaN where unknown.
struct ChangeGroup {
    std::string name;
    std::uint64_t rows = 0;
    double ratio = unknown_value;
    double low = unknown_value;  ///< interval of `options`
    double high = unknown_value;
    Word word = Word::unsure;
};
struct ChangeView {
    std::string by;  ///< "input tokens", "turn", "expected hit", "due"
    std::vector<ChangeGroup> groups;
};

/// A view each, but where all requests are in one group of it.
std::vector<ChangeView> where_it_changed(const std::vector<RowChange>& rows,
                                         const ComparisonOptions& options);

/// Answers of the first run of each side, told apart by their digests.
struct OutputChanges {
    std::uint64_t known = 0;  ///< requests that are ok on both sides and have digests
    std::uint64_t changed = 0;
};
OutputChanges output_changes(const PlayedRun& a, const PlayedRun& b);

}  // namespace driftless

/// PairedRequest: one request in all runs of a comparison: how long it took on each side. And where
/// requests changed: by input size, turn, expected hit and time. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "cmd/compare/played_run.hpp"
#include "engine/comparison/compare_groups.hpp"

namespace driftless {

/// [RowValue] ns; of several runs their mean. NaN where it is not ok in every run of both sides, or
/// a run does not know the value.
using PairedValues = std::array<double, row_value_count>;

struct PairedRequest {
    std::uint32_t row = 0;
    std::uint32_t pass = 0;
    std::uint32_t turn = 0;  ///< from 1; 0: not known
    std::int64_t due_ns = 0;
    std::uint64_t tree = 0;
    double input_tokens = 0;
    double expected_hit = unknown_value;  ///< share of the prompt
    PairedValues a{};
    PairedValues b{};

    /// B / A.
    double ratio(RowValue value) const {
        const auto at = static_cast<std::size_t>(value);
        return b[at] / a[at];
    }
};

/// The requests that every run has, by key.
std::vector<PairedRequest> paired_requests(const std::vector<PlayedRun>& a,
                                           const std::vector<PlayedRun>& b);

/// Those whose value is known, the one that changed most first; at most `most` of them.
std::vector<PairedRequest> most_changed(const std::vector<PairedRequest>& requests, RowValue value,
                                        std::size_t most);

/// The median of B / A over the requests of a group. NaN where unknown.
struct ChangeGroup {
    std::string name;
    std::uint64_t rows = 0;
    double ratio = unknown_value;
    double low = unknown_value;  ///< interval of `options`
    double high = unknown_value;
    /// Of several runs their mean is looked at: what runs differ by is not in the interval.
    Shown in_these_runs = Shown::unsure;
};
struct ChangeView {
    std::string by;  ///< "input tokens", "turn", "expected hit", "due"
    std::vector<ChangeGroup> groups;
};

/// Views over the requests whose value is known. A view that would have only one group is left out.
std::vector<ChangeView> where_it_changed(const std::vector<PairedRequest>& requests, RowValue value,
                                         const ComparisonOptions& options);

/// Answers of the first run of each side, told apart by their digests.
struct OutputChanges {
    std::uint64_t known = 0;  ///< requests that are ok on both sides and have digests
    std::uint64_t changed = 0;
};
OutputChanges output_changes(const PlayedRun& a, const PlayedRun& b);

}  // namespace driftless

/// PairedRows: the requests of all runs of a comparison, side by side by their keys. Points into
/// the runs, which must outlive it. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/comparison/compare_groups.hpp"

namespace driftless {

/// Which unit each row belongs to. Units are numbered in the order of their first rows.
struct RowUnits {
    std::vector<std::uint32_t> unit_of;  ///< [rows]
    std::size_t count = 0;
};

/// Requests of one key are one row; rows stand in the order of their dues.
struct PairedRows {
    std::size_t rows = 0;
    std::size_t runs_a = 0;
    /// [runs, those of A first][rows]; null where the run lacks the key.
    std::vector<std::vector<const ComparedRequest*>> runs;
    std::vector<std::int64_t> durations_ns;  ///< [runs]
    RowUnits trees;                          ///< a unit is a tree, or a row without one

    bool is_a(std::size_t run) const { return run < runs_a; }
};

/// Adds what it found to the counts of `comparison`.
PairedRows pair_rows(std::span<const ComparedRun> a, std::span<const ComparedRun> b,
                     GroupComparison& comparison);

}  // namespace driftless

/// Tainted: which rows are tainted, when it happened to them, and what the worst of all others was.
/// Fed with records in any order; it owns its figures. Whose doing a taint was is decided with the
/// seconds of the client that coincide with it (blame.hpp), not here. 32 bytes a tainted row.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "proto/record/record.hpp"

namespace driftless {

/// Who can have caused a taint, as far as its record tells.
enum class Suspect : std::uint8_t {
    ours,     ///< preparation, writer, a loss or a limit of our own
    host,     ///< the engine woke too late, or was stopped
    work,     ///< work of ours was in the way: ours, unless others had the CPU
    reading,  ///< bytes waited for us in some second of the row: as with `work`
    lane,     ///< no connection: the network's where connecting took long, else ours
    wire,     ///< a queue behind us: the network's, unless others had the CPU
    network,  ///< the request was lost on the way, or the server closed or answered unasked
};

/// A tainted row: the stretch of the run in which it happened, from time 0.
struct TaintedRow {
    std::int64_t from_ns = 0;
    std::int64_t to_ns = 0;
    std::int64_t late_ns = 0;  ///< by how much; 0 where something was lost
    Suspect suspect = Suspect::ours;
};

/// `record.tainted` is not empty. Of several taints the most certain one counts.
TaintedRow tainted_row_of(const Record& record);

/// The worst of the rows that are not tainted: the figures that a certificate gives. ns.
struct UntaintedFigures {
    std::int64_t drift_max_ns = 0;       ///< of a row that --max-inflight held: after its release
    std::int64_t wire_delay_max_ns = 0;  ///< from the fire to the wire
    std::int64_t receive_delay_max_ns = 0;  ///< an upper bound, as in the record
};

/// All of it, over the records of a run.
struct TaintFigures {
    std::uint64_t sent = 0;    ///< rows that left
    std::uint64_t unsent = 0;  ///< tainted or interrupted rows that are not known to have
    std::vector<TaintedRow> rows;
    UntaintedFigures untainted;

    void add(const Record& record);
    /// Excluded rows of those that were sent, or were to be; 0 where there are none. Beside the
    /// tainted ones: `interrupted` ones, and `unrecorded` ones, which left and have no record.
    double share(std::uint64_t interrupted, std::uint64_t unrecorded) const;
};

}  // namespace driftless

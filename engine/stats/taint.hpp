/// Taint: why a record says less about the server than the others do: we sent the row late, read
/// its tokens late, or lost a part of it. Pure functions of plain values.
#pragma once

#include <cstdint>

#include "proto/record/record.hpp"

namespace driftless {

/// `--certify-within`: what a certificate may allow at most, whatever was measured.
struct CertifyWithin {
    std::int64_t sent_ns = 5'000'000;
    std::int64_t read_ns = 5'000'000;
};

/// Beyond these a row is tainted; 0: no limit. The drift that is allowed grows by `rank_ns` for
/// each row of the same instant that goes before, since one core sends one after another, but never
/// beyond `drift_most_ns`.
struct TaintLimits {
    std::int64_t drift_ns = 0;
    std::int64_t rank_ns = 0;
    std::int64_t drift_most_ns = 0;
    std::int64_t receive_delay_ns = 0;  ///< also of parts of the request that waited for us
    std::int64_t wire_ns = 0;           ///< from the fire to the wire
};

/// Without a calibration (engine/host/calibration.hpp): the bar alone.
TaintLimits taint_limits(const CertifyWithin& within);

/// The drift that is allowed to a row that has so many of its instant before it; 0: any.
std::int64_t drift_limit_ns(const TaintLimits& limits, std::uint32_t rank);

/// What taints a row and is not yet in its record.
struct RowLosses {
    bool entries_dropped = false;  ///< events found our ring full
    bool payload_dropped = false;  ///< their bytes did
    /// From the fire until we saw that the kernel had taken some of it; -1: it never said.
    std::int64_t accept_ns = -1;
    std::int64_t request_waited_ns = 0;  ///< so long parts of the request waited for us, in sum
    bool request_lost = false;           ///< a part of the request, on the way: it was sent again
    bool answered_early = false;         ///< bytes of the answer were there before the request left
};

/// Fills `record.tainted` and the two delays of the request once all else of the record is known. A
/// row that `--max-inflight` or a budget held back was late because the user wanted it: no taint
/// for as long as it was held. One that a limit of this host held back is tainted whatever the
/// limits, and so is one that failed for our own lack, or whose request was lost on the way and
/// sent again, or whose 200 was there before it. (Servers may refuse a request early.)
void add_taints(Record& record, const RowLosses& losses, const TaintLimits& limits,
                std::uint32_t rank);

}  // namespace driftless

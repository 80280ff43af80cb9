/// Abandonment: which requests their clients give up, and how long after the fire (`--abandon`).
/// A pure draw from the seed and the request itself. The same requests are given up in each run of
/// a seed, whatever the order, the speed or the number of shards. Reads no clock.
#pragma once

#include <cstdint>
#include <optional>

namespace driftless {

/// `--abandon P:T1..T2`. Plain values.
struct AbandonRules {
    double share = 0;          ///< of the requests; 0: none
    std::int64_t from_ns = 0;  ///< after the fire
    std::int64_t to_ns = 0;    ///< inclusive; not less than `from_ns`
    std::uint64_t seed = 0;
    bool any() const { return share > 0; }
};

/// One sending of a row: each attempt of it has a draw of its own.
struct RequestIdentity {
    std::uint32_t row = 0;  ///< in file order (TraceRow::index)
    std::uint32_t pass = 0;
    std::uint32_t attempt = 0;
};

/// How long after its fire the client gives up a request whose answer has not ended by then: evenly
/// distributed from `from_ns` to `to_ns`. Nothing: the client waits for the whole answer.
std::optional<std::int64_t> abandoned_after_ns(const AbandonRules& rules,
                                               const RequestIdentity& request);

}  // namespace driftless

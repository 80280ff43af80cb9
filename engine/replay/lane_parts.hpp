/// What the parts of the lanes share (connecting, wire stamps, sealing, exchanges): what they work
/// with, the servers, and the counts. Owned by the pool, but for what outlives it.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/io/loop.hpp"
#include "engine/prompt/body_pool.hpp"
#include "engine/record/ring.hpp"
#include "engine/replay/host_sleep.hpp"
#include "engine/replay/settings.hpp"
#include "engine/replay/token_budgets.hpp"
#include "engine/underway/row_underway.hpp"

namespace driftless {

/// Connections to one URL.
struct LaneTarget {
    Address address;
    TlsPeer* tls = nullptr;
    std::uint32_t wanted = 0;  ///< idle lanes that the schedule needs soon
    std::uint32_t connecting = 0;
    std::uint32_t bound = 0;
    std::uint32_t open = 0;  ///< idle, bound or busy
    /// Connects that failed and that no waiting row has answered for yet.
    std::uint32_t failures = 0;
    std::int32_t failure_errno = 0;  ///< or the TlsFailure, bit for bit
    bool failure_is_tls = false;
    bool failure_timed_out = false;
    Instant quiet_until;  ///< after a failure no lane is opened ahead of need before this
};

struct LaneCounts {
    std::uint64_t connects = 0;
    std::uint64_t connect_failures = 0;
    std::uint64_t stale_retries = 0;
    std::uint64_t closed_idle = 0;   ///< idle connections that the server closed
    std::uint64_t retired_idle = 0;  ///< idle connections that we closed before it would
    std::uint32_t open_max = 0;
    std::uint64_t bytes_stray = 0;   ///< received when no exchange was open: they belong to no row
    std::int64_t bytes_sent = 0;     ///< since the last sample
    std::int64_t rows_ended = 0;     ///< since the last sample
    std::int64_t slow_connects = 0;  ///< since the last sample: more than 0.9 s
    std::uint64_t lanes_without_stamps = 0;  ///< connects that the kernel gives no stamps for
    std::uint64_t wire_stamps = 0;
    std::uint64_t wire_missing = 0;      ///< rows that left on a lane with stamps, and got none
    std::uint64_t stamps_refused = 0;    ///< against what is possible: somebody set the clock
    std::uint64_t stamps_stray = 0;      ///< of no open exchange: they came after its end
    std::int64_t wire_delay_sum_ns = 0;  ///< since the last sample: wire - fired
    std::int64_t wire_delay_max_ns = 0;  ///< since the last sample
};

struct LaneParts {
    Loop& loop;
    const ReplaySettings& settings;
    BodyPool& bodies;
    EventRing& ring;
    std::vector<LaneTarget> targets;
    LaneCounts counts;
    /// Rows whose bytes must be built once more: a stale connection asks for another try, or a
    /// connection ended while it was bound to them (they have kept their storage).
    RowList again;
    HostSleep sleep{};  ///< the last one, and what it adds to
    /// Some rows wait for answers: whole ones are told (InFlight) before their lanes are done with.
    bool turns_wait = false;
    /// The run's time is over: what is cut off from here on is so by plan.
    bool time_over = false;
    TokenBudgets budgets{settings.budgets};

    bool has_tls(std::uint32_t target) const { return targets[target].tls != nullptr; }
};

}  // namespace driftless

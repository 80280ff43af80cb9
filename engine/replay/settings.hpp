/// The settings of a run, plain values that `cmd/` decides and the engine never changes; and the
/// bounds on the steps of its loop.
#pragma once

#include <cstdint>

#include "engine/base/time.hpp"
#include "engine/io/sockets.hpp"
#include "engine/io/tls.hpp"
#include "engine/plan/plan.hpp"
#include "proto/api/dialect.hpp"
#include "proto/core/names.hpp"
#include "proto/http/fields.hpp"

namespace driftless {

/// Where connections of one URL go to.
struct Endpoint {
    Address address;
    TlsPeer* tls = nullptr;  ///< null: plain; outlives the run
    KeepAliveLimits said{};  ///< what the server is known to say of its connections
};

/// Of one exchange; each ends it with an outcome of its own.
struct Timeouts {
    Duration connect = seconds(5);
    Duration first_byte = seconds(600);
    Duration idle = seconds(120);
    Duration total = seconds(3600);
};

/// How the engine thread waits for the next due instant.
enum class WaitPolicy : std::uint8_t {
    spin,    ///< never gives up its core
    hybrid,  ///< sleeps until `margin` before the instant, then spins
    sleep,   ///< sleeps until the instant
};
template <>
inline constexpr auto closed_list<WaitPolicy> = name_list("spin", "hybrid", "sleep");

/// `--connection`: which connection a row goes on.
enum class ConnectionRule : std::uint8_t {
    reuse,   ///< any that is idle
    fresh,   ///< one of its own
    sticky,  ///< that of its session, where it is idle
};
template <>
inline constexpr auto closed_list<ConnectionRule> = name_list("reuse", "fresh", "sticky");

/// So many tokens in each period; 0: no bound.
struct TokenRate {
    std::uint64_t tokens = 0;
    Duration period = seconds(60);
};

/// `--budget-input`, `--budget-output`: tokens that may leave in a time (lane_parts.hpp).
struct BudgetRules {
    TokenRate input;
    bool uncached = false;  ///< of the input only what an unlimited prefix cache does not hold
    TokenRate output;
    bool any() const { return input.tokens > 0 || output.tokens > 0; }
};

struct ReplaySettings {
    Timeouts timeouts;
    WaitPolicy wait = WaitPolicy::hybrid;
    OutputRule output = OutputRule::exact;
    Framing framing = Framing::sse;     ///< of the answers; whole under `--no-stream`
    bool repeats_text = false;          ///< events may repeat all that was said before
    std::uint32_t inflight_max = 1024;  ///< open exchanges at most
    /// `inflight_max` is what this host has room for, and below what the user asked, if anything:
    /// what it holds back is late by `LateCause::limit`.
    bool capped_by_host = false;
    BudgetRules budgets;
    AbandonRules abandon;
    std::uint32_t lanes_max = 1024;  ///< connections at most, over all targets
    ConnectionRule connection = ConnectionRule::reuse;
    std::uint32_t connections_fixed = 0;  ///< `--connections N`: exactly so many; 0: as needed
    Duration arm_ahead = seconds(2);
    bool arm_all = false;  ///< everything before time 0
    /// Nothing starts that could still run when the next row is due. Off only to show what it is
    /// worth (perf/macro).
    bool guard = true;
    /// A byte is sent nowhere shortly before a row that no other row of the last millisecond warms.
    bool warm_sends = false;
    Duration grace = seconds(5);  ///< after the first interruption
    /// So long after the begin of the measurement rows that are still in flight are cancelled
    /// (`--for` and `--drain`); the largest value: all may end.
    std::int64_t drained_ns = INT64_MAX;
};

// How long the steps of the loop may take, where more than one of its parts goes by it.

// Bounds at which the two adaptive distances begin (timing-and-io.md, F): nothing starts within
// `guard` of a due instant; sleeping ends `margin` before it.
inline constexpr Duration guard_min = microseconds(20);
inline constexpr Duration margin_max = microseconds(300);
// While answers stream the loop sleeps for no longer. Of bytes that shared a read it is not known
// how long the first of them waited, except that it came after the sleep began: this bounds the
// error of their stamps. 2,000 wakes a second cost 1 %.
inline constexpr Duration stream_nap_max = microseconds(500);
inline constexpr std::uint32_t completions_max = 16;
// The two clocks part by steps only; a step is seen this soon.
inline constexpr Duration clock_period = milliseconds(100);

}  // namespace driftless

/// What servers measure of themselves, under one name for all engines, and its totals over a run.
/// Plain values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/core/names.hpp"

namespace driftless {

/// ServerFigure: one such measure; and EngineMapping: which series of an engine's page they are.
/// The tables are the TOML files beside this one, read by cmd/base.
enum class ServerFigure : std::uint8_t {
    kv_usage,       ///< of the device's KV cache, 0 to 1
    host_kv_usage,  ///< of the host's
    running,        ///< requests in the batch
    waiting,        ///< requests in the queue
    watts,          ///< of all devices
    requests,       ///< ended; from here on all are counters
    prompt_tokens,  ///< cached or not
    generated_tokens,
    computed_prefill_tokens,  ///< of prompts, not from a cache
    prefix_query_tokens,      ///< looked up in the prefix cache
    prefix_hit_tokens,        ///< found there, on the device
    host_hit_tokens,          ///< found in the host's memory
    remote_hit_tokens,        ///< found in a storage, or at another server
    preemptions,
    offload_bytes,  ///< device to host or further
    onboard_bytes,  ///< back to the device
    queue_seconds,  ///< sums over requests
    prefill_seconds,
    draft_tokens,
    accepted_tokens,  ///< of the draft tokens
};
/// The tables have the same.
template <>
inline constexpr auto closed_list<ServerFigure> = name_list(
    "kv_usage", "host_kv_usage", "running", "waiting", "watts", "requests", "prompt_tokens",
    "generated_tokens", "computed_prefill_tokens", "prefix_query_tokens", "prefix_hit_tokens",
    "host_hit_tokens", "remote_hit_tokens", "preemptions", "offload_bytes", "onboard_bytes",
    "queue_seconds", "prefill_seconds", "draft_tokens", "accepted_tokens");
inline constexpr std::size_t server_figures = closed_list<ServerFigure>.size();

/// It only grows: a run's part is its increase.
constexpr bool is_counter(ServerFigure figure) {
    return figure >= ServerFigure::requests;
}
/// Of several servers or ranks the highest is shown; all other figures are added up.
constexpr bool is_usage(ServerFigure figure) {
    return figure <= ServerFigure::host_kv_usage;
}

/// One way to get a figure. Names may lack their `_total`; `:` and `_` are equal.
struct FigureSource {
    ServerFigure figure = ServerFigure::kv_usage;
    std::vector<std::string> metrics;  ///< added up
    std::string label;                 ///< empty: every series of them
    std::vector<std::string> values;   ///< .. else those where it has one of these
    std::string over;                  ///< divided by this metric; empty: by nothing
    double scale = 1;
};

struct EngineMapping {
    std::string engine;                 ///< "vllm"
    std::vector<std::string> prefixes;  ///< a page with a metric that begins so is this engine's
    std::vector<std::string> ranks;     ///< labels whose series say the same: the highest counts
    std::vector<FigureSource> sources;  ///< of one figure, the first that a page has
};

// ServerTotals: what servers measured of themselves over a run. Plain values; server_log.hpp
// makes them.

/// What of a segment of the run is measured, from time 0.
struct MeasuredSpan {
    std::uint32_t segment = 0;
    std::int64_t begin_ns = 0;
    std::int64_t end_ns = 0;
};

/// One page that was read again and again.
struct ScrapedUrl {
    std::string url;
    std::string engine;  ///< whose table fits; empty: none
    std::uint64_t scrapes = 0;
    std::uint64_t failures = 0;
    std::string first_failure;
    std::uint64_t restarts = 0;  ///< pages on which some counter had begun anew
    bool several = false;        ///< servers answered in turn: EndpointFigures::is_several
};

/// A gauge over the measured spans.
struct GaugeTotals {
    double mean = 0;  ///< over time, by straight lines between scrapes
    double max = 0;   ///< of the scrapes
};

struct ServerTotals {
    std::vector<ScrapedUrl> urls;
    std::uint64_t scrapes = 0;  ///< pages that were read
    std::uint64_t failures = 0;
    /// What counters grew by from the first page to the last; null: no page says it.
    std::array<std::optional<double>, server_figures> counters;
    std::array<std::optional<GaugeTotals>, server_figures> gauges;
    std::optional<double> joules;  ///< over the measured spans

    std::optional<double> counter(ServerFigure figure) const {
        return counters[static_cast<std::size_t>(figure)];
    }
    const std::optional<GaugeTotals>& gauge(ServerFigure figure) const {
        return gauges[static_cast<std::size_t>(figure)];
    }
    /// The pages of some URL are of several servers in turn: no figure but power is known.
    const ScrapedUrl* of_several() const;
    /// The two counters' quotient; null where one is unknown, or `of` is 0.
    std::optional<double> share(ServerFigure part, ServerFigure of) const;
};

}  // namespace driftless

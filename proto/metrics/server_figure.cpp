#include "proto/metrics/server_figure.hpp"

#include <algorithm>
#include <array>

namespace driftless {

namespace {

/// In the order of the enum.
constexpr std::array<const char*, server_figures> names{
    "kv_usage",
    "host_kv_usage",
    "running",
    "waiting",
    "watts",
    "requests",
    "prompt_tokens",
    "generated_tokens",
    "computed_prefill_tokens",
    "prefix_query_tokens",
    "prefix_hit_tokens",
    "host_hit_tokens",
    "remote_hit_tokens",
    "preemptions",
    "offload_bytes",
    "onboard_bytes",
    "queue_seconds",
    "prefill_seconds",
    "draft_tokens",
    "accepted_tokens",
};

}  // namespace

const char* name_of(ServerFigure figure) {
    return names[static_cast<std::size_t>(figure)];
}

std::optional<ServerFigure> server_figure_of(std::string_view name) {
    const auto* const found = std::find(names.begin(), names.end(), name);
    return found == names.end() ? std::nullopt
                                : std::optional(static_cast<ServerFigure>(found - names.begin()));
}

}  // namespace driftless

#include "proto/run/record.hpp"

#include <array>

#include "proto/core/errors.hpp"

namespace driftless {

namespace {

// Each table stands in the order of its enum.
constexpr std::array<const char*, outcome_count> outcome_names = {
    "ok",
    "short_output",
    "long_output",
    "client_failed",
    "connect_failed",
    "tls_failed",
    "send_failed",
    "timeout_connect",
    "timeout_first_byte",
    "timeout_idle",
    "timeout_total",
    "http_3xx",
    "http_4xx",
    "http_429",
    "http_5xx",
    "bad_content",
    "stream_error",
    "truncated",
    "bad_http",
    "bad_event",
    "limit_exceeded",
    "no_tokens",
    "abandoned",
    "cancelled",
    "interrupted",
    "not_sent",
};
constexpr std::array<const char*, late_cause_count> late_cause_names = {
    "none", "wake", "guard", "prepare", "lane", "inflight", "budget", "limit", "writer", "burst",
};
constexpr std::array<const char*, tokens_source_count> tokens_source_names = {
    "usage",
    "continuous",
    "ids",
    "chunks",
};
constexpr std::array<const char*, connection_state_count> connection_state_names = {
    "fresh",
    "reused",
    "sticky",
    "moved",
};
constexpr std::array<const char*, phase_count> phase_names = {
    "warmup",
    "profile",
    "drain",
};
constexpr std::array<const char*, side_count> side_names = {"none", "a", "b"};
static_assert(static_cast<unsigned>(Phase::drain) + 1 == phase_count);
static_assert(static_cast<unsigned>(Outcome::not_sent) + 1 == outcome_count);
static_assert(static_cast<unsigned>(LateCause::burst) + 1 == late_cause_count);
static_assert(static_cast<unsigned>(TokensSource::chunks) + 1 == tokens_source_count);
static_assert(static_cast<unsigned>(Side::b) + 1 == side_count);
static_assert(static_cast<unsigned>(ConnectionState::moved) + 1 == connection_state_count);

template <typename Enum, std::size_t count>
const char* name_in(const std::array<const char*, count>& names, Enum value) {
    const auto index = static_cast<std::size_t>(value);
    CHECK(index < count);
    return names[index];
}

template <typename Enum, std::size_t count>
std::optional<Enum> find_in(const std::array<const char*, count>& names, std::string_view name) {
    for (std::size_t i = 0; i < count; ++i) {
        if (name == names[i]) {
            return static_cast<Enum>(i);
        }
    }
    return std::nullopt;
}

}  // namespace

const char* name_of(Outcome outcome) {
    return name_in(outcome_names, outcome);
}
const char* name_of(LateCause cause) {
    return name_in(late_cause_names, cause);
}
const char* name_of(ConnectionState state) {
    return name_in(connection_state_names, state);
}
const char* name_of(Phase phase) {
    return name_in(phase_names, phase);
}
const char* name_of(Side side) {
    return name_in(side_names, side);
}
const char* name_of(TokensSource source) {
    return name_in(tokens_source_names, source);
}

std::optional<Outcome> outcome_from_name(std::string_view name) {
    return find_in<Outcome>(outcome_names, name);
}
std::optional<LateCause> late_cause_from_name(std::string_view name) {
    return find_in<LateCause>(late_cause_names, name);
}
std::optional<ConnectionState> connection_state_from_name(std::string_view name) {
    return find_in<ConnectionState>(connection_state_names, name);
}
std::optional<Phase> phase_from_name(std::string_view name) {
    return find_in<Phase>(phase_names, name);
}
std::optional<Side> side_from_name(std::string_view name) {
    const std::optional<Side> side = find_in<Side>(side_names, name);
    return side == Side::none ? std::nullopt : side;
}
std::optional<TokensSource> tokens_source_from_name(std::string_view name) {
    return find_in<TokensSource>(tokens_source_names, name);
}

}  // namespace driftless

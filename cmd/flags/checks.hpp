/// Checks: what the flags of a replay mean together, once each value was read by itself.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/flags/replay_options.hpp"
#include "engine/plan/arrivals.hpp"
#include "proto/core/errors.hpp"

namespace driftless {

/// The server as it was typed, before it is a list of targets.
struct TypedServer {
    std::vector<Url> urls;
    std::optional<Url> against;
    std::string endpoint;  ///< a path, or a URL as other tools take it
    std::string host;
    std::uint32_t port = 0;
    std::string api_key;  ///< empty: not typed
};

/// What is said about flags that stand together, where that holds; empty: they may.
struct Check {
    bool holds;
    std::string why;
};
/// What the first of them says, in their order; empty: nothing is wrong.
std::string first_that_holds(std::initializer_list<Check> checks);

/// Fills in what follows from several flags (targets, headers, speed) and looks for contradictions.
/// Returns one line that says what is wrong and what to do, or the empty text.
std::string complete(const TypedServer& server, const std::string& api_key_from_environment,
                     ReplayOptions& options);

/// The flag because of which this run has one engine, whatever the host has; empty: there is none.
std::string one_engine_flag(const ReplayOptions& options);

/// Engines at most: each needs a part of every cap (open requests, connections, token budgets).
std::uint32_t engines_most(const ReplayOptions& options);

/// What contradicts another flag of the host: how many engines send, how they wait, what the
/// verdict compares with; or empty.
std::string host_contradiction(const ReplayOptions& options);

/// Lines of a `--shape` file at most.
inline constexpr std::size_t shape_lines_max = 100'000;

/// Reads lines of `seconds,rate` into a curve that is linear between them. Returns the refusal
/// with `where`, the file, and the line; empty: there is none.
std::string parse_shape(const std::string& where, std::string_view text, RateCurve& curve);

/// Sets `workload.arrivals` where rows arrive at a rate. Returns the refusal; empty: there is none.
std::string complete_rates(WorkloadFlags& workload);

/// Users play closed sessions: sets that. Returns one line that says what is wrong and what to do,
/// or the empty text.
std::string complete_sessions(WorkloadFlags& workload, OutputRule output);

/// What the flags ask of every body, with the model and the kind of prompt that were typed: the
/// preflight may choose others.
BodySpec body_spec(const RequestFlags& request);

/// A header of that name is sent, whatever the case of its letters.
bool has_header(const RequestFlags& request, std::string_view name);

/// Moves headers with placeholders from `headers` to a list of their own, and appends those of the
/// family (--session-headers) that the user has not given. Returns one line that says what is wrong
/// and what to do, or the empty text.
std::string complete_row_headers(ReplayOptions& options);

/// Why the members of `--extra-body` cannot be in a body of the chosen API: the message without the
/// program's name. Empty: they can.
std::string extra_body_contradiction(const RequestFlags& request);

/// Takes the placeholders of `--extra-body` apart (`row_body`). Returns one line that says what is
/// wrong and what to do, or the empty text.
std::string complete_extra_body(ReplayOptions& options);

}  // namespace driftless

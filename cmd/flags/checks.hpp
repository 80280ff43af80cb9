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

// What flags mean together: the second half of parsing, after each value was read by itself.

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

// `--against`: what goes with it. Pure.

/// Once targets and sessions are complete: one line that says which flag does not go with dual
/// fire, why, and what does, or the empty text.
std::string dual_contradiction(const TypedServer& server, const ReplayOptions& options);

// Combinations of `--ca`, `--cert`, `--key` and `--insecure` that contradict each other, or would
// be ignored. Pure: reads no file.

/// For options whose targets are known: what is wrong, with the remedy; empty: nothing.
std::string tls_contradiction(const ReplayOptions& options);

// Flags of the host: how many engines send (`--engines`), how they wait, what the verdict compares
// with. Pure functions.

/// The flag because of which this run has one engine, whatever the host has; empty: there is none.
std::string one_engine_flag(const ReplayOptions& options);

/// Engines at most: each needs a part of every cap (open requests, connections, token budgets).
std::uint32_t engines_most(const ReplayOptions& options);

/// What contradicts another flag; or empty.
std::string host_contradiction(const ReplayOptions& options);

// The model of each row: `--model "{kept.COLUMN}"`, or `--map model=COLUMN`, which means the same.

/// Turns `model` of the map into a kept column, and a model with placeholders into `row_model`.
/// Returns one line that says what is wrong and what to do, or the empty text.
std::string complete_model(ReplayOptions& options);

// Rates, once all flags are read: what they mean together, and what contradicts itself.

/// Lines of a `--shape` file at most.
inline constexpr std::size_t shape_lines_max = 100'000;

/// Reads lines of `seconds,rate` into a curve that is linear between them. Returns the refusal
/// with file and line; empty: there is none.
std::string read_shape(const std::string& path, RateCurve& curve);
/// The same of the text of a file; `where` stands before what is said.
std::string parse_shape(const std::string& where, std::string_view text, RateCurve& curve);

/// Sets `workload.arrivals` where rows arrive at a rate. Returns the refusal; empty: there is none.
std::string complete_rates(WorkloadFlags& workload);

// What the flags of closed sessions and of users mean together. Prints nothing.

/// Users play closed sessions: sets that. Returns one line that says what is wrong and what to do,
/// or the empty text.
std::string complete_sessions(WorkloadFlags& workload, OutputRule output);

// What the flags ask of every body, before the server has said what it takes. Pure.

/// With the model and the kind of prompt that were typed; the preflight may choose others.
BodySpec body_spec(const RequestFlags& request);

// Headers whose values differ from row to row: those of --header with placeholders, and families
// of headers by which routers know a session (--session-headers).

/// Why a template with an `unknown` placeholder is refused, in a flag of this text.
std::string unknown_placeholder(const std::string& unknown, std::string_view text);
/// Why a template cannot be filled in a run with these options, or the empty text.
std::string unfilled(const FieldTemplate& field, const ReplayOptions& options);

/// A header of that name is sent, whatever the case of its letters.
bool has_header(const RequestFlags& request, std::string_view name);

/// Moves headers with placeholders from `headers` to a list of their own, and appends those of the
/// family that the user has not given. Returns one line that says what is wrong and what to do, or
/// the empty text.
std::string complete_row_headers(ReplayOptions& options);

// Whether `--extra-body` fits the bodies of the chosen API. Asks the dialect itself; prints
// nothing.

/// Why its members cannot be in a body: the message without the program's name. Empty: they can.
std::string extra_body_contradiction(const RequestFlags& request);

/// Takes its placeholders apart (`row_body`). Returns one line that says what is wrong and what to
/// do, or the empty text.
std::string complete_extra_body(ReplayOptions& options);

}  // namespace driftless

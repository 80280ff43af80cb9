/// Headers whose values differ from row to row: those of --header with placeholders, and families
/// of headers by which routers know a session (--session-headers).
#pragma once

#include <string>
#include <string_view>

#include "cmd/replay/flags/options.hpp"
#include "proto/core/result.hpp"

namespace driftless {

/// "none", or "agentx".
Result<SessionHeaders> parse_session_headers(std::string_view text);

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

}  // namespace driftless

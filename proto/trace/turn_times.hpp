/// When the turns of a session come if the trace gives them no arrival times.
///
/// Under `--sessions recorded` such rows are refused. Otherwise they are laid out by the recorded
/// gaps, as if answers took no time; closed sessions then wait for the answers.
#pragma once

#include <cstdint>
#include <optional>

#include "proto/trace/fields.hpp"

namespace driftless {

/// The recorded arrival time, or else the time of the session's row before and the gap since. A
/// session begins at 0. Nothing after an error.
std::optional<std::int64_t> read_turn_time(const RowContext& context, const Field& time,
                                           std::uint32_t session, std::int64_t gap_ns);

/// The time of the session's row before, and the gap since. Without a row before: the gap.
std::int64_t lay_out_turn(const RowContext& context, std::uint32_t session, std::int64_t gap_ns);

/// For formats whose conversations have no arrival times at all: refuses the trace under
/// `--sessions recorded`. `more`, a clause: what else can be done with it; empty: nothing. False
/// after an error.
bool admit_untimed(RowContext& context, const char* more = "");

}  // namespace driftless

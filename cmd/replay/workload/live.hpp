/// Live assistants, before the run: whose words the conversations of a trace are replayed with.
#pragma once

#include "cmd/replay/flags/options.hpp"
#include "engine/prompt/recorded_bodies.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

/// As the user says; else live where the trace holds no answers.
Assistant assistant_of(const RequestFlags& request, const Trace& trace);

/// Refuses what a run with live assistants cannot do, with the remedy, on standard error. Returns
/// `exit_done` or the code of the refusal.
int check_live(const ReplayOptions& options, const Trace& trace);

}  // namespace driftless

/// Recorded requests in a replay: bodies are made of them once the server is known, and what was
/// fixed is printed and goes into run.json.
#pragma once

#include "cmd/replay/flags/options.hpp"
#include "cmd/replay/run_json/run_file.hpp"
#include "cmd/replay/server/server.hpp"
#include "cmd/replay/workload/workload.hpp"

namespace driftless {

/// Where the trace holds recorded requests: makes their bodies, before time 0. Prints notes, or
/// what cannot be sent; returns an exit code.
int make_bodies(const ReplayOptions& options, const Server& server, Workload& workload,
                RunFile& file);

}  // namespace driftless

/// ServedWorkload: a workload as the server gets it, once that is known: recorded requests have
/// become bodies, and hits are forecast for its template and its cache blocks. Made before time 0;
/// never changed afterwards.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cmd/or_exit.hpp"
#include "cmd/replay/flags/options.hpp"
#include "cmd/replay/server/server.hpp"
#include "cmd/replay/workload/workload.hpp"
#include "engine/prompt/recorded_bodies.hpp"

namespace driftless {

struct ServedWorkload {
    Workload workload;
    std::optional<RecordedFigures> recorded;    ///< the trace holds recorded requests
    std::optional<LiveTurns> live;              ///< `--assistant live`
    std::optional<std::uint32_t> server_block;  ///< tokens: hits are forecast in such blocks, too
    std::string forecast_note;  ///< why they are not, though their size is known; empty: nothing
};

/// With the bodies of recorded requests. Prints notes, or what cannot be sent.
OrExit<ServedWorkload> serve(Workload workload, const RequestFlags& request, const Server& server);

/// What the server of a side puts around a prompt, as its caches see it.
Overhead served_overhead(const Server& server, Side side = Side::none);

/// With hits as the server's caches should have them: after its template, and in its own blocks
/// where their size is known.
ServedWorkload forecast(ServedWorkload served, const ReplayOptions& options, const Server& server);

}  // namespace driftless

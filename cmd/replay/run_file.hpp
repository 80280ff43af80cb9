/// What `run.json` says about a run, beside what its Replay says. Written before time 0 without the
/// facts of the end, and again at the end; a file that is there is always whole. Its order and the
/// keys that are read are those of `walk_run` (run_facts.hpp).
///
/// Plain values, complete once they are made. Nothing here is secret: the command line is masked,
/// and `arguments`, which `--resume` and `--from` repeat, hold no secret (settings.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cmd/flags/replay_options.hpp"
#include "cmd/replay/server.hpp"
#include "engine/history/run_facts.hpp"
#include "engine/host/host.hpp"
#include "engine/host/threads.hpp"
#include "engine/io/driver.hpp"
#include "engine/machines/meet.hpp"
#include "engine/plan/trees.hpp"
#include "engine/replay/run.hpp"

namespace driftless {

// What run.json says of the engine's thread and its memory: what is counted, what was granted, and
// why not.

struct Replay;

struct EngineFacts {
    std::string why_no_instructions;  ///< empty: they are counted
    MemoryGrants memory;
    bool realtime = false;  ///< the thread runs before ordinary ones
};

/// High-water marks of everything that is bounded. Bytes unless named otherwise.
struct RunMarks {
    std::uint64_t resident_max = 0;
    std::uint64_t body_region = 0;
    std::uint64_t body_max = 0;
    std::uint64_t row_fields = 0;  ///< headers that differ from row to row
    std::uint64_t event_ring = 0;
    std::uint64_t event_ring_max = 0;
    std::uint64_t block_cache = 0;
    std::uint64_t block_cache_hits = 0;    ///< blocks
    std::uint64_t block_cache_misses = 0;  ///< blocks
    std::uint64_t frames = 0;
    std::uint64_t frames_max = 0;  ///< coroutines at once
    std::uint64_t lanes_max = 0;   ///< connections at once
};

/// Kernel stamps: how they came, and why there are none where there are none. How many there were
/// is in the LaneCounts.
struct StampFacts {
    std::string transmit;  ///< "io_uring", "error queue" or "no"
    bool receive = false;
    std::string reason;  ///< for what is missing; empty: nothing is
    ClockSample clock;   ///< at the end
};

/// What the end adds. Counters of a run that was resumed are those of its last segment.
struct RunEnd : EndFacts {
    RunEnd() { rows_fired = 0; }
    std::optional<std::uint64_t> prompts_digest;  ///< of all rows; none where some were not built
    std::optional<std::uint64_t> against_digest;  ///< of those to --against, a part of it
    std::uint64_t clamped_rows = 0;
    LaneCounts lanes;
    /// How long servers keep an idle connection, as they said or as was seen: the shortest.
    std::optional<std::int64_t> idle_limit_ns;
    DriverCounters driver;
    std::uint32_t stepped_aside = 0;  ///< `--realtime`: engines went among ordinary threads
    std::int64_t guard_ns = 0;
    std::int64_t margin_ns = 0;
    std::optional<IdleFigures> idle;  ///< of users
    RunMarks marks;
    StampFacts stamps;
    std::vector<TlsFacts> tls;  ///< one per https target
    int exit_code = 0;
};

/// What a run adds to it while it goes on.
struct RunProgress {
    std::optional<EngineFacts> engine;
    std::vector<RunSegment> segments;     ///< empty under `--dry-run`
    std::optional<MeetingFacts> meeting;  ///< of a resumed run, that of its first segment
    std::optional<RunEnd> end;
};

/// What it says to those who read it: the summary of the run itself, too.
RunFacts facts_of(const Replay& run, const RunProgress& progress);
std::string to_json(const Replay& run, const RunProgress& progress);

/// Of a run that has ended.
StampFacts stamp_facts(StampRule rule, const DriverFacts& driver, Run& run);

}  // namespace driftless

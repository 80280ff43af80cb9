/// RunDescription: what was run, for those who read a summary without its run.json: servers, trace,
/// selection, pace and seeds. A value; nothing in it is secret.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "proto/json/write.hpp"
#include "proto/record/record.hpp"

namespace driftless {

struct RunDescription {
    std::vector<std::string> urls;
    std::vector<std::string> trace_paths;
    std::uint64_t trace_rows = 0;  ///< in the files, before the selection
    /// Recorded waits of rows for others, before the selection: what `--sessions closed` goes by.
    std::uint64_t trace_dependencies = 0;
    std::string trace_digest;  ///< 16 hex digits of all of its rows; empty: not known
    std::uint64_t rows = 0;    ///< selected
    std::string speed = "1";   ///< as typed
    OptionalNs start_ns;       ///< `--start`, `--end`: trace time
    OptionalNs end_ns;
    OptionalNs duration_ns;  ///< `--duration`: wall time
    std::optional<std::uint64_t> limit;
    /// Wall time from time 0 to the last due instant; under `--sessions closed` to the last of a
    /// row that waits for none.
    std::int64_t last_due_ns = 0;
    std::string schedule_digest;         ///< 16 hex digits of rows and dues; empty: not known
    std::string rate;                    ///< as typed, "ramp ..", "shape FILE"; empty: none
    std::optional<double> asked_rate;    ///< `--rate`, per second, where it is one finite number
    std::string arrivals;                ///< "poisson", "gamma:0.5", "all at once"; empty: none
    std::optional<double> planned_rate;  ///< arrivals a second, as planned
    std::string arriving;                ///< "rows" or "trees"; empty: none
    std::string sessions = "recorded";   ///< `--sessions`
    std::uint64_t users = 0;             ///< `--users`; 0: none
    OptionalNs for_ns;                   ///< `--for`
    bool spread = false;
    std::uint64_t seed = 0;
    std::string cache_salt;  ///< empty: none
    std::string prompt;      ///< "text" or "ids"
    std::string output;      ///< "exact", "cap" or "free"
    /// TRACE.., then `--flag=value`, keys masked: what `replay --from` repeats.
    std::vector<std::string> arguments;
};

/// The key `run` with its object.
void write_run(JsonWriter& json, const RunDescription& run);

}  // namespace driftless

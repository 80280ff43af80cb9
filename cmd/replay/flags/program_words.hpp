/// Program words: what precedes the first flag in a command line of another tool, when the whole
/// line is pasted after `driftless replay`. Pure; opens no file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace driftless {

/// Tools whose flags have names that mean something else to others. `other`: a tool without such.
enum class ForeignTool : std::uint8_t {
    none,
    other,
    kv_cache_tester,
    aiperf,
    mlperf,
    vllm,
    sglang,
    guidellm,
};

struct ProgramWords {
    std::size_t count = 0;
    ForeignTool tool = ForeignTool::none;
    const char* instead = "";  ///< not empty: the words are of no replay; what to use
};

/// How many of the first arguments name another replay tool and its subcommand, with what starts it
/// (`python3 trace_replay.py`, `uv run`, `NAME=VALUE`), and which tool that is; none where the
/// command line is ours.
ProgramWords find_program_words(const std::vector<std::string>& arguments);

}  // namespace driftless

/// Spelling: a command line as people of other tools type it, turned into our own flag names.
///
/// Habits carry over without a word in the help (design, section 4). Knows names and no values.
/// Opens no file but the configuration of a tool that has its flags there (tools/mlperf.cpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace driftless {

/// Arguments in our spelling, or one line that says why they are refused.
struct Spelled {
    std::vector<std::string> arguments;
    std::vector<std::string> notes;  ///< flags of other tools that were ignored, and why
    std::string refused;             ///< empty: all is well
    std::string trace_missing;       ///< how to get the trace, where none is given; empty: as ever
    /// Flags of ours, and the names under which they were typed.
    std::vector<std::pair<std::string, std::string>> typed_as;
    std::string data_set;      ///< as its tool names it; empty: it does not
    bool makes_rows = false;   ///< a synthetic data set, and not a trace
    bool goes_round = false;   ///< the tool repeats a data set that is too short
    bool lacks_times = false;  ///< the data set has no times: rows come at a rate, or in a loop
};

/// Drops the words that start another tool, splits `--name=value`, replaces aliases, translates
/// flags of other tools (foreign.hpp), gathers the parts of `--goodput ttft:200 tpot:50` into one
/// argument. Arguments after `--` stay as they are.
Spelled spell(const std::vector<std::string>& arguments);

// Program words: what precedes the first flag in a command line of another tool, when the whole
// line is pasted after `driftless replay`. Pure; opens no file.

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

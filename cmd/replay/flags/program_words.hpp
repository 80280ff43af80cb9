/// Program words: what stands before the first flag of a command line of another tool, when all of
/// it is pasted behind `driftless replay`. Pure; opens no file.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace driftless {

/// How many of the first arguments name another replay tool and its subcommand, with what starts it
/// (`python3 trace_replay.py`, `uv run`, `NAME=VALUE`); 0 where the command line is ours.
std::size_t count_program_words(const std::vector<std::string>& arguments);

}  // namespace driftless

/// Whether the rows of a workload fit the server: its context, its shortest answers, what it puts
/// around a prompt.
#pragma once

#include <cstdint>
#include <string>

#include "cmd/replay/workload/workload.hpp"
#include "engine/prompt/overhead.hpp"

namespace driftless {

/// Tokens of the longest row, prompt and output together.
std::int64_t longest_row(const Trace& trace, const Plan& plan);

/// What a model takes, in tokens; -1: not known.
struct ModelRoom {
    std::int64_t context = -1;  ///< prompt and output together
    std::int64_t input = -1;    ///< the prompt alone
};

/// Rows that a model has no room for are refused before anything is sent. Unknown: nothing is
/// refused. Prints what the longest row needs.
int check_context(const Workload& workload, ModelRoom room);

/// What is lost where the split of `overhead` tokens is taken to be all in front and is not: one
/// line, with the flag that sets it.
std::string split_warning(const Workload& workload, const Overhead& overhead, bool templated);

/// What a server that refuses shorter answers than `least` tokens means for the rows; empty:
/// nothing.
std::string short_answers_warning(OutputRule output, const Workload& workload, std::uint32_t least);

}  // namespace driftless

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

/// Refuses rows that do not fit the model, before anything is sent; if its room is unknown, it
/// refuses nothing. Prints what the longest row needs.
int check_context(const Workload& workload, ModelRoom room);

/// What is lost if `overhead` tokens are assumed to be all in front of the prompt and are not: one
/// line, with the flag that sets the split.
std::string split_warning(const Workload& workload, const Overhead& overhead, bool templated);

/// What a server that refuses shorter answers than `least` tokens means for the rows; empty:
/// nothing.
std::string short_answers_warning(OutputRule output, const Workload& workload, std::uint32_t least);

}  // namespace driftless

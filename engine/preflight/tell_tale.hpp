/// TellTale: the prompt by which a run of the same trace, seed and salt is recognised in a server's
/// prefix cache. No row has it, and no other run. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "engine/prompt/builder.hpp"
#include "engine/prompt/vocab.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

struct TellTale {
    std::string prompt;       ///< as it stands in a body
    std::uint64_t words = 0;  ///< tokens of it, without the server's own
    bool is_salted = true;    ///< another salt makes another one
};

/// `tokens` as the server counts, its own among them. `options` are those of the rows' prompts.
/// `server` is its number in the run: two names of one server are not an earlier run. The trace
/// counts by its digest alone; where rows are recorded bodies, they are the same under any seed and
/// salt, and so is this.
TellTale make_tell_tale(const Trace& trace, const WordTable& words, PromptOptions options,
                        std::size_t server, std::uint32_t tokens);

}  // namespace driftless

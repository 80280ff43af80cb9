/// SystemBlocks: which blocks at the begin of prompts are those of system prompt and tools, which
/// all conversations of a kind have in common, and passes through the corpus may share
/// (`--recycle-share system`).
///
/// A conversation declares how many tokens they have; its first blocks that lie wholly within are
/// meant. Where the first requests of all sessions of a tree begin with more blocks in common,
/// those are. Whatever row begins with the same blocks shares them. Source: agentic-rules.md 4.2.
///
/// Pure; one pass over the block ids of the plan's rows. Memory: 4 bytes a row, and 22 a block that
/// is shared meanwhile.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/plan/plan.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

struct SystemBlocks {
    std::vector<std::uint32_t> blocks;  ///< [row index] so many of its first blocks
    std::uint64_t rows = 0;             ///< that have any
    std::uint32_t most = 0;             ///< of a row
};

SystemBlocks system_blocks(const Trace& trace, const Plan& plan);

}  // namespace driftless

/// Families: which rows of a trace belong together, so that a sample of it keeps what they share.
///
/// Rows of one session are a family, and so are rows that wait for each other. A row of no session
/// joins the families of the rows that it shares a prompt prefix with, unless that prefix is a
/// preamble: one that goes on in more than `preamble_branches` ways is a system prompt, which
/// strangers share, and not the beginning of a conversation. Pure; the trace is only read.
#pragma once

#include <cstdint>
#include <vector>

#include "proto/trace/row.hpp"

namespace driftless {

/// Ways in which a prefix may go on and still be one conversation. In the Mooncake conversation
/// hour any bound from 8 to 7,000 gives the same 7,373 families of at most 43 rows, whose samples
/// of a tenth keep its prefix hit rate of 0.37 (0.31 to 0.38; samples of rows: 0.11).
inline constexpr std::uint32_t preamble_branches = 64;

struct Families {
    std::vector<std::uint32_t> of_row;  ///< [position in Trace::rows] the family's number
    std::uint32_t count = 0;            ///< numbered from 0 by their first rows in file order
};

Families families_of(const Trace& trace);

}  // namespace driftless

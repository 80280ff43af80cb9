/// SynthRow: one row that is made, before it is a line of a trace.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "proto/trace/row.hpp"

namespace driftless {

/// The row waits for the answer to an earlier one, then so long.
struct SynthWait {
    std::uint32_t row = 0;  ///< rows count from 0, as they are made
    std::int64_t delay_ns = 0;
};

struct SynthRow {
    std::int64_t at_ns = 0;  ///< not before that of the row before
    std::uint32_t input_length = 0;
    std::uint32_t output_length = 0;
    std::vector<std::uint64_t> ids;  ///< of the prompt's full blocks; empty without a block size
    std::string session;             ///< empty: none
    std::uint32_t turn = 0;          ///< from 1; 0 without a session
    std::uint32_t turn_before = no_row;  ///< row of its session's turn before
    std::vector<SynthWait> waits;

    /// As new; keeps its memory.
    void clear() {
        at_ns = 0;
        input_length = 0;
        output_length = 0;
        ids.clear();
        session.clear();
        turn = 0;
        turn_before = no_row;
        waits.clear();
    }
};

}  // namespace driftless

/// ReadOptions: what the user says about a trace that is read. Plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "proto/trace/format.hpp"
#include "proto/trace/name_spaces.hpp"

namespace driftless {

struct ReadOptions {
    std::string format;             ///< `--format`; empty: by the keys of the first row
    std::string time_unit;          ///< `--time-unit`; empty: the format's
    std::uint32_t block_size = 0;   ///< `--block-size`; 0: the format's
    bool lenient = false;           ///< `--lenient`
    std::vector<std::string> keep;  ///< `--keep`
    std::vector<MappedColumn> map;  ///< `--map`
    Sessions sessions = Sessions::recorded;
    IdScope id_scope = IdScope::format;  ///< `--hash-scope`
    std::uint32_t default_output = 0;    ///< `--default-output`; 0: none
    bool output_free = false;            ///< `--output free`: rows need no output length
    /// Rows need no times, and conversations no arrivals: a rate or open requests decide when they
    /// are sent. Times that are there are read.
    bool times_free = false;
    std::string model_column;                     ///< `--map model=COLUMN`: one of those in `keep`
    FlatAgents flat_agents = FlatAgents::chains;  ///< `--flat-agents`
};

}  // namespace driftless

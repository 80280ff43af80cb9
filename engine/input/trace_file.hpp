/// read_trace: TRACE arguments in, one Trace out, with all errors and the facts worth printing.
///
/// Files, folders and standard input are read one after the other as one trace, in constant memory
/// beyond the row index. It prints nothing itself.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "proto/trace/format.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

struct TraceFiles {
    std::vector<std::string> paths;  ///< files, folders, or "-"
    std::string format;              ///< `--format`; empty: detected
    std::string time_unit;           ///< `--time-unit`; empty: the format's
    std::uint32_t block_size = 0;    ///< `--block-size`; 0: the format's
    bool lenient = false;            ///< `--lenient`
    std::vector<std::string> keep;   ///< `--keep`
    std::vector<MappedColumn> map;   ///< `--map`
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

/// True where the trace is whole and usable. Otherwise `errors` says why, and `out` must not be
/// used. `notes` are one-line facts and warnings, in the order they should be printed.
bool read_trace(const TraceFiles& files, Trace& out, InputErrors& errors,
                std::vector<std::string>& notes);

}  // namespace driftless

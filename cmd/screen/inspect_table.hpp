/// What `driftless inspect` shows: figures as tables, and as plots where they are asked for. Text
/// out; it computes nothing that is not a share, and prints nothing.
#pragma once

#include <cstdint>
#include <string>

#include "engine/inspect/figures.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

struct InspectView {
    bool plots = false;
    std::uint64_t token_bytes = 0;  ///< of a token in the KV cache; 0: sizes in tokens only
};

std::string inspect_table(const Trace& trace, const InspectFigures& figures,
                          const InspectView& view);

/// The table of files: its heading, a line of a file (with the trace's format where `each` is one
/// of its own), and a line of one that is refused.
std::string file_heading(bool each);
std::string file_line(const FileFigures& file, const Trace* each);
std::string refused_line(const std::string& name, const InputErrors& errors);

}  // namespace driftless

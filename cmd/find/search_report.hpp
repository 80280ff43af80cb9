/// SearchReport: all that a search knows so far, and what the screen says of it. A value; it writes
/// nothing. `find.json` has the same (search_file.hpp).
#pragma once

#include <string>
#include <vector>

#include "cmd/cells/kept_traces.hpp"
#include "cmd/find/judged_probe.hpp"
#include "cmd/find/options.hpp"
#include "engine/knee/search.hpp"

namespace driftless {

struct SearchReport {
    const FindOptions* options = nullptr;
    std::vector<std::string> command;  ///< as typed; it holds no secret
    std::string home;                  ///< absolute: paths go by this folder
    std::vector<KeptTrace> traces;     ///< that probes name
    Knee knee;
    std::string state;  ///< of the search; or "interrupted", "stopped"
    std::string why;    ///< of "stopped": what ended it
    double seconds = 0;
    std::vector<JudgedProbe> probes;
};

/// The condition that fails at the lowest load that failed; empty where none did.
std::string binding(const SearchReport& report);

/// One line about a probe that has ended.
std::string probe_line(const SearchReport& report, const JudgedProbe& probe);

/// The result, several lines.
std::string result_lines(const SearchReport& report);

}  // namespace driftless

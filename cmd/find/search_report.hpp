/// SearchReport: all that a search knows so far: what `find.json` has, and what the screen says at
/// its end. A value; it writes nothing.
#pragma once

#include <string>
#include <vector>

#include "cmd/find/judged_probe.hpp"
#include "cmd/find/options.hpp"
#include "engine/knee/search.hpp"

namespace driftless {

inline constexpr int find_schema = 1;

struct SearchReport {
    const FindOptions* options = nullptr;
    std::vector<std::string> command;  ///< as typed, without secrets
    Knee knee;
    std::string state;  ///< of the search; or "interrupted", "stopped"
    std::string why;    ///< of "stopped": what ended it
    double seconds = 0;
    std::vector<JudgedProbe> probes;
};

/// The condition that fails at the lowest load that failed; empty where none did.
std::string binding(const SearchReport& report);

/// The text of `find.json` (find.schema.json).
std::string find_json(const SearchReport& report);

/// One line about a probe that has ended.
std::string probe_line(const SearchReport& report, const JudgedProbe& probe);

/// The result, several lines.
std::string result_lines(const SearchReport& report);

}  // namespace driftless

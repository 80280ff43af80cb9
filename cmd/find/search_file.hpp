/// `find.json`: what a search keeps of itself after each probe, and what it is to go on with after
/// it was killed. Pure.
#pragma once

#include <string>
#include <vector>

#include "cmd/find/search_report.hpp"

namespace driftless {

inline constexpr int find_schema = 2;

/// The text of `find.json` (find.schema.json).
std::string find_json(const SearchReport& report);

/// What `--resume` needs of it.
struct KeptSearch {
    std::vector<std::string> command;  ///< of the search: it has all flags
    std::string home;
    std::vector<KeptTrace> traces;
    double seconds = 0;
    /// In order. Their loads have the digits of the file, and their purposes are not told: the
    /// search says again what it asked for.
    std::vector<JudgedProbe> probes;
};

/// Reads the text of a `find.json`. Returns what is wrong with it, or the empty text.
std::string read_search(const std::string& text, KeptSearch& out);

}  // namespace driftless

/// Man pages: driftless(1), and one for each command, driftless-replay(1). Pure.
#pragma once

#include <string>
#include <vector>

#include "cmd/help/commands.hpp"

namespace driftless {

/// What stands in the head of every page.
struct PageFacts {
    std::string version;
    std::string date;  ///< of the version, "2026-11-25"
};

std::string man_page(const CommandPages& command, const PageFacts& facts);

/// `built_in`: commands that have no flags and no page of their own.
std::string program_man_page(const std::vector<CommandPages>& commands,
                             const std::vector<CommandPages>& built_in, const PageFacts& facts);

}  // namespace driftless

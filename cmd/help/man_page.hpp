/// Man pages: driftless(1), and one for each command, driftless-replay(1). Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cmd/help/commands.hpp"
#include "cmd/help/shipped_files.hpp"

namespace driftless {

/// What stands in the head of every page.
struct PageFacts {
    std::string version;
    std::string date;  ///< of the version, "2026-11-25"
};

std::string man_page(const CommandPages& command, const PageFacts& facts);

/// `built_in`: commands that have no page of their own. `shipped`: files that the program prints.
std::string program_man_page(const std::vector<CommandPages>& commands,
                             const std::vector<CommandPages>& built_in,
                             std::span<const ShippedFile> shipped, const PageFacts& facts);

}  // namespace driftless

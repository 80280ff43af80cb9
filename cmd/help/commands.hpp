/// The commands of the program, and what help, man pages and completions know of them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/help/flag_table.hpp"

namespace driftless {

struct Command {
    const char* name;
    const char* help;  ///< one line
    /// `argv[0]` is the command's name. Returns the exit code.
    int (*run)(int argc, char** argv);
    /// Words behind the name that choose a set of flags each ("stress reuse"); nullptr: none.
    std::vector<std::string> (*kinds)() = nullptr;
};

/// nullptr: there is no such command.
const Command* find_command(std::span<const Command> commands, std::string_view name);

/// A command with the flags of each of its kinds; without kinds there is one table.
struct CommandPages {
    std::string name;
    std::string summary;  ///< one line
    std::vector<FlagTable> tables;
};

/// Asks each command for its help, and reads the flags instead of printing it. A command is in man
/// pages and completions because it is in `commands`: there is no other list. CHECK: each has a
/// table.
std::vector<CommandPages> read_pages(std::span<const Command> commands);

}  // namespace driftless

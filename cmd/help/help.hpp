/// The commands of the program, and what help, man pages and completions know of them.
#pragma once

#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/base/program.hpp"
#include "cmd/flags/flag_table.hpp"

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

// What the program says of itself: its commands, their man pages, completions, its version; and
// what is said where a name is not a command. Prints to stdout, errors to stderr; each returns the
// exit code.

/// Everything behind `driftless help`: nothing, COMMAND, FILE (program.hpp), --man,
/// --man COMMAND, --names.
int run_help(std::span<const Command> commands, const BuildFacts& facts, std::span<char*> behind);

/// Everything behind `driftless completion`: the name of a shell.
int run_completion(std::span<const Command> commands, std::span<char*> behind);

/// Version, commit, compiler, kernel; nothing may be `behind` it.
int run_version(const BuildFacts& facts, std::span<char*> behind);

void print_help(std::span<const Command> commands, std::FILE* out);

/// `typed` stands where a command does, and is not one.
int refuse_command(std::span<const Command> commands, const std::string& typed);

}  // namespace driftless

/// What the program says of itself: its commands, their man pages, completions, its version; and
/// what is said where a name is not a command. Prints to stdout, errors to stderr; each returns the
/// exit code.
#pragma once

#include <cstdio>
#include <span>
#include <string>

#include "cmd/build_facts.hpp"
#include "cmd/help/commands.hpp"

namespace driftless {

/// Everything behind `driftless help`: nothing, COMMAND, FILE (shipped_files.hpp), --man,
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

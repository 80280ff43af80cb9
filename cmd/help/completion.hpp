/// Completions: scripts for bash, zsh and fish that know every command, flag and choice. Pure.
///
/// They are whole: no script asks the program anything while somebody types.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/base/program.hpp"
#include "cmd/help/help.hpp"

namespace driftless {

/// Words of the program that may follow each other, and the flags that may follow them:
/// "replay", "synth stress reuse", "completion zsh", "help seccomp.json".
struct Completed {
    std::string words;
    std::string summary;
    const FlagTable* table = nullptr;  ///< nullptr: no flags
};
/// Points into `commands` and `built_in`. `files` follow `help`.
std::vector<Completed> completed_words(const std::vector<CommandPages>& commands,
                                       const std::vector<CommandPages>& built_in,
                                       std::span<const ShippedFile> files);

std::string bash_completion(const std::vector<Completed>& all);
std::string zsh_completion(const std::vector<Completed>& all);
std::string fish_completion(const std::vector<Completed>& all);

/// Text between single quotes, as bash and zsh read it.
std::string shell_quoted(std::string_view text);

/// The help of a flag as one line.
std::string line_of_help(const Flag& flag);

/// Words with a blank between them.
std::string with_blanks(const std::vector<std::string>& words);

/// The next words behind `typed` ("": the first ones), each with its summary, in order.
std::vector<Completed> words_behind(const std::vector<Completed>& all, std::string_view typed);
/// Every beginning behind which another word may follow: "", "synth", "synth stress".
std::vector<std::string> beginnings(const std::vector<Completed>& all);

}  // namespace driftless

/// The commands of the program, and what people and shells are told of them: help, man pages
/// (driftless(1), driftless-replay(1) and so on), and completions for bash, zsh and fish.
#pragma once

#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/base/program.hpp"
#include "cmd/flags/help_flags.hpp"

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

/// Everything behind `driftless help`: nothing, COMMAND, COMMAND TOPIC (CommandParser), FILE
/// (program.hpp), WORD (find_word), --man, --man COMMAND, --names.
int run_help(std::span<const Command> commands, const BuildFacts& facts, std::span<char*> behind);

/// Everything behind `driftless completion`: the name of a shell.
int run_completion(std::span<const Command> commands, std::span<char*> behind);

/// Version, commit, compiler, kernel; nothing may be `behind` it.
int run_version(const BuildFacts& facts, std::span<char*> behind);

void print_help(std::span<const Command> commands, std::FILE* out);

/// `typed` stands where a command does, and is not one.
int refuse_command(std::span<const Command> commands, const std::string& typed);

inline constexpr std::string_view exit_codes =
    "  0    done; failed requests are data, not a failed run\n"
    "  2    wrong flags, or an output that already exists\n"
    "  3    the trace or the tokenizer was refused\n"
    "  4    the server cannot be reached, or refused the probes\n"
    "  5    no request got a complete answer\n"
    "  6    not certified, or a rule violated, when that was required\n"
    "  7    the host lacks something or fails: limits, disk, hooks\n"
    "  8    a --fail-if or --stop-when holds\n"
    "  130  interrupted\n";

/// Ours for what other tools call so; empty: they have none of that name.
std::string command_of_other_tools(std::string_view typed);

/// The lines of `driftless help WORD`, at most 30 of 100 columns: flags, keys of the schemas, exit
/// codes, and headings and rows of tables of the shipped pages, most exact hits first. With
/// `is_typo` nothing, unless it is a whole name. Pure.
std::vector<std::string> find_word(const std::vector<CommandPages>& commands,
                                   std::span<const ShippedFile> shipped, std::string_view word,
                                   bool is_typo);

// Man pages: driftless(1), and one for each command, driftless-replay(1). Pure.

/// What is in the head of every page.
struct PageFacts {
    std::string version;
    std::string date;  ///< of the version, "2026-11-25"
};

std::string man_page(const CommandPages& command, const PageFacts& facts);

/// `built_in`: commands that have no page of their own. `shipped`: files that the program prints.
std::string program_man_page(const std::vector<CommandPages>& commands,
                             const std::vector<CommandPages>& built_in,
                             std::span<const ShippedFile> shipped, const PageFacts& facts);

/// Roff: writes the macros of man pages (man(7)). Pure: text in, text out.
///
/// What it is given is plain text: nothing of it can become a macro or an escape. Every line of the
/// result has 80 bytes at most, as mandoc -Tlint asks.
class Roff {
  public:
    /// `date` as "2026-11-25".
    Roff(std::string_view page, std::string_view date, std::string_view version);

    void section(std::string_view title);
    void subsection(std::string_view title);
    /// Filled text; empty lines part paragraphs, and indented lines stay as they are.
    void text(std::string_view text);
    /// A term, and what it means. `term` is roff already: made of `bold`, `italic` and `plain`.
    void definition(std::string_view term, std::string_view meaning);
    void line(std::string_view roff) { page_ += std::string(roff) + "\n"; }

    const std::string& page() const { return page_; }

    static std::string plain(std::string_view text);
    static std::string bold(std::string_view text) { return "\\fB" + plain(text) + "\\fR"; }
    static std::string italic(std::string_view text) { return "\\fI" + plain(text) + "\\fR"; }

  private:
    void filled(std::string_view text);
    void verbatim(std::string_view lines);

    std::string page_;
};

// Completions: scripts for bash, zsh and fish that know every command, flag and choice. Pure.
//
// They are whole: no script asks the program anything while somebody types.

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

/// The next words behind `typed` ("": the first ones), each with its summary, in order.
std::vector<Completed> words_behind(const std::vector<Completed>& all, std::string_view typed);
/// Every beginning behind which another word may follow: "", "synth", "synth stress".
std::vector<std::string> beginnings(const std::vector<Completed>& all);

}  // namespace driftless

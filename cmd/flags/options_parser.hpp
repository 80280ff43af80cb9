/// The parser that the options files of all commands share, over CLI11; and the flags that say
/// which trace is read, how, and how much load is made of it, for all commands that read one.
///
/// CLI11 is heavy: only options_parser.cpp reads it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cmd/base/files.hpp"
#include "cmd/base/program.hpp"
#include "cmd/base/secrets.hpp"
#include "cmd/flags/help_flags.hpp"
#include "cmd/flags/option_values.hpp"
#include "engine/plan/trace_file.hpp"
#include "proto/core/errors.hpp"

namespace CLI {
class App;
}  // namespace CLI

namespace driftless {

/// The names of the rows of a table, or of those that a list points to, for completions.
template <typename Rows>
std::vector<std::string> names_in(const Rows& rows) {
    std::vector<std::string> names;
    for (const auto& row : rows) {
        if constexpr (requires { row->name; }) {
            names.emplace_back(row->name);
        } else {
            names.emplace_back(row.name);
        }
    }
    return names;
}

/// The flags of a command. Every value goes through a function or a table of Choices that gives the
/// value, or the remedy as the `doing` of its Error; the default is typed text too, so that the
/// help cannot differ from what happens. What is wrong is told with flag, value and remedy.
///
/// The words that a flag takes are those of its table, those that are given with it, or those of
/// its unit; without all three, those that its function names in a refusal and takes.
class Flags {
  public:
    using Words = std::vector<std::string>;

    explicit Flags(CLI::App& app) : app_(app) {}

    /// Arguments that are no flags. A vector takes any number.
    void argument(const char* name, const char* help, std::string& target);
    void argument(const char* name, const char* help, std::vector<std::string>& target);

    /// Heading of the flags that follow; empty: they work, and the help does not show them.
    void group(const char* name) { group_ = name; }

    /// A flag with one value, given at most once. `standard` is the default, or nullptr where the
    /// target keeps what it holds (`help` tells it then, in brackets). For "{}" in the help its
    /// words are put. `parse` stays where it is.
    template <typename Parse, typename Target>
    void value(const char* name, const char* unit, const char* help, const char* standard,
               const Parse& parse, Target& target, Words words = {}) {
        add({name, unit, help, standard, false, own_words(parse, std::move(words)),
             reader(parse, [&target](auto value) { target = std::move(value); })});
    }

    /// A flag that may be given any number of times, each time with one value.
    template <typename Parse, typename T>
    void values(const char* name, const char* unit, const char* help, const Parse& parse,
                std::vector<T>& target, Words words = {}) {
        add({name, unit, help, nullptr, true, own_words(parse, std::move(words)),
             reader(parse, [&target](auto value) { target.push_back(std::move(value)); })});
    }

    /// A flag without value: `target` becomes `meaning`.
    void on_off(const char* name, const char* help, bool& target, bool meaning = true);

    /// The words that a flag takes, for completions. `name` with its dashes.
    Words words_of(const std::string& name) const;
    /// What was given of one flag.
    std::vector<std::string> given(const char* name) const;
    /// What was given of all, in our spelling: `--flag` or `--flag=value`.
    std::vector<std::string> given() const;

  private:
    /// What the parser knows of a flag with values.
    struct Row {
        std::string name;
        const char* unit = nullptr;
        std::string help;
        const char* standard = nullptr;
        bool repeats = false;
        Words words;
        /// Reads a value, and puts it into the target if it is kept.
        std::function<Result<void>(std::string_view, bool kept)> read;

        Words all_words() const;
        void take(const std::string& text) const;
    };

    template <typename Parse, typename Keep>
    static auto reader(const Parse& parse, Keep keep) {
        return [&parse, keep](std::string_view text, bool kept) -> Result<void> {
            auto parsed = parse(text);
            if (!parsed) {
                return parsed.error();
            }
            if (kept) {
                keep(std::move(parsed).value());
            }
            return {};
        };
    }
    template <typename Parse>
    static Words own_words(const Parse& parse, Words given) {
        if constexpr (requires { parse.words(); }) {
            return parse.words();
        } else {
            return given;
        }
    }
    void add(Row row);

    CLI::App& app_;
    std::string group_;
    std::map<std::string, Row> rows_;  ///< by their long names
};

/// The parser of a command: the command declares arguments with `app` and flags with `flags`, then
/// lets it read. Help is given here alone: that is what puts flags into man pages and completions.
struct CommandParser {
    /// `command`: as it is typed behind the program's name, "synth like". `footer`: what the help
    /// says behind the flags. `column_width`: of the flags in the help.
    CommandParser(std::string command, const char* description, std::string footer,
                  std::size_t column_width = 30);
    ~CommandParser();

    std::string command;
    std::unique_ptr<CLI::App> app;
    Flags flags;
    /// Flags of most runs: they and the footer's first examples are the help, without a topic.
    /// Empty: the help shows all.
    std::vector<const char*> most_used;
    std::string flag_hint;      ///< what a refusal of an unknown flag ends with
    std::string argument_hint;  ///< what one of an unexpected argument ends with

    /// Returns what is wrong with the arguments; empty: nothing, or `line` became the help: of the
    /// topic behind --help, which is "all", a group, or a word of names and texts of flags.
    std::string parse(const std::vector<std::string>& arguments, CommandLine& line);

    /// The same, then `complete`, which returns what is wrong with the values. `line` becomes the
    /// refusal, if there is one.
    void read(const std::vector<std::string>& arguments, CommandLine& line,
              const std::function<std::string()>& complete = nullptr);
};

/// What help is asked about, in lower case; empty: all in all. Nothing: none of the arguments
/// before `--` asks for help.
std::optional<std::string> help_topic(const std::vector<std::string>& arguments);

/// The files for a CI system that a command with a result writes. `parse` says whether "-" is one.
void add_ci_flags(Flags& flags, CiFiles& files, Result<std::string> (&parse)(std::string_view));

// The flags that say which trace is read, and how: shared by all commands that read one.

/// TRACE.. itself. Whether one must be given is the command's to say.
void add_trace_argument(Flags& flags, TraceFiles& files);
/// All but `--keep`, which means something else to each command.
void add_trace_flags(Flags& flags, TraceFiles& files);
/// Those that make more or less load of a trace, shared by replay and convert.
void add_load_flags(Flags& flags, LoadOptions& load);

}  // namespace driftless

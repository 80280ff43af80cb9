/// The parser that the options files of all commands share, over CLI11; and the flags that say
/// which trace is read, how, and how much load is made of it, for all commands that read one.
///
/// CLI11 is heavy: only options_parser.cpp reads it.
#pragma once

#include <algorithm>
#include <concepts>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "cmd/base/files.hpp"
#include "cmd/base/program.hpp"
#include "cmd/flags/help_flags.hpp"
#include "cmd/flags/option_values.hpp"
#include "cmd/flags/rule_sets.hpp"
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

    /// Heading of the flags that follow, and what holds for all of them; empty: they work, and the
    /// help does not show them.
    void group(const char* name, FlagTraits traits = {}) {
        group_ = name;
        of_group_ = traits;
    }

    /// A flag with one value, given at most once. Its default is in brackets at the end of `help`:
    /// the target keeps what it holds. For "{}" in the help its words are put. `parse` stays where
    /// it is.
    template <typename Parse, typename Target>
        requires std::is_invocable_v<const Parse&, std::string_view>
    void value(const char* name, const char* unit, const char* help, const Parse& parse,
               Target& target, FlagTraits traits = {}, Words words = {}) {
        value(name, unit, help, nullptr, parse, target, traits, std::move(words));
    }
    /// The same with a default, which the help tells behind `help`.
    template <typename Parse, typename Target>
    void value(const char* name, const char* unit, const char* help, const char* standard,
               const Parse& parse, Target& target, FlagTraits traits = {}, Words words = {}) {
        add({name, unit, help, standard, false, traits, own_words(parse, std::move(words)),
             reader(parse, [&target](auto value) { target = std::move(value); }), meaning(parse)});
    }
    /// One of any text but the empty one.
    void value(const char* name, const char* unit, const char* help, std::string& target,
               FlagTraits traits = {}) {
        value(name, unit, help, parse_text, target, traits);
    }

    /// A flag that may be given any number of times, each time with one value.
    template <typename Parse, typename T>
    void values(const char* name, const char* unit, const char* help, const Parse& parse,
                std::vector<T>& target, FlagTraits traits = {}, Words words = {}) {
        add({name, unit, help, nullptr, true, traits, own_words(parse, std::move(words)),
             reader(parse, [&target](auto value) { target.push_back(std::move(value)); }),
             meaning(parse)});
    }

    void values(const char* name, const char* unit, const char* help,
                std::vector<std::string>& target, FlagTraits traits = {}) {
        values(name, unit, help, parse_text, target, traits);
    }

    /// A flag without value: `target` becomes true; of `off`, false.
    void on_off(const char* name, const char* help, bool& target, FlagTraits traits = {}) {
        switch_to(true, name, help, target, traits);
    }
    void off(const char* name, const char* help, bool& target, FlagTraits traits = {}) {
        switch_to(false, name, help, target, traits);
    }

    /// All of them, as help, man pages, completions and settings walk them.
    FlagTable table() const;
    /// What was given of one flag.
    std::vector<std::string> given(const char* name) const;
    /// What was given of all, in our spelling: `--flag` or `--flag=value`.
    std::vector<std::string> given() const;

  private:
    /// What was declared of a flag; one without value has no unit, and no `read`.
    struct Row {
        std::string name;
        const char* unit = nullptr;
        std::string help;
        const char* standard = nullptr;
        bool repeats = false;
        FlagTraits traits;
        Words words;
        /// Reads a value, and puts it into the target if it is kept.
        std::function<Result<void>(std::string_view, bool kept)> read;
        decltype(Flag::same) same;  ///< empty: any text is a value, and means itself

        Words all_words() const;
        void take(const std::string& text) const;
        /// What the help has in brackets, a value or a remark; empty: of texts it may be either.
        std::string told_default() const;
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
    /// By what is read: values that can be compared, or else their texts part by part.
    template <typename Parse>
    static decltype(Flag::same) meaning(const Parse& parse) {
        using Value = std::remove_cvref_t<decltype(parse("").value())>;
        if constexpr (std::same_as<Value, std::string>) {
            return nullptr;
        } else {
            return [&parse](std::string_view a, std::string_view b) {
                const auto first = parse(a);
                const auto second = parse(b);
                if (!first || !second) {
                    return false;
                }
                if constexpr (std::same_as<Value, std::vector<std::string>>) {
                    return std::ranges::is_permutation(first.value(), second.value());
                } else if constexpr (requires { text_of(first.value()); }) {
                    return text_of(first.value()) == text_of(second.value());
                } else if constexpr (std::equality_comparable<Value> &&
                                     !std::same_as<Value, std::vector<MappedColumn>>) {
                    return first.value() == second.value();
                } else {
                    return same_value(a, b);
                }
            };
        }
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
    void switch_to(bool meaning, const char* name, const char* help, bool& target,
                   FlagTraits traits);

    CLI::App& app_;
    std::string group_;
    FlagTraits of_group_;
    std::map<std::string, Row> rows_;  ///< by their long names
};

/// The parser of a command: the command declares arguments with `app` and flags with `flags`, then
/// lets it read. Help is given here alone: that is what puts flags into man pages and completions.
struct CommandParser {
    /// `command`: as it is typed behind the program's name, "synth like". `footer`: what the help
    /// says behind the flags. `column_width`: of the flags in the help.
    CommandParser(std::string command, const char* description, std::string footer,
                  std::size_t column_width = 30);
    CommandParser(CommandParser&&);
    ~CommandParser();

    std::string command;
    std::unique_ptr<CLI::App> app;
    Flags flags;
    /// Flags of most runs: they and the footer's first examples are the help, without a topic.
    /// Empty: the help shows all.
    std::vector<const char*> most_used;
    std::string flag_hint;      ///< what a refusal of an unknown flag ends with
    std::string argument_hint;  ///< what one of an unexpected argument ends with

    FlagTable table() const;

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
/// Which rows of it are taken.
void add_range_flags(Flags& flags, PlanOptions& plan, FlagTraits traits = {});
/// Those that make more or less load of a trace, shared by replay and convert.
void add_load_flags(Flags& flags, LoadOptions& load);

}  // namespace driftless

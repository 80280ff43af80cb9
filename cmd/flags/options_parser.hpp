/// The parser that the options files of all commands share, over CLI11; and the flags that say
/// which trace is read, how, and how much load is made of it, for all commands that read one.
///
/// Included by options files only: CLI11 is heavy, and nothing else needs it.
#pragma once

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <functional>
#include <map>
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
/// help cannot differ from what happens. What is wrong leaves as a CLI::ParseError whose text names
/// flag, value and remedy.
///
/// The words that a flag takes are those of its table, those that are given with it, or those of
/// its unit; without all three, those that its function names in a refusal and takes.
class Flags {
  public:
    using Words = std::vector<std::string>;

    explicit Flags(CLI::App& app) : app_(app) {}

    /// Heading of the flags that follow; empty: they work, and the help does not show them.
    void group(const char* name) { group_ = name; }

    /// A flag with one value, given at most once. `standard` is the default, or nullptr where the
    /// target keeps what it holds (`help` tells it then, in brackets). For "{}" in the help its
    /// words are put. `parse` stays where it is.
    template <typename Parse, typename Target>
    void value(const char* name, const char* unit, const char* help, const char* standard,
               const Parse& parse, Target& target, Words words = {}) {
        std::string text = help;
        if (standard != nullptr) {
            const auto parsed = parse(standard);
            CHECK(parsed);
            target = parsed.value();
            text += std::string(" [") + standard + "]";
        }
        const Reader<Parse> read{name, unit, &parse, std::move(words)};
        if (const std::size_t at = text.find("{}"); at != text.npos) {
            text.replace(at, 2, joined(read.words()));
        }
        add(read, text, [read, &target](const CLI::results_t& given) {
            if (given.size() > 1) {
                throw CLI::ValidationError(read.flag + " is given " + std::to_string(given.size()) +
                                           " times; give it once");
            }
            target = read.value(given[0]);
            return true;
        });
    }

    /// A flag that may be given any number of times, each time with one value.
    template <typename Parse, typename T>
    void values(const char* name, const char* unit, const char* help, const Parse& parse,
                std::vector<T>& target, Words words = {}) {
        const Reader<Parse> read{name, unit, &parse, std::move(words)};
        add(read, std::string(help) + "; repeatable", [read, &target](const CLI::results_t& given) {
            for (const std::string& text : given) {
                target.push_back(read.value(text));
            }
            return true;
        });
    }

    /// A flag without value: `target` becomes `meaning`.
    void on_off(const char* name, const char* help, bool& target, bool meaning = true) {
        app_.add_flag_callback(name, [&target, meaning] { target = meaning; }, help)->group(group_);
    }

    /// The words that a flag takes, for completions.
    Words words_of(const CLI::Option* option) const;

  private:
    template <typename Parse>
    struct Reader {
        std::string flag;
        const char* unit;
        const Parse* parse;
        Words given;

        Words words() const {
            if constexpr (requires { parse->words(); }) {
                return parse->words();
            } else {
                Words words = given.empty() ? unit_words(unit) : given;
                const auto refused = (*parse)(unlisted_word);
                if (words.empty() && !refused) {
                    words = possible_values(refused.error().doing);
                    std::erase_if(words, [this](const auto& word) { return !(*parse)(word); });
                }
                return words;
            }
        }
        auto value(const std::string& text) const {
            auto parsed = (*parse)(text);
            if (!parsed) {
                refuse(flag, text, parsed.error(), (*parse)(unlisted_word) ? Words() : words());
            }
            return std::move(parsed).value();
        }
    };

    template <typename Parse>
    void add(const Reader<Parse>& read, const std::string& help, const CLI::callback_t& callback) {
        add(read.flag, read.unit, help, [read] { return read.words(); }, callback);
    }
    void add(const std::string& name, const char* unit, const std::string& help,
             std::function<Words()> words, const CLI::callback_t& callback);

    /// `FLAG "VALUE" is not one of A, B or C; did you mean B?`, with the nearest word.
    [[noreturn]] static void refuse(const std::string& flag, const std::string& value,
                                    const Error& error, const Words& words);

    CLI::App& app_;
    std::string group_;
    std::map<const CLI::Option*, std::function<Words()>> words_;
};

/// The parser of a command: the command declares arguments with `app` and flags with `flags`, then
/// lets it read. Help is given here alone: that is what puts flags into man pages and completions.
struct CommandParser {
    /// `command`: as it is typed behind the program's name, "synth like". `footer`: what the help
    /// says behind the flags. `column_width`: of the flags in the help.
    CommandParser(std::string command, const char* description, std::string footer,
                  std::size_t column_width = 30);

    std::string command;
    CLI::App app;
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
inline void add_ci_flags(Flags& flags, CiFiles& files,
                         Result<std::string> (&parse)(std::string_view)) {
    flags.value("--markdown", "FILE", "one page, for example for a GitHub job summary", nullptr,
                parse, files.markdown);
    flags.value("--junit", "FILE", "a test case for the verdict, or the work, and each --fail-if",
                nullptr, parse, files.junit);
    flags.on_off("--force", "these files, and other exports, may replace what is there",
                 files.force);
}

// The flags that say which trace is read, and how: shared by all commands that read one.

/// TRACE.. itself. Whether one must be given is the command's to say.
inline void add_trace_argument(CLI::App& app, TraceFiles& files) {
    app.add_option("TRACE", files.paths, "trace files, a directory, or - (compressed or not)");
}

/// All but `--keep`, which means something else to each command.
inline void add_trace_flags(Flags& flags, TraceFiles& files) {
    flags.value("--format", "NAME", "format of the trace [detected]", nullptr, parse_trace_format,
                files.format, names_in(trace_formats()));
    flags.value("--time-unit", "UNIT", "unit of the trace's times: {} [the format's]", nullptr,
                parse_time_unit, files.time_unit);
    flags.value("--block-size", "TOKENS", "tokens per block [the format's]", nullptr,
                parse_positive_u32, files.block_size);
    flags.value("--map", "K=COLUMN,..",
                "name the columns: time, in, out, hashes, session, turn, delay;\n"
                "in replay also model",
                nullptr, parse_map, files.map);
    flags.value("--sessions", "HOW",
                "when turns are sent: recorded (recorded instants), open (recorded\n"
                "gaps if they have no instants), closed (when what they wait for\n"
                "has ended)",
                "recorded", session_choices, files.sessions);
    flags.value("--flat-agents", "HOW",
                "agents recorded in one line of a closed trace: chains (each waits\n"
                "for its own answers) or keep",
                "chains", flat_agents_choices, files.flat_agents);
    flags.value("--hash-scope", "SCOPE",
                "equal block ids share inside a file, everywhere (all), or inside a\n"
                "session [the format's]",
                nullptr, hash_scope_choices, files.id_scope);
    flags.value("--default-output", "N", "output tokens of rows that record none [refused]",
                nullptr, parse_positive_u32, files.default_output);
    flags.on_off("--lenient",
                 "repair and count contradictions if possible instead of refusing them",
                 files.lenient);
}

// The flags that make more or less load of a trace, shared by replay and convert.

inline void add_load_flags(Flags& flags, LoadOptions& load) {
    flags.value("--share", "WHAT",
                "rows without block ids share a prefix within a session, or all do", nullptr,
                sharing_choices, load.share);
    flags.value("--max-context", "N",
                "leave out trees that have a request of more tokens, in plus out [none]", nullptr,
                parse_positive_count, load.admission.context_max);
    flags.value("--max-trees", "N", "then use the first N session trees of the trace [all]",
                nullptr, parse_positive_u32, load.admission.trees_max);
    flags.value("--sample-sessions", "SHARE",
                "keep this share of the sessions, each as a whole: 0.1 or 10%", "1", parse_sample,
                load.sample);
    flags.value("--replicate", "N",
                "overlay N copies that share nothing and start at different times;\n"
                "rows:N copies one after another until there are N rows",
                "1", parse_copies, load.copies);
    flags.value("--replicate-within", "T",
                "copies start within T of the first [60s, or a tenth of the trace]", nullptr,
                parse_duration_ns, load.within_ns);
}

}  // namespace driftless

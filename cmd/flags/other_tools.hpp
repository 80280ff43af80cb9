/// Command lines of other tools, turned into our own flags.
///
/// other_tools.txt is the table of their programs and flags, with rules for what flags mean
/// together; other_tools_table.cpp reads it and applies the rules, other_tools.cpp takes a line
/// apart. Code is what rules cannot say: how many rows a synthetic data set has and of which
/// lengths, and the configuration of MLPerf, the only file that is opened here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace driftless {

/// Arguments in our spelling, or one line that says why they are refused.
struct Spelled {
    std::vector<std::string> arguments;
    std::vector<std::string> notes;  ///< flags of other tools that were ignored, and why
    std::string refused;             ///< empty: all is well
    std::string trace_missing;       ///< how to get the trace, where none is given; empty: as ever
    /// Flags of ours, and the names under which they were typed.
    std::vector<std::pair<std::string, std::string>> typed_as;
    bool makes_rows = false;  ///< a synthetic data set, and not a trace
    std::string last_word{};  ///< the last one that is no flag's value, or a trace by its flag
};

/// Drops the words that start another tool, splits `--name=value`, replaces aliases, translates
/// flags of other tools, gathers the parts of `--goodput ttft:200 tpot:50` into one argument.
/// Arguments after `--` stay as they are.
Spelled spell(const std::vector<std::string>& arguments);

/// The flag of ours that is only called otherwise by a tool; empty: there is none.
std::string_view our_flag(std::string_view typed);

// What follows is for the translations of single tools.

/// A row of other_tools.txt, whose first lines say what its columns and rules mean.
struct ToolRule {
    std::string joint;      ///< "if", "also", "else" or "always"
    std::string condition;  ///< empty: none
    std::string effect;
};
struct ToolRow {
    std::string section;   ///< a tool, or "any"
    std::string typed;     ///< names that mean the same, separated by '|'
    std::string values;    ///< "", "X" or "X.."
    std::string verb;      ///< "is", "ignored", "refused", ..
    std::string text;      ///< of the verb: a flag of ours, a name, a reason
    std::string unless;    ///< of "refused": values that change nothing here, separated by '|'
    std::string standard;  ///< of "read": its value where it is not given
    std::vector<ToolRule> rules;
};
/// A line that begins as another tool: "program NAME", "script NAME.py" or "module NAME".
struct ToolProgram {
    std::string section;  ///< "other": a tool without rows of its own
    std::string kind;
    std::string name;
    std::string words;    ///< of its subcommand that replays, separated by '|'
    std::string others;   ///< of those that replay nothing
    std::string instead;  ///< of the others, or of a script that replays nothing: what to use
};
/// nullptr: there is none.
const ToolProgram* find_program(std::string_view kind, std::string_view name);
/// All flags that a line of the tool may have.
std::vector<std::string> flags_of_tool(std::string_view section);
/// nullptr: the section has no such flag.
const ToolRow* find_row(std::string_view section, std::string_view typed);
/// What the table calls $name.
const std::string& reason_of(std::string_view name);
/// What the table's list %LIST calls a name of other tools; empty: it is not there.
std::string our_name(std::string_view list, std::string_view typed);

/// Between the values of a flag that takes several, while they are kept: no argument has it.
inline constexpr const char* between_values = "\x1f";

/// A line while it is translated: what it said, and what that becomes.
struct Line : Spelled {
    std::string_view tool;       ///< section of the table; "other": without one; empty: none
    bool has_data_path = false;  ///< --dataset-path is given
    struct Kept {
        std::string value;
        std::string typed;  ///< of a synthetic data set; else empty
        bool read = false;
    };
    /// Flags, and what rules found out: "data_set" as its tool names it; "goes_round": the tool
    /// repeats a data set that is too short; "lacks_times": rows come at a rate, or in a loop.
    std::map<std::string, Kept, std::less<>> kept;
    bool has(std::string_view name);
    /// `standard`, or the table's, where it was not given.
    std::string get(std::string_view name, std::string_view standard = "");
};

// What flags that are kept become, after the last argument, in this order: those of one tool, by
// its "finally"; rates and data; synthetic data sets, as one argument "synth:KIND FLAGS"
// (synth_values.hpp).
void run_rules(const std::vector<ToolRule>& rules, Line& line);
/// What a row that refuses nothing makes of a value; `shown`: flag and value, as notes have them.
void apply_row(const ToolRow& row, std::string_view typed, const std::string& value,
               const std::string& shown, Line& line);
void finish_mlperf(std::string_view value, Line& line);
void finish_synthetic(Line& line);
/// Before all of them: whether rows are made. `names_data`: the line has a trace, or names a data
/// set that is none of these.
void prepare_synthetic(bool names_data, Line& line);
/// A row whose verb is "code", or a rule's "do", by its name.
void take_by_code(std::string_view name, std::string_view value, Line& line);
/// The number of rows: what `--limit` says; else those that a rate has due within `--duration`,
/// with some to spare, as the time cuts them; else, where a closed loop ends with `--for`, those of
/// a pass, and `--recycle`; else `standard`, which may be empty.
std::string made_rows(Line& line, const std::string& standard);

void add_flag(Spelled& out, std::string_view flag, std::string_view value);
/// Unless our flag of that name was given beside the tool's own.
void add_default(Spelled& out, std::string_view flag, std::string_view value);
/// Puts a value in the place of the one that was given, or behind all others.
void set_argument(Spelled& out, std::string_view flag, std::string_view value);
void add_note(Spelled& out, std::string note);
/// The first refusal stays.
void refuse_line(Spelled& out, std::string why);
bool has_argument(const Spelled& out, std::string_view flag);
/// The value of an argument of ours; empty: it is not there.
std::string argument_of(const Spelled& out, std::string_view flag);
/// Whether one of a list, separated by '|', is the text.
bool is_one_of(std::string_view list, std::string_view value);
/// A JSON member of `--extra-body`: numbers, true, false and null as they are, all else as text.
void extend_members(std::string& members, std::string_view name, std::string_view value);
/// `--extra-body` of such members, beside a JSON object that was given, whose own go first.
void add_members(Spelled& out, const std::string& members, const std::string& object = "");
/// The tool's default server, if the line names none: `--host 127.0.0.1` and this port.
void add_default_server(Spelled& out, std::string_view port);

// Numbers of other tools, turned into ours: exact, without binary fractions in between.

/// Whether a decimal is above 0.
bool is_positive(std::string_view text);
/// Whether a setting has members.
bool is_config(std::string_view text);
/// Members of a setting that is written "kind=constant,rate=10" or as a JSON object. Members of
/// inner objects have dots in their names ("extras.body.top_p").
std::vector<std::pair<std::string, std::string>> config_parts(std::string_view text);
/// The value of a member; empty: it is not there.
std::string config_value(std::string_view text, std::string_view key);
/// "ms": seconds as milliseconds; "percent": a share of 1, as "10 %"; "interval": milliseconds for
/// each of so many a second, cut to nanoseconds; of each the text itself where it is no decimal
/// above 0. "inverse": the speed that plays a trace so many times as long; empty where no decimal
/// is exact. Nothing for another word.
std::optional<std::string> converted(std::string_view word, const std::string& text);

}  // namespace driftless

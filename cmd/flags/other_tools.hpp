/// Command lines of other tools, turned into our own flags.
///
/// other_tools.txt is the table of their flags, one row each; other_tools.cpp reads it and takes a
/// line apart. A flag is renamed, noted as without effect, refused with a remedy, or kept until the
/// last argument, because it means something only together with others: what it then means is code
/// where it is more than a row can say. Opens no file but the configuration of a tool that has its
/// flags there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
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
};

/// Drops the words that start another tool, splits `--name=value`, replaces aliases, translates
/// flags of other tools, gathers the parts of `--goodput ttft:200 tpot:50` into one argument.
/// Arguments after `--` stay as they are.
Spelled spell(const std::vector<std::string>& arguments);

/// The flag of ours that is only called otherwise by a tool; empty: there is none.
std::string_view our_flag(std::string_view typed);

// What follows is for the translations of single tools.

/// A row of other_tools.txt, whose first lines say what its columns mean.
struct ToolRow {
    std::string section;  ///< a tool, or "any"
    std::string typed;    ///< names that mean the same, separated by '|'
    std::string values;   ///< "", "X" or "X.."
    std::string verb;     ///< "is", "ignored", "refused", ..
    std::string text;     ///< of the verb: a flag of ours, a name, a reason
    std::string unless;   ///< of "refused": values that change nothing here, separated by '|'
};
/// nullptr: the section has no such flag.
const ToolRow* find_row(std::string_view section, std::string_view typed);
/// What the table calls $name.
const std::string& reason_of(std::string_view name);

/// A line while it is translated: what it said, and what that becomes.
struct Line : Spelled {
    std::string_view tool;       ///< section of the table; "other": without one; empty: none
    std::string data_set;        ///< as its tool names it; empty: it does not
    bool has_data_path = false;  ///< --dataset-path is given
    bool goes_round = false;     ///< the tool repeats a data set that is too short
    bool lacks_times = false;    ///< the data set has no times: rows come at a rate, or in a loop
    bool arrive = false;         ///< rows arrive at a rate, or one behind another
    std::string profile;         ///< GuideLLM's; empty: none was given
    std::string profile_flag;    ///< as typed
    std::string data;            ///< GuideLLM's, as typed
    std::string kind;            ///< of its data: "trace_synthetic", "mooncake", "weka"
    std::string scale;           ///< of its data: seconds of due time per unit of trace time
    std::string stretch;  ///< how far its replay profile stretches a trace; empty: not at all
    std::string time_column = "timestamp";
    std::string input_column = "input_length";
    std::string output_column = "output_length";
    std::string ids_column = "hash_ids";

    struct Kept {
        std::string value;
        std::string typed;  ///< of a synthetic data set; else empty
        bool read = false;
    };
    std::map<std::string, Kept, std::less<>> kept;
    bool has(std::string_view name);
    /// `standard` where it was not given.
    std::string get(std::string_view name, std::string_view standard = "");
};

// What flags that are kept become, after the last argument, in this order: those of one tool; rates
// and data; synthetic data sets, as one argument "synth:KIND FLAGS" (synth_values.hpp).
void finish_vllm(Line& line);
void finish_sglang(Line& line);
void finish_guidellm(Line& line);
void finish_aiperf(Line& line);
void finish_kv_cache_tester(Line& line);
void finish_mlperf(Line& line);
void finish_shared(Line& line);
void finish_synthetic(Line& line);
/// Before all of them: whether rows are made. `names_data`: the line has a trace, or names a data
/// set that is none of these.
void prepare_synthetic(bool names_data, Line& line);
/// A row whose verb is "code", by its name.
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
/// The members that rows of the tool with the verb "member" were given.
std::string members_of(Line& line);
/// `--extra-body` of such members, beside a JSON object that was given, whose own go first.
void add_members(Spelled& out, const std::string& members, const std::string& object = "");
/// Notes each of these flags that was kept, and has no effect: `why`.
void note_unused(std::initializer_list<std::string_view> flags, const char* why, Line& line);
/// `--header K: V` of each "K=V".
void add_headers(Spelled& out, std::string_view pairs);
/// The tool's default server, if the line names none: `--host 127.0.0.1` and this port.
void add_default_server(Spelled& out, std::string_view port);
/// A path of a tokenizer on this host becomes `--tokenizer`; a name on a hub is only noted.
void finish_tokenizer(Line& line);

// Numbers of other tools, turned into ours: exact, without binary fractions in between.

inline constexpr const char* no_inverse =
    "cannot be converted to a speed; use --speed X, where 2 is twice as fast";
/// Whether a decimal is above 0.
bool is_positive(std::string_view text);
/// Members of a setting that is written "kind=constant,rate=10" or as a JSON object. Members of
/// inner objects have dots in their names ("extras.body.top_p").
std::vector<std::pair<std::string, std::string>> config_parts(std::string_view text);
/// The value of a member; empty: it is not there.
std::string config_value(std::string_view text, std::string_view key);
/// A decimal in units of 10^-9; 0 where it is none, negative, or has more digits.
std::uint64_t nano_of(std::string_view text);
/// The speed that plays a trace `nano` / 10^9 times as long; empty where no decimal is exact.
std::string inverse_text(std::uint64_t nano);
/// Seconds as milliseconds; the text itself where it is no decimal.
std::string milliseconds_text(std::string_view seconds);
/// A share of 1 in percent, as "10 %"; the text itself where it is 0 or no decimal.
std::string percent_of(std::string_view share);
/// Milliseconds for each of so many a second, cut to nanoseconds; the text itself where it is no
/// positive decimal.
std::string interval_text(std::string_view per_second);

}  // namespace driftless

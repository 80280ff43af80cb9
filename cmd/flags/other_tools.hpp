/// Command lines of other tools, turned into our own flags: names as people of other tools type
/// them, the table of flags of one named tool, and the flags that several tools share.
///
/// other_tools.cpp is where a command line comes in. A flag is renamed, noted as without effect,
/// refused with a remedy, or kept until the last argument, because it means something only together
/// with others. Opens no file but the configuration of a tool that has its flags there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace driftless {

// Spelling: a command line as people of other tools type it, turned into our own flag names.
//
// Habits carry over without a word in the help (design, section 4). Knows names and no values.
// Opens no file but the configuration of a tool that has its flags there (tools/mlperf.cpp).

/// Arguments in our spelling, or one line that says why they are refused.
struct Spelled {
    std::vector<std::string> arguments;
    std::vector<std::string> notes;  ///< flags of other tools that were ignored, and why
    std::string refused;             ///< empty: all is well
    std::string trace_missing;       ///< how to get the trace, where none is given; empty: as ever
    /// Flags of ours, and the names under which they were typed.
    std::vector<std::pair<std::string, std::string>> typed_as;
    std::string data_set;      ///< as its tool names it; empty: it does not
    bool makes_rows = false;   ///< a synthetic data set, and not a trace
    bool goes_round = false;   ///< the tool repeats a data set that is too short
    bool lacks_times = false;  ///< the data set has no times: rows come at a rate, or in a loop
};

/// Drops the words that start another tool, splits `--name=value`, replaces aliases, translates
/// flags of other tools (other_tools.hpp), gathers the parts of `--goodput ttft:200 tpot:50` into
/// one argument. Arguments after `--` stay as they are.
Spelled spell(const std::vector<std::string>& arguments);

// Program words: what precedes the first flag in a command line of another tool, when the whole
// line is pasted after `driftless replay`. Pure; opens no file.

/// Tools whose flags have names that mean something else to others. `other`: a tool without such.
enum class ForeignTool : std::uint8_t {
    none,
    other,
    kv_cache_tester,
    aiperf,
    mlperf,
    vllm,
    sglang,
    guidellm,
};

struct ProgramWords {
    std::size_t count = 0;
    ForeignTool tool = ForeignTool::none;
    const char* instead = "";  ///< not empty: the words are of no replay; what to use
};

/// How many of the first arguments name another replay tool and its subcommand, with what starts it
/// (`python3 trace_replay.py`, `uv run`, `NAME=VALUE`), and which tool that is; none where the
/// command line is ours.
ProgramWords find_program_words(const std::vector<std::string>& arguments);

// ToolFlags: the flags of one named tool, as a table, and what a command line said of them.
//
// Names that several tools use for different things go by the tool that the command line names. A
// flag is renamed, noted as without effect, refused with a remedy, or kept until the last
// argument, because it means something only together with others. Pure; opens no file.

/// How many arguments behind a flag are its value.
enum class Values : std::uint8_t { none, one, many };

enum class Becomes : std::uint8_t {
    flag,      ///< ours of the name `text`, with the same value (of `many`: once for each) or,
               ///< behind a space, one of its own; empty: the value alone (a trace)
    nothing,   ///< a note says why: `text`
    refused,   ///< `text` says why and what to do, unless the value is one of `neutral`
    together,  ///< kept for the tool's `finish`
};

struct ToolFlag {
    std::string_view typed;  ///< one name, or several that mean the same, separated by '|'
    Values values;
    Becomes becomes;
    const char* text = "";
    /// Of `refused`: values that change nothing here, separated by '|'. They are noted.
    std::string_view neutral = "";
};

/// What was kept, by the first of a flag's names. The value of a flag without one is empty.
class KeptFlags {
  public:
    /// Of `many`, values that are given at several places are one list.
    void keep(std::string_view name, std::string_view value, Values values) {
        std::string& kept = values_[name];
        kept = values == Values::many && !kept.empty() ? kept + " " : "";
        kept += value;
    }
    bool has(std::string_view typed) const { return values_.contains(typed); }
    /// `standard` where it was not given.
    std::string get(std::string_view typed, std::string_view standard = "") const {
        const auto found = values_.find(typed);
        return found == values_.end() ? std::string(standard) : found->second;
    }

  private:
    std::map<std::string_view, std::string> values_;  ///< names are those of the table
};

struct ToolTable {
    std::span<const ToolFlag> flags;
    void (*finish)(const KeptFlags& kept, Spelled& out);
    std::span<const ToolFlag> others = {};  ///< the tool's remaining flags
};
const ToolTable& kv_cache_tester_table();
const ToolTable& aiperf_table();
const ToolTable& vllm_table();
const ToolTable& sglang_table();
const ToolTable& guidellm_table();
/// Flags of `aiperf profile` and `genai-perf profile` that say nothing of a closed loop.
std::span<const ToolFlag> aiperf_other_flags();
/// Of any tool, unless its own table has them.
std::span<const ToolFlag> common_flags();
/// Its flags name a file, which is read when all of them are known.
const ToolTable& mlperf_table();
/// nullptr: its flags are the common ones.
const ToolTable* table_of(ForeignTool tool);

// Reasons that several tables give.

inline constexpr const char* in_the_folder = "records and summary are always in the run's folder";
inline constexpr const char* other_set = "it belongs to a data set that driftless does not support";
inline constexpr const char* by_event =
    "start the server's profiler with an event: --event \"+0s post URL/start_profile\"";
inline constexpr const char* no_warm_up =
    "no warm-up requests are sent; the summary covers every row";
inline constexpr const char* no_adapters =
    "each request would name one of several adapters; give one with --model NAME, or one per row "
    "with --model \"{kept.COLUMN}\"";
inline constexpr const char* recorded_schedule_reason =
    "requests always follow the recorded schedule, from its first row";
inline constexpr const char* no_saturation =
    "saturation is not detected; end a run with --stop-when \"ttft:p99 > 10s for 30s\"";

/// Their value is a trace.
inline constexpr std::string_view trace_flags =
    "--trace|--trace-file|--input-file|--trace-path|--dataset-path";

class ToolFlags {
  public:
    explicit ToolFlags(ForeignTool tool) : table_(table_of(tool)) {}

    /// Takes a flag of the tool. `value`: what stands behind its '='; `behind`: the arguments that
    /// follow. Returns how many of those were its value; nothing where it is no flag of the tool.
    std::optional<std::size_t> take(std::string_view typed, const std::string* value,
                                    std::span<const std::string> behind, Spelled& out);
    /// After the last argument.
    void finish(Spelled& out) const;

  private:
    const ToolFlag* find(std::string_view typed) const;
    void apply(const ToolFlag& flag, std::string_view typed, std::string_view value, Spelled& out);

    const ToolTable* table_;
    KeptFlags kept_;
};

// What tables' `finish` functions share.

void add_flag(Spelled& out, std::string_view flag, std::string_view value);
/// Unless our flag of that name was given beside the tool's own.
void add_default(Spelled& out, std::string_view flag, std::string_view value);
void add_note(Spelled& out, std::string note);
/// Whether one of a list, separated by '|', is the text.
bool is_one_of(std::string_view list, std::string_view value);
/// The first refusal stays.
void refuse_line(Spelled& out, std::string why);
bool has_argument(const Spelled& out, std::string_view flag);
/// A JSON member of `--extra-body`: numbers, true, false and null as they are, all else as text.
void extend_members(std::string& members, std::string_view name, std::string_view value);
/// `--extra-body` of such members; nothing where there are none.
void add_members(Spelled& out, const std::string& members);
/// The same beside a JSON object that was given, whose own members go first.
void add_members_beside(Spelled& out, const std::string& members, const std::string& object);
/// The value of an argument of ours; empty: it is not there.
std::string argument_of(const Spelled& out, std::string_view flag);
/// Notes each of these flags that was kept, and has no effect: `why`.
void note_unused(const KeptFlags& kept, std::initializer_list<std::string_view> flags,
                 const char* why, Spelled& out);
/// Puts a value in the place of the one that was given, or behind all others.
void set_argument(Spelled& out, std::string_view flag, std::string_view value);
/// `--header K: V` of each "K=V".
void add_headers(Spelled& out, std::string_view pairs);
/// The tool's default server, if the line names none: `--host 127.0.0.1` and this port.
void add_default_server(Spelled& out, std::string_view port);
/// Whether a decimal is above 0.
bool is_positive(std::string_view text);
/// A path of a tokenizer on this host becomes `--tokenizer`; a name on a hub is only noted.
void finish_tokenizer(const KeptFlags& kept, Spelled& out);
/// Of vllm bench serve and of SGLang's, which was made of it: headers, names, lengths of answers.
void finish_serving(const KeptFlags& kept, Spelled& out);

// Numbers of other tools, turned into ours: exact, without binary fractions in between. Pure.

inline constexpr const char* no_inverse =
    "cannot be converted to a speed; use --speed X, where 2 is twice as fast";

/// A member of a setting that is written "kind=constant,rate=10" or as a JSON object. Members of
/// inner objects have dots in their names ("extras.body.top_p").
struct ConfigPart {
    std::string key;
    std::string value;  ///< text without quotes; else as JSON writes it
};
std::vector<ConfigPart> config_parts(std::string_view text);
/// The value of a member; empty: it is not there.
std::string config_value(std::string_view text, std::string_view key);

/// A decimal in units of 10^-9; 0 where it is none, negative, or has more digits.
std::uint64_t nano_of(std::string_view text);

/// The speed that plays a trace `nano` / 10^9 times as long, as a decimal; empty where none is
/// exact.
std::string inverse_text(std::uint64_t nano);

/// Seconds as milliseconds; the text itself where it is no decimal.
std::string milliseconds_text(std::string_view seconds);

/// Milliseconds for each of so many a second, cut to nanoseconds; the text itself where it is no
/// positive decimal.
std::string interval_text(std::string_view per_second);

// Foreign: flags of other replay tools that mean something here, but are more than another name.
//
// The example commands of trace-replayer, of the trace replay of UCM (built on vllm bench), of
// AIPerf and of GuideLLM run as they stand: each flag becomes ours, or is ignored with a line that
// says why. What would change the load and has no counterpart is refused. Pure; opens no file.

/// ForeignRates: what the command lines of other tools say of rates and of requests that are open
/// at once. One flag rarely says all of it: `finish` puts them together.
///
/// vllm bench and SGLang: a rate and a cap, or with an infinite rate a closed loop. GuideLLM: the
/// profile says what its rate is. Pure; opens no file.
class ForeignRates {
  public:
    explicit ForeignRates(ForeignTool tool) : tool_(tool) {}

    /// As Foreign::take.
    std::optional<std::size_t> take(std::string_view typed, const std::string* next, Spelled& out);
    /// GuideLLM's `--profile`, or `--rate-type`.
    void take_profile(const std::string& flag, std::string_view value, Spelled& out);
    /// After the last argument.
    void finish(Spelled& out);

    ForeignTool tool() const { return tool_; }
    /// Rows arrive at a rate, or one behind another: recorded times say nothing. After `finish`.
    bool arrive() const { return arrive_; }
    /// How far GuideLLM's replay profile stretches its trace; empty: not at all. After `finish`.
    const std::string& stretch() const { return stretch_; }

  private:
    std::string get(std::string_view name) const;
    bool has(std::string_view name) const { return said_.contains(name); }
    void refuse_unknown(const std::string& flag, Spelled& out) const;
    void finish_rate(Spelled& out);
    void finish_ramp(Spelled& out);
    void finish_profile(Spelled& out);
    void finish_arrivals(Spelled& out, const std::string& rate);
    void finish_loop(Spelled& out, const std::string& rate);
    void add_cap(Spelled& out, const std::string& cap, const char* why);
    void add_rate(Spelled& out, const std::string& rate, const std::string& law);
    void add_loop(Spelled& out, const std::string& open);
    std::string drawn_law(bool scales) const;

    ForeignTool tool_;
    std::map<std::string_view, std::string> said_;  ///< names are those of the table
    std::string profile_flag_;                      ///< as typed
    std::string profile_;                           ///< its kind; empty: none was given
    std::string stretch_;
    bool arrive_ = false;
};

/// Collects what foreign flags say; knows nothing of CLI11 and its rules.
class Foreign {
  public:
    Foreign(const std::vector<std::string>& arguments, ForeignTool tool);

    /// Takes a flag that is foreign here. `next` is what stands behind it, or nullptr. Returns how
    /// many arguments behind the flag were its value (0 or 1); nothing where it is no such flag.
    std::optional<std::size_t> take(std::string_view typed, const std::string* next, Spelled& out);

    /// After the last argument: what several flags said together.
    void finish(Spelled& out);

  private:
    using Translation = void (Foreign::*)(std::string_view value, Spelled& out);
    struct Translated {
        std::string_view typed;
        Translation translate;
    };
    static const Translated translations[];

    bool is_ours(std::string_view typed, const std::string* next) const;
    void take_dataset_type(std::string_view value, Spelled& out);
    void take_api(std::string_view value, Spelled& out);
    void take_start_offset(std::string_view value, Spelled& out);
    void take_end_offset(std::string_view value, Spelled& out);
    void take_route(std::string_view value, Spelled& out);
    void take_trace_mode(std::string_view value, Spelled& out);
    void take_profile(std::string_view value, Spelled& out);
    void take_rate_type(std::string_view value, Spelled& out);
    void take_backend(std::string_view value, Spelled& out);
    void take_data(std::string_view value, Spelled& out);
    void take_data_arguments(std::string_view value, Spelled& out);
    void take_constraint(std::string_view value, Spelled& out);
    void take_dataset_name(std::string_view value, Spelled& out);
    void take_ready_check(std::string_view value, Spelled& out);
    void take_slowdown(std::string_view value, Spelled& out);
    void take_rounds(std::string_view value, Spelled& out);

    static void note_questions(Spelled& out);
    void note_column(std::string_view name, std::string_view value, Spelled& out);
    void add_columns(Spelled& out) const;
    void add_times(Spelled& out) const;

    ForeignRates rates_;
    bool has_dataset_path_ = false;
    // GuideLLM's data, said by several flags.
    std::string data_;   ///< as typed
    std::string kind_;   ///< "trace_synthetic", "mooncake", "weka"; empty: not said
    std::string scale_;  ///< seconds of due time per unit of trace time
    std::string time_column_ = "timestamp";
    std::string input_column_ = "input_length";
    std::string output_column_ = "output_length";
    std::string ids_column_ = "hash_ids";
};

// How many rows a synthetic data set needs, where its tool makes prompts for as long as its run
// lasts. Pure.

/// Rows of one pass of a closed loop that ends with a time: behind them the next pass begins, whose
/// prompts are others.
inline constexpr const char* pass_rows = "10000";
/// More rows than these are not made for a rate and a time: they would not fit into memory.
inline constexpr double timed_rows_max = 1e8;

/// The number of rows: what `--limit` says; else those that a rate has due within `--duration`,
/// with some to spare, as the time cuts them; else, where a closed loop ends with `--for`,
/// `pass_rows`, and `--recycle`; else `standard`, which may be empty. Looks at arguments in our
/// spelling, after all that say a rate or a time.
std::string made_rows(Spelled& out, const std::string& standard);

/// SyntheticFlags: the synthetic data sets that command lines of other tools ask for.
///
/// `vllm bench serve`, SGLang's bench_serving, AIPerf and GuideLLM make prompts of random lengths.
/// Their flags become one argument, "synth:KIND FLAGS" (cmd/flags/synth_values.hpp), and a note
/// says which `driftless synth` line writes the same trace. Names mean what the tool that the line
/// names means by them: agentic-rules.md 5.3. Pure.
class SyntheticFlags {
  public:
    explicit SyntheticFlags(ForeignTool tool) : tool_(tool) {}

    /// Takes a flag of a data set. `value`: what stands behind its '='; `behind`: the arguments
    /// that follow. Returns how many of those were its value; nothing where it is no such flag.
    std::optional<std::size_t> take(std::string_view typed, const std::string* value,
                                    std::span<const std::string> behind);
    /// After the last argument, and before all other translations: whether rows are made.
    /// `names_data`: the line has a trace, or names a data set that is none of these.
    void prepare(bool names_data, Spelled& out);
    /// After all other translations.
    void finish(Spelled& out);

  private:
    struct Given {
        std::string value;
        std::string typed;
        bool read = false;  ///< the data set goes by it
    };
    bool has(std::string_view name);
    std::string get(std::string_view name, std::string_view standard);
    std::string vllm(Spelled& out);
    std::string sglang(Spelled& out);
    std::string shared_prefix(Spelled& out);
    std::string aiperf(Spelled& out);
    std::string aiperf_rows(Spelled& out);
    std::string guidellm(Spelled& out);
    void note_unread(Spelled& out) const;

    ForeignTool tool_;
    std::map<std::string, Given, std::less<>> given_;  ///< by the first of a flag's names
};

}  // namespace driftless

/// ToolFlags: the flags of one named tool, as a table, and what a command line said of them.
///
/// Names that several tools use for different things go by the tool that the command line names. A
/// flag is renamed, noted as without effect, refused with a remedy, or kept until the last
/// argument, because it means something only together with others. Pure; opens no file.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/flags/spelling.hpp"

namespace driftless {

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

}  // namespace driftless

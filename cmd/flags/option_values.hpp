/// Values of replay flags that have a small grammar of their own.
///
/// Pure. The `doing` of an Error is a clause for the message: what is wrong, and the remedy.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cmd/base/values.hpp"
#include "cmd/flags/replay_options.hpp"
#include "engine/plan/load.hpp"
#include "proto/core/errors.hpp"
#include "proto/trace/formats.hpp"
#include "proto/trace/write.hpp"

namespace driftless {

inline constexpr Choices<PromptKind> prompt_choices{{"text", PromptKind::text},
                                                    {"ids", PromptKind::ids}};
inline constexpr Choices<OutputRule> output_choices{
    {"exact", OutputRule::exact}, {"cap", OutputRule::cap}, {"free", OutputRule::free}};
inline constexpr Choices<const char*> length_field_choices{
    {"auto", ""}, {"max_tokens", "max_tokens"}, {"max_completion_tokens", "max_completion_tokens"}};
inline constexpr Choices<std::optional<WaitPolicy>> wait_choices{
    {name_of(WaitPolicy::spin), WaitPolicy::spin},
    {name_of(WaitPolicy::hybrid), WaitPolicy::hybrid},
    {name_of(WaitPolicy::sleep), WaitPolicy::sleep},
    {"auto", std::nullopt}};
inline constexpr Choices<std::optional<Scheduling>> scheduling_choices(
    {{name_of(Scheduling::ordinary), Scheduling::ordinary},
     {name_of(Scheduling::slice), Scheduling::slice},
     {name_of(Scheduling::kept), Scheduling::kept},
     {"auto", std::nullopt}},
    "is not one of ", ", ", " (SCHED_FIFO is --realtime)");
inline constexpr Choices<StampRule> stamp_choices{
    {"full", StampRule::full}, {"wire", StampRule::wire}, {"none", StampRule::none}};
inline constexpr Choices<DriverKind> driver_choices{
    {name_of(DriverKind::io_uring), DriverKind::io_uring},
    {name_of(DriverKind::epoll), DriverKind::epoll},
    {name_of(DriverKind::automatic), DriverKind::automatic}};
inline constexpr Choices<GapRule> gap_choices{{"end-to-start", GapRule::end_to_start},
                                              {"start-to-start", GapRule::start_to_start},
                                              {"none", GapRule::none}};
inline constexpr Choices<Balance> balance_choices{{name_of(Balance::turn), Balance::turn},
                                                  {name_of(Balance::session), Balance::session}};
inline constexpr Choices<ConnectionRule> connection_choices{
    {name_of(ConnectionRule::reuse), ConnectionRule::reuse},
    {name_of(ConnectionRule::fresh), ConnectionRule::fresh},
    {name_of(ConnectionRule::sticky), ConnectionRule::sticky}};
/// `--chunks`: whether the records have them.
inline constexpr Choices<bool> chunk_choices{{"full", true}, {"none", false}};
/// `--report`: whether there is a page.
inline constexpr Choices<bool> page_choices{{"html", true}, {"none", false}};
inline constexpr Choices<SessionHeaders> session_header_choices{{"none", SessionHeaders::none},
                                                                {"agentx", SessionHeaders::agentx}};

/// A CPU, or "beside", "apart" or "auto".
Result<WriterCpu> parse_writer_cpu(std::string_view text);
/// Also kv-cache-tester's "think-only"; its two strategies that count answers twice are refused.
Result<GapRule> parse_gap_rule(std::string_view text);
/// A dialect by its name, or by a name under which other tools know it ("chat", "vllm").
Result<const Dialect*> parse_api(std::string_view text);

/// "2s" or "all".
Result<ArmAhead> parse_arm_ahead(std::string_view text);
/// "10s", from 100ms to 24h, or "none": 0.
Result<std::int64_t> parse_period(std::string_view text);
/// "100" or "all".
Result<std::uint64_t> parse_save_responses(std::string_view text);
/// "PRE,POST" tokens.
Result<Overhead> parse_overhead(std::string_view text);
/// "5ms", of which the error is a fifth, or "sent:5ms read:1ms": what is not named keeps its
/// default.
Result<CertifyWithin> parse_certify_within(std::string_view text);
std::string text_of(const CertifyWithin& within);
/// "KEY=VALUE".
Result<std::pair<std::string, std::string>> parse_label(std::string_view text);
/// Which key of labels is there twice, with the remedy; empty: none is.
std::string repeated_label(const std::vector<std::pair<std::string, std::string>>& labels);
/// A JSON object, as typed.
Result<std::string> parse_extra_body(std::string_view text);
/// 1 ... 2^32 - 1.
Result<std::uint32_t> parse_positive_u32(std::string_view text);
/// 0 ... 2^32 - 1.
Result<std::uint32_t> parse_u32(std::string_view text);
/// A power of two from 2 to 32,768, the most that the kernel's ring takes.
Result<std::uint32_t> parse_buffer_count(std::string_view text);
Result<std::int64_t> parse_positive_duration_ns(std::string_view text);
/// Any text but the empty one.
Result<std::string> parse_text(std::string_view text);
/// The name of a file.
Result<std::string> parse_path(std::string_view text);
/// The same without "-".
Result<std::string> parse_path_on_disk(std::string_view text);
/// A folder, without slashes behind it.
Result<std::string> parse_folder(std::string_view text);
/// A header field; those that frame a request are refused.
Result<Header> parse_added_header(std::string_view text);
/// The name of a header field, alone.
Result<std::string> parse_header_name(std::string_view text);

/// Why a placeholder of it cannot be filled from the columns that are kept; empty: all can.
std::string unkept_column(const FieldTemplate& field, const std::vector<std::string>& keep);

// Values of the flags that say how a trace is read, shared by all commands that read one.

/// The name of a format of traces, as `trace_format_names` lists it.
Result<std::string> parse_trace_format(std::string_view text);
/// The name of a unit of times, as `time_unit_names` lists it.
Result<std::string> parse_time_unit(std::string_view text);
/// "time=COLUMN,in=COLUMN,..".
Result<std::vector<MappedColumn>> parse_map(std::string_view text);
/// Takes the column of the key `model` out of a map; empty: it names none. Formats of traces know
/// no models: that key is the replay's.
std::string take_model_column(std::vector<MappedColumn>& map);
/// Takes `--speed`. Returns why it cannot be, or the empty text.
std::string complete_speed(const std::string& text, PlanOptions& plan);
/// Why the range of rows is none; empty: it is one.
std::string range_refusal(const PlanOptions& plan);
/// Why that key is refused by a command that sends nothing; empty: it is not there.
std::string model_column_refusal(std::vector<MappedColumn> map);
inline constexpr Choices<FlatAgents> flat_agents_choices{{"chains", FlatAgents::chains},
                                                         {"keep", FlatAgents::keep}};
/// Why `--flat-agents keep` is refused: nothing waits; empty: it is not.
std::string flat_agents_refusal(FlatAgents agents, Sessions sessions);
inline constexpr Choices<IdScope> hash_scope_choices{
    {"file", IdScope::file}, {"all", IdScope::all}, {"session", IdScope::session}};
inline constexpr Choices<Sessions> session_choices{
    {"recorded", Sessions::recorded}, {"open", Sessions::open}, {"closed", Sessions::closed}};
/// A format that is written: "canonical" or "mooncake".
Result<const TraceTarget*> parse_trace_target(std::string_view text);

// Values of the flags that make more or less load of a trace, and what is said about them.

inline constexpr Choices<Sharing> sharing_choices({{"session", Sharing::session},
                                                   {"all", Sharing::all}},
                                                  "is not known; use ", " or ");
/// "0.1" or "10%"; a share of 1 is no sample at all.
Result<std::optional<Share>> parse_sample(std::string_view text);
/// 1 ... 1,000,000.
Result<Copies> parse_copies(std::string_view text);

/// A line for each thing that was done to the trace; none where it is as it was read.
std::vector<std::string> load_notes(const LoadFigures& figures);
/// Why `apply_load` refused, and the remedy.
const char* load_refusal(const Error& error);

}  // namespace driftless

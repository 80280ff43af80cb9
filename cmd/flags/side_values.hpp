/// Values of the flags of what is beside the rows of a replay: its servers' API and answers, timed
/// events, pages of metrics, other machines and engines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/host/cpu_load.hpp"
#include "engine/plan/plan.hpp"
#include "engine/prompt/recorded_bodies.hpp"
#include "proto/api/answer_words.hpp"
#include "proto/api/api_template.hpp"
#include "proto/api/dialect.hpp"
#include "proto/core/result.hpp"
#include "proto/http/url.hpp"
#include "proto/run/period.hpp"

namespace driftless {

/// DescribedApi: the server of `--api template`, as the file of `--template` describes it. Owned by
/// the options of a run, on the heap: the dialect refers to the rest.
struct DescribedApi {
    ApiTemplate form;
    Dialect dialect;
};

/// If `dialect` is the one of templates: reads the file, and replaces `dialect` by what the file
/// describes. Does nothing for other dialects. Returns the empty text, or one line that says what
/// is wrong.
std::string describe_api(const Dialect*& dialect, const std::string& file,
                         std::unique_ptr<DescribedApi>& described);

/// Notes which API a name of --api stands for, where it is not the API's own: "openai" is the
/// completions API to most tools, and a chat to some.
void note_api(const std::vector<std::string>& typed, const Dialect& dialect,
              std::vector<std::string>& notes);

// Values of the flags of live assistants: from typed text and back. Pure. The `doing` of an Error
// is a clause for the message: what is wrong, and the remedy.

/// `--assistant`: "recorded" or "live".
Result<Assistant> parse_assistant(std::string_view text);
const char* name_of(Assistant assistant);

/// `--live-keep`: any of text, tools, reasoning, with commas between them.
Result<KeptWords> parse_kept_words(std::string_view text);
/// As it is typed.
std::string text_of(const KeptWords& kept);

// Timed events as people type them: `--event "+90s post http://a:8000/start_profile"`, and files
// of such lines. Pure, but for `read_events`.

struct TypedEvent {
    std::int64_t at_ns = 0;  ///< from time 0 of the run, in wall time
    TimedEventKind kind = TimedEventKind::label;
    std::string what;  ///< URL, command line or label
    Url url;           ///< of a POST
};

/// A run has so many at most: each may be a process.
inline constexpr std::size_t events_max = 1000;

/// "+T post URL", "+T run COMMAND", "+T label TEXT". Errors: invalid, out_of_range.
Result<TypedEvent> parse_event(std::string_view text);

/// Adds those of a file: one a line; empty lines, and those that begin with '#', are left out.
/// Returns why it cannot be, with file and line, or the empty text.
std::string read_events(const std::string& path, std::vector<TypedEvent>& out);
/// The same of the text of a file; `where` stands before what is said.
std::string parse_events(const std::string& where, std::string_view text,
                         std::vector<TypedEvent>& out);

// Where a replay reads the servers' own metrics, and where it shows its own, as people type it.
// Pure, but for `complete_metrics`.

/// One value of `--metrics`.
struct MetricsPlace {
    enum class Kind : std::uint8_t { automatic, none, url };
    Kind kind = Kind::automatic;
    Url url;  ///< its path is "/metrics" where none was typed
};

/// Each has a connection of its own on the thread that reads them.
inline constexpr std::size_t metrics_places_max = 32;

/// "auto", "none" or a URL. Errors: invalid, out_of_range.
Result<MetricsPlace> parse_metrics_place(std::string_view text);

/// "1s": from 100ms to 1h. Errors: invalid.
Result<std::int64_t> parse_metrics_period(std::string_view text);

/// "127.0.0.1:9123", "[::1]:9123". Errors: invalid, out_of_range.
Result<Url> parse_listen_place(std::string_view text);

struct MetricsFlags;
/// Reads the files of tables. Returns what contradicts another flag, or why a file cannot be taken;
/// empty: all is well.
std::string complete_metrics(MetricsFlags& metrics);

// Values of the flags of a replay on several machines. Pure. The `doing` of an Error is a clause
// for the message: what is wrong, and the remedy.

/// More than any cluster has for its load generator: every shard reads the whole trace, and shard 0
/// talks to all others.
inline constexpr std::uint32_t shards_max = 4096;

/// `--shard` as it is typed.
struct TypedShard {
    bool is_none = false;  ///< the whole plan is sent, whatever the environment says
    ShardPlace place;
};
/// "0/3", or "none". Errors: invalid, out_of_range.
Result<TypedShard> parse_shard(std::string_view text);

/// As it is typed: "0/3".
std::string text_of(const ShardPlace& place);

/// `--meet` as it is typed.
struct MeetPlace {
    std::string host;
    std::uint16_t port = 0;
};
/// "node0:7100", "10.0.0.5:7100", "[::1]:7100". Errors: invalid, out_of_range.
Result<MeetPlace> parse_meet_place(std::string_view text);
/// As it is typed.
std::string text_of(const MeetPlace& place);

/// `--start-at`: a date and time of RFC 3339 with its offset, "2026-11-26T05:30:00Z", from 1970 on:
/// ns of CLOCK_REALTIME. Errors: invalid, out_of_range.
Result<std::int64_t> parse_utc_ns(std::string_view text);

// How many engines, as `--engines` of `replay` and `calibrate` takes it. Pure.

/// "auto" (`engines_auto`), or 1 to `engines_max`.
Result<std::uint32_t> parse_engines(std::string_view text);

}  // namespace driftless

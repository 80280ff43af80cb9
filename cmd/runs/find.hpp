/// `driftless find`: the highest load at which a server meets an SLO: its options; Knee, where to
/// try next; and what a search knows, its screen and `find.json`.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cmd/base/program.hpp"
#include "cmd/runs/cell.hpp"
#include "proto/core/errors.hpp"
#include "proto/core/names.hpp"
#include "proto/figures/criteria.hpp"
#include "proto/figures/steadiness.hpp"
#include "proto/figures/summary.hpp"

namespace driftless {

// The search for the knee: the highest load at which a run meets its SLO. Pure: it is given what
// came of the probes so far, and says which probe is next, or what was found. It starts nothing
// and reads no clock.
//
// In this order: a bracket by growing steps from `start`; bisection to the tolerance; one
// probe below the boundary, because batching can make a lower load worse; then further seeds at
// both sides of the boundary, which give the interval.

struct SearchRules {
    bool whole = true;             ///< loads are integers: users, copies
    double low = 1;                ///< lowest load that is allowed; above 0
    double high = 0;               ///< highest load that is allowed; not below `low`
    double start = 1;              ///< the first probe, from `low` to `high`
    double step = 2;               ///< first factor of the bracket; each further one is its next
                                   ///< power, 2 at most
    double tolerance = 0.05;       ///< of the bracket's lower end; whole loads: 1 at least
    std::uint32_t replicates = 3;  ///< further seeds at each side; 0: no interval
    std::uint32_t tries_max = 3;   ///< of a probe that was spoiled each time
};

enum class Purpose : std::uint8_t { bracket, bisect, below, replicate };
template <>
inline constexpr auto closed_list<Purpose> = name_list("bracket", "bisect", "below", "replicate");

struct KneeProbe {
    double value = 0;
    std::uint32_t seed = 0;     ///< added to the seed of the search: equal seeds play the same rows
    std::uint32_t attempt = 0;  ///< how often it was spoiled before
    Purpose purpose = Purpose::bracket;
};

enum class SearchState : std::uint8_t {
    searching,
    found,           ///< between `pass` and `fail`
    lowest_fails,    ///< the lowest load that is allowed fails
    highest_passes,  ///< the highest one passes
    spoiled,         ///< a probe was spoiled each time that it was tried
    too_many,        ///< `probes_max`: results contradict each other
};
template <>
inline constexpr auto closed_list<SearchState> =
    name_list("searching", "found", "lowest-fails", "highest-passes", "spoiled", "too-many-probes");

/// What is known. `pass` is below `fail`.
struct Knee {
    std::optional<double> pass;  ///< highest load that met the SLO, with none below it that failed
    std::optional<double> fail;  ///< lowest load that failed
    /// The interval: at `low` and at every seed tried there the SLO was met, at `high` none did.
    /// Null where no such load was found within the bounds, or none was looked for.
    std::optional<double> low;
    std::optional<double> high;
    bool monotone = true;  ///< false: a load above `fail` met the SLO
    SearchState state = SearchState::searching;
};

struct SearchStep {
    Knee knee;
    std::optional<KneeProbe> next;  ///< nothing: the search is over
};

/// A search ends by then, whatever comes.
inline constexpr std::ptrdiff_t probes_max = 100;

/// Whether `rules` can be searched. Errors: out_of_range; `doing` says what is wrong.
Result<void> check_rules(const SearchRules& rules);

struct JudgedProbe;
/// The next step after `done`, in their order; those that were too short count for nothing. Same
/// input, same step.
SearchStep next_step(const SearchRules& rules, std::span<const JudgedProbe> done);

/// Requests per second of a server that always had enough to do, by when its answers ended, ns from
/// the first request: the highest rate up to any end in the second half, where neither the first
/// answers nor the last ones weigh much. Nothing where fewer than `saturated_min` ended.
std::optional<double> saturated_rate(std::vector<std::int64_t> ended_ns);
inline constexpr std::size_t saturated_min = 4;

/// `argv[0]` is the command's name. Returns the exit code.
int run_find(int argc, char** argv);

// SLOs as people type them: "ttft:p99<2s tpot:p95<50ms errors<0.1%". Each says what a run must
// keep; a run fails where its opposite holds, which is a `--fail-if` of the replay. Pure.

struct Slo {
    std::string text;         ///< as it was typed, without blanks: "ttft:p99<2s"
    std::string fail_if;      ///< its opposite: "ttft:p99>=2s"
    Threshold threshold;      ///< of `fail_if`
    std::uint64_t floor = 1;  ///< independent values that its percentile needs (distribution.hpp)
};

struct Slos {
    std::vector<Slo> list;
    std::uint64_t rows_min = 1;  ///< the highest floor
};

/// Failed requests are in no percentile, so that a server that refuses everything would be fast:
/// where the SLO says nothing of errors, this is a part of it.
inline constexpr std::string_view errors_slo = "errors<1%";

/// Conditions with blanks or commas between them. Errors: invalid; the `doing` is a clause with the
/// remedy.
Result<Slos> parse_slos(std::string_view text);

/// Loads that can be typed. A search that is given no --low goes 1,024 times as far down.
inline constexpr double load_min = 1e-9;
inline constexpr double load_max = 1e6;

/// What a load is made of. The flag of replay has the same name.
struct LoadAxis {
    std::string_view name;
    bool whole = true;
    const char* unit = "";  ///< behind a value on the screen
};

/// As typed.
struct TypedLoads {
    std::optional<double> low;
    std::optional<double> high;
    std::optional<double> start;
};

/// What the user asked of `driftless find`, as plain values.
struct FindOptions {
    const LoadAxis* over = nullptr;  ///< never nullptr after parsing
    Slos slos;
    TypedLoads loads;
    SearchRules rules;
    std::uint64_t seed = 0;
    std::string out;     ///< empty: a folder of its own below runs/
    std::string resume;  ///< folder of a search that was cut off; then nothing else is set
    std::vector<std::string> traces;  ///< as they were typed
    std::vector<std::string> urls;
    std::vector<std::string> replay_flags;  ///< what is behind `--`
    bool salted = false;                    ///< replay_flags have a --cache-salt
    bool quiet = false;                     ///< only the result is printed
};

/// Whether a closed loop says where to begin: over requests per second, where no first probe was
/// typed and the loads that are allowed lie far apart.
bool begins_by_loop(const FindOptions& options);

/// Lets the search begin below the throughput of a closed loop, with small steps. Above 0.
void begin_near(FindOptions& options, double saturated_rate);

struct FindCommandLine : CommandLine {
    FindOptions options;
};

/// Parses everything after the command's name. Touches no file and no server: flags behind `--` are
/// replay's to check.
FindCommandLine parse_find_options(const std::vector<std::string>& arguments);

/// Whether `--name` or `--name=value` is among the words of a command line.
bool has_flag(const std::vector<std::string>& flags, std::string_view name);

/// A load as it is in a flag, in a file and on the screen: "12", "3.25".
std::string load_text(double value);

/// The window of a search: the flag of its replays that says how long one lasts, and by how much it
/// is lengthened. Pure.
class Window {
  public:
    /// Looks for `--for` or `--duration` among the flags of a replay; the last one counts.
    explicit Window(std::vector<std::string> replay_flags);

    /// Whether there is a time that can still be lengthened: it is below `longest` times what was
    /// typed.
    bool can_grow() const { return typed_ns_ > 0 && times_ < longest; }
    /// Lengthens it so that a run that had `rows` would have `wanted`, with a fifth to spare.
    void grow(std::uint64_t rows, std::uint64_t wanted);

    /// The flags with the window as it is now.
    std::vector<std::string> flags() const;
    /// "20s"; empty where there is none.
    std::string text() const;

    static constexpr double longest = 64;  ///< times what was typed

  private:
    std::vector<std::string> flags_;
    std::size_t at_ = 0;         ///< index of the word that holds the time
    std::string before_;         ///< of that word: "--for=", or nothing
    std::int64_t typed_ns_ = 0;  ///< 0: there is none
    double times_ = 1;
};

// JudgedProbe: what one replay of a search says of its load. Reads the files of a run; prints
// nothing.

/// What a run at one load came to.
enum class ProbeOutcome : std::uint8_t {
    meets,
    fails,
    spoiled,    ///< the verdict blames the client, the host or the network: thrown away
    too_short,  ///< fewer rows than a percentile needs: thrown away
};
template <>
inline constexpr auto closed_list<ProbeOutcome> =
    name_list("meets", "fails", "spoiled", "too short");

struct JudgedProbe {
    KneeProbe probe;
    ProbeOutcome outcome = ProbeOutcome::spoiled;
    std::string run;         ///< its folder, below that of the search
    std::string verdict;     ///< as summary.json has it
    std::string why;         ///< the condition that fails most, or why it was thrown away
    std::string binds;       ///< that condition, or "stability"; empty unless it fails
    double seconds = 0;      ///< wall time of the replay with its start
    std::uint64_t rows = 0;  ///< that were sent and are not of a warm-up
    std::vector<ThresholdFinding> findings;  ///< one per SLO, in their order
    StabilityFinding stability;
    std::vector<std::string> cut_folders;  ///< of earlier tries that were cut off

    bool is_at(double load, std::uint32_t seed) const {
        return probe.value == load && probe.seed == seed;
    }
    /// It says something about its load.
    bool is_judged() const {
        return outcome == ProbeOutcome::meets || outcome == ProbeOutcome::fails;
    }
    /// It is a try of its load.
    bool counts() const { return outcome != ProbeOutcome::too_short; }
};

/// What `binds` says if the load was not stable.
inline constexpr std::string_view stability_slo = "stability";

/// Whether a run that ended so says anything about its load. If not, the search cannot go on.
bool can_be_judged(const CellEnd& end);

/// Fills what the run in `folder`, which ended so, says of its load. Only where it can be judged.
/// Errors: those of `requests.jsonl`, which is read.
Result<void> judge_probe(const CellEnd& end, const std::string& folder, const Slos& slos,
                         JudgedProbe& probe);

/// What a closed loop came to.
struct LoopEnd {
    std::vector<std::int64_t> ended_ns;  ///< of complete answers, from time 0
    bool cut = false;                    ///< requests were open when its time was over
};
/// From the `requests.jsonl` of its run; nothing where that cannot be read.
std::optional<LoopEnd> read_loop(const std::string& folder);

/// SearchReport: all that a search knows so far, and what the screen says of it. A value; it writes
/// nothing. `find.json` has the same.
struct SearchReport {
    const FindOptions* options = nullptr;
    std::vector<std::string> command;  ///< as typed; it holds no secret
    std::string home;                  ///< absolute: paths go by this folder
    std::vector<KeptTrace> traces;     ///< that probes name
    std::optional<double> saturated;   ///< requests per second of a closed loop; by which it began
    Knee knee;
    std::string state;  ///< of the search; or "interrupted", "stopped"
    std::string why;    ///< of "stopped": what ended it
    double seconds = 0;
    std::vector<JudgedProbe> probes;
};

/// The condition that fails at the lowest load that failed; empty where none did.
std::string binding(const SearchReport& report);

/// A line about a probe that has ended, without its end; `next` is the one that follows, where
/// there is one.
std::string probe_line(const SearchReport& report, const JudgedProbe& probe,
                       const std::optional<KneeProbe>& next);

/// What was found, each a label and what is said of it.
std::vector<std::pair<std::string, std::string>> result_facts(const SearchReport& report);

/// The same on the screen.
std::string result_lines(const SearchReport& report);

// `find.json`: what a search keeps of itself after each probe, and what it is to go on with after
// it was killed. Pure.

inline constexpr int find_schema = 3;  ///< 2 had neither `saturated` nor bars

/// The text of `find.json` (find.schema.json).
std::string find_json(const SearchReport& report);

/// Reads from the text of a `find.json` what `--resume` needs: command, home, traces, seconds,
/// saturated, and the probes. Their loads have the digits of the file, and their purposes are not
/// told: the search says again what it asked for. Returns what is wrong with it, or the empty text.
std::string read_search(const std::string& text, SearchReport& out);

/// find.html: load against each figure, what must hold of it, the knee, and a link to the page of
/// each run. Written into `folder`; says so, or that it could not.
void write_search_page(const SearchReport& report, const std::string& folder);

}  // namespace driftless

/// The parts of a simulated run: what the product makes of a command line, made of SimOptions. Each
/// is the product's own type; bugs that tests of the laws plant are built in here. Owns nothing.
#pragma once

#include "cmd/mock/core.hpp"
#include "engine/prompt/arm.hpp"
#include "engine/record/writer.hpp"
#include "tests/sim/sim_run.hpp"

namespace driftless::sim {

/// Begins the X-Request-Id of every request.
inline constexpr const char* run_id = "sim";

/// `--assistant live`: of the whole trace, whose rows all are in the plan; else none.
std::optional<TraceWithBodies> served(const Trace& trace, const SimOptions& options);
ReplaySettings settings_of(const SimOptions& options);
Plan plan_of(const Trace& trace, const SimOptions& options);
/// Of it what is left to do.
Plan plan_in(const Segment& segment);
/// The seed of a segment.
std::uint64_t dice_of(const SimOptions& options, const Segment& segment);
/// As the engine is told of it: the same, but for a bug.
Plan engines_plan(Plan plan, Bug bug);
BodyFrame frame_of(const Dialect& dialect, bool stream);
std::vector<RequestHead> heads_of(const Dialect& dialect, std::uint32_t targets);
PromptOptions prompts_of(const SimOptions& options);
/// Marks without a name: simulations run side by side.
FiredMarks marks_of(std::size_t rows);
/// Long enough that some heads outweigh their bodies.
RowFields fields_of(const Trace& trace, const Plan& plan, const SimOptions& options);
AssemblerConfig assembler_of(const Trace& trace, const Plan& plan, const Dialect& dialect,
                             const SimOptions& options);
/// What an engine plays, which has that place among those of the run. `earlier`: of a run that is
/// resumed. `live`: whose words rows go on behind; else null.
Schedule played_schedule(const Trace& trace, const Plan& plan, const SimOptions& options,
                         const EarlierRows& earlier, ShardPlace engine, const LiveTurns* live);
/// Requests of users have numbers below this; else 0.
std::uint32_t requests_end_of(Schedule& schedule);
/// The rules that the schedule is told, and [row] a row of its tree, found the slow way.
UserRules played_rules(const SimOptions& options);
/// Users may send a row several times: in several passes, or again where it has failed.
bool rows_repeat(const UserRules& rules);
std::map<std::uint32_t, std::uint32_t> trees_of(const Trace& trace);
/// Each row is a tree of its own.
std::map<std::uint32_t, std::uint32_t> single_rows_of(const Trace& trace);
/// The trace as the schedule of closed sessions is told of it.
Trace waits_of(const Trace& trace, Bug bug);
/// The same rows; none comes after another.
Trace without_turns(Trace trace);
SimPrompts prompts_in(const Trace& trace, const SimOptions& options, const Segment& segment);
/// Dependencies of rows that wait for rows of this plan alone.
std::vector<Dependency> waits_within(const Trace& trace, const Plan& plan);
/// Where connections go to; `tls` null: plain http everywhere.
std::vector<Endpoint> endpoints_of(TlsWorld* tls, const SimOptions& options);
/// Rows that have a mark, by their indices.
std::vector<std::uint32_t> marked_rows(const Trace& trace, const FiredMarks& marks);
/// Of dual fire: by `sending_number`.
std::set<std::uint64_t> marked_sendings(const Trace& trace, const Plan& plan,
                                        const FiredMarks& marks);
/// The files of a segment, begun or, where it is not the first, gone on with.
RecordSinks sinks_of(SimDisk& disk, bool first, Bug bug);
DriverBugs bugs_of(Bug bug);
/// How often the user has asked to stop at this run time.
int stops_asked(const SimOptions& options, std::int64_t at_ns);
/// Nothing keeps the process from reading, and nobody sets the clock.
bool is_calm(const SimOptions& options);
mock::CoreOptions server_of(const SimOptions& options);
/// Null: plain http everywhere.
std::unique_ptr<TlsWorld> tls_of(const SimOptions& options);

/// The lines of requests.jsonl.
struct ReadBack {
    std::vector<Record> records;
    std::vector<std::string> unreadable;  ///< those that do not read back as themselves
};
ReadBack read_back(std::string_view jsonl);

/// summary.json of these sums.
std::string summary_of(const Summary& summary, const ClientTotals& client);

/// What the servers have seen of each row; of one that was tried again, the earliest of each stamp.
std::map<std::uint32_t, mock::RequestLog> truth_of(mock::MockCore& core);

}  // namespace driftless::sim

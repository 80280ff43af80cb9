#include "tests/sim/killed_users.hpp"

#include <algorithm>

#include "engine/history/past.hpp"
#include "proto/core/errors.hpp"
#include "tests/sim/sim_parts.hpp"

namespace driftless::sim {

namespace {

constexpr const char* marks_name = "sim-users";
constexpr std::int64_t around_ns = 300'000'000;  // before the first request and behind the last end

FilesOfRun files_of(const SimDisk& disk) {
    return {disk.read("requests.jsonl"), disk.read("fired.jsonl"), disk.read("client.jsonl"),
            disk.read("periods.jsonl")};
}

Kill kill_of(const Fate& fate, const SimResult& whole) {
    Kill kill{0, fate.steps, fate.dice, false, fate.call};
    std::int64_t last_ns = whole.first_due_ns;
    for (const Record& record : whole.records) {
        last_ns = std::max({last_ns, record.due_ns, record.ended_ns.value_or(0)});
    }
    const std::int64_t from_ns = whole.first_due_ns - around_ns;
    const auto length = static_cast<double>(last_ns + around_ns - from_ns);
    kill.at_ns = fate.call > 0 ? INT64_MAX : from_ns + static_cast<std::int64_t>(fate.at * length);
    return kill;
}

RunFacts facts_of(const Plan& plan) {
    RunFacts facts;
    facts.segments.resize(1);
    facts.rows = plan.rows.size();
    facts.has_users = true;
    facts.info.run.sessions = "closed";
    return facts;
}

/// As `report` reads a run that was killed.
void look_back(const RunFacts& facts, const Trace& trace, const SimDisk& disk, KilledUsers& run) {
    Past past{facts};
    const Result<PastFiles> files = read_past(disk.folder(), "", past, run.why_unreadable);
    if (!files) {
        return;
    }
    run.torn_bytes =
        files.value().requests.torn + files.value().fired.torn + files.value().client.torn;
    FiredMarks marks = marks_of(trace.rows.size());
    for (std::uint64_t i = 0; i < run.died.requests_marked; ++i) {
        marks.count_request();
    }
    run.left_open = past.left_open();
    run.lost =
        unrecorded_rows(facts, past, fired_in_all(facts, past, run.marks ? &marks : nullptr));
    run.figures = past.summary().figures();
    const std::string& lines = run.files.requests;
    run.records = read_back(std::string_view(lines).substr(0, lines.rfind('\n') + 1)).records;
}

}  // namespace

KilledUsers run_killed_users(const Trace& trace, const SimOptions& options, const Fate& fate) {
    KilledUsers run;
    const Plan plan = plan_of(trace, options);
    {
        SimOptions sound = options;
        sound.bug = Bug::none;
        SimDisk disk;
        SimMachine machine;
        run.whole = run_segment(trace, sound, {disk, machine, plan, {}, marks_name});
        run.whole_files = files_of(disk);
    }
    SimDisk disk;
    SimMachine machine;
    run.died =
        run_segment(trace, options, {disk, machine, plan, kill_of(fate, run.whole), marks_name});
    if (!run.died.stood) {
        return run;
    }
    run.host_died = fate.host && run.died.killed;
    run.marks = machine.marks.contains(marks_name) && !run.host_died;
    if (run.host_died) {
        (void)lose_ends(disk, run.died, fate.dice);
    }
    run.files = files_of(disk);
    look_back(facts_of(plan), trace, disk, run);
    return run;
}

}  // namespace driftless::sim

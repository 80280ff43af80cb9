#include "tests/sim/killed_run.hpp"

#include "tests/sim/laws.hpp"
#include "tests/sim/sim_parts.hpp"

namespace driftless::sim {

namespace {

/// What goes with the host was written less than this long before. A second is what a resumption
/// reckons with (unseen_ns); a sign of life may be a few ms late.
constexpr std::int64_t unsynced_ns = 900'000'000;
constexpr std::int64_t before_ns = 200'000'000;  // a segment begins before its first row
constexpr std::int64_t behind_ns = 300'000'000;  // and goes on behind its last
constexpr std::int64_t waits_stretch = 3;        // rows that wait for answers take longer

std::string whole_lines(std::string text) {
    text.erase(text.rfind('\n') + 1);
    return text;
}

class KilledSimulation {
  public:
    KilledSimulation(const Trace& trace, const SimOptions& options)
        : trace_(trace),
          options_(options),
          whole_(plan_of(trace, options)),
          steady_(options.weather.pause == 0 && options.ring_bytes > 1) {
        for (const Planned& planned : whole_.rows) {
            run_.due_ns[index_of(planned.row)] = planned.due_ns;
        }
        run_.turns_before = turns_before(trace);
        if (options.closed) {
            run_.dependencies = trace.dependencies;
            facts_.info.run.sessions = "closed";
        }
    }

    KilledRun go(const std::vector<Fate>& fates) {
        for (const Fate& fate : fates) {
            Past past{facts_};
            const Result<PastFiles> files =
                read_past(disk_.folder(), "", past, run_.why_unreadable);
            if (!files || (machine_.closed && past.records() == whole_.rows.size())) {
                break;
            }
            live(fate, past);
            const SimResult& result = run_.lives.back().result;
            if (result.ended && !result.disk_failed) {
                break;
            }
            die(fate);
        }
        look_back();
        return std::move(run_);
    }

  private:
    std::uint32_t index_of(std::uint32_t row) const { return trace_.rows[row].index; }

    void live(const Fate& fate, const Past& past) {
        const bool first = machine_.segments.empty();
        const std::optional<FiredMarks> marks = find_marks();
        std::optional<ResumedRun> resumed;
        if (!first) {
            const InterruptedRun run{trace_,
                                     whole_,
                                     past,
                                     marks ? &*marks : nullptr,
                                     machine_.segments.back().first_due_ns,
                                     options_.closed,
                                     Speed()};
            resumed.emplace(resume_run(run, machine_.segments, fate.resend));
        }
        const RemainingRows remaining = first ? all_rows() : resumed->remaining;
        Life& life = run_.lives.emplace_back();
        life.number = static_cast<std::uint32_t>(machine_.segments.size());
        life.resend = !first && fate.resend;
        life.marks = first || marks.has_value();
        life.host_died = host_died_;
        life.certain = life.marks || certain_;
        life.lines_lost = lines_lost_;
        life.found = whole_lines(disk_.read("requests.jsonl"));
        life.found_fired = whole_lines(disk_.read("fired.jsonl"));
        for (const Planned& planned : remaining.send) {
            life.planned.insert(index_of(planned.row));
        }
        for (const std::uint32_t row : remaining.again) {
            life.again.insert(index_of(row));
        }
        for (const std::uint32_t position : remaining.given_up) {
            life.given_up.insert(index_of(whole_.rows[position].row));
        }
        for (const RemainingRows::Dropped& one : remaining.dropped) {
            life.dropped.insert(index_of(whole_.rows[one.position].row));
        }
        const SimOptions options = options_in(fate, remaining, first);
        life.result = run_segment(trace_, options,
                                  {disk_, machine_, whole_, kill_of(fate, options, remaining),
                                   name(), resumed ? &*resumed : nullptr});
    }

    RemainingRows all_rows() const { return {.send = whole_.rows}; }

    std::int64_t first_due_of(const RemainingRows& remaining) const {
        if (!options_.closed) {
            return remaining.send.front().due_ns;
        }
        Plan plan = whole_;
        plan.rows = remaining.send;
        return Schedule(trace_, plan, Speed(), remaining.earlier).first_due_ns();
    }

    SimOptions options_in(const Fate& fate, const RemainingRows& remaining, bool first) const {
        SimOptions options = options_;
        options.disk = fate.disk;
        options.run_json_fault = fate.run_json;
        if (!first) {
            options.stop_at_ns = fate.stop_ns < 0 || remaining.send.empty()
                                     ? -1
                                     : first_due_of(remaining) + fate.stop_ns;
            options.stop_again_ns = -1;
        }
        return options;
    }

    std::optional<Kill> kill_of(const Fate& fate, const SimOptions& options,
                                const RemainingRows& remaining) const {
        if (!fate.dies) {
            return std::nullopt;
        }
        Kill kill{0, fate.steps, fate.dice, fate.resuming, fate.call};
        if (kill.call > 0) {
            kill.at_ns = INT64_MAX;
            kill.resuming = false;
        } else if (options.stop_at_ns >= 0 && fate.after_stop_ns >= 0) {
            kill.at_ns = options.stop_at_ns + fate.after_stop_ns;
        } else if (!remaining.send.empty()) {
            const std::int64_t from = first_due_of(remaining) - before_ns;
            const std::int64_t planned =
                remaining.send.back().due_ns - remaining.send.front().due_ns;
            const std::int64_t to = first_due_of(remaining) +
                                    planned * (options_.closed ? waits_stretch : 1) + behind_ns;
            kill.at_ns = from + static_cast<std::int64_t>(fate.at * static_cast<double>(to - from));
        }
        return kill;
    }

    /// What outlives it.
    void die(const Fate& fate) {
        const SimResult& result = run_.lives.back().result;
        disk_failed_ = disk_failed_ || result.disk_failed;
        lines_lost_ = lines_lost_ || result.disk_failed;
        if (!result.stood) {
            return;  // as if it had not been
        }
        certain_ = steady_ && !disk_failed_;
        if (const auto marks = machine_.marks.find(name()); marks != machine_.marks.end()) {
            marks->second = result.marked;
        }
        host_died_ = fate.host && result.killed;
        if (host_died_) {
            machine_.marks.clear();
            certain_ = lose_ends(disk_, result, fate.dice) > 0 && certain_;
            lines_lost_ = true;
        }
    }

    /// The name of the marks of the last life.
    std::string name() const { return "sim-" + std::to_string(run_.lives.size()); }

    /// Those of the last segment that run.json names.
    std::optional<FiredMarks> find_marks() const {
        if (machine_.segments.empty()) {
            return std::nullopt;
        }
        const auto found = machine_.marks.find(machine_.segments.back().run_id);
        if (found == machine_.marks.end()) {
            return std::nullopt;
        }
        FiredMarks marks = marks_of(trace_.rows.size());
        for (const std::uint32_t row : found->second) {
            CHECK(index_of(row) == row);
            marks.mark(row);
        }
        return marks;
    }

    void look_back() {
        run_.jsonl = disk_.read("requests.jsonl");
        Past past{facts_};
        std::string why;
        if (const Result<PastFiles> files = read_past(disk_.folder(), "", past, why); !files) {
            run_.why_unreadable = why;
        }
        run_.rebuilt = summary_of(past.summary(), past.client());
        run_.records = read_back(run_.jsonl).records;
    }

    const Trace& trace_;
    const SimOptions& options_;
    const Plan whole_;
    const bool steady_;  ///< nothing keeps the run from its signs of life
    SimDisk disk_;
    RunFacts facts_;
    KilledRun run_;
    SimMachine machine_;
    bool host_died_ = false;  ///< with the last segment that stood
    bool certain_ = true;
    bool disk_failed_ = false;
    bool lines_lost_ = false;
};

}  // namespace

std::size_t lose_ends(const SimDisk& disk, const SimResult& result, std::uint64_t dice) {
    Random random(mix64(dice));
    const auto& flushes = result.flushes;
    const auto first = std::find_if(flushes.begin(), flushes.end(), [&](const Flushed& flush) {
        return flush.at_ns >= result.died_ns - unsynced_ns;
    });
    const auto count = static_cast<std::uint64_t>(flushes.end() - first);
    for (std::size_t i = 0; i < std::size(flushed_files); ++i) {
        const Flushed& flushed = count == 0
                                     ? flushes.back()
                                     : *(first + static_cast<std::ptrdiff_t>(random.below(count)));
        disk.cut(flushed_files[i], flushed.bytes[i]);
    }
    return count;
}

KilledRun run_killed(const Trace& trace, const SimOptions& options,
                     const std::vector<Fate>& fates) {
    return KilledSimulation(trace, options).go(fates);
}

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

/// The laws of a run: what holds however unkind the world was. Each has a name and a place of its
/// own, and tests (laws_test.cpp) plant a bug for each that only it must notice. Pure functions of
/// a run's result; they own nothing.
#pragma once

#include "proto/run/period.hpp"
#include "tests/sim/breaches.hpp"
#include "tests/sim/sim_run.hpp"

namespace driftless::sim {

struct KilledRun;
struct KilledUsers;

template <class Run>
struct LawOf {
    const char* name;
    /// Tells what breaks it; nothing where it holds.
    void (*breach)(const Run& run, Breaches& breaches);

    std::string broken_by(const Run& run) const {
        Breaches breaches;
        breach(run, breaches);
        return breaches.text();
    }
};
using Law = LawOf<SimResult>;
using KilledLaw = LawOf<KilledRun>;
using KilledUsersLaw = LawOf<KilledUsers>;

const std::vector<Law>& laws();

// What `laws` is put together from. They hold of themselves where what they speak of is not there.
/// What is sent on which connection, and when; dual fire; turns that overtake the turn before them.
std::span<const Law> laws_of_connections();
/// What held a row back or failed it through no fault of its server: our limits, losses, budgets,
/// rates, stops; what is abandoned; what is left over when a run has ended.
std::span<const Law> laws_of_limits();
/// periods.jsonl; the rules by which users play; what a killed run would be judged by; what is
/// expected of a prefix cache, found by comparing prompts with each other.
std::span<const Law> laws_of_periods();
/// Trees of users, closed sessions, live conversations; what waited in the client.
std::span<const Law> laws_of_users();

/// "name: breach" a line of every law that the run breaks; empty where all hold.
template <class Run, class Laws>
std::string broken_of(const Laws& laws, const Run& run) {
    std::string broken;
    for (const LawOf<Run>& law : laws) {
        const std::string breach = law.broken_by(run);
        broken += breach.empty() ? "" : std::string(law.name) + ": " + breach + "\n";
    }
    return broken;
}
std::string broken_laws(const SimResult& result);

/// The names of laws that no bug is planted for.
template <class Laws, class WorldBugs, class OutputBugs>
std::string untried(const Laws& laws, const WorldBugs& world_bugs, const OutputBugs& output_bugs) {
    std::set<std::string_view> tried;
    for (const auto& planted : world_bugs) {
        tried.insert(planted.law);
    }
    for (const auto& planted : output_bugs) {
        tried.insert(planted.law);
    }
    std::string names;
    for (const auto& law : laws) {
        names += tried.contains(law.name) ? "" : std::string(law.name) + "\n";
    }
    return names;
}

// The same of a run that dies and goes on, in whatever segment each row ended. What was sent
// again left when its parents had let it go before, and let others go then.
void turns_wait_over_segments(const KilledRun& run, Breaches& breaches);
void no_release_is_lost_over_segments(const KilledRun& run, Breaches& breaches);
void failures_end_trees_over_segments(const KilledRun& run, Breaches& breaches);
void overtaken_is_true_over_segments(const KilledRun& run, Breaches& breaches);

/// The line of fired.jsonl that goes with a record of a row that left, without its newline.
std::string fired_line(const Record& record);

/// No stamp stands before its cause: `cause <= effect` in every record that has both.
struct StampOrder {
    const char* cause_name;
    const char* effect_name;
    OptionalNs Record::* cause;
    OptionalNs Record::* effect;
};
std::span<const StampOrder> stamp_orders();

/// The lines of periods.jsonl; nothing where one cannot be read, or does not read back as itself.
std::optional<std::vector<Period>> read_periods(std::string_view lines);

TurnsBefore turns_before(const Trace& trace);

/// Others go on behind it: it was answered, as far as framing tells (what its content lacks is
/// known too late), or its client gave it up.
inline bool is_answered(const Record& record) {
    return record.outcome == Outcome::abandoned ||
           (record.done_ns.has_value() && record.status == 200);
}

/// What a record may say at most of how late it was read, where nothing kept the process from
/// reading (`SimResult::calm`). The latest look that is known to have found nothing is no more than
/// 0.1 ms old when a turn reads nothing (`unread_max` of run.cpp), and such a turn may sleep, 0.5
/// ms at most while answers stream (`stream_nap_max` of settings.hpp). What is due has half of
/// the time where both are behind, but its turns take less than 1 us each in virtual time.
inline constexpr Duration calm_delay_max = microseconds(500 + 100);

/// A token budget that is used up, by the rows that left before `until_ns`; run time. In whole
/// numbers, which know nothing of the buckets of the engine.
struct UsedUp {
    std::int64_t from_ns = 0;
    std::int64_t to_ns = 0;  ///< when it is above 0 again
};
std::vector<UsedUp> used_up(const SimResult& result, std::int64_t until_ns);

/// When the bucket was full and nobody took of it, of rows that left before `until_ns`; of a run
/// with one budget.
std::vector<UsedUp> ran_over(const SimResult& result, std::int64_t until_ns);

/// When the client gives the request up, in run time; nothing where it waits or nothing left.
std::optional<std::int64_t> given_up_at_ns(const SimResult& result, const Record& record);

}  // namespace driftless::sim

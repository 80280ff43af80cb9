// A swarm of seeds, each with its own mix of faults: every law holds in each of them, and the same
// seed gives the same bytes. DRIFTLESS_SIM_SEEDS says how many; `sim_swarm` runs any number.
#include "tests/sim/swarm.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tests/sim/effort.hpp"
#include "tests/sim/laws.hpp"

namespace driftless::sim {
namespace {

constexpr std::uint32_t rows = 200;
constexpr std::uint64_t seeds_for_all = 1000;  // every outcome is met

/// Every law holds in the runs of so many seeds; `use` gets each.
template <class Use>
void play_seeds(std::uint64_t count, SimResult (*run_seed)(std::uint64_t, std::uint32_t), Use use) {
    for (std::uint64_t seed = 1; seed <= seeds(count); ++seed) {
        const SimResult result = run_seed(seed, rows);
        ASSERT_EQ(broken_laws(result), "") << "seed " << seed;
        use(seed, result);
    }
}

// Same seed: byte-identical files, whatever the weather.
TEST(Swarm, SameSeedSameBytes) {
    for (std::uint64_t seed = 1; seed <= repeats(20); ++seed) {
        const SimResult first = run_swarm(seed, rows);
        const SimResult again = run_swarm(seed, rows);
        ASSERT_FALSE(first.fired_jsonl.empty());
        ASSERT_TRUE(first.jsonl == again.jsonl) << "seed " << seed;
        ASSERT_TRUE(first.fired_jsonl == again.fired_jsonl) << "seed " << seed;
    }
}

// Over all seeds the faults have really struck: every outcome is met that the simulator can bring
// about (it resumes no run).
TEST(Swarm, LawsHoldWhateverTheFaults) {
    std::map<Outcome, std::uint64_t> outcomes;
    std::uint64_t retries = 0;
    std::uint64_t tainted = 0;
    std::uint64_t full_disks = 0;
    std::uint64_t came_whole = 0;  // under --no-stream
    std::uint64_t stopped_early = 0;
    play_seeds(seeds_for_all, run_swarm, [&](std::uint64_t seed, const SimResult& result) {
        const bool streams = swarm_options(seed).stream;
        for (const Record& record : result.records) {
            ++outcomes[record.outcome];
            retries += record.stale_retries;
            tainted += record.tainted.empty() ? 0 : 1;
            came_whole += !streams && record.outcome == Outcome::ok ? 1 : 0;
        }
        full_disks += result.disk_failed ? 1 : 0;
        stopped_early += result.stopped_early ? 1 : 0;
    });
    for (unsigned i = 0; i < outcome_count; ++i) {
        const auto outcome = static_cast<Outcome>(i);
        const bool beyond = outcome == Outcome::interrupted;
        const bool seen = outcomes[outcome] > 0;
        EXPECT_TRUE(beyond ? !seen : seen || seeds(seeds_for_all) < seeds_for_all)
            << name_of(outcome);
        RecordProperty(name_of(outcome), std::to_string(outcomes[outcome]));
    }
    EXPECT_GT(outcomes[Outcome::ok], 0u);
    EXPECT_GT(retries, 0u);
    EXPECT_TRUE(tainted > 0 || seeds(seeds_for_all) < seeds_for_all);
    EXPECT_GT(full_disks, 0u);
    EXPECT_GT(came_whole, 0u);
    EXPECT_GT(stopped_early, 0u);
}

// Rows that wait for each other: some are sent behind their parents, some are dropped behind those
// that failed, and every law holds.
TEST(Swarm, LawsHoldUnderClosedSessions) {
    constexpr std::uint64_t seeds_of_closed = 200;
    std::uint64_t sent = 0;
    std::uint64_t dropped = 0;
    play_seeds(seeds_of_closed, run_closed_swarm, [&](std::uint64_t, const SimResult& result) {
        for (const Record& record : result.records) {
            const bool waits = !result.due_ns.contains(record.row);
            sent += waits && record.fired_ns ? 1 : 0;
            dropped += waits && !result.stopped && !record.fired_ns ? 1 : 0;
        }
    });
    EXPECT_GT(sent, 0u);
    EXPECT_GT(dropped, 0u);
}

TEST(Swarm, UsersOfTheSameSeedAreTheSame) {
    for (std::uint64_t seed = 1; seed <= repeats(20); ++seed) {
        const SimResult first = run_users_swarm(seed, rows);
        const SimResult again = run_users_swarm(seed, rows);
        ASSERT_TRUE(first.jsonl == again.jsonl) << "seed " << seed;
        ASSERT_TRUE(first.periods_jsonl == again.periods_jsonl) << "seed " << seed;
    }
}

// Trees that users play, one behind the other, to their ends or until the time is up.
TEST(Swarm, LawsHoldUnderUsers) {
    constexpr std::uint64_t seeds_of_users = 200;
    std::uint64_t whole = 0;
    std::uint64_t cut = 0;
    play_seeds(seeds_of_users, run_users_swarm, [&](std::uint64_t, const SimResult& result) {
        (result.records.size() == rows ? whole : cut) += 1;
    });
    EXPECT_GT(whole, 0u);
    EXPECT_GT(cut, 0u);
}

// Conversations that hold the answers of the run, with and without users: prompts are filled up,
// and too long ones are told.
TEST(Swarm, LawsHoldInTalks) {
    constexpr std::uint64_t seeds_of_talks = 200;
    std::uint64_t held = 0;
    std::uint64_t filled = 0;
    std::uint64_t over = 0;
    play_seeds(seeds_of_talks, run_talks_swarm, [&](std::uint64_t, const SimResult& result) {
        for (const Record& record : result.records) {
            held += record.live_turns.value_or(0);
            filled += record.padded_tokens.value_or(0) > 0 ? 1 : 0;
            over += record.padded_tokens.value_or(0) < 0 ? 1 : 0;
        }
    });
    EXPECT_GT(held, 0u);
    EXPECT_GT(filled, 0u);
    EXPECT_TRUE(over > 0 || seeds(seeds_of_talks) < seeds_of_talks);
}

// The second ring changes no byte from run to run.
TEST(Swarm, SameSeedSameTalks) {
    for (std::uint64_t seed = 1; seed <= repeats(10); ++seed) {
        ASSERT_TRUE(run_talks_swarm(seed, rows).jsonl == run_talks_swarm(seed, rows).jsonl)
            << "seed " << seed;
    }
}

}  // namespace
}  // namespace driftless::sim

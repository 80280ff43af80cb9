// A swarm of seeds in which runs die at any moment, with or without their host, and are resumed:
// every row has one record in the end, and none is sent twice unasked. DRIFTLESS_SIM_SEEDS says how
// many; `sim_swarm` runs any number.
#include <gtest/gtest.h>

#include <map>

#include "tests/sim/effort.hpp"
#include "tests/sim/killed_laws.hpp"
#include "tests/sim/swarm.hpp"

namespace driftless::sim {
namespace {

constexpr std::uint32_t rows = 200;
constexpr std::uint64_t seeds_for_all = 300;

TEST(KilledSwarm, SameSeedSameBytes) {
    for (std::uint64_t seed = 1; seed <= repeats(20); ++seed) {
        const KilledRun first = run_killed_swarm(seed, rows);
        const KilledRun again = run_killed_swarm(seed, rows);
        ASSERT_FALSE(first.jsonl.empty());
        ASSERT_TRUE(first.jsonl == again.jsonl) << "seed " << seed;
    }
}

// Late rows over TLS came back from their connections while a killed run was taken down.
TEST(KilledSwarm, GivesTheMemoryOfLateRowsBack) {
    EXPECT_EQ(broken_laws(run_killed_swarm(1996, rows)), "");
}

// The kills have really struck, in every way that there is.
TEST(KilledSwarm, LosesNothingAndRepeatsNothing) {
    std::map<std::string, std::uint64_t> met;
    for (std::uint64_t seed = 1; seed <= seeds(seeds_for_all); ++seed) {
        const KilledRun run = run_killed_swarm(seed, rows);
        ASSERT_EQ(broken_laws(run), "") << "seed " << seed;
        for (const Life& life : run.lives) {
            const SimResult& result = life.result;
            ++met[result.killed ? "killed" : result.disk_failed ? "disk failed" : "ended"];
            met["killed when all had left"] +=
                result.killed && result.left.size() == life.planned.size();
            met["killed while resuming"] += result.killed && !result.stood ? 1 : 0;
            met["without marks, certain"] += !life.marks && life.certain ? 1 : 0;
            met["without marks, guessed"] += !life.marks && !life.certain ? 1 : 0;
            met["sent again"] += life.again.size();
            met["given up"] += life.given_up.size();
            met["nothing left to send"] += life.planned.empty() ? 1 : 0;
        }
    }
    for (const char* const kind :
         {"killed", "disk failed", "ended", "killed when all had left", "killed while resuming",
          "without marks, certain", "without marks, guessed", "sent again", "given up",
          "nothing left to send"}) {
        EXPECT_TRUE(met[kind] > 0 || seeds(seeds_for_all) < seeds_for_all) << kind;
        RecordProperty(kind, std::to_string(met[kind]));
    }
}

// Rows of a later segment have waited for rows of an earlier one.
TEST(KilledSwarm, ClosedSessionsGoOn) {
    std::uint64_t released = 0;
    std::uint64_t dropped = 0;
    for (std::uint64_t seed = 1; seed <= seeds(seeds_for_all); ++seed) {
        const KilledRun run = run_killed_closed_swarm(seed, rows);
        ASSERT_EQ(broken_laws(run), "") << "seed " << seed;
        for (const Life& life : run.lives) {
            dropped += life.dropped.size();
        }
        for (const Record& record : run.records) {
            released += record.segment > 0 && record.parent_end_ns ? 1 : 0;
        }
    }
    EXPECT_GT(released, 0u);
    EXPECT_GT(dropped, 0u);
}

}  // namespace
}  // namespace driftless::sim

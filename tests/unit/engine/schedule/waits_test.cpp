// What is known of a closed run before it: who waits, how long it takes at least, and a digest that
// changes with every rule.
#include "engine/schedule/waits.hpp"

#include <gtest/gtest.h>

#include <set>

namespace driftless {
namespace {

struct Chain {
    Trace trace;
    Plan plan;
    Chain() {
        for (std::uint32_t i = 0; i < 4; ++i) {
            TraceRow row;
            row.index = i;
            row.at_ns = 10 * i;
            row.output_length = 3;
            trace.rows.push_back(row);
            plan.rows.push_back({10 * i, i, 0});
        }
        trace.dependencies = {{1, 0, Trigger::completion, 100}, {2, 1, Trigger::dispatch, 50}};
    }
};

TEST(Waits, SayWhatIsKnownBefore) {
    const Chain chain;
    const WaitFigures waits = waits_of(chain.trace, chain.plan, {2, 1});
    EXPECT_EQ(waits.rows, 2u);
    EXPECT_EQ(waits.outside, 0u);
    EXPECT_EQ(waits.last_due_ns, 30);
    EXPECT_EQ(waits.least_ns, 75);
}

TEST(Waits, CountWhatWaitsForRowsOutside) {
    Chain chain;
    chain.plan.rows.erase(chain.plan.rows.begin());
    const WaitFigures waits = waits_of(chain.trace, chain.plan, {});
    EXPECT_EQ(waits.rows, 1u);
    EXPECT_EQ(waits.outside, 1u);
    EXPECT_EQ(waits.least_ns, 60);
}

// An answer of 3 tokens at 1,000 ns each; who waits for a sending does not wait for the answer.
TEST(Waits, EstimateWithAnswers) {
    const Chain chain;
    const Plan answered = answered_in(chain.trace, chain.plan, {}, 1'000);
    ASSERT_EQ(answered.rows.size(), 4u);
    EXPECT_EQ(answered.rows[1].row, 3u);
    EXPECT_EQ(answered.rows[2].due_ns, 3'100);
    EXPECT_EQ(answered.rows[3].due_ns, 3'150);
    EXPECT_EQ(answered.last_due_ns, 3'150);
    EXPECT_EQ(answered.burst_rows_max, 1u);
}

TEST(Waits, DigestIsOfTheRules) {
    const Chain chain;
    std::set<std::uint64_t> digests = {chain.plan.schedule_digest};
    digests.insert(digest_of_waits(chain.trace, chain.plan, {}));
    digests.insert(digest_of_waits(chain.trace, chain.plan, {2, 1}));
    Chain other = chain;
    other.trace.dependencies[0].delay_ns = 101;
    digests.insert(digest_of_waits(other.trace, other.plan, {}));
    other = chain;
    other.trace.dependencies[1].trigger = Trigger::completion;
    digests.insert(digest_of_waits(other.trace, other.plan, {}));
    other = chain;
    other.trace.dependencies[1].on = 0;
    digests.insert(digest_of_waits(other.trace, other.plan, {}));
    EXPECT_EQ(digests.size(), 6u);
    EXPECT_EQ(digest_of_waits(chain.trace, chain.plan, {}),
              digest_of_waits(Chain().trace, Chain().plan, {}));
}

}  // namespace
}  // namespace driftless

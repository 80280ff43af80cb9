// Gaps of closed sessions: their flags, in our spelling and in that of other tools.
#include <gtest/gtest.h>

#include "tests/unit/cmd/flags/parse_flags.hpp"

namespace driftless {
namespace {

WorkloadFlags closed_with(Words flags) {
    flags.insert(flags.end(), {"--sessions", "closed"});
    return options_with(flags).workload;
}

TEST(GapOptions, AreRead) {
    EXPECT_EQ(closed_with({}).gap, std::nullopt);
    EXPECT_EQ(closed_with({}).gap_cap_ns, std::nullopt);
    EXPECT_EQ(closed_with({"--gap", "end-to-start"}).gap, GapRule::end_to_start);
    EXPECT_EQ(closed_with({"--gap", "none"}).gap, GapRule::none);
    const WorkloadFlags both = closed_with({"--gap", "start-to-start", "--gap-cap", "1m"});
    EXPECT_EQ(both.gap, GapRule::start_to_start);
    EXPECT_EQ(both.gap_cap_ns, 60'000'000'000);
}

TEST(GapOptions, AreForClosedSessions) {
    const char* const remedy = "no row waits; add --sessions closed";
    EXPECT_TRUE(says(refusal_with({"--gap", "none"}), remedy));
    EXPECT_TRUE(says(refusal_with({"--gap-cap", "2", "--sessions", "open"}), remedy));
    EXPECT_TRUE(says(refusal_with({"--gap", "late", "--sessions", "closed"}),
                     "--gap \"late\" is not one of end-to-start, start-to-start, none"));
    EXPECT_TRUE(says(refusal_with({"--gap", "none", "--gap-cap", "2", "--sessions", "closed"}),
                     "leaves no gaps for --gap-cap to shorten; remove one"));
}

// kv-cache-tester's and AIPerf's. What counts answers twice there is refused with what does not.
TEST(GapOptions, HaveOtherSpellings) {
    const WorkloadFlags tester =
        closed_with({"--timing-strategy", "think-only", "--max-delay", "60"});
    EXPECT_EQ(tester.gap, GapRule::end_to_start);
    EXPECT_EQ(tester.gap_cap_ns, 60'000'000'000);
    EXPECT_EQ(closed_with({"--inter-turn-delay-cap-seconds", "2.5"}).gap_cap_ns, 2'500'000'000);
    EXPECT_EQ(closed_with({"--ignore-trace-delays"}).gap, GapRule::none);
    EXPECT_EQ(closed_with({"--use-end-to-start-delays"}).gap, GapRule::end_to_start);
    EXPECT_EQ(closed_with({"--use-think-time-only"}).gap, GapRule::end_to_start);
    EXPECT_TRUE(says(refusal_with({"--timing-strategy", "original", "--sessions", "closed"}),
                     "counting the answer's time twice; use start-to-start"));
    EXPECT_TRUE(says(refusal_with({"--timing-strategy=api-scaled", "--sessions", "closed"}),
                     "use end-to-start"));
}

}  // namespace
}  // namespace driftless

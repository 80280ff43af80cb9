#include "cmd/mock/behaviour.hpp"

#include <gtest/gtest.h>

#include <string>

namespace driftless::mock {
namespace {

// Without jitter the schedule is the arithmetic that the flags say.
TEST(AnswerSchedule, FollowsTheFlagsExactly) {
    Pace pace;
    pace.first = milliseconds(5);
    pace.per_uncached_token = {250};
    pace.between = milliseconds(10);
    AnswerSchedule schedule;
    schedule.start(pace, {1'000}, 4'000, 3);
    EXPECT_EQ(schedule.next().ns, 1'000 + 5'000'000 + 4'000 * 250);
    schedule.advance(pace, 1);
    EXPECT_EQ(schedule.next().ns, 1'000 + 6'000'000 + 10'000'000);
    schedule.advance(pace, 4);
    EXPECT_EQ(schedule.next().ns, 1'000 + 6'000'000 + 50'000'000);
}

// Jitter: the same seed gives the same instants, another seed others, each delay within its bound.
TEST(AnswerSchedule, JitterIsSeededAndBounded) {
    Pace pace;
    pace.jitter = 0.25;
    AnswerSchedule one;
    AnswerSchedule same;
    AnswerSchedule other;
    one.start(pace, {0}, 0, 42);
    same.start(pace, {0}, 0, 42);
    other.start(pace, {0}, 0, 43);
    Instant before{0};
    std::int64_t delay = pace.first.ns;
    int equal_to_other = 0;
    double sum = 0;
    for (int i = 0; i < 1000; ++i) {
        ASSERT_EQ(one.next(), same.next());
        const double stretch =
            static_cast<double>(one.next().ns - before.ns) / static_cast<double>(delay);
        ASSERT_GE(stretch, 0.75 - 1e-6);
        ASSERT_LE(stretch, 1.25 + 1e-6);
        sum += stretch;
        equal_to_other += one.next() == other.next();
        before = one.next();
        delay = pace.between.ns;
        one.advance(pace, 1);
        same.advance(pace, 1);
        other.advance(pace, 1);
    }
    EXPECT_LT(equal_to_other, 2);
    EXPECT_NEAR(sum / 1000, 1.0, 0.02);  // 0.25 / sqrt(3 * 1000) = 0.0046: four of these
}

// The row of a request id; probes and foreign ids have none.
TEST(Behaviour, ReadsTheRowOfARequestId) {
    EXPECT_EQ(row_of_request_id("run7-12"), 12u);
    EXPECT_EQ(row_of_request_id("a-b-000017"), 17u);
    EXPECT_EQ(row_of_request_id("0badcafe-0000-8000-a000-000000000003"), std::nullopt);
    EXPECT_EQ(row_of_request_id("0badcafe-0000-8003-8001-000000000012"), 12u);
    EXPECT_EQ(row_of_request_id("0badcafe-0000-8000-9000-000000000012"), 12u);
    EXPECT_EQ(row_of_request_id("run7-12.x"), std::nullopt);
    EXPECT_EQ(row_of_request_id("run7"), std::nullopt);
    EXPECT_EQ(row_of_request_id("run-"), std::nullopt);
    EXPECT_EQ(row_of_request_id("run-12x"), std::nullopt);
    EXPECT_EQ(row_of_request_id("run--1"), 1u);
    EXPECT_EQ(row_of_request_id(""), std::nullopt);
    EXPECT_EQ(row_of_request_id("r-99999999999999999999"), std::nullopt);
}

// Every name that the message lists is known, and reads back to itself.
TEST(Behaviour, NamesOfFaultsRoundTrip) {
    std::string names = fault_names();
    names += ", ";
    int count = 0;
    for (std::size_t at = 0; at < names.size(); at = names.find(", ", at) + 2, ++count) {
        const std::string name = names.substr(at, names.find(", ", at) - at);
        ASSERT_TRUE(find_fault(name)) << name;
        EXPECT_EQ(name, name_of(*find_fault(name)));
    }
    EXPECT_EQ(count, 9);
    EXPECT_FALSE(find_fault("none"));
}

// A row's rule wins over probabilities; probabilities are met over many requests.
TEST(Behaviour, ChoosesFaultsByRowAndByProbability) {
    const std::vector<FaultRule> rules = {{Fault::stall, 0, 5},
                                          {Fault::reset, 0.25, std::nullopt},
                                          {Fault::http_429, 0.5, std::nullopt},
                                          {Fault::refuse, 0.125, std::nullopt}};
    EXPECT_EQ(fault_of_request(rules, 5, 1), Fault::stall);
    int resets = 0;
    int limits = 0;
    int none = 0;
    int refused = 0;
    const int requests = 40'000;
    for (int i = 0; i < requests; ++i) {
        const std::uint64_t seed = mix64(static_cast<std::uint64_t>(i));
        const Fault fault = fault_of_request(rules, 6, seed);
        resets += fault == Fault::reset;
        limits += fault == Fault::http_429;
        none += fault == Fault::none;
        refused += refuses_connection(rules, seed);
        EXPECT_EQ(fault, fault_of_request(rules, 6, seed));
    }
    // Four standard deviations of a binomial at 40,000 are below 0.01.
    EXPECT_NEAR(resets / double{requests}, 0.25, 0.01);
    EXPECT_NEAR(limits / double{requests}, 0.5, 0.01);
    EXPECT_NEAR(none / double{requests}, 0.25, 0.01);
    EXPECT_NEAR(refused / double{requests}, 0.125, 0.01);
}

}  // namespace
}  // namespace driftless::mock

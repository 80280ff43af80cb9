// The flags of rates and of closed loops: what they mean, and one clear line for what is wrong.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/cmd/replay/flags/parse_flags.hpp"
#include "tests/unit/scratch_folder.hpp"

namespace driftless {
namespace {

ArrivalRules rules_with(const Words& flags) {
    const WorkloadFlags workload = options_with(flags).workload;
    EXPECT_TRUE(workload.arrivals);
    return workload.arrivals.value_or(ArrivalRules());
}

TEST(RateOptions, AreNoneByDefault) {
    const WorkloadFlags workload = options_with({}).workload;
    EXPECT_FALSE(workload.arrivals);
    EXPECT_FALSE(workload.concurrency);
    EXPECT_FALSE(workload.files.times_free);
}

TEST(RateOptions, AreRead) {
    for (const auto& [text, rate] : {std::pair{"10", 10.0}, std::pair{"2.5/s", 2.5},
                                     std::pair{"600/m", 10.0}, std::pair{"1e3/h", 1e3 / 3600}}) {
        EXPECT_EQ(rules_with({"--rate", text}).curve.last_rate(), rate) << text;
    }
    const ArrivalRules plain = rules_with({"--rate", "10", "--seed", "4", "--duration", "9s"});
    EXPECT_EQ(plain.law, ArrivalLaw::poisson);
    EXPECT_EQ(plain.seed, 4u);
    EXPECT_EQ(plain.duration_ns, 9'000'000'000);
    EXPECT_FALSE(plain.by_trees);
    EXPECT_FALSE(plain.scaled);
    EXPECT_TRUE(rules_with({"--rate", "inf"}).all_at_once);
    EXPECT_TRUE(rules_with({"--rate", "1", "--sessions", "closed"}).by_trees);
    const ArrivalRules gamma = rules_with({"--rate", "1", "--arrivals", "gamma:0.5:scaled"});
    EXPECT_EQ(gamma.law, ArrivalLaw::gamma);
    EXPECT_EQ(gamma.shape, 0.5);
    EXPECT_TRUE(gamma.scaled);
    EXPECT_TRUE(options_with({"--rate", "1"}).workload.files.times_free);
    EXPECT_FALSE(options_with({"--rate", "1", "--arrivals", "recorded"}).workload.files.times_free);
}

TEST(RateOptions, AreRamps) {
    EXPECT_EQ(rules_with({"--ramp", "0:10:20s"}).curve.arrivals_by(20), 100);
    EXPECT_EQ(rules_with({"--ramp", "60/m:10:1m:steps=2"}).curve.arrivals_by(60), 330);
    const ArrivalRules curved = rules_with({"--ramp", "1:4:10s:exponential"});
    EXPECT_NEAR(curved.curve.arrivals_by(5), 5 / std::log(2.0), 1e-9);
    const ArrivalRules rows = rules_with({"--ramp", "1:4:rows:exponential"});
    ASSERT_TRUE(rows.over_rows);
    EXPECT_EQ(rows.over_rows->form, RampForm::exponential);
}

TEST(RateOptions, AreRefused) {
    const std::vector<std::pair<Words, const char*>> cases = {
        {{"--rate", "0"}, "--rate \"0\" is not a rate above 0"},
        {{"--rate", "-3"}, "--rate \"-3\" is not a rate above 0"},
        {{"--rate", "nan"}, "--rate \"nan\" is not a rate above 0"},
        {{"--rate", "10/d"}, "use 10 (a second)"},
        {{"--rate", "1e10"}, "is more than 10^9 per second"},
        {{"--ramp", "1:1e300:1s"}, "has a rate above 10^9 per second; lower it"},
        {{"--ramp", "1:20"}, "--ramp \"1:20\" is not FROM:TO:OVER"},
        {{"--ramp", "1:20:0s"}, "has a time of 0; give a time above 0"},
        {{"--ramp", "0:0:9s"}, "has no rate above 0"},
        {{"--ramp", "0:5:9s:exponential"}, "exponential ramps"},
        {{"--ramp", "1:5:9s:steps=1"}, "N from 2 to 1000"},
        {{"--ramp", "1:5:9s:cubic"}, "is not FROM:TO:OVER"},
        {{"--rate", "1", "--arrivals", "gamma:0"}, "is not one of constant, poisson, gamma:K"},
        {{"--rate", "1", "--arrivals", "gamma:-1"}, "K from 0.01"},
        {{"--rate", "1", "--arrivals", "recorded:scaled"}, "is not one of"},
        {{"--arrivals", "poisson"}, "add --rate R"},
        {{"--rate", "inf", "--arrivals", "poisson"}, "has no gaps to draw"},
        {{"--rate", "1", "--ramp", "1:5:9s"}, "--rate and --ramp both set the rate"},
        {{"--rate", "1", "--speed", "2"}, "remove --speed"},
        {{"--rate", "1", "--spread"}, "--spread changes recorded instants"},
        {{"--rate", "1", "--users", "4"}, "with --users a session begins when another has ended"},
        {{"--shape", "/no/such"}, "--shape /no/such: cannot be read"},
        {{"--concurrency", "0"}, "--concurrency \"0\""},
        {{"--concurrency", "4", "--rate", "9"}, "--max-inflight N"},
        {{"--concurrency", "4", "--users", "9"}, "--users applies to sessions"},
        {{"--concurrency", "4", "--sessions", "closed"}, "--sessions applies to sessions"},
        {{"--concurrency", "4", "--warmup-requests", "1"}, "--warmup-requests applies to sessions"},
        {{"--concurrency", "4", "--duration", "9s"}, "use --for T instead"},
        {{"--concurrency", "4", "--speed", "2"}, "--speed changes recorded instants"},
        {{"--concurrency", "4", "--recycle"}, "add --for T to end the run"},
        {{"--concurrency", "4", "--header", "A: {user}"}, "any place can send it"},
    };
    for (const auto& [flags, part] : cases) {
        const std::string why = refusal_with(flags);
        EXPECT_TRUE(says(why, part)) << why;
    }
}

std::string shape_of(const std::string& lines, RateCurve* curve = nullptr) {
    const ScratchFolder folder;
    const ReplayCommandLine line = parse_flags({"--shape", folder.write("shape.csv", lines)});
    if (curve != nullptr && line.options.workload.arrivals) {
        *curve = line.options.workload.arrivals->curve;
    }
    const std::size_t at = line.text.find("shape.csv");
    return at == line.text.npos ? line.text : line.text.substr(at);
}

TEST(RateOptions, AreShapes) {
    RateCurve curve(0);
    EXPECT_EQ(shape_of("seconds,rate\n# a day\n0, 0\r\n\n10,60/m\n10,3\n20,3", &curve), "");
    EXPECT_NEAR(curve.arrivals_by(10), 5, 1e-12);
    EXPECT_NEAR(curve.arrivals_by(20), 35, 1e-12);
    EXPECT_EQ(curve.last_rate(), 3) << "it stays";
    for (const auto& [lines, why] :
         {std::pair{"", "shape.csv: has no line"}, std::pair{"0,5\n", "shape.csv: has one line"},
          std::pair{"0,5\n9\n", "shape.csv:2: \"9\" is not SECONDS,RATE"},
          std::pair{"0,5\n9,x\n", "shape.csv:2: \"9,x\" is not SECONDS,RATE"},
          std::pair{"0,5\n9,-1\n", "shape.csv:2: \"9,-1\" is not"},
          std::pair{"1,5\n9,1\n", "shape.csv:1: \"1,5\" does not begin at second 0"},
          std::pair{"0,5\n9,1\n8,1\n", "shape.csv:3: \"8,1\" is earlier than the line before"},
          std::pair{"0,0\n9,0\n", "shape.csv: its rate is always 0"}}) {
        EXPECT_TRUE(shape_of(lines).starts_with(why)) << shape_of(lines);
    }
}

TEST(RateOptions, KeepRowsOpen) {
    const WorkloadFlags workload = options_with({"--concurrency", "8", "--recycle", "--for", "1m",
                                                 "--on-failure", "retry:2", "--user-ramp", "5s"})
                                       .workload;
    EXPECT_EQ(workload.users.users, 8u);
    EXPECT_TRUE(workload.users.single_rows);
    EXPECT_TRUE(workload.users.recycle);
    EXPECT_EQ(workload.users.failures.retries_max, 2u);
    EXPECT_EQ(workload.files.sessions, Sessions::recorded);
    EXPECT_TRUE(workload.files.times_free);
}

TEST(AbandonOption, IsReadOrRefused) {
    EXPECT_FALSE(options_with({}).sending.abandon);
    const auto rules = options_with({"--abandon", "10%:2s..10s"}).sending.abandon;
    ASSERT_TRUE(rules);
    EXPECT_EQ(rules->share, 0.1);
    EXPECT_EQ(rules->from_ns, 2'000'000'000);
    EXPECT_EQ(rules->to_ns, 10'000'000'000);
    EXPECT_EQ(options_with({"--abandon", "1:0..500ms"}).sending.abandon->share, 1);
    for (const char* const wrong : {"10%", "10%:2s", "0:1s..2s", "101%:1s..2s", "10%:2s..1s",
                                    "10%:0..0", "10%:1..2x", "x:1s..2s", "..:", "-1:1s..2s"}) {
        EXPECT_NE(refusal_with({"--abandon", wrong}).find("use 10%:2s..10s"), std::string::npos)
            << wrong;
    }
}

}  // namespace
}  // namespace driftless

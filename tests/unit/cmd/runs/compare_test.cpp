// Runs that are compared.

#include "cmd/runs/compare.hpp"

#include "cmd/flags/settings.hpp"
#include "tests/unit/cmd/runs/made_sides.hpp"
#include "tests/unit/made.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {

// --fail-if of a comparison: what people type, and that the interval decides, not the point.

namespace {

ChangeThreshold parsed(const char* text) {
    const Result<ChangeThreshold> read = parse_change_threshold(text);
    EXPECT_TRUE(read) << text;
    return read ? read.value() : ChangeThreshold();
}

TEST(ChangeThreshold, ReadsChangesAndBoundsOfBOrSaysWhatIsWrong) {
    const ChangeThreshold change = parsed("ttft:p99 > +5 %");
    EXPECT_EQ(change.metric.name(), "ttft:p99");
    EXPECT_TRUE(change.above && change.relative);
    EXPECT_DOUBLE_EQ(change.bound, 0.05);
    const ChangeThreshold less = parsed("request_throughput<-2.5%");
    EXPECT_FALSE(less.above);
    EXPECT_DOUBLE_EQ(less.bound, -0.025);
    const ChangeThreshold own = parsed("ttft:p99 >= 2s");
    EXPECT_FALSE(own.relative);
    EXPECT_DOUBLE_EQ(own.bound, 2e9);
    const ChangeThreshold share = parsed("errors > 0.1 %");
    EXPECT_FALSE(share.relative);
    EXPECT_DOUBLE_EQ(share.bound, 0.001);
    EXPECT_TRUE(parsed("errors > +0.1 %").relative);
    const auto remedy = [](const char* text) -> std::string {
        const Result<ChangeThreshold> read = parse_change_threshold(text);
        return read ? "" : read.error().doing;
    };
    expect_saying(
        remedy, gives("ttft:p99", "has no comparison"), gives("speed > 5 %", "is not a metric"),
        gives("itl:p99 > 5ms", "is not a metric"), gives("ttft:p99 > 5", "a time with its unit"),
        gives("ttft:p99 > +5", "a change in percent"),
        gives("ttft:p99 > +-5 %", "a change in percent"),
        gives("ttft:p99 > + %", "a change in percent"), gives("errors > 101 %", "from 0 to 100 %"),
        gives("errors > 100 %", "never holds"), gives("good < 0 %", "never holds"),
        gives("goodput < 3", "cannot have an absolute bound"),
        gives("ttft:p50 < -101 %", "is decided by no run"),
        gives("ttft:p50 > -100 %", "is decided by no run"),
        gives("errors > +101 %", "is decided by no run"));
    EXPECT_EQ(remedy("ttft:p50 > +500 %") + remedy("errors > +99 %"), "");
}

/// B is exactly 1.1 times A, so that the interval is narrow around 10 %.
class Judging : public testing::Test {
  protected:
    JudgedThreshold judge(const ChangeThreshold& threshold) const {
        return judge_changes({&threshold, 1}, {{&a_, 1}, {&b_, 1}},
                             ComparisonOptions{.resamples = 400}, within_runs_)
            .front();
    }
    Judged judged(const char* text) const { return judge(parsed(text)).judged; }

    bool within_runs_ = true;
    ComparedRun a_ = made_side(1).compared;
    ComparedRun b_ = made_side(1.1).compared;
};

TEST_F(Judging, OfAChange) {
    EXPECT_EQ(judged("ttft:mean > +5 %"), Judged::fails);
    EXPECT_EQ(judged("ttft:mean > +15 %"), Judged::passes);
    EXPECT_EQ(judged("ttft:mean < -5 %"), Judged::passes);
    EXPECT_EQ(judged("ttft:mean < +15 %"), Judged::fails);
}

// A change needs repeats, or the wish to judge these runs alone; B alone needs neither.
TEST_F(Judging, OfOneRunASide) {
    within_runs_ = false;
    const JudgedThreshold found = judge(parsed("ttft:mean > +5 %"));
    EXPECT_EQ(found.judged, Judged::unsure);
    EXPECT_TRUE(says(found_text(found), "; a side has only one run"));
    EXPECT_EQ(judged("ttft:mean > 15ms"), Judged::fails);
    EXPECT_EQ(judged("errors > 20 %"), Judged::passes);
}

TEST_F(Judging, OfATaintedSide) {
    for (std::size_t row = 0; row < 5; ++row) {
        b_.requests[row].tainted = true;
    }
    EXPECT_EQ(judged("ttft:mean > +5 %"), Judged::unsure);
    EXPECT_EQ(judged("ttft:mean > 15ms"), Judged::fails);
}

TEST_F(Judging, OfBAlone) {
    EXPECT_EQ(judged("ttft:mean > 15ms"), Judged::fails);
    EXPECT_EQ(judged("ttft:mean > 40ms"), Judged::passes);
    EXPECT_EQ(judged("errors > 20 %"), Judged::passes);
    EXPECT_EQ(judged("errors > 0.1 %"), Judged::unsure);  // 200 without a failure
}

/// A bound inside the interval is unsure, on whichever side of the point it lies.
TEST_F(Judging, ByTheIntervalAndNotByThePoint) {
    ChangeThreshold threshold = parsed("ttft:mean > 15ms");
    const JudgedThreshold found = judge(threshold);
    EXPECT_EQ(found.judged, Judged::fails);
    ASSERT_LT(found.low, found.value);
    ASSERT_GT(found.high, found.value);
    threshold.bound = (found.low + found.value) / 2;
    EXPECT_EQ(judge(threshold).judged, Judged::unsure);
    threshold.bound = (found.high + found.value) / 2;
    EXPECT_EQ(judge(threshold).judged, Judged::unsure);
    threshold.above = false;
    EXPECT_EQ(judge(threshold).judged, Judged::unsure);
    threshold.bound = 2 * found.high;
    EXPECT_EQ(judge(threshold).judged, Judged::fails);
}

TEST_F(Judging, WhatNobodyMeasuredFails) {
    EXPECT_EQ(judged("tpot:p50 > +5 %"), Judged::fails);
    EXPECT_EQ(judged("ttft:p99.9 > +5 %"), Judged::unsure);  // too few values: no figure
}

/// What 200 requests cannot say is refused, with the number that can.
TEST_F(Judging, OfRunsThatAreTooSmall) {
    ComparisonOptions options{.resamples = 400};
    const auto why = [&](const char* text, bool unsure_fails, const ComparedRun& b) {
        const ChangeThreshold threshold = parsed(text);
        return why_too_small({&threshold, 1}, {{&a_, 1}, {&b, 1}}, options, unsure_fails);
    };
    ASSERT_EQ(b_.requests.size(), 200U);
    EXPECT_TRUE(says(why("ttft:p99 > +5 %", false, b_), "needs 662 requests"));
    EXPECT_EQ(why("ttft:p95 > +5 %", false, b_), "");  // 130
    EXPECT_EQ(why("errors > 0.1 %", false, b_), "");
    for (const char* text : {"errors > 0.1 %", "errors > +0.1 %"}) {
        const std::string said = why(text, true, b_);
        const std::size_t at = said.find("about ");
        ASSERT_NE(at, std::string::npos) << said;
        const auto needed = static_cast<std::size_t>(std::stoul(said.substr(at + 6)));
        EXPECT_NEAR(static_cast<double>(needed), 2770, 30) << said;
        // So many are enough, and a few less are not.
        ComparedRun many = b_;
        for (ComparedRun* const run : {&a_, &many}) {
            run->requests.resize(needed, run->requests.front());
            for (std::size_t i = 0; i < needed; ++i) {
                run->requests[i].key = i;
                run->requests[i].tree = 0;
            }
        }
        EXPECT_EQ(why(text, true, many), "");
        many.requests.resize(needed - 40);
        EXPECT_NE(why(text, true, many), "");
        a_ = made_side(1).compared;
    }
    EXPECT_EQ(why("errors > 0 %", false, b_), "");
    EXPECT_TRUE(says(why("errors > 0 %", true, b_), "no number of requests"));
    EXPECT_EQ(why("errors > 5 %", true, b_), "");
    EXPECT_EQ(why("ttft:mean > +5 %", true, b_), "");
}

PlayedRun played(const std::string& folder) {
    PlayedRun run{.folder = folder,
                  .facts = {.ended = true,
                            .trace_digest = 1,
                            .schedule_digest = 2,
                            .prompts_digest = 3,
                            .rows = 10}};
    run.facts.info.run.expected_cached_tokens = 0;  // it is not recorded text
    run.facts.info.run.output = "exact";
    return run;
}

std::vector<std::string> names_of(const std::vector<WorkDifference>& differences) {
    return members_of(differences, &WorkDifference::what);
}

using Names = std::vector<std::string>;

TEST(SameWork, NamesDifferencesAndTheirRemedies) {
    EXPECT_TRUE(work_differences({played("a")}, {played("b")}).empty());
    EXPECT_EQ(heaviest({}), Weight::told);
    PlayedRun other = played("b");
    other.facts.info.run.seed = 7;
    other.facts.info.run.limit = 10;
    EXPECT_TRUE(work_differences({played("a")}, {other}).empty()) << "digests say what was played";
    other.facts.info.run.limit.reset();
    other.facts.prompts_digest = 4;
    const std::vector<WorkDifference> found = work_differences({played("a")}, {other});
    ASSERT_EQ(names_of(found), Names{"seed"});
    EXPECT_EQ(std::tuple(found[0].a, found[0].b, found[0].run), std::tuple("0", "7", "b"));
    EXPECT_EQ(found[0].weight, Weight::refused);
    EXPECT_FALSE(found[0].remedy.empty());
    other = played("b");
    other.facts.trace_digest = 9;
    other.facts.schedule_digest = 9;  // explained by the trace
    other.facts.prompts_digest = 9;
    const std::vector<WorkDifference> other_found = work_differences({played("a")}, {other});
    EXPECT_EQ(names_of(other_found), Names{"trace"});
    EXPECT_EQ(heaviest(other_found), Weight::no_pairs);
    other = played("b");
    other.facts.schedule_digest = 9;
    other.facts.prompts_digest = 9;
    EXPECT_EQ(names_of(work_differences({played("a")}, {other})),
              (Names{"due instants", "prompt digests"}));
    // A flag that has no part of its own is named: it explains the digests.
    other.facts.arguments = {"t", "--user-ramp=5s"};
    Comparison comparison{.a = {played("a")}};
    comparison.differences = work_differences(comparison.a, {other});
    EXPECT_TRUE(says(refusal_text(comparison), "  settings: a has none; b has --user-ramp=5s\n"));
    other.facts.arguments.clear();
    other.facts.prompts_digest.reset();  // it was cut short: what prompts are made of is equal
    EXPECT_EQ(names_of(work_differences({played("a")}, {other})), Names{"due instants"});
}

TEST(SameWork, WhatEndedEarlyOrHasASaltOfItsOwn) {
    PlayedRun other = played("b");
    other.counts.unplayed = 4;
    EXPECT_EQ(names_of(work_differences({played("a")}, {other})), Names{"completeness"});
    other.counts.unplayed = 0;
    other.facts.has_users = other.killed = true;
    EXPECT_EQ(names_of(work_differences({played("a")}, {other})), Names{"completeness"});
    other = played("b");
    other.counts.interrupted = 3;  // resumed since, and complete but for these
    const auto lost = work_differences({played("a")}, {other});
    EXPECT_EQ(names_of(lost), Names{"completeness"});
    EXPECT_TRUE(says(lost.front().remedy, "--from"));
    other = played("b");
    other.goes_on = true;
    EXPECT_EQ(work_differences({played("a")}, {other}).front().b, "is still running");
    std::vector<PlayedRun> a{played("a1"), played("a2")};
    std::vector<PlayedRun> b{played("b1"), played("b2")};
    a[0].facts.info.run.cache_salt = b[1].facts.info.run.cache_salt = "x";
    a[1].facts.info.run.cache_salt = b[0].facts.info.run.cache_salt = "y";
    a[0].facts.prompts_digest = b[1].facts.prompts_digest = 8;
    EXPECT_TRUE(work_differences(a, b).empty());
    b[1].facts.info.run.cache_salt = "z";
    const std::vector<WorkDifference> found = work_differences(a, b);
    ASSERT_EQ(names_of(found), Names{"cache salt"});
    EXPECT_EQ(std::tuple(found[0].a, found[0].b), std::tuple("x, y", "y, z"));
}

TEST(SameWork, ServersAndSettingsAreTold) {
    PlayedRun other = played("b");
    other.facts.info.model_id = "larger";
    other.facts.arguments = {"trace.jsonl", "--url=http://b", "--max-inflight=8"};
    other.facts.segments = {{}, {.driver = "epoll"}};
    PlayedRun first = played("a");
    first.facts.arguments = {"trace.jsonl", "--url=http://a", "--driver=io_uring"};
    first.facts.segments.resize(1);
    const std::vector<WorkDifference> found = work_differences({first}, {other});
    EXPECT_EQ(names_of(found), (Names{"model", "driver", "settings"}));
    EXPECT_EQ(std::tuple(found[1].a, found[1].b), std::tuple("io_uring", "io_uring, then epoll"));
    EXPECT_EQ(found[2].b, "--max-inflight=8");
    EXPECT_EQ(heaviest(found), Weight::told);
    const auto [a, b] = differing_settings({"t", "--timeout-idle=5s", "--header=A: b", "--seed=1"},
                                           {"t", "--header=A: b", "--seed=2"});
    EXPECT_EQ(std::tuple(a, b), std::tuple("--timeout-idle=5s", ""));
    // Flags of which digests show that they decided nothing.
    first = other = played("a");
    other.facts.arguments = {"t", "--replicate-within=60s", "--block-size=512", "--max-trees=99"};
    EXPECT_TRUE(work_differences({first}, {other}).empty());
    other.facts.prompts_digest = 4;
    EXPECT_EQ(names_of(work_differences({first}, {other})), (Names{"--max-trees", "settings"}));
    // Typed otherwise, or typed though it is the default, the load is the same.
    for (const auto& [rate, speed] :
         {std::pair("50", "40"), std::pair("3000/m", "40.0"), std::pair("50/s", "40")}) {
        first = played("a");
        first.facts.info.run.arrival = ArrivalFacts{.rate = "50"};
        first.facts.info.run.speed = "40";
        other = played("b");
        other.facts.info.run.arrival = ArrivalFacts{.rate = rate};
        other.facts.info.run.speed = speed;
        other.facts.info.run.start_ns = 0;
        EXPECT_TRUE(work_differences({first}, {other}).empty()) << rate << " " << speed;
    }
    first.facts.info.run.arrival = ArrivalFacts{.rate = "ramp 1:20:60s"};
    other.facts.info.run.arrival = ArrivalFacts{.rate = "ramp 60/m:20:1m:linear"};
    EXPECT_TRUE(work_differences({first}, {other}).empty());
    other.facts.info.run.arrival = ArrivalFacts{.rate = "ramp 1:20:60s:exponential"};
    EXPECT_TRUE(work_differences({first}, {other}).empty()) << "the instants are equal";
    other.facts.schedule_digest = 9;
    EXPECT_EQ(names_of(work_differences({first}, {other})), Names{"load"});
    // What says the rate is compared as load, and its instants: not once more as settings.
    const auto [other_a, other_b] = differing_settings({"t", "--ramp=0:5:10s", "--rate=3"},
                                                       {"t", "--ramp=0:9:10s", "--shape=/b.csv"});
    EXPECT_EQ(std::tuple(other_a, other_b), std::tuple("", ""));
}

TEST(Difference, IsAboveZero) {
    EXPECT_EQ(parse_difference("3 %").value(), 0.03);
    for (const char* text : {"0", "0%", "0 %", "0.0", "51 %", "x"}) {
        EXPECT_TRUE(says(parse_difference(text).error().doing, "above 0, at most 50 %")) << text;
    }
    EXPECT_EQ(parse_margin("0").value(), 0);
}

}  // namespace
}  // namespace driftless

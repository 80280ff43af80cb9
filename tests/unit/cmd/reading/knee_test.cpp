// The search for the knee, against servers whose knee is known.

#include <gtest/gtest.h>

#include <functional>
#include <queue>
#include <random>

#include "cmd/runs/find.hpp"

namespace driftless {

namespace {

using Server = std::function<ProbeResult(const KneeProbe&)>;

struct Played {
    Knee knee;
    std::vector<ProbeDone> done;
};

Played play(const SearchRules& rules, const Server& server) {
    Played played;
    for (;;) {
        const SearchStep step = next_step(rules, played.done);
        played.knee = step.knee;
        if (!step.next) {
            EXPECT_NE(step.knee.state, SearchState::searching);
            return played;
        }
        EXPECT_EQ(step.knee.state, SearchState::searching);
        EXPECT_GE(step.next->value, rules.low);
        EXPECT_LE(step.next->value, rules.high);
        played.done.push_back({*step.next, server(*step.next)});
        if (played.done.size() > probes_max) {
            ADD_FAILURE() << "does not end";
            return played;
        }
    }
}

Server knee_at(double knee) {
    return [knee](const KneeProbe& probe) {
        return probe.value <= knee ? ProbeResult::meets : ProbeResult::fails;
    };
}

SearchRules whole(double high, double start = 1) {
    return {.high = high, .start = start, .replicates = 2};
}

SearchRules real(double low, double high, double start) {
    return {.whole = false, .low = low, .high = high, .start = start, .replicates = 2};
}

TEST(KneeSearch, FindsEveryWholeKnee) {
    for (int knee = 1; knee < 300; ++knee) {
        for (const double start : {1.0, 7.0, 300.0}) {
            const Played played = play(whole(300, start), knee_at(knee));
            EXPECT_EQ(played.knee.state, SearchState::found);
            ASSERT_TRUE(played.knee.pass && played.knee.fail);
            EXPECT_LE(*played.knee.pass, knee);
            EXPECT_GT(*played.knee.fail, knee);
            EXPECT_LE(*played.knee.fail - *played.knee.pass,
                      std::max(1.0, 0.05 * *played.knee.pass));
            EXPECT_EQ(played.knee.low, played.knee.pass) << knee;
            EXPECT_EQ(played.knee.high, played.knee.fail) << knee;
            EXPECT_TRUE(played.knee.monotone);
        }
    }
}

TEST(KneeSearch, FindsRealKneesWithFewDigits) {
    std::mt19937 random(1);
    for (int i = 0; i < 300; ++i) {
        const double knee = std::exp(std::uniform_real_distribution(-4.0, 7.0)(random));
        const Played played = play(real(1e-6, 1e6, 1), knee_at(knee));
        EXPECT_EQ(played.knee.state, SearchState::found);
        EXPECT_LE(*played.knee.pass, knee);
        EXPECT_GT(*played.knee.fail, knee);
        EXPECT_LE(*played.knee.fail, *played.knee.pass * 1.0501);
        EXPECT_LT(played.done.size(), 30U);
        char text[32];
        (void)std::snprintf(text, sizeof text, "%.5g", *played.knee.pass);
        EXPECT_DOUBLE_EQ(std::stod(text), *played.knee.pass);
    }
}

// Bracket, bisection, one below, and the replicates: in this order, with seeds of their own.
TEST(KneeSearch, ProbesInOrder) {
    const Played played = play(whole(1000), knee_at(11));
    std::string said;
    for (const ProbeDone& one : played.done) {
        said += std::to_string(static_cast<int>(one.probe.value)) + ":" +
                std::to_string(one.probe.seed) + " " + name_of(one.probe.purpose) + ", ";
    }
    EXPECT_EQ(said,
              "1:0 bracket, 2:0 bracket, 4:0 bracket, 8:0 bracket, 16:0 bracket, 12:0 bisect, "
              "10:0 bisect, 11:0 bisect, 11:1 replicate, 11:2 replicate, 12:1 replicate, "
              "12:2 replicate, ");
    const Played coarse = play(whole(1000, 16), knee_at(1000));
    EXPECT_EQ(coarse.knee.state, SearchState::highest_passes);
}

TEST(KneeSearch, ProbesOnceBelowTheBoundary) {
    const Played played = play(whole(1000, 100), [](const KneeProbe& probe) {
        return probe.value < 101 ? ProbeResult::meets : ProbeResult::fails;
    });
    EXPECT_EQ(std::count_if(played.done.begin(), played.done.end(),
                            [](const ProbeDone& one) {
                                return one.probe.purpose == Purpose::below && one.probe.value == 85;
                            }),
              1);
}

TEST(KneeSearch, EndsAtTheBounds) {
    const Played low = play(whole(64, 8), knee_at(0));
    EXPECT_EQ(low.knee.state, SearchState::lowest_fails);
    EXPECT_FALSE(low.knee.pass);
    EXPECT_EQ(low.knee.fail, 1);
    const Played high = play(whole(50, 8), knee_at(50));
    EXPECT_EQ(high.knee.state, SearchState::highest_passes);
    EXPECT_EQ(high.knee.pass, 50);
    EXPECT_FALSE(high.knee.fail);
    const Played only = play(whole(1), knee_at(1));
    EXPECT_EQ(only.knee.state, SearchState::highest_passes);
    EXPECT_EQ(only.done.size(), 1U);
}

TEST(KneeSearch, RepeatsWhatWasSpoiledAndGivesUp) {
    unsigned spoiled = 0;
    const Played played = play(whole(64), [&](const KneeProbe& probe) {
        const bool first = probe.attempt < 2;
        spoiled += first ? 1 : 0;
        return first ? ProbeResult::spoiled : knee_at(9)(probe);
    });
    EXPECT_EQ(played.knee.pass, 9);
    EXPECT_EQ(played.knee.fail, 10);
    EXPECT_EQ(spoiled * 3, played.done.size() * 2);

    const Played given_up = play(whole(64), [](const KneeProbe& probe) {
        return probe.value > 4 ? ProbeResult::spoiled : ProbeResult::meets;
    });
    EXPECT_EQ(given_up.knee.state, SearchState::spoiled);
    EXPECT_EQ(given_up.knee.pass, 4);
    EXPECT_FALSE(given_up.knee.fail);
    EXPECT_EQ(given_up.done.size(), 3U + 3U);
}

// A load below the boundary that fails twice is the boundary: 20 fails although 24 passes.
TEST(KneeSearch, KeepsBelowAFailureThatRepeats) {
    const auto dip = [](const KneeProbe& probe) {
        const bool meets = probe.value <= 24 && !(probe.value >= 19 && probe.value <= 21);
        return meets ? ProbeResult::meets : ProbeResult::fails;
    };
    const Played played = play(whole(64, 24), dip);
    EXPECT_EQ(played.knee.state, SearchState::found);
    EXPECT_EQ(played.knee.pass, 18);
    EXPECT_EQ(played.knee.fail, 19);
    EXPECT_FALSE(played.knee.monotone);
    // By chance, once: the boundary stays.
    const Played chance = play(whole(64, 24), [&](const KneeProbe& probe) {
        return probe.seed == 0 ? dip(probe) : knee_at(24)(probe);
    });
    EXPECT_EQ(chance.knee.pass, 24);
    EXPECT_EQ(chance.knee.fail, 25);
    EXPECT_TRUE(chance.knee.monotone);
}

// Replicates that disagree widen the interval to loads at which all agree.
TEST(KneeSearch, WidensTheInterval) {
    const Played played = play(whole(400, 100), [](const KneeProbe& probe) {
        const double knee = probe.seed == 0 ? 200 : probe.seed == 1 ? 185 : 230;
        return knee_at(knee)(probe);
    });
    ASSERT_TRUE(played.knee.low && played.knee.high);
    EXPECT_LE(*played.knee.low, 185);
    EXPECT_GT(*played.knee.high, 230);
    EXPECT_LE(*played.knee.pass, 200);
    EXPECT_GT(*played.knee.fail, 200);

    SearchRules none = whole(400, 100);
    none.replicates = 0;
    const Played bare = play(none, knee_at(200));
    EXPECT_FALSE(bare.knee.low || bare.knee.high);
    EXPECT_EQ(bare.knee.state, SearchState::found);
}

// Where every answer is chance it ends all the same.
TEST(KneeSearch, AlwaysEnds) {
    std::mt19937 random(7);
    for (int i = 0; i < 2000; ++i) {
        const Played played =
            play(i % 2 == 0 ? whole(500, 20) : real(0.1, 500, 20), [&](const KneeProbe&) {
                const auto draw = random() % 10;
                return draw < 5   ? ProbeResult::meets
                       : draw < 8 ? ProbeResult::fails
                                  : ProbeResult::spoiled;
            });
        if (played.knee.pass && played.knee.fail) {
            EXPECT_LT(*played.knee.pass, *played.knee.fail);
        }
        if (played.knee.low && played.knee.high) {
            EXPECT_LT(*played.knee.low, *played.knee.high);
        }
    }
}

// A server whose knee moves by 5 % from seed to seed: the interval holds its middle.
TEST(KneeSearch, TheIntervalHoldsTheKnee) {
    std::mt19937 random(3);
    int held = 0;
    constexpr int trials = 500;
    for (int i = 0; i < trials; ++i) {
        const double middle = std::uniform_real_distribution(10.0, 90.0)(random);
        std::vector<double> of_seed;
        for (int seed = 0; seed < 3; ++seed) {
            of_seed.push_back(middle * std::normal_distribution(1.0, 0.05)(random));
        }
        const Played played = play(real(1, 1000, 8), [&](const KneeProbe& probe) {
            return knee_at(of_seed.at(probe.seed))(probe);
        });
        const Knee& knee = played.knee;
        held += (!knee.low || *knee.low <= middle) && (!knee.high || middle <= *knee.high) ? 1 : 0;
    }
    EXPECT_GE(held, trials * 70 / 100);  // all three seeds lie on one side in a quarter of them
}

TEST(KneeSearch, RefusesRulesThatCannotBeSearched) {
    EXPECT_TRUE(check_rules(whole(10)));
    EXPECT_FALSE(check_rules(whole(0.5)));
    EXPECT_FALSE(check_rules(whole(10, 11)));
    EXPECT_FALSE(check_rules(real(0, 10, 1)));
    SearchRules rules = whole(10);
    rules.tolerance = 0;
    EXPECT_FALSE(check_rules(rules));
}

// Which runs a server did not keep up with, by simulated servers whose capacity is known.

constexpr double second = 1e9;

/// Poisson arrivals at a server of so many places, of which each answers in 1 s; `load` is the
/// share of what it can do.
std::vector<RowTimes> serve(double load, unsigned places, unsigned rows, std::uint32_t seed) {
    std::mt19937 random(seed);
    std::exponential_distribution<double> gap(load * places);
    std::priority_queue<double, std::vector<double>, std::greater<>> free;
    for (unsigned i = 0; i < places; ++i) {
        free.push(0);
    }
    std::vector<RowTimes> out;
    double at = 0;
    for (unsigned i = 0; i < rows; ++i) {
        at += gap(random);
        const double begin = std::max(at, free.top());
        free.pop();
        free.push(begin + 1);
        out.push_back({static_cast<std::int64_t>(at * second),
                       static_cast<std::int64_t>((begin + 0.02) * second),
                       static_cast<std::int64_t>((begin + 1) * second)});
    }
    return out;
}

int unstable_of_100(double load, unsigned rows) {
    int count = 0;
    for (std::uint32_t seed = 1; seed <= 100; ++seed) {
        count += judge_stability(serve(load, 8, rows, seed)).stability == Stability::unstable;
    }
    return count;
}

TEST(Stability, TellsOverloadFromLoad) {
    EXPECT_EQ(unstable_of_100(0.5, 700), 0);
    EXPECT_LE(unstable_of_100(0.8, 700), 1);
    EXPECT_LE(unstable_of_100(0.9, 700), 4);
    EXPECT_GE(unstable_of_100(1.3, 700), 95);
    EXPECT_GE(unstable_of_100(2, 700), 95);
    EXPECT_LE(unstable_of_100(0.8, 100), 4);
}

TEST(Stability, NeedsRows) {
    EXPECT_EQ(judge_stability({}).stability, Stability::unknown);
    EXPECT_EQ(judge_stability(serve(2, 8, 39, 1)).stability, Stability::unknown);
    EXPECT_NE(judge_stability(serve(0.1, 8, 200, 1)).stability, Stability::unknown);
}

/// Rows 10 ms apart.
std::vector<RowTimes> rows_of(unsigned count, const std::function<double(unsigned)>& ttft_s,
                              const std::function<double(unsigned)>& answer_s) {
    std::vector<RowTimes> rows;
    for (unsigned i = 0; i < count; ++i) {
        const double due = i * 0.01;
        rows.push_back({static_cast<std::int64_t>(due * second),
                        static_cast<std::int64_t>((due + ttft_s(i)) * second),
                        static_cast<std::int64_t>((due + answer_s(i)) * second)});
    }
    return rows;
}

// One of the two alone is no overload: a closed loop whose TTFT rises, a load that rises and is
// met.
TEST(Stability, NeedsBothToRise) {
    const auto rising = [](unsigned i) { return 0.01 * (1 + i / 50.0); };
    const auto flat = [](unsigned) { return 0.2; };
    EXPECT_EQ(judge_stability(rows_of(500, rising, flat)).stability, Stability::stable);
    EXPECT_EQ(
        judge_stability(rows_of(500, flat, [&](unsigned i) { return 0.2 + rising(i); })).stability,
        Stability::stable);
    const StabilityFinding both =
        judge_stability(rows_of(500, rising, [&](unsigned i) { return 0.01 + rising(i); }));
    EXPECT_EQ(both.stability, Stability::unstable);
    EXPECT_GT(both.ttft_ratio, 2);
    EXPECT_GT(both.waiting_ratio, 2);
}

// While the first answers are on their way the server fills: that is left out.
TEST(Stability, LeavesTheFillingOut) {
    const auto filling = [](unsigned i) { return 0.01 * (1 + std::min(i, 200U) / 50.0); };
    const auto answer = [](unsigned) { return 2.0; };  // 200 rows
    EXPECT_EQ(judge_stability(rows_of(600, filling, answer)).stability, Stability::stable);
}

// A row without a token waited until it ended.
TEST(Stability, CountsRowsWithoutATokenAsWaiting) {
    std::vector<RowTimes> rows = serve(2, 8, 700, 1);
    for (std::size_t i = 0; i < rows.size(); i += 2) {
        rows[i].first_token_ns.reset();
    }
    EXPECT_EQ(judge_stability(rows).stability, Stability::unstable);
}

}  // namespace

}  // namespace driftless

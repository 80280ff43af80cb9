// Turns that wait until others of their tree are over: any end of those will do, and the gap of a
// turn counts from its own parent all the same.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/engine/plan/user_play.hpp"

namespace driftless {
namespace {

// Two streams behind row 0; the second turn of one also waits until the first of the other is over.
struct Streams {
    UserCorpus corpus;
    std::uint32_t slow = 0;   // 1 ms behind row 0
    std::uint32_t first = 0;  // at once
    std::uint32_t held = 0;   // behind `first`, and until `slow` is over

    explicit Streams(std::int64_t slow_gap_ns, std::int64_t held_gap_ns = 0) {
        corpus.row(0, 0);
        first = corpus.row(0, 2 * one_ms, {0});
        slow = corpus.row(1, 3 * one_ms, {0}, slow_gap_ns);
        held = corpus.row(0, 90 * one_ms, {first}, held_gap_ns);
        corpus.trace.dependencies.push_back({held, slow, Trigger::over, 0});
        corpus.row(0, 95 * one_ms, {held});
    }
};

TurnEnd failed() {
    return TurnEnd(false);
}

TEST(BarrierTurns, AreDueWhenTheLastIsOver) {
    // Row 0 ends at 1 ms, `first` at 2 ms, `slow` 1 ms after its gap.
    const Streams streams(20 * one_ms);
    const UserPlay play = play_users(streams.corpus, some_users(1));
    EXPECT_EQ(play.due_ns(streams.slow), 21 * one_ms);
    EXPECT_EQ(play.due_ns(streams.held), 22 * one_ms);
    EXPECT_EQ(play.of(streams.held).front().due.parent_end_ns, 22 * one_ms);
    EXPECT_EQ(play.sent.size(), 5u);
}

// Its own gap is longer: the barrier changes nothing, and adds none of it.
TEST(BarrierTurns, KeepTheirOwnGap) {
    const Streams streams(20 * one_ms, 50 * one_ms);
    const UserPlay play = play_users(streams.corpus, some_users(1));
    EXPECT_EQ(play.due_ns(streams.held), 52 * one_ms);
}

TEST(BarrierTurns, AreLetGoByAFailure) {
    for (const FailureRule rule : {FailureRule::end_tree, FailureRule::go_on, FailureRule::retry}) {
        const Streams streams(20 * one_ms);
        UserRules rules = some_users(1);
        rules.failures.rule = rule;
        rules.failures.retries_max = rule == FailureRule::retry ? 2 : 0;
        const UserPlay play = play_users(streams.corpus, rules, [&](const Due& due) {
            return due.row == streams.slow ? failed() : TurnEnd(true);
        });
        // Not before its last try.
        const std::int64_t end_ns = play.of(streams.slow).back().end_ns;
        EXPECT_EQ(play.of(streams.slow).size(), rule == FailureRule::retry ? 3u : 1u);
        EXPECT_EQ(play.due_ns(streams.held), end_ns);
        EXPECT_TRUE(play.dropped.empty());
    }
}

// What waited for it is dropped with it, and over at that instant.
TEST(BarrierTurns, AreLetGoByWhatIsDropped) {
    UserCorpus corpus;
    corpus.row(0, 0);
    const std::uint32_t fails = corpus.row(1, 2 * one_ms, {0}, 30 * one_ms);
    const std::uint32_t dropped = corpus.row(1, 3 * one_ms, {fails}, 9 * one_ms);
    const std::uint32_t behind = corpus.row(1, 4 * one_ms, {dropped});
    const std::uint32_t held = corpus.row(0, 90 * one_ms, {0});
    corpus.trace.dependencies.push_back({held, behind, Trigger::over, 0});
    corpus.row(0, 95 * one_ms, {held});
    const UserPlay play = play_users(corpus, some_users(1), [&](const Due& due) {
        return due.row == fails ? failed() : TurnEnd(true);
    });
    EXPECT_EQ(play.dropped.size(), 2u);
    EXPECT_EQ(play.due_ns(held), play.of(fails).front().end_ns);
    EXPECT_EQ(play.due_ns(held + 1), play.of(held).front().end_ns);
}

// A row that only waits so begins with its tree: as long behind it as recorded, or when the other
// is over.
TEST(BarrierTurns, BeginWithTheirTree) {
    for (const std::int64_t at_ns : {5 * one_ms, 500 * one_ms}) {
        UserCorpus corpus;
        corpus.chain(0, 2, 100 * one_ms);  // the second turn ends at 102 ms
        const std::uint32_t other = corpus.row(0, at_ns);
        corpus.trace.dependencies.push_back({other, 1, Trigger::over, 0});
        std::stable_sort(corpus.plan.rows.begin(), corpus.plan.rows.end(),
                         [](const Planned& a, const Planned& b) { return a.due_ns < b.due_ns; });
        const UserPlay play = play_users(corpus, some_users(1));
        EXPECT_EQ(play.due_ns(other), std::max(at_ns, 102 * one_ms));
    }
}

// What was over where a tree was entered holds nobody, and moves nothing.
TEST(BarrierTurns, GoOnWhereATreeWasEntered) {
    const Streams streams(20 * one_ms);
    UserRules rules = some_users(1);
    rules.start.from = rules.start.to = 0.5;  // at 47.5 ms: `held` and what is behind it are left
    const UserPlay play = play_users(streams.corpus, rules);
    ASSERT_TRUE(play.measured_from_ns);
    EXPECT_TRUE(play.of(streams.slow).empty());
    EXPECT_EQ(play.of(streams.first).front().due.phase, Phase::warmup);
    EXPECT_EQ(play.due_ns(streams.held) - *play.measured_from_ns, 42 * one_ms + one_ms / 2);
}

// Further requests of the warm-up: what another of them has held goes out in it, too.
TEST(BarrierTurns, GoOutInTheWarmUp) {
    UserCorpus corpus;
    corpus.row(0, 0);
    corpus.row(1, one_ms, {0});
    corpus.row(1, 60 * one_ms, {1}, 50 * one_ms);
    const std::uint32_t held = corpus.row(0, 70 * one_ms, {0}, 60 * one_ms);
    corpus.trace.dependencies.push_back({held, 2, Trigger::over, 0});
    corpus.row(0, 90 * one_ms, {held});
    UserRules rules = some_users(1);
    rules.start.from = rules.start.to = 0.5;
    rules.start.warmup_requests = 2;
    const UserPlay play = play_users(corpus, rules);
    EXPECT_EQ(play.of(held).front().due.phase, Phase::warmup);
    EXPECT_EQ(play.due_ns(held), play.of(2).front().end_ns);
    EXPECT_EQ(play.of(held + 1).front().due.phase, Phase::profile);
    EXPECT_EQ(play.measured_from_ns, play.of(held).front().end_ns);
}

// Passes do not wait for each other, and the next tree begins when this one is over.
TEST(BarrierTurns, OfEachPassAlone) {
    const Streams streams(20 * one_ms);
    UserRules rules = some_users(1);
    rules.recycle = true;
    rules.for_ns = 100 * one_ms;
    const UserPlay play = play_users(streams.corpus, rules);
    const auto held = play.of(streams.held);
    ASSERT_GE(held.size(), 3u);
    for (std::size_t pass = 0; pass < held.size(); ++pass) {
        EXPECT_EQ(held[pass].due.due_ns, play.of(streams.slow)[pass].end_ns);
    }
}

}  // namespace
}  // namespace driftless

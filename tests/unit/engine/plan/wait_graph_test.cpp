// Who waits for whom, and how long.

#include "engine/plan/wait_graph.hpp"

#include "engine/plan/schedule.hpp"
#include "proto/core/hash.hpp"
#include "tests/unit/engine/plan/read_files.hpp"
#include "tests/unit/made.hpp"

namespace driftless {

// Barriers: a row waits for what of the other sessions of its tree had ended when it began, and for
// no more of that than is needed. By hand, and for seeded trees against the rule with all waits.

namespace {

constexpr std::int64_t one_s = 1'000'000'000;

// One tree of sessions whose first rows wait for row 0; rows come in the order of time.
struct Tree {
    Trace trace;
    std::vector<std::uint32_t> last_of;  // [session] its last row

    std::uint32_t row(std::uint32_t session, std::int64_t from_s, std::int64_t to_s) {
        const TraceRow& row = append_row(
            trace,
            {.at_ns = from_s * one_s, .input_length = 1, .output_length = 1, .session = session});
        while (last_of.size() <= session) {
            trace.sessions.push_back(std::to_string(last_of.size()));
            last_of.push_back(no_row);
        }
        const std::uint32_t before = last_of[session] != no_row ? last_of[session] : 0;
        if (row.index > 0) {
            trace.dependencies.push_back({row.index, before, Trigger::dispatch, 0});
        }
        last_of[session] = row.index;
        trace.answers_ns.push_back((to_s - from_s) * one_s);
        return row.index;
    }
    struct BarredTrace {
        Trace trace;
        BarrierFigures figures;
    };
    BarredTrace barred() const {
        BarredTrace barred{trace, {}};
        barred.figures = add_barriers(make_plan(trace, {}).value(), barred.trace);
        return barred;
    }
    // "4:2" is a row that waits until row 2 is over.
    std::set<std::string> waits() const {
        std::set<std::string> all;
        for (const Dependency& one : barred().trace.dependencies) {
            if (one.trigger == Trigger::over) {
                EXPECT_EQ(one.delay_ns, 0);
                all.insert(std::to_string(one.row) + ":" + std::to_string(one.on));
            }
        }
        return all;
    }
};

using Waits = std::set<std::string>;

TEST(Barriers, WaitForWhatHadEnded) {
    Tree tree;
    tree.row(0, 0, 10);
    tree.row(1, 12, 20);  // 1
    tree.row(2, 13, 30);  // 2
    tree.row(0, 25, 28);  // 3: 1 had ended, 2 had not
    tree.row(1, 31, 40);  // 4: 3 and 2 had ended
    tree.row(2, 45, 50);  // 5: 4 had ended, and waits for 3 itself
    tree.row(0, 45, 60);  // 6: as 5, which began with it
    tree.row(1, 100, 110);
    // 1 and 2 wait for row 0, 7 for both 5 and 6.
    EXPECT_EQ(tree.waits(), (Waits{"1:0", "2:0", "3:1", "4:2", "4:3", "5:4", "6:4", "7:5", "7:6"}));
    const BarrierFigures figures = tree.barred().figures;
    EXPECT_EQ(std::tuple(figures.waits, figures.rows), std::tuple(9u, 7u));
    EXPECT_EQ(figures.trees_out_of_order, 0u);
}

TEST(Barriers, DoNotRepeatWhatARowWaitsForAnyway) {
    Tree tree;
    tree.row(0, 0, 10);
    tree.row(1, 12, 20);
    tree.trace.dependencies.back().trigger = Trigger::completion;
    tree.row(0, 30, 40);
    tree.trace.dependencies.push_back({2, 1, Trigger::completion, 0});  // it joins the agent
    EXPECT_EQ(tree.waits(), Waits{});
    EXPECT_EQ(tree.barred().trace.dependencies.size(), tree.trace.dependencies.size());
    // An answer without a recorded end takes no time; what begins with it does not wait for it.
    Tree unended;
    unended.row(0, 0, 0);
    unended.row(1, 0, 5);
    unended.row(0, 1, 2);
    unended.row(1, 2, 9);
    EXPECT_EQ(unended.waits(), Waits{"3:2"});
    unended.trace.answers_ns.clear();
    EXPECT_EQ(unended.waits(), (Waits{"2:1", "3:2"}));
    Tree apart;
    apart.row(0, 0, 1);
    apart.row(1, 5, 6);
    apart.trace.dependencies.clear();
    EXPECT_EQ(apart.waits(), Waits{});
    // Where a row waits for one that was recorded behind it, both could wait for ever.
    Tree disordered;
    disordered.row(0, 0, 1);
    disordered.row(1, 5, 6);
    disordered.row(0, 9, 10);
    std::swap(disordered.trace.rows[1].index, disordered.trace.rows[2].index);
    disordered.trace.dependencies = {{1, 0, Trigger::completion, 0},
                                     {2, 1, Trigger::completion, 0}};
    EXPECT_EQ(disordered.waits(), Waits{});
    EXPECT_EQ(disordered.barred().figures.trees_out_of_order, 1u);
}

// Whatever waits are left out follow from those that are there: every row comes behind all that
// had ended before it.
TEST(Barriers, AreEnough) {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        Random random(seed);
        Tree tree;
        std::int64_t at_s = 0;
        std::vector<std::int64_t> free_s(4, 0);  // [session]
        std::vector<std::int64_t> ends_s;
        for (int i = 0; i < 40; ++i) {
            at_s += static_cast<std::int64_t>(random.below(4));
            const auto session = static_cast<std::uint32_t>(i == 0 ? 0 : random.below(4));
            if (free_s[session] > at_s) {
                continue;  // its session is busy
            }
            free_s[session] = at_s + static_cast<std::int64_t>(random.below(12));
            tree.row(session, at_s, free_s[session]);
            ends_s.push_back(free_s[session]);
            if (i > 0 && ends_s[tree.trace.dependencies.back().on] <= at_s) {
                tree.trace.dependencies.back().trigger = Trigger::completion;
            }
        }
        const std::size_t rows = tree.trace.rows.size();
        std::vector<std::set<std::uint32_t>> over(rows);  // [row] those that are over before it
        const Trace barred = tree.barred().trace;
        std::size_t direct = 0;
        std::size_t all = 0;
        for (std::uint32_t row = 0; row < rows; ++row) {
            for (const Dependency& one : barred.dependencies_of(barred.rows[row])) {
                over[row].insert(over[one.on].begin(), over[one.on].end());
                if (one.trigger != Trigger::dispatch) {
                    over[row].insert(one.on);
                    ++direct;
                }
            }
            for (std::uint32_t before = 0; before < row; ++before) {
                const bool had_ended = barred.rows[before].at_ns < barred.rows[row].at_ns &&
                                       ends_s[before] * one_s <= barred.rows[row].at_ns;
                const bool other = barred.rows[before].session != barred.rows[row].session;
                EXPECT_TRUE(!had_ended || !other || over[row].contains(before))
                    << "seed " << seed << ": row " << row << " before the end of " << before;
                all += had_ended && other ? 1 : 0;
            }
        }
        EXPECT_LT(direct, all);
    }
}

// What is known of a closed run before it: who waits, how long it takes at least, and a digest that
// changes with every rule.

struct Chain {
    Trace trace;
    Plan plan;
    Chain() {
        for (std::uint32_t i = 0; i < 4; ++i) {
            append_row(trace, {.at_ns = 10 * i, .output_length = 3});
            plan.rows.push_back({10 * i, i, 0});
        }
        trace.dependencies = {{1, 0, Trigger::completion, 100}, {2, 1, Trigger::dispatch, 50}};
    }
};

TEST(Waits, SayWhatIsKnownBeforeAndTheirRules) {
    const Chain chain;
    const WaitFigures waits = waits_of(chain.trace, chain.plan, {2, 1});
    EXPECT_EQ(std::tuple(waits.rows, waits.outside, waits.last_due_ns), std::tuple(2u, 0u, 30));
    EXPECT_EQ(waits.least_ns, 75);
    Chain cut;
    cut.plan.rows.erase(cut.plan.rows.begin());
    const WaitFigures left = waits_of(cut.trace, cut.plan, {});
    EXPECT_EQ(std::tuple(left.rows, left.outside, left.least_ns), std::tuple(1u, 1u, 60));
    // An answer of 3 tokens at 1,000 ns each; who waits for a sending does not wait for the answer.
    const Chain timed;
    const Plan answered = answered_in(timed.trace, timed.plan, {}, 1'000);
    ASSERT_EQ(answered.rows.size(), 4u);
    EXPECT_EQ(std::tuple(answered.rows[1].row, answered.rows[2].due_ns), std::tuple(3u, 3'100));
    EXPECT_EQ(answered.rows[3].due_ns, 3'150);
    EXPECT_EQ(std::tuple(answered.last_due_ns, answered.burst_rows_max), std::tuple(3'150, 1u));
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

constexpr std::int64_t s = 1'000'000'000;

// A conversation (rows 0, 1 and 4) with a sub-agent (2, 3), which row 1 has spawned and row 4
// joins. Row 5 began beside row 4.
struct GapTree {
    Trace trace;
    Plan plan;
    GapTree() {
        trace.sessions = {"a", "a/agent"};
        const std::int64_t at[] = {0, 10 * s, 14 * s, 16 * s, 40 * s, 43 * s};
        const std::uint32_t sessions[] = {0, 0, 1, 1, 0, 0};
        for (std::uint32_t i = 0; i < std::size(at); ++i) {
            append_row(trace, {.at_ns = at[i], .session = sessions[i]});
            plan.rows.push_back({at[i], i, 0});
        }
        trace.dependencies = {
            {1, 0, Trigger::completion, 6 * s}, {2, 1, Trigger::completion, 2 * s},
            {3, 2, Trigger::completion, 0},     {4, 1, Trigger::completion, 28 * s},
            {4, 3, Trigger::completion, 0},     {5, 4, Trigger::dispatch, 3 * s}};
    }
    struct RetimedTrace {
        Trace trace;
        GapFigures figures;
    };
    RetimedTrace retimed(const GapRules& rules) const {
        RetimedTrace retimed{trace, {}};
        retimed.figures = retime(rules, plan, retimed.trace);
        return retimed;
    }
};
using RetimedTrace = GapTree::RetimedTrace;

TEST(Gaps, StayAreLeftOutOrCountFromStarts) {
    const GapTree tree;
    const RetimedTrace same = tree.retimed({});
    EXPECT_EQ(edges_of(same.trace), edges_of(tree.trace));
    EXPECT_EQ(same.figures.gaps, 4U) << "two have none";
    EXPECT_EQ(std::tuple(same.figures.capped, same.figures.derived_ns), std::tuple(0U, 39 * s));
    EXPECT_EQ(same.figures.kept_ns, 39 * s);
    // At the limit a gap stays, and is not counted.
    const RetimedTrace capped = GapTree().retimed({GapRule::end_to_start, 3 * s});
    EXPECT_EQ(edges_of(capped.trace), "1:0+3 2:1+2 3:2+0 4:1+3 4:3+0 5:4>3");
    EXPECT_EQ(std::tuple(capped.figures.capped, capped.figures.kept_ns), std::tuple(2U, 11 * s));
    const RetimedTrace none = GapTree().retimed({GapRule::none, {}});
    EXPECT_EQ(edges_of(none.trace), "1:0+0 2:1+0 3:2+0 4:1+0 4:3+0 5:4>0");
    EXPECT_EQ(std::tuple(none.figures.capped, none.figures.derived_ns), std::tuple(0U, 39 * s));
    EXPECT_EQ(none.figures.kept_ns, 0);
    // A turn waits for the end of the other and for the recorded distance of the starts; of those
    // that it joins it waits for the end alone.
    const RetimedTrace starts = GapTree().retimed({GapRule::start_to_start, 25 * s});
    EXPECT_EQ(edges_of(starts.trace),
              "1:0+0 1:0>10 2:1+0 2:1>4 3:2+0 3:2>2 4:1+0 4:1>25 4:3+0 5:4>3");
    EXPECT_EQ(std::tuple(starts.figures.gaps, starts.figures.capped), std::tuple(5U, 1U));
    EXPECT_EQ(starts.figures.derived_ns, (10 + 4 + 2 + 30 + 3) * s);
    EXPECT_EQ(starts.figures.kept_ns, (10 + 4 + 2 + 25 + 3) * s);
}

// What is not selected is re-timed and not counted; what begins before its parent has no distance.
TEST(Gaps, CountWhatIsPlannedAndDecideTheDigest) {
    GapTree tree;
    tree.plan.rows.erase(tree.plan.rows.begin());
    EXPECT_EQ(tree.retimed({}).figures.gaps, 3U);
    tree.trace.rows[1].at_ns = -s;
    const RetimedTrace starts = tree.retimed({GapRule::start_to_start, {}});
    EXPECT_EQ(starts.trace.dependencies[0].trigger, Trigger::completion);
    EXPECT_EQ(starts.trace.dependencies[1].row, 2U) << "no second wait of row 1 for row 0";
    // Each rule has a schedule of its own, and its digest says so. Cap, then speed: 3 s become 1.5
    // s.
    const GapTree other_tree;
    std::vector<std::uint64_t> digests;
    for (const GapRules& rules :
         {GapRules{}, GapRules{GapRule::end_to_start, 3 * s}, GapRules{GapRule::none, {}},
          GapRules{GapRule::start_to_start, {}}, GapRules{GapRule::start_to_start, 25 * s}}) {
        const Trace trace = other_tree.retimed(rules).trace;
        digests.push_back(digest_of_waits(trace, other_tree.plan, {2, 1}));
    }
    std::sort(digests.begin(), digests.end());
    EXPECT_EQ(std::unique(digests.begin(), digests.end()), digests.end());
    const Trace capped = other_tree.retimed({GapRule::end_to_start, 3 * s}).trace;
    EXPECT_EQ(waits_of(capped, other_tree.plan, {2, 1}).least_ns, (3 + 3 + 3) * s / 2);
}

// The schedule takes the later of both waits for one row, and drops a row once where neither is
// met.
TEST(Gaps, BetweenStartsAreKeptByTheSchedule) {
    const GapTree tree;
    const Trace trace = tree.retimed({GapRule::start_to_start, {}}).trace;
    for (const std::int64_t end_ns : {8 * s, 12 * s}) {
        Schedule schedule(trace, tree.plan, Speed());
        const Due first = schedule.take();
        schedule.fired(first, 1 * s);
        EXPECT_EQ(schedule.peek(), nullptr);
        schedule.ended(first, end_ns, true);
        ASSERT_NE(schedule.peek(), nullptr);
        EXPECT_EQ(schedule.peek()->due_ns, std::max(11 * s, end_ns));
        EXPECT_EQ(schedule.peek()->parent_end_ns, end_ns);
    }
    Schedule schedule(trace, tree.plan, Speed());
    const Due first = schedule.take();
    schedule.fired(first, 0);
    schedule.ended(first, s, false);
    EXPECT_EQ(schedule.peek(), nullptr);
    std::uint32_t dropped = 0;
    for (; schedule.dropped(); schedule.take_dropped()) {
        ++dropped;
    }
    EXPECT_EQ(dropped, 5U);
}

// Of a Weka conversation: gaps, their sum, and under caps of 60 and 600 s how many are cut and what
// is left. Counted by another program from t, api_time and out (agentic.md 1.6); the sums are those
// of think_time where that is right: 4,836 s in trace_0001, but 113 s in trace_0174.
struct Conversation {
    const char* file;
    std::uint64_t gaps;
    std::int64_t sum_ns;
    std::uint64_t cut_60;
    std::int64_t left_60_ns;
    std::uint64_t cut_600;
    std::int64_t left_600_ns;
};
constexpr Conversation conversations[] = {
    {"trace_0001.json", 40, 4'836'420'000'000, 6, 915'530'000'000, 1, 2'543'780'000'000},
    {"trace_0026.json", 2, 51'700'000'000, 0, 51'700'000'000, 0, 51'700'000'000},
    {"trace_0091.json", 9, 375'344'418'055, 2, 237'072'066'511, 0, 375'344'418'055},
    {"trace_0103.json", 2, 4'160'000'000, 0, 4'160'000'000, 0, 4'160'000'000},
    {"trace_0174.json", 5, 39'810'852'577, 0, 39'810'852'577, 0, 39'810'852'577},
    {"trace_0187.json", 2, 6'580'000'000, 0, 6'580'000'000, 0, 6'580'000'000},
    {"trace_0242.json", 2, 81'979'074'158, 0, 81'979'074'158, 0, 81'979'074'158},
    {"trace_0277.json", 52, 1'850'300'000'000, 9, 856'910'000'000, 0, 1'850'300'000'000},
    {"trace_0279.json", 89, 4'435'781'000'000, 11, 1'489'040'000'000, 3, 3'517'761'000'000},
    {"trace_0291.json", 31, 1'302'926'000'000, 6, 606'533'000'000, 0, 1'302'926'000'000},
    {"trace_0295.json", 415, 20'219'663'000'000, 60, 8'235'812'000'000, 2, 13'683'643'000'000},
    {"trace_0504.json", 2, 3'063'120'000'000, 1, 64'210'000'000, 1, 604'210'000'000},
};

TEST(Gaps, OfRealConversations) {
    const std::string folder = std::string(SHARED_DATA) + "/traces/weka/";
    if (!std::filesystem::exists(folder)) {
        GTEST_SKIP() << "the Weka conversations are not there";
    }
    for (const Conversation& one : conversations) {
        const Trace trace =
            read_files({.paths = {folder + one.file}, .sessions = Sessions::open}).sound();
        const Result<Plan> plan = make_plan(trace, {});
        ASSERT_TRUE(plan) << one.file;
        const auto figures = [&](std::int64_t cap_ns) {
            Trace retimed = trace;
            return retime({GapRule::end_to_start, cap_ns}, plan.value(), retimed);
        };
        EXPECT_EQ(figures(60 * s).gaps, one.gaps) << one.file;
        EXPECT_EQ(figures(60 * s).derived_ns, one.sum_ns) << one.file;
        EXPECT_EQ(figures(60 * s).capped, one.cut_60) << one.file;
        EXPECT_EQ(figures(60 * s).kept_ns, one.left_60_ns) << one.file;
        EXPECT_EQ(figures(600 * s).capped, one.cut_600) << one.file;
        EXPECT_EQ(figures(600 * s).kept_ns, one.left_600_ns) << one.file;
    }
}

}  // namespace
}  // namespace driftless

// Trees are taken whole; their copies share what strangers share, and nothing else.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "cmd/reading/trace_figures.hpp"
#include "engine/plan/load.hpp"
#include "engine/plan/trace_file.hpp"
#include "engine/plan/trees.hpp"
#include "tests/unit/engine/plan/made.hpp"
#include "tests/unit/made.hpp"

namespace driftless {
namespace {

LikeTrace like(const Trace& trace, const LikeOptions& options = {}) {
    Result<LikeTrace> made = resample(trace, options);
    EXPECT_TRUE(made);
    return std::move(made).value();
}

std::set<std::uint64_t> ids_of_tree(const LikeTrace& made, std::uint32_t tree) {
    std::set<std::uint64_t> ids;
    for (std::size_t i = 0; i < made.trace.rows.size(); ++i) {
        if (made.tree_of_row[i] == tree) {
            for (const std::uint64_t id : made.trace.ids_of(made.trace.rows[i])) {
                ids.insert(id);
            }
        }
    }
    return ids;
}

const char* const chats = "chat --sessions 5 --turns 3 --system 64 --in 100 --rate 1";

TEST(Like, SharesWithCopiesWhatStrangersShare) {
    LikeOptions options;
    options.trees = 12;
    const LikeTrace made = like(made_trace(chats), options);
    EXPECT_EQ(made.trees, 12U);
    for (std::uint32_t a = 0; a < 12; ++a) {
        for (std::uint32_t b = 0; b < a; ++b) {
            const auto left = ids_of_tree(made, a);
            const auto right = ids_of_tree(made, b);
            std::vector<std::uint64_t> both;
            std::set_intersection(left.begin(), left.end(), right.begin(), right.end(),
                                  std::back_inserter(both));
            EXPECT_EQ(both.size(), 4U) << a << " " << b;  // the system prompt: 64 / 16
        }
    }
}

TEST(Like, KeepsTreesWhole) {
    const Trace trace = made_trace("agents --trees 4 --turns 5 --spawn 0.5 --gap exponential:1s");
    LikeOptions options;
    options.trees = 8;
    const LikeTrace made = like(trace, options);
    EXPECT_EQ(made.trace.rows.size(), 2 * trace.rows.size());
    EXPECT_EQ(made.trace.dependencies.size(), 2 * trace.dependencies.size());
    EXPECT_EQ(made.trace.sessions.size(), 2 * trace.sessions.size());
    std::map<std::uint32_t, std::uint32_t> tree_of_session;
    for (std::size_t i = 0; i < made.trace.rows.size(); ++i) {
        const TraceRow& row = made.trace.rows[i];
        EXPECT_EQ(row.index, i);
        EXPECT_TRUE(i == 0 || made.trace.rows[i - 1].at_ns <= row.at_ns);
        const auto [known, fresh] = tree_of_session.try_emplace(row.session, made.tree_of_row[i]);
        EXPECT_EQ(known->second, made.tree_of_row[i]);
        for (const Dependency& wait : made.trace.dependencies_of(row)) {
            EXPECT_EQ(wait.row, row.index);
            EXPECT_LT(wait.on, row.index);
            EXPECT_EQ(made.tree_of_row[wait.on], made.tree_of_row[i]);
        }
    }
}

TEST(Like, KeepsBlocksWhereTheyWere) {
    const Trace trace = made_trace(chats);
    const LikeTrace made = like(trace);
    ASSERT_EQ(made.trace.rows.size(), trace.rows.size());
    // The order of rows may change, the ids of a tree's rows do not differ but by their names.
    std::map<std::string, std::vector<const TraceRow*>> before;
    for (const TraceRow& row : trace.rows) {
        before[trace.sessions[row.session]].push_back(&row);
    }
    std::map<std::uint64_t, std::uint64_t> names;
    for (const TraceRow& row : made.trace.rows) {
        const TraceRow& old = *before[made.trace.sessions[row.session]][row.turn - 1];
        ASSERT_EQ(row.ids_count, old.ids_count);
        EXPECT_EQ(row.input_length, old.input_length);
        for (std::size_t i = 0; i < row.ids_count; ++i) {
            const auto [known, fresh] =
                names.try_emplace(trace.ids_of(old)[i], made.trace.ids_of(row)[i]);
            EXPECT_EQ(known->second, made.trace.ids_of(row)[i]);
        }
    }
}

TEST(Like, PicksOneTreeOfEachPart) {
    LikeOptions options;
    options.trees = 7;  // a pass of 5, then two of five: one of the first two, one of the others
    const LikeTrace made = like(made_trace(chats), options);
    std::set<std::string> again;
    for (const TraceRow& row : made.trace.rows) {
        const std::string& name = made.trace.sessions[row.session];
        if (name.ends_with("#1")) {
            again.insert(name);
        }
    }
    ASSERT_EQ(again.size(), 2U);
    EXPECT_LE(*again.begin(), "chat-1#1");
    EXPECT_GE(*again.rbegin(), "chat-2#1");
}

TEST(Like, GoesByRateLengthAndUsers) {
    const Trace trace = made_trace("random --rows 2000 --rate 10");
    LikeOptions faster;
    faster.per_second = 30;
    const LikeTrace fast = like(trace, faster);
    EXPECT_NEAR(static_cast<double>(fast.trace.rows.size()), 6000, 300);
    EXPECT_NEAR(static_cast<double>(fast.trace.rows.back().at_ns) / 1e9, 200, 15);
    LikeOptions longer;
    longer.length_ns = 1'000'000'000'000;
    EXPECT_NEAR(static_cast<double>(like(trace, longer).trace.rows.size()), 10'000, 500);

    const Trace sessions = made_trace("chat --sessions 40 --turns 4 --rate inf");
    LikeOptions users;
    users.users = 3;
    const LikeTrace made = like(sessions, users);
    std::map<std::uint32_t, std::pair<std::int64_t, std::int64_t>> lives;  // [tree]
    for (std::size_t i = 0; i < made.trace.rows.size(); ++i) {
        const std::int64_t at_ns = made.trace.rows[i].at_ns;
        const auto [life, fresh] = lives.try_emplace(made.tree_of_row[i], at_ns, at_ns);
        life->second.second = at_ns;
    }
    for (const auto& [tree, life] : lives) {
        int live = 0;
        for (const auto& [other, span] : lives) {
            live += span.first <= life.first && life.first < span.second ? 1 : 0;
        }
        EXPECT_LE(live, 3);
    }
}

TEST(Like, IsSeeded) {
    const Trace trace = made_trace(chats);
    LikeOptions options;
    const auto begins = [&](std::uint64_t seed) {
        options.seed = seed;
        return members_of(like(trace, options).trace.rows, &TraceRow::at_ns);
    };
    EXPECT_EQ(begins(1), begins(1));
    EXPECT_NE(begins(1), begins(2));
}

TEST(Like, RefusesWhatItCannotLayOut) {
    EXPECT_EQ(resample(Trace(), {}).error().code, ErrorCode::missing);
    const Trace burst = made_trace("random --rows 5 --rate inf");
    LikeOptions options;
    options.per_second = 5;
    EXPECT_EQ(resample(burst, options).error().code, ErrorCode::invalid);
    LikeOptions large;
    large.trees = like_rows_max;
    EXPECT_EQ(resample(made_trace(chats), large).error().code, ErrorCode::out_of_range);
    Trace words = made_trace("random --rows 5");
    words.body_ends = {0};
    EXPECT_EQ(resample(words, {}).error().code, ErrorCode::unsupported);
}

/// Of a real trace: the greatest difference of hit rates at five sizes.
Likeness likeness_at(const char* path, Sessions sessions, std::uint64_t trees) {
    TraceFiles files{.paths = {path}, .sessions = sessions};
    Trace trace;
    InputErrors errors;
    std::vector<std::string> notes;
    EXPECT_TRUE(read_trace(files, trace, errors, notes));
    LikeOptions options{.seed = 5, .trees = trees};
    const LikeTrace made = like(trace, options);
    const Families families = families_of(trace);
    const Result<Likeness> result =
        likeness_of({trace, families.of_row}, {made.trace, made.tree_of_row});
    EXPECT_TRUE(result);
    return result.value();
}

TEST(Like, KeepsTheHitRatesOfRealTraces) {
    const char* const mooncake = SHARED_DATA "/traces/mooncake_conversation.jsonl";
    const char* const weka = SHARED_DATA "/traces/weka";
    if (!std::filesystem::exists(mooncake) || !std::filesystem::exists(weka)) {
        GTEST_SKIP() << "the shared traces are not here";
    }
    for (const Likeness& one :
         {likeness_at(mooncake, Sessions::recorded, 7373),
          likeness_at(mooncake, Sessions::recorded, 25'000), likeness_at(weka, Sessions::open, 12),
          likeness_at(weka, Sessions::open, 36)}) {
        ASSERT_EQ(one.curve.size(), 5U);
        EXPECT_LT(one.curve_worst, 0.02);
        EXPECT_LT(one.input, 0.01);
        EXPECT_LT(one.output, 0.01);
        EXPECT_LT(one.gaps, 0.01);
    }
}

}  // namespace
}  // namespace driftless

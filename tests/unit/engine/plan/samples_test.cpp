// Samples keep whole sessions, copies share nothing, and both say which row is which.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "engine/plan/load.hpp"
#include "engine/plan/plan.hpp"
#include "engine/plan/trace_file.hpp"
#include "engine/plan/trees.hpp"
#include "tests/unit/made.hpp"

namespace driftless {
namespace {

constexpr std::int64_t second = 1'000'000'000;

/// A row a second; ids as given, one namespace.
void add_row(Trace& trace, const std::vector<std::uint64_t>& ids,
             std::uint32_t session = no_session) {
    TraceRow row;
    row.at_ns = std::ssize(trace.rows) * second;
    row.input_length = static_cast<std::uint32_t>(std::max<std::size_t>(ids.size(), 1) * 512);
    row.output_length = 1;
    row.session = session;
    append_row(trace, row, ids);
    trace.block_size = 512;
    trace.name_spaces = 1;
}

/// Sessions "s0", "s1", .. in turn, `turns` rows each, every turn waiting for the one before.
Trace sessions_trace(std::uint32_t sessions, std::uint32_t turns) {
    Trace trace;
    for (std::uint32_t i = 0; i < sessions * turns; ++i) {
        const std::uint32_t session = i % sessions;
        add_row(trace, {1000 + session, 2000 + i}, session);
        trace.rows.back().turn = i / sessions + 1;
        if (i >= sessions) {
            trace.dependencies.push_back({i, i - sessions, Trigger::completion, second});
        }
    }
    for (std::uint32_t i = 0; i < sessions; ++i) {
        trace.sessions.push_back("s" + std::to_string(i));
    }
    return trace;
}

LoadFigures load(const LoadOptions& options, Trace& trace) {
    Result<LoadedTrace> loaded = apply_load(options, std::move(trace));
    EXPECT_TRUE(loaded);
    trace = std::move(loaded.value().trace);
    return loaded.value().figures;
}

std::uint64_t expected_hits(const Trace& trace) {
    Result<Plan> plan = make_plan(trace, {});
    EXPECT_TRUE(plan);
    return plan.value().foretold.cached_tokens;
}

std::set<std::uint32_t> indices(const Trace& trace) {
    std::set<std::uint32_t> all;
    for (const TraceRow& row : trace.rows) {
        all.insert(row.index);
    }
    return all;
}

// Decimals and percents, exactly; nothing, more than all, and what is finer are refused.
TEST(Share, ReadsDecimalsAndPercents) {
    EXPECT_EQ(parse_share("0.25").value().billionths, 250'000'000U);
    EXPECT_EQ(parse_share("25%").value().billionths, 250'000'000U);
    EXPECT_EQ(parse_share("1e-9").value().billionths, 1U);
    EXPECT_EQ(parse_share("100%").value().billionths, 1'000'000'000U);
    for (const char* text : {"0", "0%", "1.000000001", "101%", "1e-10"}) {
        EXPECT_EQ(parse_share(text).error().code, ErrorCode::out_of_range) << text;
    }
    for (const char* text : {"", "%", "-0.1", "half", "NaN"}) {
        EXPECT_EQ(parse_share(text).error().code, ErrorCode::invalid) << text;
    }
}

// A session is a family; rows that wait for each other are one family across sessions.
TEST(Families, FollowSessionsAndDependencies) {
    Trace trace = sessions_trace(3, 2);
    EXPECT_EQ(families_of(trace).of_row, (std::vector<std::uint32_t>{0, 1, 2, 0, 1, 2}));
    trace.dependencies.push_back({5, 0, Trigger::dispatch, 0});  // a sub-agent of session 0
    const Families families = families_of(trace);
    EXPECT_EQ(families.of_row, (std::vector<std::uint32_t>{0, 1, 0, 0, 1, 0}));
    EXPECT_EQ(families.count, 2U);
}

// Without sessions, rows that continue one prefix are a family.
TEST(Families, FollowSharedPrefixes) {
    Trace trace;
    add_row(trace, {1, 2});
    add_row(trace, {7, 8});
    add_row(trace, {1, 2, 3});
    add_row(trace, {2, 3});  // the same ids behind another beginning are another prefix
    add_row(trace, {});
    EXPECT_EQ(families_of(trace).of_row, (std::vector<std::uint32_t>{0, 1, 0, 2, 3}));
}

// Rows whose ids hold in different namespaces are strangers.
TEST(Families, DoNotCrossNamespaces) {
    Trace trace;
    add_row(trace, {1});
    add_row(trace, {1});
    trace.rows[1].name_space = 1;
    trace.name_spaces = 2;
    EXPECT_EQ(families_of(trace).count, 2U);
}

// A beginning that goes on in more ways than a conversation can is a preamble of strangers: at the
// bound it still joins, one branch more and it does not.
TEST(Families, AreNotJoinedByPreambles) {
    for (const std::uint32_t branches : {preamble_branches - 1, preamble_branches}) {
        Trace trace;
        for (std::uint32_t i = 0; i < branches; ++i) {
            add_row(trace, {0, 100 + i});
        }
        EXPECT_EQ(families_of(trace).count, 1U) << branches;
    }
    Trace trace;
    for (std::uint32_t i = 0; i <= preamble_branches; ++i) {
        add_row(trace, {0, 100 + i});
    }
    add_row(trace, {0, 100, 5});
    EXPECT_EQ(families_of(trace).count, preamble_branches + 1);
}

// Sessions are kept whole, with their edges; indices and times are those of the trace as read.
TEST(Sample, KeepsWholeSessions) {
    Trace trace = sessions_trace(20, 5);
    LoadOptions options;
    options.sample = parse_share("0.3").value();
    const LoadFigures figures = load(options, trace);
    EXPECT_EQ(figures.families, 20U);
    EXPECT_EQ(figures.families_sampled, 6U);
    EXPECT_EQ(figures.rows_read, 100U);
    EXPECT_EQ(figures.rows_sampled, 30U);
    std::map<std::uint32_t, int> turns;
    for (const TraceRow& row : trace.rows) {
        ++turns[row.session];
        EXPECT_EQ(row.at_ns, row.index * second);
        EXPECT_EQ(trace.dependencies_of(row).size(), row.turn == 1 ? 0U : 1U);
    }
    EXPECT_EQ(turns.size(), 6U);
    EXPECT_TRUE(std::all_of(turns.begin(), turns.end(), [](auto& one) { return one.second == 5; }));
    EXPECT_EQ(trace.dependencies.size(), 24U);
}

// The seed decides which; a smaller share is a part of a larger one; one session always stays.
TEST(Sample, IsSeededAndNested) {
    const auto sampled = [](const char* share, std::uint64_t seed) {
        Trace trace = sessions_trace(50, 2);
        LoadOptions options{.sample = parse_share(share).value(), .seed = seed};
        load(options, trace);
        return indices(trace);
    };
    const std::set<std::uint32_t> tenth = sampled("0.1", 7);
    const std::set<std::uint32_t> half = sampled("0.5", 7);
    EXPECT_EQ(tenth, sampled("0.1", 7));
    EXPECT_NE(tenth, sampled("0.1", 8));
    EXPECT_EQ(tenth.size(), 10U);
    EXPECT_TRUE(std::includes(half.begin(), half.end(), tenth.begin(), tenth.end()));
    EXPECT_EQ(sampled("0.0001", 7).size(), 2U);
}

// Copies have indices, namespaces, sessions and edges of their own, and share the ids' memory.
TEST(Replicate, CopiesShareNothing) {
    Trace trace = sessions_trace(3, 4);
    trace.kept.assign(12, "{}");
    const std::uint64_t once = expected_hits(trace);
    LoadOptions options;
    options.copies = 3;
    const LoadFigures figures = load(options, trace);
    EXPECT_EQ(figures.copies, 3U);
    EXPECT_EQ(trace.rows.size(), 36U);
    EXPECT_EQ(trace.ids.size(), 24U);
    EXPECT_EQ(trace.name_spaces, 3U);
    EXPECT_EQ(indices(trace).size(), 36U);
    EXPECT_EQ(*indices(trace).rbegin(), 35U);
    EXPECT_EQ(expected_hits(trace), 3 * once);
    EXPECT_TRUE(std::is_sorted(trace.rows.begin(), trace.rows.end(), [](auto& a, auto& b) {
        return a.at_ns != b.at_ns ? a.at_ns < b.at_ns : a.index < b.index;
    }));
    for (const TraceRow& row : trace.rows) {
        const std::uint32_t copy = trace.copy_of(row);
        EXPECT_EQ(row.name_space, copy);
        EXPECT_EQ(row.session / 3, copy);
        EXPECT_EQ(trace.sessions[row.session], "s" + std::to_string(row.index % 12 % 3) +
                                                   (copy == 0 ? "" : "#" + std::to_string(copy)));
        EXPECT_EQ(trace.kept_of(row), "{}");
        for (const Dependency& one : trace.dependencies_of(row)) {
            EXPECT_EQ(one.on / 12, copy);
            EXPECT_EQ(one.row - one.on, 3U);
        }
    }
}

// A copy is the trace moved as a whole, by at most what was asked; the seed decides by how much.
TEST(Replicate, MovesEachCopyAsAWhole) {
    const auto offsets = [](std::uint64_t seed, std::optional<std::int64_t> within) {
        Trace trace = sessions_trace(1, 101);  // 100 s long
        LoadOptions options{.copies = 20, .within_ns = within, .seed = seed};
        EXPECT_EQ(load(options, trace).within_ns, within.value_or(10 * second));
        std::vector<std::int64_t> found(20, -1);
        for (const TraceRow& row : trace.rows) {
            std::int64_t& offset = found[trace.copy_of(row)];
            const std::int64_t moved = row.at_ns - (row.index % 101) * second;
            EXPECT_TRUE(offset == -1 || offset == moved);
            offset = moved;
        }
        return found;
    };
    const std::vector<std::int64_t> found = offsets(3, {});
    EXPECT_EQ(found[0], 0);
    EXPECT_EQ(found, offsets(3, {}));
    EXPECT_NE(found, offsets(4, {}));
    EXPECT_EQ(std::set<std::int64_t>(found.begin(), found.end()).size(), 20U);
    EXPECT_LE(*std::max_element(found.begin(), found.end()), 10 * second);
    EXPECT_GT(*std::max_element(found.begin(), found.end()), 5 * second);
    EXPECT_EQ(offsets(3, 0), std::vector<std::int64_t>(20, 0));
}

// Copies by rows follow each other a mean gap apart, as many as are needed.
TEST(Replicate, FollowsItselfUntilThereAreEnoughRows) {
    for (const auto& [rows, copies] : {std::pair(3U, 1U), {4U, 1U}, {5U, 2U}, {9U, 3U}}) {
        Trace trace = sessions_trace(1, 4);  // a row a second
        LoadOptions options;
        options.copies = Copies(1, rows);
        EXPECT_EQ(load(options, trace).copies, copies);
        ASSERT_EQ(trace.rows.size(), 4 * copies);
        for (std::uint32_t i = 0; i < trace.rows.size(); ++i) {
            EXPECT_EQ(trace.rows[i].index, i);
            EXPECT_EQ(trace.rows[i].at_ns, i * second);
        }
    }
}

// A sample is taken first, and all copies are of it; numbers go by the trace as it was read.
TEST(Replicate, CopiesTheSample) {
    Trace trace = sessions_trace(10, 3);
    LoadOptions options;
    options.copies = 2;
    options.sample = parse_share("0.2").value();
    load(options, trace);
    EXPECT_EQ(trace.rows.size(), 12U);
    EXPECT_EQ(trace.copy_rows, 30U);
    std::set<std::uint32_t> first;
    std::set<std::uint32_t> second_copy;
    for (const std::uint32_t index : indices(trace)) {
        (index < 30 ? first : second_copy).insert(index % 30);
    }
    EXPECT_EQ(first, second_copy);
}

// What would not fit the numbers of rows is refused.
TEST(Replicate, RefusesMoreThanItCanNumber) {
    const Trace trace = sessions_trace(1, 5000);
    LoadOptions options;
    options.copies = 1'000'000;
    EXPECT_EQ(apply_load(options, trace).error().code, ErrorCode::out_of_range);
}

// --spread takes each copy by itself: every row stays within the gap of its own grid.
TEST(Replicate, IsSpreadCopyByCopy) {
    Trace trace = sessions_trace(4, 3);
    for (TraceRow& row : trace.rows) {
        row.at_ns = row.index / 4 * 3 * second;  // 4 rows every 3 s
    }
    LoadOptions load_options{.copies = 3, .within_ns = second};
    load(load_options, trace);
    PlanOptions options;
    options.spread = true;
    const Result<Plan> plan = make_plan(trace, options);
    ASSERT_TRUE(plan);
    ASSERT_EQ(plan.value().rows.size(), 36U);
    EXPECT_EQ(plan.value().burst_rows_max, 1U);
    std::int64_t latest = 0;
    for (const Planned& one : plan.value().rows) {
        EXPECT_GE(one.due_ns, latest);
        latest = one.due_ns;
        const std::int64_t moved = one.due_ns - trace.rows[one.row].at_ns;
        EXPECT_LT(moved, 3 * second);
    }
    EXPECT_GT(latest, 7 * second) << "the last burst is spread over its copy's gap";
}

// A tenth of the Mooncake conversation hour keeps its prefix hit rate; one row in ten would not.
TEST(Sample, KeepsTheHitRateOfTheConversationTrace) {
    TraceFiles files;
    files.paths = {SHARED_DATA "/traces/mooncake_conversation.jsonl"};
    Trace trace;
    InputErrors errors;
    std::vector<std::string> notes;
    if (!read_trace(files, trace, errors, notes)) {
        GTEST_SKIP() << "the shared traces are not here";
    }
    const Families families = families_of(trace);
    EXPECT_EQ(families.count, 7373U);  // counted by another program
    LoadOptions options;
    options.sample = parse_share("10%").value();
    const LoadFigures figures = load(options, trace);
    EXPECT_EQ(figures.families_sampled, 737U);
    const Result<Plan> plan = make_plan(trace, {});
    ASSERT_TRUE(plan);
    const double rate = static_cast<double>(plan.value().foretold.cached_tokens) /
                        static_cast<double>(plan.value().input_tokens);
    EXPECT_GT(rate, 0.28);
    EXPECT_LT(rate, 0.44);
}

// Rows that say nothing of what they share: heads of one sequence a session, or of one for all.
TEST(Share, MakesRowsHeadsOfOnePrompt) {
    for (const Sharing sharing : {Sharing::session, Sharing::all}) {
        Trace trace;
        for (const std::uint32_t session : {0U, 1U, 0U, no_session}) {
            add_row(trace, {}, session);
            trace.rows.back().input_length = 33 + 100 * trace.rows.back().index;
        }
        trace.block_size = 0;
        trace.name_spaces = 0;
        trace.sessions = {"a", "b"};
        LoadOptions options;
        options.share = sharing;
        EXPECT_EQ(load(options, trace).rows_sharing, sharing == Sharing::all ? 4U : 3U);
        EXPECT_EQ(trace.block_size, 16U);
        EXPECT_EQ(trace.rows[0].ids_count, 3U) << "the last one partial";
        EXPECT_EQ(trace.rows[2].ids_count, 15U);
        EXPECT_EQ(trace.ids_of(trace.rows[2])[14], 14U);
        EXPECT_EQ(trace.rows[0].name_space, trace.rows[2].name_space);
        EXPECT_EQ(trace.rows[0].name_space == trace.rows[1].name_space, sharing == Sharing::all);
        EXPECT_EQ(trace.rows[3].ids_count, sharing == Sharing::all ? 21U : 0U);
        Result<Plan> plan = make_plan(trace, {});
        ASSERT_TRUE(plan);
        EXPECT_EQ(plan.value().rows[0].expected_cached_tokens, 0U);
        EXPECT_EQ(plan.value().rows[2].expected_cached_tokens,
                  sharing == Sharing::all ? 128U : 32U);
    }
}

// What the trace says itself is not said otherwise, and sessions are shared where there are some.
TEST(Share, RefusesWhatContradictsTheTrace) {
    Trace ids = sessions_trace(2, 2);
    LoadOptions options;
    options.share = Sharing::all;
    EXPECT_EQ(apply_load(options, ids).error().code, ErrorCode::exists);
    Trace alone;
    add_row(alone, {});
    options.share = Sharing::session;
    EXPECT_EQ(apply_load(options, alone).error().code, ErrorCode::missing);
}

}  // namespace
}  // namespace driftless

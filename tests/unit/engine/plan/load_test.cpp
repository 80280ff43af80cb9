// Parts of a trace: windows, samples, resampled trees.

#include "engine/plan/load.hpp"

#include "cmd/reading/trace_figures.hpp"
#include "tests/unit/engine/plan/made.hpp"
#include "tests/unit/engine/plan/read_files.hpp"
#include "tests/unit/made.hpp"

namespace driftless {

// Whole families stay or go: by their longest row first, then by their number in file order.

namespace {

/// Sessions of two rows each, which come in turn; `lengths` are of the later rows.
Trace sessions_of(const std::vector<std::uint32_t>& lengths) {
    Trace trace;
    const auto count = static_cast<std::uint32_t>(lengths.size());
    for (std::uint32_t i = 0; i < 2 * count; ++i) {
        append_row(trace, {.at_ns = i,
                           .input_length = i < count ? 10 : lengths[i - count],
                           .output_length = 5,
                           .session = i % count});
        if (i >= count) {
            trace.dependencies.push_back({.row = i, .on = i - count});
        } else {
            trace.sessions.push_back("s" + std::to_string(i));
        }
    }
    return trace;
}

std::vector<std::uint32_t> kept_rows(const Trace& trace) {
    return members_of(trace.rows, &TraceRow::index);
}

TEST(Admission, LeavesOutWholeTreesThatDoNotFit) {
    Trace trace = sessions_of({95, 96, 50});
    const AdmissionFigures figures = admit({.context_max = 100, .trees_max = {}}, trace);
    EXPECT_EQ(kept_rows(trace), (std::vector<std::uint32_t>{0, 2, 3, 5}));
    EXPECT_EQ(trace.dependencies.size(), 2U);
    EXPECT_EQ(std::tuple(figures.families, figures.too_long, figures.kept), std::tuple(3U, 1U, 2U));
    // Filter, then cap.
    Trace capped = sessions_of({200, 50, 50});
    admit({.context_max = 100, .trees_max = 1}, capped);
    EXPECT_EQ(kept_rows(capped), (std::vector<std::uint32_t>{1, 4}));
    Trace whole = sessions_of({200, 50});
    EXPECT_EQ(admit({}, whole).families, 0U);
    EXPECT_EQ(whole.rows.size(), 4U);
    admit({.context_max = 1000, .trees_max = 9}, whole);
    EXPECT_EQ(whole.rows.size(), 4U);
    LoadOptions options{.admission = {.context_max = 9}};
    Trace long_rows = sessions_of({50});
    const Result<LoadFigures> loaded = apply_load(options, long_rows);
    ASSERT_FALSE(loaded);
    EXPECT_EQ(loaded.error().code, ErrorCode::not_found);
}

// Samples keep whole sessions, copies share nothing, and both say which row is which.

constexpr std::int64_t second = 1'000'000'000;

/// A row a second; ids as given, one namespace.
void add_row(Trace& trace, const std::vector<std::uint64_t>& ids,
             std::uint32_t session = no_session) {
    TraceRow row{
        .at_ns = std::ssize(trace.rows) * second,
        .input_length = static_cast<std::uint32_t>(std::max<std::size_t>(ids.size(), 1) * 512),
        .output_length = 1,
        .session = session};
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
    const Result<LoadFigures> loaded = apply_load(options, trace);
    EXPECT_TRUE(loaded);
    return loaded.value();
}

std::uint64_t expected_hits(const Trace& trace) {
    Result<Plan> plan = make_plan(trace, {});
    EXPECT_TRUE(plan);
    return plan.value().foretold.cached_tokens;
}

std::set<std::uint32_t> indices(const Trace& trace) {
    const auto all = members_of(trace.rows, &TraceRow::index);
    return {all.begin(), all.end()};
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
TEST(Families, FollowSessionsDependenciesAndPrefixes) {
    Trace trace = sessions_trace(3, 2);
    EXPECT_EQ(families_of(trace).of_row, (std::vector<std::uint32_t>{0, 1, 2, 0, 1, 2}));
    trace.dependencies.push_back({5, 0, Trigger::dispatch, 0});  // a sub-agent of session 0
    const Families families = families_of(trace);
    EXPECT_EQ(families.of_row, (std::vector<std::uint32_t>{0, 1, 0, 0, 1, 0}));
    EXPECT_EQ(families.count, 2U);
    // Without sessions, rows that continue one prefix are a family.
    Trace prefixes;
    add_row(prefixes, {1, 2});
    add_row(prefixes, {7, 8});
    add_row(prefixes, {1, 2, 3});
    add_row(prefixes, {2, 3});  // the same ids behind another beginning are another prefix
    add_row(prefixes, {});
    EXPECT_EQ(families_of(prefixes).of_row, (std::vector<std::uint32_t>{0, 1, 0, 2, 3}));
    // Rows whose ids hold in different namespaces are strangers.
    Trace apart;
    add_row(apart, {1});
    add_row(apart, {1});
    apart.rows[1].name_space = 1;
    apart.name_spaces = 2;
    EXPECT_EQ(families_of(apart).count, 2U);
    // A beginning that goes on in more ways than a conversation can is a preamble of strangers: at
    // the bound it still joins, one branch more and it does not.
    for (const std::uint32_t branches : {preamble_branches - 1, preamble_branches}) {
        Trace other_trace;
        for (std::uint32_t i = 0; i < branches; ++i) {
            add_row(other_trace, {0, 100 + i});
        }
        EXPECT_EQ(families_of(other_trace).count, 1U) << branches;
    }
    Trace other_trace;
    for (std::uint32_t i = 0; i <= preamble_branches; ++i) {
        add_row(other_trace, {0, 100 + i});
    }
    add_row(other_trace, {0, 100, 5});
    EXPECT_EQ(families_of(other_trace).count, preamble_branches + 1);
}

// Sessions are kept whole, with their edges; indices and times are those of the trace as read.
TEST(Sample, KeepsWholeSessionsBySeed) {
    Trace trace = sessions_trace(20, 5);
    const LoadFigures figures = load(LoadOptions{.sample = parse_share("0.3").value()}, trace);
    EXPECT_EQ(std::tuple(figures.families, figures.families_sampled), std::tuple(20U, 6U));
    EXPECT_EQ(std::tuple(figures.rows_read, figures.rows_sampled), std::tuple(100U, 30U));
    std::map<std::uint32_t, int> turns;
    for (const TraceRow& row : trace.rows) {
        ++turns[row.session];
        EXPECT_EQ(row.at_ns, row.index * second);
        EXPECT_EQ(trace.dependencies_of(row).size(), row.turn == 1 ? 0U : 1U);
    }
    EXPECT_EQ(turns.size(), 6U);
    EXPECT_TRUE(std::all_of(turns.begin(), turns.end(), [](auto& one) { return one.second == 5; }));
    EXPECT_EQ(trace.dependencies.size(), 24U);
    // The seed decides which; a smaller share is a part of a larger one; one session always stays.
    const auto sampled = [](const char* share, std::uint64_t seed) {
        Trace other_trace = sessions_trace(50, 2);
        load(LoadOptions{.sample = parse_share(share).value(), .seed = seed}, other_trace);
        return indices(other_trace);
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
    EXPECT_EQ(load(LoadOptions{.copies = {3}}, trace).copies, 3U);
    EXPECT_EQ(std::tuple(trace.rows.size(), trace.ids.size()), std::tuple(36U, 24U));
    EXPECT_EQ(trace.name_spaces, 3U);
    EXPECT_EQ(indices(trace).size(), 36U);
    EXPECT_EQ(*indices(trace).rbegin(), 35U);
    EXPECT_EQ(expected_hits(trace), 3 * once);
    EXPECT_TRUE(std::is_sorted(trace.rows.begin(), trace.rows.end(), [](auto& a, auto& b) {
        return a.at_ns != b.at_ns ? a.at_ns < b.at_ns : a.index < b.index;
    }));
    for (const TraceRow& row : trace.rows) {
        const std::uint32_t copy = trace.copy_of(row);
        EXPECT_EQ(std::tuple(row.name_space, row.session / 3), std::tuple(copy, copy));
        EXPECT_EQ(trace.sessions[row.session], "s" + std::to_string(row.index % 12 % 3) +
                                                   (copy == 0 ? "" : "#" + std::to_string(copy)));
        EXPECT_EQ(trace.kept_of(row), "{}");
        for (const Dependency& one : trace.dependencies_of(row)) {
            EXPECT_EQ(std::tuple(one.on / 12, one.row - one.on), std::tuple(copy, 3U));
        }
    }
}

// A copy is the trace moved as a whole, by at most what was asked; the seed decides by how much.
TEST(Replicate, MovesEachCopyAsAWhole) {
    const auto offsets = [](std::uint64_t seed, std::optional<std::int64_t> within) {
        Trace trace = sessions_trace(1, 101);  // 100 s long
        EXPECT_EQ(
            load(LoadOptions{.copies = {20}, .within_ns = within, .seed = seed}, trace).within_ns,
            within.value_or(10 * second));
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
TEST(Replicate, FollowsItselfAndIsSpreadCopyByCopy) {
    for (const auto& [rows, copies] : {std::pair(3U, 1U), {4U, 1U}, {5U, 2U}, {9U, 3U}}) {
        Trace trace = sessions_trace(1, 4);  // a row a second
        EXPECT_EQ(load(LoadOptions{.copies = {1, rows}}, trace).copies, copies);
        ASSERT_EQ(trace.rows.size(), 4 * copies);
        for (std::uint32_t i = 0; i < trace.rows.size(); ++i) {
            EXPECT_EQ(trace.rows[i].index, i);
            EXPECT_EQ(trace.rows[i].at_ns, i * second);
        }
    }
    // A sample is taken first, and all copies are of it; numbers go by the trace as it was read.
    Trace trace = sessions_trace(10, 3);
    load({.sample = parse_share("0.2").value(), .copies = {2}}, trace);
    EXPECT_EQ(std::tuple(trace.rows.size(), trace.copy_rows), std::tuple(12U, 30U));
    std::set<std::uint32_t> first;
    std::set<std::uint32_t> second_copy;
    for (const std::uint32_t index : indices(trace)) {
        (index < 30 ? first : second_copy).insert(index % 30);
    }
    EXPECT_EQ(first, second_copy);
    // What would not fit the numbers of rows is refused.
    Trace large = sessions_trace(1, 5000);
    EXPECT_EQ(apply_load(LoadOptions{.copies = {1'000'000}}, large).error().code,
              ErrorCode::out_of_range);
    // --spread takes each copy by itself: every row stays within the gap of its own grid.
    trace = sessions_trace(4, 3);
    for (TraceRow& row : trace.rows) {
        row.at_ns = row.index / 4 * 3 * second;  // 4 rows every 3 s
    }
    load(LoadOptions{.copies = {3}, .within_ns = second}, trace);
    const Plan plan = make_plan(trace, PlanOptions{.spread = true}).value();
    ASSERT_EQ(plan.rows.size(), 36U);
    EXPECT_EQ(plan.burst_rows_max, 1U);
    std::int64_t latest = 0;
    for (const Planned& one : plan.rows) {
        EXPECT_GE(one.due_ns, latest);
        latest = one.due_ns;
        EXPECT_LT(one.due_ns - trace.rows[one.row].at_ns, 3 * second);
    }
    EXPECT_GT(latest, 7 * second) << "the last burst is spread over its copy's gap";
}

// A tenth of the Mooncake conversation hour keeps its prefix hit rate; one row in ten would not.
TEST(Sample, KeepsTheHitRateOfTheConversationTrace) {
    FilesRead read = read_files({.paths = {SHARED_DATA "/traces/mooncake_conversation.jsonl"}});
    if (!read.usable) {
        GTEST_SKIP() << "the shared traces are not here";
    }
    Trace& trace = read.trace;
    const Families families = families_of(trace);
    EXPECT_EQ(families.count, 7373U);  // counted by another program
    EXPECT_EQ(load(LoadOptions{.sample = parse_share("10%").value()}, trace).families_sampled,
              737U);
    const Plan plan = make_plan(trace, {}).value();
    const double rate =
        static_cast<double>(plan.foretold.cached_tokens) / static_cast<double>(plan.input_tokens);
    EXPECT_GT(rate, 0.28);
    EXPECT_LT(rate, 0.44);
}

// Rows that say nothing of what they share: heads of one sequence a session, or of one for all.
TEST(Share, MakesRowsHeadsOfOnePromptWhereNothingContradicts) {
    for (const Sharing sharing : {Sharing::session, Sharing::all}) {
        Trace trace;
        for (const std::uint32_t session : {0U, 1U, 0U, no_session}) {
            add_row(trace, {}, session);
            trace.rows.back().input_length = 33 + 100 * trace.rows.back().index;
        }
        trace.block_size = 0;
        trace.name_spaces = 0;
        trace.sessions = {"a", "b"};
        EXPECT_EQ(load(LoadOptions{.share = sharing}, trace).rows_sharing,
                  sharing == Sharing::all ? 4U : 3U);
        EXPECT_EQ(trace.block_size, 16U);
        EXPECT_EQ(trace.rows[0].ids_count, 3U) << "the last one partial";
        EXPECT_EQ(trace.rows[2].ids_count, 15U);
        EXPECT_EQ(trace.ids_of(trace.rows[2])[14], 14U);
        EXPECT_EQ(trace.rows[0].name_space, trace.rows[2].name_space);
        EXPECT_EQ(trace.rows[0].name_space == trace.rows[1].name_space, sharing == Sharing::all);
        EXPECT_EQ(trace.rows[3].ids_count, sharing == Sharing::all ? 21U : 0U);
        Plan plan = make_plan(trace, {}).value();
        EXPECT_EQ(plan.rows[0].expected_cached_tokens, 0U);
        EXPECT_EQ(plan.rows[2].expected_cached_tokens, sharing == Sharing::all ? 128U : 32U);
    }
    // What the trace says itself is not said otherwise, and sessions are shared where there are
    // some.
    Trace ids = sessions_trace(2, 2);
    LoadOptions options{.share = Sharing::all};
    EXPECT_EQ(apply_load(options, ids).error().code, ErrorCode::exists);
    Trace alone;
    add_row(alone, {});
    options.share = Sharing::session;
    EXPECT_EQ(apply_load(options, alone).error().code, ErrorCode::missing);
}

// Trees are taken whole; their copies share what strangers share, and nothing else.

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

TEST(Like, SharesWithCopiesAndKeepsTreesWhole) {
    const LikeTrace made = like(made_trace(chats), LikeOptions{.trees = 12});
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
    const Trace trace = made_trace("agents --trees 4 --turns 5 --spawn 0.5 --gap exponential:1s");
    const LikeTrace other_made = like(trace, LikeOptions{.trees = 8});
    EXPECT_EQ(other_made.trace.rows.size(), 2 * trace.rows.size());
    EXPECT_EQ(other_made.trace.dependencies.size(), 2 * trace.dependencies.size());
    EXPECT_EQ(other_made.trace.sessions.size(), 2 * trace.sessions.size());
    std::map<std::uint32_t, std::uint32_t> tree_of_session;
    for (std::size_t i = 0; i < other_made.trace.rows.size(); ++i) {
        const TraceRow& row = other_made.trace.rows[i];
        EXPECT_EQ(row.index, i);
        EXPECT_TRUE(i == 0 || other_made.trace.rows[i - 1].at_ns <= row.at_ns);
        const auto [known, fresh] =
            tree_of_session.try_emplace(row.session, other_made.tree_of_row[i]);
        EXPECT_EQ(known->second, other_made.tree_of_row[i]);
        for (const Dependency& wait : other_made.trace.dependencies_of(row)) {
            EXPECT_EQ(wait.row, row.index);
            EXPECT_LT(wait.on, row.index);
            EXPECT_EQ(other_made.tree_of_row[wait.on], other_made.tree_of_row[i]);
        }
    }
}

TEST(Like, KeepsBlocksAndPicksOneTreeOfEachPart) {
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
    LikeOptions options;
    options.trees = 7;  // a pass of 5, then two of five: one of the first two, one of the others
    const LikeTrace other_made = like(made_trace(chats), options);
    std::set<std::string> again;
    for (const TraceRow& row : other_made.trace.rows) {
        const std::string& name = other_made.trace.sessions[row.session];
        if (name.ends_with("#1")) {
            again.insert(name);
        }
    }
    ASSERT_EQ(again.size(), 2U);
    EXPECT_LE(*again.begin(), "chat-1#1");
    EXPECT_GE(*again.rbegin(), "chat-2#1");
}

TEST(Like, GoesByRateLengthUsersAndSeed) {
    const Trace trace = made_trace("random --rows 2000 --rate 10");
    const LikeTrace fast = like(trace, LikeOptions{.per_second = 30});
    EXPECT_NEAR(static_cast<double>(fast.trace.rows.size()), 6000, 300);
    EXPECT_NEAR(static_cast<double>(fast.trace.rows.back().at_ns) / 1e9, 200, 15);
    EXPECT_NEAR(static_cast<double>(
                    like(trace, LikeOptions{.length_ns = 1'000'000'000'000}).trace.rows.size()),
                10'000, 500);

    const Trace sessions = made_trace("chat --sessions 40 --turns 4 --rate inf");
    const LikeTrace made = like(sessions, LikeOptions{.users = 3});
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
    const Trace other_trace = made_trace(chats);
    LikeOptions options;
    const auto begins = [&](std::uint64_t seed) {
        options.seed = seed;
        return members_of(like(other_trace, options).trace.rows, &TraceRow::at_ns);
    };
    EXPECT_EQ(begins(1), begins(1));
    EXPECT_NE(begins(1), begins(2));
    EXPECT_EQ(resample(Trace(), {}).error().code, ErrorCode::missing);
    const Trace burst = made_trace("random --rows 5 --rate inf");
    EXPECT_EQ(resample(burst, LikeOptions{.per_second = 5}).error().code, ErrorCode::invalid);
    EXPECT_EQ(resample(made_trace(chats), LikeOptions{.trees = like_rows_max}).error().code,
              ErrorCode::out_of_range);
    Trace words = made_trace("random --rows 5");
    words.body_ends = {0};
    EXPECT_EQ(resample(words, {}).error().code, ErrorCode::unsupported);
}

/// Of a real trace: the greatest difference of hit rates at five sizes.
Likeness likeness_at(const char* path, Sessions sessions, std::uint64_t trees) {
    const Trace trace = read_files({.paths = {path}, .sessions = sessions}).sound();
    const LikeTrace made = like(trace, LikeOptions{.seed = 5, .trees = trees});
    const Result<Likeness> result =
        likeness_of({trace, families_of(trace).of_row}, {made.trace, made.tree_of_row});
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

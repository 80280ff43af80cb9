// What caches are expected to hold.

#include "engine/plan/forecast.hpp"

#include "tests/unit/cmd/reading/make_trace.hpp"

namespace driftless {

// The forecast of cached tokens is that of an infinite prefix cache, for ids that are chained, that
// name contents only, that are small or large, in namespaces and copies, and with tokens of the
// template behind the prompt. The oracle keeps whole prefixes in a set.

namespace {

/// What a server keeps of a block: its namespace, its id, and how many of its tokens are the
/// prompt's own.
using Block = std::vector<std::uint64_t>;
using Prefix = std::vector<Block>;

class Oracle {
  public:
    Oracle(const Trace& trace, std::uint32_t post) : trace_(trace), post_(post) {}

    std::uint32_t next(const TraceRow& row) {
        const std::uint64_t size = trace_.block_size;
        Prefix prefix{{row.name_space}};
        std::uint64_t held = 0;
        bool unbroken = true;
        for (std::uint64_t k = 0; k < row.ids_count && (k + 1) * size <= row.input_length; ++k) {
            const std::int64_t left =
                std::int64_t{row.input_length} - post_ - static_cast<std::int64_t>(k * size);
            if (left >= static_cast<std::int64_t>(size)) {
                prefix.push_back({trace_.ids_of(row)[k]});
            } else {
                prefix.push_back(
                    {left > 0 ? trace_.ids_of(row)[k] : 0, static_cast<std::uint64_t>(left)});
            }
            unbroken = !seen_.insert(prefix).second && unbroken;
            held += unbroken ? 1 : 0;
        }
        return static_cast<std::uint32_t>(std::min(held, (row.input_length - 1) / size) * size);
    }

  private:
    const Trace& trace_;
    std::uint32_t post_;
    std::set<Prefix> seen_;
};

struct Kind {
    bool chained = false;
    unsigned shift = 0;  ///< of the ids, so that they are large
    std::uint32_t name_spaces = 1;
    std::uint32_t copies = 1;
};

void add_row(Trace& trace, Random& random, const Kind& kind) {
    std::vector<std::uint64_t> ids;
    std::uint64_t chain = 0;
    const std::uint64_t blocks = random.below(8);
    for (std::uint64_t k = 0; k < blocks; ++k) {
        const std::uint64_t pick = random.below(3);
        chain = chain * 3 + pick + 1;
        ids.push_back((kind.chained ? chain : pick) << kind.shift);
    }
    TraceRow row{.input_length = static_cast<std::uint32_t>(1 + random.below(blocks * 16 + 20)),
                 .output_length = 1,
                 .name_space = static_cast<std::uint32_t>(random.below(kind.name_spaces))};
    append_row(trace, row, ids);
}

Trace make_trace(std::uint64_t seed, const Kind& kind) {
    Random random(seed);
    Trace trace{.block_size = 16};
    for (int i = 0; i < 120; ++i) {
        add_row(trace, random, kind);
    }
    const auto rows = static_cast<std::uint32_t>(trace.rows.size());
    trace.copy_rows = kind.copies > 1 ? rows : 0;
    for (std::uint32_t copy = 1; copy < kind.copies; ++copy) {
        for (std::uint32_t i = 0; i < rows; ++i) {
            TraceRow row = trace.rows[i];
            row.index += copy * rows;
            row.name_space += copy * kind.name_spaces;
            trace.rows.push_back(row);
        }
    }
    trace.name_spaces = kind.name_spaces * kind.copies;
    return trace;
}

TEST(CacheForecast, IsAnInfinitePrefixCache) {
    const Kind kinds[] = {{},           {true},        {true, 40},      {false, 40},
                          {true, 0, 3}, {false, 0, 3}, {true, 0, 2, 3}, {false, 40, 2, 3}};
    for (const Kind& kind : kinds) {
        for (std::uint64_t seed = 0; seed < 10; ++seed) {
            const Trace trace = make_trace(seed, kind);
            for (const std::uint32_t post : {0U, 1U, 5U, 16U, 40U}) {
                CacheForecast forecast(trace, post);
                Oracle oracle(trace, post);
                std::uint64_t sum = 0;
                for (const TraceRow& row : trace.rows) {
                    const std::uint32_t expected = oracle.next(row);
                    ASSERT_EQ(forecast.next(row), expected)
                        << "row " << row.index << " seed " << seed;
                    sum += expected;
                }
                EXPECT_GT(sum, 0U);
            }
        }
    }
}

// Each prefix of ids has one number, whether its ids are chained or name contents. The oracle is a
// map of the prefixes, spelled out.

using Nodes = std::vector<std::uint32_t>;

/// Paths are the same whether they are asked for at once or after all rows have entered, when most
/// edges have been split.
void expect_numbered(const Trace& trace) {
    PrefixTree tree(trace);
    std::map<std::vector<std::uint64_t>, std::uint32_t> known;
    std::set<std::uint32_t> taken;
    std::vector<Nodes> all;
    std::vector<PrefixTree::Path> paths;
    for (const TraceRow& row : trace.rows) {
        const PrefixTree::Path path = tree.enter(row);
        const auto nodes = tree.nodes(path);
        std::vector<std::uint64_t> prefix{row.name_space};
        std::uint32_t held = 0;
        ASSERT_EQ(nodes.size(), row.ids_count);
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            prefix.push_back(trace.ids_of(row)[i]);
            const auto [at, is_new] = known.emplace(prefix, nodes[i]);
            ASSERT_EQ(at->second, nodes[i]) << "equal prefixes, equal numbers";
            ASSERT_EQ(taken.insert(nodes[i]).second, is_new) << "others, other numbers";
            ASSERT_LT(nodes[i], tree.nodes_end());
            held += is_new ? 0 : 1;
        }
        ASSERT_EQ(path.known, held);
        ASSERT_EQ(path.blocks, row.ids_count);
        all.emplace_back(nodes.begin(), nodes.end());
        paths.push_back(path);
    }
    tree.settle();
    for (std::size_t i = 0; i < all.size(); ++i) {
        const auto again = tree.nodes(paths[i]);
        ASSERT_EQ(all[i], Nodes(again.begin(), again.end())) << i;
        if (!all[i].empty()) {
            ASSERT_EQ(tree.last_node(paths[i]), all[i].back());
        }
    }
}

TEST(PrefixTree, NumbersEachPrefix) {
    for (std::uint64_t seed = 0; seed < 24; ++seed) {
        SCOPED_TRACE(seed);
        expect_numbered(random_trace(seed, TailRule::ceil, 150));
    }
    // Ids of contents behind one long beginning: an edge is split at each of its places, and a path
    // that ended in the middle of it goes on with the part that it is in.
    std::vector<RowSpec> rows{{0, 4, {9}}, {0, 4, {8}}, {0, 12, {8, 1, 2}}};
    rows.push_back({0, 36, {9, 8, 7, 6, 5, 4, 3, 2, 1}});
    for (const std::size_t length : {9U, 5U, 7U, 3U, 4U, 8U, 2U, 6U}) {
        RowSpec whole{0, 1, {9, 8, 7, 6, 5, 4, 3, 2, 1}};
        whole.ids.resize(length);
        rows.push_back(whole);
        whole.ids.back() = 20;
        rows.push_back(whole);
        whole.ids.push_back(21);
        rows.push_back(whole);
    }
    expect_numbered(make_trace(4, TailRule::ceil, rows));
    rows.push_back({0, 8, {9, 8}, no_session, 1});
    expect_numbered(make_trace(4, TailRule::ceil, rows));
    expect_numbered(make_trace(4, TailRule::ceil, {{0, 9, {}}, {0, 4, {1}}}));
}

// Blocks of system prompt and tools: as declared, or as the first requests of a tree show, and of
// every row that begins with them.

struct Rows {
    Trace trace;

    Rows() {
        trace.block_size = 16;
        trace.name_spaces = 2;
    }
    Rows& row(std::uint32_t session, const std::vector<std::uint64_t>& ids, std::uint32_t declared,
              std::uint32_t name_space = 0) {
        TraceRow row{.at_ns = std::ssize(trace.rows),
                     .input_length = static_cast<std::uint32_t>(ids.size() * 16 + 3),
                     .output_length = 1,
                     .name_space = name_space,
                     .session = session};
        while (trace.sessions.size() <= session) {
            trace.sessions.push_back(std::to_string(trace.sessions.size()));
        }
        append_row(trace, row, ids);
        trace.system_tokens.push_back(declared);
        return *this;
    }
    std::vector<std::uint32_t> blocks() const {
        return system_blocks(trace, make_plan(trace, {}).value()).blocks;
    }
};

using Blocks = std::vector<std::uint32_t>;

// Whole blocks alone, and none that a row does not have.
TEST(SystemBlocks, AreTheDeclaredOnes) {
    EXPECT_EQ(Rows().row(0, {1, 2, 3, 4}, 35).row(0, {1, 2, 3, 4, 5}, 35).blocks(), (Blocks{2, 2}));
    EXPECT_EQ(Rows().row(0, {1, 2, 3}, 15).blocks(), Blocks{0});
    EXPECT_EQ(Rows().row(0, {1, 2, 3}, 16).blocks(), Blocks{1});
    EXPECT_EQ(Rows().row(0, {1, 2, 3}, 1000).blocks(), Blocks{3});
    EXPECT_EQ(Rows().row(0, {}, 1000).blocks(), Blocks{0});
    // A row that parts from them earlier shares what it has of them; in another namespace ids mean
    // something else.
    Rows rows;
    rows.row(0, {1, 2, 3, 4}, 48).row(1, {1, 2, 9}, 0).row(2, {9, 1, 2}, 0);
    rows.row(3, {1, 2, 3}, 0, 1);
    EXPECT_EQ(rows.blocks(), (Blocks{3, 2, 0, 0}));
    // Of what is declared and what is seen the longer one holds; one session alone shows nothing.
    Rows tree;
    tree.row(0, {1, 2, 3, 4}, 16).row(1, {1, 2, 3, 5}, 0).row(0, {1, 2, 3, 4, 6}, 16);
    EXPECT_EQ(tree.blocks(), (Blocks{1, 1, 1})) << "two trees";
    tree.trace.dependencies.push_back({1, 0, Trigger::completion, 0});
    EXPECT_EQ(tree.blocks(), (Blocks{3, 3, 3}));
    const SystemBlocks found = system_blocks(tree.trace, make_plan(tree.trace, {}).value());
    EXPECT_EQ(std::tuple(found.rows, found.most), std::tuple(3u, 3u));
}

// Hits in the server's own blocks: the shared part of a trace's block counts, in whole blocks of
// the server, and never the last token.

void add_row(Trace& trace, std::uint32_t tokens, const std::vector<std::uint64_t>& ids,
             std::uint32_t name_space = 0) {
    TraceRow row{.input_length = tokens, .output_length = 1, .name_space = name_space};
    row.at_ns = std::ssize(trace.rows);
    append_row(trace, row, ids);
}

using Cached = std::vector<std::uint32_t>;

Cached cached(const Trace& trace, std::uint32_t server_block, AroundPrompt around = {}) {
    const Plan plan = make_plan(trace, {}).value();
    const auto cached = expect_server_cached(trace, around, server_block, plan);
    EXPECT_TRUE(cached);
    return cached.value_or(Cached{});
}

// Two equal rows of 1,902 tokens in blocks of 512: the trace's full blocks say 1,536, vLLM with
// blocks of 128 says 1,792, with blocks of 16 it would say 1,888.
TEST(ServerForecast, CountsThePartOfABlockThatIsShared) {
    Trace trace{.block_size = 512};
    add_row(trace, 1902, {1, 2, 3, 4});
    add_row(trace, 1902, {1, 2, 3, 4});
    EXPECT_EQ(make_plan(trace, {}).value().rows[1].expected_cached_tokens, 1536u);
    EXPECT_EQ(cached(trace, 128), (Cached{0, 1792}));
    EXPECT_EQ(cached(trace, 16), (Cached{0, 1888}));
    EXPECT_EQ(cached(trace, 512), (Cached{0, 1536}));
    EXPECT_EQ(cached(trace, 1), (Cached{0, 1901})) << "never the last token";
    EXPECT_EQ(cached(trace, 1, {5, 14}), (Cached{5, 1901})) << "the template's tail is the same";
    EXPECT_EQ(cached(trace, 2048), (Cached{0, 0}));
    // A row that is not longer than the template goes with one word: it hits the template all the
    // same.
    Trace shorter{.block_size = 512};
    add_row(shorter, 34, {1});
    add_row(shorter, 76, {2});
    add_row(shorter, 77, {3});
    add_row(shorter, 600, {4, 5});
    EXPECT_EQ(cached(shorter, 16, {70, 6}), (Cached{64, 64, 64, 64}));
    EXPECT_EQ(cached(shorter, 16, {300, 6}), (Cached{288, 288, 288, 288}));
    EXPECT_EQ(cached(shorter, 1, {0, 0}), (Cached{0, 0, 0, 0}));
    // Rows of other lengths share the shorter part, less the template's tail; a private tail is
    // shared with nobody; nor is anything behind a block that differs.
    Trace other_trace{.block_size = 512};
    add_row(other_trace, 700, {1, 2});      // 188 tokens of block 2
    add_row(other_trace, 1500, {1, 2, 3});  // all of it
    add_row(other_trace, 600, {1, 2});      // 88 of them
    add_row(other_trace, 1400, {1, 2, 3});  // 376 of block 3, of 476 seen
    add_row(other_trace, 1600, {1, 9, 3});  // another block 2
    add_row(other_trace, 1024, {1, 2}, 1);  // another namespace
    add_row(other_trace, 1100, {1, 2});     // a tail of its own
    add_row(other_trace, 1100, {1, 2});
    EXPECT_EQ(cached(other_trace, 1), (Cached{0, 700, 599, 1399, 512, 0, 1024, 1024}));
    // 14 tokens of the template end each row.
    EXPECT_EQ(cached(other_trace, 1, {5, 14}), (Cached{5, 686, 586, 1386, 512, 5, 1024, 1024}));
    EXPECT_EQ(cached(other_trace, 16), (Cached{0, 688, 592, 1392, 512, 0, 1024, 1024}));
}

// By brute force: the tokens that each two rows have in common, written out one by one.
TEST(ServerForecast, EqualsABruteForce) {
    for (std::uint32_t seed = 0; seed < 200; ++seed) {
        Random random(seed);
        Trace trace{.block_size = 4};
        const AroundPrompt around{static_cast<std::uint32_t>(random.below(3)),
                                  static_cast<std::uint32_t>(random.below(5))};
        std::vector<std::vector<std::uint64_t>> prompts;
        for (std::uint32_t row = 0; row < 12; ++row) {
            const auto tokens = static_cast<std::uint32_t>(8 + random.below(20));
            std::vector<std::uint64_t> ids;
            const std::uint64_t count = std::min<std::uint64_t>((tokens + 3) / 4, random.below(8));
            for (std::uint64_t block = 0; block < count; ++block) {
                ids.push_back(random.below(2));
            }
            add_row(trace, tokens, ids);
            std::vector<std::uint64_t> prompt;
            for (std::uint32_t at = 0; at < tokens; ++at) {
                const bool own = at / 4 >= ids.size();
                prompt.push_back(at < around.pre              ? 1'000 + at
                                 : at >= tokens - around.post ? 2'000 + at - (tokens - around.post)
                                 : own                        ? 10'000 + 100 * row + at
                                                              : 10 * ids[at / 4] + at % 4 + 100);
            }
            prompts.push_back(prompt);
        }
        const Cached forecast = cached(trace, 1, around);
        for (std::size_t row = 0; row < prompts.size(); ++row) {
            std::size_t most = around.pre;
            for (std::size_t earlier = 0; earlier < row; ++earlier) {
                const auto [a, b] = std::mismatch(prompts[row].begin(), prompts[row].end(),
                                                  prompts[earlier].begin(), prompts[earlier].end());
                most = std::max(most, static_cast<std::size_t>(a - prompts[row].begin()));
            }
            EXPECT_EQ(forecast[row], std::min(most, prompts[row].size() - 1)) << seed << " " << row;
        }
    }
}

// No more references than it has memory for.
TEST(ServerForecast, IsBounded) {
    Trace trace{.block_size = 1};
    const std::vector<std::uint64_t> half(server_forecast_ids_max / 2, 7);
    add_row(trace, static_cast<std::uint32_t>(half.size()), half);
    add_row(trace, static_cast<std::uint32_t>(half.size()), half);
    const auto most = expect_server_cached(trace, {}, 16, make_plan(trace, {}).value()).value();
    EXPECT_EQ(most.back(), half.size() - 16);
    add_row(trace, 1, {7});
    EXPECT_FALSE(expect_server_cached(trace, {}, 16, make_plan(trace, {}).value()));
}

}  // namespace
}  // namespace driftless

// Each prefix of ids has one number, whether its ids are chained or name contents. The oracle is a
// map of the prefixes, spelled out.
#include "engine/plan/prefix_tree.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/unit/engine/inspect/make_trace.hpp"

namespace driftless {
namespace {

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
}

// Ids of contents behind one long beginning: an edge is split at each of its places, and a path
// that ended in the middle of it goes on with the part that it is in.
TEST(PrefixTree, SplitsAnEdgeAtEachPlace) {
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
}

TEST(PrefixTree, OfARowWithoutIdsIsEmpty) {
    const Trace trace = make_trace(4, TailRule::ceil, {{0, 9, {}}, {0, 4, {1}}});
    expect_numbered(trace);
}

}  // namespace
}  // namespace driftless

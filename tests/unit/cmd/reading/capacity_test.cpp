// The curve is what an LRU cache of each size hits, played block by block.
#include <gtest/gtest.h>

#include <list>
#include <map>

#include "cmd/reading/prefix_cache.hpp"
#include "engine/plan/forecast.hpp"
#include "tests/unit/cmd/reading/make_trace.hpp"

namespace driftless {
namespace {

/// A cache of so many places by the definition in prefix_cache.hpp: blocks are named by their
/// whole prefix, spelled out; each is moved or brought in by itself.
class LruCache {
  public:
    using Name = std::vector<std::uint64_t>;

    explicit LruCache(std::size_t places) : places_(places) {}

    /// How many blocks of the prompt hit, one after the other from the first.
    std::size_t play(const std::vector<Name>& blocks) {
        std::size_t hits = 0;
        while (hits < blocks.size() && where_.count(blocks[hits]) > 0) {
            ++hits;
        }
        for (auto block = blocks.rbegin(); block != blocks.rend(); ++block) {
            use(*block);
        }
        return hits;
    }

  private:
    void use(const Name& name) {
        if (const auto found = where_.find(name); found != where_.end()) {
            order_.erase(found->second);
            where_.erase(found);
        } else if (order_.size() == places_) {
            where_.erase(order_.back());
            order_.pop_back();
        }
        order_.push_front(name);
        where_[name] = order_.begin();
    }

    std::size_t places_;
    std::list<Name> order_;
    std::map<Name, std::list<Name>::iterator> where_;
};

/// The blocks of a prompt in groups of `group`.
std::vector<LruCache::Name> blocks_of(const Trace& trace, const TraceRow& row, std::size_t group) {
    std::vector<LruCache::Name> blocks;
    LruCache::Name prefix{row.name_space};
    const auto ids = trace.ids_of(row);
    for (std::size_t i = 0; i < ids.size(); ++i) {
        prefix.push_back(ids[i]);
        const bool end = i + 1 == ids.size() && trace.tail_rule == TailRule::ceil;
        if ((i + 1) % group == 0 || end) {
            blocks.push_back(prefix);
        }
    }
    return blocks;
}

CapacityPoint played(const Trace& trace, std::size_t group, std::size_t places) {
    LruCache cache(places);
    CapacityPoint sums;
    sums.blocks = places;
    for (const TraceRow& row : trace.rows) {
        const std::size_t hits = cache.play(blocks_of(trace, row, group));
        sums.hit_blocks += hits;
        sums.hit_tokens +=
            std::min<std::uint64_t>(hits * group * trace.block_size, row.input_length);
    }
    return sums;
}

CapacityFigures counted(const Trace& trace, std::uint32_t group) {
    PrefixTree tree(trace);
    CapacityCounter counter(trace, group);
    for (const TraceRow& row : trace.rows) {
        counter.add(row, tree.nodes(tree.enter(row)));
    }
    return counter.figures();
}

/// Hits at any size follow from the curve's points only where those are; so every point is played,
/// the sizes for shares are played at and one below, and so is one above the last.
void expect_played(const Trace& trace, std::uint32_t group) {
    const CapacityFigures figures = counted(trace, group);
    for (const CapacityPoint& point : figures.curve) {
        const CapacityPoint expected = played(trace, group, point.blocks);
        EXPECT_EQ(point.hit_blocks, expected.hit_blocks) << point.blocks;
        EXPECT_EQ(point.hit_tokens, expected.hit_tokens) << point.blocks;
    }
    const CapacityPoint ideal = played(trace, group, figures.distinct + 1);
    EXPECT_EQ(figures.hit_blocks, ideal.hit_blocks);
    EXPECT_EQ(figures.hit_tokens, ideal.hit_tokens);
    for (std::size_t i = 0; i < ideal_shares.size() && figures.hit_tokens > 0; ++i) {
        const std::uint64_t needed = ideal.hit_tokens * ideal_shares[i];
        const std::uint64_t blocks = figures.blocks_for[i];
        EXPECT_GE(played(trace, group, blocks).hit_tokens * 1000, needed) << ideal_shares[i];
        if (blocks > 1) {
            EXPECT_LT(played(trace, group, blocks - 1).hit_tokens * 1000, needed)
                << ideal_shares[i];
        }
    }
}

TEST(CacheCapacity, IsWhatCachesOfThatSizeHit) {
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
        for (const TailRule rule : {TailRule::ceil, TailRule::floor}) {
            const Trace trace = random_trace(seed, rule, 150);
            for (const std::uint32_t group : {1U, 2U, 3U}) {
                SCOPED_TRACE(testing::Message() << seed << " " << group);
                expect_played(trace, group);
            }
        }
    }
}

// A B C, then A B C again: the second row finds n blocks in a cache of n, for the end of a prompt
// goes first. A cache that forgot the beginning first would find none below 3.
TEST(CacheCapacity, KeepsTheBeginningsOfPrompts) {
    const Trace trace = make_trace(4, TailRule::ceil, {{0, 12, {1, 2, 3}}, {1, 12, {1, 2, 3}}});
    const CapacityFigures figures = counted(trace, 1);
    ASSERT_EQ(figures.curve.size(), 3U);
    EXPECT_EQ(figures.curve[0].hit_blocks, 1U);
    EXPECT_EQ(figures.curve[1].hit_blocks, 2U);
    EXPECT_EQ(figures.curve[2].blocks, 3U);
    EXPECT_EQ(figures.curve[2].hit_blocks, 3U);
    EXPECT_EQ(figures.references, 6U);
    EXPECT_EQ(figures.distinct, 3U);
}

// Equal ids hit nothing behind different beginnings, nor in another namespace; nor does a block
// whose beginning was evicted.
TEST(CacheCapacity, HitsWholePrefixesOnly) {
    EXPECT_EQ(
        counted(make_trace(4, TailRule::ceil, {{0, 8, {1, 2}}, {1, 8, {3, 2}}}), 1).hit_blocks, 0U);
    EXPECT_EQ(counted(make_trace(4, TailRule::ceil, {{0, 4, {1}}, {1, 4, {1}, no_session, 1}}), 1)
                  .hit_blocks,
              0U);
}

// Partial blocks hit as what they hold; a coarser block at the end is one of its own.
TEST(CacheCapacity, CountsTokensOfPartialBlocks) {
    const Trace trace = make_trace(4, TailRule::ceil,
                                   {{0, 9, {1, 2, 3}}, {1, 9, {1, 2, 3}}, {2, 16, {1, 2, 4, 5}}});
    EXPECT_EQ(counted(trace, 1).hit_tokens, 9U + 8U);
    const CapacityFigures pairs = counted(trace, 2);
    EXPECT_EQ(pairs.block_size, 8U);
    EXPECT_EQ(pairs.references, 6U);
    EXPECT_EQ(pairs.distinct, 3U);  // 1 2, then 3 alone or 4 5
    EXPECT_EQ(pairs.hit_blocks, 3U);
    EXPECT_EQ(pairs.hit_tokens, 9U + 8U);
}

// Under --lenient a list may end before the prompt does: what follows is private to its row, so
// its last, coarser block is nobody else's either.
TEST(CacheCapacity, LeavesUncoveredTokensOut) {
    const Trace trace = make_trace(4, TailRule::ceil, {{0, 40, {1, 2, 3}}, {1, 40, {1, 2, 3}}});
    EXPECT_EQ(counted(trace, 1).hit_blocks, 3U);
    EXPECT_EQ(counted(trace, 2).references, 2U);
    EXPECT_EQ(counted(trace, 2).hit_blocks, 1U);
}

TEST(CacheCapacity, OfNothingIsNothing) {
    const CapacityFigures figures = counted(make_trace(4, TailRule::ceil, {{0, 9, {}}}), 1);
    EXPECT_EQ(figures.references, 0U);
    EXPECT_EQ(figures.input_tokens, 9U);
    EXPECT_TRUE(figures.curve.empty());
    EXPECT_EQ(figures.blocks_for[3], 0U);
}

}  // namespace
}  // namespace driftless

// Caches as large as a trace needs, and hits that were lost.

#include "cmd/reading/prefix_cache.hpp"

#include "tests/unit/cmd/reading/make_trace.hpp"

namespace driftless {

// The curve is what an LRU cache of each size hits, played block by block.

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
    CapacityPoint sums{.blocks = places};
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
    // A B C, then A B C again: the second row finds n blocks in a cache of n, for the end of a
    // prompt goes first. A cache that forgot the beginning first would find none below 3.
    const Trace trace = make_trace(4, TailRule::ceil, {{0, 12, {1, 2, 3}}, {1, 12, {1, 2, 3}}});
    const CapacityFigures figures = counted(trace, 1);
    ASSERT_EQ(figures.curve.size(), 3U);
    EXPECT_EQ(figures.curve[0].hit_blocks, 1U);
    EXPECT_EQ(figures.curve[1].hit_blocks, 2U);
    EXPECT_EQ(std::tuple(figures.curve[2].blocks, figures.curve[2].hit_blocks), std::tuple(3U, 3U));
    EXPECT_EQ(std::tuple(figures.references, figures.distinct), std::tuple(6U, 3U));
    // Equal ids hit nothing behind different beginnings, nor in another namespace; nor does a block
    // whose beginning was evicted.
    EXPECT_EQ(
        counted(make_trace(4, TailRule::ceil, {{0, 8, {1, 2}}, {1, 8, {3, 2}}}), 1).hit_blocks, 0U);
    EXPECT_EQ(counted(make_trace(4, TailRule::ceil, {{0, 4, {1}}, {1, 4, {1}, no_session, 1}}), 1)
                  .hit_blocks,
              0U);
    const CapacityFigures none = counted(make_trace(4, TailRule::ceil, {{0, 9, {}}}), 1);
    EXPECT_EQ(std::tuple(none.references, none.input_tokens), std::tuple(0U, 9U));
    EXPECT_TRUE(none.curve.empty());
    EXPECT_EQ(none.blocks_for[3], 0U);
}

// Partial blocks hit as what they hold; a coarser block at the end is one of its own.
TEST(CacheCapacity, CountsTokensOfPartialBlocksAlone) {
    const Trace trace = make_trace(4, TailRule::ceil,
                                   {{0, 9, {1, 2, 3}}, {1, 9, {1, 2, 3}}, {2, 16, {1, 2, 4, 5}}});
    EXPECT_EQ(counted(trace, 1).hit_tokens, 9U + 8U);
    const CapacityFigures pairs = counted(trace, 2);
    EXPECT_EQ(std::tuple(pairs.block_size, pairs.references), std::tuple(8U, 6U));
    EXPECT_EQ(pairs.distinct, 3U);  // 1 2, then 3 alone or 4 5
    EXPECT_EQ(std::tuple(pairs.hit_blocks, pairs.hit_tokens), std::tuple(3U, 9U + 8U));
    // Under --lenient a list may end before the prompt does: what follows is private to its row, so
    // its last, coarser block is nobody else's either.
    const Trace other_trace =
        make_trace(4, TailRule::ceil, {{0, 40, {1, 2, 3}}, {1, 40, {1, 2, 3}}});
    EXPECT_EQ(counted(other_trace, 1).hit_blocks, 3U);
    EXPECT_EQ(counted(other_trace, 2).references, 2U);
    EXPECT_EQ(counted(other_trace, 2).hit_blocks, 1U);
}

// Ids of prefixes and ids of contents are told apart, and rows by what of them was there before.

BlockFigures counted(const Trace& trace) {
    PrefixTree tree(trace);
    BlockIdCounter counter(trace, tree);
    for (const TraceRow& row : trace.rows) {
        counter.add(trace, row, tree.enter(row));
    }
    return counter.figures();
}

BlockFigures counted_rows(const std::vector<RowSpec>& rows) {
    return counted(make_trace(4, TailRule::ceil, rows));
}

TEST(BlockIds, OfPrefixesAreChainedAndContentsJoin) {
    const BlockFigures f =
        counted_rows({{0, 10, {1, 2, 3}}, {1, 12, {1, 2, 4}}, {2, 10, {1, 2, 3}}, {3, 4, {9}}});
    EXPECT_TRUE(f.chained());
    EXPECT_EQ(std::tuple(f.references, f.ids, f.prefixes), std::tuple(10U, 5U, 5U));
    EXPECT_EQ(std::tuple(f.ids_partial, f.ids_partial_shared, f.rows_new), std::tuple(1U, 1U, 2U));
    EXPECT_EQ(std::tuple(f.rows_in_part, f.rows_complete), std::tuple(1U, 1U));
    const BlockFigures moved = counted_rows({{0, 8, {1, 2}}, {1, 8, {2, 1}}});
    EXPECT_FALSE(moved.chained());
    EXPECT_EQ(std::tuple(moved.ids_moving, moved.ids_joining), std::tuple(2U, 2U));
    const BlockFigures joined = counted_rows({{0, 8, {1, 3}}, {1, 8, {2, 3}}});
    EXPECT_EQ(std::tuple(joined.ids_moving, joined.ids_joining), std::tuple(0U, 1U));
    EXPECT_EQ(std::tuple(joined.ids, joined.prefixes), std::tuple(3U, 4U));
    // Positions that differ by what the small part of a position is counted by.
    RowSpec longest{0, 4 * 4096, {}};
    for (std::uint64_t id = 0; id < 4096; ++id) {
        longest.ids.push_back(id);
    }
    EXPECT_TRUE(counted_rows({longest, longest}).chained());
    for (const std::uint64_t id : {2046U, 2047U, 2048U, 4094U}) {
        SCOPED_TRACE(id);
        const std::vector<RowSpec> rows{{0, 4, {id}}, longest};
        EXPECT_EQ(counted_rows(rows).ids_moving, 1U);
        EXPECT_EQ(counted_rows({rows[1], rows[0]}).ids_moving, 1U);
    }
}

TEST(BlockIds, OfNamespacesAreDifferentAndCountAsMaps) {
    const BlockFigures f = counted_rows({{0, 8, {1, 2}}, {1, 8, {2, 1}, no_session, 1}});
    EXPECT_TRUE(f.chained());
    EXPECT_EQ(f.ids, 4U);
    EXPECT_EQ(counted_rows({{0, 7, {1, 2}}, {1, 7, {1, 2}}}).ids_of_two_lengths, 0U);
    EXPECT_EQ(counted_rows({{0, 7, {1, 2}}, {1, 6, {1, 2}}}).ids_of_two_lengths, 1U);
    EXPECT_EQ(counted_rows({{0, 8, {1, 2}}, {1, 5, {3, 2}}}).ids_of_two_lengths, 1U);
    const BlockFigures missing = counted_rows({{0, 7, {}}, {1, 4, {1}}});
    EXPECT_EQ(std::tuple(missing.rows_without_ids, missing.rows_new), std::tuple(1U, 1U));
    EXPECT_TRUE(missing.chained());
    // Counted anew from maps of everything.
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const Trace trace = random_trace(seed, TailRule::ceil, 80);
        std::map<std::pair<std::uint32_t, std::uint64_t>, std::set<std::size_t>> positions;
        std::map<std::pair<std::uint32_t, std::uint64_t>, std::set<std::int64_t>> before;
        for (const TraceRow& row : trace.rows) {
            std::int64_t last = -1;
            for (std::size_t i = 0; i < row.ids_count; ++i) {
                const std::uint64_t id = trace.ids_of(row)[i];
                positions[{row.name_space, id}].insert(i);
                before[{row.name_space, id}].insert(last);
                last = static_cast<std::int64_t>(id);
            }
        }
        const auto several = [](const auto& map) {
            return static_cast<std::uint64_t>(std::count_if(
                map.begin(), map.end(), [](const auto& one) { return one.second.size() > 1; }));
        };
        const BlockFigures other_f = counted(trace);
        EXPECT_EQ(other_f.ids, positions.size());
        EXPECT_EQ(other_f.ids_moving, several(positions)) << seed;
        EXPECT_EQ(other_f.ids_joining, several(before)) << seed;
    }
}

// Ranks are those of a list in which every used thing moves to the front.

using Things = std::vector<std::uint32_t>;

/// The order by definition: the front was used last.
class List {
  public:
    Things ranks(const Things& things) const {
        Things found;
        for (const std::uint32_t thing : things) {
            const auto at = std::find(list_.begin(), list_.end(), thing);
            if (at == list_.end()) {
                break;
            }
            found.push_back(static_cast<std::uint32_t>(at - list_.begin()) + 1);
        }
        return found;
    }
    void use(const Things& things) {
        for (auto thing = things.rbegin(); thing != things.rend(); ++thing) {
            list_.erase(std::remove(list_.begin(), list_.end(), *thing), list_.end());
            list_.insert(list_.begin(), *thing);
        }
    }
    std::size_t size() const { return list_.size(); }

  private:
    Things list_;
};

Things ranks_of(const Recency& recency, const Things& things) {
    Things ranks;
    recency.ranks(things, ranks);
    return ranks;
}

TEST(Recency, CountsWhatWasUsedSinceAsAList) {
    Recency recency;
    EXPECT_EQ(ranks_of(recency, {0}), Things{});
    recency.use({});
    recency.use(Things{5, 6, 7});
    EXPECT_EQ(ranks_of(recency, {5, 6, 7}), (Things{1, 2, 3}));
    recency.use(Things{9});
    EXPECT_EQ(ranks_of(recency, {5, 6, 7}), (Things{2, 3, 4}));
    recency.use(Things{6});
    EXPECT_EQ(ranks_of(recency, {6, 9, 5, 7}), (Things{1, 2, 3, 4}));
    EXPECT_EQ(ranks_of(recency, {6, 8, 5}), Things{1});  // up to one that was never used
    EXPECT_EQ(recency.size(), 4U);
    // Long enough that lines fill up and are pushed together many times.
    for (const std::uint32_t universe : {3U, 70U, 900U}) {
        Random random(universe);
        Recency other_recency;
        List list;
        for (int round = 0; round < 3000; ++round) {
            Things things;
            const std::uint64_t begin = random.below(universe);
            for (std::uint64_t i = random.below(40) + 1; i > 0; --i) {
                // Runs of neighbours, now and then broken.
                const std::uint64_t next =
                    random.below(5) == 0 ? random.below(universe) : begin + i;
                const auto thing = static_cast<std::uint32_t>(next % universe);
                if (std::find(things.begin(), things.end(), thing) == things.end()) {
                    things.push_back(thing);
                }
            }
            ASSERT_EQ(ranks_of(other_recency, things), list.ranks(things))
                << universe << " " << round;
            other_recency.use(things);
            list.use(things);
            ASSERT_EQ(other_recency.size(), list.size());
        }
    }
}

Record turn_of(const char* session, std::int64_t fired, std::int64_t first_token,
               std::int64_t ended, std::int64_t expected, std::int64_t cached) {
    Record record;
    if (session[0] != '\0') {
        record.session = session;
    }
    record.url = "http://a/";
    record.fired_ns = fired;
    record.first_token_ns = first_token;
    record.ended_ns = ended;
    record.expected_cached_tokens = expected;
    record.cached_tokens = cached;
    record.outcome = Outcome::ok;
    return record;
}

HitLossTokens tokens_of(const std::vector<Record>& records) {
    HitLoss loss;
    for (const Record& record : records) {
        loss.add(record);
    }
    return loss.tokens();
}

TEST(HitLoss, NamesTheServerTheRowsAndTheCause) {
    const HitLossTokens tokens =
        tokens_of({turn_of("s", 0, 10, 20, 0, 0), turn_of("s", 30, 40, 50, 100, 30)});
    EXPECT_EQ(std::tuple(tokens.rows, tokens.expected, tokens.lost), std::tuple(2U, 100U, 70U));
    EXPECT_EQ(tokens.capacity, 70U);
    Record second = turn_of("s", 30, 40, 50, 100, 0);
    second.url = "http://b/";
    const HitLossTokens routed = tokens_of({turn_of("s", 0, 10, 20, 0, 0), second});
    EXPECT_EQ(std::tuple(routed.routing, routed.servers), std::tuple(100U, 2U));
    Record pod = turn_of("s", 30, 40, 50, 100, 0);
    pod.headers = {{"target-pod", "two"}};
    Record first = turn_of("s", 0, 10, 20, 0, 0);
    first.headers = {{"target-pod", "one"}};
    EXPECT_EQ(tokens_of({first, pod}).routing, 100U);
    // Each row has the cause that cost it most, by the place of its record, and the text names it.
    Record unsent;
    const HitLossTokens third_tokens =
        tokens_of({turn_of("s", 0, 10, 20, 0, 0), unsent, turn_of("s", 30, 40, 50, 100, 30)});
    ASSERT_EQ(third_tokens.rows_lost.size(), 3U);
    EXPECT_EQ(third_tokens.rows_lost[0], nullptr);
    EXPECT_EQ(third_tokens.rows_lost[1], nullptr);
    ASSERT_NE(third_tokens.rows_lost[2], nullptr);
    EXPECT_STREQ(third_tokens.rows_lost[2]->key, "capacity");
    EXPECT_EQ(hit_loss_text(third_tokens),
              "70 of 100 expected tokens (70.00 %); 100.0 % to capacity: evicted");
    EXPECT_EQ(
        tokens_of({turn_of("s", 0, 31, 60, 0, 0), turn_of("s", 30, 40, 50, 100, 0)}).in_flight,
        100U);
    // At its first token the prompt is in the cache.
    EXPECT_EQ(tokens_of({turn_of("s", 0, 30, 60, 0, 0), turn_of("s", 30, 40, 50, 100, 0)}).capacity,
              100U);
    second = turn_of("s", 30, 40, 50, 100, 60);
    second.expected_cached_server = 80;
    const HitLossTokens other_tokens = tokens_of({turn_of("s", 0, 10, 20, 0, 0), second});
    EXPECT_EQ(std::tuple(other_tokens.blocks, other_tokens.capacity), std::tuple(20U, 20U));
    // Its blocks are the smaller ones and hold more: nothing is lost to them, or gained.
    second.expected_cached_server = 120;
    EXPECT_EQ(tokens_of({turn_of("s", 0, 10, 20, 0, 0), second}).capacity, 60U);
    second.cached_tokens = 110;
    const HitLossTokens smaller = tokens_of({turn_of("s", 0, 10, 20, 0, 0), second});
    EXPECT_EQ(std::tuple(smaller.capacity, smaller.gained), std::tuple(10U, 0U));
}

TEST(HitLoss, CountsRowsThatReportAlone) {
    // Alone on one server, and no prefill under way.
    EXPECT_EQ(tokens_of({turn_of("", 0, 10, 20, 0, 0), turn_of("", 30, 40, 50, 100, 0)}).capacity,
              100U);
    // A row had no token yet.
    EXPECT_EQ(tokens_of({turn_of("", 0, 35, 60, 0, 0), turn_of("", 30, 40, 50, 100, 0)}).unknown,
              100U);
    // Two servers.
    Record other = turn_of("", 0, 10, 20, 0, 0);
    other.url = "http://b/";
    EXPECT_EQ(tokens_of({other, turn_of("", 30, 40, 50, 100, 0)}).unknown, 100U);
    Record silent = turn_of("s", 30, 40, 50, 100, 0);
    silent.cached_tokens.reset();
    const HitLossTokens tokens = tokens_of({silent, turn_of("t", 30, 40, 50, 100, 120)});
    EXPECT_EQ(std::tuple(tokens.rows, tokens.lost, tokens.gained), std::tuple(1U, 0U, 20U));
    EXPECT_EQ(tokens_of({}).rows, 0U);
}

}  // namespace
}  // namespace driftless

/// The prefix cache in readings: CapacityCounter, the hit rate of a trace as a function of the
/// cache's size; HitLoss, where hits were lost in a run, as far as its records tell. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/plan/forecast.hpp"
#include "proto/core/errors.hpp"
#include "proto/run/record.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

// CapacityCounter: the hit rate of a prefix cache as a function of its size, exact for all sizes.
//
// What is simulated, for one block size: a cache of C equal places, each for one block of a
// prompt. A block is named by the whole prefix that it ends (its namespace and all ids up to it),
// as prefix caches of servers name theirs. Rows come one after the other, by time. A row first
// looks up its blocks from the first on, in the cache as the row before left it: a block hits
// where it and all blocks before it are there. Then its blocks are used from the last to the
// first, so that a block is always more recent than those behind it, and the least recently used
// blocks are evicted: the end of a prompt goes before its beginning, and a cached block never
// lacks the ones before it. A row with more blocks than C leaves its first C. So the cache of C
// places holds the C blocks of the best ranks, and block k of a row hits where its
// rank is <= C.
//
// Rows take no time here: what a server does while a row runs (blocks in use are not evicted,
// answers are cached too) is left out.
//
// A coarser block groups blocks of the trace; the last group of a prompt may be smaller, and has a
// name of its own as the trace's last partial block has, where the trace names that one. A block
// takes a place of the full size whatever it holds; hits in tokens count what it holds.

/// Recency: in which order numbered things were last used, and the rank of each in that order.
///
/// The thing used last has rank 1. A cache of C equal places that evicts the least recently used
/// thing holds exactly the things of the ranks up to C, for every C at once: the rank is the LRU
/// stack distance (Mattson, Gecsei, Slutz, Traiger, IBM Systems Journal 9(2), 1970).
///
/// Every use takes the next place of a line; a bit says whether the place is still its thing's last
/// one, and a Fenwick tree counts bits by words of 64. Things used together lie together, so that a
/// path of n blocks costs about n / 64 updates of the tree. A full line is pushed together: memory
/// follows the number of things, not of uses: 4.75 bytes each.
class Recency {
  public:
    /// `things`: so many are expected, numbered from 0; more may come.
    explicit Recency(std::uint32_t things = 0) : places_(things, never) {}

    /// The ranks of the first of `things` that were ever used, up to one that was not. Appends to
    /// `ranks`.
    void ranks(std::span<const std::uint32_t> things, std::vector<std::uint32_t>& ranks) const;

    /// Uses them from the last to the first: the first has rank 1 then.
    void use(std::span<const std::uint32_t> things);

    /// Things that were ever used.
    std::uint32_t size() const { return live_; }

  private:
    static constexpr std::uint32_t never = 0xFFFFFFFFu;
    static constexpr std::uint32_t places_min = 4096;

    std::uint32_t place_of(std::uint32_t thing) const {
        return thing < places_.size() ? places_[thing] : never;
    }
    std::uint32_t rank_at(std::uint32_t place) const;
    void count(std::size_t word, std::int32_t change);
    std::uint32_t bits_before(std::size_t word) const;
    void leave(std::span<const std::uint32_t> things);
    void push_together(std::uint32_t coming);

    std::vector<std::uint32_t> places_;  ///< [thing], or `never`
    std::vector<std::uint64_t> bits_;    ///< [place / 64]
    std::vector<std::uint32_t> tree_;    ///< Fenwick tree over the bits of words
    std::uint32_t next_ = 0;             ///< first place that was never taken
    std::uint32_t live_ = 0;
};

struct CapacityPoint {
    std::uint64_t blocks = 0;  ///< places of the cache
    std::uint64_t hit_blocks = 0;
    std::uint64_t hit_tokens = 0;
};

/// Shares of the ideal whose cache size is told, in per mille.
inline constexpr std::array<std::uint32_t, 4> ideal_shares = {500, 900, 990, 1000};

struct CapacityFigures {
    std::uint32_t block_size = 0;
    std::uint64_t references = 0;  ///< blocks of all prompts
    std::uint64_t distinct = 0;    ///< blocks with names of their own
    std::uint64_t input_tokens = 0;
    std::uint64_t hit_blocks = 0;  ///< of an infinite cache
    std::uint64_t hit_tokens = 0;
    /// At the powers of two, and last at the smallest size that hits as much as an infinite cache.
    std::vector<CapacityPoint> curve;
    /// The smallest sizes, in blocks, that hit `ideal_shares` of `hit_tokens`; 0 without hits.
    std::array<std::uint64_t, ideal_shares.size()> blocks_for{};
};

class CapacityCounter {
  public:
    /// `group`: blocks of the trace that make one of the cache. `nodes`: prefixes that are
    /// expected.
    CapacityCounter(const Trace& trace, std::uint32_t group, std::uint32_t nodes = 0);

    /// The rows in order, each with its path through the one tree of all counters.
    void add(const TraceRow& row, std::span<const std::uint32_t> path);

    CapacityFigures figures() const;

  private:
    void pick(const TraceRow& row, std::span<const std::uint32_t> path);

    std::uint32_t trace_block_;
    std::uint32_t group_;
    bool ceil_;
    Recency recency_;
    CapacityFigures sums_;
    /// A hit of a block that is smaller than the others.
    struct Short {
        std::uint32_t rank = 0;
        std::uint32_t missing = 0;  ///< tokens that it lacks
    };

    std::vector<std::uint32_t> hits_;   ///< [rank - 1] blocks
    std::vector<Short> shorts_;         ///< at most one a row
    std::vector<std::uint32_t> nodes_;  ///< of the row, at this block size
    std::vector<std::uint32_t> ranks_;
};

// BlockIdCounter: what the block ids of a trace are like, and how many of them repeat.
//
// Chained ids name whole prefixes: each occurs at one place and behind one other id only. Ids of
// contents alone may occur anywhere. Ids of different namespaces are different ids.

struct BlockFigures {
    std::uint64_t references = 0;   ///< ids in all rows
    std::uint64_t ids = 0;          ///< distinct ones
    std::uint64_t prefixes = 0;     ///< distinct prefixes: the blocks that a prefix cache can hold
    std::uint64_t ids_moving = 0;   ///< at more than one position
    std::uint64_t ids_joining = 0;  ///< behind more than one other id
    /// With different numbers of tokens, seen where the id ends a row or is new behind its prefix.
    std::uint64_t ids_of_two_lengths = 0;
    std::uint64_t ids_partial = 0;         ///< of partial blocks
    std::uint64_t ids_partial_shared = 0;  ///< of those, in more than one row
    /// Rows by what an infinite cache holds of their blocks. Those without any begin with a block
    /// that no row had before: so many first blocks there are.
    std::uint64_t rows_complete = 0;
    std::uint64_t rows_in_part = 0;
    std::uint64_t rows_new = 0;
    std::uint64_t rows_without_ids = 0;

    /// Whether equal ids mean equal prefixes throughout.
    bool chained() const { return ids_moving == 0 && ids_joining == 0; }
};

class BlockIdCounter {
  public:
    /// Of the rows that enter the tree, which outlives it.
    BlockIdCounter(const Trace& trace, const PrefixTree& tree);

    /// A row and its path, in the order in which the tree saw them.
    void add(const Trace& trace, const TraceRow& row, const PrefixTree::Path& path);
    BlockFigures figures() const;

  private:
    static constexpr std::uint32_t position_bits = 11;
    static constexpr std::uint32_t unused = (1U << position_bits) - 1;

    /// What the first use of an id showed, and what later uses contradicted. 2 bytes.
    struct Id {
        std::uint16_t position : position_bits = unused;  ///< modulo `unused`; or that
        std::uint16_t moving : 1 = 0;
        std::uint16_t joining : 1 = 0;
        std::uint16_t two_lengths : 1 = 0;
        std::uint16_t shared : 1 = 0;
        std::uint16_t partial : 1 = 0;  ///< its length is among `partial_tokens_`
    };
    static constexpr std::uint32_t beginning =
        PrefixTree::none - 1;  ///< before a prompt's first id

    struct Use {
        std::uint32_t before = beginning;  ///< number of the id before it
        std::uint32_t position = 0;
        std::uint32_t tokens = 0;
        bool new_prefix = false;
        bool chained = false;  ///< the tree knows what was before it
    };

    std::uint32_t number_of(const TraceRow& row, std::uint32_t id);
    void note(std::uint32_t number, const Use& use);
    void note_first(std::uint32_t number, const Use& use);
    std::uint32_t first_before(std::uint32_t number) const;
    std::uint32_t first_position(std::uint32_t number) const;
    std::uint32_t first_tokens(std::uint32_t number);

    const PrefixTree& tree_;
    bool one_namespace_;  ///< the trace's own numbers of ids are used; else these, by namespace
    std::unordered_map<std::uint64_t, std::uint32_t> numbers_;
    std::vector<Id> ids_;  ///< [number]
    /// [number] the id before it, where its first use was not in the tree's array. May be short.
    std::vector<std::uint32_t> before_;
    /// [number] first position / `unused`: a row has at most 2^27 tokens, and no more ids. May be
    /// short: most traces have no long prompts.
    std::vector<std::uint16_t> positions_high_;
    std::unordered_map<std::uint32_t, std::uint32_t> partial_tokens_;  ///< [number]
    BlockFigures sums_;
    std::uint32_t block_size_ = 0;
};

// HitLoss: where hits of the prefix cache were lost, as far as the records tell. A loss is what an
// endless cache would have held of a prompt, in the trace's blocks or the server's own if those
// are smaller, and the server did not find. Owns about 80 bytes a request.
//
// - blocks: the server's own blocks, and tokens of its template, cut the shared prefix short
//   (`expected_cached_tokens` - `expected_cached_server`).
// - in flight: the turn before it had no token yet when the row left, so that its prompt was not
//   in the cache.
// - routing: the turn before it went to another server (url, pod or worker).
// - capacity: the same server had had the turn before it, answered: it has thrown it away.
// - unknown: the prefix is shared with other sessions, and the records do not say with which.
//   Where no request was without its first token when the row left, and there is one server alone,
//   it is capacity all the same.

struct HitLossCause;

struct HitLossTokens {
    std::uint64_t rows = 0;      ///< that reported their hits, with a forecast
    std::uint64_t expected = 0;  ///< tokens, of those
    std::uint64_t gained = 0;    ///< hit beyond what was expected: rows came in another order
    std::uint64_t lost = 0;      ///< the sum of those below
    std::uint64_t blocks = 0;
    std::uint64_t in_flight = 0;
    std::uint64_t routing = 0;
    std::uint64_t capacity = 0;
    std::uint64_t unknown = 0;
    std::uint64_t servers = 0;  ///< that answered
    /// By place of the record, of all that were added: what cost it most hits; null: it lost none.
    std::vector<const HitLossCause*> rows_lost;
};

/// A cause, and how every output names it.
struct HitLossCause {
    const char* key;
    const char* words;
    std::uint64_t HitLossTokens::* tokens;
};
inline constexpr std::array hit_loss_causes{
    HitLossCause{"blocks", "to the server's blocks and template", &HitLossTokens::blocks},
    HitLossCause{"in_flight", "while the turn before was still in flight",
                 &HitLossTokens::in_flight},
    HitLossCause{"routing", "to routing: the turn before went elsewhere", &HitLossTokens::routing},
    HitLossCause{"capacity", "to capacity: evicted", &HitLossTokens::capacity},
    HitLossCause{"unknown", "unknown: shared with other sessions", &HitLossTokens::unknown},
};
/// The one explanation of lost hits, a line.
std::string hit_loss_text(const HitLossTokens& loss);

class HitLoss {
  public:
    void add(const Record& record);
    HitLossTokens tokens() const;

  private:
    struct Row {
        std::int64_t fired_ns = 0;
        OptionalNs first_token_ns;
        std::int64_t ended_ns = 0;
        std::uint32_t server = 0;
        std::uint32_t family = 0;  ///< tree or session; `no_family`
        std::uint32_t place = 0;   ///< of the record, of all that were added
        bool counts = false;       ///< it reported its hits
        std::int64_t expected = 0;
        std::int64_t blocks = 0;  ///< of `expected`, cut off by the server's blocks
        std::int64_t cached = 0;
    };
    static constexpr std::uint32_t no_family = UINT32_MAX;

    std::uint32_t added_ = 0;
    std::vector<Row> rows_;
    std::unordered_map<std::string, std::uint32_t> servers_;
    std::unordered_map<std::string, std::uint32_t> families_;
};

}  // namespace driftless

/// SynthRows, SynthText: rows that are made one by one, by their instants, and the lines of a trace
/// that they become.
#pragma once

#include <cstdint>
#include <deque>
#include <queue>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/plan/synth_spec.hpp"
#include "proto/trace/row.hpp"
#include "proto/trace/write.hpp"

namespace driftless {

// SynthRow: one row that is made, before it is a line of a trace.

/// The row waits for the answer to an earlier one, then so long.
struct SynthWait {
    std::uint32_t row = 0;  ///< rows count from 0, as they are made
    std::int64_t delay_ns = 0;
};

struct SynthRow {
    std::int64_t at_ns = 0;  ///< not before that of the row before
    std::uint32_t input_length = 0;
    std::uint32_t output_length = 0;
    std::vector<std::uint64_t> ids;  ///< of the prompt's full blocks; empty without a block size
    std::string session;             ///< empty: none
    std::uint32_t turn = 0;          ///< from 1; 0 without a session
    std::uint32_t turn_before = no_row;  ///< row of its session's turn before
    std::vector<SynthWait> waits;

    /// As new; keeps its memory.
    void clear() {
        at_ns = 0;
        input_length = 0;
        output_length = 0;
        ids.clear();
        session.clear();
        turn = 0;
        turn_before = no_row;
        waits.clear();
    }
};

// GrowingPrompt: the block ids of a prompt that grows.
//
// Full blocks have ids, the partial one at the end has none. A prompt begins with blocks that
// others have, too, and gets fresh ids for what it adds. Ids are kept as ranges: memory follows
// the number of times that it grew. Copyable: a copy goes on with fresh ids of its own.

/// Hands out block ids, each once.
struct FreshIds {
    std::uint64_t next = 0;
    std::uint64_t take(std::uint64_t count) {
        next += count;
        return next - count;
    }
};

class GrowingPrompt {
  public:
    explicit GrowingPrompt(std::uint32_t block_size) : block_size_(block_size) {}

    /// Begins anew with the full blocks of the first `tokens` tokens, whose ids go from `first` on.
    void begin(std::uint64_t first, std::uint64_t tokens);
    /// Fresh ids for all further full blocks of a prompt of `tokens` tokens.
    void grow(std::uint64_t tokens, FreshIds& fresh);
    /// Appends all ids.
    void write(std::vector<std::uint64_t>& ids) const;

    std::uint64_t blocks() const { return blocks_; }

  private:
    struct Range {
        std::uint64_t first = 0;
        std::uint64_t count = 0;
    };
    std::uint32_t block_size_;
    std::uint64_t blocks_ = 0;
    std::vector<Range> ranges_;
};

/// SynthArrivals: the instants at which rows or sessions arrive. The first one is 0.
class SynthArrivals {
  public:
    SynthArrivals(const ArrivalSpec& spec, std::uint64_t seed);

    /// Of the arrival that `take` takes, ns.
    std::int64_t next() const { return next_; }
    std::int64_t take();

  private:
    ArrivalSpec spec_;
    ValueLaw gap_;
    Random random_;
    std::uint64_t taken_ = 0;
    std::int64_t next_ = 0;
};

// RandomRows and PrefixRows: rows that belong to no session. Each `next` makes one row; memory
// follows the number of groups, not of rows.

class RandomRows {
  public:
    RandomRows(const SynthSpec& common, const RandomSpec& spec);
    /// False after the last row. `row` is cleared before.
    bool next(SynthRow& row);

  private:
    RandomSpec spec_;
    SynthArrivals arrivals_;
    Random input_;
    Random output_;
    std::uint64_t made_ = 0;
};

/// Which group a row belongs to.
class GroupChoice {
  public:
    GroupChoice(const PrefixSpec& spec, std::uint64_t seed);
    std::uint32_t next();

  private:
    std::uint32_t by_share();
    std::uint32_t by_count();

    PrefixSpec spec_;
    Random random_;
    std::vector<double> upto_;  ///< zipf: [group] sum of the shares up to it
    /// Rows that are still to come, as a Fenwick tree over groups.
    std::vector<std::uint64_t> tree_;
    std::uint64_t left_ = 0;
};

class PrefixRows {
  public:
    PrefixRows(const SynthSpec& common, const PrefixSpec& spec);
    bool next(SynthRow& row);

  private:
    struct Group {
        std::uint64_t first_id = 0;
        std::uint32_t tokens = 0;
    };

    PrefixSpec spec_;
    SynthArrivals arrivals_;
    GroupChoice choice_;
    Random suffix_;
    Random output_;
    std::vector<Group> groups_;
    FreshIds fresh_;
    GrowingPrompt blocks_;
    std::uint64_t made_ = 0;
};

/// TreeRows: conversations, and agents that start sub-agents, row by row in the order of their
/// recorded instants.
///
/// A turn's prompt is the one before, its answer, and what is new. It waits for that answer and a
/// gap; a turn behind sub-agents waits for the last answers of these, too. The recorded instants
/// take an answer for `token_ns` a token. Memory follows the sessions that live at a time.
class TreeRows {
  public:
    TreeRows(const SynthSpec& common, const TreeSpec& spec);
    /// False after the last row. `row` is cleared before.
    bool next(SynthRow& row);

  private:
    static constexpr std::uint32_t nobody = 0xFFFFFFFFu;

    /// One session that lives.
    struct Agent {
        Agent(std::uint32_t block_size, Random own) : blocks(block_size), random(own) {}

        GrowingPrompt blocks;
        Random random;
        std::string name;
        std::uint32_t parent = nobody;
        std::uint32_t depth = 0;
        std::uint64_t turns_left = 0;  ///< behind the one that is due
        std::uint32_t turn = 0;        ///< rows made
        std::uint64_t tokens = 0;      ///< of the prompt that is due
        std::uint32_t answer = 0;      ///< tokens of the last one
        std::uint64_t returned = 0;    ///< tokens that sub-agents give back
        bool compacts = false;         ///< the row that is due asks for a summary
        bool compacted = false;        ///< the last row did
        std::uint32_t last_row = no_row;
        std::int64_t ready_ns = 0;  ///< of the next turn, as far as is known
        std::vector<SynthWait> waits;
        // Its sub-agents of this turn:
        std::uint32_t children = 0;  ///< of all turns, for their names
        std::uint64_t unstarted = 0;
        std::uint32_t running = 0;
    };
    struct Event {
        std::int64_t at_ns = 0;
        std::uint64_t order = 0;  ///< those of one instant in the order of their making
        std::uint32_t agent = 0;
        bool operator>(const Event& other) const {
            return at_ns != other.at_ns ? at_ns > other.at_ns : order > other.order;
        }
    };

    std::uint32_t add(Random random);
    void begin_context(Agent& agent, std::uint64_t tokens);
    void start_tree();
    void start_child(std::uint32_t parent, std::int64_t at_ns, std::uint32_t after);
    void schedule(std::uint32_t agent, std::int64_t at_ns);
    void emit(const Event& event, SynthRow& row);
    void go_on(std::uint32_t agent, std::int64_t end_ns);
    bool prepare(Agent& agent);
    bool spawn(std::uint32_t agent, std::int64_t end_ns);
    void finish(std::uint32_t agent, std::int64_t end_ns);

    TreeSpec spec_;
    std::uint32_t block_size_;
    std::uint64_t seed_;
    std::int64_t token_ns_;
    SynthArrivals arrivals_;
    FreshIds fresh_;
    std::uint64_t sub_system_id_ = 0;
    std::deque<Agent> agents_;  ///< addresses stay
    std::vector<std::uint32_t> free_;
    std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
    std::uint64_t trees_ = 0;  ///< that have begun
    std::uint64_t order_ = 0;
    std::uint32_t rows_ = 0;
};

// StressRows: prompts of one length, in patterns that tell one prefix cache from another.
//
// reuse: first each prompt of the working set once; then rows that begin with a part of one of
// them, drawn, and go on with new blocks, so that the set share of all tokens of these rows can
// hit. working_set: passes over all prompts of a set that grows. offload: passes over a set that
// fits a cache, over one that does not, and over the first one again. Memory is constant.

/// Sizes that a pattern passes through, in order.
std::uint32_t stress_phases(const StressSpec& spec);
/// Prompts of the working set in that phase.
std::uint64_t stress_set(const StressSpec& spec, std::uint32_t phase);
/// Rows of the whole pattern.
std::uint64_t stress_rows(const StressSpec& spec);

class StressRows {
  public:
    StressRows(const SynthSpec& common, const StressSpec& spec);
    /// False after the last row. `row` is cleared before.
    bool next(SynthRow& row);

  private:
    std::uint64_t reused_blocks();

    StressSpec spec_;
    std::uint32_t block_size_;
    SynthArrivals arrivals_;
    Random output_;
    Random choice_;
    FreshIds fresh_;
    GrowingPrompt blocks_;
    std::uint64_t made_ = 0;
    std::uint64_t rows_ = 0;
    std::uint64_t reused_tokens_ = 0;
    // Place in the passes:
    std::uint32_t phase_ = 0;
    std::uint32_t round_ = 0;
    std::uint64_t prompt_ = 0;
};

/// SynthRows: the rows of a SynthSpec, one by one, by their recorded instants. The same spec gives
/// the same rows on every machine.
class SynthRows {
  public:
    explicit SynthRows(const SynthSpec& spec);
    /// False after the last row. `row` is cleared before.
    bool next(SynthRow& row);

  private:
    std::variant<RandomRows, PrefixRows, TreeRows, StressRows> rows_;
};

/// SynthText: a SynthSpec as the text of a trace, line by line. What `driftless synth` writes and
/// what a replay reads without a file are these bytes.
///
/// Memory is that of the rows' maker and of one line.
class SynthText {
  public:
    /// `name`: of the kind, for the header. `target`: canonical or mooncake.
    SynthText(const SynthSpec& spec, std::string_view name, const TraceTarget& target);

    /// Appends the next line with its end. False after the last one, or where `too_many`.
    bool next(std::string& out);

    struct Sums {
        std::uint64_t rows = 0;
        std::uint64_t input_tokens = 0;
        std::uint64_t output_tokens = 0;
        std::int64_t last_ns = 0;
    };
    const Sums& sums() const { return sums_; }
    /// More rows came than a reader can number.
    bool too_many() const { return too_many_; }
    /// What the format could not hold, a line each.
    std::vector<std::string> losses() const;

  private:
    void write_header(std::string& out);
    void write_canonical(std::string& out);
    void write_mooncake(std::string& out);
    void write_mooncake_ids(JsonWriter& json);

    SynthRows rows_;
    std::string name_;
    std::uint32_t block_size_;  ///< 0: rows have no ids
    bool mooncake_;
    bool begun_ = false;
    bool too_many_ = false;
    SynthRow row_;
    Sums sums_;
    std::uint64_t private_ids_ = 0;  ///< mooncake: of blocks without ids
    std::uint64_t waits_lost_ = 0;
    std::uint64_t times_rounded_ = 0;
};

/// The largest number of rows of a trace: their indices are 32 bits, with marks.
inline constexpr std::uint64_t synth_rows_max = 4'294'967'000;

}  // namespace driftless

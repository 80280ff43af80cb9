#include "engine/plan/synth_rows.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <deque>
#include <queue>
#include <utility>
#include <variant>

#include "proto/core/numbers.hpp"
#include "proto/core/text.hpp"
#include "proto/json/write.hpp"
#include "proto/trace/formats.hpp"
#include "proto/trace/times.hpp"

namespace driftless {

// Purposes of random numbers.
static constexpr std::uint64_t arrival_stream = 1;
static constexpr std::uint64_t input_stream = 2;
static constexpr std::uint64_t output_stream = 3;
static constexpr std::uint64_t group_stream = 4;
static constexpr std::uint64_t prefix_stream = 5;
static constexpr std::uint64_t tree_stream = 6;
static constexpr std::uint64_t stress_output_stream = 7;
static constexpr std::uint64_t stress_choice_stream = 8;

static constexpr std::uint64_t whole_ppm = 1'000'000;
static constexpr double second_ns = 1e9;

namespace {

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
    void begin(std::uint64_t first, std::uint64_t tokens) {
        ranges_.clear();
        blocks_ = tokens / block_size_;
        if (blocks_ > 0) {
            ranges_.push_back({first, blocks_});
        }
    }

    /// Fresh ids for all further full blocks of a prompt of `tokens` tokens.
    void grow(std::uint64_t tokens, FreshIds& fresh) {
        const std::uint64_t blocks = tokens / block_size_;
        if (blocks <= blocks_) {
            return;
        }
        const std::uint64_t first = fresh.take(blocks - blocks_);
        if (!ranges_.empty() && ranges_.back().first + ranges_.back().count == first) {
            ranges_.back().count += blocks - blocks_;
        } else {
            ranges_.push_back({first, blocks - blocks_});
        }
        blocks_ = blocks;
    }

    /// Appends all ids.
    void write(std::vector<std::uint64_t>& ids) const {
        for (const Range& range : ranges_) {
            for (std::uint64_t i = 0; i < range.count; ++i) {
                ids.push_back(range.first + i);
            }
        }
    }

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
    SynthArrivals(const ArrivalSpec& spec, std::uint64_t seed)
        : spec_(spec), random_(stream_of(seed, arrival_stream, 0)) {
        gap_.kind = LawKind::exponential;
        gap_.centre = spec.per_second > 0 ? second_ns / spec.per_second : 0;
        gap_.high = time_max_ns;
    }

    /// Of the arrival that `take` takes, ns.
    std::int64_t next() const { return next_; }
    std::int64_t take() {
        const std::int64_t now = next_;
        ++taken_;
        if (spec_.per_second <= 0) {
            return now;
        }
        if (spec_.constant) {
            const double at = std::floor(static_cast<double>(taken_) * gap_.centre + 0.5);
            next_ =
                at < static_cast<double>(time_max_ns) ? static_cast<std::int64_t>(at) : time_max_ns;
        } else {
            next_ = later(now, draw(gap_, random_));
        }
        return now;
    }

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
    RandomRows(const SynthSpec& common, const RandomSpec& spec)
        : spec_(spec),
          arrivals_(common.arrivals, common.seed),
          input_(stream_of(common.seed, input_stream, 0)),
          output_(stream_of(common.seed, output_stream, 0)) {}
    bool make(SynthRow& row) {
        if (made_ == spec_.rows) {
            return false;
        }
        ++made_;
        row.at_ns = arrivals_.take();
        row.input_length = static_cast<std::uint32_t>(draw(spec_.input, input_));
        row.output_length = static_cast<std::uint32_t>(draw(spec_.output, output_));
        return true;
    }

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
    GroupChoice(const PrefixSpec& spec, std::uint64_t seed)
        : spec_(spec), random_(stream_of(seed, group_stream, 0)) {
        if (spec_.zipf >= 0) {
            double sum = 0;
            for (std::uint32_t group = 0; group < spec_.groups; ++group) {
                sum += portable_exp(-spec_.zipf * portable_log(group + 1.0));
                upto_.push_back(sum);
            }
            return;
        }
        left_ = spec_.rows;
        tree_.assign(std::size_t{spec_.groups} + 1, 0);
        for (std::uint32_t group = 0; group < spec_.groups; ++group) {
            tree_[group + 1] +=
                spec_.rows / spec_.groups + (group < spec_.rows % spec_.groups ? 1 : 0);
            const std::size_t above = group + 1 + ((group + 1) & -(group + 1));
            if (above < tree_.size()) {
                tree_[above] += tree_[group + 1];
            }
        }
    }

    std::uint32_t next() { return spec_.zipf >= 0 ? by_share() : by_count(); }

  private:
    std::uint32_t by_share() {
        const double place = random_.uniform() * upto_.back();
        const auto found = std::upper_bound(upto_.begin(), upto_.end(), place);
        return static_cast<std::uint32_t>(std::min<std::size_t>(
            static_cast<std::size_t>(found - upto_.begin()), upto_.size() - 1));
    }

    /// Draws one of the rows that are left, and takes it: the group in whose part of them it lies.
    std::uint32_t by_count() {
        std::uint64_t place = spec_.ordered ? 0 : random_.below(left_);
        --left_;
        std::size_t at = 0;
        for (std::size_t step = std::bit_floor(tree_.size() - 1); step > 0; step /= 2) {
            if (at + step < tree_.size() && tree_[at + step] <= place) {
                at += step;
                place -= tree_[at];
            }
        }
        for (std::size_t node = at + 1; node < tree_.size(); node += node & -node) {
            --tree_[node];
        }
        return static_cast<std::uint32_t>(at);
    }

    PrefixSpec spec_;
    Random random_;
    std::vector<double> upto_;  ///< zipf: [group] sum of the shares up to it
    /// Rows that are still to come, as a Fenwick tree over groups.
    std::vector<std::uint64_t> tree_;
    std::uint64_t left_ = 0;
};

class PrefixRows {
  public:
    PrefixRows(const SynthSpec& common, const PrefixSpec& spec)
        : spec_(spec),
          arrivals_(common.arrivals, common.seed),
          choice_(spec, common.seed),
          suffix_(stream_of(common.seed, input_stream, 0)),
          output_(stream_of(common.seed, output_stream, 0)),
          blocks_(common.block_size) {
        Random lengths = stream_of(common.seed, prefix_stream, 0);
        for (std::uint32_t i = 0; i < spec_.groups; ++i) {
            const auto tokens = static_cast<std::uint32_t>(draw(spec_.prefix, lengths));
            groups_.push_back({fresh_.take(tokens / common.block_size), tokens});
        }
    }

    bool make(SynthRow& row) {
        if (made_ == spec_.rows) {
            return false;
        }
        ++made_;
        const Group& group = groups_[choice_.next()];
        row.at_ns = arrivals_.take();
        row.input_length = static_cast<std::uint32_t>(std::clamp<std::int64_t>(
            group.tokens + draw(spec_.suffix, suffix_), 1, row_tokens_max));
        row.output_length = static_cast<std::uint32_t>(draw(spec_.output, output_));
        blocks_.begin(group.first_id, std::min(group.tokens, row.input_length));
        blocks_.grow(row.input_length, fresh_);
        blocks_.write(row.ids);
        return true;
    }

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
    TreeRows(const SynthSpec& common, const TreeSpec& spec)
        : spec_(spec),
          block_size_(common.block_size),
          seed_(common.seed),
          token_ns_(common.token_ns),
          arrivals_(common.arrivals, common.seed) {
        fresh_.take(spec_.system_tokens / block_size_);
        sub_system_id_ = fresh_.take(spec_.sub_system_tokens / block_size_);
    }

    bool make(SynthRow& row) {
        while (trees_ < spec_.trees &&
               (events_.empty() || arrivals_.next() < events_.top().at_ns)) {
            start_tree();
        }
        if (events_.empty()) {
            return false;
        }
        const Event event = events_.top();
        events_.pop();
        emit(event, row);
        go_on(event.agent, later(event.at_ns, token_ns_ * row.output_length));
        return true;
    }

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
        auto operator<=>(const Event&) const = default;
    };

    /// A place for one more session; of one that has ended where there is one.
    std::uint32_t add(Random random) {
        if (free_.empty()) {
            agents_.emplace_back(block_size_, random);
            return static_cast<std::uint32_t>(agents_.size() - 1);
        }
        const std::uint32_t place = free_.back();
        free_.pop_back();
        agents_[place] = Agent(block_size_, random);
        return place;
    }

    /// The system prompt alone; all behind it is new. `tokens`: of the whole prompt.
    void begin_context(Agent& agent, std::uint64_t tokens) {
        const bool root = agent.depth == 0;
        const std::uint64_t system = root ? spec_.system_tokens : spec_.sub_system_tokens;
        agent.tokens = std::min<std::uint64_t>(system + tokens, spec_.context_max);
        agent.blocks.begin(root ? 0 : sub_system_id_, std::min(system, agent.tokens));
    }

    void start_tree() {
        const std::uint32_t place = add(stream_of(seed_, tree_stream, trees_));
        Agent& agent = agents_[place];
        agent.name = spec_.name + ("-" + std::to_string(trees_++));
        agent.turns_left = static_cast<std::uint64_t>(draw(spec_.turns, agent.random)) - 1;
        begin_context(agent, static_cast<std::uint64_t>(draw(spec_.first, agent.random)));
        schedule(place, arrivals_.take());
    }

    /// `after`: the last row of the sub-agent whose place it takes; `no_row` for none.
    void start_child(std::uint32_t parent, std::int64_t at_ns, std::uint32_t after) {
        const std::uint32_t place = add(Random(agents_[parent].random.next()));
        Agent& above = agents_[parent];
        Agent& agent = agents_[place];
        agent.parent = parent;
        agent.depth = above.depth + 1;
        agent.name = above.name + "/" + std::to_string(++above.children);
        agent.turns_left = static_cast<std::uint64_t>(draw(spec_.sub_turns, agent.random)) - 1;
        const auto first = static_cast<std::uint64_t>(draw(spec_.sub_first, agent.random));
        if (spec_.inherit) {
            agent.blocks = above.blocks;
            agent.tokens =
                std::min<std::uint64_t>(above.tokens + above.answer + first, spec_.context_max);
        } else {
            begin_context(agent, first);
        }
        agent.waits.push_back({above.last_row, 0});
        if (after != no_row) {
            agent.waits.push_back({after, 0});
        }
        --above.unstarted;
        ++above.running;
        schedule(place, at_ns);
    }

    void schedule(std::uint32_t agent, std::int64_t at_ns) {
        events_.push({at_ns, order_++, agent});
    }

    void emit(const Event& event, SynthRow& row) {
        Agent& agent = agents_[event.agent];
        row.at_ns = event.at_ns;
        row.session = agent.name;
        row.turn = ++agent.turn;
        row.turn_before = agent.last_row;
        row.waits.swap(agent.waits);
        row.input_length = static_cast<std::uint32_t>(agent.tokens);
        row.output_length = static_cast<std::uint32_t>(
            draw(agent.compacts ? spec_.summary : spec_.output, agent.random));
        agent.blocks.grow(agent.tokens, fresh_);
        agent.blocks.write(row.ids);
        agent.compacted = agent.compacts;
        agent.compacts = false;
        agent.answer = row.output_length;
        agent.last_row = rows_++;
    }

    /// What comes of the session once its row is out: sub-agents, another turn, or its end.
    void go_on(std::uint32_t place, std::int64_t end_ns) {
        Agent& agent = agents_[place];
        agent.waits.clear();
        agent.ready_ns = end_ns;
        if (agent.turns_left == 0) {
            finish(place, end_ns);
            return;
        }
        const std::int64_t gap_ns = draw(spec_.gap, agent.random);
        agent.ready_ns = later(end_ns, gap_ns);
        agent.waits.push_back({agent.last_row, gap_ns});
        if (!agent.compacted && spawn(place, end_ns)) {
            return;
        }
        if (prepare(agent)) {
            schedule(place, agent.ready_ns);
        } else {
            finish(place, end_ns);
        }
    }

    /// The prompt of the next turn. False where it would not fit the context.
    bool prepare(Agent& agent) {
        const auto added = static_cast<std::uint64_t>(draw(spec_.growth, agent.random));
        const std::uint64_t grown = agent.answer + agent.returned + added;
        agent.returned = 0;
        if (agent.compacted) {
            begin_context(agent, grown);
        } else {
            agent.tokens += grown;
            agent.compacts = spec_.compact_at > 0 && agent.tokens > spec_.compact_at;
        }
        agent.turns_left -= agent.compacts ? 0 : 1;
        return agent.tokens <= spec_.context_max;
    }

    /// True where the next turn waits for sub-agents.
    bool spawn(std::uint32_t place, std::int64_t end_ns) {
        Agent& agent = agents_[place];
        if (agent.depth >= spec_.depth || agent.random.uniform() >= spec_.spawn) {
            return false;
        }
        agent.unstarted = static_cast<std::uint64_t>(draw(spec_.fan_out, agent.random));
        const std::uint64_t at_once = std::min<std::uint64_t>(agent.unstarted, spec_.parallel);
        for (std::uint64_t i = 0; i < at_once; ++i) {
            start_child(place, end_ns, no_row);
        }
        return true;
    }

    /// The session has ended. Its place in its parent's turn goes to the next sub-agent; behind the
    /// last one the parent goes on, or ends, too: at most `depth` of them, one in the other.
    void finish(std::uint32_t place, std::int64_t end_ns) {
        const std::uint32_t parent = agents_[place].parent;
        const std::uint32_t last_row = agents_[place].last_row;
        const std::uint32_t answer = agents_[place].answer;
        free_.push_back(place);
        if (parent == nobody) {
            return;
        }
        Agent& above = agents_[parent];
        above.waits.push_back({last_row, 0});
        above.returned += answer;
        above.ready_ns = std::max(above.ready_ns, end_ns);
        --above.running;
        if (above.unstarted > 0) {
            start_child(parent, end_ns, last_row);
            return;
        }
        if (above.running > 0) {
            return;
        }
        if (prepare(above)) {
            schedule(parent, above.ready_ns);
        } else {
            finish(parent, above.ready_ns);
        }
    }

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

}  // namespace

/// Sizes that a pattern passes through, in order.
static std::uint32_t stress_phases(const StressSpec& spec) {
    return spec.pattern == StressPattern::working_set ? spec.steps
           : spec.pattern == StressPattern::offload   ? 3
                                                      : 1;
}

/// Prompts of the working set in that phase.
static std::uint64_t stress_set(const StressSpec& spec, std::uint32_t phase) {
    if (spec.pattern == StressPattern::offload) {
        return phase == 1 ? spec.set_high : spec.set_low;
    }
    if (spec.pattern == StressPattern::reuse || spec.steps == 1) {
        return spec.set_low;
    }
    const auto grown = static_cast<unsigned __int128>(spec.set_high - spec.set_low) * phase;
    return spec.set_low + static_cast<std::uint64_t>(grown / (spec.steps - 1));
}

std::uint64_t stress_rows(const StressSpec& spec) {
    if (spec.pattern == StressPattern::reuse) {
        return spec.set_low + spec.rows;
    }
    std::uint64_t rows = 0;
    for (std::uint32_t phase = 0; phase < stress_phases(spec); ++phase) {
        rows += stress_set(spec, phase) * spec.rounds;
    }
    return rows;
}

namespace {

// StressRows: prompts of one length, in patterns that tell one prefix cache from another.
//
// reuse: first each prompt of the working set once; then rows that begin with a part of one of
// them, drawn, and go on with new blocks, so that the set share of all tokens of these rows can
// hit. working_set: passes over all prompts of a set that grows. offload: passes over a set that
// fits a cache, over one that does not, and over the first one again. Memory is constant.

class StressRows {
  public:
    StressRows(const SynthSpec& common, const StressSpec& spec)
        : spec_(spec),
          block_size_(common.block_size),
          arrivals_(common.arrivals, common.seed),
          output_(stream_of(common.seed, stress_output_stream, 0)),
          choice_(stream_of(common.seed, stress_choice_stream, 0)),
          blocks_(common.block_size),
          rows_(stress_rows(spec)) {
        const std::uint64_t prompts = std::max(spec_.set_low, spec_.set_high);
        fresh_.take(prompts * (spec_.input / block_size_));
    }

    bool make(SynthRow& row) {
        if (made_ == rows_) {
            return false;
        }
        row.at_ns = arrivals_.take();
        row.input_length = spec_.input;
        row.output_length = static_cast<std::uint32_t>(draw(spec_.output, output_));
        const std::uint64_t each = spec_.input / block_size_;
        if (spec_.pattern == StressPattern::reuse && made_ >= spec_.set_low) {
            const std::uint64_t reused = reused_blocks();
            blocks_.begin(choice_.below(spec_.set_low) * each, reused * block_size_);
            blocks_.grow(spec_.input, fresh_);
        } else {
            blocks_.begin(prompt_ * each, spec_.input);
            if (++prompt_ == stress_set(spec_, phase_)) {
                prompt_ = 0;
                if (++round_ == spec_.rounds) {
                    round_ = 0;
                    ++phase_;
                }
            }
        }
        blocks_.write(row.ids);
        ++made_;
        return true;
    }

  private:
    /// What is due of the share so far, in whole blocks; never the last token, which no cache
    /// gives.
    std::uint64_t reused_blocks() {
        const std::uint64_t rows = made_ - spec_.set_low + 1;
        const auto wanted = static_cast<std::uint64_t>(static_cast<unsigned __int128>(rows) *
                                                       spec_.input * spec_.hit_ppm / whole_ppm);
        const std::uint64_t blocks = std::min<std::uint64_t>(
            (wanted - reused_tokens_) / block_size_, (spec_.input - 1) / block_size_);
        reused_tokens_ += blocks * block_size_;
        return blocks;
    }

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

using AnyRows = std::variant<RandomRows, PrefixRows, TreeRows, StressRows>;

}  // namespace

static AnyRows rows_of(const SynthSpec& spec) {
    if (const auto* random = std::get_if<RandomSpec>(&spec.kind)) {
        return RandomRows(spec, *random);
    }
    if (const auto* prefix = std::get_if<PrefixSpec>(&spec.kind)) {
        return PrefixRows(spec, *prefix);
    }
    if (const auto* trees = std::get_if<TreeSpec>(&spec.kind)) {
        return TreeRows(spec, *trees);
    }
    return StressRows(spec, std::get<StressSpec>(spec.kind));
}

struct SynthRows::Maker {
    AnyRows rows;
};

SynthRows::SynthRows(const SynthSpec& spec)
    : maker_(std::make_unique<Maker>(Maker{rows_of(spec)})) {}
SynthRows::SynthRows(SynthRows&&) noexcept = default;
SynthRows::~SynthRows() = default;

bool SynthRows::next(SynthRow& row) {
    row.clear();
    return std::visit([&row](auto& rows) { return rows.make(row); }, maker_->rows);
}

SynthText::SynthText(const SynthSpec& spec, std::string_view name, const TraceTarget& target)
    : rows_(spec),
      name_(name),
      block_size_(spec.kind.index() == 0 ? 0 : spec.block_size),
      mooncake_(&target == &mooncake_target) {}

void SynthText::write_header(std::string& out) {
    JsonWriter json(out);
    json.begin_object();
    write_canonical_header(json, {block_size_, TailRule::floor, name_, "synth"});
    json.end_object();
    out += '\n';
}

void SynthText::write_canonical(std::string& out) {
    JsonWriter json(out);
    json.begin_object();
    CanonicalRow line;
    line.at_ns = row_.at_ns;
    line.input_length = row_.input_length;
    line.output_length = row_.output_length;
    line.turn = row_.turn;
    if (!row_.session.empty()) {
        line.session = row_.session;
    }
    write_canonical_row(json, line, row_.ids);
    if (!row_.waits.empty()) {
        json.key("after").begin_array();
        for (const SynthWait& wait : row_.waits) {
            write_canonical_wait(json, wait.row, Trigger::completion, wait.delay_ns);
        }
        json.end_array();
    }
    json.end_object();
}

/// The format has an id for each block, and for the partial one, too: ids of rows are even numbers
/// then, and those of partial blocks odd ones, so that both stay small.
void SynthText::write_mooncake_ids(JsonWriter& json) {
    json.key("hash_ids").begin_array();
    for (const std::uint64_t id : row_.ids) {
        json.unsigned_integer(2 * id);
    }
    for (std::uint64_t i = row_.ids.size(); i < blocks_of(row_.input_length, block_size_); ++i) {
        json.unsigned_integer(2 * private_ids_++ + 1);
    }
    json.end_array();
}

void SynthText::write_mooncake(std::string& out) {
    const std::int64_t at_ns = whole_ms(row_.at_ns);
    times_rounded_ += at_ns != row_.at_ns ? 1 : 0;
    JsonWriter json(out);
    json.begin_object();
    json.key("timestamp").raw(time_text(at_ns, TimeUnit::ms));
    json.key("input_length").unsigned_integer(row_.input_length);
    json.key("output_length").unsigned_integer(row_.output_length);
    if (block_size_ != 0) {
        write_mooncake_ids(json);
    }
    if (!row_.session.empty()) {
        json.key("session_id").string(row_.session);
        const bool plain = row_.waits.size() == 1 && row_.waits[0].row == row_.turn_before;
        if (plain && row_.waits[0].delay_ns > 0) {
            json.key("delay").raw(time_text(row_.waits[0].delay_ns, TimeUnit::ms));
        }
        waits_lost_ += plain || row_.waits.empty() ? 0 : 1;
    }
    json.end_object();
}

bool SynthText::next(std::string& out) {
    if (!begun_ && !mooncake_) {
        write_header(out);
        begun_ = true;
        return true;
    }
    if (!rows_.next(row_)) {
        return false;
    }
    too_many_ = sums_.rows == synth_rows_max;
    if (too_many_) {
        return false;
    }
    mooncake_ ? write_mooncake(out) : write_canonical(out);
    out += '\n';
    ++sums_.rows;
    sums_.input_tokens += row_.input_length;
    sums_.output_tokens += row_.output_length;
    sums_.last_ns = row_.at_ns;
    return true;
}

std::vector<std::string> SynthText::losses() const {
    std::vector<std::string> lines;
    if (mooncake_ && block_size_ != 0 && block_size_ != mooncake_block_size) {
        const std::string size = std::to_string(block_size_);
        lines.push_back("blocks of " + size + " tokens, which readers must be told (--block-size " +
                        size + "): the format has 512");
    }
    if (waits_lost_ > 0) {
        lines.push_back(counted(waits_lost_,
                                "row waits for something other than its session's previous turn, "
                                "which the format cannot express",
                                "rows wait for something other than their session's previous turn, "
                                "which the format cannot express"));
    }
    if (times_rounded_ > 0) {
        lines.push_back(counted(times_rounded_,
                                "time with a fraction of a ms, rounded: the format has whole ms",
                                "times with fractions of a ms, rounded: the format has whole ms"));
    }
    return lines;
}

}  // namespace driftless

#include "engine/plan/synth_rows.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "proto/core/numbers.hpp"
#include "proto/core/text.hpp"
#include "proto/json/write.hpp"
#include "proto/trace/formats.hpp"
#include "proto/trace/times.hpp"

namespace driftless {

void GrowingPrompt::begin(std::uint64_t first, std::uint64_t tokens) {
    ranges_.clear();
    blocks_ = tokens / block_size_;
    if (blocks_ > 0) {
        ranges_.push_back({first, blocks_});
    }
}

void GrowingPrompt::grow(std::uint64_t tokens, FreshIds& fresh) {
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

void GrowingPrompt::write(std::vector<std::uint64_t>& ids) const {
    for (const Range& range : ranges_) {
        for (std::uint64_t i = 0; i < range.count; ++i) {
            ids.push_back(range.first + i);
        }
    }
}

namespace {

constexpr std::uint64_t arrival_stream = 1;
constexpr double second_ns = 1e9;

}  // namespace

SynthArrivals::SynthArrivals(const ArrivalSpec& spec, std::uint64_t seed)
    : spec_(spec), random_(stream_of(seed, arrival_stream, 0)) {
    gap_.kind = LawKind::exponential;
    gap_.centre = spec.per_second > 0 ? second_ns / spec.per_second : 0;
    gap_.high = time_max_ns;
}

std::int64_t SynthArrivals::take() {
    const std::int64_t now = next_;
    ++taken_;
    if (spec_.per_second <= 0) {
        return now;
    }
    if (spec_.constant) {
        const double at = std::floor(static_cast<double>(taken_) * gap_.centre + 0.5);
        next_ = at < static_cast<double>(time_max_ns) ? static_cast<std::int64_t>(at) : time_max_ns;
    } else {
        next_ = later(now, draw(gap_, random_));
    }
    return now;
}

namespace {

// Purposes of random numbers; those of arrivals are 1.
constexpr std::uint64_t input_stream = 2;
constexpr std::uint64_t output_stream = 3;
constexpr std::uint64_t group_stream = 4;
constexpr std::uint64_t prefix_stream = 5;

}  // namespace

RandomRows::RandomRows(const SynthSpec& common, const RandomSpec& spec)
    : spec_(spec),
      arrivals_(common.arrivals, common.seed),
      input_(stream_of(common.seed, input_stream, 0)),
      output_(stream_of(common.seed, output_stream, 0)) {}

bool RandomRows::next(SynthRow& row) {
    row.clear();
    if (made_ == spec_.rows) {
        return false;
    }
    ++made_;
    row.at_ns = arrivals_.take();
    row.input_length = static_cast<std::uint32_t>(draw(spec_.input, input_));
    row.output_length = static_cast<std::uint32_t>(draw(spec_.output, output_));
    return true;
}

GroupChoice::GroupChoice(const PrefixSpec& spec, std::uint64_t seed)
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
        tree_[group + 1] += spec_.rows / spec_.groups + (group < spec_.rows % spec_.groups ? 1 : 0);
        const std::size_t above = group + 1 + ((group + 1) & -(group + 1));
        if (above < tree_.size()) {
            tree_[above] += tree_[group + 1];
        }
    }
}

std::uint32_t GroupChoice::by_share() {
    const double place = random_.uniform() * upto_.back();
    const auto found = std::upper_bound(upto_.begin(), upto_.end(), place);
    return static_cast<std::uint32_t>(
        std::min<std::size_t>(static_cast<std::size_t>(found - upto_.begin()), upto_.size() - 1));
}

/// Draws one of the rows that are left, and takes it: the group in whose part of them it lies.
std::uint32_t GroupChoice::by_count() {
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

std::uint32_t GroupChoice::next() {
    return spec_.zipf >= 0 ? by_share() : by_count();
}

PrefixRows::PrefixRows(const SynthSpec& common, const PrefixSpec& spec)
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

bool PrefixRows::next(SynthRow& row) {
    row.clear();
    if (made_ == spec_.rows) {
        return false;
    }
    ++made_;
    const Group& group = groups_[choice_.next()];
    row.at_ns = arrivals_.take();
    row.input_length = static_cast<std::uint32_t>(
        std::clamp<std::int64_t>(group.tokens + draw(spec_.suffix, suffix_), 1, row_tokens_max));
    row.output_length = static_cast<std::uint32_t>(draw(spec_.output, output_));
    blocks_.begin(group.first_id, std::min(group.tokens, row.input_length));
    blocks_.grow(row.input_length, fresh_);
    blocks_.write(row.ids);
    return true;
}

namespace {

constexpr std::uint64_t tree_stream = 6;  ///< purposes before it: of flat rows

}  // namespace

TreeRows::TreeRows(const SynthSpec& common, const TreeSpec& spec)
    : spec_(spec),
      block_size_(common.block_size),
      seed_(common.seed),
      token_ns_(common.token_ns),
      arrivals_(common.arrivals, common.seed) {
    fresh_.take(spec_.system_tokens / block_size_);
    sub_system_id_ = fresh_.take(spec_.sub_system_tokens / block_size_);
}

/// A place for one more session; of one that has ended where there is one.
std::uint32_t TreeRows::add(Random random) {
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
void TreeRows::begin_context(Agent& agent, std::uint64_t tokens) {
    const bool root = agent.depth == 0;
    const std::uint64_t system = root ? spec_.system_tokens : spec_.sub_system_tokens;
    agent.tokens = std::min<std::uint64_t>(system + tokens, spec_.context_max);
    agent.blocks.begin(root ? 0 : sub_system_id_, std::min(system, agent.tokens));
}

void TreeRows::schedule(std::uint32_t agent, std::int64_t at_ns) {
    events_.push({at_ns, order_++, agent});
}

void TreeRows::start_tree() {
    const std::uint32_t place = add(stream_of(seed_, tree_stream, trees_));
    Agent& agent = agents_[place];
    agent.name = spec_.name + ("-" + std::to_string(trees_++));
    agent.turns_left = static_cast<std::uint64_t>(draw(spec_.turns, agent.random)) - 1;
    begin_context(agent, static_cast<std::uint64_t>(draw(spec_.first, agent.random)));
    schedule(place, arrivals_.take());
}

/// `after`: the last row of the sub-agent whose place it takes; `no_row` for none.
void TreeRows::start_child(std::uint32_t parent, std::int64_t at_ns, std::uint32_t after) {
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

bool TreeRows::next(SynthRow& row) {
    row.clear();
    while (trees_ < spec_.trees && (events_.empty() || arrivals_.next() < events_.top().at_ns)) {
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

void TreeRows::emit(const Event& event, SynthRow& row) {
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
void TreeRows::go_on(std::uint32_t place, std::int64_t end_ns) {
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
bool TreeRows::prepare(Agent& agent) {
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
bool TreeRows::spawn(std::uint32_t place, std::int64_t end_ns) {
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
void TreeRows::finish(std::uint32_t place, std::int64_t end_ns) {
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

namespace {

// Purposes before these: of trees.
constexpr std::uint64_t stress_output_stream = 7;
constexpr std::uint64_t stress_choice_stream = 8;
constexpr std::uint64_t whole_ppm = 1'000'000;

}  // namespace

std::uint32_t stress_phases(const StressSpec& spec) {
    switch (spec.pattern) {
        case StressPattern::working_set:
            return spec.steps;
        case StressPattern::offload:
            return 3;
        default:
            return 1;
    }
}

std::uint64_t stress_set(const StressSpec& spec, std::uint32_t phase) {
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

StressRows::StressRows(const SynthSpec& common, const StressSpec& spec)
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

/// What is due of the share so far, in whole blocks; never the last token, which no cache gives.
std::uint64_t StressRows::reused_blocks() {
    const std::uint64_t rows = made_ - spec_.set_low + 1;
    const auto wanted = static_cast<std::uint64_t>(static_cast<unsigned __int128>(rows) *
                                                   spec_.input * spec_.hit_ppm / whole_ppm);
    const std::uint64_t blocks = std::min<std::uint64_t>((wanted - reused_tokens_) / block_size_,
                                                         (spec_.input - 1) / block_size_);
    reused_tokens_ += blocks * block_size_;
    return blocks;
}

bool StressRows::next(SynthRow& row) {
    row.clear();
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

namespace {

using AnyRows = std::variant<RandomRows, PrefixRows, TreeRows, StressRows>;

AnyRows rows_of(const SynthSpec& spec) {
    if (const auto* random = std::get_if<RandomSpec>(&spec.kind)) {
        return AnyRows(std::in_place_type<RandomRows>, spec, *random);
    }
    if (const auto* prefix = std::get_if<PrefixSpec>(&spec.kind)) {
        return AnyRows(std::in_place_type<PrefixRows>, spec, *prefix);
    }
    if (const auto* trees = std::get_if<TreeSpec>(&spec.kind)) {
        return AnyRows(std::in_place_type<TreeRows>, spec, *trees);
    }
    return AnyRows(std::in_place_type<StressRows>, spec, *std::get_if<StressSpec>(&spec.kind));
}

}  // namespace

SynthRows::SynthRows(const SynthSpec& spec) : rows_(rows_of(spec)) {}

bool SynthRows::next(SynthRow& row) {
    if (auto* random = std::get_if<RandomRows>(&rows_)) {
        return random->next(row);
    }
    if (auto* prefix = std::get_if<PrefixRows>(&rows_)) {
        return prefix->next(row);
    }
    if (auto* trees = std::get_if<TreeRows>(&rows_)) {
        return trees->next(row);
    }
    return std::get_if<StressRows>(&rows_)->next(row);
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

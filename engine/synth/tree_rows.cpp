#include "engine/synth/tree_rows.hpp"

#include <algorithm>

#include "proto/trace/decimal_time.hpp"

namespace driftless {
namespace {

constexpr std::uint64_t tree_stream = 6;  ///< purposes before it: flat_rows.cpp

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

}  // namespace driftless

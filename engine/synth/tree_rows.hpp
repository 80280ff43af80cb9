/// TreeRows: conversations, and agents that start sub-agents, row by row in the order of their
/// recorded instants.
///
/// A turn's prompt is the one before, its answer, and what is new. It waits for that answer and a
/// gap; a turn behind sub-agents waits for the last answers of these, too. The recorded instants
/// take an answer for `token_ns` a token. Memory follows the sessions that live at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <queue>
#include <string>
#include <vector>

#include "engine/synth/arrivals.hpp"
#include "engine/synth/growing_prompt.hpp"
#include "engine/synth/spec.hpp"
#include "engine/synth/synth_row.hpp"

namespace driftless {

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

}  // namespace driftless

/// AgentWaits: which requests wait for which in a recorded conversation of several agents.
///
/// A request waits for its agent's request before; an agent's first one for the last one that its
/// parent had sent by then. A parent's request also waits for the agents that had ended when it
/// began and that nothing waited for yet: they join it, without a gap of their own. Pure but for
/// the draft, which takes the dependencies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "proto/trace/draft.hpp"
#include "proto/trace/flat_agents.hpp"

namespace driftless {

/// The requests of a conversation, or of one of its sub-agents, in the order of their recording.
struct AgentThread {
    std::uint32_t session = no_session;
    std::vector<ThreadRequest> requests;
    AgentChains chains;
    std::uint32_t system_tokens = 0;  ///< system prompt and tools, as declared
    // Of a sub-agent:
    std::string name;               ///< behind that of its conversation: "/agent_001/agent_002"
    std::size_t spawned_after = 0;  ///< so many requests of its parent
    bool joins = false;             ///< its parent waits for its end

    std::vector<AgentThread> sub_agents;  ///< those that it has spawned, by `spawned_after`
};

/// Adds what the requests of a conversation and of its sub-agents wait for.
void add_waits(const AgentThread& conversation, TraceDraft& draft);

}  // namespace driftless

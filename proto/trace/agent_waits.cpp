#include "proto/trace/agent_waits.hpp"

#include <algorithm>
#include <queue>

namespace driftless {

namespace {

constexpr std::uint32_t main_chain = 0;

/// The last request of an agent that has been spawned, and when all of the agent had ended.
struct Running {
    std::int64_t end_ns = 0;
    std::uint32_t row = 0;
};
bool ends_later(const Running& a, const Running& b) {
    return a.end_ns != b.end_ns ? a.end_ns > b.end_ns : a.row > b.row;
}

/// One chain of a thread as a whole.
struct ChainSpan {
    const ThreadRequest* last = nullptr;
    std::int64_t end_ns = 0;
};

/// One thread of requests. Used once.
class Thread {
  public:
    Thread(const AgentThread& thread, TraceDraft& draft)
        : thread_(thread), draft_(draft), chains_(thread.chains.count) {
        for (std::size_t i = 0; i < thread.requests.size(); ++i) {
            ChainSpan& chain = chains_[thread.chains.of_request[i]];
            chain.last = &thread.requests[i];
            chain.end_ns = std::max(chain.end_ns, thread.requests[i].end_ns);
        }
    }

    /// All that its requests wait for. `spawner`: of its first one, or null.
    void add(const ThreadRequest* spawner);
    /// What whoever joins it waits for: the ends of chains that are joined by none of its own.
    std::vector<Running> open_ends() const;

  private:
    void wait_for(const ThreadRequest& request, const ThreadRequest& before);
    void join(const ThreadRequest& request);
    void spawn(const AgentThread& agent, const ThreadRequest* spawner);

    const AgentThread& thread_;
    TraceDraft& draft_;
    std::vector<ChainSpan> chains_;
    std::priority_queue<Running, std::vector<Running>, decltype(&ends_later)> running_{&ends_later};
};

/// A request that began before the one before had ended did not wait for its answer.
void Thread::wait_for(const ThreadRequest& request, const ThreadRequest& before) {
    const bool ended = has_ended(before, request.at_ns);
    draft_.depend(
        {request.row, before.row, ended ? Trigger::completion : Trigger::dispatch,
         std::max(request.at_ns - (ended ? before.answered_ns : before.at_ns), std::int64_t{0})});
}

void Thread::join(const ThreadRequest& request) {
    for (; !running_.empty() && running_.top().end_ns <= request.at_ns; running_.pop()) {
        const std::uint32_t last = running_.top().row;
        if (last < request.row) {  // else the file is not in the order of its times
            draft_.depend({request.row, last, Trigger::completion, 0});
        }
    }
}

void Thread::spawn(const AgentThread& agent, const ThreadRequest* spawner) {
    Thread inner(agent, draft_);
    inner.add(spawner);
    if (agent.joins) {
        for (const Running& end : inner.open_ends()) {
            running_.push(end);
        }
    }
}

void Thread::add(const ThreadRequest* spawner) {
    const std::vector<AgentThread>& sub_agents = thread_.sub_agents;
    std::vector<const ThreadRequest*> last(chains_.size(), nullptr);
    std::size_t next_agent = 0;
    for (std::size_t i = 0; i <= thread_.requests.size(); ++i) {
        const ThreadRequest* const sent = last.empty() ? nullptr : last[main_chain];
        const ThreadRequest* const parent = sent != nullptr ? sent : spawner;
        for (; next_agent < sub_agents.size() && sub_agents[next_agent].spawned_after <= i;
             ++next_agent) {
            spawn(sub_agents[next_agent], parent);
        }
        if (i == thread_.requests.size()) {
            break;
        }
        const ThreadRequest& request = thread_.requests[i];
        const std::uint32_t chain = thread_.chains.of_request[i];
        const bool begins = last[chain] == nullptr;
        const ThreadRequest* const before = begins ? parent : last[chain];
        if (before != nullptr) {
            wait_for(request, *before);
        }
        if (chain == main_chain) {
            join(request);
        } else if (begins) {
            running_.push({chains_[chain].end_ns, chains_[chain].last->row});
        }
        last[chain] = &request;
    }
}

std::vector<Running> Thread::open_ends() const {
    std::vector<Running> ends;
    std::int64_t end_ns = 0;
    if (!chains_.empty()) {
        end_ns = chains_[main_chain].end_ns;
        ends.push_back({0, chains_[main_chain].last->row});
    }
    for (auto open = running_; !open.empty(); open.pop()) {
        ends.push_back(open.top());
        end_ns = std::max(end_ns, open.top().end_ns);
    }
    for (Running& end : ends) {
        end.end_ns = end_ns;  // nobody joins a part of an agent
    }
    return ends;
}

}  // namespace

void add_waits(const AgentThread& conversation, TraceDraft& draft) {
    Thread(conversation, draft).add(nullptr);
}

}  // namespace driftless

/// The rules of agents.hpp as they are said, without a tree and without haste: what tests hold
/// `find_agent_chains` against.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "proto/trace/agents.hpp"

namespace driftless {

class PlainAgents {
  public:
    PlainAgents(const Trace& trace, const std::vector<ThreadRequest>& thread)
        : trace_(trace), thread_(thread) {}

    AgentChains find() {
        for (std::uint32_t request = is_preamble() ? 1 : 0; request < thread_.size(); ++request) {
            add(request);
        }
        for (std::uint32_t end = 0; end < thread_.size(); ++end) {
            join_behind(end);
        }
        return numbered();
    }

  private:
    struct Chain {
        std::vector<std::uint32_t> requests;
        bool joined = false;  ///< to another one
        std::optional<std::uint32_t> from;
        std::uint32_t depth = 0;
    };

    std::uint32_t size_of(std::uint32_t request) const {
        return trace_.rows[thread_[request].row].ids_count;
    }
    std::uint32_t shared(std::uint32_t a, std::uint32_t b) const {
        const auto left = trace_.ids_of(trace_.rows[thread_[a].row]);
        const auto right = trace_.ids_of(trace_.rows[thread_[b].row]);
        std::uint32_t count = 0;
        while (count < left.size() && count < right.size() && left[count] == right[count]) {
            ++count;
        }
        return count;
    }
    bool follows(std::uint32_t before, std::uint32_t request) const {
        return thread_[before].model == thread_[request].model &&
               thread_[before].end_ns <= thread_[request].at_ns + 1'000;
    }

    bool is_preamble() const {
        const auto first = trace_.ids_of(trace_.rows[thread_.front().row]);
        bool comes_again = false;
        for (std::uint32_t request = 1; request < thread_.size(); ++request) {
            if (shared(0, request) > 0) {
                return false;
            }
            const auto other = trace_.ids_of(trace_.rows[thread_[request].row]);
            comes_again =
                comes_again || std::find_first_of(other.begin(), other.end(), first.begin(),
                                                  first.end()) != other.end();
        }
        const bool short_answer = trace_.rows[thread_.front().row].output_length <= 64;
        return thread_.size() > 1 && !first.empty() && (short_answer || !comes_again);
    }

    void add(std::uint32_t request) {
        if (size_of(request) == 0) {
            return;  // stays with the main chain
        }
        Chain* longest = nullptr;
        Chain* nearest = nullptr;
        std::pair<std::uint32_t, std::uint32_t> most;  // ids in common, ids of the tail
        for (Chain& chain : chains_) {
            const std::uint32_t tail = chain.requests.back();
            const std::uint32_t size = size_of(tail);
            const std::uint32_t common = shared(tail, request);
            if (common == size && follows(tail, request) &&
                (longest == nullptr || size > size_of(longest->requests.back()))) {
                longest = &chain;
            }
            if (common > 0 && std::pair(common, size) > most) {
                nearest = &chain;
                most = {common, size};
            }
        }
        if (longest != nullptr) {
            longest->requests.push_back(request);
            return;
        }
        Chain chain;
        chain.requests = {request};
        if (nearest != nullptr) {
            chain.from = nearest->requests.back();
            chain.depth = most.first;
        }
        chains_.push_back(chain);
    }

    void join_behind(std::uint32_t end) {
        const auto owner = std::find_if(chains_.begin(), chains_.end(), [&](const Chain& chain) {
            return !chain.joined && chain.requests.back() == end;
        });
        if (owner == chains_.end()) {
            return;
        }
        Chain* best = nullptr;
        for (Chain& chain : chains_) {
            const std::uint32_t first = chain.requests.front();
            if (chain.joined || chain.from != end || !follows(end, first)) {
                continue;
            }
            const bool late = thread_[first].at_ns - thread_[end].end_ns > 3'600'000'000'000;
            if (late && chain.depth * 2 < size_of(end)) {
                continue;
            }
            best = best == nullptr || chain.depth > best->depth ? &chain : best;
        }
        if (best == nullptr) {
            return;
        }
        owner->requests.insert(owner->requests.end(), best->requests.begin(), best->requests.end());
        best->joined = true;
        ++seams_;
        const std::uint32_t tail = owner->requests.back();
        for (Chain& chain : chains_) {
            if (!chain.joined && chain.from == end) {
                chain.from = tail;
                chain.depth = shared(tail, chain.requests.front());
            }
        }
    }

    AgentChains numbered() const {
        AgentChains found;
        found.of_request.assign(thread_.size(), 0);
        found.seams = seams_;
        for (const Chain& chain : chains_) {  // by their first requests
            if (chain.joined) {
                continue;
            }
            for (const std::uint32_t request : chain.requests) {
                found.of_request[request] = found.count;
            }
            ++found.count;
        }
        found.count = std::max(found.count, 1U);
        return found;
    }

    const Trace& trace_;
    const std::vector<ThreadRequest>& thread_;
    std::vector<Chain> chains_;
    std::uint32_t seams_ = 0;
};

}  // namespace driftless

#include "proto/trace/flat_agents.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "proto/trace/tail_tree.hpp"

namespace driftless {

namespace {

constexpr std::uint32_t none = 0xFFFFFFFFu;
constexpr std::uint32_t main_chain = 0;
/// A request of a compacted context comes promptly, or keeps half of it.
constexpr std::int64_t seam_gap_max_ns = 3'600'000'000'000;
/// Longest answer of a preamble whose ids may come again: a title.
constexpr std::uint32_t title_tokens_max = 64;

/// An agent's requests, as far as the greedy pass sees them; then maybe a part of another's.
struct Chain {
    std::uint32_t first = 0;           ///< positions in the thread
    std::uint32_t tail = 0;            ///< its last request with ids
    std::uint32_t forked_from = none;  ///< the tail of another chain at that time
    std::uint32_t depth = 0;           ///< ids that `first` shares with it
    std::uint32_t continues = none;    ///< the chain that it was joined to
};

class ChainSearch {
  public:
    ChainSearch(const Trace& trace, std::span<const ThreadRequest> thread)
        : trace_(trace), thread_(thread), numbers_(trace.ids.numbers()), tree_(numbers_) {}

    AgentChains find();

  private:
    PromptIds ids_of(std::uint32_t request) const {
        const TraceRow& row = trace_.rows[thread_[request].row];
        return {row.ids_begin, row.ids_count};
    }
    /// Whether one agent may have sent both, one after the other.
    bool follows(std::uint32_t before, std::uint32_t request) const {
        return thread_[before].model == thread_[request].model &&
               has_ended(thread_[before], thread_[request].at_ns);
    }

    bool first_is_preamble() const;
    bool comes_again(PromptIds prompt) const;
    void classify(std::uint32_t request);
    void found_chain(std::uint32_t request);
    void join_seams();
    std::optional<std::uint32_t> continuation(std::uint32_t tail,
                                              const std::vector<std::uint32_t>& forks) const;
    void fork_anew(std::uint32_t tail, std::uint32_t joined,
                   const std::vector<std::uint32_t>& forks);
    std::uint32_t owner_of(std::uint32_t chain) const;
    AgentChains numbered() const;

    const Trace& trace_;
    std::span<const ThreadRequest> thread_;
    std::span<const std::uint32_t> numbers_;
    TailTree tree_;
    std::vector<Chain> chains_;
    std::vector<std::uint32_t> chain_of_;                        ///< [request]
    std::map<std::uint32_t, std::vector<std::uint32_t>> forks_;  ///< [tail] chains forked there
    std::uint32_t seams_ = 0;
};

/// Whether another request has one of these ids.
bool ChainSearch::comes_again(PromptIds prompt) const {
    std::vector<bool> wanted(trace_.ids.numbers_end());
    for (const std::uint32_t number : numbers_.subspan(prompt.begin, prompt.count)) {
        wanted[number] = true;
    }
    for (std::uint32_t request = 1; request < thread_.size(); ++request) {
        const PromptIds other = ids_of(request);
        const auto ids = numbers_.subspan(other.begin, other.count);
        if (std::any_of(ids.begin(), ids.end(), [&](std::uint32_t id) { return wanted[id]; })) {
            return true;
        }
    }
    return false;
}

bool ChainSearch::first_is_preamble() const {
    const PromptIds first = ids_of(0);
    if (first.count == 0) {
        return false;
    }
    for (std::uint32_t request = 1; request < thread_.size(); ++request) {
        const PromptIds other = ids_of(request);
        if (other.count > 0 && numbers_[other.begin] == numbers_[first.begin]) {
            return false;
        }
    }
    const bool short_answer = trace_.rows[thread_[0].row].output_length <= title_tokens_max;
    return thread_.size() > 1 && (short_answer || !comes_again(first));
}

void ChainSearch::found_chain(std::uint32_t request) {
    Chain chain;
    chain.first = request;
    chain.tail = request;
    if (const std::optional<std::uint32_t> nearest = tree_.nearest()) {
        chain.forked_from = chains_[*nearest].tail;
        chain.depth = tree_.shared();
        forks_[chain.forked_from].push_back(static_cast<std::uint32_t>(chains_.size()));
    }
    chains_.push_back(chain);
}

/// The greedy pass: a request goes on with a chain, or founds one.
void ChainSearch::classify(std::uint32_t request) {
    if (ids_of(request).count == 0) {
        chain_of_[request] = main_chain;
        return;
    }
    tree_.enter(ids_of(request));
    const std::optional<std::uint32_t> prefix = tree_.find_prefix(
        [&](std::uint32_t chain) { return follows(chains_[chain].tail, request); });
    if (prefix) {
        chains_[*prefix].tail = request;
    } else {
        found_chain(request);
    }
    chain_of_[request] = prefix.value_or(static_cast<std::uint32_t>(chains_.size() - 1));
    tree_.put(chain_of_[request]);
}

/// The chain that it is a part of by now. Ends: a chain continues one of a lower number.
std::uint32_t ChainSearch::owner_of(std::uint32_t chain) const {
    while (chains_[chain].continues != none) {
        chain = chains_[chain].continues;
    }
    return chain;
}

/// Of the chains that were forked from a tail behind which nobody went on, the one that does.
std::optional<std::uint32_t> ChainSearch::continuation(
    std::uint32_t tail, const std::vector<std::uint32_t>& forks) const {
    std::optional<std::uint32_t> best;
    for (const std::uint32_t fork : forks) {
        const Chain& chain = chains_[fork];
        const std::int64_t gap_ns = thread_[chain.first].at_ns - thread_[tail].end_ns;
        const bool other_session =
            gap_ns > seam_gap_max_ns && std::uint64_t{chain.depth} * 2 < ids_of(tail).count;
        if (chain.continues != none || !follows(tail, chain.first) || other_session) {
            continue;
        }
        // The lower number is the earlier one.
        const bool better = !best || chain.depth > chains_[*best].depth ||
                            (chain.depth == chains_[*best].depth && fork < *best);
        best = better ? fork : best;
    }
    return best;
}

/// The other forks are held against the tail that the chain has now.
void ChainSearch::fork_anew(std::uint32_t tail, std::uint32_t joined,
                            const std::vector<std::uint32_t>& forks) {
    std::vector<std::uint32_t>& anew = forks_[tail];
    for (const std::uint32_t fork : forks) {
        Chain& chain = chains_[fork];
        if (chain.continues != none) {
            continue;
        }
        // What parted before the joined one did parts there from all of it.
        if (chain.depth >= chains_[joined].depth) {
            chain.depth =
                common_prefix(numbers_, ids_of(tail), ids_of(chain.first), chains_[joined].depth);
        }
        chain.forked_from = tail;
        anew.push_back(fork);
    }
}

/// Ends: each tail is looked at once for each chain that is joined, and none is joined twice.
void ChainSearch::join_seams() {
    std::set<std::uint32_t> tails;
    for (const auto& [tail, forks] : forks_) {
        tails.insert(tail);
    }
    while (!tails.empty()) {
        const std::uint32_t tail = *tails.begin();
        tails.erase(tails.begin());
        const std::uint32_t owner = owner_of(chain_of_[tail]);
        if (chains_[owner].tail != tail) {
            continue;  // its agent went on from there
        }
        const std::vector<std::uint32_t> forks = forks_[tail];
        const std::optional<std::uint32_t> joined = continuation(tail, forks);
        if (!joined) {
            continue;
        }
        chains_[*joined].continues = owner;
        chains_[owner].tail = chains_[*joined].tail;
        ++seams_;
        fork_anew(chains_[owner].tail, *joined, forks);
        tails.insert(chains_[owner].tail);
    }
}

AgentChains ChainSearch::numbered() const {
    AgentChains found;
    found.seams = seams_;
    found.count = 1;
    std::vector<std::uint32_t> number(chains_.size(), none);
    for (const std::uint32_t chain : chain_of_) {
        const std::uint32_t owner = chains_.empty() ? main_chain : owner_of(chain);
        if (owner != main_chain && number[owner] == none) {
            number[owner] = found.count++;
        }
        found.of_request.push_back(owner == main_chain ? main_chain : number[owner]);
    }
    return found;
}

AgentChains ChainSearch::find() {
    if (thread_.empty()) {
        return {};
    }
    chain_of_.assign(thread_.size(), main_chain);
    for (std::uint32_t request = first_is_preamble() ? 1 : 0; request < thread_.size(); ++request) {
        classify(request);
    }
    join_seams();
    return numbered();
}

}  // namespace

AgentChains find_agent_chains(const Trace& trace, std::span<const ThreadRequest> thread) {
    return ChainSearch(trace, thread).find();
}

}  // namespace driftless

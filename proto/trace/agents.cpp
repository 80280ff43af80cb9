#include "proto/trace/agents.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "proto/core/errors.hpp"
#include "proto/trace/times.hpp"

namespace driftless {

// TailTree: the last prompts of all agents of a thread, as a tree of their common prefixes.
//
// Answers for each new prompt, in one walk over its block ids: which last prompts are prefixes of
// it, and which one shares the most with it. A node is where prompts part or one ends, so that a
// walk compares each id of the prompt once, in runs. Part of agents.cpp alone; it refers to
// the trace's ids, which must not be appended to meanwhile.

/// Ids of a prompt: a run of the list of numbers that the tree was made for.
struct PromptIds {
    std::uint64_t begin = 0;
    std::uint32_t count = 0;
};

class TailTree {
  public:
    explicit TailTree(std::span<const std::uint32_t> numbers) : numbers_(numbers), nodes_(1) {}

    /// Walks along a prompt of at least one id. The functions below are about this prompt.
    void enter(PromptIds prompt);

    /// The chain whose tail is the longest prefix of the prompt among those that `fits` lets pass;
    /// of equal tails the lowest chain.
    template <typename Fits>
    std::optional<std::uint32_t> find_prefix(const Fits& fits) const {
        for (std::size_t i = path_.size(); i > 0; --i) {
            std::uint32_t found = none;
            for (std::uint32_t chain = nodes_[path_[i - 1]].first_tail; chain != none;
                 chain = tails_[chain].next) {
                found = chain < found && fits(chain) ? chain : found;
            }
            if (found != none) {
                return found;
            }
        }
        return std::nullopt;
    }

    /// The most ids that the prompt shares with any tail, from the beginning on.
    std::uint32_t shared() const { return shared_; }
    /// The chain with that tail; of several the one with the longest tail, then the lowest. Nothing
    /// where no tail shares an id.
    std::optional<std::uint32_t> nearest() const;

    /// The prompt becomes the tail of a chain: of the next new one (they count from 0), or of one
    /// whose tail is a prefix of it.
    void put(std::uint32_t chain);

  private:
    static constexpr std::uint32_t none = 0xFFFFFFFFu;
    static constexpr std::uint32_t root = 0;

    struct Node {
        std::uint64_t prompt_begin = 0;  ///< of a prompt that passes here
        std::uint32_t depth = 0;         ///< ids from the root to here
        std::uint32_t first_tail = none;
        std::uint32_t children = 0;
        std::uint32_t longest = none;    ///< chain with the longest tail from here on
        std::uint32_t longest_size = 0;  ///< ids of that tail
    };
    struct Tail {
        std::uint32_t node = none;
        std::uint32_t next = none;  ///< of the same node
    };

    static std::uint64_t child_key(std::uint32_t node, std::uint32_t number) {
        return std::uint64_t{node} << 32 | number;
    }
    std::uint32_t new_node(const Node& node);
    void add_child(std::uint32_t parent, std::uint32_t child);
    void split();
    void remove_tail(std::uint32_t chain);

    std::span<const std::uint32_t> numbers_;
    std::vector<Node> nodes_;
    std::vector<Tail> tails_;  ///< [chain]
    std::unordered_map<std::uint64_t, std::uint32_t> children_;

    PromptIds prompt_;
    std::vector<std::uint32_t> path_;  ///< nodes that the prompt passes, without the root
    std::uint32_t below_ = none;       ///< node in front of which the prompt parts from the tree
    std::uint32_t shared_ = 0;
};

/// How many ids two prompts have in common at their beginnings, where the first `known` are equal.
std::uint32_t common_prefix(std::span<const std::uint32_t> numbers, PromptIds a, PromptIds b,
                            std::uint32_t known = 0) {
    constexpr std::uint32_t run = 64;
    const std::uint32_t* const left = numbers.data() + a.begin;
    const std::uint32_t* const right = numbers.data() + b.begin;
    const std::uint32_t most = std::min(a.count, b.count);
    std::uint32_t common = known;
    while (common + run <= most &&
           std::memcmp(left + common, right + common, run * sizeof(std::uint32_t)) == 0) {
        common += run;
    }
    while (common < most && left[common] == right[common]) {
        ++common;
    }
    return common;
}

void TailTree::enter(PromptIds prompt) {
    CHECK(prompt.count > 0 && prompt.begin + prompt.count <= numbers_.size());
    prompt_ = prompt;
    path_.clear();
    below_ = none;
    shared_ = 0;
    std::uint32_t node = root;
    while (shared_ < prompt.count) {  // ends: it grows with each node
        const auto child = children_.find(child_key(node, numbers_[prompt.begin + shared_]));
        if (child == children_.end()) {
            return;
        }
        Node& next = nodes_[child->second];
        shared_ = common_prefix(numbers_, prompt, {next.prompt_begin, next.depth}, shared_ + 1);
        if (shared_ < next.depth) {
            below_ = child->second;
            return;
        }
        next.prompt_begin = prompt.begin;  // newer prompts are nearer in memory
        node = child->second;
        path_.push_back(node);
    }
}

std::optional<std::uint32_t> TailTree::nearest() const {
    if (shared_ == 0) {
        return std::nullopt;
    }
    return nodes_[below_ != none ? below_ : path_.back()].longest;
}

std::uint32_t TailTree::new_node(const Node& node) {
    nodes_.push_back(node);
    return static_cast<std::uint32_t>(nodes_.size() - 1);
}

void TailTree::add_child(std::uint32_t parent, std::uint32_t child) {
    const std::uint64_t first = nodes_[child].prompt_begin + nodes_[parent].depth;
    children_[child_key(parent, numbers_[first])] = child;
}

/// A node where the prompt parts from the tree between two nodes.
void TailTree::split() {
    const std::uint32_t parent = path_.empty() ? root : path_.back();
    const Node& lower = nodes_[below_];
    Node upper;
    upper.prompt_begin = lower.prompt_begin;
    upper.depth = shared_;
    upper.longest = lower.longest;
    upper.longest_size = lower.longest_size;
    upper.children = 1;
    const std::uint32_t made = new_node(upper);
    add_child(parent, made);  // in place of the lower one
    add_child(made, below_);
    path_.push_back(made);
    below_ = none;
}

void TailTree::remove_tail(std::uint32_t chain) {
    std::uint32_t* next = &nodes_[tails_[chain].node].first_tail;
    while (*next != chain) {  // ends: it is one of them
        CHECK(*next != none);
        next = &tails_[*next].next;
    }
    *next = tails_[chain].next;
}

void TailTree::put(std::uint32_t chain) {
    if (chain == tails_.size()) {
        tails_.emplace_back();
    } else {
        remove_tail(chain);
    }
    if (below_ != none) {
        split();
    }
    const std::uint32_t last = path_.empty() ? root : path_.back();
    Node& end = nodes_[last];
    const bool only_grows =
        last != root && end.children == 0 && end.first_tail == none && end.depth == shared_;
    if (shared_ < prompt_.count && only_grows) {
        end.depth = prompt_.count;
        end.prompt_begin = prompt_.begin;
    } else if (shared_ < prompt_.count) {
        ++end.children;
        Node leaf;
        leaf.prompt_begin = prompt_.begin;
        leaf.depth = prompt_.count;
        path_.push_back(new_node(leaf));
        add_child(last, path_.back());
    }
    shared_ = prompt_.count;
    tails_[chain] = {path_.back(), nodes_[path_.back()].first_tail};
    nodes_[path_.back()].first_tail = chain;
    for (const std::uint32_t node : path_) {
        Node& passed = nodes_[node];
        const bool longer = prompt_.count > passed.longest_size ||
                            (prompt_.count == passed.longest_size && chain < passed.longest);
        passed.longest = longer ? chain : passed.longest;
        passed.longest_size = longer ? prompt_.count : passed.longest_size;
    }
}

static constexpr std::uint32_t none = 0xFFFFFFFFu;
static constexpr std::uint32_t main_chain = 0;
/// A request of a compacted context comes promptly, or keeps half of it.
static constexpr std::int64_t seam_gap_max_ns = 3'600'000'000'000;
/// Longest answer of a preamble whose ids may come again: a title.
static constexpr std::uint32_t title_tokens_max = 64;

namespace {

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

}  // namespace

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

/// The chain that goes on from a tail, of those that were forked from it.
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

AgentChains find_agent_chains(const Trace& trace, std::span<const ThreadRequest> thread) {
    return ChainSearch(trace, thread).find();
}

void Frontier::pause(std::int64_t length_ns) {
    for (RowWait& one : waits_) {
        one.delay_ns = later(one.delay_ns, length_ns);
    }
    since_start_ns_ = waits_.empty() ? later(since_start_ns_, length_ns) : since_start_ns_;
}

void Frontier::pass(TraceDraft& draft, TraceRow& row, std::int64_t answer_ns) {
    row.at_ns = since_start_ns_;
    for (const RowWait& one : waits_) {
        draft.depend({draft.rows(), one.row, Trigger::completion, one.delay_ns});
        row.at_ns = std::max(row.at_ns, later(one.end_ns, one.delay_ns));
    }
    waits_ = {{draft.rows(), later(row.at_ns, answer_ns), 0}};
}

/// Of two waits for one row the longer one holds.
void Frontier::add(const Frontier& line) {
    for (const RowWait& wait : line.waits_) {
        const auto same = std::find_if(waits_.begin(), waits_.end(),
                                       [&](const RowWait& one) { return one.row == wait.row; });
        if (same == waits_.end()) {
            waits_.push_back(wait);
        } else {
            same->delay_ns = std::max(same->delay_ns, wait.delay_ns);
        }
    }
    since_start_ns_ = std::max(since_start_ns_, line.since_start_ns_);
}

/// Every line waits at least for what the fork waits for, so that only those that went on count.
Frontier Frontier::join(const Frontier& fork, const std::vector<Frontier>& lines) {
    Frontier joined;
    for (const Frontier& line : lines) {
        if (line != fork) {
            joined.add(line);
        }
    }
    return joined == Frontier() ? fork : joined;
}

static bool is_below(const BranchPath& path, const BranchPath& parent) {
    return path.size() > parent.size() && std::equal(parent.begin(), parent.end(), path.begin());
}

/// Takes everything below that path out of a map by paths, which keeps what is below a path right
/// behind it.
template <typename Value>
static std::vector<Value> take_below(std::map<BranchPath, Value>& map, const BranchPath& parent) {
    std::vector<Value> taken;
    auto at = map.upper_bound(parent);
    while (at != map.end() && is_below(at->first, parent)) {
        taken.push_back(at->second);
        at = map.erase(at);
    }
    return taken;
}

Frontier* Branches::find(const BranchPath& path) {
    const auto known = frontiers_.find(path);
    if (known != frontiers_.end()) {
        return &known->second;
    }
    if (path.empty()) {
        return nullptr;
    }
    const auto fork = forks_.find(BranchPath(path.begin(), path.end() - 1));
    if (fork == forks_.end() || (fork->second.count > 0 && path.back() >= fork->second.count)) {
        return nullptr;
    }
    return &(frontiers_[path] = fork->second.frontier);
}

bool Branches::fork(const BranchPath& path, std::uint64_t count) {
    const Frontier* const parent = find(path);
    return parent != nullptr && forks_.try_emplace(path, Fork{*parent, count}).second;
}

bool Branches::join(const BranchPath& path) {
    const auto fork = forks_.find(path);
    if (fork == forks_.end()) {
        return false;
    }
    std::vector<Frontier> lines = take_below(frontiers_, path);
    Frontier& parent = frontiers_[path];
    lines.push_back(parent);
    parent = Frontier::join(fork->second.frontier, lines);
    (void)take_below(forks_, path);
    forks_.erase(path);
    return true;
}

}  // namespace driftless

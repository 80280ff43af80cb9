/// TailTree: the last prompts of all agents of a thread, as a tree of their common prefixes.
///
/// Answers for each new prompt, in one walk over its block ids: which last prompts are prefixes of
/// it, and which one shares the most with it. A node is where prompts part or one ends, so that a
/// walk compares each id of the prompt once, in runs. Part of flat_agents.cpp alone; it refers to
/// the trace's ids, which must not be appended to meanwhile.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace driftless {

/// Ids of a prompt: a run of the list of numbers that the tree was made for.
struct PromptIds {
    std::uint64_t begin = 0;
    std::uint32_t count = 0;
};

/// How many ids two prompts have in common at their beginnings, where the first `known` are equal.
std::uint32_t common_prefix(std::span<const std::uint32_t> numbers, PromptIds a, PromptIds b,
                            std::uint32_t known = 0);

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

}  // namespace driftless

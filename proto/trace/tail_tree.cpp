#include "proto/trace/tail_tree.hpp"

#include <algorithm>
#include <cstring>

#include "proto/core/check.hpp"

namespace driftless {

std::uint32_t common_prefix(std::span<const std::uint32_t> numbers, PromptIds a, PromptIds b,
                            std::uint32_t known) {
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

}  // namespace driftless

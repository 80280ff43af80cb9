#include "engine/plan/prompt_paths.hpp"

#include <algorithm>
#include <unordered_map>

#include "proto/core/check.hpp"

namespace driftless {

/// What only the making needs: where each node goes on, and ids that lead to it.
class PathBuilder {
  public:
    PathBuilder(const Trace& trace, ServedLengths lengths, PromptPaths& paths)
        : numbers_(trace.ids.numbers()),
          size_(trace.block_size),
          lengths_(lengths),
          paths_(paths) {}

    /// The node at which the prompt ends. `shared`: blocks that are the same in each pass.
    std::uint32_t enter(const TraceRow& row, std::uint32_t shared);
    /// Where prompts leave what is the same in each pass there is a node.
    void mark_shared();

  private:
    std::uint32_t first_of(std::uint32_t name_space);
    std::uint32_t add(std::uint32_t before, std::uint32_t tokens, std::uint64_t ids_begin);
    std::uint32_t along(std::uint32_t node, std::uint64_t ids_begin, std::uint32_t end);
    std::uint32_t split(std::uint32_t node, std::uint32_t child, std::uint32_t tokens);
    std::uint32_t whole(std::uint32_t node, std::uint32_t length);

    /// The id of the block that token is in, of a prompt whose ids begin there.
    std::uint32_t id_at(std::uint64_t ids_begin, std::uint32_t token) const {
        return numbers_[ids_begin + token / size_];
    }
    static std::uint64_t key(std::uint32_t node, std::uint32_t way) {
        return std::uint64_t{node} << 32 | way;
    }

    std::span<const std::uint32_t> numbers_;
    std::uint32_t size_;
    ServedLengths lengths_;
    std::vector<std::uint32_t> first_of_;    ///< [namespace]
    std::vector<std::uint64_t> ids_begins_;  ///< [node] of a prompt that passes there
    std::unordered_map<std::uint64_t, std::uint32_t> ways_;    ///< by node and id: the next node
    std::unordered_map<std::uint64_t, std::uint32_t> wholes_;  ///< by node and length
    std::vector<std::uint32_t> shared_ends_;                   ///< nodes, maybe several times
    PromptPaths& paths_;
};

std::uint32_t PathBuilder::add(std::uint32_t before, std::uint32_t tokens,
                               std::uint64_t ids_begin) {
    CHECK(paths_.nodes_.size() < PromptPaths::none);
    paths_.nodes_.push_back({before, tokens});
    ids_begins_.push_back(ids_begin);
    return paths_.count() - 1;
}

std::uint32_t PathBuilder::first_of(std::uint32_t name_space) {
    if (name_space >= first_of_.size()) {
        first_of_.resize(name_space + std::size_t{1}, PromptPaths::none);
    }
    std::uint32_t& first = first_of_[name_space];
    if (first == PromptPaths::none) {
        first = add(PromptPaths::none, 0, 0);
    }
    return first;
}

/// Prompts part in the middle of the way from a node to the next one.
std::uint32_t PathBuilder::split(std::uint32_t node, std::uint32_t child, std::uint32_t tokens) {
    const std::uint64_t ids_begin = ids_begins_[child];
    const std::uint32_t middle = add(node, tokens, ids_begin);
    ways_[key(node, id_at(ids_begin, paths_.tokens(node)))] = middle;
    ways_[key(middle, id_at(ids_begin, tokens))] = child;
    paths_.nodes_[child].before = middle;
    return middle;
}

/// Follows the ids up to the token `end`. Each step goes to a deeper node, so that it ends.
std::uint32_t PathBuilder::along(std::uint32_t node, std::uint64_t ids_begin, std::uint32_t end) {
    while (paths_.tokens(node) < end) {
        const std::uint32_t from = paths_.tokens(node);
        const auto next = ways_.find(key(node, id_at(ids_begin, from)));
        if (next == ways_.end()) {
            const std::uint32_t leaf = add(node, end, ids_begin);
            ways_.emplace(key(node, id_at(ids_begin, from)), leaf);
            return leaf;
        }
        const std::uint32_t child = next->second;
        const std::uint32_t limit = std::min(end, paths_.tokens(child));
        const auto own = numbers_.subspan(ids_begin, (limit - 1) / size_ + 1).subspan(from / size_);
        const auto theirs = numbers_.subspan(ids_begins_[child] + from / size_, own.size());
        const auto equal = static_cast<std::size_t>(
            std::mismatch(own.begin(), own.end(), theirs.begin()).first - own.begin());
        const std::uint64_t same = (from / size_ + equal) * std::uint64_t{size_};
        const auto tokens = static_cast<std::uint32_t>(std::min<std::uint64_t>(limit, same));
        node = tokens == paths_.tokens(child) ? child : split(node, child, tokens);
    }
    return node;
}

/// All of a prompt that is the same, with what the template puts behind it.
std::uint32_t PathBuilder::whole(std::uint32_t node, std::uint32_t length) {
    if (length == paths_.tokens(node)) {
        return node;
    }
    const auto [place, is_new] = wholes_.try_emplace(key(node, length), paths_.count());
    return is_new ? add(node, length, ids_begins_[node]) : place->second;
}

void PathBuilder::mark_shared() {
    if (shared_ends_.empty()) {
        return;
    }
    paths_.shared_.resize(paths_.count());
    for (std::uint32_t node : shared_ends_) {
        for (; node != PromptPaths::none && !paths_.shared_[node]; node = paths_.before(node)) {
            paths_.shared_[node] = true;
        }
    }
}

std::uint32_t PathBuilder::enter(const TraceRow& row, std::uint32_t shared) {
    const std::uint32_t first = first_of(row.name_space);
    if (row.ids_count == 0 || size_ == 0) {
        return first;
    }
    const std::uint32_t length = lengths_.of(row);
    const std::uint32_t words = length - std::min(length, lengths_.post);
    const std::uint64_t named = std::uint64_t{row.ids_count} * size_;
    const auto end = static_cast<std::uint32_t>(std::min<std::uint64_t>(words, named));
    const std::uint64_t same = shared * std::uint64_t{size_};
    if (shared > 0) {
        const auto border = static_cast<std::uint32_t>(std::min<std::uint64_t>(end, same));
        shared_ends_.push_back(along(first, row.ids_begin, border));
    }
    const std::uint32_t node = along(first, row.ids_begin, end);
    const std::uint32_t last = named >= words ? whole(node, length) : node;
    if (shared > 0 && end <= same) {
        shared_ends_.push_back(last);
    }
    return last;
}

PromptPaths::PromptPaths(const Trace& trace, std::span<const std::uint32_t> rows,
                         ServedLengths lengths, std::span<const std::uint32_t> shared_blocks)
    : ends_(trace.rows.size(), none) {
    PathBuilder builder(trace, lengths, *this);
    for (const std::uint32_t row : rows) {
        const std::uint32_t index = trace.rows[row].index;
        const std::uint32_t shared = index < shared_blocks.size() ? shared_blocks[index] : 0;
        ends_[row] = builder.enter(trace.rows[row], shared);
    }
    builder.mark_shared();
    nodes_.shrink_to_fit();
}

}  // namespace driftless

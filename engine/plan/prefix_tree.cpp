#include "engine/plan/prefix_tree.hpp"

#include <algorithm>

#include "proto/core/check.hpp"
#include "proto/core/hash.hpp"

namespace driftless {

PrefixTree::PrefixTree(const Trace& trace) : numbers_(trace.ids.numbers()) {
    // The beginning of each namespace is a predecessor, too.
    if (std::uint64_t{trace.ids.numbers_end()} + trace.name_spaces < from_edge) {
        before_.assign(trace.ids.numbers_end(), none);
    }
    roots_ = nodes_end_ = static_cast<std::uint32_t>(before_.size());
}

/// Where the edge that goes on behind `parent` with that id is, or would go.
std::size_t PrefixTree::slot_of(std::uint32_t parent, std::uint32_t number) const {
    const std::uint64_t key = std::uint64_t{parent} << 32 | number;
    std::size_t at = static_cast<std::size_t>(mix64(key + golden_gamma)) & (slots_.size() - 1);
    for (; slots_[at] != 0; at = (at + 1) & (slots_.size() - 1)) {
        const Edge& edge = edges_[slots_[at] - 1];
        if (edge.parent == parent && first_number(edge) == number) {
            break;
        }
    }
    return at;
}

/// Enters an edge, the last that the table lacks. The table is at most half full.
void PrefixTree::place(std::uint32_t edge) {
    constexpr std::size_t slots_min = 1024;
    const auto count = static_cast<std::uint32_t>(edges_.size());
    if (count <= slots_.size() / 2) {
        slots_[slot_of(edges_[edge].parent, first_number(edges_[edge]))] = edge + 1;
        return;
    }
    const std::size_t slots = std::max(slots_min, slots_.size() * 2);
    slots_ = std::vector<std::uint32_t>();  // frees it first, which `= {}` does not
    slots_.resize(slots, 0);
    for (std::uint32_t i = 0; i < count; ++i) {
        slots_[slot_of(edges_[i].parent, first_number(edges_[i]))] = i + 1;
    }
}

std::uint32_t PrefixTree::add(const Edge& edge) {
    CHECK(edges_.size() < from_edge - 1);
    edges_.push_back(edge);
    return static_cast<std::uint32_t>(edges_.size() - 1);
}

/// Makes the part of an edge above that depth an edge of its own, and gives that. The part below
/// keeps its place, to which paths and the edges behind it refer.
std::uint32_t PrefixTree::split(std::uint32_t edge, std::uint32_t depth) {
    Edge part = edges_[edge];
    const std::size_t slot = slot_of(part.parent, first_number(part));
    part.end = depth;
    const std::uint32_t above = add(part);
    slots_[slot] = above + 1;
    Edge& below = edges_[edge];
    below.node += depth - below.begin;
    below.begin = depth;
    below.parent = from_edge + above;
    place(edge);
    return above;
}

/// Follows the row while each id stands behind its first predecessor.
void PrefixTree::along_first_uses(Path& path, std::uint32_t& node) {
    for (const std::uint32_t number : numbers_.subspan(path.ids_begin, path.blocks)) {
        std::uint32_t& before = before_[number];
        if (before != node && before != none) {
            return;
        }
        path.known += before == node ? 1 : 0;
        before = node;
        node = number;
        ++path.chained;
    }
}

/// Follows the row behind a node of the array. Each step goes to a deeper edge, so that it ends.
void PrefixTree::along_edges(Path& path, std::uint32_t node) {
    const std::uint32_t* const ids = &numbers_[path.ids_begin];
    std::uint32_t parent = node;
    for (std::uint32_t depth = path.chained; depth < path.blocks;) {
        const std::uint32_t slot = slots_.empty() ? 0 : slots_[slot_of(parent, ids[depth])];
        if (slot == 0) {
            CHECK(path.blocks - depth < none - nodes_end_);
            path.edge = add({path.ids_begin, depth, path.blocks, nodes_end_, parent});
            place(path.edge);
            nodes_end_ += path.blocks - depth;
            return;
        }
        path.edge = slot - 1;
        const Edge& edge = edges_[path.edge];
        const std::uint32_t limit = std::min(path.blocks, edge.end);
        const std::uint32_t* const theirs = &numbers_[edge.ids_at];
        const auto equal = std::mismatch(ids + depth, ids + limit, theirs + depth).first;
        const auto end = static_cast<std::uint32_t>(equal - ids);
        path.known += end - depth;
        depth = end;
        const bool parts = depth < path.blocks && depth < edge.end;
        parent = from_edge + (parts ? split(path.edge, depth) : path.edge);
    }
}

PrefixTree::Path PrefixTree::enter(const TraceRow& row, std::uint32_t blocks) {
    Path path{row.ids_begin, blocks};
    std::uint32_t node = roots_ + row.name_space;
    if (!before_.empty()) {
        along_first_uses(path, node);
    }
    if (path.chained < blocks) {
        along_edges(path, node);
    }
    return path;
}

/// The edge in which a path ends: that of its row, or what a split has put before it.
const PrefixTree::Edge& PrefixTree::edge_at(const Path& path) const {
    const Edge* edge = &edges_[path.edge];
    while (edge->begin >= path.blocks) {
        edge = &edges_[edge->parent - from_edge];
    }
    return *edge;
}

std::uint32_t PrefixTree::last_node(const Path& path) const {
    if (path.edge == none) {
        return numbers_[path.ids_begin + path.blocks - 1];
    }
    const Edge& edge = edge_at(path);
    return edge.node + path.blocks - 1 - edge.begin;
}

std::span<const std::uint32_t> PrefixTree::nodes(const Path& path) {
    const auto numbers = numbers_.subspan(path.ids_begin, path.blocks);
    if (path.edge == none) {
        return numbers;
    }
    nodes_.assign(numbers.begin(), numbers.end());  // those of the array stay
    std::uint32_t end = path.blocks;
    for (const Edge* edge = &edge_at(path);; edge = &edges_[edge->parent - from_edge]) {
        for (std::uint32_t depth = edge->begin; depth < end; ++depth) {
            nodes_[depth] = edge->node + depth - edge->begin;
        }
        end = edge->begin;
        if (edge->parent < from_edge) {
            return nodes_;
        }
    }
}

}  // namespace driftless

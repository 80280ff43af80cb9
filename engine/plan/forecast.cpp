#include "engine/plan/forecast.hpp"

#include <algorithm>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "engine/plan/trees.hpp"
#include "proto/core/errors.hpp"
#include "proto/core/hash.hpp"

namespace driftless {

std::uint32_t common_blocks(const Trace& trace, const TraceRow& a, const TraceRow& b) {
    if (a.name_space != b.name_space) {
        return 0;
    }
    const auto numbers_a = trace.ids.numbers().subspan(a.ids_begin, a.ids_count);
    const auto numbers_b = trace.ids.numbers().subspan(b.ids_begin, b.ids_count);
    return static_cast<std::uint32_t>(std::ranges::mismatch(numbers_a, numbers_b).in1 -
                                      numbers_a.begin());
}

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

/// Follows the row while each id is behind its first predecessor.
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

CacheForecast::CacheForecast(const Trace& trace, std::uint32_t post_tokens)
    : trace_(trace), post_tokens_(post_tokens), tree_(trace) {}

/// What is in the server's eyes for a block whose end the template's closing tokens displace: a
/// mark of how much is left of it.
std::uint64_t CacheForecast::as_served(const TraceRow& row, std::size_t block,
                                       std::uint64_t id) const {
    const std::int64_t begin = static_cast<std::int64_t>(block) * trace_.block_size;
    const std::int64_t left = std::int64_t{row.input_length} - post_tokens_ - begin;
    const std::uint64_t visible = left > 0 ? mix64(id + golden_gamma) : ~std::uint64_t{0};
    return mix64(static_cast<std::uint64_t>(left) * golden_gamma ^ visible);
}

std::uint32_t CacheForecast::next(const TraceRow& row) {
    const std::uint32_t size = trace_.block_size;
    if (size == 0 || row.ids_count == 0) {
        return 0;
    }
    if (trace_.copy_of(row) != copy_) {
        copy_ = trace_.copy_of(row);
        tree_ = PrefixTree(trace_);
        seen_ = PrefixSet();
    }
    const BlockIdSpan ids =
        trace_.ids_of(row).first(std::min(row.ids_count, row.input_length / size));
    const std::uint64_t usable = (row.input_length - std::uint64_t{1}) / size;
    // The template's closing tokens cut the others short.
    const std::uint32_t visible = row.input_length - std::min(row.input_length, post_tokens_);
    const std::uint32_t whole = std::min(static_cast<std::uint32_t>(ids.size()), visible / size);
    const PrefixTree::Path path = tree_.enter(row, whole);
    std::uint64_t held = path.known;
    // A number of a prefix is as good as its ids, and is no namespace.
    std::uint64_t prefix = PrefixSet::start(
        whole == 0 ? row.name_space : std::uint64_t{1} << 32 | tree_.last_node(path));
    for (std::size_t block = whole; block < ids.size(); ++block) {
        prefix = PrefixSet::extend(prefix, as_served(row, block, ids.number(block)));
        const bool known = !seen_.insert(prefix);
        held += known && held == block ? 1 : 0;
    }
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(held, usable) * size);
}

namespace {

class Forecast {
  public:
    Forecast(const Trace& trace, AroundPrompt around, std::uint64_t ids, std::uint64_t rows)
        : trace_(trace), around_(around), extents_(ids + rows) {}

    /// Tokens that the row has at the server: at least one word goes between the template's.
    std::uint32_t length_of(const TraceRow& row) const {
        return std::max(row.input_length, around_.pre + 1 + around_.post);
    }

    /// Tokens that the row shares with an earlier one.
    std::uint32_t next(const TraceRow& row) {
        const std::uint32_t size = trace_.block_size;
        const std::uint32_t words_end = length_of(row) - around_.post;
        std::uint32_t shared = std::min(around_.pre, words_end);  // the preflight had the template
        std::uint64_t prefix = PrefixSet::start(row.name_space);
        bool unbroken = size > 0;
        std::uint32_t begin = 0;
        for (const std::uint64_t id : trace_.ids_of(row)) {
            if (begin >= words_end) {
                break;
            }
            const std::uint32_t own = std::min(size, words_end - begin);
            prefix = PrefixSet::extend(prefix, id);
            const std::uint32_t seen = std::min(raise(prefix, own), own);
            if (unbroken) {
                shared = std::max(shared, seen > 0 ? begin + seen : 0);
            }
            unbroken = unbroken && seen == size;
            begin += own;
        }
        return whole_row_seen(row, prefix, begin >= words_end) ? length_of(row) : shared;
    }

  private:
    /// The tokens that were seen of the prefix's last block; from here on at least `tokens`.
    std::uint32_t raise(std::uint64_t prefix, std::uint32_t tokens) {
        std::uint32_t& extent = extents_[prefix];
        return std::exchange(extent, std::max(extent, tokens));
    }

    /// Whether the very same prompt came before, its template's tail included.
    bool whole_row_seen(const TraceRow& row, std::uint64_t prefix, bool covered) {
        if (!covered || trace_.block_size == 0) {
            return false;
        }
        const std::uint64_t length_mark = mix64(length_of(row) * golden_gamma);
        return raise(PrefixSet::extend(prefix, ~length_mark), 1) > 0;
    }

    const Trace& trace_;
    AroundPrompt around_;
    PrefixMap<std::uint32_t> extents_;
};

}  // namespace

std::optional<std::vector<std::uint32_t>> expect_server_cached(const Trace& trace,
                                                               AroundPrompt around,
                                                               std::uint32_t server_block,
                                                               const Plan& plan) {
    CHECK(server_block > 0);
    std::uint64_t ids = 0;
    std::size_t rows = 0;
    for (const Planned& planned : plan.rows) {
        ids += planned.is_to_second() ? 0 : trace.rows[planned.row].ids_count;
        rows += planned.is_to_second() ? 0 : 1;
    }
    if (ids > server_forecast_ids_max) {
        return {};
    }
    Forecast forecast(trace, around, ids, rows);
    std::vector<std::uint32_t> cached(trace.rows.size(), 0);
    for (const std::uint32_t position : file_order(trace, plan)) {
        if (plan.rows[position].is_to_second()) {
            continue;  // to a server that has seen as much
        }
        const TraceRow& row = trace.rows[plan.rows[position].row];
        const std::uint32_t shared = std::min(forecast.next(row), forecast.length_of(row) - 1);
        cached[plan.rows[position].row] = shared / server_block * server_block;
    }
    return cached;
}

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

/// Whole blocks that the row names.
static std::uint32_t named_blocks(const Trace& trace, const TraceRow& row) {
    return std::min(row.ids_count, row.input_length / trace.block_size);
}

/// The first row of each session of a tree, of those with ids.
static std::vector<const TraceRow*> first_rows(const Trace& trace, const Plan& plan,
                                               std::span<const std::uint32_t> positions) {
    std::vector<const TraceRow*> first;
    std::unordered_set<std::uint32_t> sessions;
    for (const std::uint32_t position : positions) {
        const TraceRow& row = trace.rows[plan.rows[position].row];
        if (row.ids_count > 0 && sessions.insert(row.session).second) {
            first.push_back(&row);
        }
    }
    return first;
}

/// Blocks that the first rows of a tree's sessions have in common, where it has several.
static std::uint32_t observed_blocks(const Trace& trace,
                                     const std::vector<const TraceRow*>& first) {
    if (first.size() < 2) {
        return 0;
    }
    std::uint32_t common = named_blocks(trace, *first.front());
    for (const TraceRow* const row : first) {
        common = std::min(
            {common, named_blocks(trace, *row), common_blocks(trace, *first.front(), *row)});
    }
    return common;
}

SystemBlocks system_blocks(const Trace& trace, const Plan& plan) {
    SystemBlocks found;
    if (trace.block_size == 0) {
        return found;
    }
    PrefixSet shared;
    const RowTrees trees(trace, plan);
    for (std::uint32_t tree = 0; tree < trees.count(); ++tree) {
        const std::vector<const TraceRow*> first = first_rows(trace, plan, trees.rows_of(tree));
        const std::uint32_t observed = observed_blocks(trace, first);
        for (const TraceRow* const row : first) {
            const std::uint32_t declared = trace.system_tokens_of(*row) / trace.block_size;
            const std::uint32_t most =
                std::min(std::max(declared, observed), named_blocks(trace, *row));
            (void)for_each_prefix(trace, *row, most, [&shared](std::uint64_t prefix) {
                (void)shared.insert(prefix);
                return true;
            });
        }
    }
    for (const Planned& planned : plan.rows) {
        const TraceRow& row = trace.rows[planned.row];
        if (row.index >= found.blocks.size()) {
            found.blocks.resize(row.index + std::size_t{1});
        }
        const std::uint32_t blocks =
            for_each_prefix(trace, row, named_blocks(trace, row),
                            [&shared](std::uint64_t prefix) { return shared.contains(prefix); });
        found.blocks[row.index] = blocks;
        found.rows += blocks > 0 ? 1 : 0;
        found.most = std::max(found.most, blocks);
    }
    return found;
}

}  // namespace driftless

#include "engine/plan/system_blocks.hpp"

#include <algorithm>
#include <span>
#include <unordered_set>

#include "engine/plan/prefix_set.hpp"
#include "engine/plan/row_trees.hpp"

namespace driftless {

namespace {

/// Whole blocks that the row names.
std::uint32_t named_blocks(const Trace& trace, const TraceRow& row) {
    return std::min(row.ids_count, row.input_length / trace.block_size);
}

std::uint32_t common_blocks(const Trace& trace, const TraceRow& a, const TraceRow& b) {
    const std::uint32_t most = std::min(named_blocks(trace, a), named_blocks(trace, b));
    const BlockIdSpan ids_a = trace.ids_of(a);
    const BlockIdSpan ids_b = trace.ids_of(b);
    std::uint32_t same = 0;
    while (a.name_space == b.name_space && same < most &&
           ids_a.number(same) == ids_b.number(same)) {
        ++same;
    }
    return same;
}

/// The first row of each session of a tree, of those with ids.
std::vector<const TraceRow*> first_rows(const Trace& trace, const Plan& plan,
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
std::uint32_t observed_blocks(const Trace& trace, const std::vector<const TraceRow*>& first) {
    if (first.size() < 2) {
        return 0;
    }
    std::uint32_t common = named_blocks(trace, *first.front());
    for (const TraceRow* const row : first) {
        common = std::min(common, common_blocks(trace, *first.front(), *row));
    }
    return common;
}

/// Calls `what` with each prefix of the row of whole blocks, shortest first, while that is true.
template <typename What>
std::uint32_t along(const Trace& trace, const TraceRow& row, std::uint32_t most, What what) {
    const BlockIdSpan ids = trace.ids_of(row);
    std::uint64_t prefix = PrefixSet::start(row.name_space);
    std::uint32_t block = 0;
    for (; block < std::min(most, row.ids_count); ++block) {
        prefix = PrefixSet::extend(prefix, ids[block]);
        if (!what(prefix)) {
            break;
        }
    }
    return block;
}

}  // namespace

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
            (void)along(trace, *row, most, [&shared](std::uint64_t prefix) {
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
            along(trace, row, named_blocks(trace, row),
                  [&shared](std::uint64_t prefix) { return shared.contains(prefix); });
        found.blocks[row.index] = blocks;
        found.rows += blocks > 0 ? 1 : 0;
        found.most = std::max(found.most, blocks);
    }
    return found;
}

}  // namespace driftless

#include "engine/inspect/figures.hpp"

#include <algorithm>
#include <bit>

#include "engine/inspect/sessions.hpp"
#include "engine/plan/prefix_tree.hpp"

namespace driftless {

namespace {

LengthFigures lengths_of(const Trace& trace, const std::vector<Planned>& rows,
                         std::uint32_t TraceRow::* length) {
    LengthFigures figures;
    Sample sample;
    for (const Planned& planned : rows) {
        const std::uint32_t tokens = trace.rows[planned.row].*length;
        if (tokens == 0) {
            continue;  // unknown; the trace's notes say how many
        }
        sample.add(tokens);
        figures.sum += tokens;
        ++figures.by_power[static_cast<std::size_t>(std::bit_width(tokens | 1U) - 1)];
    }
    figures.distribution = sample.distribution();
    return figures;
}

ContextFigures context_of(const Trace& trace, const std::vector<Planned>& rows,
                          std::uint64_t limit) {
    ContextFigures figures{limit, 0, 0};
    for (const Planned& planned : rows) {
        const TraceRow& row = trace.rows[planned.row];
        figures.rows_over += std::uint64_t{row.input_length} + row.output_length > limit ? 1 : 0;
        figures.input_over += row.input_length >= limit ? 1 : 0;
    }
    return figures;
}

/// How many blocks of the trace make one of the cache, ascending from 1. Empty: no multiple.
std::vector<std::uint32_t> groups_of(std::uint32_t own, const std::vector<std::uint32_t>& asked) {
    std::vector<std::uint32_t> groups{1};
    for (const std::uint32_t size : asked) {
        if (size == 0 || size % own != 0) {
            return {};
        }
        groups.push_back(size / own);
    }
    if (asked.empty()) {
        for (const std::uint32_t size : standard_block_sizes) {
            groups.push_back(size % own == 0 ? size / own : 1);
        }
    }
    std::sort(groups.begin(), groups.end());
    groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
    return groups;
}

/// The first pass over rows and blocks, in the order of time.
class Pass {
  public:
    Pass(const Trace& trace, PrefixTree& tree, InspectFigures& figures)
        : trace_(trace),
          figures_(figures),
          tree_(tree),
          ids_(trace, tree),
          first_at_(trace.files.size(), -1) {
        for (const TraceFilePart& file : trace.files) {
            figures.files.push_back({file.name});
        }
    }

    /// Gives the row's path.
    PrefixTree::Path add(const Planned& planned);
    void finish();

  private:
    std::size_t file_of(const TraceRow& row) const;
    void add_to_file(const TraceRow& row, const PrefixTree::Path& path);

    const Trace& trace_;
    InspectFigures& figures_;
    PrefixTree& tree_;
    BlockIdCounter ids_;
    std::vector<std::int64_t> first_at_;  ///< [file] its first selected row
};

std::size_t Pass::file_of(const TraceRow& row) const {
    const auto after = std::upper_bound(
        trace_.files.begin(), trace_.files.end(), row.index,
        [](std::uint32_t index, const TraceFilePart& file) { return index < file.first_row; });
    return static_cast<std::size_t>(after - trace_.files.begin()) - 1;
}

void Pass::add_to_file(const TraceRow& row, const PrefixTree::Path& path) {
    if (trace_.files.empty()) {
        return;
    }
    const std::size_t at = file_of(row);
    FileFigures& file = figures_.files[at];
    first_at_[at] = file.rows == 0 ? row.at_ns : first_at_[at];
    ++file.rows;
    file.span_ns = row.at_ns - first_at_[at];
    file.input_tokens += row.input_length;
    file.output_tokens += row.output_length;
    file.references += path.blocks;
    file.hit_blocks += path.known;
    file.hit_tokens +=
        std::min<std::uint64_t>(std::uint64_t{path.known} * trace_.block_size, row.input_length);
}

PrefixTree::Path Pass::add(const Planned& planned) {
    const TraceRow& row = trace_.rows[planned.row];
    const PrefixTree::Path path = tree_.enter(row);
    add_to_file(row, path);
    if (trace_.block_size > 0) {
        ids_.add(trace_, row, path);
        const auto bucket = static_cast<std::size_t>(planned.due_ns / figures_.timeline.bucket_ns);
        figures_.timeline.blocks_new[bucket] += path.blocks - path.known;
    }
    return path;
}

void Pass::finish() {
    if (trace_.block_size == 0) {
        return;
    }
    figures_.has_blocks = true;
    figures_.blocks = ids_.figures();
}

static_assert(timeline_buckets_max < 255, "a bucket is kept as a byte");

/// `edges`: of each row its path's last.
void count_blocks_used(const Trace& trace, const std::vector<Planned>& rows, PrefixTree& tree,
                       const std::vector<std::uint32_t>& edges, Timeline& timeline) {
    std::vector<std::uint8_t> last_used(tree.nodes_end(), 0);  // [node] bucket + 1
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const TraceRow& row = trace.rows[rows[i].row];
        const auto bucket = static_cast<std::size_t>(rows[i].due_ns / timeline.bucket_ns);
        const auto mark = static_cast<std::uint8_t>(bucket + 1);
        for (const std::uint32_t node : tree.nodes({row.ids_begin, row.ids_count, edges[i]})) {
            timeline.blocks_used[bucket] += last_used[node] != mark ? 1 : 0;
            last_used[node] = mark;
        }
    }
}

/// A pass for each size of a cache's blocks: so that the memory of one is there at a time.
void count_capacity(const Trace& trace, const std::vector<Planned>& rows, std::uint32_t group,
                    PrefixTree& tree, const std::vector<std::uint32_t>& edges,
                    InspectFigures& figures) {
    CapacityCounter counter(trace, group, tree.nodes_end());
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const TraceRow& row = trace.rows[rows[i].row];
        counter.add(row, tree.nodes({row.ids_begin, row.ids_count, edges[i]}));
    }
    figures.capacity.push_back(counter.figures());
}

}  // namespace

Result<InspectFigures> inspect_trace(const Trace& trace, const InspectOptions& options) {
    std::vector<std::uint32_t> groups;
    if (trace.block_size > 0) {
        groups = groups_of(trace.block_size, options.block_sizes);
        if (groups.empty()) {
            return Error{ErrorCode::invalid, 0,
                         "group blocks: a size is not a multiple of the trace's"};
        }
    }
    const Result<Plan> plan = make_plan(trace, options.plan);
    if (!plan) {
        return plan.error();
    }
    const std::vector<Planned>& rows = plan.value().rows;
    PlanOptions spread = options.plan;
    spread.spread = true;

    InspectFigures figures;
    figures.rows = rows.size();
    figures.rows_outside = plan.value().rows_outside;
    figures.foretold = plan.value().foretold;
    figures.arrivals = arrivals_of(trace, rows, select_rows(trace, spread));
    figures.timeline = timeline_of(trace, rows);
    figures.input = lengths_of(trace, rows, &TraceRow::input_length);
    figures.output = lengths_of(trace, rows, &TraceRow::output_length);
    if (options.max_model_len > 0) {
        figures.context = context_of(trace, rows, options.max_model_len);
    }
    figures.sessions = sessions_of(trace, rows);
    PrefixTree tree(trace);
    std::vector<std::uint32_t> edges;
    {
        Pass pass(trace, tree, figures);
        for (const Planned& planned : rows) {
            edges.push_back(pass.add(planned).edge);
        }
        pass.finish();
    }
    tree.settle();
    if (figures.has_blocks) {
        count_blocks_used(trace, rows, tree, edges, figures.timeline);
    }
    for (const std::uint32_t group : groups) {
        count_capacity(trace, rows, group, tree, edges, figures);
    }
    return figures;
}

}  // namespace driftless

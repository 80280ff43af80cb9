#include "cmd/reading/trace_figures.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "engine/plan/forecast.hpp"

namespace driftless {

static const TraceRow& row_of(const Trace& trace, const Planned& planned) {
    return trace.rows[planned.row];
}

static void count_instants(const Trace& trace, std::span<const Planned> rows,
                           ArrivalFigures& figures) {
    Burst burst;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (i == 0 || rows[i].due_ns != rows[i - 1].due_ns) {
            burst = {0, 0, rows[i].due_ns};
            ++figures.instants;
        }
        ++burst.rows;
        burst.input_tokens += row_of(trace, rows[i]).input_length;
        if (burst.rows > figures.most_rows.rows || burst.at_ns == figures.most_rows.at_ns) {
            figures.most_rows = burst;
        }
        if (burst.input_tokens > figures.most_tokens.input_tokens ||
            burst.at_ns == figures.most_tokens.at_ns) {
            figures.most_tokens = burst;
        }
    }
}

static Peak peak_of(const Trace& trace, std::span<const Planned> rows, std::int64_t window_ns) {
    Peak peak;
    std::uint64_t tokens = 0;
    std::size_t first = 0;
    std::uint64_t inside = 0;
    std::int64_t last_window = -1;
    for (std::size_t last = 0; last < rows.size(); ++last) {
        tokens += row_of(trace, rows[last]).input_length;
        for (; rows[last].due_ns - rows[first].due_ns >= window_ns; ++first) {
            tokens -= row_of(trace, rows[first]).input_length;
        }
        peak.rows_anywhere = std::max<std::uint64_t>(peak.rows_anywhere, last - first + 1);
        peak.input_tokens_anywhere = std::max(peak.input_tokens_anywhere, tokens);
        const std::int64_t window = rows[last].due_ns / window_ns;
        inside = window == last_window ? inside + 1 : 1;
        last_window = window;
        peak.rows = std::max(peak.rows, inside);
    }
    return peak;
}

/// Variance / mean of the counts in `windows` windows; rows behind them are left out.
static double dispersion_of(std::span<const Planned> rows, std::int64_t window_ns,
                            std::uint64_t windows) {
    if (windows < dispersion_windows_min) {
        return unknown_figure;
    }
    double sum = 0;
    double squares = 0;
    for (std::size_t begin = 0; begin < rows.size();) {
        const std::int64_t window = rows[begin].due_ns / window_ns;
        if (static_cast<std::uint64_t>(window) >= windows) {
            break;
        }
        std::size_t end = begin;
        while (end < rows.size() && rows[end].due_ns / window_ns == window) {
            ++end;
        }
        const auto count = static_cast<double>(end - begin);
        sum += count;
        squares += count * count;
        begin = end;
    }
    const double mean = sum / static_cast<double>(windows);
    return (squares / static_cast<double>(windows) - mean * mean) / mean;
}

static double gap_variation_of(std::span<const Planned> rows) {
    if (rows.size() < 3 || rows.back().due_ns == rows.front().due_ns) {
        return unknown_figure;
    }
    const auto gaps = static_cast<double>(rows.size() - 1);
    const double mean = static_cast<double>(rows.back().due_ns - rows.front().due_ns) / gaps;
    double squares = 0;
    for (std::size_t i = 1; i < rows.size(); ++i) {
        const double off = static_cast<double>(rows[i].due_ns - rows[i - 1].due_ns) - mean;
        squares += off * off;
    }
    return std::sqrt(squares / gaps) / mean;
}

ArrivalFigures arrivals_of(const Trace& trace, std::span<const Planned> recorded,
                           std::span<const Planned> spread) {
    ArrivalFigures figures;
    if (recorded.empty()) {
        return figures;
    }
    figures.span_ns = recorded.back().due_ns;
    if (figures.span_ns > 0) {
        figures.rows_per_s =
            static_cast<double>(recorded.size()) * 1e9 / static_cast<double>(figures.span_ns);
    }
    count_instants(trace, recorded, figures);
    for (std::size_t i = 0; i < windows_ns.size(); ++i) {
        const std::int64_t window = windows_ns[i];
        figures.peaks[i] = peak_of(trace, recorded, window);
        const auto windows = static_cast<std::uint64_t>(figures.span_ns / window);
        figures.dispersion[i] = {windows, dispersion_of(recorded, window, windows),
                                 dispersion_of(spread, window, windows)};
    }
    figures.gap_variation = gap_variation_of(recorded);
    figures.gap_variation_spread = gap_variation_of(spread);
    return figures;
}

std::int64_t bucket_for(std::int64_t span_ns) {
    constexpr std::int64_t ms = 1'000'000;
    constexpr std::int64_t s = 1000 * ms;
    constexpr std::int64_t round_ns[] = {
        ms,      2 * ms,  5 * ms,   10 * ms,  20 * ms,  50 * ms,   100 * ms,  200 * ms,  500 * ms,
        s,       2 * s,   5 * s,    10 * s,   15 * s,   30 * s,    60 * s,    120 * s,   300 * s,
        600 * s, 900 * s, 1800 * s, 3600 * s, 7200 * s, 14400 * s, 28800 * s, 43200 * s, 86400 * s};
    const auto buckets = [&](std::int64_t bucket) {
        return static_cast<std::uint64_t>(span_ns / bucket) + 1;
    };
    for (const std::int64_t bucket : round_ns) {
        if (buckets(bucket) <= timeline_buckets_max) {
            return bucket;
        }
    }
    const std::int64_t day = 86400 * s;
    return (span_ns / day / static_cast<std::int64_t>(timeline_buckets_max) + 1) * day;
}

Timeline timeline_of(const Trace& trace, std::span<const Planned> rows) {
    Timeline line;
    const std::int64_t span_ns = rows.empty() ? 0 : rows.back().due_ns;
    line.bucket_ns = bucket_for(span_ns);
    const auto buckets = static_cast<std::size_t>(span_ns / line.bucket_ns) + 1;
    for (auto* values : {&line.rows, &line.input_tokens, &line.output_tokens, &line.blocks_used,
                         &line.blocks_new}) {
        values->assign(buckets, 0);
    }
    for (const Planned& planned : rows) {
        const auto bucket = static_cast<std::size_t>(planned.due_ns / line.bucket_ns);
        ++line.rows[bucket];
        line.input_tokens[bucket] += row_of(trace, planned).input_length;
        line.output_tokens[bucket] += row_of(trace, planned).output_length;
    }
    return line;
}

SessionFigures sessions_of(const Trace& trace, std::span<const Planned> rows) {
    struct Session {
        std::uint64_t rows = 0;
        std::int64_t first_ns = 0;
        std::int64_t last_ns = 0;
    };
    SessionFigures figures;
    std::vector<Session> sessions(trace.sessions.size());
    Sample delays;
    for (const Planned& planned : rows) {
        const TraceRow& row = trace.rows[planned.row];
        for (const Dependency& one : trace.dependencies_of(row)) {
            ++figures.dependencies;
            if (one.trigger == Trigger::dispatch) {
                ++figures.overlaps;
            } else {
                delays.add(static_cast<double>(one.delay_ns));
            }
        }
        if (row.session == no_session) {
            continue;
        }
        Session& session = sessions[row.session];
        session.first_ns = session.rows == 0 ? row.at_ns : session.first_ns;
        session.last_ns = row.at_ns;
        ++session.rows;
        ++figures.rows;
    }
    Sample rows_each;
    Sample lengths;
    for (const Session& session : sessions) {
        if (session.rows > 0) {
            ++figures.sessions;
            rows_each.add(static_cast<double>(session.rows));
            lengths.add(static_cast<double>(session.last_ns - session.first_ns));
        }
    }
    figures.rows_each = rows_each.distribution();
    figures.length_ns = lengths.distribution();
    figures.delay_ns = delays.distribution();
    return figures;
}

static LengthFigures lengths_of(const Trace& trace, const std::vector<Planned>& rows,
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

static ContextFigures context_of(const Trace& trace, const std::vector<Planned>& rows,
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
static std::vector<std::uint32_t> groups_of(std::uint32_t own,
                                            const std::vector<std::uint32_t>& asked) {
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

static void add_to_files(const Trace& trace, const TraceRow& row, const PrefixTree::Path& path,
                         std::vector<std::int64_t>& first_at_ns, std::vector<FileFigures>& files) {
    if (files.empty()) {
        return;
    }
    const auto after =
        std::ranges::upper_bound(trace.files, row.index, {}, &TraceFilePart::first_row);
    const auto at = static_cast<std::size_t>(after - trace.files.begin()) - 1;
    FileFigures& file = files[at];
    first_at_ns[at] = file.rows == 0 ? row.at_ns : first_at_ns[at];
    ++file.rows;
    file.span_ns = row.at_ns - first_at_ns[at];
    file.input_tokens += row.input_length;
    file.output_tokens += row.output_length;
    file.references += path.blocks;
    file.hit_blocks += path.known;
    file.hit_tokens +=
        std::min<std::uint64_t>(std::uint64_t{path.known} * trace.block_size, row.input_length);
}

/// The first pass over rows and blocks, in the order of time. Gives of each row its path's last
/// edge.
static std::vector<std::uint32_t> first_pass(const Trace& trace, const std::vector<Planned>& rows,
                                             PrefixTree& tree, InspectFigures& figures) {
    BlockIdCounter ids(trace, tree);
    std::vector<std::int64_t> first_at_ns(trace.files.size());  // [file] its first selected row
    for (const TraceFilePart& file : trace.files) {
        figures.files.push_back({file.name});
    }
    std::vector<std::uint32_t> edges;
    figures.has_blocks = trace.block_size > 0;
    for (const Planned& planned : rows) {
        const TraceRow& row = row_of(trace, planned);
        const PrefixTree::Path path = tree.enter(row);
        add_to_files(trace, row, path, first_at_ns, figures.files);
        if (figures.has_blocks) {
            ids.add(trace, row, path);
            Timeline& timeline = figures.timeline;
            timeline.blocks_new[static_cast<std::size_t>(planned.due_ns / timeline.bucket_ns)] +=
                path.blocks - path.known;
        }
        edges.push_back(path.edge);
    }
    figures.blocks = figures.has_blocks ? ids.figures() : BlockFigures();
    return edges;
}

static_assert(timeline_buckets_max < 255, "a bucket is kept as a byte");

/// `edges`: of each row its path's last.
static void count_blocks_used(const Trace& trace, const std::vector<Planned>& rows,
                              PrefixTree& tree, const std::vector<std::uint32_t>& edges,
                              Timeline& timeline) {
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
static void count_capacity(const Trace& trace, const std::vector<Planned>& rows,
                           std::uint32_t group, PrefixTree& tree,
                           const std::vector<std::uint32_t>& edges, InspectFigures& figures) {
    CapacityCounter counter(trace, group, tree.nodes_end());
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const TraceRow& row = trace.rows[rows[i].row];
        counter.add(row, tree.nodes({row.ids_begin, row.ids_count, edges[i]}));
    }
    figures.capacity.push_back(counter.figures());
}

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
    const std::vector<std::uint32_t> edges = first_pass(trace, rows, tree, figures);
    tree.settle();
    if (figures.has_blocks) {
        count_blocks_used(trace, rows, tree, edges, figures.timeline);
    }
    for (const std::uint32_t group : groups) {
        count_capacity(trace, rows, group, tree, edges, figures);
    }
    return figures;
}

static constexpr std::size_t sizes_compared = 5;
static constexpr std::uint64_t size_step = 4;

static std::vector<double> lengths_of(const Trace& trace, std::uint32_t TraceRow::* length) {
    std::vector<double> values;
    values.reserve(trace.rows.size());
    for (const TraceRow& row : trace.rows) {
        values.push_back(row.*length);
    }
    return values;
}

static std::vector<double> gaps_of(const TreeTrace& one) {
    std::vector<std::int64_t> last;  // [tree]
    std::vector<double> gaps;
    for (std::size_t i = 0; i < one.trace.rows.size(); ++i) {
        const std::uint32_t tree = one.tree_of_row[i];
        if (tree >= last.size()) {
            last.resize(tree + std::size_t{1}, -1);
        }
        const std::int64_t at_ns = one.trace.rows[i].at_ns;
        if (last[tree] >= 0) {
            gaps.push_back(static_cast<double>(at_ns - last[tree]));
        }
        last[tree] = at_ns;
    }
    return gaps;
}

static Result<CapacityFigures> capacity_of(const Trace& trace) {
    InspectOptions options;
    options.block_sizes = {trace.block_size};
    const Result<InspectFigures> figures = inspect_trace(trace, options);
    return figures ? Result<CapacityFigures>(figures.value().capacity.front()) : figures.error();
}

/// The share of tokens that a cache of so many blocks, a power of two, hits.
static double hit_rate(const CapacityFigures& figures, std::uint64_t blocks) {
    std::uint64_t hits = 0;
    for (const CapacityPoint& point : figures.curve) {
        hits = point.blocks <= blocks ? point.hit_tokens : hits;
    }
    return static_cast<double>(hits) / static_cast<double>(figures.input_tokens);
}

double greatest_distance(std::vector<double> a, std::vector<double> b) {
    if (a.empty() || b.empty()) {
        return a.empty() == b.empty() ? 0 : 1;
    }
    std::sort(a.begin(), a.end());
    std::sort(b.begin(), b.end());
    double greatest = 0;
    std::size_t i = 0;
    std::size_t j = 0;
    while (i < a.size() && j < b.size()) {
        const double value = std::min(a[i], b[j]);
        while (i < a.size() && a[i] <= value) {
            ++i;
        }
        while (j < b.size() && b[j] <= value) {
            ++j;
        }
        greatest =
            std::max(greatest, std::abs(static_cast<double>(i) / static_cast<double>(a.size()) -
                                        static_cast<double>(j) / static_cast<double>(b.size())));
    }
    return greatest;
}

Result<Likeness> likeness_of(const TreeTrace& before, const TreeTrace& after) {
    Likeness likeness;
    likeness.input = greatest_distance(lengths_of(before.trace, &TraceRow::input_length),
                                       lengths_of(after.trace, &TraceRow::input_length));
    likeness.output = greatest_distance(lengths_of(before.trace, &TraceRow::output_length),
                                        lengths_of(after.trace, &TraceRow::output_length));
    std::vector<double> gaps = gaps_of(before);
    likeness.gaps_before = gaps.size();
    likeness.gaps = greatest_distance(std::move(gaps), gaps_of(after));
    if (before.trace.block_size == 0) {
        return likeness;
    }
    const Result<CapacityFigures> old_figures = capacity_of(before.trace);
    const Result<CapacityFigures> new_figures = capacity_of(after.trace);
    if (!old_figures || !new_figures) {
        return old_figures ? new_figures.error() : old_figures.error();
    }
    const std::vector<CapacityPoint>& curve = old_figures.value().curve;
    std::uint64_t blocks = curve.empty() ? 1 : std::bit_floor(curve.back().blocks);
    for (std::size_t i = 0; i < sizes_compared && blocks > 0; ++i, blocks /= size_step) {
        likeness.curve.push_back(
            {blocks, hit_rate(old_figures.value(), blocks), hit_rate(new_figures.value(), blocks)});
    }
    std::reverse(likeness.curve.begin(), likeness.curve.end());
    for (const HitRatePair& pair : likeness.curve) {
        likeness.curve_worst = std::max(likeness.curve_worst, std::abs(pair.after - pair.before));
    }
    return likeness;
}

}  // namespace driftless

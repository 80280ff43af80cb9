#include "engine/plan/resample.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <queue>
#include <string>
#include <unordered_map>

#include "engine/plan/load.hpp"
#include "engine/plan/synth_spec.hpp"
#include "engine/plan/trees.hpp"
#include "proto/trace/times.hpp"

namespace driftless {
namespace {

// Purposes of random numbers; those before: of patterns, synth_rows.cpp.
constexpr std::uint64_t pick_stream = 9;
constexpr std::uint64_t offset_stream = 10;

/// One tree of the trace.
struct Tree {
    std::vector<std::uint32_t> rows;  ///< positions, by time
    std::int64_t begin_ns = 0;
    std::int64_t length_ns = 0;        ///< to the end of its last answer, as far as that is known
    std::uint64_t private_blocks = 0;  ///< that no other tree has
};

/// One copy of a tree.
struct Play {
    std::uint32_t tree = 0;
    std::uint32_t copy = 0;
    std::int64_t begin_ns = 0;
    std::uint64_t first_id = 0;  ///< of its private blocks
};

/// What stands for a block of the trace.
struct BlockPlace {
    std::uint32_t tree = 0;    ///< the first one that has it
    bool shared = false;       ///< another one has it, too
    std::uint64_t number = 0;  ///< among the shared ones, or among those of its tree
};

class Resampling {
  public:
    Resampling(const Trace& trace, const LikeOptions& options) : trace_(trace), options_(options) {}

    Result<LikeTrace> run();

  private:
    void find_trees();
    void number_blocks();
    Result<std::uint64_t> wanted_trees() const;
    std::uint32_t pick(std::uint64_t number, std::uint64_t wanted);
    void lay_by_begins(std::uint64_t wanted);
    void lay_by_users(std::uint64_t wanted);
    LikeTrace write();
    void write_row(const Play& play, const TraceRow& row, std::int64_t at_ns, LikeTrace& out);
    void write_waits(std::size_t play, const std::vector<std::uint32_t>& made, LikeTrace& out);
    std::uint64_t key_of(const TraceRow& row, std::size_t block) const {
        return std::uint64_t{row.name_space} * trace_.ids.numbers_end() +
               trace_.ids_of(row).number(block);
    }
    std::int64_t offset(std::uint64_t number) const;

    const Trace& trace_;
    const LikeOptions& options_;
    std::vector<Tree> trees_;  ///< by their begins
    std::vector<std::uint32_t> tree_of_row_;
    std::unordered_map<std::uint64_t, BlockPlace> blocks_;
    std::uint64_t shared_blocks_ = 0;
    std::int64_t period_ns_ = 1;  ///< from one pass to the next
    double faster_ = 1;
    std::vector<Play> plays_;
    std::vector<std::uint32_t> session_of_copy_;  ///< scratch: [session of the trace]
};

void Resampling::find_trees() {
    const Families families = families_of(trace_);
    std::vector<Tree> found(families.count);
    for (std::uint32_t i = 0; i < trace_.rows.size(); ++i) {
        Tree& tree = found[families.of_row[i]];
        const TraceRow& row = trace_.rows[i];
        tree.begin_ns = tree.rows.empty() ? row.at_ns : tree.begin_ns;
        tree.length_ns =
            std::max(tree.length_ns, later(row.at_ns, trace_.answer_ns_of(row)) - tree.begin_ns);
        tree.rows.push_back(i);
    }
    std::vector<std::uint32_t> order(found.size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
        return found[a].begin_ns < found[b].begin_ns;
    });
    tree_of_row_.assign(trace_.rows.size(), 0);
    for (const std::uint32_t number : order) {
        for (const std::uint32_t row : found[number].rows) {
            tree_of_row_[row] = static_cast<std::uint32_t>(trees_.size());
        }
        trees_.push_back(std::move(found[number]));
    }
    const std::int64_t span_ns = trace_.rows.back().at_ns - trace_.rows.front().at_ns;
    const auto rows = static_cast<std::int64_t>(trace_.rows.size());
    period_ns_ = std::max<std::int64_t>(1, later(span_ns, span_ns / rows));
}

void Resampling::number_blocks() {
    for (std::uint32_t i = 0; i < trace_.rows.size(); ++i) {
        const TraceRow& row = trace_.rows[i];
        for (std::size_t block = 0; block < row.ids_count; ++block) {
            const auto [place, is_new] =
                blocks_.try_emplace(key_of(row, block), BlockPlace{tree_of_row_[i]});
            place->second.shared |= place->second.tree != tree_of_row_[i];
        }
    }
    // By first use, so that the numbers do not depend on the table.
    for (const TraceRow& row : trace_.rows) {
        for (std::size_t block = 0; block < row.ids_count; ++block) {
            BlockPlace& place = blocks_.find(key_of(row, block))->second;
            if (place.number == 0) {
                place.number =
                    place.shared ? ++shared_blocks_ : ++trees_[place.tree].private_blocks;
            }
        }
    }
}

Result<std::uint64_t> Resampling::wanted_trees() const {
    const double trees = static_cast<double>(trees_.size());
    double wanted = trees * faster_;
    if (options_.trees) {
        wanted = static_cast<double>(*options_.trees);
    } else if (options_.rows) {
        wanted =
            static_cast<double>(*options_.rows) * trees / static_cast<double>(trace_.rows.size());
    } else if (options_.length_ns && options_.users == 0) {
        wanted = static_cast<double>(*options_.length_ns) * faster_ * trees /
                 static_cast<double>(period_ns_);
    } else if (options_.length_ns) {
        double lengths = 0;
        for (const Tree& tree : trees_) {
            lengths += static_cast<double>(tree.length_ns);
        }
        if (lengths <= 0) {
            return Error{ErrorCode::invalid, 0, "lay out trees of one instant"};
        }
        wanted = static_cast<double>(*options_.length_ns) * options_.users * trees / lengths;
    }
    wanted = std::max(1.0, std::floor(wanted + 0.5));
    const double rows = wanted / trees * static_cast<double>(trace_.rows.size());
    if (rows > static_cast<double>(like_rows_max)) {
        return Error{ErrorCode::out_of_range, 0, "hold the rows in memory"};
    }
    return static_cast<std::uint64_t>(wanted);
}

/// The tree in place `number` of all: in whole passes each in its order; in the last one, of `left`
/// equal parts of all trees one of each.
std::uint32_t Resampling::pick(std::uint64_t number, std::uint64_t wanted) {
    const std::uint64_t all = trees_.size();
    const std::uint64_t place = number % all;
    if (number - place + all <= wanted) {
        return static_cast<std::uint32_t>(place);
    }
    const std::uint64_t left = wanted % all;
    const std::uint64_t from = place * all / left;
    const std::uint64_t to = (place + 1) * all / left;
    return static_cast<std::uint32_t>(
        from + stream_of(options_.seed, pick_stream, number).below(to - from));
}

std::int64_t Resampling::offset(std::uint64_t number) const {
    const auto within = static_cast<std::uint64_t>(std::min(replicate_within_ns, period_ns_ / 10));
    return static_cast<std::int64_t>(
        stream_of(options_.seed, offset_stream, number).below(within + 1));
}

void Resampling::lay_by_begins(std::uint64_t wanted) {
    for (std::uint64_t number = 0; number < wanted; ++number) {
        const std::uint64_t pass = number / trees_.size();
        const std::uint64_t place = number % trees_.size();
        const double at =
            (static_cast<double>(pass) * static_cast<double>(period_ns_) +
             static_cast<double>(trees_[place].begin_ns) + static_cast<double>(offset(number))) /
            faster_;
        const auto begin_ns =
            at < static_cast<double>(time_max_ns) ? static_cast<std::int64_t>(at) : time_max_ns;
        plays_.push_back({pick(number, wanted), static_cast<std::uint32_t>(pass), begin_ns});
    }
}

void Resampling::lay_by_users(std::uint64_t wanted) {
    std::priority_queue<std::int64_t, std::vector<std::int64_t>, std::greater<>> free;
    for (std::uint32_t user = 0; user < options_.users; ++user) {
        free.push(0);
    }
    for (std::uint64_t number = 0; number < wanted; ++number) {
        const std::uint32_t tree = pick(number, wanted);
        const std::int64_t begin_ns = free.top();
        free.pop();
        plays_.push_back({tree, static_cast<std::uint32_t>(number / trees_.size()), begin_ns});
        free.push(later(begin_ns, std::max<std::int64_t>(1, trees_[tree].length_ns)));
    }
}

void Resampling::write_row(const Play& play, const TraceRow& row, std::int64_t at_ns,
                           LikeTrace& out) {
    TraceRow made = row;
    made.at_ns = at_ns;
    made.index = static_cast<std::uint32_t>(out.trace.rows.size());
    made.line = 0;
    made.name_space = 0;
    made.ids_begin = out.trace.ids.size();
    for (std::size_t block = 0; block < row.ids_count; ++block) {
        const BlockPlace& place = blocks_.find(key_of(row, block))->second;
        out.trace.ids.push_back(place.shared ? place.number - 1 : play.first_id + place.number - 1);
    }
    if (row.session != no_session) {
        made.session =
            session_of_copy_[std::size_t{play.copy} * trace_.sessions.size() + row.session];
    }
    out.trace.answers_ns.push_back(trace_.answer_ns_of(row));
    out.trace.system_tokens.push_back(trace_.system_tokens_of(row));
    out.trace.rows.push_back(made);
}

LikeTrace Resampling::write() {
    LikeTrace out;
    Trace& trace = out.trace;
    trace.name = trace_.name + "-like";
    trace.format = trace_.format;
    trace.time_unit = "ns";
    trace.block_size = trace_.block_size;
    trace.tail_rule = trace_.tail_rule;
    trace.rows_uncovered = trace_.rows_uncovered;
    trace.name_spaces = 1;
    out.trees = plays_.size();

    struct Due {
        std::int64_t at_ns;
        std::uint32_t play;
        std::uint32_t row;  ///< among those of its tree
    };
    std::vector<Due> dues;
    std::vector<std::size_t> first;  ///< [play] place of its first row in `index_of`
    std::uint64_t next_id = shared_blocks_;
    std::uint32_t copies = 0;
    std::size_t rows = 0;
    for (std::uint32_t number = 0; number < plays_.size(); ++number) {
        Play& play = plays_[number];
        const Tree& tree = trees_[play.tree];
        play.first_id = next_id;
        next_id += tree.private_blocks;
        copies = std::max(copies, play.copy + 1);
        first.push_back(rows);
        rows += tree.rows.size();
        for (std::uint32_t row = 0; row < tree.rows.size(); ++row) {
            const std::int64_t in_tree = trace_.rows[tree.rows[row]].at_ns - tree.begin_ns;
            dues.push_back({later(play.begin_ns, in_tree), number, row});
        }
    }
    std::sort(dues.begin(), dues.end(), [](const Due& a, const Due& b) {
        return a.at_ns != b.at_ns ? a.at_ns < b.at_ns
               : a.play != b.play ? a.play < b.play
                                  : a.row < b.row;
    });
    for (std::uint32_t copy = 0; copy < copies; ++copy) {
        for (const std::string& name : trace_.sessions) {
            session_of_copy_.push_back(static_cast<std::uint32_t>(trace.sessions.size()));
            trace.sessions.push_back(copy == 0 ? name : name + "#" + std::to_string(copy));
        }
    }
    const std::int64_t begin_ns = dues.front().at_ns;
    std::vector<std::uint32_t> index_of(rows, no_row);  ///< [first + row of the tree]
    for (const Due& due : dues) {
        const Play& play = plays_[due.play];
        index_of[first[due.play] + due.row] = static_cast<std::uint32_t>(trace.rows.size());
        out.tree_of_row.push_back(due.play);
        write_row(play, trace_.rows[trees_[play.tree].rows[due.row]], due.at_ns - begin_ns, out);
    }
    for (std::size_t number = 0; number < plays_.size(); ++number) {
        const auto from = index_of.begin() + static_cast<std::ptrdiff_t>(first[number]);
        const std::size_t count = trees_[plays_[number].tree].rows.size();
        write_waits(number, {from, from + static_cast<std::ptrdiff_t>(count)}, out);
    }
    std::stable_sort(trace.dependencies.begin(), trace.dependencies.end(),
                     [](const Dependency& a, const Dependency& b) { return a.row < b.row; });
    return out;
}

/// `made`: [row of the tree] its index in the new trace.
void Resampling::write_waits(std::size_t play, const std::vector<std::uint32_t>& made,
                             LikeTrace& out) {
    const Tree& tree = trees_[plays_[play].tree];
    std::unordered_map<std::uint32_t, std::uint32_t> new_index;
    for (std::size_t i = 0; !trace_.dependencies.empty() && i < tree.rows.size(); ++i) {
        new_index[trace_.rows[tree.rows[i]].index] = made[i];
    }
    for (std::size_t i = 0; !trace_.dependencies.empty() && i < tree.rows.size(); ++i) {
        for (const Dependency& one : trace_.dependencies_of(trace_.rows[tree.rows[i]])) {
            const auto on = new_index.find(one.on);
            if (on != new_index.end()) {
                out.trace.dependencies.push_back({made[i], on->second, one.trigger, one.delay_ns});
            }
        }
    }
}

Result<LikeTrace> Resampling::run() {
    if (trace_.rows.empty()) {
        return Error{ErrorCode::missing, 0, "find a row"};
    }
    if (!trace_.body_ends.empty()) {
        return Error{ErrorCode::unsupported, 0, "resample rows in words"};
    }
    find_trees();
    const bool one_instant = trace_.rows.back().at_ns == trace_.rows.front().at_ns;
    if (one_instant && (options_.per_second || options_.length_ns)) {
        return Error{ErrorCode::invalid, 0, "scale a trace of one instant"};
    }
    if (options_.per_second) {
        const double recorded =
            static_cast<double>(trace_.rows.size()) * 1e9 / static_cast<double>(period_ns_);
        faster_ = *options_.per_second / recorded;
    }
    const Result<std::uint64_t> wanted = wanted_trees();
    if (!wanted) {
        return wanted.error();
    }
    number_blocks();
    options_.users > 0 ? lay_by_users(wanted.value()) : lay_by_begins(wanted.value());
    return write();
}

}  // namespace

Result<LikeTrace> resample(const Trace& trace, const LikeOptions& options) {
    return Resampling(trace, options).run();
}

}  // namespace driftless

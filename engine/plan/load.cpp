#include "engine/plan/load.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <queue>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/plan/synth_spec.hpp"
#include "engine/plan/trees.hpp"
#include "proto/core/hash.hpp"
#include "proto/core/numbers.hpp"
#include "proto/trace/times.hpp"

namespace driftless {

/// Rows of families that do not stay leave the trace, with what waits for them. Rows that stay keep
/// their indices and times.
static void keep_families(const Families& families, const std::vector<bool>& stays, Trace& trace) {
    std::vector<bool> row_stays(trace.rows.size(), false);
    std::size_t kept = 0;
    for (std::size_t i = 0; i < trace.rows.size(); ++i) {
        if (stays[families.of_row[i]]) {
            row_stays[trace.rows[i].index] = true;
            trace.rows[kept++] = trace.rows[i];
        }
    }
    trace.rows.resize(kept);
    // Rows that wait for each other are one family, so both ends of an edge stay or go.
    std::erase_if(trace.dependencies, [&](const Dependency& one) { return !row_stays[one.row]; });
}

AdmissionFigures admit(const AdmissionRules& rules, Trace& trace) {
    AdmissionFigures figures;
    if (!rules.any()) {
        return figures;
    }
    const Families families = families_of(trace);
    std::vector<bool> stays(families.count, true);
    for (std::size_t i = 0; i < trace.rows.size(); ++i) {
        const TraceRow& row = trace.rows[i];
        const std::uint64_t tokens = std::uint64_t{row.input_length} + row.output_length;
        if (rules.context_max && tokens > *rules.context_max) {
            stays[families.of_row[i]] = false;
        }
    }
    figures.families = families.count;
    figures.too_long = static_cast<std::uint32_t>(std::count(stays.begin(), stays.end(), false));
    for (std::uint32_t family = 0; family < families.count; ++family) {
        stays[family] = stays[family] && (!rules.trees_max || figures.kept < *rules.trees_max);
        figures.kept += stays[family] ? 1 : 0;
    }
    keep_families(families, stays, trace);
    return figures;
}

static constexpr std::uint64_t whole_share = 1'000'000'000;
static constexpr std::uint64_t sample_stream =
    1;  ///< draws of one purpose are not those of another
static constexpr std::uint64_t offset_stream = 2;

static std::uint64_t draw(std::uint64_t seed, std::uint64_t stream, std::uint64_t number) {
    return mix64(mix64(mix64(seed + golden_gamma) + stream) ^ mix64(number + golden_gamma));
}

/// Which families stay: those with the smallest draws, so that samples of one seed are nested.
static std::vector<bool> draw_families(const Families& families, std::uint32_t wanted,
                                       std::uint64_t seed) {
    std::vector<std::uint32_t> order(families.count);
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::sort(order, {}, [seed](std::uint32_t family) {
        return std::pair(draw(seed, sample_stream, family), family);
    });
    std::vector<bool> stays(families.count, false);
    for (std::uint32_t i = 0; i < wanted; ++i) {
        stays[order[i]] = true;
    }
    return stays;
}

static void sample(Share share, std::uint64_t seed, Trace& trace, LoadFigures& figures) {
    const Families families = families_of(trace);
    const auto wanted = static_cast<std::uint32_t>(
        (families.count * share.billionths + whole_share / 2) / whole_share);
    figures.families = families.count;
    figures.families_sampled = std::clamp(wanted, std::min(families.count, 1U), families.count);
    const std::vector<bool> stays = draw_families(families, figures.families_sampled, seed);
    keep_families(families, stays, trace);
}

/// Whether everything that copies number still fits its type, with the two marks kept free.
static bool fits(std::uint32_t copies, const Trace& trace, std::uint32_t rows_read) {
    const std::uint64_t most = std::max<std::uint64_t>(
        {rows_read, trace.name_spaces, trace.sessions.size(), std::uint64_t{1}});
    return most * copies < std::numeric_limits<std::uint32_t>::max() - 1;
}

namespace {

struct Copy {
    std::uint32_t number = 0;
    std::int64_t offset_ns = 0;
    std::uint32_t rows_read = 0;
    std::uint32_t name_spaces = 0;
    std::uint32_t sessions = 0;
};

}  // namespace

static void add_copy(const Copy& copy, std::size_t rows, std::size_t dependencies, Trace& trace) {
    for (std::size_t i = 0; i < rows; ++i) {
        TraceRow row = trace.rows[i];
        row.at_ns = row.at_ns > std::numeric_limits<std::int64_t>::max() - copy.offset_ns
                        ? std::numeric_limits<std::int64_t>::max()
                        : row.at_ns + copy.offset_ns;
        row.index += copy.number * copy.rows_read;
        row.name_space += copy.number * copy.name_spaces;
        row.session += row.session == no_session ? 0 : copy.number * copy.sessions;
        trace.rows.push_back(row);
    }
    for (std::size_t i = 0; i < dependencies; ++i) {
        Dependency one = trace.dependencies[i];
        one.row += copy.number * copy.rows_read;
        one.on += copy.number * copy.rows_read;
        trace.dependencies.push_back(one);
    }
    for (std::size_t i = 0; i < copy.sessions; ++i) {
        trace.sessions.push_back(trace.sessions[i] + "#" + std::to_string(copy.number));
    }
}

/// Of a copy behind others, each a mean gap behind the end of the one before.
static std::int64_t turn_offset(const Trace& trace, std::size_t rows, std::uint32_t number) {
    const std::int64_t span_ns = trace.rows[rows - 1].at_ns - trace.rows.front().at_ns;
    const auto gaps = static_cast<std::int64_t>(std::max<std::size_t>(rows - 1, 1));
    std::int64_t offset_ns = 0;
    const bool fits = !__builtin_mul_overflow(span_ns + std::max<std::int64_t>(span_ns / gaps, 1),
                                              std::int64_t{number}, &offset_ns);
    return fits ? offset_ns : std::numeric_limits<std::int64_t>::max();
}

static void replicate(const LoadOptions& options, Trace& trace, LoadFigures& figures) {
    const std::size_t rows = trace.rows.size();
    const std::size_t dependencies = trace.dependencies.size();
    trace.rows.reserve(rows * figures.copies);
    trace.dependencies.reserve(dependencies * figures.copies);
    trace.sessions.reserve(trace.sessions.size() * figures.copies);
    Copy copy{0, 0, figures.rows_read, trace.name_spaces,
              static_cast<std::uint32_t>(trace.sessions.size())};
    for (copy.number = 1; copy.number < figures.copies; ++copy.number) {
        Random random(draw(options.seed, offset_stream, copy.number));
        copy.offset_ns = options.copies.rows > 0
                             ? turn_offset(trace, rows, copy.number)
                             : static_cast<std::int64_t>(
                                   random.below(static_cast<std::uint64_t>(figures.within_ns) + 1));
        add_copy(copy, rows, dependencies, trace);
    }
    trace.copy_rows = figures.rows_read;
    trace.name_spaces *= figures.copies;
    std::sort(trace.rows.begin(), trace.rows.end(), comes_before);
}

/// Rows without ids get some: block k of a row is block k of what it shares, so that the ids of all
/// rows are one list from 0 on.
static Result<void> share(Sharing sharing, Trace& trace, LoadFigures& figures) {
    if (!trace.ids.empty()) {
        return Error{ErrorCode::exists, 0, "share where block ids say what is shared"};
    }
    if (sharing == Sharing::session && trace.sessions.empty()) {
        return Error{ErrorCode::missing, 0, "share inside sessions"};
    }
    trace.block_size = trace.block_size == 0 ? shared_block_size : trace.block_size;
    std::uint32_t blocks_max = 0;
    for (TraceRow& row : trace.rows) {
        const bool alone = sharing == Sharing::session && row.session == no_session;
        if (alone || !trace.body_of(row).empty()) {
            continue;
        }
        row.ids_begin = 0;
        row.ids_count = (row.input_length - 1) / trace.block_size + 1;
        row.name_space = trace.name_spaces + (sharing == Sharing::session ? row.session : 0);
        blocks_max = std::max(blocks_max, row.ids_count);
        ++figures.rows_sharing;
    }
    trace.name_spaces +=
        sharing == Sharing::session ? static_cast<std::uint32_t>(trace.sessions.size()) : 1;
    trace.tail_rule = TailRule::ceil;
    for (std::uint32_t block = 0; block < blocks_max; ++block) {
        trace.ids.push_back(block);
    }
    figures.share = sharing;
    return {};
}

static std::int64_t default_within(const Trace& trace) {
    const std::int64_t span_ns =
        trace.rows.empty() ? 0 : trace.rows.back().at_ns - trace.rows.front().at_ns;
    return std::min(replicate_within_ns, span_ns / 10);
}

Result<Share> parse_share(std::string_view text) {
    const bool percent = text.ends_with('%');
    const auto decimal = scan_decimal(percent ? text.substr(0, text.size() - 1) : text);
    if (!decimal || decimal->negative) {
        return Error{ErrorCode::invalid, 0, "read a share, as in 0.25 or 25%"};
    }
    const Result<Scaled> scaled = scale(*decimal, percent ? 7 : 9);
    if (!scaled || !scaled.value().exact || scaled.value().value == 0 ||
        scaled.value().value > whole_share) {
        return Error{ErrorCode::out_of_range, 0, "read a share above 0 and up to 1"};
    }
    return Share{scaled.value().value};
}

Result<LoadFigures> apply_load(const LoadOptions& options, Trace& trace) {
    CHECK(options.copies.count >= 1);
    LoadFigures figures;
    figures.rows_read = static_cast<std::uint32_t>(trace.rows.size());
    figures.admission = admit(options.admission, trace);
    if (trace.rows.empty() && figures.rows_read > 0) {
        return Error{ErrorCode::not_found, 0, "admit any session"};
    }
    if (options.share != Sharing::none) {
        const Result<void> shared = share(options.share, trace, figures);
        if (!shared) {
            return shared.error();
        }
    }
    if (options.sample) {
        sample(*options.sample, options.seed, trace, figures);
    }
    figures.rows_sampled = static_cast<std::uint32_t>(trace.rows.size());
    const std::uint32_t rows = std::max(figures.rows_sampled, 1U);
    figures.copies = options.copies.rows == 0 ? options.copies.count
                                              : std::max((options.copies.rows - 1) / rows + 1, 1U);
    if (!fits(figures.copies, trace, figures.rows_read)) {
        return Error{ErrorCode::out_of_range, 0, "number the rows of all copies within 32 bits"};
    }
    figures.in_turn = figures.copies > 1 && options.copies.rows > 0;
    if (figures.copies > 1) {
        figures.within_ns =
            options.copies.rows > 0 ? 0 : options.within_ns.value_or(default_within(trace));
        replicate(options, trace, figures);
    }
    return figures;
}

// Purposes of random numbers; those before: of patterns, synth_rows.cpp.
static constexpr std::uint64_t pick_stream = 9;
static constexpr std::uint64_t resample_offset_stream = 10;

namespace {

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

}  // namespace

void Resampling::find_trees() {
    const Families families = families_of(trace_);
    trees_.resize(families.count);
    for (std::uint32_t i = 0; i < trace_.rows.size(); ++i) {
        Tree& tree = trees_[families.of_row[i]];
        const TraceRow& row = trace_.rows[i];
        tree.begin_ns = tree.rows.empty() ? row.at_ns : tree.begin_ns;
        tree.length_ns =
            std::max(tree.length_ns, later(row.at_ns, trace_.answer_ns_of(row)) - tree.begin_ns);
        tree.rows.push_back(i);
    }
    std::ranges::stable_sort(trees_, {}, &Tree::begin_ns);
    tree_of_row_.assign(trace_.rows.size(), 0);
    for (std::uint32_t tree = 0; tree < trees_.size(); ++tree) {
        for (const std::uint32_t row : trees_[tree].rows) {
            tree_of_row_[row] = tree;
        }
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

void Resampling::lay_by_begins(std::uint64_t wanted) {
    const auto within = static_cast<std::uint64_t>(std::min(replicate_within_ns, period_ns_ / 10));
    for (std::uint64_t number = 0; number < wanted; ++number) {
        const std::uint64_t pass = number / trees_.size();
        const std::uint64_t place = number % trees_.size();
        const std::uint64_t offset =
            stream_of(options_.seed, resample_offset_stream, number).below(within + 1);
        const double at =
            (static_cast<double>(pass) * static_cast<double>(period_ns_) +
             static_cast<double>(trees_[place].begin_ns) + static_cast<double>(offset)) /
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
        auto operator<=>(const Due&) const = default;
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
    std::ranges::sort(dues);
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
    for (std::size_t number = 0; number < plays_.size() && !trace_.dependencies.empty(); ++number) {
        const auto from = index_of.begin() + static_cast<std::ptrdiff_t>(first[number]);
        const std::size_t count = trees_[plays_[number].tree].rows.size();
        write_waits(number, {from, from + static_cast<std::ptrdiff_t>(count)}, out);
    }
    trace.sort_dependencies();
    return out;
}

/// `made`: [row of the tree] its index in the new trace.
void Resampling::write_waits(std::size_t play, const std::vector<std::uint32_t>& made,
                             LikeTrace& out) {
    const Tree& tree = trees_[plays_[play].tree];
    std::unordered_map<std::uint32_t, std::uint32_t> new_index;
    for (std::size_t i = 0; i < tree.rows.size(); ++i) {
        new_index[trace_.rows[tree.rows[i]].index] = made[i];
    }
    for (std::size_t i = 0; i < tree.rows.size(); ++i) {
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

Result<LikeTrace> resample(const Trace& trace, const LikeOptions& options) {
    return Resampling(trace, options).run();
}

}  // namespace driftless

#include "engine/plan/wait_graph.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/plan/plan.hpp"
#include "engine/plan/trees.hpp"
#include "proto/core/errors.hpp"
#include "proto/core/hash.hpp"
#include "proto/trace/agents.hpp"
#include "proto/trace/times.hpp"

namespace driftless {

GapFigures retime(const GapRules& rules, const Plan& plan, Trace& trace) {
    const RowsByIndex rows(trace);
    const PlannedRows planned(trace, plan);
    GapFigures figures;
    std::vector<Dependency> retimed;
    const auto is_of_own_session = [&rows](const Dependency& one) {
        const std::uint32_t session = rows.session_of(one.row);
        return session != no_session && session == rows.session_of(one.on);
    };
    const auto joins = [&](const Dependency& one) {
        return !is_of_own_session(one) &&
               std::ranges::any_of(trace.dependencies_of(*rows.find(one.row)), is_of_own_session);
    };
    // What is left of a gap, which is counted.
    const auto kept_of = [&](const Dependency& one, std::int64_t derived_ns) {
        const std::int64_t capped_ns = std::min(derived_ns, rules.cap_ns.value_or(derived_ns));
        const std::int64_t kept_ns = rules.rule == GapRule::none ? 0 : capped_ns;
        if (derived_ns > 0 && planned.contains(one.row) && planned.contains(one.on)) {
            ++figures.gaps;
            figures.capped += rules.rule != GapRule::none && kept_ns < derived_ns ? 1 : 0;
            figures.derived_ns = later(figures.derived_ns, derived_ns);
            figures.kept_ns = later(figures.kept_ns, kept_ns);
        }
        return kept_ns;
    };
    for (const Dependency& one : trace.dependencies) {
        if (rules.rule != GapRule::start_to_start) {
            retimed.push_back({one.row, one.on, one.trigger, kept_of(one, one.delay_ns)});
            continue;
        }
        const bool by_end = one.trigger == Trigger::completion;
        if (by_end) {
            retimed.push_back({one.row, one.on, Trigger::completion, 0});
        }
        if (by_end && joins(one)) {
            continue;
        }
        const std::int64_t starts_apart_ns = rows.find(one.row)->at_ns - rows.find(one.on)->at_ns;
        const std::int64_t kept_ns =
            kept_of(one, by_end ? std::max(starts_apart_ns, std::int64_t{0}) : one.delay_ns);
        if (!by_end || kept_ns > 0) {
            retimed.push_back({one.row, one.on, Trigger::dispatch, kept_ns});
        }
    }
    trace.dependencies = std::move(retimed);
    return figures;
}

namespace {

/// A row of a tree, as it was recorded.
struct Recorded {
    std::uint32_t row = 0;  ///< index
    std::int64_t at_ns = 0;
    std::int64_t end_ns = 0;
};

}  // namespace

static bool had_ended(const Recorded& before, const Recorded& row) {
    return before.at_ns < row.at_ns && before.end_ns <= row.at_ns + end_tolerance_ns;
}

namespace {

class Barriers {
  public:
    Barriers(const Plan& plan, const Trace& trace)
        : plan_(plan), trace_(trace), planned_(trace, plan) {}

    /// `rows`: of a tree, in the order of the plan, which is that of their beginnings.
    void add_tree(std::span<const std::uint32_t> rows);

    std::vector<Dependency> take() { return std::move(barriers_); }
    const BarrierFigures& figures() const { return figures_; }

  private:
    bool goes_by_time(std::span<const std::uint32_t> rows) const;
    Recorded recorded(std::uint32_t position) const;
    void add_row(const TraceRow& row, const Recorded& recorded);

    const Plan& plan_;
    const Trace& trace_;
    PlannedRows planned_;
    std::unordered_map<std::uint32_t, std::size_t> stream_of_;  ///< [session] of the tree
    std::vector<std::vector<Recorded>> streams_;                ///< what has begun so far
    std::vector<Recorded> frontier_;                            ///< scratch: of one row
    std::vector<Dependency> barriers_;
    BarrierFigures figures_;
};

}  // namespace

Recorded Barriers::recorded(std::uint32_t position) const {
    const TraceRow& row = trace_.rows[plan_.rows[position].row];
    return {row.index, row.at_ns, later(row.at_ns, trace_.answer_ns_of(row))};
}

/// Whatever a row of it waits for comes before it in the plan.
bool Barriers::goes_by_time(std::span<const std::uint32_t> rows) const {
    return std::all_of(rows.begin(), rows.end(), [this](std::uint32_t position) {
        const auto waits = trace_.dependencies_of(trace_.rows[plan_.rows[position].row]);
        return std::all_of(waits.begin(), waits.end(), [&](const Dependency& one) {
            return planned_.find(one.on).value_or(0) < position || !planned_.contains(one.on);
        });
    });
}

/// What it may wait for, of each stream; then those that no other of them, and nothing that the row
/// waits for anyway, has waited for.
void Barriers::add_row(const TraceRow& row, const Recorded& own) {
    const std::size_t own_stream = stream_of_.at(row.session);
    frontier_.clear();
    for (std::size_t stream = 0; stream < streams_.size(); ++stream) {
        const std::vector<Recorded>& begun = streams_[stream];
        const auto latest =
            std::find_if(begun.rbegin(), begun.rend(),
                         [&own](const Recorded& before) { return had_ended(before, own); });
        if (stream != own_stream && latest != begun.rend()) {
            frontier_.push_back(*latest);
        }
    }
    std::vector<Recorded> behind = frontier_;
    for (const Dependency& one : trace_.dependencies_of(row)) {
        if (const std::optional<std::uint32_t> parent = planned_.find(one.on)) {
            behind.push_back(recorded(*parent));
        }
    }
    const std::uint64_t waits_before = figures_.waits;
    for (const Recorded& one : frontier_) {
        const bool is_implied =
            std::any_of(behind.begin(), behind.end(), [&one](const Recorded& other) {
                return other.row == one.row ? false : had_ended(one, other);
            });
        const auto waits = trace_.dependencies_of(row);
        const bool is_parent =
            std::any_of(waits.begin(), waits.end(), [&one](const Dependency& wait) {
                return wait.on == one.row && wait.trigger == Trigger::completion;
            });
        if (!is_implied && !is_parent) {
            barriers_.push_back({row.index, one.row, Trigger::over, 0});
            ++figures_.waits;
        }
    }
    figures_.rows += figures_.waits > waits_before ? 1 : 0;
}

void Barriers::add_tree(std::span<const std::uint32_t> rows) {
    stream_of_.clear();
    streams_.clear();
    for (const std::uint32_t position : rows) {
        const TraceRow& row = trace_.rows[plan_.rows[position].row];
        if (stream_of_.emplace(row.session, streams_.size()).second) {
            streams_.emplace_back();
        }
    }
    if (streams_.size() < 2) {
        return;
    }
    if (!goes_by_time(rows)) {
        ++figures_.trees_out_of_order;
        return;
    }
    for (const std::uint32_t position : rows) {
        const TraceRow& row = trace_.rows[plan_.rows[position].row];
        const Recorded own = recorded(position);
        add_row(row, own);
        streams_[stream_of_.at(row.session)].push_back(own);
    }
}

BarrierFigures add_barriers(const Plan& plan, Trace& trace) {
    const RowTrees trees(trace, plan);
    Barriers barriers(plan, trace);
    for (std::uint32_t tree = 0; tree < trees.count(); ++tree) {
        barriers.add_tree(trees.rows_of(tree));
    }
    const std::vector<Dependency> added = barriers.take();
    trace.dependencies.insert(trace.dependencies.end(), added.begin(), added.end());
    trace.sort_dependencies();
    return barriers.figures();
}

namespace {

struct Expected {
    std::vector<std::int64_t> due_ns;  ///< [position in the plan]
    std::vector<bool> waits;           ///< for a row of the plan
    std::vector<bool> outside;         ///< would wait for a row that is not in it
};

}  // namespace

static Expected expect(const Trace& trace, const Plan& plan, Speed speed, std::int64_t token_ns) {
    const PlannedRows planned(trace, plan);
    Expected expected;
    expected.due_ns.resize(plan.rows.size());
    expected.waits.resize(plan.rows.size());
    expected.outside.resize(plan.rows.size());
    const auto due_of_row = [&](std::uint32_t position) {
        return expected.waits[position] ? expected.due_ns[position] : plan.rows[position].due_ns;
    };
    for (const Dependency& one : trace.dependencies) {  // sorted: those of a parent come before
        if (one.trigger == Trigger::over) {
            continue;  // it says nothing of how long a row takes at least
        }
        CHECK(one.on < one.row);
        const std::optional<std::uint32_t> child = planned.find(one.row);
        const std::optional<std::uint32_t> parent = planned.find(one.on);
        if (!child) {
            continue;
        }
        if (!parent) {
            expected.outside[*child] = true;
            continue;
        }
        const TraceRow& row = trace.rows[plan.rows[*parent].row];
        const bool by_end = one.trigger == Trigger::completion;
        const std::int64_t met_ns =
            later(due_of_row(*parent), by_end ? token_ns * row.output_length : 0);
        expected.waits[*child] = true;
        expected.due_ns[*child] =
            std::max(expected.due_ns[*child], later(met_ns, due_of(one.delay_ns, speed)));
    }
    for (std::uint32_t position = 0; position < plan.rows.size(); ++position) {
        expected.due_ns[position] = due_of_row(position);
    }
    return expected;
}

/// Rows of one instant that wait for none: they must be open at once.
static std::uint32_t burst_of_roots(const Plan& plan, const std::vector<bool>& waits) {
    std::uint32_t most = 0;
    std::uint32_t rows = 0;
    std::int64_t instant_ns = -1;
    for (std::uint32_t position = 0; position < plan.rows.size(); ++position) {
        if (!waits[position]) {
            rows = plan.rows[position].due_ns == instant_ns ? rows + 1 : 1;
            instant_ns = plan.rows[position].due_ns;
            most = std::max(most, rows);
        }
    }
    return most;
}

Plan answered_in(const Trace& trace, const Plan& plan, Speed speed, std::int64_t token_ns) {
    const Expected expected = expect(trace, plan, speed, token_ns);
    Plan answered = plan;
    for (std::uint32_t position = 0; position < plan.rows.size(); ++position) {
        answered.rows[position].due_ns = expected.due_ns[position];
    }
    std::ranges::stable_sort(answered.rows, {}, &Planned::due_ns);
    answered.burst_rows_max = burst_of_roots(plan, expected.waits);
    answered.last_due_ns = answered.rows.empty() ? 0 : answered.rows.back().due_ns;
    return answered;
}

WaitFigures waits_of(const Trace& trace, const Plan& plan, Speed speed) {
    const Expected expected = expect(trace, plan, speed, 0);
    WaitFigures figures;
    for (std::uint32_t position = 0; position < plan.rows.size(); ++position) {
        figures.rows += expected.waits[position] ? 1 : 0;
        figures.outside += expected.outside[position] ? 1 : 0;
        figures.least_ns = std::max(figures.least_ns, expected.due_ns[position]);
        if (!expected.waits[position]) {
            figures.last_due_ns = std::max(figures.last_due_ns, plan.rows[position].due_ns);
        }
    }
    return figures;
}

std::uint64_t digest_of_waits(const Trace& trace, const Plan& plan, Speed speed) {
    const PlannedRows planned(trace, plan);
    Digest digest;
    digest.add_u64(plan.schedule_digest);
    for (const Dependency& one : trace.dependencies) {
        if (planned.contains(one.row) && planned.contains(one.on)) {
            digest.add_u64(one.row);
            digest.add_u64(one.on);
            digest.add_u64(static_cast<std::uint64_t>(one.trigger));
            digest.add_u64(static_cast<std::uint64_t>(due_of(one.delay_ns, speed)));
        }
    }
    return digest.value();
}

/// Of a token of an answer, escaped as JSON: few have more in any vocabulary.
static constexpr std::size_t token_bytes = 12;
/// Of what stands around an answer: its role, a call of a tool.
static constexpr std::size_t message_bytes = 512;

Spliced LiveTurns::own_messages(std::uint32_t row, std::string_view body,
                                std::uint32_t words) const {
    const LiveTurn& turn = turns[row];
    const std::size_t pad_at = turn.pad_at > 0 ? turn.pad_at : turn.messages_end;
    Spliced own(body.substr(turn.before_at, pad_at - turn.before_at));
    own.add(pad_word, words);
    own.add(body.substr(pad_at, turn.messages_end - pad_at));
    return own;
}

std::vector<std::size_t> history_room(const Trace& trace, const LiveTurns& live,
                                      std::uint32_t tokens_unknown) {
    std::vector<std::size_t> room(trace.rows.size(), 0);
    std::vector<std::uint32_t> by_index(trace.rows.size());
    std::iota(by_index.begin(), by_index.end(), 0U);
    std::ranges::sort(by_index, {}, [&](std::uint32_t row) { return trace.rows[row].index; });
    for (const std::uint32_t row : by_index) {  // those that it follows come before
        if (!live.goes_on(row)) {
            continue;
        }
        const std::uint32_t behind = live.of(row).behind;
        CHECK(trace.rows[behind].index < trace.rows[row].index);
        const LiveTurn& before = live.of(behind);
        const std::uint32_t answer = trace.rows[behind].output_length;
        room[row] = room[behind] + (before.messages_end - before.before_at) + message_bytes +
                    (answer > 0 ? answer : tokens_unknown) * token_bytes;
    }
    return room;
}

/// Counts those that wait for each, then files them behind each other.
TurnGraph::TurnGraph(const Trace& trace, const Plan& plan, Speed speed, std::uint32_t copies,
                     const LiveTurns* live)
    : copies_(copies),
      parents_(plan.rows.size()),
      timed_(plan.rows.size()),
      begin_(plan.rows.size() + 1) {
    CHECK(copies > 0);
    const PlannedRows planned(trace, plan);
    const auto each = [&](auto use) {
        for (const Dependency& one : trace.dependencies) {
            // Or none of them would end. Barriers go by time, as all of their tree does.
            CHECK(one.on < one.row || one.trigger == Trigger::over);
            const std::optional<std::uint32_t> child = planned.find(one.row);
            const std::optional<std::uint32_t> parent = planned.find(one.on);
            if (child && parent) {
                use(*parent, Edge{due_of(one.delay_ns, speed), *child, one.trigger});
            }
        }
        for (std::uint32_t child = 0; live != nullptr && child < plan.rows.size(); ++child) {
            if (live->goes_on(plan.rows[child].row)) {
                CHECK(live->of(plan.rows[child].row).back <= child);
                use(child - live->of(plan.rows[child].row).back,
                    Edge{0, child, Trigger::completion, true});
            }
        }
    };
    std::vector<std::uint32_t> children(plan.rows.size());
    each([&](std::uint32_t parent, const Edge& edge) {
        ++begin_[parent + 1];
        ++parents_[edge.child];
        timed_[edge.child] += edge.trigger == Trigger::over ? 0 : 1;
        children[parent] += edge.words ? 0 : 1;
        widest_ = std::max(widest_, children[parent]);
    });
    std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
    edges_.resize(begin_.back());
    std::vector<std::uint32_t> next(begin_.begin(), begin_.end() - 1);
    each([&](std::uint32_t parent, const Edge& edge) { edges_[next[parent]++] = edge; });
}

}  // namespace driftless

/// Which rows of a killed run are still to be sent, and when they are due.

#include "engine/history/resumed_run.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/plan/plan.hpp"
#include "engine/record/fill_record.hpp"
#include "proto/core/errors.hpp"
#include "proto/figures/taint.hpp"
#include "proto/trace/row.hpp"
#include "proto/trace/times.hpp"

namespace driftless {

// TurnsLeft: of a killed run with closed sessions, when a row without a record is due, by what
// is known of the rows that it waits for. Asked for one row after the other, parents first;
// nothing waits where sessions are not closed.

/// What becomes of a row of the plan.
struct Fate {
    enum Kind : std::uint8_t { recorded, sent, given_up, dropped };
    Kind kind = recorded;
    bool left = false;             ///< it may have
    std::uint32_t failed = 0;      ///< `dropped`: index of the row that will never be answered
    std::int64_t earliest_ns = 0;  ///< it was due then at the earliest
};

struct Expectation {
    std::int64_t due_ns = 0;  ///< from time 0, at the earliest
    bool possible = true;     ///< it can have been due in an earlier segment
    /// Index of the row that it waits for, itself or through others, and that will never be
    /// answered.
    std::optional<std::uint32_t> failed;
};

class TurnsLeft {
  public:
    explicit TurnsLeft(const InterruptedRun& run);

    /// Of a row without a record; those that it waits for are settled.
    Expectation expect(std::uint32_t position) const;
    void settle(std::uint32_t position, const Fate& fate);

    /// What rows that are sent may wait for: records, and what is given up and known to have left.
    EarlierRows earlier() const { return earlier_; }

  private:
    void add(const Dependency& one, std::uint32_t parent, Expectation& expected) const;

    const InterruptedRun& run_;
    std::optional<PlannedRows> planned_;  ///< of closed sessions
    std::vector<Fate> fates_;             ///< [rows of the plan] the same
    EarlierRows earlier_;
};

TurnsLeft::TurnsLeft(const InterruptedRun& run) : run_(run) {
    if (run.closed) {
        planned_.emplace(run.trace, run.plan);
        fates_.resize(run.plan.rows.size());
        earlier_ = run.past.rows();
    }
}

Expectation TurnsLeft::expect(std::uint32_t position) const {
    const Planned& planned = run_.plan.rows[position];
    Expectation expected;
    bool waits = false;
    if (planned_) {
        for (const Dependency& one : run_.trace.dependencies_of(run_.trace.rows[planned.row])) {
            if (const std::optional<std::uint32_t> parent = planned_->find(one.on)) {
                waits = true;
                add(one, *parent, expected);
            }
        }
    }
    expected.due_ns = waits ? expected.due_ns : planned.due_ns;
    return expected;
}

void TurnsLeft::add(const Dependency& one, std::uint32_t parent, Expectation& expected) const {
    const Fate& fate = fates_[parent];
    const auto known = earlier_.find(one.on);
    const std::optional<std::int64_t> at_ns = known == earlier_.end() ? std::nullopt
                                              : one.trigger == Trigger::completion
                                                  ? known->second.answered_ns
                                                  : known->second.fired_ns;
    const std::int64_t delay_ns = due_of(one.delay_ns, run_.speed);
    if (at_ns || fate.kind == Fate::sent || fate.kind == Fate::given_up) {
        expected.due_ns =
            std::max(expected.due_ns, later(at_ns.value_or(fate.earliest_ns), delay_ns));
    } else {
        expected.possible = false;
    }
    if (!at_ns && fate.kind != Fate::sent) {
        expected.failed = fate.kind == Fate::dropped ? fate.failed : one.on;
    }
}

void TurnsLeft::settle(std::uint32_t position, const Fate& fate) {
    if (!planned_) {
        return;
    }
    fates_[position] = fate;
    const std::uint32_t row = run_.trace.rows[run_.plan.rows[position].row].index;
    const auto left = run_.past.open().find(row);
    if (left == run_.past.open().end()) {
        return;
    }
    fates_[position].earliest_ns = std::max(fate.earliest_ns, left->second.fired_ns);
    if (fate.kind == Fate::given_up) {
        earlier_[row] = {left->second.fired_ns, std::nullopt};
    }
}

/// When the run had died at the latest, by its own clock. A row without a sign says nothing of
/// that: it may have been held back, and have left with the ones behind it after the last line.
static std::int64_t died_before_ns(const InterruptedRun& run) {
    const std::int64_t known = std::max(run.past.known_ns(), run.last_first_due_ns);
    return known + signs_every_ns + unseen_ns;
}

static bool may_have_left(const InterruptedRun& run, const Planned& planned,
                          const Expectation& expected) {
    const std::uint32_t row = run.trace.rows[planned.row].index;
    const bool unseen = run.marks != nullptr
                            ? run.marks->marked(mark_of(planned.row, planned.side))
                            : expected.possible && expected.due_ns <= died_before_ns(run);
    return unseen || run.past.open().contains(sending_number(row, 0, planned.side));
}

static void put(const InterruptedRun& run, bool resend, std::uint32_t position, TurnsLeft& waiting,
                std::vector<Fate>& fates) {
    const Planned& planned = run.plan.rows[position];
    if (run.past.has_record(run.trace.rows[planned.row].index, planned.side)) {
        return;
    }
    const Expectation expected = waiting.expect(position);
    Fate& fate = fates[position];
    fate.left = may_have_left(run, planned, expected);
    fate.kind = fate.left && !resend ? Fate::given_up
                : expected.failed    ? Fate::dropped
                                     : Fate::sent;
    fate.failed = expected.failed.value_or(0);
    fate.earliest_ns = expected.due_ns;
    waiting.settle(position, fate);
}

/// [rows of the plan]
static std::vector<Fate> fates_of(const InterruptedRun& run, bool resend,
                                  RemainingRows& remaining) {
    std::vector<Fate> fates(run.plan.rows.size());
    TurnsLeft waiting(run);
    if (!run.closed) {
        for (std::uint32_t position = 0; position < fates.size(); ++position) {
            put(run, resend, position, waiting, fates);
        }
        return fates;
    }
    for (const std::uint32_t position : file_order(run.trace, run.plan)) {
        put(run, resend, position, waiting, fates);  // those that it waits for come before
    }
    remaining.earlier = waiting.earlier();
    for (const Fate& fate : fates) {
        remaining.earliest_ns.push_back(fate.earliest_ns);
    }
    return fates;
}

static Record unsent_record(const InterruptedRun& run, std::uint32_t position,
                            const AssemblerConfig& config) {
    Record record;
    fill_origin(record, due_at(run.plan, position), config.number_in_all(position), config);
    record.segment = config.segment;
    record.has_chunks = false;
    return record;
}

static Record interrupted_record(const InterruptedRun& run, const RemainingRows& remaining,
                                 std::uint32_t position, const AssemblerConfig& config) {
    Record record = unsent_record(run, position, config);
    record.segment = config.segment - 1;
    record.outcome = Outcome::interrupted;
    record.due_ns = run.closed ? remaining.earliest_ns[position] : record.due_ns;
    const auto left = run.past.open().find(sending_number(record.row, 0, record.side));
    if (left != run.past.open().end()) {
        record.due_ns = left->second.due_ns.value_or(record.due_ns);
        record.fired_ns = left->second.fired_ns;
        record.drift_ns = left->second.fired_ns - record.due_ns;
        record.held_ns = left->second.held_ns;
        record.late_cause = left->second.late_cause;
        const std::uint32_t rank = run.closed ? 0 : due_at(run.plan, position).rank;
        add_taints(record, RowLosses{}, config.limits, rank);
    } else {
        record.error = "may have been sent; its instant is lost";
    }
    return record;
}

RemainingRows remaining_rows(const InterruptedRun& run, bool resend) {
    RemainingRows remaining;
    const std::vector<Fate> fates = fates_of(run, resend, remaining);
    for (std::uint32_t position = 0; position < fates.size(); ++position) {
        const Planned& planned = run.plan.rows[position];
        const Fate& fate = fates[position];
        if (fate.kind == Fate::given_up) {
            remaining.given_up.push_back(position);
        } else if (fate.kind == Fate::dropped) {
            remaining.dropped.push_back({position, fate.failed});
        } else if (fate.kind == Fate::sent) {
            if (fate.left) {
                remaining.again.push_back(mark_of(planned.row, planned.side));
            }
            remaining.send.push_back(planned);
            remaining.positions.push_back(position);
        }
    }
    return remaining;
}

void mark_again(const RemainingRows& remaining, FiredMarks& marks) {
    for (const std::uint32_t mark : remaining.again) {
        marks.mark(mark);
    }
}

std::vector<Record> settled_records(const InterruptedRun& run, const RemainingRows& remaining,
                                    AssemblerConfig config) {
    config.plan = &run.plan;
    std::vector<Record> records;
    for (const std::uint32_t position : remaining.given_up) {
        records.push_back(interrupted_record(run, remaining, position, config));
    }
    for (const RemainingRows::Dropped& one : remaining.dropped) {
        Record& record = records.emplace_back(unsent_record(run, one.position, config));
        record.outcome = Outcome::not_sent;
        record.error = waited_in_vain(one.failed);
    }
    return records;
}

Plan ResumedRun::remaining_plan() const {
    Plan plan = whole.plan;
    plan.rows = remaining.send;
    return plan;
}

std::vector<Record> ResumedRun::settled(const AssemblerConfig& config) const {
    CHECK(config.segment == segment());
    AssemblerConfig before = config;
    before.urls = urls;
    return settled_records(whole, remaining, std::move(before));
}

ResumedRun resume_run(const InterruptedRun& run, const std::vector<RunSegment>& segments,
                      bool resend) {
    CHECK(!segments.empty());
    const InterruptedRun whole{run.trace,  run.plan, run.past, nullptr, run.last_first_due_ns,
                               run.closed, run.speed};
    return {whole, segments, remaining_rows(run, resend)};
}

}  // namespace driftless

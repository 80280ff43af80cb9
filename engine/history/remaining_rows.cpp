#include "engine/history/remaining_rows.hpp"

#include <algorithm>

#include "engine/history/turns_left.hpp"
#include "engine/record/origin.hpp"
#include "engine/stats/taint.hpp"

namespace driftless {

namespace {

/// When the run had died at the latest, by its own clock. A row without a sign says nothing of
/// that: it may have been held back, and have left with the ones behind it after the last line.
std::int64_t died_before_ns(const InterruptedRun& run) {
    const std::int64_t known = std::max(run.past.known_ns(), run.last_first_due_ns);
    return known + signs_every_ns + unseen_ns;
}

bool may_have_left(const InterruptedRun& run, const Planned& planned, const Expectation& expected) {
    const std::uint32_t row = run.trace.rows[planned.row].index;
    const bool unseen = run.marks != nullptr
                            ? run.marks->marked(mark_of(planned.row, planned.side))
                            : expected.possible && expected.due_ns <= died_before_ns(run);
    return unseen || run.past.open().contains(sending_number(row, 0, planned.side));
}

void put(const InterruptedRun& run, bool resend, std::uint32_t position, TurnsLeft& waiting,
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
std::vector<Fate> fates_of(const InterruptedRun& run, bool resend, RemainingRows& remaining) {
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

Record unsent_record(const InterruptedRun& run, std::uint32_t position,
                     const AssemblerConfig& config) {
    Record record;
    fill_origin(record, due_at(run.plan, position), config.number_in_all(position), config);
    record.segment = config.segment;
    record.has_chunks = false;
    return record;
}

Record interrupted_record(const InterruptedRun& run, const RemainingRows& remaining,
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

}  // namespace

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

}  // namespace driftless
